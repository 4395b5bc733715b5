// See explain.hpp.
#include "plan/explain.hpp"

#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::plan {
namespace {

using loop::AxisId;
using loop::Loop;
using loop::LoopId;
using loop::Stmt;
using loop::StmtKind;
using loop::StrideClass;
using support::decide;
using support::Reason;

constexpr std::size_t longest_nest = 300; // characters

class Explainer {
public:
  Explainer(const loop::Program &program, std::vector<Decision> &why)
      : program_(program), why_(why) {}

  void phase(std::size_t index) {
    name_ = fmt::format("phase {}", index);
    vectors_.clear();
    axes_.clear();
    buffers_.assign(program_.buffers.size(), false);
    tiles_ = chunks_ = ordered_ = false;
    follow(program_.phases[index].body, nullptr);
    nest(program_.phases[index].body);
    if (vectors_.empty()) no_vector();
    for (const auto &[axis, reason] : vectors_) vector(axis, reason);
  }

private:
  void follow(const std::vector<Stmt> &body, const Loop *around) {
    for (const Stmt &s : body) {
      if (s.kind == StmtKind::Set) buffers_[s.buffer.index] = true;
      if (s.kind == StmtKind::Let && program_[s.value].kind == loop::ValueKind::Load)
        buffers_[program_[s.value].buffer.index] = true;
      if (s.kind == StmtKind::Loop) enter(program_[s.loop], around);
    }
  }

  void enter(const Loop &loop, const Loop *around) {
    chunks_ = chunks_ || loop.within;
    tiles_ = tiles_ || in_tile(loop, around);
    ordered_ = ordered_ || !loop.accs.empty();
    if (!program_[loop.axis].chunks_of &&
        std::find(axes_.begin(), axes_.end(), loop.axis) == axes_.end())
      axes_.push_back(loop.axis);
    if (loop.vector) {
      const std::pair found(loop.axis, reason_of(loop, around));
      if (std::find(vectors_.begin(), vectors_.end(), found) == vectors_.end())
        vectors_.push_back(found);
    }
    follow(loop.body, &loop);
  }

  // The loop over the positions of a chunk lies apart from the one over the chunks.
  static bool in_tile(const Loop &loop, const Loop *around) {
    return loop.within && loop.accs.empty() && around != nullptr && around->axis != *loop.within;
  }

  Reason reason_of(const Loop &loop, const Loop *around) const {
    if (loop.scan) return Reason::ScanLanes;
    if (!loop.accs.empty()) return Reason::FoldLanes;
    if (in_tile(loop, around) && !around->within) return Reason::BlocksOfLongAxis;
    for (const Stmt &s : loop.body) {
      if (s.kind == StmtKind::Set && is_unit(s.buffer, loop.axis)) return Reason::UnitStride;
      if (s.kind == StmtKind::Let && program_[s.value].kind == loop::ValueKind::Load &&
          is_unit(program_[s.value].buffer, loop.axis))
        return Reason::UnitStride;
    }
    return reads_inside(loop, loop.axis) ? Reason::UnitStride : Reason::NoUnitStride;
  }

  bool reads_inside(const Loop &loop, AxisId axis) const {
    for (const Stmt &s : loop.body) {
      if (s.kind != StmtKind::Loop) continue;
      const Loop &inner = program_[s.loop];
      if (reads_inside(inner, axis)) return true;
      for (const Stmt &t : inner.body)
        if (t.kind == StmtKind::Let && program_[t.value].kind == loop::ValueKind::Load &&
            is_unit(program_[t.value].buffer, axis))
          return true;
    }
    return false;
  }

  bool is_unit(loop::BufferId id, AxisId axis) const {
    for (const loop::Walk &walk : program_[id].walks)
      if (walk.axis == axis) return walk.stride == StrideClass::Unit;
    return false;
  }

  // "i.chunk, i, j", and "i (j; j)" where a body has two loops.
  std::string loops_of(const std::vector<Stmt> &body) const {
    std::vector<std::string> loops;
    for (const Stmt &s : body) {
      if (s.kind != StmtKind::Loop) continue;
      const std::string inner = loops_of(program_[s.loop].body);
      const bool several = inner.starts_with('(');
      loops.push_back(program_[program_[s.loop].axis].name +
                      (inner.empty() ? "" : (several ? " " : ", ") + inner));
    }
    if (loops.empty()) return {};
    if (loops.size() == 1) return loops[0];
    return "(" + support::joined(loops, {}, "; ") + ")";
  }

  void nest(const std::vector<Stmt> &body) {
    std::string loops = loops_of(body);
    if (loops.empty()) return;
    if (loops.size() > longest_nest) loops = loops.substr(0, longest_nest) + " ..";
    why_.push_back(decide(tiles_    ? Reason::NestInTiles
                          : chunks_ ? Reason::NestInChunks
                                    : Reason::NestByStride,
                          name_, loops, fmt::format("{}: {}", name_, loops)));
  }

  void no_vector() {
    const Reason reason = ordered_ ? Reason::OneLane : Reason::NoVectorLoop;
    why_.push_back(decide(
        reason, name_, "none",
        fmt::format("{}: one position at a time: {}", name_,
                    ordered_ ? "the order of the steps matters" : "no loop can take several")));
  }

  void vector(AxisId axis, Reason reason) {
    std::vector<Alternative> others;
    for (const AxisId other : axes_)
      if (other != axis) others.push_back({program_[other].name, why_not(other)});
    const std::string because = reason == Reason::FoldLanes   ? "32 ways of the fold"
                                : reason == Reason::ScanLanes ? "groups of 16 positions of the scan"
                                : reason == Reason::BlocksOfLongAxis ? "in blocks"
                                : reason == Reason::UnitStride       ? "unit stride"
                                                                     : "innermost";
    why_.push_back(
        decide(reason, name_, program_[axis].name,
               fmt::format("{}: lanes along {}: {}", name_, program_[axis].name, because),
               std::move(others)));
  }

  std::string why_not(AxisId axis) const {
    std::string apart;
    bool moves = false;
    for (std::size_t b = 0; b < buffers_.size(); ++b)
      for (const loop::Walk &walk : program_.buffers[b].walks) {
        if (!buffers_[b] || walk.axis != axis) continue;
        moves = true;
        const std::string quoted = "'" + program_.buffers[b].name + "'";
        if (walk.stride != StrideClass::Unit && apart.find(quoted) == apart.npos)
          apart += (apart.empty() ? "" : ", ") + quoted;
      }
    if (!apart.empty()) return "elements are not side by side in " + apart;
    return moves ? "it is not the innermost axis of the fold" : "no operand moves along it";
  }

  const loop::Program &program_;
  std::vector<Decision> &why_;
  std::string name_;
  std::vector<std::pair<AxisId, Reason>> vectors_;
  std::vector<AxisId> axes_;
  std::vector<bool> buffers_; // that the phase touches
  bool tiles_ = false, chunks_ = false, ordered_ = false;
};

void explain_traffic(const spec::TypedSpec &spec, const loop::Program &program,
                     const Binding &binding, std::vector<Decision> &why) {
  Cost total{0, 0, 0};
  const auto operand = [&](loop::Role role, std::size_t index, const std::string &name) {
    const double bytes = operand_bytes(program, binding, role, std::uint32_t(index));
    if (bytes == 0) return;
    *total.bytes += bytes;
    why.push_back(decide(Reason::CompulsoryTraffic, name, "once",
                         fmt::format("'{}' has {:.4g} bytes to go through", name, bytes), {},
                         {.bytes = bytes}));
  };
  for (std::size_t i = 0; i < spec.inputs.size(); ++i)
    operand(loop::Role::Input, i, spec.inputs[i].name);
  for (std::size_t o = 0; o < spec.outputs.size(); ++o)
    operand(loop::Role::Output, o, spec.outputs[o].name);
  for (const Cost &phase : phase_costs(program, binding)) {
    *total.flops += *phase.flops;
    *total.cycles += *phase.cycles;
  }
  why.push_back(decide(Reason::CompulsoryTraffic, "", "once",
                       fmt::format("in all {:.4g} bytes, {:.4g} operations on elements, about "
                                   "{:.3g} cycles",
                                   *total.bytes, *total.flops, *total.cycles),
                       {}, total));
}

} // namespace

Decision explain_reading(const std::string &input, Reason reason, double bytes) {
  if (reason == Reason::InputReadAhead)
    return decide(
        reason, input, "read ahead",
        fmt::format("'{}' is too large for a core's own caches: lines are asked for ahead", input),
        {{"as the processor guesses", "it looks less far ahead the more there is to compute"}},
        {.bytes = bytes});
  const std::string because =
      reason == Reason::InputStaysNear    ? "it may stay in a core's own caches"
      : reason == Reason::InputReadOften  ? "its elements are read again and again"
      : reason == Reason::InputReadBefore ? "another window has read them before"
      : reason == Reason::InputHasGaps    ? "what comes next in memory is not of the view"
                                          : "in a tile the next lines are those of other rows";
  return decide(reason, input, "as the processor guesses",
                fmt::format("'{}': no lines are asked for ahead: {}", input, because),
                {{"read ahead", because}}, {.bytes = bytes});
}

Decision explain_streaming(const loop::Buffer &buffer, Reason reason, double bytes,
                           spec::Stores asked) {
  const std::string &output = buffer.name;
  const bool natural = reason == Reason::OutputExceedsCache;
  const Alternative plain{"plain stores",
                          "read each line first, and push out what is still needed",
                          {.bytes = 2 * bytes}};
  const std::string because =
      reason == Reason::OutputExceedsCache   ? "the last-level cache keeps too little of it"
      : reason == Reason::OutputFitsCache    ? "the last-level cache keeps it"
      : reason == Reason::AddsIntoOutput     ? "+= reads it first"
      : reason == Reason::StoreNotUnitStride ? "the vector loop does not write it side by side"
      : reason == Reason::StoreEndsFold      ? "a fold of many steps is behind each element"
                                             : "its rows are short";
  if (asked != spec::Stores::AsItFits) {
    const bool streamed = asked == spec::Stores::Streamed;
    const std::string wish = (streamed ? "stream " : "cached ") + output,
                      around = "around the caches", stores = "plain stores";
    if (buffer.stream != streamed)
      return decide(
          Reason::WishNotMet, wish, stores,
          fmt::format("the schedule asks for '{}' around the caches, but {}: plain stores", output,
                      because),
          {{around, because, {.bytes = bytes}}}, {.bytes = bytes});
    return decide(Reason::WishMet, wish, streamed ? around : stores,
                  fmt::format("'{}' is stored {}, as the schedule asks", output,
                              streamed ? around : "plainly"),
                  {{natural ? around : stores, because, {.bytes = bytes}}}, {.bytes = bytes});
  }
  if (natural)
    return decide(
        reason, output, "around the caches",
        fmt::format("'{}' is more than the last-level cache keeps: stored around the caches",
                    output),
        {plain}, {.bytes = bytes});
  return decide(reason, output, "plain stores",
                fmt::format("'{}': plain stores: {}", output, because),
                {{"around the caches", because, {.bytes = bytes}}}, {.bytes = bytes});
}

std::vector<Decision> explain_program(const spec::TypedSpec &spec, const loop::Program &program,
                                      const Binding &binding) {
  std::vector<Decision> why;
  Explainer explainer(program, why);
  for (std::size_t p = 0; p < program.phases.size(); ++p) explainer.phase(p);
  explain_traffic(spec, program, binding, why);
  return why;
}

} // namespace broadloom::plan
