// Workers that wait actively: a thread of the arena that has nothing left to do looks out for the
// next job for some tens of microseconds before it goes back to oneTBB and to sleep. Waking one
// takes 5 to 50 us, in which a short call is done; handing a job to one that looks out takes some
// 0.3 us. So work of a few microseconds is shared where calls follow each other closely, and runs
// on the calling thread elsewhere. OpenMP calls it the active wait policy.
//
//   call 1    nobody looks out: runs alone;  ends: was there a call shortly before? no
//   call 2    2 us later: runs alone;        ends: yes, so oneTBB is asked to send threads that
//                                            look out
//   call 3    a thread looks out: it takes blocks as the caller does
//
// A thread looks out only as long as calls keep coming, and leaves where a job goes by oneTBB. One
// job is on offer at a time: a second caller shares its work by oneTBB, or does it alone.
//
// Each thread that looks out has a seat of its own, the first that is free, and keeps it from job
// to job: so it can take the same part of each, whose data lie in its caches. A short job is for
// the first seats alone; the others do not touch it.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace broadloom::jit::runtime {

class Standby {
public:
  explicit Standby(tbb::task_arena &arena) : arena_(arena) {}

  // From now on there are so many in the arena, the caller among them.
  void begin(int threads) { most_.store(threads - 1, std::memory_order_relaxed); }

  // Whether `fewest` threads look out from seats below `seats`, and no other job is on offer. If
  // so, each of those calls part(seat), with seats from 1 on, as this thread does with 0, and all
  // have returned. A part may throw std::bad_alloc before it takes anything, and nothing else.
  template <class Part> bool share(int fewest, int seats, const Part &part) {
    if (!offer(
            fewest, seats,
            [](const void *job, int seat) { (*static_cast<const Part *>(job))(seat); }, &part))
      return false;
    const struct Closed {
      Standby &standby;
      ~Closed() { standby.close(); }
    } closed{*this};
    part(0);
    return true;
  }

  // A job goes by oneTBB while such a value lives: nobody looks out.
  class Elsewhere {
  public:
    explicit Elsewhere(Standby &standby) : standby_(standby) { ++standby.elsewhere_; }
    Elsewhere(const Elsewhere &) = delete;
    ~Elsewhere() { --standby_.elsewhere_; }

  private:
    Standby &standby_;
  };

  // After a job for so many seats, the caller's among them: where another ended shortly before,
  // threads are sent to look out for the next.
  void expect_more(int seats);

  static constexpr int most_seats = 63;

private:
  using Clock = std::chrono::steady_clock;
  bool offer(int fewest, int seats, void (*part)(const void *job, int seat), const void *job);
  void close(); // returns when all that take part are done
  void look_out();
  int sit_down(); // 0: all seats are taken

  tbb::task_arena &arena_;
  std::atomic<int> most_{0};
  // Each on a line of its own: those who look out read `round_` all the time.
  alignas(64) std::atomic<std::uint64_t> round_{0}; // counts offers; its last 6 bits are the seats
  alignas(64) std::atomic<bool> offered_{false};    // by a caller who has not closed it yet
  std::atomic<bool> open_{false};
  void (*part_)(const void *, int) = nullptr;
  const void *job_ = nullptr;
  alignas(64) std::atomic<int> inside_{0};          // those who may be reading what is on offer
  alignas(64) std::atomic<std::uint64_t> taken_{0}; // a bit for each seat
  std::atomic<int> sent_{0};                        // to look out, but not there yet
  std::atomic<int> elsewhere_{0};
  std::atomic<Clock::rep> last_end_{0};
};

} // namespace broadloom::jit::runtime
