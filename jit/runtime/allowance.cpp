// See allowance.hpp.
#include "jit/runtime/allowance.hpp"

#include "support/log.hpp"
#include "support/text.hpp"
#include "support/undivided.hpp"

#include <oneapi/tbb/global_control.h>

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <vector>

namespace broadloom::jit::runtime {
namespace {

using tbb::global_control;

struct Gathering { // of threads that wait until all are there
  std::atomic<bool> all_there{false};

  static void *wait(void *gathering) {
    static_cast<Gathering *>(gathering)->all_there.wait(false);
    return nullptr;
  }
};

// Address space, of which glibc takes as much with the first allocation of a thread (twice what it
// keeps, to align it).
class Space {
public:
  Space() : memory_(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  Space(const Space &) = delete;
  ~Space() {
    if (is_there()) munmap(memory_, bytes);
  }
  bool is_there() const { return memory_ != MAP_FAILED; }

private:
  static constexpr std::size_t bytes = std::size_t{128} << 20;
  void *memory_;
};

// How many threads can be made beside those that there are, `wanted` at most, and leave space for
// what they allocate and for what is compiled.
int threads_to_be_had(int wanted) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return 0;
  pthread_attr_setstacksize(&attributes,
                            global_control::active_value(global_control::thread_stack_size));
  Gathering gathering;
  std::vector<pthread_t> threads;
  threads.reserve(std::size_t(wanted));
  std::list<Space> spaces(1);
  pthread_t made;
  while (int(threads.size()) < wanted && spaces.back().is_there() &&
         spaces.emplace_back().is_there() &&
         pthread_create(&made, &attributes, Gathering::wait, &gathering) == 0)
    threads.push_back(made);
  pthread_attr_destroy(&attributes);
  gathering.all_there.store(true);
  gathering.all_there.notify_all();
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  return int(threads.size());
}

// oneTBB starts no more threads than the machine has, and says so on stderr, unless it is told that
// more are wanted. It goes by the least of all wishes in force, so there must be one of ours at
// most. A wish of the program around us for fewer threads stays in force.
class Allowance {
public:
  Allowed take(int wanted) {
    const std::lock_guard lock(mutex_);
    if (is_short_) return {std::min(wanted, limit()), false};
    if (wanted > limit() && wanted > wished_) wish(wanted);
    const int before = others_;
    others_ = std::min(others_ + wanted - 1, limit() - 1); // arenas share what oneTBB may have
    if (others_ > before)
      if (const int had = std::max(threads_to_be_had(others_), before); had < others_) {
        others_ = had;
        is_short_ = true;
        wish(had + 1);
        support::log().warn("kernels run on {} in place of {}: no more can be made",
                            support::count(had + 1, "thread"), wanted);
      }
    return {std::min(wanted, limit()), others_ > before};
  }

private:
  static int limit() {
    return int(global_control::active_value(global_control::max_allowed_parallelism));
  }
  void wish(int threads) {
    wish_.reset();
    wish_ = std::make_unique<global_control>(global_control::max_allowed_parallelism,
                                             std::size_t(threads));
    wished_ = threads;
  }

  support::Mutex mutex_;
  std::unique_ptr<global_control> wish_;
  int wished_ = 0;
  int others_ = 0; // threads beside the callers', of all arenas
  bool is_short_ = false;
};

} // namespace

Allowed allowed_threads(int wanted) {
  static Allowance &made =
      *new Allowance; // never freed: oneTBB may be gone when globals are destroyed
  return made.take(wanted);
}

} // namespace broadloom::jit::runtime
