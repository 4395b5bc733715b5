// See scratch.hpp.
#include "plan/scratch.hpp"

#include <algorithm>

namespace broadloom::plan {
namespace {

using loop::BufferId;
using loop::Role;
using loop::Stmt;
using loop::StmtKind;
using loop::ValueKind;

class ScratchFinder {
public:
  ScratchFinder(const loop::Program &program, std::vector<support::Lifetime> &found)
      : program_(program), found_(found), met_(found.size()) {}

  void run(std::span<const std::size_t> runs_at) {
    for (std::size_t p = 0; p < program_.phases.size(); ++p) {
      first_ = std::min(p, runs_at[p]);
      last_ = std::max(p, runs_at[p]);
      follow(program_.phases[p].body);
    }
  }

private:
  void follow(const std::vector<Stmt> &body) {
    for (const Stmt &s : body) {
      switch (s.kind) {
      case StmtKind::Let:
        if (program_[s.value].kind == ValueKind::Load) use(program_[s.value].buffer);
        break;
      case StmtKind::Set: use(s.buffer); break;
      case StmtKind::Step: break;
      case StmtKind::Loop:
        for (const BufferId handed : program_[s.loop].handed) use(handed);
        follow(program_[s.loop].body);
        break;
      }
    }
  }

  void use(BufferId id) {
    if (program_[id].role != Role::Scratch) return;
    const std::uint32_t array = program_[id].operand;
    support::Lifetime &life = found_[array];
    life.made = met_[array] ? std::min(life.made, first_) : first_;
    life.last_read = met_[array] ? std::max(life.last_read, last_) : last_;
    met_[array] = true;
  }

  const loop::Program &program_;
  std::vector<support::Lifetime> &found_;
  std::vector<bool> met_;
  std::size_t first_ = 0, last_ = 0;
};

} // namespace

std::vector<support::Lifetime> scratch_lifetimes(const loop::Program &program,
                                                 std::span<const std::int64_t> bytes,
                                                 std::span<const std::size_t> runs_at) {
  std::vector<support::Lifetime> found;
  for (const std::int64_t size : bytes) found.push_back({size, 0, 0});
  ScratchFinder(program, found).run(runs_at);
  return found;
}

} // namespace broadloom::plan
