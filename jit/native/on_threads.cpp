// See on_threads.hpp.
#include "jit/native/on_threads.hpp"

#include "support/float_control.hpp"
#include "support/undivided.hpp"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <list>
#include <memory>
#include <thread>
#include <vector>

namespace broadloom::jit {

namespace {

struct Job {
  std::function<void()> work;
  cpu_set_t processors;
  bool moved = false; // it is to have all of them again
  bool undivided = false;
};

void *run_job(void *argument) {
  const std::unique_ptr<Job> job(static_cast<Job *>(argument));
  if (job->moved) sched_setaffinity(0, sizeof job->processors, &job->processors);
  if (job->undivided) support::Undivided::take_over();
  const support::FloatWorld world;
  job->work();
  if (job->undivided) support::Undivided::hand_back();
  return nullptr;
}

} // namespace

Beside::Beside(std::function<void()> work) {
  auto job = std::make_unique<Job>(Job{std::move(work), {}});
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  if (const int here = sched_getcpu();
      here >= 0 && here < CPU_SETSIZE &&
      sched_getaffinity(0, sizeof job->processors, &job->processors) == 0) {
    cpu_set_t others = job->processors;
    CPU_CLR(here, &others);
    job->moved = CPU_COUNT(&others) > 0 &&
                 pthread_attr_setaffinity_np(&attributes, sizeof others, &others) == 0;
  }
  job->undivided = support::Undivided::hand_on();
  sigset_t all, before; // a new thread has its maker's mask
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  runs_ = pthread_create(&thread_, &attributes, run_job, job.get()) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (runs_)
    (void)job.release();
  else if (job->undivided)
    support::Undivided::hand_back();
}

void Beside::join() {
  if (runs_) pthread_join(thread_, nullptr);
  runs_ = false;
}

void Beside::leave() {
  if (runs_) pthread_detach(thread_);
  runs_ = false;
}

bool may_go_beside(int threads) { return threads > 1 && std::thread::hardware_concurrency() > 1; }

void on_threads(std::size_t parts, int threads, const std::function<void(std::size_t)> &work) {
  std::vector<std::exception_ptr> thrown(parts);
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t k = next.fetch_add(1); k < parts; k = next.fetch_add(1)) {
      try {
        work(k);
      } catch (...) {
        thrown[k] = std::current_exception();
      }
    }
  };
  std::list<Beside> others;
  const std::size_t wanted = std::min(parts, std::size_t(std::max(threads, 1)));
  for (std::size_t k = 1; k < wanted; ++k) others.emplace_back(run);
  run();
  others.clear(); // waits for them
  for (const std::exception_ptr &error : thrown)
    if (error) std::rethrow_exception(error);
}

} // namespace broadloom::jit
