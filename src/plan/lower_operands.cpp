// Lowering, the operands: which axes and chunks there are, how scratch arrays lie, how buffers
// walk.
#include "plan/lowering.hpp"

#include "support/check.hpp"
#include "support/free_name.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::plan {

// Phases of a generic plan have axes of their own: i, i_2, i_3.
std::string Lowering::name_of_axis(const std::string &name) const {
  if (!request_.generic) return name;
  return support::free_name(name, [&](const std::string &free) {
    return std::ranges::count(plan_.program.axes, free, &loop::Axis::name) == 0;
  });
}

AxisId Lowering::axis_of(LoopKind kind, const Group &group) {
  const bool chunk = kind == LoopKind::Chunks || kind == LoopKind::Join;
  const auto key = std::pair(chunk, group);
  if (const auto found = axis_ids_.find(key); found != axis_ids_.end()) return found->second;
  const std::string name = group_name(request_.resolved, group);
  loop::Axis axis{name_of_axis(chunk ? name + ".chunk" : name), std::nullopt};
  const std::int64_t extent = group_extent(request_.resolved, group);
  std::int64_t count = extent, cut = 0;
  if (chunk) {
    axis.chunks_of = axis_of(LoopKind::Plain, group);
    count = extent == 0 ? 0 : (extent - 1) / schedule_.chunk_sizes.at(group) + 1;
  } else if (const auto found = schedule_.chunk_sizes.find(group);
             found != schedule_.chunk_sizes.end()) {
    cut = found->second;
  }
  if (!chunk && cut == 0 && schedule_.few.contains(group)) axis.positions = int(extent);
  axis.tall = !chunk && schedule_.tall.contains(group);
  const AxisId id{std::uint32_t(plan_.program.axes.size())};
  for (ClassId c : group) {
    const std::optional<int> of_spec = request_.resolved[c].axis;
    if (chunk || !of_spec) continue;
    if (const int asked = request_.spec.wishes.copies_of(*of_spec); asked > 0) axis.copies = asked;
    if (const int asked = request_.spec.wishes.rows_of(*of_spec); asked > 0) axis.tile = asked;
  }
  plan_.program.axes.push_back(axis);
  group_of_axis_.push_back(group);
  plan_.binding.extents.push_back(count);
  plan_.binding.chunks.push_back(cut);
  axis_ids_.emplace(key, id);
  return id;
}

std::vector<DType> Lowering::scratch_types(const Item &item) const {
  if (item.kind == ItemKind::Hold) return {request_.spec.graph[item.value].dtype};
  return recipe_of(item).states;
}

void Lowering::lay_out_scratch(const Item &item) {
  ScratchArray array;
  std::int64_t stride = 1;
  const auto add_dim = [&](const LoopKey &key) {
    for (std::size_t c = key.group.size(); c-- > 0;) {
      if (request_.generic && request_.generic->has(key.group[c])) continue;
      array.steps.insert(array.steps.begin(), {key.group[c], stride});
      stride *= std::max<std::int64_t>(1, request_.resolved[key.group[c]].extent);
    }
  };
  const auto add_chunks = [&](const Group &group) {
    array.chunk_group = group;
    array.chunk_stride = stride;
    stride *=
        std::max<std::int64_t>(1, plan_.binding.extents[axis_of(LoopKind::Chunks, group).index]);
  };
  // The panels lie one after the other. A position counts from the start of its axis: so far it has
  // moved within the panel.
  const auto add_panels = [&](const Group &group) {
    const std::int64_t width = schedule_.chunk_sizes.at(group), panel = stride;
    add_chunks(group);
    array.chunk_stride = panel - width;
  };
  std::vector<LoopKey> dims = item.path;
  if (item.kind == ItemKind::Scan) dims.push_back(item.loop);
  // The result of a chunk, or of a scan over chunks, has one element for each of them.
  const bool partial = item.kind == ItemKind::Fold && item.loop.kind == LoopKind::Within;
  for (std::size_t k = dims.size(); k-- > 0;) {
    const bool own = dims[k].group == item.loop.group;
    const bool rows = item.kind == ItemKind::Partial && own;
    if (dims[k].kind == LoopKind::Join ||
        ((partial || rows) && own && dims[k].kind == LoopKind::Chunks))
      add_chunks(dims[k].group);
    if (item.panel && dims[k].kind == LoopKind::Chunks) add_panels(dims[k].group);
    if (has_positions(dims[k].kind) && !rows) add_dim(dims[k]);
    if (item.panel && dims[k].kind == LoopKind::Within)
      stride = schedule_.chunk_sizes.at(dims[k].group);
  }
  const std::vector<DType> types = scratch_types(item);
  for (std::size_t k = 0; k < types.size(); ++k) {
    const std::size_t index = *item.scratch + k;
    scratch_[index] = array;
    const bool used = item.kind != ItemKind::Scan || (item.read >> k & 1);
    plan_.binding.scratch_bytes[index] = used ? stride * std::int64_t(size_of(types[k])) : 0;
  }
}

std::vector<Cut> Lowering::cuts_of(const loop::Phase &phase) const {
  std::vector<Cut> cuts;
  bool any = false;
  for (const AxisId axis : phase.parallel) {
    Cut cut = Cut::AsItFits;
    for (ClassId c : group_of_axis_[axis.index]) {
      const std::optional<int> of_spec = request_.resolved[c].axis;
      if (!of_spec) continue;
      if (request_.spec.wishes.serial.has(*of_spec)) cut = Cut::Never;
      if (request_.spec.wishes.parallel.has(*of_spec) && cut == Cut::AsItFits) cut = Cut::First;
    }
    any = any || cut != Cut::AsItFits;
    cuts.push_back(cut);
  }
  return any ? cuts : std::vector<Cut>();
}

BufferId Lowering::buffer_for(Role role, std::size_t operand, const std::string &name, DType dtype,
                              const Steps &steps, const ScratchArray *scratch) {
  struct Walked {
    std::size_t place; // among the operand's dims, from 1; a dim of chunks may come before them
    AxisId axis;
    std::int64_t stride;
    loop::StrideClass known;
  };
  std::vector<Walked> walked;
  std::size_t covered = 0;
  for (std::size_t s = 1; s < scopes_.size(); ++s) {
    const LoopKey &loop = nests_[scopes_[s].node].key;
    if (request_.generic) { // all loops, which move it or do not
      for (ClassId c : loop.group) covered += std::ranges::count(steps, c, &Step::cls);
      const std::int64_t stride = stride_along(steps, loop.group);
      walked.push_back({s, scopes_[s].axis, stride, known_step(role, s, stride)});
      check_merged(steps, loop.group);
    } else if (has_positions(loop.kind)) {
      for (std::size_t place = 0; place < steps.size(); ++place) {
        covered += std::count(loop.group.begin(), loop.group.end(), steps[place].cls);
        if (steps[place].cls == loop.group.back())
          walked.push_back({place + 1, scopes_[s].axis, steps[place].stride,
                            known_step(role, s, steps[place].stride)});
      }
      check_merged(steps, loop.group);
    } else if (scratch != nullptr && scratch->chunk_group == loop.group) {
      const bool innermost = scratch->chunk_stride == 1;
      walked.push_back({innermost ? steps.size() + 1 : 0, scopes_[s].axis, scratch->chunk_stride,
                        known_step(role, s, scratch->chunk_stride)});
    }
  }
  std::sort(walked.begin(), walked.end(),
            [](const Walked &a, const Walked &b) { return a.place < b.place; });
  loop::Buffer buffer{name, role, std::uint32_t(operand), dtype, {}, false};
  std::vector<std::int64_t> strides;
  std::string key = fmt::format("{} {}", int(role), operand);
  for (const Walked &walk : walked) {
    buffer.walks.push_back({walk.axis, walk.known});
    strides.push_back(walk.stride);
    key += fmt::format(" {} {}", walk.axis.index, int(walk.known));
  }
  support::check(covered == steps.size(), "an operand walks an axis that no loop around it has");
  const auto [found, fresh] =
      buffer_ids_.try_emplace(key, BufferId{std::uint32_t(plan_.program.buffers.size())});
  if (fresh) {
    plan_.program.buffers.push_back(std::move(buffer));
    buffer_strides_.push_back(std::move(strides));
  }
  return found->second;
}

// The steps by which lanes are picked from whole vectors are part of the pattern; all other steps
// but 1 share their code. A generic plan knows of lanes that lie side by side, and of no other
// step.
loop::StrideClass Lowering::known_step(Role role, std::size_t scope, std::int64_t stride) const {
  if (request_.generic && (stride != 1 || !nests_[scopes_[scope].node].key.vector))
    return loop::StrideClass::Other;
  if (stride == 1) return loop::StrideClass::Unit;
  const bool lanes = role == Role::Input && nests_[scopes_[scope].node].key.vector;
  return lanes ? loop::stride_class(stride) : loop::StrideClass::Other;
}

void Lowering::check_merged(const Steps &steps, const Group &group) const {
  if (group_extent(request_.resolved, group) == 0)
    return; // nothing is walked, whatever the steps are
  for (std::size_t k = 0; k + 1 < group.size(); ++k)
    support::check(stride_along(steps, group[k]) ==
                       stride_along(steps, group[k + 1]) * request_.resolved[group[k + 1]].extent,
                   "merged axes are not walked as one");
}

// Its loops are open: those of the fold that it was packed for.
bool Lowering::reads_panel(const Item &panel) const {
  return std::ranges::all_of(panel.path, [&](const LoopKey &key) {
    return std::any_of(scopes_.begin() + 1, scopes_.end(), [&](const Scope &scope) {
      const LoopKey &open = nests_[scope.node].key;
      return open.kind == key.kind && open.group == key.group;
    });
  });
}

BufferId Lowering::input_buffer(std::uint32_t input) {
  if (const std::optional<ItemId> panel = nests_.item_of_panel[input];
      panel && reads_panel(nests_[*panel])) {
    const BufferId id = scratch_buffer(nests_[*panel], 0);
    plan_.program.buffers[id.index].reread = true;
    return id;
  }
  const std::optional<ItemId> item = nests_.item_of_input[input];
  if (!item) return operand_buffer(input, request_.walks.inputs[input]);
  const Item &filled = nests_[*item];
  const Repeated &repeated = request_.walks.repeated[*filled.repeated];
  if (repeated.block == 0) return scratch_buffer(filled, 0);
  // Position p of chunk k is element p - k * block: back by a block for each chunk.
  const ScratchArray blocks{request_.walks.inputs[input], repeated.loop, -repeated.block};
  return buffer_for(Role::Scratch, *filled.scratch, fmt::format("s{}", *filled.scratch),
                    request_.spec.inputs[input].dtype, blocks.steps, &blocks);
}

BufferId Lowering::operand_buffer(std::uint32_t input, const Steps &steps) {
  const BufferId id = buffer_for(Role::Input, input, request_.spec.inputs[input].name,
                                 request_.spec.inputs[input].dtype, steps);
  mark_reading(id, input);
  return id;
}

void Lowering::mark_reading(BufferId id, std::uint32_t input) {
  const Reading &reading = schedule_.reads[input];
  const double turns = scopes_.back().turns;
  const support::Reason reason = reading.reason(turns);
  const bool ahead = reason == support::Reason::InputReadAhead;
  loop::Buffer &buffer = plan_.program.buffers[id.index];
  buffer.stream |= ahead;
  buffer.reread |= reading.is_often(turns) && reading.gains_by_tiles;
  if (ahead || !reading_.contains(input)) reading_[input] = reason;
}

BufferId Lowering::output_buffer(std::size_t output) {
  const spec::TypedOutput &declared = request_.spec.outputs[output];
  // A listing that names buffers has the state itself, too.
  const std::string name = declared.update ? declared.name + "_next" : declared.name;
  return buffer_for(Role::Output, output, name, declared.dtype, request_.walks.outputs[output]);
}

BufferId Lowering::row_buffer(std::size_t row) {
  const Row &kept = schedule_.rows[row];
  Steps steps;
  std::int64_t stride = kept.lanes ? loop::row_lanes : 1;
  for (std::size_t c = kept.group.size(); c-- > 0;) {
    steps.insert(steps.begin(), {kept.group[c], stride});
    stride *= std::max<std::int64_t>(1, request_.resolved[kept.group[c]].extent);
  }
  return buffer_for(Role::Row, row, fmt::format("row{}", row),
                    request_.spec.graph[kept.value].dtype, steps);
}

BufferId Lowering::scratch_buffer(const Item &item, std::size_t state) {
  const std::size_t index = *item.scratch + state;
  return buffer_for(Role::Scratch, index, fmt::format("s{}", index), scratch_types(item)[state],
                    scratch_[index].steps, &scratch_[index]);
}

// What scans the totals of chunks can go on from box to box, so that the phases before and after it
// need not wait for its end.
void Lowering::hand_on_states(loop::Phase &phase) {
  const std::optional<loop::LoopId> only = loop::only_loop(phase.body);
  if (!only || !phase.parallel.empty()) return;
  loop::Loop &loop = plan_.program.loops[only->index];
  if (!loop.scan || loop.leaf != 0 || loop.ways > 1 || loop.within ||
      !plan_.program[loop.axis].chunks_of)
    return;
  for (const loop::AccId acc : loop.accs)
    for (const DType state : plan_.program.recipe(acc).states) {
      const std::uint32_t index = plan_.program.scratch_count++;
      loop.handed.push_back(BufferId{std::uint32_t(plan_.program.buffers.size())});
      plan_.program.buffers.push_back(
          {fmt::format("s{}", index), Role::Scratch, index, state, {}, false});
      plan_.binding.scratch_bytes.push_back(std::int64_t(size_of(state)));
      buffer_strides_.emplace_back();
    }
  phase.parallel.push_back(loop.axis);
}

} // namespace broadloom::plan
