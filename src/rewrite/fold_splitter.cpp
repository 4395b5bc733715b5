// See fold_splitter.hpp and, for split_folds, split_folds.hpp.
#include "rewrite/fold_splitter.hpp"

#include "rewrite/split_parts.hpp"
#include "support/fail.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::rewrite {

namespace {

void lift_extents(spec::TypedInput &input, int axis) {
  for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d)
    if (input.axis_of_dim[d] == axis && !is_repeated(input, d)) input.extents[d] = -1;
}

} // namespace

FoldSplit FoldSplitter::run() {
  made_.axis = axis_;
  check_kernel();
  find_folds();
  find_inner_folds();
  const int rounds = find_rounds();
  for (int round = 0; round < rounds; ++round) {
    made_.rounds.emplace_back();
    joins_.clear();
    Draft block = make_block(round),
          leaf = make_leaf(round); // neither knows the states of the other
    know_states(round, block, leaf);
    make_join();
    make_before(round);
  }
  made_.rest = make_rest();
  return std::move(made_);
}

FoldSplitter::Draft FoldSplitter::begin(const std::string &suffix, const std::vector<int> &place,
                                        bool takes_offset, bool takes_windows) const {
  Draft part{empty_like(spec_, suffix), place, 0, 0, 0, std::vector<NodeId>(graph_.size())};
  spec::TypedSpec &spec = part.spec;
  spec.graph = expr::Graph::with_recipes_of(graph_);
  for (std::size_t i = 0; i < given_; ++i) {
    if (place[i] < 0) continue;
    spec.inputs.push_back(spec_.inputs[i]);
    lift_extents(spec.inputs.back(), axis_);
  }
  part.offset = spec.inputs.size();
  if (takes_offset) spec.inputs.push_back(array_input("offset", DType::I64, {}));
  part.first_known = spec.inputs.size();
  const auto add_states = [&](const spec::TypedSpec &made) {
    for (const spec::TypedOutput &state : made.outputs)
      spec.inputs.push_back(array_input(fmt::format("known{}", spec.inputs.size()), state.dtype,
                                        made.graph[state.value].axes.list()));
  };
  for (const FoldRound &round : made_.rounds) {
    add_states(round.block);
    add_states(round.leaf);
  }
  if (takes_windows) part.first_window = add_windows(spec);
  return part;
}

// Where they begin.
std::size_t FoldSplitter::add_windows(spec::TypedSpec &spec) const {
  const std::size_t first = spec.inputs.size();
  for (std::size_t i = given_; i < spec_.inputs.size(); ++i) {
    spec::TypedInput &window = spec.inputs.emplace_back(spec_.inputs[i]);
    lift_extents(window, axis_);
    for (spec::TypedWindow::Form &form : window.window->forms)
      for (spec::TypedWindow::Index &index :
           form.indices) // which may be a window, as k[n] of table[k[n]]
        if (index.input >= given_) index.input += std::uint32_t(first - given_);
  }
  return first;
}

// The nodes that are wanted, with states that are known in place of folds. A scan goes on from
// what comes before the block.
void FoldSplitter::copy(Draft &part, const std::vector<bool> &wanted,
                        std::vector<std::pair<NodeId, NodeId>> *same) const {
  const auto moved = [&](std::uint32_t input) {
    return input < given_ ? std::uint32_t(part.place[input])
                          : std::uint32_t(part.first_window + input - given_);
  };
  for (std::size_t n = 0; n < graph_.size(); ++n) {
    if (!wanted[n]) continue;
    const NodeId id{std::uint32_t(n)};
    NodeId &now = part.now[n];
    if (const auto state = states_.find(id); state != states_.end()) {
      now = read_input(part.spec, part.first_known + state->second, graph_.where(id));
      continue;
    }
    Node node = graph_[id];
    if (node.kind == NodeKind::Input) node.payload = moved(node.payload);
    std::vector<std::uint32_t> like;
    for (const std::uint32_t input : graph_.like(node)) like.push_back(moved(input));
    node.like = part.spec.graph.add_like(std::move(like));
    std::vector<NodeId> args = graph_.args_now(id, part.now);
    if (const auto group = group_of_.find(id); group != group_of_.end())
      for (std::size_t k = 0; k < graph_.recipe(id).states.size(); ++k)
        args.push_back(
            read_input(part.spec, part.first_known + groups_[group->second].first_known + k, {}));
    now = part.spec.graph.add(node, args, graph_.where(id));
    if (same != nullptr && (node.kind == NodeKind::Fold || node.kind == NodeKind::Scan))
      same->emplace_back(id, now);
    if (node.kind == NodeKind::Index && has(node.axes)) {
      const NodeId begin = read_input(part.spec, part.offset, {});
      now = operation(part.spec.graph, ops::Op::Add, DType::I64, {now, begin}, {});
    }
  }
}

std::vector<int> FoldSplitter::all_places() const {
  std::vector<int> place(given_);
  for (std::size_t i = 0; i < given_; ++i) place[i] = int(i);
  return place;
}

FoldSplitter::Draft FoldSplitter::make_block(int number) {
  FoldRound &made = made_.rounds.back();
  Draft part = begin(fmt::format("_block{}", number), all_places(), made_.takes_offset, true);
  spec::TypedSpec &block = part.spec;
  std::vector<bool> wanted(graph_.size(), false);
  for (std::size_t f = 0; f < folds_.size(); ++f)
    if (round_of_[f] == number)
      for (const NodeId arg : graph_.args(folds_[f])) want(wanted, arg);
  copy(part, wanted, &made.same);
  for (std::size_t f = 0; f < folds_.size(); ++f) {
    if (round_of_[f] != number) continue;
    const NodeId fold = folds_[f];
    Node node = graph_[fold];
    std::vector<NodeId> args = graph_.args_now(fold, part.now);
    if (node.kind == NodeKind::Extent) {
      new_states_[fold] = block.outputs.size();
      const NodeId extent = block.graph.add(node, args, graph_.where(fold));
      if (node.folded.has(axis_)) made.extents.push_back(extent);
      add_output(block, extent, node.axes.list());
      joins_.push_back({std::nullopt, node.axes, node.folded.has(axis_)});
      continue;
    }
    // All states are wanted, and `rest` may read any of them.
    const ops::Recipe &recipe = graph_.recipe(fold);
    std::vector<NodeId> all;
    for (std::size_t k = 0; k < recipe.states.size(); ++k) {
      node.payload = std::uint32_t(k);
      node.dtype = recipe.states[k];
      all.push_back(block.graph.add(node, args, graph_.where(fold)));
    }
    made.same.emplace_back(fold, all[0]);
    const auto known = std::ranges::find(made.folds, all[0]);
    std::size_t first = block.outputs.size();
    if (known == made.folds.end()) {
      made.folds.push_back(all[0]);
      made.first_states.push_back(first);
      for (const NodeId state : all) add_output(block, state, node.axes.list());
      joins_.push_back({graph_[fold].recipe, node.axes, true});
    } else {
      first = made.first_states[std::size_t(known - made.folds.begin())];
    }
    new_states_[fold] = first + graph_[fold].payload;
  }
  return part;
}

// What one leaf of each scan of the round comes to; where any order has the same bits, a fold.
FoldSplitter::Draft FoldSplitter::make_leaf(int number) {
  FoldRound &made = made_.rounds.back();
  Draft part = begin(fmt::format("_leaf{}", number), all_places(), made_.takes_offset, true);
  std::vector<bool> wanted(graph_.size(), false);
  for (const ScanGroup &group : groups_)
    if (group.round == number)
      for (const NodeId arg : graph_.args(group.scan)) want(wanted, arg);
  copy(part, wanted, &made.same_in_leaf);
  for (const ScanGroup &group : groups_) {
    if (group.round != number) continue;
    const ops::Recipe &recipe = graph_.recipe(group.scan);
    Node node = graph_[group.scan];
    made.scans.push_back({{}, part.spec.outputs.size(), node.exclusive, node.reverse});
    node.kind = recipe.exact ? NodeKind::Fold : NodeKind::Scan;
    node.total = !recipe.exact;
    node.exclusive = false;
    node.reverse = node.reverse && node.total;
    node.axes = node.axes - AxisSet::of(axis_);
    std::vector<NodeId> args = graph_.args_now(group.scan, part.now);
    for (std::size_t k = 0; k < recipe.states.size(); ++k) {
      node.payload = std::uint32_t(k);
      node.dtype = recipe.states[k];
      const NodeId total = part.spec.graph.add(node, args, graph_.where(group.scan));
      if (k == 0) made.scans.back().total = total;
      add_output(part.spec, total, node.axes.list());
    }
    if (node.total) made.same_in_leaf.emplace_back(group.scan, made.scans.back().total);
  }
  return part;
}

// From here on the states of this round are known.
void FoldSplitter::know_states(int number, Draft &block, Draft &leaf) {
  FoldRound &made = made_.rounds.back();
  for (const auto &[fold, output] : new_states_) states_[fold] = count_ + output;
  new_states_.clear();
  count_ += block.spec.outputs.size();
  auto scan = made.scans.begin();
  for (ScanGroup &group : groups_)
    if (group.round == number) group.first_known = count_ + (scan++)->first_state;
  count_ += leaf.spec.outputs.size();
  made.block = std::move(block.spec);
  made.leaf = std::move(leaf.spec);
}

// All that it is made of, down to states that are known.
void FoldSplitter::want(std::vector<bool> &wanted, NodeId root) const {
  wanted[root.index] = true;
  for (std::size_t n = root.index + 1; n-- > 0;)
    if (wanted[n] && !states_.contains({std::uint32_t(n)}))
      for (const NodeId arg : graph_.args({std::uint32_t(n)})) wanted[arg.index] = true;
}

void FoldSplitter::make_join() {
  spec::TypedSpec &join = made_.rounds.back().join;
  join = empty_like(spec_, fmt::format("_join{}", made_.rounds.size() - 1));
  const auto states_of = [&](const Join &what) {
    return what.recipe ? graph_.recipe(*what.recipe).states : std::vector{DType::I64};
  };
  for (const Join &what : joins_) {
    std::vector<NodeId> both;
    for (const char *side : {"a", "b"})
      for (const DType dtype : states_of(what)) {
        join.inputs.push_back(
            array_input(fmt::format("{}{}", side, join.inputs.size()), dtype, what.axes.list()));
        both.push_back(read_input(join, join.inputs.size() - 1, {}));
      }
    const std::vector<NodeId> joined =
        what.recipe ? run_code(join.graph, graph_.recipe(*what.recipe).combine, both)
                    : std::vector{operation(join.graph, what.sums ? ops::Op::Add : ops::Op::Maximum,
                                            DType::I64, both, {})};
    for (const NodeId state : joined) add_output(join, state, what.axes.list());
  }
}

void FoldSplitter::make_before(int number) {
  spec::TypedSpec &before = made_.rounds.back().before;
  before = empty_like(spec_, fmt::format("_before{}", number));
  for (const ScanGroup &group : groups_)
    if (group.round == number)
      add_before(before, graph_.recipe(group.scan), graph_[group.scan].axes - AxisSet::of(axis_),
                 axis_, graph_[group.scan].reverse);
}

spec::TypedSpec FoldSplitter::make_rest() {
  made_.place_in_rest.assign(given_, -1);
  int count = 0;
  for (std::size_t i = 0; i < given_; ++i)
    if (made_.maps || (made_.dims[i].empty() && reads_in_rest(std::uint32_t(i))))
      made_.place_in_rest[i] = count++;
  Draft part = begin("_rest", made_.place_in_rest, made_.rest_takes_offset, made_.maps);
  copy(part, rest_, made_.maps ? &made_.same_in_rest : nullptr);
  spec::TypedSpec &rest = part.spec;
  rest.outputs = spec_.outputs;
  for (spec::TypedOutput &output : rest.outputs) {
    output.value = output.addend = part.now[output.value.index];
    for (std::uint32_t &like : output.like) like = std::uint32_t(made_.place_in_rest[like]);
  }
  rest.wishes.stores.resize(rest.outputs.size());
  return std::move(rest);
}

bool FoldSplitter::reads_in_rest(std::uint32_t input) const {
  for (const spec::TypedOutput &output : spec_.outputs)
    if (std::ranges::count(output.like, input) != 0) return true;
  for (std::size_t n = 0; n < graph_.size(); ++n) {
    const Node &node = graph_[NodeId{std::uint32_t(n)}];
    if (!rest_[n] || states_.contains(NodeId{std::uint32_t(n)})) continue;
    if (std::ranges::count(graph_.like(node), input) != 0 ||
        (node.kind == NodeKind::Input && node.payload == input))
      return true;
  }
  return false;
}

spec::TypedSpec of_any_extent(spec::TypedSpec spec, int axis) {
  for (spec::TypedInput &input : spec.inputs) lift_extents(input, axis);
  return spec;
}

FoldSplit split_folds(const spec::TypedSpec &spec, const std::string &axis) {
  return FoldSplitter(spec, find_axis(spec, axis)).run();
}

} // namespace broadloom::rewrite
