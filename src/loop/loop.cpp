// See loop.hpp.
#include "loop/loop.hpp"

#include <algorithm>

namespace broadloom::loop {

StrideClass stride_class(std::int64_t step) {
  return step == -1 || (step >= 1 && step <= 4) ? StrideClass(step) : StrideClass::Other;
}

std::string_view name(StrideClass stride) {
  switch (stride) {
  case StrideClass::Reversed: return "reversed";
  case StrideClass::Other: return "other";
  case StrideClass::Unit: return "unit";
  case StrideClass::Two: return "step 2";
  case StrideClass::Three: return "step 3";
  case StrideClass::Four: return "step 4";
  }
  return {};
}

bool takes_blocks(const Program &program, const Loop &loop, AccId acc) {
  return loop.leaf == 1 && loop.ways == 1 && !loop.scan && ops::step_is_join(program.recipe(acc));
}

const Walk *walk(const Program &program, BufferId buffer, AxisId axis) {
  for (const Walk &w : program[buffer].walks)
    if (w.axis == axis) return &w;
  return nullptr;
}

std::optional<LoopId> only_loop(const std::vector<Stmt> &body) {
  std::optional<LoopId> only;
  for (const Stmt &s : body) {
    if (s.kind == StmtKind::Let) continue;
    if (s.kind != StmtKind::Loop || only) return std::nullopt;
    only = s.loop;
  }
  return only;
}

bool is_row_in_lanes(const Buffer &buffer) {
  return buffer.role == Role::Row && buffer.walks.size() == 1 &&
         buffer.walks[0].stride == StrideClass::Other;
}

const Loop *handing_loop(const Program &program, const Phase &phase) {
  for (const Stmt &s : phase.body)
    if (s.kind == StmtKind::Loop && !program[s.loop].handed.empty()) return &program[s.loop];
  return nullptr;
}

bool is_pipeline(const Program &program, std::size_t first) {
  if (first + 2 >= program.phases.size()) return false;
  const Phase &before = program.phases[first], &middle = program.phases[first + 1];
  const Phase &after = program.phases[first + 2];
  // Rows are memory of one thread, which a box may change on its way.
  const auto is_row = [](const Buffer &buffer) { return buffer.role == Role::Row; };
  return handing_loop(program, middle) != nullptr && before.parallel == middle.parallel &&
         middle.parallel == after.parallel && handing_loop(program, after) == nullptr &&
         std::none_of(program.buffers.begin(), program.buffers.end(), is_row);
}

} // namespace broadloom::loop
