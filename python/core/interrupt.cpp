#include "interrupt.hpp"

#include <pthread.h>

namespace broadloom::python {
namespace {

pthread_t main_thread;
std::atomic<std::atomic<bool> *> running{nullptr};
struct sigaction chained = {};

void on_interrupt(int signal, siginfo_t *info, void *context) {
  if (std::atomic<bool> *flag = running.load()) flag->store(true);
  if ((chained.sa_flags & SA_SIGINFO) != 0)
    chained.sa_sigaction(signal, info, context);
  else
    chained.sa_handler(signal);
}

} // namespace

bool is_main_thread() { return pthread_equal(pthread_self(), main_thread) != 0; }

void note_main_thread() {
  main_thread = pthread_self();
  // The thread that forks is the only one of the child.
  pthread_atfork(nullptr, nullptr, [] { main_thread = pthread_self(); });
}

Interruptible::Interruptible(std::atomic<bool> &flag) {
  if (!is_main_thread() || running.load() != nullptr) return;
  if (sigaction(SIGINT, nullptr, &before_) != 0) return;
  if ((before_.sa_flags & SA_SIGINFO) == 0 &&
      (before_.sa_handler == SIG_DFL || before_.sa_handler == SIG_IGN))
    return;
  chained = before_;
  running.store(&flag);
  struct sigaction ours = before_;
  ours.sa_flags |= SA_SIGINFO;
  ours.sa_sigaction = on_interrupt;
  active_ = sigaction(SIGINT, &ours, nullptr) == 0;
  if (!active_) running.store(nullptr);
}

Interruptible::~Interruptible() {
  if (!active_) return;
  sigaction(SIGINT, &before_, nullptr);
  running.store(nullptr);
}

} // namespace broadloom::python
