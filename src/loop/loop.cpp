// See loop.hpp.
#include "loop/loop.hpp"

namespace broadloom::loop {

std::optional<LoopId> only_loop(const std::vector<Stmt> &body) {
  std::optional<LoopId> only;
  for (const Stmt &s : body) {
    if (s.kind == StmtKind::Let) continue;
    if (s.kind != StmtKind::Loop || only) return std::nullopt;
    only = s.loop;
  }
  return only;
}

const Loop *handing_loop(const Program &program, const Phase &phase) {
  for (const Stmt &s : phase.body)
    if (s.kind == StmtKind::Loop && !program[s.loop].handed.empty()) return &program[s.loop];
  return nullptr;
}

} // namespace broadloom::loop
