// See progress.hpp.
#include "tools/broadloom/cli/progress.hpp"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <ostream>

namespace broadloom::cli {

Progress::Progress(std::ostream &err, bool show, std::string what)
    : err_(err), what_(std::move(what)) {
  if (!show) return;
  // Signals are for the threads that work.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { watch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void Progress::watch() {
  using namespace std::chrono;
  const auto start = steady_clock::now();
  bool said = false;
  std::unique_lock lock(mutex_);
  for (auto wait = milliseconds(500); !ended_.wait_for(lock, wait, [this] { return done_; });
       wait = milliseconds(100)) {
    const double seconds = duration<double>(steady_clock::now() - start).count();
    err_ << fmt::format("\r\033[K{} .. {:.1f} s, Ctrl-C stops it", what_, seconds) << std::flush;
    said = true;
  }
  if (said) err_ << "\r\033[K" << std::flush;
}

} // namespace broadloom::cli
