// See schedule.hpp.
#include "spec/schedule.hpp"

#include "expr/node.hpp"

#include <array>
#include <iterator>

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

constexpr std::array<std::string_view, std::size_t(Kind::Of) + 1> words{
    "vector", "parallel", "serial", "copies", "tile", "order",    "keep",    "recompute",
    "inline", "at",       "stream", "cached", "fuse", "separate", "schedule"};

std::string text_of(const AxisRef &axis) {
  if (const int *position = std::get_if<int>(&axis.value())) return std::to_string(*position);
  return std::get<std::string>(axis.value());
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

} // namespace spec
} // namespace broadloom
