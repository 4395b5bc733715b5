// How the loops of a kernel are to run, as far as a user wants to say it. Results stay the same.
//
//   bl::LoopSpec spec = bl::parse(text);
//   spec.schedule(bl::Schedule().vector("j").parallel("i").copies("j", 2).cached("y"));
//   // and of let h, an array
//   spec.schedule(bl::Schedule().vector("j").of("h", bl::Schedule().vector("o").tile("n", 4)));
//
// The text form has the same as `schedule { .. }` and `schedule h { .. }`; docs/schedules.md says
// what each clause means. A clause is a wish: it never changes a bit of a result. Kernel::why()
// tells for each whether it is met, and what was done instead. Building a schedule costs nothing
// and checks nothing: `check` and `compile` throw
//
//   ShapeError E0104   there is no such axis
//   SpecError  E0003   fuse or separate of what is neither a let nor an output
//              E0016   what is fused is also separated
//              E0017   keep, recompute, inline or at of what is no let, stream or cached of what is
//                      no output, or a schedule of what is no let that is an array
//              E0018   two clauses contradict each other, or say one thing twice
//              E0019   copies of other than 1, 2, 4 or 8, tile of another number than these or a
//                      power of two up to 4096
#pragma once

#include <broadloom/error.hpp>
#include <broadloom/expr.hpp>

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace broadloom {

// One clause of a schedule, as it was said.
struct ScheduleClause {
  enum class Kind : std::uint8_t {
    Vector,
    Parallel,
    Serial,
    Copies,
    Tile,
    Order,
    Keep,
    Recompute,
    Inline,
    At,
    Stream,
    Cached,
    Fuse,
    Separate,
    Of, // begins what is said of the loops of a let: all clauses up to the next one
  };
  Kind kind = Kind::Vector;
  std::vector<AxisRef> axes = {}; // Vector to Tile, At: one; Order: outermost first
  std::vector<std::string> names =
      {};        // Keep to At, Of: a let; Stream, Cached: an output; Fuse, Separate: two of either
  int count = 0; // Copies, Tile
  Place where = {};
};

// A value: copies are independent.
class Schedule {
public:
  using Where = std::source_location;

  // The axis whose positions become the lanes of vectors, where the order of the steps leaves the
  // choice.
  Schedule &vector(AxisRef axis, Where where = Where::current());
  // The axis that is shared out among threads first, or that is never cut for them.
  Schedule &parallel(AxisRef axis, Where where = Where::current());
  Schedule &serial(AxisRef axis, Where where = Where::current());
  // Groups of lanes of a map, or leaves of a fold, in one turn of the loop over this axis: 1, 2, 4
  // or 8.
  Schedule &copies(AxisRef axis, int count, Where where = Where::current());
  // How many rows along this axis a register tile or a jam takes together: 2, 4 or 8; 1 stands for
  // none of either. 16 to 4096, a power of two: the side of tiles, which outputs without folds go
  // through one by one.
  Schedule &tile(AxisRef axis, int count, Where where = Where::current());
  // How the loops over these axes are nested, outermost first. Others stay where they are.
  Schedule &order(std::vector<AxisRef> axes, Where where = Where::current());
  // Whether a let that is read in several loops is held in memory, or computed again in each.
  Schedule &keep(std::string let, Where where = Where::current());
  Schedule &recompute(std::string let, Where where = Where::current());
  Schedule &inlined(std::string let,
                    Where where = Where::current()); // `inline`: another word for recompute
  // A let is computed anew in each turn of the loops over this axis, and kept in a row for the
  // loops of that turn.
  Schedule &at(std::string let, AxisRef axis, Where where = Where::current());
  // Whether an output is stored around the caches.
  Schedule &stream(std::string output, Where where = Where::current());
  Schedule &cached(std::string output, Where where = Where::current());
  // Whether two lets or outputs are computed in one pass over the data.
  Schedule &fuse(std::string a, std::string b, Where where = Where::current());
  Schedule &separate(std::string a, std::string b, Where where = Where::current());

  // How the loops of a let run that is an array, and so computed first by a kernel of its own.
  // There the axes are those of that kernel, the output is the let, and what is kept or fused are
  // lets that it reads.
  Schedule &of(std::string let, const Schedule &schedule, Where where = Where::current());
  Schedule &of(std::string let, const Schedule &schedule, Place where);

  // One more of the clauses about the loops of the outputs, which stand before those about lets.
  Schedule &add(ScheduleClause clause);
  const std::vector<ScheduleClause> &clauses() const { return clauses_; }

private:
  std::vector<ScheduleClause> clauses_;
};

} // namespace broadloom
