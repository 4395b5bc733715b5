// See schedule.hpp.
#include "spec/schedule.hpp"

#include "spec/space.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

namespace broadloom {

using Kind = ScheduleClause::Kind;

namespace {

ScheduleClause clause_of(Kind kind, std::vector<AxisRef> axes, std::vector<std::string> names,
                         int count, const std::source_location &where) {
  return {kind, std::move(axes), std::move(names), count, place_of(where)};
}

} // namespace

Schedule &Schedule::add(ScheduleClause clause) {
  clauses_.insert(std::ranges::find(clauses_, Kind::Of, &ScheduleClause::kind), std::move(clause));
  return *this;
}

Schedule &Schedule::of(std::string let, const Schedule &schedule, Place where) {
  clauses_.push_back({Kind::Of, {}, {std::move(let)}, 0, std::move(where)});
  clauses_.insert(clauses_.end(), schedule.clauses_.begin(), schedule.clauses_.end());
  return *this;
}
Schedule &Schedule::of(std::string let, const Schedule &schedule, Where where) {
  return of(std::move(let), schedule, place_of(where));
}

Schedule &Schedule::vector(AxisRef axis, Where where) {
  return add(clause_of(Kind::Vector, {std::move(axis)}, {}, 0, where));
}
Schedule &Schedule::parallel(AxisRef axis, Where where) {
  return add(clause_of(Kind::Parallel, {std::move(axis)}, {}, 0, where));
}
Schedule &Schedule::serial(AxisRef axis, Where where) {
  return add(clause_of(Kind::Serial, {std::move(axis)}, {}, 0, where));
}
Schedule &Schedule::copies(AxisRef axis, int count, Where where) {
  return add(clause_of(Kind::Copies, {std::move(axis)}, {}, count, where));
}
Schedule &Schedule::tile(AxisRef axis, int count, Where where) {
  return add(clause_of(Kind::Tile, {std::move(axis)}, {}, count, where));
}
Schedule &Schedule::order(std::vector<AxisRef> axes, Where where) {
  return add(clause_of(Kind::Order, std::move(axes), {}, 0, where));
}
Schedule &Schedule::keep(std::string let, Where where) {
  return add(clause_of(Kind::Keep, {}, {std::move(let)}, 0, where));
}
Schedule &Schedule::recompute(std::string let, Where where) {
  return add(clause_of(Kind::Recompute, {}, {std::move(let)}, 0, where));
}
Schedule &Schedule::inlined(std::string let, Where where) {
  return add(clause_of(Kind::Inline, {}, {std::move(let)}, 0, where));
}
Schedule &Schedule::at(std::string let, AxisRef axis, Where where) {
  return add(clause_of(Kind::At, {std::move(axis)}, {std::move(let)}, 0, where));
}
Schedule &Schedule::stream(std::string output, Where where) {
  return add(clause_of(Kind::Stream, {}, {std::move(output)}, 0, where));
}
Schedule &Schedule::cached(std::string output, Where where) {
  return add(clause_of(Kind::Cached, {}, {std::move(output)}, 0, where));
}
Schedule &Schedule::fuse(std::string a, std::string b, Where where) {
  return add(clause_of(Kind::Fuse, {}, {std::move(a), std::move(b)}, 0, where));
}
Schedule &Schedule::separate(std::string a, std::string b, Where where) {
  return add(clause_of(Kind::Separate, {}, {std::move(a), std::move(b)}, 0, where));
}

namespace spec {

namespace {

using support::fail;

constexpr std::array<std::string_view, std::size_t(Kind::Of) + 1> words{
    "vector", "parallel", "serial", "copies", "tile", "order",    "keep",    "recompute",
    "inline", "at",       "stream", "cached", "fuse", "separate", "schedule"};

std::string text_of(const AxisRef &axis) {
  if (const int *position = std::get_if<int>(&axis.value())) return std::to_string(*position);
  return std::get<std::string>(axis.value());
}

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

std::string_view word_of(Kind kind) { return words[std::size_t(kind)]; }

std::string print(const ScheduleClause &clause) {
  std::string text(word_of(clause.kind));
  if (clause.kind == Kind::At) return text + " " + clause.names[0] + " " + text_of(clause.axes[0]);
  for (std::size_t k = 0; k < clause.axes.size(); ++k)
    text += (k == 0 ? " " : ", ") + text_of(clause.axes[k]);
  for (std::size_t k = 0; k < clause.names.size(); ++k)
    text += (k == 0 ? " " : ", ") + clause.names[k];
  if (clause.kind == Kind::Copies || clause.kind == Kind::Tile)
    text += " " + std::to_string(clause.count);
  return text;
}

std::string print(const Schedule &schedule) {
  std::string text;
  const auto begin = [&](const std::string &words) { text += "  " + words + " {\n"; };
  for (const ScheduleClause &clause : schedule.clauses()) {
    if (clause.kind == Kind::Of) {
      if (!text.empty()) text += "  }\n";
      begin(print(clause));
    } else {
      if (text.empty()) begin("schedule");
      text += "    " + print(clause) + "\n";
    }
  }
  return text.empty() ? text : text + "  }\n";
}

Schedule part_of(const Schedule &schedule, std::string_view let) {
  Schedule part;
  bool is_it = let.empty();
  for (const ScheduleClause &clause : schedule.clauses())
    if (clause.kind == Kind::Of)
      is_it = clause.names[0] == let;
    else if (is_it)
      part.add(clause);
  return part;
}

std::vector<ScheduleClause> lets_of(const Schedule &schedule) {
  std::vector<ScheduleClause> lets;
  std::ranges::copy_if(schedule.clauses(), std::back_inserter(lets),
                       [](const ScheduleClause &clause) { return clause.kind == Kind::Of; });
  return lets;
}

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

} // namespace spec
} // namespace broadloom
