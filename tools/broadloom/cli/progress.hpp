// "running .. 3.2 s, Ctrl-C stops it" while something takes long, taken back when it ends.
#pragma once

#include <condition_variable>
#include <iosfwd>
#include <mutex>
#include <string>
#include <thread>

namespace broadloom::cli {

class Progress {
public:
  // Says nothing in the first half second, and nothing ever where `show` is false. Nobody else may
  // write to `err` until the end.
  Progress(std::ostream &err, bool show, std::string what);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

private:
  void watch();

  std::ostream &err_;
  const std::string what_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread thread_;
};

} // namespace broadloom::cli
