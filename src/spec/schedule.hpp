// The user's schedule, with its names resolved: what the choosers of loops and blocks are asked
// for.
//
//   schedule { vector j; copies j 2; stream y }      vector 1, copies {{1, 2}}, stores {Stream}
//       for axes i, j and output y
//
// `schedule h { .. }` is the part of let h, an array: the whole schedule of the kernel that
// computes it.
//
// A wish never changes a bit, and one that cannot be met is no error: whoever chooses says so as a
// Decision. `keep`, `recompute`, `inline` and `at` are marks of values, `fuse` and `separate`
// pairings (spec.hpp).
#pragma once

#include "expr/graph.hpp"

#include <broadloom/schedule.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::spec {

enum class Stores : std::uint8_t { AsItFits, Streamed, Cached };

struct Wishes {
  struct Count {
    int axis = 0;
    int count = 0;
  };
  // Of `tile`: up to here rows that a turn takes together, beyond it positions of a block of the
  // axis.
  static constexpr int most_rows = 8;
  struct Let { // Keep, Recompute, Inline, At
    ScheduleClause clause;
    std::optional<int> at; // At: in each turn of the loops over this axis
    bool keeps() const {
      return clause.kind == ScheduleClause::Kind::Keep || clause.kind == ScheduleClause::Kind::At;
    }
  };
  std::vector<int> order;    // axes, outermost first; empty: nothing is asked
  std::optional<int> vector; // an axis
  expr::AxisSet parallel, serial;
  std::vector<Count> copies, tile;
  std::vector<Stores> stores; // [output]
  std::vector<Let> lets;

  int copies_of(int axis) const { return of(copies, axis); } // 0: as it fits
  int tile_of(int axis) const { return of(tile, axis); }
  int rows_of(int axis) const { return tile_of(axis) <= most_rows ? tile_of(axis) : 0; }
  int side_of(int axis) const { return tile_of(axis) > most_rows ? tile_of(axis) : 0; }
  bool empty() const {
    const auto asks = [](Stores one) { return one != Stores::AsItFits; };
    return !names_axes() && lets.empty() && std::ranges::none_of(stores, asks);
  }
  bool moves_loops() const { return vector.has_value() || !order.empty(); }
  bool names_axes() const {
    return moves_loops() || !(parallel | serial).empty() || !copies.empty() || !tile.empty();
  }

private:
  static int of(const std::vector<Count> &counts, int axis) {
    for (const Count &count : counts)
      if (count.axis == axis) return count.count;
    return 0;
  }
};

// The word of a clause, as the text form has it.
std::string_view word_of(ScheduleClause::Kind kind);
// "copies j 2"
std::string print(const ScheduleClause &clause);

// As it is written: `schedule { .. }`, then `schedule h { .. }` for each let that it speaks of,
// each line behind two spaces.
std::string print(const Schedule &schedule);

// The clauses about the loops of this let; with no name, about those of the outputs.
Schedule part_of(const Schedule &schedule, std::string_view let = {});
// The lets that it has a part for, as the clauses that begin these.
std::vector<ScheduleClause> lets_of(const Schedule &schedule);

} // namespace broadloom::spec
