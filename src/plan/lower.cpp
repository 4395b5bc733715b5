// From loop trees to the loop program and the numbers it runs on.
//
// The trees are walked once, depth first. A value is computed in the outermost body in which all it
// needs is known, so what lacks the inner axes is hoisted, and once for all its users in that body.
// Loops come out with their extents, buffers with their strides; both go into the binding, so that
// the program itself holds for every shape of the pattern.
#include "plan/lowering.hpp"

#include "plan/cost.hpp"
#include "plan/generic.hpp"
#include "plan/repeat.hpp"

#include <algorithm>

namespace broadloom::plan {

Plan Lowering::run() {
  plan_.program.name = request_.spec.name;
  plan_.program.accuracy = request_.spec.accuracy;
  plan_.program.scratch_count = std::uint32_t(nests_.scratch_count);
  plan_.binding.scratch_bytes.assign(nests_.scratch_count, 0);
  scratch_.resize(nests_.scratch_count);
  row_filled_.assign(schedule_.rows.size(), false);
  for (const Row &row : schedule_.rows)
    plan_.binding.row_bytes.push_back(group_extent(request_.resolved, row.group) *
                                      std::int64_t(size_of(request_.spec.graph[row.value].dtype)) *
                                      (row.lanes ? loop::row_lanes : 1));
  sweeps_.resize(request_.spec.inputs.size());
  plan_.program.recipes = nests_.recipes;
  for (const Item &item : nests_.items)
    if (item.scratch) lay_out_scratch(item);
  for (const PhaseTree &phase : nests_.phases) lower_phase(phase);
  find_shifts();
  bind();
  if (schedule_.blocks_of_input)
    plan_.binding.interleavings =
        find_interleavings(plan_.program, plan_.binding, *schedule_.blocks_of_input);
  find_in_place();
  plan_.why = schedule_.why.decisions;
  if (schedule_.why.wanted) explain();
  return std::move(plan_);
}

void Lowering::lower_phase(const PhaseTree &tree) {
  loop::Phase phase;
  work_ = cost_ = 0;
  if (request_.generic) axis_ids_.clear(); // which phases walk the same axes hangs on the shape
  std::vector<Stmt> body;
  scopes_.assign(1, Scope{});
  scopes_[0].node = tree.root;
  scopes_[0].out = &body;
  lower_body(tree.root);
  phase.body = std::move(body);
  phase.cost = cost_;
  if (!tree.serial) mark_parallel(phase);
  hand_on_states(phase);
  plan_.binding.cuts.push_back(cuts_of(phase));
  plan_.program.phases.push_back(std::move(phase));
  plan_.binding.phase_work.push_back(work_);
}

void Lowering::lower_body(TreeId node) {
  const std::vector<Entry> &entries = nests_[node].body;
  for (std::size_t k = 0; k < entries.size();) {
    if (entries[k].kind == Entry::Kind::Loop) {
      lower_loop(entries[k++].loop);
      continue;
    }
    // All values of neighbouring stores come first: an output may lie exactly on an input.
    std::vector<Stmt> writes;
    for (; k < entries.size() && entries[k].kind != Entry::Kind::Loop; ++k) {
      const ItemId id = entries[k].item;
      const Item &item = nests_[id];
      if (item.kind == ItemKind::Scan) break;
      if (entries[k].kind == Entry::Kind::Step)
        writes.push_back(step_of(id));
      else if (item.kind == ItemKind::Partial)
        set_row(item, entries[k].kind == Entry::Kind::Clear, writes);
      else
        writes.push_back(set_of(item));
    }
    scopes_.back().out->insert(scopes_.back().out->end(), writes.begin(), writes.end());
    if (k < entries.size() && entries[k].kind != Entry::Kind::Loop) scan_step(entries[k++].item);
  }
}

Stmt Lowering::step_of(ItemId id) {
  const Item &item = nests_[id];
  std::vector<ValueId> args;
  for (NodeId arg : item.args) args.push_back(value_of(arg).id);
  for (std::size_t k = 0; item.arg_item && k < recipe_of(item).args.size(); ++k) {
    Placed value = fold_value(*item.arg_item, k);
    if (item.mask) {
      const DType dtype = recipe_of(item).states[k];
      value =
          add_op(ops::Op::Where, dtype, dtype,
                 std::array{value_of(*item.mask), value, add_literal(dtype, {}, no_key)}, no_key);
    }
    args.push_back(value.id);
  }
  for (const ops::Code::Line &line : recipe_of(item).step.lines)
    if (line.kind == ops::Code::Line::Kind::Op) {
      work_ += ops::info(line.op).cost / cost_per_cycle * scopes_.back().turns;
      cost_ += ops::info(line.op).cost;
    }
  return Stmt::step(acc_of_.at(id), std::move(args));
}

// The running states before the step are those of an exclusive scan, after it of an inclusive one.
void Lowering::scan_step(ItemId id) {
  const Item &item = nests_[id];
  const Stmt step = step_of(id);
  if (item.exclusive) give_states(id, ValueKind::Running);
  scopes_.back().out->push_back(step);
  if (!item.exclusive) give_states(id, ValueKind::Running);
}

void Lowering::give_states(ItemId id, ValueKind kind) {
  const Item &item = nests_[id];
  for (std::size_t k = 0; k < recipe_of(item).states.size(); ++k) {
    // A running state is combined at every position: only those that somebody reads.
    if (kind == ValueKind::Running && !(item.read >> k & 1)) continue;
    const Placed state = add_state(id, kind, k, item_key(id, k));
    if (kind == ValueKind::Running) keep_state(id, k, state);
    if (item.scratch) scopes_.back().out->push_back(Stmt::set(scratch_buffer(item, k), state.id));
  }
}

// In its row, if later loops of this turn read it.
void Lowering::keep_state(ItemId scan, std::size_t state, Placed running) {
  for (std::size_t row = 0; row < schedule_.rows.size(); ++row) {
    const Row &kept = schedule_.rows[row];
    if (!kept.scan || nests_.item_of_fold[kept.value.index] != scan ||
        request_.spec.graph[kept.value].payload != state)
      continue;
    scopes_.back().out->push_back(Stmt::set(row_buffer(row), running.id));
    work_ += store_cost / cost_per_cycle * scopes_.back().turns;
    row_filled_[row] = true;
  }
}

Lowering::Placed Lowering::add_state(ItemId id, ValueKind kind, std::size_t state,
                                     std::uint64_t key) {
  Value value;
  value.kind = kind;
  value.dtype = recipe_of(nests_[id]).states[state];
  value.acc = acc_of_.at(id);
  value.state = std::uint32_t(state);
  return add(value, int(scopes_.size()) - 1, key);
}

// What the accumulator of an item starts from, known before its loop.
std::vector<ValueId> Lowering::start_of(const Item &item) {
  std::vector<ValueId> start;
  for (std::size_t k = 0; k < recipe_of(item).states.size(); ++k)
    if (item.start_item)
      start.push_back(add_state(*item.start_item, ValueKind::Running, k, no_key).id);
    else if (item.carried_item)
      start.push_back(fold_value(*item.carried_item, k).id);
    else if (!item.start.empty())
      start.push_back(value_of(item.start[k]).id);
  return start;
}

Stmt Lowering::set_of(const Item &item) {
  if (item.kind == ItemKind::Hold && item.repeated) {
    const Repeated &repeated = request_.walks.repeated[*item.repeated];
    const BufferId own = operand_buffer(repeated.input, repeated.own);
    return Stmt::set(scratch_buffer(item, 0), add_load(own, no_key).id);
  }
  if (item.kind == ItemKind::Hold && item.panel) {
    const std::uint32_t input = schedule_.ways.panels.arrays[*item.panel].input;
    const BufferId own = operand_buffer(input, request_.walks.inputs[input]);
    return Stmt::set(scratch_buffer(item, 0), add_load(own, no_key).id);
  }
  if (item.kind == ItemKind::Hold) {
    const ValueId value = value_of(item.value).id;
    return Stmt::set(scratch_buffer(item, 0), value);
  }
  const spec::TypedOutput &out = request_.spec.outputs[item.output];
  BufferId buffer;
  Placed value{};
  if (out.add) {
    buffer = output_buffer(item.output);
    // `+=` adds in the type of the addend, before the cast to the output's.
    const DType dtype = request_.spec.graph[out.addend].dtype;
    const Placed old = add_cast(add_load(buffer, no_key), out.dtype, dtype, no_key);
    const Placed both[] = {old, value_of(out.addend)};
    value = add_cast(add_op(ops::Op::Add, dtype, dtype, both, no_key), dtype, out.dtype, no_key);
  } else {
    value = value_of(out.value);
    buffer = output_buffer(item.output);
  }
  plan_.program.buffers[buffer.index].stream = schedule_.stores[item.output].streamed;
  work_ += store_cost / cost_per_cycle * scopes_.back().turns;
  return Stmt::set(buffer, value.id);
}

// One step of the states in memory, or their start.
void Lowering::set_row(const Item &item, bool start, std::vector<Stmt> &writes) {
  const ops::Recipe &recipe = recipe_of(item);
  std::vector<BufferId> rows;
  std::vector<Placed> states;
  for (std::size_t k = 0; k < recipe.states.size(); ++k) {
    rows.push_back(scratch_buffer(item, k));
    states.push_back(start ? add_literal(recipe.states[k], recipe.start[k], no_key)
                           : add_load(rows.back(), no_key));
  }
  if (!start) {
    for (NodeId arg : item.args) states.push_back(value_of(arg));
    states = add_code(recipe.step, std::move(states));
  }
  for (std::size_t k = 0; k < rows.size(); ++k) writes.push_back(Stmt::set(rows[k], states[k].id));
  work_ += store_cost / cost_per_cycle * scopes_.back().turns * double(rows.size());
}

void Lowering::lower_loop(TreeId tree) {
  const TreeNode &node = nests_[tree];
  const loop::LoopId id{std::uint32_t(plan_.program.loops.size())};
  plan_.program.loops.emplace_back();
  loop::Loop made;
  made.axis = axis_of(node.key.kind, node.key.group);
  made.vector = node.key.vector;
  if (node.key.kind == LoopKind::Within) made.within = axis_of(LoopKind::Chunks, node.key.group);
  made.turns = node.key.turns;
  const bool lanes = made.turns > 0 ? node.leaf > 0 : node.key.vector && !node.folds.empty();
  made.ways = !lanes ? 1 : node.key.scan ? loop::scan_ways : loop::fold_ways;
  made.leaf = std::max<std::int64_t>(node.leaf, 0);
  made.scan = node.key.scan;
  made.reverse = node.key.reverse;
  for (ItemId item_id : node.folds) {
    const Item &item = nests_[item_id];
    std::vector<ValueId> start = start_of(item);
    acc_of_[item_id] = loop::AccId{std::uint32_t(plan_.program.accs.size())};
    made.accs.push_back(acc_of_[item_id]);
    plan_.program.accs.push_back({item.recipe, std::move(start)});
  }
  Scope scope;
  scope.node = tree;
  scope.axis = made.axis;
  scope.out = &made.body;
  scope.turns = scopes_.back().turns * turns_of(node.key, made.axis);
  scopes_.push_back(std::move(scope));
  lower_body(tree);
  scopes_.pop_back();
  plan_.program.loops[id.index] = std::move(made);
  scopes_.back().out->push_back(Stmt::run(id));
  for (ItemId item : node.folds)
    if (nests_[item].kind == ItemKind::Fold) give_states(item, ValueKind::Result);
}

double Lowering::turns_of(const LoopKey &key, AxisId axis) const {
  const double extent = double(plan_.binding.extents[axis.index]);
  if (key.kind != LoopKind::Within) return extent;
  return std::min(extent, double(schedule_.chunk_sizes.at(key.group)));
}

void Lowering::mark_parallel(loop::Phase &phase) {
  std::optional<loop::LoopId> next = loop::only_loop(phase.body);
  while (next) {
    loop::Loop &loop = plan_.program.loops[next->index];
    // A short row is a row of one lane, and not to be shared out.
    if (!loop.accs.empty() || loop.within || loop.turns > 0) return;
    loop.parallel = true;
    phase.parallel.push_back(loop.axis);
    next = loop::only_loop(loop.body);
  }
}

void Lowering::bind() {
  const std::size_t axes = plan_.program.axes.size();
  plan_.binding.strides.assign(plan_.program.buffers.size() * axes, 0);
  for (std::size_t b = 0; b < plan_.program.buffers.size(); ++b) {
    const auto &walks = plan_.program.buffers[b].walks;
    for (std::size_t w = 0; w < walks.size(); ++w)
      plan_.binding.strides[b * axes + walks[w].axis.index] = buffer_strides_[b][w];
  }
}

void Lowering::find_in_place() {
  std::vector<bool> repeats;
  for (const PhaseTree &phase : nests_.phases) repeats.push_back(only_repeats(phase));
  for (const Item &item : nests_.items) {
    if (item.kind != ItemKind::Store || !is_chain(nests_.phases[item.place->phase])) continue;
    for (std::size_t input = 0; input < sweeps_.size(); ++input) {
      std::size_t here = 0, elsewhere = 0;
      for (std::size_t phase : sweeps_[input])
        if (!repeats[phase]) ++(phase == item.place->phase ? here : elsewhere);
      if (here > 0 && elsewhere == 0) plan_.in_place.push_back({input, item.output});
    }
  }
}

bool Lowering::is_chain(const PhaseTree &phase) const {
  const TreeNode *node = &nests_[phase.root];
  for (;;) {
    if (!node->folds.empty()) return false;
    const auto loop = std::ranges::find(node->body, Entry::Kind::Loop, &Entry::kind);
    if (loop == node->body.end()) return true;
    if (node->body.size() > 1)
      return false; // what is beside a loop would come before or after its reads
    node = &nests_[loop->loop];
  }
}

// What is repeated is read as a whole before anything is written.
bool Lowering::only_repeats(const PhaseTree &phase) const {
  const std::size_t index = std::size_t(&phase - nests_.phases.data());
  return std::all_of(nests_.items.begin(), nests_.items.end(),
                     [&](const Item &item) { return !item.is_in(index) || item.repeated; });
}

Plan build(const Request &request, const Schedule &schedule) {
  return Lowering(request, schedule).run();
}

Plan make_plan(const spec::TypedSpec &spec, const Resolved &resolved,
               std::span<const Layout> inputs, std::span<const Layout> outputs,
               const std::vector<bool> &wanted, const Machine &machine, bool explain,
               Generality generality, std::span<const Layout> lies, std::uint64_t near) {
  Request asked{spec, resolved, walks_of(spec, resolved, inputs, outputs, lies), wanted, explain};
  asked.near = near;
  const Request request = generality == Generality::Generic
                              ? make_generic(std::move(asked))
                              : repeat_short_operands(std::move(asked), machine);
  return build(request, choose(request, machine));
}

} // namespace broadloom::plan
