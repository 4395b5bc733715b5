// From loop trees to the loop program and the numbers it runs on.
//
// The trees are walked once, depth first. A value is computed in the outermost body in which all it
// needs is known, so what lacks the inner axes is hoisted, and once for all its users in that body.
// Loops come out with their extents, buffers with their strides; both go into the binding, so that the
// program itself holds for every shape of the pattern.
#include "plan/nest.hpp"

#include "support/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

namespace broadloom::plan {
namespace {

using expr::NodeId;
using expr::NodeKind;
using loop::AxisId;
using loop::BufferId;
using loop::Role;
using loop::Stmt;
using loop::StmtKind;
using loop::Value;
using loop::ValueId;
using loop::ValueKind;

class Lowering {
public:
  Lowering(const spec::TypedSpec &spec, const Resolved &resolved, const Walks &walks, Nests nests,
           const Machine &machine)
      : spec_(spec), resolved_(resolved), walks_(walks), nests_(std::move(nests)), machine_(machine) {}

  Plan run() {
    plan_.program.name = spec_.name;
    plan_.program.scratch_count = std::uint32_t(nests_.scratch_count);
    plan_.binding.scratch_bytes.assign(nests_.scratch_count, 0);
    scratch_.resize(nests_.scratch_count);
    choose_chunks();
    for (Item &item : nests_.items)
      if (item.scratch >= 0) lay_out_scratch(item);
    for (const PhaseTree &phase : nests_.phases) lower_phase(phase);
    bind();
    plan_.in_place = is_in_place();
    plan_.why = std::move(nests_.why);
    explain();
    return std::move(plan_);
  }

private:
  // One open body: the root of a phase or the inside of a loop.
  struct Scope {
    int node = -1;                              // tree node
    AxisId axis;                                // of the loop; unused at the root
    std::vector<Stmt> *out = nullptr;
    double turns = 1;                           // how often the body runs
    std::unordered_map<std::uint64_t, ValueId> values; // graph nodes, fold items, loads
  };
  static std::uint64_t node_key(NodeId id) { return id.index; }
  static std::uint64_t item_key(int item) { return std::uint64_t(1) << 32 | std::uint32_t(item); }

  // ------------------------------------------------------------------ axes and numbers

  AxisId axis_of(LoopKind kind, const Group &group) {
    const bool chunk = kind == LoopKind::Chunks || kind == LoopKind::Join;
    const auto key = std::pair(chunk, group);
    if (const auto found = axis_ids_.find(key); found != axis_ids_.end()) return found->second;
    const std::string name = group_name(resolved_, group);
    loop::Axis axis{chunk ? name + ".chunk" : name, std::nullopt};
    const std::int64_t extent = group_extent(resolved_, group);
    std::int64_t count = extent, cut = 0;
    if (chunk) {
      axis.chunks_of = axis_of(LoopKind::Plain, group);
      count = extent == 0 ? 0 : (extent - 1) / chunk_of_.at(group) + 1;
    } else if (const auto found = chunk_of_.find(group); found != chunk_of_.end()) {
      cut = found->second;
    }
    const AxisId id{std::uint32_t(plan_.program.axes.size())};
    plan_.program.axes.push_back(axis);
    plan_.binding.extents.push_back(count);
    plan_.binding.chunks.push_back(cut);
    axis_ids_.emplace(key, id);
    return id;
  }

  // Chunks are a power of two of whole leaves, large enough to be worth a task and at most 64 in number.
  void choose_chunks() {
    for (const Item &item : nests_.items) {
      if (item.kind != ItemKind::Fold || item.loop.kind != LoopKind::Within) continue;
      const std::int64_t unit = item.leaf == 0 ? 4096 : item.leaf;
      std::int64_t &chunk = chunk_of_[item.loop.group];
      chunk = std::max(chunk, unit);
    }
    for (auto &[group, chunk] : chunk_of_) {
      const double extent = double(group_extent(resolved_, group));
      double inner = 1; // positions of the loops inside
      for (const TreeNode &node : nests_.tree)
        if (node.parent >= 0 && node.key.kind == LoopKind::Plain && nests_.tree[node.parent].parent >= 0 &&
            nests_.tree[node.parent].key.group == group)
          inner = std::max(inner, double(group_extent(resolved_, node.key.group)));
      while (double(chunk) * inner < 32 * 1024 || double(chunk) * 64 < extent) {
        if (double(chunk) >= extent) break;
        chunk *= 2;
      }
    }
  }

  struct ScratchArray {
    Steps steps;       // by class, outermost first
    Group chunk_group; // the innermost dim counts the chunks of this group; empty: there is none
  };

  static bool has_positions(LoopKind kind) { return kind == LoopKind::Plain || kind == LoopKind::Within; }

  // A scratch array is C-contiguous over the loops around the fold that fills it.
  void lay_out_scratch(const Item &item) {
    ScratchArray &array = scratch_[item.scratch];
    std::int64_t stride = 1;
    const bool partial = item.loop.kind == LoopKind::Within; // the last loop counts chunks
    for (std::size_t k = item.path.size(); k-- > 0;) {
      const LoopKey &key = item.path[k];
      const bool counts_chunks = partial && k + 1 == item.path.size();
      if (counts_chunks) {
        const AxisId axis = axis_of(LoopKind::Chunks, key.group);
        array.chunk_group = key.group;
        stride *= std::max<std::int64_t>(1, plan_.binding.extents[axis.index]);
      } else if (has_positions(key.kind)) {
        for (std::size_t c = key.group.size(); c-- > 0;) {
          array.steps.insert(array.steps.begin(), {key.group[c], stride});
          stride *= std::max<std::int64_t>(1, resolved_.classes[key.group[c]].extent);
        }
      }
    }
    plan_.binding.scratch_bytes[item.scratch] = stride * std::int64_t(size_of(item.dtype));
  }

  // ------------------------------------------------------------------ buffers

  BufferId buffer_for(Role role, int operand, const std::string &name, DType dtype, const Steps &steps,
                      const ScratchArray *scratch = nullptr) {
    struct Walked {
      std::size_t place; // among the operand's dims
      AxisId axis;
      std::int64_t stride;
    };
    std::vector<Walked> walked;
    std::size_t covered = 0;
    for (std::size_t s = 1; s < scopes_.size(); ++s) {
      const LoopKey &loop = nests_.tree[scopes_[s].node].key;
      if (has_positions(loop.kind)) {
        for (std::size_t place = 0; place < steps.size(); ++place) {
          covered += std::count(loop.group.begin(), loop.group.end(), steps[place].cls);
          if (steps[place].cls == loop.group.back()) walked.push_back({place, scopes_[s].axis, steps[place].stride});
        }
        check_merged(steps, loop.group);
      } else if (scratch != nullptr && scratch->chunk_group == loop.group) {
        walked.push_back({steps.size(), scopes_[s].axis, 1});
      }
    }
    std::sort(walked.begin(), walked.end(), [](const Walked &a, const Walked &b) { return a.place < b.place; });
    loop::Buffer buffer{name, role, std::uint32_t(operand), dtype, {}, false};
    std::vector<std::int64_t> strides;
    std::string key = fmt::format("{} {}", int(role), operand);
    for (const Walked &walk : walked) {
      buffer.walks.push_back({walk.axis, walk.stride == 1 ? loop::StrideClass::Unit : loop::StrideClass::Other});
      strides.push_back(walk.stride);
      key += fmt::format(" {}", walk.axis.index);
    }
    support::check(covered == steps.size(), "an operand walks an axis that no loop around it has");
    const auto [found, fresh] = buffer_ids_.try_emplace(key, BufferId{std::uint32_t(plan_.program.buffers.size())});
    if (fresh) {
      plan_.program.buffers.push_back(std::move(buffer));
      buffer_strides_.push_back(std::move(strides));
    }
    return found->second;
  }

  void check_merged(const Steps &steps, const Group &group) const {
    for (std::size_t k = 0; k + 1 < group.size(); ++k)
      support::check(stride_along(steps, group[k]) ==
                         stride_along(steps, group[k + 1]) * resolved_.classes[group[k + 1]].extent,
                     "merged axes are not walked as one");
  }

  BufferId input_buffer(std::uint32_t input) {
    return buffer_for(Role::Input, int(input), spec_.inputs[input].name, spec_.inputs[input].dtype,
                      walks_.inputs[input]);
  }
  BufferId output_buffer(int output) {
    return buffer_for(Role::Output, output, spec_.outputs[output].name, spec_.outputs[output].dtype,
                      walks_.outputs[output]);
  }
  BufferId scratch_buffer(const Item &item) {
    return buffer_for(Role::Scratch, item.scratch, fmt::format("s{}", item.scratch), item.dtype,
                      scratch_[item.scratch].steps, &scratch_[item.scratch]);
  }

  // ------------------------------------------------------------------ values

  int depth_of_axis(AxisId axis) const {
    for (std::size_t s = scopes_.size(); s-- > 1;)
      if (scopes_[s].axis == axis) return int(s);
    return 0;
  }

  struct Placed {
    ValueId id;
    int depth;
  };

  bool find(std::uint64_t key, Placed &placed) const {
    for (std::size_t s = 0; s < scopes_.size(); ++s)
      if (const auto found = scopes_[s].values.find(key); found != scopes_[s].values.end()) {
        placed = {found->second, int(s)};
        return true;
      }
    return false;
  }

  Placed add(const Value &value, int depth, std::uint64_t key) {
    const ValueId id{std::uint32_t(plan_.program.values.size())};
    plan_.program.values.push_back(value);
    Scope &scope = scopes_[depth];
    scope.out->push_back({StmtKind::Let, id, {}, {}, {}});
    if (key != no_key) scope.values.emplace(key, id);
    const double cost = value.kind == ValueKind::Op ? ops::info(value.op).cost
                        : value.kind == ValueKind::Load || value.kind == ValueKind::Cast ? 2 : 0;
    work_ += cost / 16 * scope.turns;
    cost_ += cost;
    return {id, depth};
  }
  static constexpr std::uint64_t no_key = ~std::uint64_t(0);

  Placed add_literal(DType dtype, std::uint64_t bits, std::uint64_t key) {
    Value value;
    value.kind = ValueKind::Literal;
    value.dtype = dtype;
    value.bits = bits;
    return add(value, 0, key);
  }

  Placed add_load(BufferId buffer, std::uint64_t key) {
    Value value;
    value.kind = ValueKind::Load;
    value.buffer = buffer;
    value.dtype = plan_.program[buffer].dtype;
    int depth = 0;
    for (const loop::Walk &walk : plan_.program[buffer].walks) depth = std::max(depth, depth_of_axis(walk.axis));
    return add(value, depth, key);
  }

  Placed add_op(ops::Op op, DType compute, DType dtype, std::span<const Placed> args, std::uint64_t key) {
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

  Placed add_cast(Placed arg, DType from, DType to, std::uint64_t key) {
    if (from == to) return arg;
    Value value;
    value.kind = ValueKind::Cast;
    value.compute = from;
    value.dtype = to;
    value.args[value.arg_count++] = arg.id;
    return add(value, arg.depth, key);
  }

  Placed fold_value(int item) {
    Placed placed;
    if (find(item_key(item), placed)) return placed;
    support::check(nests_.items[item].scratch >= 0, "a fold's result is neither in reach nor in memory");
    return add_load(scratch_buffer(nests_.items[item]), item_key(item));
  }

  // The value of a graph node in the open bodies; a work list instead of recursion.
  Placed value_of(NodeId root) {
    std::vector<NodeId> stack{root};
    Placed placed;
    while (!stack.empty()) {
      const NodeId id = stack.back();
      if (find(node_key(id), placed)) {
        stack.pop_back();
        continue;
      }
      bool ready = true;
      if (nests_.item_of_fold[id.index] < 0) {
        const auto args = spec_.graph.args(id);
        const std::size_t count = spec_.graph[id].kind == NodeKind::Expand ? 1 : args.size();
        for (std::size_t k = count; k-- > 0;) // the first argument comes out first
          if (!find(node_key(args[k]), placed)) stack.push_back(args[k]), ready = false;
      }
      if (!ready) continue;
      stack.pop_back();
      compute(id);
    }
    support::check(find(node_key(root), placed), "a value was not computed");
    return placed;
  }

  Placed known(NodeId id) const {
    Placed placed{};
    support::check(find(node_key(id), placed), "an argument was not computed");
    return placed;
  }

  void compute(NodeId id) {
    const expr::Node &node = spec_.graph[id];
    const auto args = spec_.graph.args(id);
    if (const int item = nests_.item_of_fold[id.index]; item >= 0) {
      alias(id, fold_value(item));
      return;
    }
    switch (node.kind) {
    case NodeKind::Input: add_load(input_buffer(node.payload), node_key(id)); return;
    case NodeKind::Literal: add_literal(node.dtype, node.bits, node_key(id)); return;
    case NodeKind::Cast: {
      const DType from = spec_.graph[args[0]].dtype;
      if (from == node.dtype) alias(id, known(args[0]));
      else add_cast(known(args[0]), from, node.dtype, node_key(id));
      return;
    }
    case NodeKind::Expand: alias(id, known(args[0])); return;
    case NodeKind::Fold: { // over nothing: one step from the identity
      const Placed start = add_literal(node.dtype, ops::identity(node.fold, node.dtype).bits, no_key);
      const Placed both[] = {start, known(args[0])};
      add_op(ops::info(node.fold).step, node.dtype, node.dtype, both, node_key(id));
      return;
    }
    case NodeKind::Op: {
      std::vector<Placed> placed;
      for (NodeId arg : args) placed.push_back(known(arg));
      const DType compute = spec_.graph[args[node.op == ops::Op::Where ? 1 : 0]].dtype;
      add_op(node.op, compute, node.dtype, placed, node_key(id));
      return;
    }
    }
  }

  void alias(NodeId id, Placed placed) { scopes_[placed.depth].values.emplace(node_key(id), placed.id); }

  // ------------------------------------------------------------------ bodies

  void lower_phase(const PhaseTree &tree) {
    loop::Phase phase;
    work_ = cost_ = 0;
    std::vector<Stmt> body;
    scopes_.assign(1, Scope{});
    scopes_[0].node = tree.root;
    scopes_[0].out = &body;
    lower_body(tree.root);
    phase.body = std::move(body);
    phase.cost = cost_;
    if (!tree.serial) mark_parallel(phase);
    plan_.program.phases.push_back(std::move(phase));
    plan_.binding.phase_work.push_back(work_);
  }

  void lower_body(int node) {
    const std::vector<Entry> &entries = nests_.tree[node].body;
    for (std::size_t k = 0; k < entries.size();) {
      if (entries[k].kind == Entry::Kind::Loop) {
        lower_loop(entries[k++].index);
        continue;
      }
      // All values of neighbouring stores come first: an output may lie exactly on an input.
      std::vector<Stmt> writes;
      for (; k < entries.size() && entries[k].kind != Entry::Kind::Loop; ++k) {
        const int item = entries[k].index;
        writes.push_back(entries[k].kind == Entry::Kind::Set ? set_of(nests_.items[item]) : step_of(item));
      }
      scopes_.back().out->insert(scopes_.back().out->end(), writes.begin(), writes.end());
    }
  }

  Stmt step_of(int index) {
    const Item &item = nests_.items[index];
    const Placed value = item.arg_item >= 0 ? fold_value(item.arg_item) : value_of(item.arg);
    return {StmtKind::Step, value.id, {}, acc_of_.at(index), {}};
  }

  Stmt set_of(const Item &item) {
    const spec::TypedOutput &out = spec_.outputs[item.output];
    BufferId buffer;
    Placed value{};
    if (out.add) {
      buffer = output_buffer(item.output);
      // `+=` adds before the last cast, in the type of what is cast.
      const bool cast = spec_.graph[out.value].kind == NodeKind::Cast;
      const NodeId source = cast ? spec_.graph.args(out.value)[0] : out.value;
      const DType dtype = spec_.graph[source].dtype;
      const Placed old = add_cast(add_load(buffer, no_key), out.dtype, dtype, no_key);
      const Placed both[] = {old, value_of(source)};
      value = add_cast(add_op(ops::Op::Add, dtype, dtype, both, no_key), dtype, out.dtype, no_key);
    } else {
      value = value_of(out.value);
      buffer = output_buffer(item.output);
    }
    consider_streaming(buffer, item.output, out.add);
    work_ += 4.0 / 16 * scopes_.back().turns;
    return {StmtKind::Set, value.id, buffer, {}, {}};
  }

  // An output larger than the last-level cache is stored around the caches: it would only push out
  // what is still to be read, and a normal store reads each line first.
  void consider_streaming(BufferId id, int output, bool add) {
    loop::Buffer &buffer = plan_.program.buffers[id.index];
    const TreeNode &node = nests_.tree[scopes_.back().node];
    std::int64_t bytes = std::int64_t(size_of(buffer.dtype));
    for (std::int64_t n : resolved_.output_shapes[output]) bytes *= n;
    const bool unit = std::any_of(buffer.walks.begin(), buffer.walks.end(), [&](const loop::Walk &walk) {
      return walk.axis == scopes_.back().axis && walk.stride == loop::StrideClass::Unit;
    });
    buffer.stream = !add && unit && node.key.vector && node.folds.empty() && bytes > machine_.last_level_cache;
  }

  void lower_loop(int index) {
    const TreeNode &node = nests_.tree[index];
    const loop::LoopId id{std::uint32_t(plan_.program.loops.size())};
    plan_.program.loops.emplace_back();
    loop::Loop made;
    made.axis = axis_of(node.key.kind, node.key.group);
    made.vector = node.key.vector;
    if (node.key.kind == LoopKind::Within) made.within = axis_of(LoopKind::Chunks, node.key.group);
    made.lanes = node.key.vector && !node.folds.empty() ? 32 : 1;
    made.leaf = node.leaf;
    for (int item : node.folds) {
      acc_of_[item] = loop::AccId{std::uint32_t(plan_.program.accs.size())};
      made.accs.push_back(acc_of_[item]);
      plan_.program.accs.push_back({nests_.items[item].fold, nests_.items[item].dtype});
    }
    Scope scope;
    scope.node = index;
    scope.axis = made.axis;
    scope.out = &made.body;
    scope.turns = scopes_.back().turns * turns_of(node.key, made.axis);
    scopes_.push_back(std::move(scope));
    lower_body(index);
    scopes_.pop_back();
    const std::vector<int> folds = node.folds;
    plan_.program.loops[id.index] = std::move(made);
    scopes_.back().out->push_back({StmtKind::Loop, {}, {}, {}, id});
    for (int item : folds) finish_fold(item);
  }

  double turns_of(const LoopKey &key, AxisId axis) const {
    const double extent = double(plan_.binding.extents[axis.index]);
    if (key.kind != LoopKind::Within) return extent;
    return std::min(extent, double(chunk_of_.at(key.group)));
  }

  void finish_fold(int index) {
    const Item &item = nests_.items[index];
    Value value;
    value.kind = ValueKind::Result;
    value.dtype = item.dtype;
    value.acc = acc_of_.at(index);
    const Placed result = add(value, int(scopes_.size()) - 1, item_key(index));
    if (item.scratch >= 0)
      scopes_.back().out->push_back({StmtKind::Set, result.id, scratch_buffer(item), {}, {}});
  }

  // From the root, loops that hold nothing but the next loop, and the first that holds more.
  void mark_parallel(loop::Phase &phase) {
    const std::vector<Stmt> *body = &phase.body;
    for (;;) {
      const Stmt *only = nullptr;
      for (const Stmt &stmt : *body) {
        if (stmt.kind == StmtKind::Let) continue;
        if (stmt.kind != StmtKind::Loop || only != nullptr) return;
        only = &stmt;
      }
      if (only == nullptr) return;
      loop::Loop &loop = plan_.program.loops[only->loop.index];
      if (!loop.accs.empty() || loop.within) return;
      loop.parallel = true;
      phase.parallel.push_back(loop.axis);
      body = &loop.body;
    }
  }

  // ------------------------------------------------------------------ the rest

  void bind() {
    const std::size_t axes = plan_.program.axes.size();
    plan_.binding.strides.assign(plan_.program.buffers.size() * axes, 0);
    for (std::size_t b = 0; b < plan_.program.buffers.size(); ++b) {
      const auto &walks = plan_.program.buffers[b].walks;
      for (std::size_t w = 0; w < walks.size(); ++w)
        plan_.binding.strides[b * axes + walks[w].axis.index] = buffer_strides_[b][w];
    }
  }

  // One phase whose loops form a single chain without folds: each element is read, if at all, at the
  // position at which it is overwritten.
  bool is_in_place() const {
    if (plan_.program.phases.size() != 1) return false;
    std::vector<int> loops_in_body(nests_.tree.size(), 0);
    for (const TreeNode &node : nests_.tree) {
      if (!node.folds.empty()) return false;
      if (node.parent >= 0 && ++loops_in_body[node.parent] > 1) return false;
    }
    for (const TreeNode &node : nests_.tree) // a store beside a loop would come before or after its reads
      if (std::any_of(node.body.begin(), node.body.end(), [](const Entry &e) { return e.kind == Entry::Kind::Loop; }) &&
          node.body.size() > 1)
        return false;
    return true;
  }

  void explain() {
    for (std::size_t p = 0; p < plan_.program.phases.size(); ++p) {
      std::string axes;
      for (AxisId axis : plan_.program.phases[p].parallel)
        axes += (axes.empty() ? "" : ", ") + plan_.program[axis].name;
      plan_.why.push_back({"phase", fmt::format("{}: {}", p, axes.empty() ? "runs once, on one thread"
                                                                            : "parallel over " + axes)});
    }
    for (const loop::Buffer &buffer : plan_.program.buffers)
      if (buffer.stream)
        plan_.why.push_back({"streaming", fmt::format("'{}' is larger than the last-level cache: stored around "
                                                      "the caches", buffer.name)});
    for (std::size_t s = 0; s < plan_.binding.scratch_bytes.size(); ++s)
      plan_.why.push_back({"scratch", fmt::format("s{}: {} bytes hold fold results between phases", s,
                                                  plan_.binding.scratch_bytes[s])});
  }

  const spec::TypedSpec &spec_;
  const Resolved &resolved_;
  const Walks &walks_;
  Nests nests_;
  const Machine &machine_;
  Plan plan_;
  std::vector<Scope> scopes_;
  std::map<std::pair<bool, Group>, AxisId> axis_ids_;
  std::map<Group, std::int64_t> chunk_of_;
  std::map<std::string, BufferId> buffer_ids_;
  std::vector<std::vector<std::int64_t>> buffer_strides_;
  std::vector<ScratchArray> scratch_;
  std::map<int, loop::AccId> acc_of_;
  double work_ = 0, cost_ = 0;
};

} // namespace

Plan lower(const spec::TypedSpec &spec, const Resolved &resolved, const Walks &walks, Nests nests,
           const Machine &machine) {
  return Lowering(spec, resolved, walks, std::move(nests), machine).run();
}

Plan make_plan(const spec::TypedSpec &spec, const Resolved &resolved, std::span<const Layout> inputs,
               std::span<const Layout> outputs, const std::vector<bool> &wanted,
               const Machine &machine) {
  const Walks walks = walks_of(resolved, inputs, outputs);
  return lower(spec, resolved, walks, arrange(spec, resolved, walks, wanted), machine);
}

} // namespace broadloom::plan
