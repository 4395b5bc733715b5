// Loops over time: see call_run.hpp.
#include "jit/call/call_run.hpp"

#include "array/copy.hpp"
#include "kernel/padding.hpp"

#include <algorithm>

namespace broadloom::jit {

using namespace act;
using calls::Step;

void CallRun::take(const For &action) {
  const TimeLoop &loop = plan_.loops[action.loop];
  number_ = action.loop;
  saved_[number_].clear();
  std::int64_t rested = 0, skipped = 0; // steps in a row
  for (n_ = 0; n_ < loop.steps; ++n_) {
    rested = loop.rest && is_at_rest(loop) ? rested + 1 : 0;
    if (loop.rest && rested > loop.rest->after) {
      repeat_last(loop, ++skipped);
      continue;
    }
    skipped = 0;
    step(loop, n_);
    if (loop.end && is_over(loop)) repeat(loop);
  }
  is_in_loop_ = false;
  t_ = 0;
  if (loop.segment() > 0) save_last(loop, action.loop);
}

void CallRun::step(const TimeLoop &loop, std::int64_t n) {
  is_in_loop_ = true;
  t_ = loop.step(n);
  take_all(loop.body);
}

bool CallRun::is_over(const TimeLoop &loop) {
  if (n_ < loop.end->back) return false;
  const TimeLoop::Member &member = loop.members[loop.end->member];
  const AnyView done = row_of(member, row_at(loop, member, n_ - loop.end->back));
  if (!*static_cast<const bool *>(gpu::OnHost(device()).read(done).data)) return false;
  if (recorder_ != nullptr) recorder_->add({Step::Kind::For, {}, {{done}}, {}});
  return true;
}

bool CallRun::is_at_rest(const TimeLoop &loop) {
  const AnyView says = whole(loop.rest->says);
  const std::int64_t at = loop.step(n_) + loop.rest->shift;
  if (at < 0 || at >= says.layout.extents[0]) return false;
  gpu::OnHost host(device());
  const auto *element = static_cast<const char *>(host.read(array::rows_of(says, 0, at, 1)).data);
  return ops::convert(ops::load(element, says.dtype), says.dtype, DType::Bool).bits != 0;
}

void CallRun::repeat_last(const TimeLoop &loop, std::int64_t skipped) {
  if (skipped == 1) count_path(Path::LoopEnded);
  if (recorder_ != nullptr) {
    const std::int64_t at = loop.step(n_) + loop.rest->shift;
    recorder_->add({Step::Kind::For, {}, {{array::rows_of(whole(loop.rest->says), 0, at, 1)}}, {}});
  }
  repeat_row(loop, n_ - 1, skipped);
}

void CallRun::repeat(const TimeLoop &loop) {
  const std::int64_t last = n_;
  if (last + 1 < loop.steps) count_path(Path::LoopEnded);
  for (n_ = last + 1; n_ < loop.steps; ++n_) repeat_row(loop, last, n_ - last);
  --n_;
}

void CallRun::count_path(Path path) const {
  if (nests_.rest.setup().profile == Profile::paths) count(path);
}

void CallRun::repeat_row(const TimeLoop &loop, std::int64_t n, std::int64_t skipped) {
  const bool all = *watch_ || loop.segment() > 0;
  t_ = loop.step(n_);
  if (loop.segment() > 0) save_rows(loop, number_);
  nests_.rest.setup().stop_if_cancelled();
  for (const TimeLoop::Member &member : loop.members) {
    const AnyView from = row_of(member, row_at(loop, member, n)),
                  to = row_of(member, row_at(loop, member, n_));
    if ((all || !is_full(member.kept, skipped)) && from.data != to.data) copy_elements(from, to);
  }
  for (const Action &action : loop.body) {
    if (const auto *pad = std::get_if<Pad>(&action);
        pad && pad->row &&
        (all || !is_full(std::max(pad->row->kept, loop.members[pad->row->member].kept), skipped)))
      pad_row(*pad, view(pad->of), view(pad->to), pad->row->first + t_, false);
    if (const auto *told = std::get_if<Told>(&action)) take(*told);
  }
}

bool CallRun::is_full(std::int64_t kept, std::int64_t skipped) {
  return kept > 0 && skipped > kept;
}

std::int64_t CallRun::row_at(const TimeLoop &loop, const TimeLoop::Member &member, std::int64_t n) {
  return loop.backwards ? loop.step(n) : n + member.lag;
}

std::int64_t CallRun::row_before(const TimeLoop &loop, std::int64_t n, std::int64_t c) {
  return (loop.backwards ? loop.steps - n : n) + c;
}

AnyView CallRun::row_of(const TimeLoop::Member &member, std::int64_t row) const {
  return array::rows_of(whole(member.rows), member.dim, member.kept > 0 ? row % member.kept : row,
                        1);
}

AnyView CallRun::saved_row(const TimeLoop::Member &member, std::int64_t row) const {
  return array::rows_of(whole(member.saved), member.dim, row, 1);
}

AnyView CallRun::whole(const MemRef &operand) const {
  AnyView view = operand.view;
  view.data = operand.at(arrays_);
  return view;
}

void CallRun::copy_elements(const AnyView &from, const AnyView &to) const {
  elements().copy(from, to.data, to.layout);
}

void CallRun::take(const Save &save) {
  const TimeLoop &loop = plan_.loops[save.loop];
  if (!save_rows(loop, save.loop) || recorder_ == nullptr || again_to_) return;
  for (const TimeLoop::Member &member : loop.members)
    recorder_->add(Step::Kind::Save, whole(member.rows), whole(member.saved));
}

bool CallRun::save_rows(const TimeLoop &loop, std::size_t number) {
  if (n_ % loop.segment() != 0) return false;
  const std::int64_t segment = n_ / loop.segment(),
                     last = again_to_.value_or(loop.segments.count(loop.steps) - 1);
  std::vector<std::int64_t> &saved = saved_[number];
  if (!saved.empty()) {
    const std::int64_t from = saved.back(),
                       places = loop.segments.places + 1 - std::int64_t(saved.size());
    if (segment == last || places < 2 || segment != from + saved_next(last + 1 - from, places))
      return false;
  }
  const auto place = std::int64_t(saved.size());
  for (const TimeLoop::Member &member : loop.members)
    for (std::int64_t c = 0; c < member.lag; ++c)
      copy_elements(row_of(member, row_before(loop, n_, c)),
                    saved_row(member, place * member.lag + c));
  saved.push_back(segment);
  return true;
}

void CallRun::save_last(const TimeLoop &loop, std::size_t number) {
  for (const TimeLoop::Member &member : loop.members)
    copy_elements(row_of(member, loop.backwards ? 0 : loop.steps - 1 + member.lag),
                  saved_row(member, member.saved.view.layout.extents[member.dim] - 1));
  there_[number] = std::max<std::int64_t>(0, loop.steps - loop.segment());
}

void CallRun::take(const Again &again) {
  const TimeLoop &loop = plan_.loops[again.loop];
  std::int64_t &there = there_[again.loop];
  const std::int64_t last = t_ + loop.last_step_read;
  const std::int64_t n =
      std::clamp<std::int64_t>(loop.backwards ? loop.steps - 1 - last : last, 0, loop.steps - 1);
  if (n >= there && n < there + loop.segment()) return;
  const std::int64_t segment = n / loop.segment();
  there = segment * loop.segment();
  std::vector<std::int64_t> &saved = saved_[again.loop];
  while (saved.back() > segment) saved.pop_back();
  const std::int64_t begin = saved.back() * loop.segment(), place = std::int64_t(saved.size()) - 1;
  const AnyView rows = whole(loop.members[0].rows);
  if (recorder_ != nullptr) recorder_->add(Step::Kind::Again, rows, rows); // until the next
  for (std::size_t m = 0; m < loop.members.size(); ++m)
    for (std::int64_t c = 0; c < loop.members[m].lag; ++c)
      bring_row(loop, m, row_before(loop, begin, c), place * loop.members[m].lag + c);
  const std::int64_t t = t_, n_here = n_;
  again_to_ = segment;
  for (n_ = begin; n_ < std::min(there + loop.segment(), loop.steps); ++n_) step(loop, n_);
  again_to_.reset();
  t_ = t;
  n_ = n_here;
  if (recorder_ != nullptr) recorder_->add(Step::Kind::Again, rows, rows);
  for (const Pad &pad : again.pads) {
    const AnyView of = whole(pad.of), to = whole(pad.to);
    kernel::pad_again(pad.padding, of, to, elements());
    record(pad, of, to);
  }
}

void CallRun::bring_row(const TimeLoop &loop, std::size_t member, std::int64_t row,
                        std::int64_t saved) {
  copy_elements(saved_row(loop.members[member], saved), row_of(loop.members[member], row));
  for (const Action &action : loop.body)
    if (const auto *pad = std::get_if<Pad>(&action); pad && pad->row && pad->row->member == member)
      pad_row(*pad, whole(pad->of), whole(pad->to), row);
}

} // namespace broadloom::jit
