// What a call does, counted while it runs, to be held against what is printed of it.
//
//   const calls::Recorder recorder;
//   kernel.run(..);
//   recorder.counts()      {"run heat": 1, "run heat_u": 100}
//
// Runs of kernels are counted by their names; gathers, scatters and copies of what parts would
// write over without any. A kernel that is nothing but one nest is not counted, as its calls are
// short.
#pragma once

#include "calls/call.hpp"

#include <map>

namespace broadloom::calls {

using Counts = std::map<std::string, std::int64_t>;

// As the steps of a printed call say, those of loops as often as they turn.
Counts counts_of(const Call &call);

// Of the calls of this thread while it is there. At most one at a time.
class Recorder {
public:
  Recorder() { here = this; }
  ~Recorder() { here = nullptr; }
  Recorder(const Recorder &) = delete;
  Recorder &operator=(const Recorder &) = delete;
  const Counts &counts() const { return counts_; }

  // For who does such a step; `kernel` of a run.
  static void note(Step::Kind kind, std::string_view kernel = {}) {
    if (here != nullptr) [[unlikely]]
      here->add(kind, kernel);
  }

private:
  void add(Step::Kind kind, std::string_view kernel);

  static inline thread_local Recorder *here = nullptr;
  Counts counts_;
};

// Throws InternalError where a record and a printed call differ. What is computed again from saved
// rows runs more often than its loop says.
void check_record(const Counts &record, const Call &call);

} // namespace broadloom::calls
