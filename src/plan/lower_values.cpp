// Lowering, the values: each is computed once, in the outermost open body in which all it needs is
// known.
#include "plan/lowering.hpp"

#include "plan/cost.hpp"
#include "support/check.hpp"

#include <algorithm>
#include <array>

namespace broadloom::plan {

int Lowering::depth_of_axis(AxisId axis) const {
  for (std::size_t s = scopes_.size(); s-- > 1;)
    if (scopes_[s].axis == axis) return int(s);
  return 0;
}

bool Lowering::find(std::uint64_t key, Placed &placed) const {
  for (std::size_t s = 0; s < scopes_.size(); ++s)
    if (const auto found = scopes_[s].values.find(key); found != scopes_[s].values.end()) {
      placed = {found->second, int(s)};
      return true;
    }
  return false;
}

Lowering::Placed Lowering::add(const Value &value, int depth, std::uint64_t key) {
  const ValueId id{std::uint32_t(plan_.program.values.size())};
  plan_.program.values.push_back(value);
  Scope &scope = scopes_[depth];
  scope.out->push_back(Stmt::let(id));
  if (key != no_key) scope.values.emplace(key, id);
  const double cost = value.kind == ValueKind::Op ? ops::info(value.op).cost
                      : value.kind == ValueKind::Load || value.kind == ValueKind::Cast ? load_cost
                                                                                       : 0;
  work_ += cost / cost_per_cycle * scope.turns;
  cost_ += cost;
  return {id, depth};
}

Lowering::Placed Lowering::add_literal(DType dtype, ops::Scalar literal, std::uint64_t key) {
  Value value;
  value.kind = ValueKind::Literal;
  value.dtype = dtype;
  value.literal = literal;
  return add(value, 0, key);
}

Lowering::Placed Lowering::add_load(BufferId buffer, std::uint64_t key) {
  Value value;
  value.kind = ValueKind::Load;
  value.buffer = buffer;
  value.dtype = plan_.program[buffer].dtype;
  if (plan_.program[buffer].role == Role::Input) {
    std::vector<std::size_t> &phases = sweeps_[plan_.program[buffer].operand];
    const std::size_t phase = plan_.program.phases.size();
    if (phases.empty() || phases.back() != phase) phases.push_back(phase);
  }
  int depth = 0;
  for (const loop::Walk &walk : plan_.program[buffer].walks)
    depth = std::max(depth, depth_of_axis(walk.axis));
  return add(value, depth, key);
}

Lowering::Placed Lowering::add_op(ops::Op op, DType compute, DType dtype,
                                  std::span<const Placed> args, std::uint64_t key) {
  Value value;
  value.kind = ValueKind::Op;
  value.op = op;
  value.compute = compute;
  value.dtype = dtype;
  int depth = 0;
  for (const Placed &arg : args) {
    value.args[value.arg_count++] = arg.id;
    depth = std::max(depth, arg.depth);
  }
  return add(value, depth, key);
}

Lowering::Placed Lowering::add_cast(Placed arg, DType from, DType to, std::uint64_t key) {
  if (from == to) return arg;
  Value value;
  value.kind = ValueKind::Cast;
  value.compute = from;
  value.dtype = to;
  value.args[value.arg_count++] = arg.id;
  return add_once(value, arg.depth, std::uint64_t(arg.id.index) << 8 | std::uint64_t(to), key);
}

// As two means along one axis divide by one extent.
Lowering::Placed Lowering::add_once(const Value &value, int depth, std::uint64_t what,
                                    std::uint64_t key) {
  what |= value_tag | (value.kind == ValueKind::Extent ? extent_tag : 0);
  Placed placed;
  if (!find(what, placed)) {
    placed = add(value, depth, key);
    scopes_[depth].values.emplace(what, placed.id);
  } else if (key != no_key) {
    scopes_[placed.depth].values.emplace(key, placed.id);
  }
  return placed;
}

void Lowering::add_extent(NodeId id) {
  const Group classes = request_.resolved.counted_classes(request_.spec, id);
  if (request_.generic) { // an axis of its own, as the number of classes hangs on the shape
    Value value;
    value.kind = ValueKind::Extent;
    value.dtype = DType::I64;
    value.axis = counted_axis(classes);
    add(value, 0, node_key(id));
    return;
  }
  if (classes.empty()) {
    add_literal(DType::I64, {1}, node_key(id));
    return;
  }
  Value value;
  value.kind = ValueKind::Extent;
  value.dtype = DType::I64;
  value.axis = axis_of(LoopKind::Plain, classes);
  add_once(value, 0, value.axis.index, node_key(id));
}

AxisId Lowering::counted_axis(const Group &classes) {
  const AxisId id{std::uint32_t(plan_.program.axes.size())};
  plan_.program.axes.push_back(
      {name_of_axis(classes.empty() ? "one" : group_name(request_.resolved, classes)), {}});
  group_of_axis_.push_back(classes);
  plan_.binding.extents.push_back(group_extent(request_.resolved, classes));
  plan_.binding.chunks.push_back(0);
  return id;
}

void Lowering::add_index(NodeId id) {
  const auto cls = request_.resolved.index_class(request_.spec, id);
  if (!cls) {
    add_literal(DType::I64, {0}, node_key(id));
    return;
  }
  Value value;
  value.kind = ValueKind::Index;
  value.dtype = DType::I64;
  value.axis = axis_of(LoopKind::Plain, {*cls});
  const int depth = depth_of_axis(value.axis);
  support::check(depth > 0, "an index along an axis that no loop around walks");
  add(value, depth, node_key(id));
}

Lowering::Placed Lowering::fold_value(ItemId item, std::size_t state) {
  Placed placed;
  if (find(item_key(item, state), placed)) return placed;
  support::check(nests_[item].scratch.has_value(),
                 "a fold's result is neither in reach nor in memory");
  return add_load(scratch_buffer(nests_[item], state), item_key(item, state));
}

std::vector<Lowering::Placed> Lowering::add_code(const ops::Code &code,
                                                 std::vector<Placed> values) {
  using Line = ops::Code::Line;
  return ops::write_out(
      code, std::move(values),
      [&](const Line &line) { return add_literal(line.dtype, line.literal, no_key); },
      [&](const Line &line, const Placed &arg) {
        return add_cast(arg, line.compute, line.dtype, no_key);
      },
      [&](const Line &line, const std::vector<Placed> &args) {
        return add_op(line.op, line.compute, line.dtype, args, no_key);
      });
}

// A fold or scan over nothing: one step from the start, or none. In a block of a scan that goes on
// from others, the step is joined to what these have come to.
void Lowering::add_single_step(NodeId id) {
  const expr::Node &node = request_.spec.graph[id];
  const ops::Recipe &recipe = request_.spec.graph.recipe(id);
  std::vector<Placed> states;
  const auto start = request_.spec.graph.start_args(id);
  for (std::size_t k = 0; k < recipe.states.size(); ++k)
    states.push_back(start.empty() ? add_literal(recipe.states[k], recipe.start[k], no_key)
                                   : known(start[k]));
  if (!node.exclusive) {
    const bool goes_on = !start.empty() && recipe.has_combine();
    std::vector<Placed> inputs = states;
    for (std::size_t k = 0; goes_on && k < recipe.states.size(); ++k)
      inputs[k] = add_literal(recipe.states[k], recipe.start[k], no_key);
    for (NodeId arg : request_.spec.graph.folded_args(id)) inputs.push_back(known(arg));
    std::vector<Placed> stepped = add_code(recipe.step, std::move(inputs));
    if (goes_on) {
      stepped.insert(stepped.begin(), states.begin(), states.end());
      stepped = add_code(recipe.combine, std::move(stepped));
    }
    states = std::move(stepped);
  }
  alias(id, states[node.payload]);
}

// The v of a cast f32(0 + f64(v)), which is what a sum of f32 over nothing comes to: it is 0 + v in
// f32, to the bit, as no step of it rounds.
std::optional<NodeId> Lowering::summed_once(NodeId id) const {
  const expr::Graph &graph = request_.spec.graph;
  if (graph[id].kind != NodeKind::Cast || graph[id].dtype != DType::F32) return std::nullopt;
  const NodeId fold = graph.args(id)[0];
  if (graph[fold].kind != NodeKind::Fold || nests_.item_of_fold[fold.index] ||
      graph[fold].dtype != DType::F64 || !graph.start_args(fold).empty())
    return std::nullopt;
  const ops::Recipe &recipe = graph.recipe(fold);
  const std::vector<ops::Code::Line> &lines = recipe.step.lines;
  if (recipe.states.size() != 1 || recipe.args.size() != 1 || lines.size() != 1 ||
      lines[0].op != ops::Op::Add || recipe.start[0] != ops::scalar_from(0.0))
    return std::nullopt;
  const NodeId wide = graph.folded_args(fold)[0];
  if (graph[wide].kind != NodeKind::Cast) return std::nullopt;
  const NodeId narrow = graph.args(wide)[0];
  return graph[narrow].dtype == DType::F32 ? std::optional(narrow) : std::nullopt;
}

// Held by an earlier phase.
bool Lowering::is_in_memory(NodeId id) const {
  const std::optional<ItemId> item = nests_.item_of_held[id.index];
  return item && nests_[*item].place->phase < plan_.program.phases.size();
}

Lowering::Placed Lowering::value_of(NodeId root) {
  std::vector<NodeId> stack{root};
  Placed placed;
  while (!stack.empty()) {
    const NodeId id = stack.back();
    if (find(node_key(id), placed)) {
      stack.pop_back();
      continue;
    }
    bool ready = true;
    if (!nests_.item_of_fold[id.index] && !is_in_memory(id) && !is_in_row(id)) {
      const std::optional<NodeId> narrow = summed_once(id);
      const auto args =
          narrow ? std::span<const NodeId>(&*narrow, 1) : request_.spec.graph.operands(id);
      for (std::size_t k = args.size(); k-- > 0;) // the first argument comes out first
        if (!find(node_key(args[k]), placed)) stack.push_back(args[k]), ready = false;
    }
    if (!ready) continue;
    stack.pop_back();
    compute(id);
  }
  support::check(find(node_key(root), placed), "a value was not computed");
  return placed;
}

Lowering::Placed Lowering::known(NodeId id) const {
  Placed placed{};
  support::check(find(node_key(id), placed), "an argument was not computed");
  return placed;
}

std::optional<std::size_t> Lowering::row_of(NodeId id) const {
  const auto is_open = [&](TreeId loop) {
    return std::ranges::any_of(scopes_, [&](const Scope &scope) { return scope.node == loop; });
  };
  for (std::size_t row = 0; row < schedule_.rows.size(); ++row) {
    const Row &kept = schedule_.rows[row];
    if (kept.scan ? is_state_of(kept, id) &&
                        std::any_of(kept.loops.begin() + 1, kept.loops.end(), is_open)
                  : kept.value == id && std::ranges::any_of(kept.loops, is_open))
      return row;
  }
  return std::nullopt;
}

// Equal scans are one item, whose states several nodes may stand for.
bool Lowering::is_state_of(const Row &kept, NodeId id) const {
  const expr::Graph &graph = request_.spec.graph;
  return nests_.item_of_fold[id.index] &&
         nests_.item_of_fold[id.index] == nests_.item_of_fold[kept.value.index] &&
         graph[id].payload == graph[kept.value].payload;
}

bool Lowering::is_in_row(NodeId id) const {
  const std::optional<std::size_t> row = row_of(id);
  return row && row_filled_[*row];
}

void Lowering::compute(NodeId id) {
  const std::optional<std::size_t> row = row_of(id);
  if (!row) return compute_anew(id);
  if (row_filled_[*row]) {
    add_load(row_buffer(*row), node_key(id));
    return;
  }
  compute_anew(id);
  scopes_.back().out->push_back(Stmt::set(row_buffer(*row), known(id).id));
  row_filled_[*row] = true;
}

void Lowering::compute_anew(NodeId id) {
  const expr::Node &node = request_.spec.graph[id];
  const auto args = request_.spec.graph.args(id);
  if (const std::optional<ItemId> item = nests_.item_of_fold[id.index]) {
    alias(id, fold_value(*item, node.payload));
    return;
  }
  if (is_in_memory(id)) {
    add_load(scratch_buffer(nests_[*nests_.item_of_held[id.index]], 0), node_key(id));
    return;
  }
  switch (node.kind) {
  case NodeKind::Input: add_load(input_buffer(node.payload), node_key(id)); return;
  case NodeKind::Literal: add_literal(node.dtype, node.literal, node_key(id)); return;
  case NodeKind::Cast: {
    const DType from = request_.spec.graph[args[0]].dtype;
    if (const std::optional<NodeId> narrow = summed_once(id))
      add_op(ops::Op::Add, DType::F32, DType::F32,
             std::array{add_literal(DType::F32, ops::scalar_from(0.0f), no_key), known(*narrow)},
             node_key(id));
    else if (from == node.dtype)
      alias(id, known(args[0]));
    else
      add_cast(known(args[0]), from, node.dtype, node_key(id));
    return;
  }
  case NodeKind::Expand: alias(id, known(args[0])); return;
  case NodeKind::Extent: add_extent(id); return;
  case NodeKind::Index: add_index(id); return;
  case NodeKind::Fold:
  case NodeKind::Scan: add_single_step(id); return;
  case NodeKind::Op: {
    std::vector<Placed> placed;
    for (NodeId arg : args) placed.push_back(known(arg));
    const DType compute = request_.spec.graph[args[node.op == ops::Op::Where ? 1 : 0]].dtype;
    add_op(node.op, compute, node.dtype, placed, node_key(id));
    return;
  }
  }
}

} // namespace broadloom::plan
