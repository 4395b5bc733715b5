// See rules.hpp.
#include "block/rules.hpp"

#include "ops/recipe.hpp"

#include <algorithm>
#include <set>

namespace broadloom::block {

using namespace loop;

bool identity_stays(const loop::Program &program, const Loop &loop) {
  return std::ranges::all_of(loop.accs, [&](AccId acc) {
    const ops::Recipe &recipe = program.recipe(acc);
    if (loop.ways == 1 || ops::identity_is_neutral(recipe)) return true;
    std::vector<ops::Scalar> both = recipe.start, joined = recipe.start, work;
    both.insert(both.end(), recipe.start.begin(), recipe.start.end());
    ops::run(recipe.combine, both, work, program.accuracy);
    for (std::size_t k = 0; k < joined.size(); ++k) joined[k] = work[recipe.combine.results[k]];
    return joined == recipe.start;
  });
}

bool reads_running(const loop::Program &program, const Loop &loop) {
  return std::ranges::any_of(loop.body, [&](const Stmt &s) {
    return s.kind == StmtKind::Let && program[s.value].kind == ValueKind::Running &&
           std::ranges::find(loop.accs, program[s.value].acc) != loop.accs.end();
  });
}

bool is_stepped(const loop::Program &program, BufferId id, const Loop &inner) {
  if (program[id].role != Role::Scratch) return false;
  int loads = 0, stores = 0;
  for (const Stmt &s : inner.body) {
    const bool loaded = s.kind == StmtKind::Let && program[s.value].kind == ValueKind::Load &&
                        program[s.value].buffer == id;
    if (loaded && stores == 0) ++loads;
    if (s.kind == StmtKind::Set && s.buffer == id) ++stores;
  }
  return loads == 1 && stores == 1;
}

bool SharedRows::has(BufferId buffer) const {
  return std::ranges::any_of(loads, [&](const auto &load) { return load.first == buffer; });
}

std::size_t SharedRows::count(int rows) const {
  std::set<int> loaded;
  for (const auto &[buffer, by] : loads)
    for (int r = 0; r < rows; ++r) loaded.insert(by + r);
  return loaded.size();
}

Buffer::Shift shift_along(const loop::Program &program, BufferId id, AxisId axis) {
  const std::optional<Buffer::Shift> &shift = program[id].shift;
  return shift && shift->axis == axis ? *shift : Buffer::Shift{id, axis, 0};
}

std::vector<SharedRows> rows_of_jam(const loop::Program &program, const Loop &inner, AxisId rows) {
  std::vector<SharedRows> found;
  for (const Stmt &s : inner.body) {
    if (s.kind != StmtKind::Let || program[s.value].kind != ValueKind::Load) continue;
    const BufferId id = program[s.value].buffer;
    const Walk *along = walk(program, id, inner.axis);
    if (along == nullptr || along->stride != StrideClass::Unit ||
        walk(program, id, rows) == nullptr || program[id].role != Role::Input)
      continue;
    const Buffer::Shift shift = shift_along(program, id, rows);
    auto known = std::ranges::find(found, shift.of, &SharedRows::of);
    if (known == found.end()) known = found.insert(found.end(), {shift.of, {}});
    if (!known->has(id)) known->loads.emplace_back(id, shift.by);
  }
  std::erase_if(found, [](const SharedRows &rows) { return rows.loads.size() < 2; });
  return found;
}

namespace {

bool splits_in_rows(const loop::Program &program, const Survey &survey,
                    const std::vector<Stmt> &body, AxisId rows) {
  return std::ranges::all_of(body, [&](const Stmt &s) {
    switch (s.kind) {
    case StmtKind::Let: {
      const Value &v = program[s.value];
      return !is_complex(v.dtype) &&
             !(v.kind == ValueKind::Load && program[v.buffer].role == Role::Row);
    }
    case StmtKind::Set:
      return program[s.buffer].role != Role::Row && walk(program, s.buffer, rows) != nullptr;
    case StmtKind::Step: return true;
    case StmtKind::Loop: {
      const Loop &l = program[s.loop];
      const bool vary =
          std::ranges::all_of(l.accs, [&](AccId acc) { return survey.acc_varies[acc.index]; });
      return vary && !l.accs.empty() && !l.vector && !l.scan && !l.reverse &&
             (l.turns == 0 || l.ways > 1) && l.within != rows &&
             splits_in_rows(program, survey, l.body, rows);
    }
    }
    return false;
  });
}

} // namespace

std::optional<LoopId> lanes_of_rows(const loop::Program &program, const Survey &survey,
                                    const Loop &rows) {
  const std::optional<LoopId> inner = only_loop(rows.body);
  const bool is_known = std::ranges::all_of(rows.body, [&](const Stmt &s) {
    return s.kind == StmtKind::Loop ||
           (program[s.value].kind != ValueKind::Load && !is_complex(program[s.value].dtype));
  });
  const bool splits =
      inner && is_known && splits_in_rows(program, survey, program[*inner].body, rows.axis);
  return splits ? inner : std::nullopt;
}

bool may_repeat_rows(const loop::Program &program, const Loop &rows) {
  const Loop &lanes = program[*only_loop(rows.body)];
  const auto is_apart = [&](const auto &self, const std::vector<Stmt> &body) -> bool {
    return std::ranges::all_of(body, [&](const Stmt &s) {
      if (s.kind == StmtKind::Loop) return self(self, program[s.loop].body);
      if (s.kind != StmtKind::Let || program[s.value].kind != ValueKind::Load) return true;
      const BufferId id = program[s.value].buffer;
      const bool lies_alike =
          walk(program, id, rows.axis) != nullptr && walk(program, id, lanes.axis) != nullptr;
      return !lies_alike && !touches(program, lanes.body, id, true);
    });
  };
  return is_apart(is_apart, lanes.body);
}

std::int64_t rows_in_tiles(const loop::Program &program, const Loop &rows, int height,
                           std::int64_t count) {
  return count >= height && may_repeat_rows(program, rows) ? count : count / height * height;
}

int known_step(const Buffer &buffer, AxisId lanes) {
  for (const Walk &w : buffer.walks) {
    if (w.axis != lanes) continue;
    const int step = step_of(w.stride) * (is_complex(buffer.dtype) ? 2 : 1);
    return step == -1 || (step >= 2 && step <= 4) ? step : 0;
  }
  return 0;
}

bool is_row_of_lanes(const loop::Program &program, BufferId row, const Loop &lanes) {
  return program[row].role == Role::Row && walk(program, row, lanes.axis) == nullptr &&
         touches(program, lanes.body, row, true);
}

namespace {

bool is_same_memory(const loop::Program &program, BufferId a, BufferId b) {
  return program[a].role == program[b].role && program[a].operand == program[b].operand;
}

} // namespace

bool touches(const loop::Program &program, const std::vector<Stmt> &body, BufferId buffer,
             bool store) {
  const auto same = [&](BufferId other) { return is_same_memory(program, other, buffer); };
  return std::ranges::any_of(body, [&](const Stmt &s) {
    if (s.kind == StmtKind::Loop) return touches(program, program[s.loop].body, buffer, store);
    if (store) return s.kind == StmtKind::Set && same(s.buffer);
    return s.kind == StmtKind::Let && program[s.value].kind == ValueKind::Load &&
           same(program[s.value].buffer);
  });
}

// Of what is both loaded and stored, each turn must load its own elements, and then store them.
bool moves_as_one(const loop::Program &program, const std::vector<Stmt> &body, BufferId buffer) {
  if (!touches(program, body, buffer, true) || !touches(program, body, buffer, false)) return true;
  bool stored = false;
  return std::ranges::all_of(body, [&](const Stmt &s) {
    const bool loads = s.kind == StmtKind::Let && program[s.value].kind == ValueKind::Load;
    if (s.kind == StmtKind::Loop)
      return !touches(program, program[s.loop].body, buffer, true) &&
             !touches(program, program[s.loop].body, buffer, false);
    if (!loads && s.kind != StmtKind::Set) return true;
    const BufferId used = loads ? program[s.value].buffer : s.buffer;
    if (!is_same_memory(program, used, buffer)) return true;
    if (used != buffer || (loads && stored)) return false;
    stored = stored || !loads;
    return true;
  });
}

std::optional<LoopId> fold_of_tile(const loop::Program &program, const Loop &rows, LoopId id) {
  const Loop &inner = program[id];
  const auto is_plain = [](const Loop &loop) {
    return loop.parallel && loop.accs.empty() && !loop.scan && !loop.reverse && !loop.vector &&
           loop.turns == 0 && loop.handed.empty();
  };
  std::optional<LoopId> found;
  for (const Stmt &s : inner.body) {
    if (s.kind != StmtKind::Loop) continue;
    if (found) return std::nullopt;
    found = s.loop;
  }
  if (!found || !is_plain(rows) || !is_plain(inner) || inner.within == rows.axis)
    return std::nullopt;
  const Loop &fold = program[*found];
  const bool is_fold = !fold.accs.empty() && !fold.scan && !fold.reverse &&
                       runs_as_vector(program, fold) && fold.within != rows.axis &&
                       fold.within != inner.axis && !has_loops(fold.body) && !has_stores(fold.body);
  return is_fold ? found : std::nullopt;
}

bool is_chain(const loop::Program &program, const Loop &loop) {
  if (!loop.scan || loop.ways > 1 || loop.turns > 0 || loop.vector || has_loops(loop.body))
    return false;
  std::set<std::uint32_t> later; // arguments of steps that come
  for (const Stmt &s : loop.body)
    if (s.kind == StmtKind::Let) later.insert(s.value.index);
  for (const Stmt &s : loop.body) {
    if (s.kind == StmtKind::Set && (walk(program, s.buffer, loop.axis) == nullptr ||
                                    !moves_as_one(program, loop.body, s.buffer)))
      return false;
    if (s.kind != StmtKind::Let) continue;
    later.erase(s.value.index);
    const Value &v = program[s.value];
    if (v.kind != ValueKind::Running) continue;
    for (const Stmt &step : loop.body)
      if (step.kind == StmtKind::Step && step.acc == v.acc &&
          std::ranges::any_of(step.args, [&](ValueId arg) { return later.contains(arg.index); }))
        return false;
  }
  return true;
}

bool has_loops(const std::vector<Stmt> &body) {
  return std::ranges::any_of(body, [](const Stmt &s) { return s.kind == StmtKind::Loop; });
}

bool has_stores(const std::vector<Stmt> &body) {
  return std::ranges::any_of(body, [](const Stmt &s) { return s.kind == StmtKind::Set; });
}

} // namespace broadloom::block
