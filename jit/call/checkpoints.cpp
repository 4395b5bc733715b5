// Loops over time whose states are computed again, segment by segment, for the loop the other way
// that reads them (lets.hpp):
//
//   let u[t, i] = f(u[t - 1, i]) from u0               500 rows; kept: u[-1], u[22], u[45], .. and
//                                                      the 23 from the one at hand on
//   let d_u[t, i] = d_u[t + 1, i] * f'(u_1[t, i])      reads them from the last one down
//
// Segments of as many steps are computed from the rows that some of them begin with, each as few
// times as there is memory for (revolve.hpp).
#include "jit/call/lets.hpp"

#include "array/copy.hpp"

#include <algorithm>

namespace broadloom::jit {

// The loop that an input is, or rows of which it is.
std::optional<Lets::LoopRead> Lets::loop_read(const spec::TypedInput &input) const {
  if (!input.materialised) return std::nullopt;
  const auto let = index_.find(input.name);
  if (let == index_.end()) return std::nullopt;
  const std::optional<spec::EarlierRows> &rows = lets_[let->second].rows;
  const std::size_t k = rows ? rows->loop : let->second;
  const spec::Recurrence *loop = recurrence(k);
  if (loop == nullptr) return std::nullopt;
  const std::int64_t back = rows ? rows->back : 0;
  return LoopRead{k, loop->backwards ? back : loop->lag - back};
}

std::optional<Lets::LoopRead> Lets::computed_again(std::size_t k, std::size_t input) const {
  const auto read = loop_read(specs_[k]->typed.inputs[input]);
  const bool follows =
      read && recurrence(k) != nullptr && lets_[read->let].followed_by == recurrence(k)->first;
  return follows ? read : std::nullopt;
}

// What one kernel reads of the members of the loop: true if that allows for it to be computed
// again, and notes who follows it.
bool Lets::take_follower(std::size_t first, const spec::TypedSpec &reader,
                         const spec::Recurrence *loop) {
  const spec::Recurrence &of = *recurrence(first);
  for (std::size_t i = 0; i < reader.given_inputs(); ++i) {
    const std::optional<LoopRead> read = loop_read(reader.inputs[i]);
    if (!read || read->let < first || read->let >= first + of.count) continue;
    const spec::Recurrence &member = *recurrence(read->let);
    const bool is_itself = reader.inputs[i].name == specs_[read->let]->typed.outputs[0].name;
    if (is_itself && spec::reads_last_position(reader, i, member)) continue;
    std::optional<spec::RowsRead> rows;
    if (loop != nullptr && loop->backwards != of.backwards)
      rows = spec::rows_read_by_step(reader, i, member.dim);
    if (!rows) return false;
    if (rows->high < rows->low) continue; // its shape alone
    if (lets_[first].followed_by.value_or(loop->first) != loop->first) return false;
    lets_[first].followed_by = loop->first;
    const std::int64_t step = read->first - (of.backwards ? 0 : member.lag);
    lets_[read->let].steps_read.add({rows->low + step, rows->high + step});
  }
  return true;
}

// `next`: how many views there are.
void Lets::find_followers(std::size_t &next) {
  for (std::size_t k = 0; k < lets_.size(); ++k) {
    const spec::Recurrence *loop = recurrence(k);
    if (loop == nullptr || loop->first != k) continue;
    if (!is_followed(k)) {
      for (std::size_t m = k; m < k + loop->count; ++m) {
        lets_[m].followed_by.reset();
        lets_[m].steps_read = {};
      }
      continue;
    }
    for (std::size_t m = k; m < k + loop->count; ++m) {
      lets_[m].followed_by = lets_[k].followed_by;
      if (lets_[m].kept_rows == 0) lets_[m].seen_as = next++;
      lets_[m].checkpoints_view = next++;
    }
  }
}

bool Lets::is_followed(std::size_t first) {
  const spec::Recurrence &loop = *recurrence(first);
  const std::size_t end = first + loop.count;
  for (std::size_t m = first; m < end; ++m) {
    if (lets_[m].whole) return false;
    for (std::size_t other = first; other < end; ++other)
      if (!sees_few_rows(other, m)) return false;
    for (const spec::TypedInput &input : specs_[m]->typed.given()) // rows that come and go
      if (const auto read = loop_read(input); read && lets_[read->let].followed_by == first)
        return false;
  }
  for (std::size_t k = 0; k < specs_.size(); ++k) {
    const spec::Recurrence *reader = recurrence(k);
    const bool begins = reader != nullptr && reader->start >= first && reader->start < end;
    if (begins) return false;
    if ((k >= first && k < end) || lets_[k].rows) continue;
    for (const std::size_t read : specs_[k]->join ? std::span<const std::size_t>(lets_[k].reads)
                                                  : std::span<const std::size_t>())
      if (read >= first && read < end) return false;
    if (!specs_[k]->join && !take_follower(first, specs_[k]->typed, reader)) return false;
  }
  if (!take_follower(first, rest_, nullptr) || !lets_[first].followed_by) return false;
  // In the order of computation, the last step that is read; where that is there, so are `lag` rows
  // before its segment.
  const auto mirrored = [&](std::int64_t step) { return loop.backwards ? -step : step; };
  std::int64_t last = INT64_MIN;
  for (std::size_t m = first; m < end; ++m)
    if (const spec::RowsRead &read = lets_[m].steps_read; read.low <= read.high)
      last = std::max({last, mirrored(read.low), mirrored(read.high)});
  for (std::size_t m = first; m < end; ++m)
    if (const spec::RowsRead &read = lets_[m].steps_read; read.low <= read.high)
      if (last - std::min(mirrored(read.low), mirrored(read.high)) > recurrence(m)->lag)
        return false;
  lets_[first].last_step_read = loop.backwards ? -last : last;
  return true;
}

// For the shapes of its members.
void Lets::choose_segments(std::size_t first, std::span<const std::vector<std::int64_t>> shapes,
                           Layouts &made) const {
  const spec::Recurrence &loop = *recurrence(first);
  const std::size_t end = first + loop.count;
  const std::int64_t steps = shapes[first][loop.dim];
  double bytes = 0;           // of all steps
  double kept = 0, saved = 0; // of one row that is kept, and of one that is saved
  std::int64_t lag = 1;
  for (std::size_t m = first; m < end; ++m) {
    made.kept_rows.push_back(lets_[m].kept_rows);
    made.segments.emplace_back();
    const std::int64_t m_lag = recurrence(m)->lag;
    lag = std::max(lag, m_lag);
    double row = double(size_of(specs_[m]->typed.outputs[0].dtype));
    for (std::size_t d = 0; d < shapes[m].size(); ++d)
      if (d != recurrence(m)->dim) row *= double(shapes[m][d]);
    saved += row;
    if (lets_[m].kept_rows != 0) continue;
    kept += row;
    bytes += row * double(steps + m_lag);
  }
  if (!lets_[first].followed_by || bytes <= double(most_bytes_)) return;
  const double always = kept * double(lag) + saved; // beside the first segment, and the last row
  const Segments segments =
      jit::choose_segments(steps, {kept, saved * double(lag), double(most_bytes_) - always});
  if (segments.steps + lag >= steps) return;
  for (std::size_t m = first; m < end; ++m) {
    made.segments[m] = segments;
    if (lets_[m].kept_rows == 0) made.kept_rows[m] = segments.steps + recurrence(m)->lag;
  }
}

// What a loop reads that is computed again lives as long as the one that follows it.
void Lets::keep_what_is_read_again(Layouts &made, std::vector<support::Lifetime> &lifetimes) const {
  for (std::size_t k = 0; k < lets_.size(); ++k) {
    if (made.segment(k) == 0) continue;
    const spec::Recurrence &by = *recurrence(*lets_[k].followed_by);
    const std::size_t last = by.first + by.count - 1;
    const auto keep = [&](std::size_t let) {
      lifetimes[let].last_read = std::max(lifetimes[let].last_read, last);
    };
    keep(k);
    for (const std::size_t read : lets_[k].reads) {
      if (read >= lets_.size()) continue;
      keep(read);
      if (lets_[read].rows) keep(lets_[read].rows->loop);
    }
  }
}

// Two views: the let as all others see it, who read its last position alone, and what its segments
// go on from, `lag` rows for each, and the last row.
void Lets::add_checkpoints(std::size_t k, const Layouts &layouts, char *memory,
                           std::vector<AnyView> &views) const {
  const spec::Recurrence &loop = *recurrence(k);
  AnyView rows = views[k];
  if (layouts.segment(k) > 0) {
    rows.layout.extents[loop.dim] = layouts.rows_saved(k, loop.lag);
    rows.data = memory;
  }
  AnyView last = views[k];
  if (layouts.segment(k) > 0) { // rows that are kept are written again with the segments
    last.data = array::rows_of(rows, loop.dim, rows.layout.extents[loop.dim] - 1, 1).data;
    last.layout.strides[loop.dim] = 0;
  }
  if (lets_[k].kept_rows == 0)
    views.push_back(last);
  else if (layouts.segment(k) > 0)
    views[lets_[k].seen_as] = last;
  views.push_back(rows);
}

} // namespace broadloom::jit
