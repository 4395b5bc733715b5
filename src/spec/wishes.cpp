// See wishes.hpp.
#include "spec/wishes.hpp"

#include "spec/space.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

namespace broadloom::spec {

using Kind = ScheduleClause::Kind;
using support::fail;

namespace {

Place shown(const SpecData &data, const ScheduleClause &clause) {
  return support::with_text(clause.where, data.source.get());
}

[[noreturn]] void fail_twice(const SpecData &data, const ScheduleClause &clause,
                             const std::string &what) {
  fail("E0018", what, shown(data, clause), "leave one of the clauses out");
}

void check_count(const SpecData &data, const ScheduleClause &clause) {
  constexpr int least_side = 2 * Wishes::most_rows, most_side = 4096;
  const bool tile = clause.kind == Kind::Tile;
  const int most = tile ? most_side : Wishes::most_rows;
  if (clause.count > 0 && clause.count <= most && std::has_single_bit(unsigned(clause.count)))
    return;
  fail("E0019",
       "'" + std::string(word_of(clause.kind)) + "' takes 1, 2, 4 or 8" +
           (tile ? fmt::format(" rows, or a side from {} to {}, a power of two", least_side,
                               most_side)
                 : "") +
           ", not " + std::to_string(clause.count),
       shown(data, clause),
       tile ? "write 1 for rows one by one" : "write 1 for a body that is not repeated");
}

// The lets or the outputs of a kernel.
struct NamesOfText {
  std::string_view subject;
  std::vector<std::string> in_order;
  std::unordered_set<std::string> known;

  void add(const std::string &name) {
    in_order.push_back(name);
    known.insert(name);
  }
};

void check_name(const SpecData &data, const ScheduleClause &clause, const NamesOfText &names) {
  const std::string &name = clause.names[0];
  if (names.known.contains(name)) return;
  const std::string near = support::closest(name, names.in_order), kind(names.subject);
  fail("E0017",
       "'" + std::string(word_of(clause.kind)) + "' names " + (kind == "let" ? "a " : "an ") +
           kind + ", and '" + name + "' is none",
       shown(data, clause),
       !near.empty()            ? "did you mean '" + near + "'?"
       : names.in_order.empty() ? "this kernel has no " + kind + "s: leave the clause out"
                                : "the " + kind + "s are " + support::quoted_list(names.in_order));
}

// The array that a let's kernel stores is the let.
void check_stored(const SpecData &data, const ScheduleClause &clause, const std::string &let) {
  if (clause.names[0] == let) return;
  fail("E0017",
       "the loops of let '" + let + "' store '" + let + "' alone, and '" +
           std::string(word_of(clause.kind)) + "' names '" + clause.names[0] + "'",
       shown(data, clause),
       "write '" + std::string(word_of(clause.kind)) + " " + let +
           "', or say it where the loops of '" + clause.names[0] + "' are");
}

} // namespace

void check_schedule(const SpecData &data) {
  if (data.schedule.clauses().empty()) return;
  NamesOfText lets{"let", {}, {}}, outputs{"output", {}, {}};
  for (const Expr &let : data.lets) lets.add(let.node()->name);
  for (const OutputDecl &output : data.outputs) outputs.add(output.name);
  std::unordered_map<std::string, const ScheduleClause *> said; // by what a clause decides about
  std::unordered_set<std::string> parts;
  std::string let; // whose loops are spoken of
  const auto once = [&](const std::string &decides, const ScheduleClause &clause) {
    const auto [other, fresh] = said.try_emplace(decides, &clause);
    if (!fresh)
      fail_twice(data, clause,
                 "the schedule has '" + print(*other->second) + "' and '" + print(clause) + "'");
  };
  for (const ScheduleClause &clause : data.schedule.clauses()) {
    switch (clause.kind) {
    case Kind::Vector:
    case Kind::Order: once(std::string(word_of(clause.kind)), clause); break;
    case Kind::Copies:
    case Kind::Tile: check_count(data, clause); break;
    case Kind::Keep:
    case Kind::Recompute:
    case Kind::Inline:
    case Kind::At:
      check_name(data, clause, lets);
      once("let " + clause.names[0], clause);
      break;
    case Kind::Stream:
    case Kind::Cached:
      let.empty() ? check_name(data, clause, outputs) : check_stored(data, clause, let);
      once("output " + clause.names[0], clause);
      break;
    case Kind::Of:
      check_name(data, clause, lets);
      let = clause.names[0];
      said.clear();
      if (!parts.insert(let).second)
        fail("E0018", "let '" + let + "' has a second schedule", shown(data, clause),
             "write all clauses into one");
      break;
    case Kind::Parallel: // about axes: resolve_wishes
    case Kind::Serial:
    case Kind::Fuse: // pairings
    case Kind::Separate: break;
    }
  }
}

void keep_wishes(SpecData &rest, const std::vector<Expr> &before) {
  const auto has = [](const std::vector<Expr> &lets, const std::string &name) {
    return std::ranges::any_of(lets, [&](const Expr &let) { return let.node()->name == name; });
  };
  const auto is_gone = [&](const std::string &name) {
    return has(before, name) && !has(rest.lets, name);
  };
  std::erase_if(rest.pairings, [&](const Pairing &p) { return is_gone(p.a) || is_gone(p.b); });
  const auto kept = [&](const std::string &let) {
    Schedule part;
    const Schedule said = part_of(rest.schedule, let);
    for (const ScheduleClause &clause : said.clauses())
      if (std::ranges::none_of(clause.names, is_gone)) part.add(clause);
    return part;
  };
  Schedule schedule = kept("");
  for (const ScheduleClause &let : lets_of(rest.schedule))
    if (!is_gone(let.names[0])) schedule.of(let.names[0], kept(let.names[0]), let.where);
  rest.schedule = std::move(schedule);
}

Wishes resolve_wishes(const SpecData &data, const Space &space) {
  Wishes wishes;
  wishes.stores.assign(data.outputs.size(), Stores::AsItFits);
  std::unordered_map<std::string, std::size_t> outputs;
  for (std::size_t k = 0; k < data.outputs.size(); ++k) outputs[data.outputs[k].name] = k;
  const auto count = [&](std::vector<Wishes::Count> &counts, const ScheduleClause &clause) {
    const int axis = space.axis(clause.axes[0], clause.where);
    for (const Wishes::Count &known : counts)
      if (known.axis == axis)
        fail_twice(data, clause,
                   "the schedule says '" + std::string(word_of(clause.kind)) + "' of axis " +
                       space.axis_name(axis) + " twice");
    counts.push_back({axis, clause.count});
  };
  const auto threads = [&](expr::AxisSet &set, const ScheduleClause &clause) {
    const int axis = space.axis(clause.axes[0], clause.where);
    if ((wishes.parallel | wishes.serial).has(axis))
      fail_twice(data, clause,
                 "the schedule says 'parallel' or 'serial' of axis " + space.axis_name(axis) +
                     " twice");
    set = set | expr::AxisSet::of(axis);
  };
  const Schedule schedule = part_of(data.schedule);
  for (const ScheduleClause &clause : schedule.clauses()) {
    switch (clause.kind) {
    case Kind::Vector: wishes.vector = space.axis(clause.axes[0], clause.where); break;
    case Kind::Parallel: threads(wishes.parallel, clause); break;
    case Kind::Serial: threads(wishes.serial, clause); break;
    case Kind::Copies: count(wishes.copies, clause); break;
    case Kind::Tile: count(wishes.tile, clause); break;
    case Kind::Order:
      for (const AxisRef &ref : clause.axes) {
        const int axis = space.axis(ref, clause.where);
        if (std::ranges::find(wishes.order, axis) != wishes.order.end())
          fail("E0018", "'order' names axis " + space.axis_name(axis) + " twice",
               shown(data, clause), "name each axis once, the outermost first");
        wishes.order.push_back(axis);
      }
      break;
    case Kind::Keep:
    case Kind::Recompute:
    case Kind::Inline: wishes.lets.push_back({clause, {}}); break;
    case Kind::At: wishes.lets.push_back({clause, space.axis(clause.axes[0], clause.where)}); break;
    case Kind::Stream:
    case Kind::Cached:
      wishes.stores[outputs.at(clause.names[0])] =
          clause.kind == Kind::Stream ? Stores::Streamed : Stores::Cached;
      break;
    case Kind::Fuse:
    case Kind::Separate: // pairings
    case Kind::Of: break;
    }
  }
  return wishes;
}

} // namespace broadloom::spec
