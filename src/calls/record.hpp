// What a call does, noted while it runs, to be held against what is printed of it.
//
//   const calls::Recorder recorder;
//   kernel.run(..);
//   calls::check_record(recorder.record(), calls::parse(kernel.show(Stage::call)));
//
// Noted are the steps in their order, and the memory that each reads and writes: so a printed
// `run heat_u(u[t - 1, i + 1])` is wrong where a step saw another row, or began one element later.
// A kernel that is nothing but one nest notes nothing, as its calls are short.
#pragma once

#include "calls/call.hpp"

#include <broadloom/array.hpp>

#include <map>
#include <vector>

namespace broadloom::calls {

// Memory that a step read or wrote. No axes: of an array as a whole.
struct Operand {
  AnyView view;
  std::vector<std::string> axes = {}; // [dim]; empty: along the steps of a loop, one position
};

struct Event {
  Step::Kind kind = Step::Kind::Run;
  std::string kernel = {}; // Run
  std::vector<Operand> from = {}, to = {};
  std::vector<Border> borders = {}; // Pad; without modes
  std::vector<Step::Reach> reach = {};
};

struct Record {
  std::vector<Event> events;
  // Inputs, outputs and lets, those of loops with the rows of their starts.
  std::map<std::string, AnyView, std::less<>> arrays;
};

// Of the calls of this thread while it is there. At most one at a time.
class Recorder {
public:
  Recorder() { here_ = this; }
  ~Recorder() { here_ = nullptr; }
  Recorder(const Recorder &) = delete;
  Recorder &operator=(const Recorder &) = delete;
  const Record &record() const { return record_; }

  // For who does a step; null where nobody asks.
  static Recorder *here() { return here_; }
  void add(Event event) { record_.events.push_back(std::move(event)); }
  void add(Step::Kind kind, const AnyView &from, const AnyView &to) {
    add({kind, {}, {{from}}, {{to}}});
  }
  void name(const std::string &array, const AnyView &view) {
    record_.arrays.insert_or_assign(array, view);
  }

private:
  static inline thread_local Recorder *here_ = nullptr;
  Record record_;
};

// Throws InternalError where a record and a printed call differ: in which steps ran, in their
// order, or in the memory that one of them saw. Elements at positions that others say are not
// looked at. Linear in the steps.
void check_record(const Record &record, const Call &call);

} // namespace broadloom::calls
