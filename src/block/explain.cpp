// The reasons of a choice of blocks, read from the blocks themselves: see explain() in block.hpp.
#include "block/block.hpp"

#include "support/reasons.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::block {

using namespace loop;
using support::decide;
using support::Reason;

namespace {

class Explainer {
public:
  Explainer(const loop::Program &program, const Program &blocks, const Numbers *numbers)
      : program_(program), blocks_(blocks) {
    if (numbers != nullptr) turns_ = count_turns(program, blocks, *numbers);
  }

  std::vector<Decision> run() {
    for (phase_ = 0; phase_ < blocks_.phases.size(); ++phase_) visit(blocks_.phases[phase_]);
    return std::move(why_);
  }

private:
  // Without numbers every box may turn.
  bool takes_part(const Box &box) const {
    return turns_.empty() || turns_[std::size_t(box.id)] > 0;
  }
  std::string subject(AxisId axis) const {
    return fmt::format("phase {}, {}", phase_, program_[axis].name);
  }
  void add(Reason reason, const std::string &subject, const std::string &choice,
           const std::string &text) { // loops of one axis and phase are often alike
    Decision decision = decide(reason, subject, choice, subject + ": " + text);
    const auto same = [&](const Decision &d) {
      return d.code == decision.code && d.text == decision.text;
    };
    if (std::none_of(why_.begin(), why_.end(), same)) why_.push_back(std::move(decision));
  }

  void visit(const Box &box) {
    for (const Run &run : box.runs) {
      if (!entered(run)) continue;
      explain(run);
      wishes(run);
      for (const Box &inner : run.boxes) {
        if (!takes_part(inner)) continue;
        // What is beside the blocks of two loops says nothing of the schedule.
        const bool beside = run.takes_inner() && inner.rest && takes_part(run.whole());
        const bool before = std::exchange(beside_, beside_ || beside);
        visit(inner);
        beside_ = before;
      }
    }
  }

  bool entered(const Run &run) const {
    return std::any_of(run.boxes.begin(), run.boxes.end(),
                       [&](const Box &box) { return takes_part(box); });
  }

  // The box that has the most positions, of those with lanes.
  const Box &main(const Run &run) const {
    if (turns_.empty()) return run.whole();
    const auto work = [&](const Box &box) { return turns_[std::size_t(box.id)] * box.positions(); };
    return *std::max_element(run.boxes.begin(), run.boxes.end(),
                             [&](const Box &a, const Box &b) { return work(a) < work(b); });
  }

  void width(LoopId id, int lanes) {
    const Survey::LoopFacts &facts = blocks_.surveys[phase_].loops[id.index];
    add(facts.widest <= 2 ? Reason::LanesOfWidest : Reason::LanesOfRegister,
        subject(program_[id].axis), support::count(lanes, "lane"),
        fmt::format("{} at once, in vectors of {} bits", support::count(lanes, "position"),
                    blocks_.machine.vector_bits));
  }

  std::string stepped(BufferId id, AxisId along) const {
    const StrideClass stride = walk(program_, id, along)->stride;
    return stride == StrideClass::Reversed ? "backwards"
                                           : fmt::format("in steps of {}", step_of(stride));
  }

  void strided_loads(const Box &box, AxisId along) {
    for (const Access &access : box.accesses) {
      const std::string &name = program_[access.buffer].name;
      if (access.move == Move::Strided)
        add(Reason::StridedLoads, subject(along), "'" + name + "' by whole vectors",
            fmt::format(
                "'{}' is walked {}: whole vectors are loaded, and the lanes picked from these",
                name, stepped(access.buffer, along)));
      if (access.move == Move::Gather || access.move == Move::Single)
        add(Reason::LanesApart, subject(along),
            fmt::format("'{}' {}", name, access.move == Move::Gather ? "by gathers" : "one by one"),
            fmt::format("the lanes of '{}' lie apart, and are {} {}", name,
                        access.store ? "stored" : "loaded",
                        access.move == Move::Gather ? (access.store ? "by scatters" : "by gathers")
                                                    : "one by one"));
    }
  }

  void neighbours(const Box &box, AxisId axis) {
    add(Reason::NeighboursOfThreads, subject(axis), support::count(box.apiece(), "neighbour"),
        fmt::format("each thread takes {}, which it loads and stores at once",
                    support::count(box.apiece(), "neighbour")));
  }

  void map(const Run &run) {
    const AxisId axis = program_[run.loop].axis;
    const Box &box = main(run);
    width(run.loop, box.count(As::Lanes));
    strided_loads(box, axis);
    if (box.apiece() > 1) return neighbours(box, axis);
    if (const int copies = box.count(As::Copies); copies > 1)
      return add(Reason::ColumnBlock, subject(axis), support::count(copies, "group"),
                 fmt::format("{} of lanes in a turn: pieces of whole cache lines",
                             support::count(copies, "group")));
    if (box.rest && run.whole().count(As::Copies) > 1)
      return add(Reason::NarrowColumns, subject(axis), support::count(box.positions(), "lane"),
                 fmt::format("all positions are in the rest, {} masked: a block of {} has no turn",
                             support::count(box.positions(), "lane"), run.whole().positions()));
    if (jammed_) return;
    if (run.shape == Shape::MaskedMap)
      return add(
          Reason::HeavyBody, subject(axis), "1 group",
          "1 group of lanes in a turn, masked throughout: the body is heavy, and stands once");
    add(Reason::OneGroup, subject(axis), "1 group",
        "1 group of lanes in a turn: its turns do not wait for each other, so copies would gain "
        "nothing");
  }

  void explain(const Run &run) {
    const AxisId axis = program_[run.loop].axis;
    const Box &box = run.whole();
    switch (run.shape) {
    case Shape::Turns: return;
    case Shape::SerialScan:
    case Shape::Short: return strided_loads(box, axis);
    case Shape::Map:
    case Shape::MaskedMap:
    case Shape::StreamedMap: return map(run);
    case Shape::Unrolled: return;
    case Shape::SerialFold:
      if (box.dims[0].leaves && takes_part(box))
        add(Reason::LeavesTogether, subject(axis), leaves(box),
            fmt::format("{} of the fold step side by side: each step of a leaf waits for the one "
                        "before it",
                        leaves(box)));
      return;
    case Shape::VectorFold: {
      const int lanes = run.rest().positions();
      width(run.loop, lanes);
      strided_loads(main(run), axis);
      if (box.apiece() > 1) return neighbours(box, axis);
      if (&box == &run.rest())
        return add(Reason::HeavyBody, subject(axis), "1 group",
                   "1 group of lanes in a turn: the body is heavy");
      const std::string groups = support::count(box.count(As::Copies), "group");
      return add(Reason::RegistersOfLanes, subject(axis), groups,
                 groups + " of lanes in a turn: the 32 ways of the fold");
    }
    case Shape::GroupScan: {
      width(run.loop, scan_ways);
      strided_loads(box, axis);
      const std::string groups = support::count(box.count(As::Copies), "group");
      return add(Reason::GroupOfScan, subject(axis), groups,
                 groups + " of lanes in a turn: the 16 lanes of the scan" +
                     (box.count(As::Copies) > 1 ? ", of which only totals are wanted" : ""));
    }
    case Shape::Jam:
      if (!takes_part(box)) return;
      jammed_ = true;
      visit(box);
      jammed_ = false;
      return add(Reason::RowsJammed, subject(axis), support::count(box.positions(), "row"),
                 fmt::format("{} in a turn of {}: {} (unroll-and-jam)",
                             support::count(box.positions(), "row"),
                             program_[program_[run.inner].axis].name, gain_of_jam(run)));
    case Shape::RowTile: {
      if (!takes_part(box) && (run.beside() == nullptr || !takes_part(*run.beside()))) return;
      const AxisId along = program_[run.inner].axis;
      const int rows = box.count(As::Copies), base = base_of(run);
      width(run.inner, base);
      const std::string groups = support::count(box.positions() / base, "group");
      const std::string tile = support::count(rows, "row");
      return add(Reason::RegisterTile, subject(along), groups + " by " + tile,
                 fmt::format("{} of lanes of {} each in a turn: what rows share is loaded once",
                             groups, tile));
    }
    case Shape::FoldTile: {
      if (!takes_part(box)) return;
      visit(box);
      const std::string tile = fmt::format("{} by {}", box.dims[0].count, box.dims[1].count);
      return add(Reason::RegisterTile, subject(axis), tile,
                 fmt::format("{} positions of {} and {} in a turn: what folds share is loaded once",
                             tile, program_[axis].name, program_[program_[run.inner].axis].name));
    }
    case Shape::TransposedTile: {
      if (!takes_part(box)) return;
      const AxisId along = program_[run.inner].axis;
      width(run.inner, box.positions());
      for (const Access &access : box.accesses)
        if (access.move == Move::Transposed)
          add(Reason::TransposedBlock, subject(along), fmt::format("{0} by {0}", box.positions()),
              fmt::format("'{1}' is loaded along {2} in blocks of {0} by {0}, which are transposed "
                          "in {3}",
                          box.positions(), program_[access.buffer].name, program_[axis].name,
                          blocks_.machine.warp > 0 ? "memory that threads share" : "registers"));
      return;
    }
    }
  }

  const char *gain_of_jam(const Run &run) const {
    const std::vector<Access> &accesses = run_of(run.whole(), run.inner).whole().accesses;
    return std::ranges::any_of(accesses, &Access::shared)
               ? "each row that several of them read is loaded once"
               : "each state is loaded and stored once for all of them";
  }

  // What became of the copies and rows that the schedule asks for.
  void wishes(const Run &run) {
    if (beside_) return;
    const Box &box = run.whole();
    const bool tile = run.shape == Shape::RowTile;
    if (tile)
      copies(run, program_[run.inner].axis, box.count(As::Lanes) / base_of(run));
    else if (run.shape == Shape::FoldTile)
      copies(run, program_[run.inner].axis, box.dims[1].count);
    else if (run.shape == Shape::TransposedTile)
      copies(run, program_[run.inner].axis, 1);
    else if (run.shape != Shape::Jam && run.shape != Shape::Turns)
      copies(run, program_[run.loop].axis, box.count(As::Copies));
    const bool has_rows = tile || run.shape == Shape::Jam || run.shape == Shape::FoldTile;
    rows(run, has_rows ? box.dims[0].count : 1);
  }

  void wish(AxisId axis, const char *word, int asked, const std::string &choice, bool met,
            const std::string &because) {
    const std::string clause = fmt::format("{} {} {}", word, program_[axis].name, asked);
    Decision decision = decide(met ? Reason::WishMet : Reason::WishNotMet, clause, choice,
                               fmt::format("phase {}: {} of {} in a turn, as the schedule asks",
                                           phase_, choice, program_[axis].name));
    if (!met) {
      decision.text = fmt::format("phase {}: the schedule asks for '{}', but {}: {}", phase_,
                                  clause, because, choice);
      decision.alternatives.push_back({clause, because, {}});
    }
    const auto same = [&](const Decision &d) { return d.text == decision.text; };
    if (std::none_of(why_.begin(), why_.end(), same)) why_.push_back(std::move(decision));
  }

  void copies(const Run &run, AxisId axis, int got) {
    const int asked = program_[axis].copies;
    if (asked == 0) return;
    std::string because;
    switch (run.shape) {
    case Shape::Turns:
    case Shape::Jam: return;
    case Shape::Map:
      because = jammed_ ? "the rows of the jam are the copies" : "its body is heavy, or has loops";
      break;
    case Shape::RowTile:
    case Shape::FoldTile: break;
    case Shape::MaskedMap: because = "its body is heavy"; break;
    case Shape::StreamedMap: because = "what is stored around the caches goes by the group"; break;
    case Shape::Short: because = "a row of known length is taken as a whole"; break;
    case Shape::Unrolled: because = "its few steps stand one after the other"; break;
    case Shape::SerialFold:
      because = "its body is heavy, has loops or stores, or has no leaves";
      break;
    case Shape::VectorFold: because = "its copies are the 32 ways of the fold"; break;
    case Shape::SerialScan: because = "the order of the steps matters"; break;
    case Shape::GroupScan: because = "its copies are groups of 16 lanes of the scan"; break;
    case Shape::TransposedTile: because = "it is transposed in square blocks"; break;
    }
    if (got > 1 && !takes_part(run.whole())) {
      because = "there are fewer positions than a block has";
      got = 1;
    }
    wish(axis, "copies", asked, got == 1 ? "1 copy" : fmt::format("{} copies", got), got == asked,
         because);
  }

  void rows(const Run &run, int got) {
    const AxisId axis = program_[run.loop].axis;
    const bool few = got > 1 && !takes_part(run.whole());
    if (few) got = 1;
    if (const int asked = program_[axis].tile; asked > 0)
      wish(axis, "tile", asked, support::count(got, "row"), got == asked,
           few ? "there are fewer positions than a block has"
               : "its rows are neither those of a product nor share states in memory");
  }

  static std::string leaves(const Box &box) { return fmt::format("{} leaves", box.positions()); }

  // The lanes of one register in a tile whose rows may have several.
  int base_of(const Run &run) const {
    const Run &map = run_of(run.rest(), run.inner);
    return map.whole().count(As::Lanes);
  }

  const loop::Program &program_;
  const Program &blocks_;
  std::vector<double> turns_;
  std::vector<Decision> why_;
  std::size_t phase_ = 0;
  bool jammed_ = false, beside_ = false;
};

} // namespace

std::vector<Decision> explain(const loop::Program &program, const Program &blocks,
                              const Numbers *numbers) {
  return Explainer(program, blocks, numbers).run();
}

} // namespace broadloom::block
