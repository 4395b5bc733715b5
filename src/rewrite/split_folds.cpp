// See split_folds.hpp.
#include "rewrite/split_folds.hpp"

#include "rewrite/split_parts.hpp"
#include "support/fail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace broadloom::rewrite {
namespace {

using expr::AxisSet;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;

// Declared as 1: the same element for all positions of the axis.
bool is_repeated(const spec::TypedInput &input, std::size_t dim) {
  return input.extents[dim] == 1 && input.may_stretch[dim];
}

void lift_extents(spec::TypedInput &input, int axis) {
  for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d)
    if (input.axis_of_dim[d] == axis && !is_repeated(input, d)) input.extents[d] = -1;
}

class Splitter {
public:
  Splitter(const spec::TypedSpec &spec, int axis)
      : spec_(spec), graph_(spec.graph), axis_(axis), given_(spec.given_inputs()),
        name_("'" + spec.axes[std::size_t(axis)].name + "'") {}

  FoldSplit run() {
    made_.axis = axis_;
    check_kernel();
    find_folds();
    find_inner_folds();
    const int rounds = find_rounds();
    for (int round = 0; round < rounds; ++round) {
      made_.rounds.emplace_back();
      joins_.clear();
      Part block = make_block(round),
           leaf = make_leaf(round); // neither knows the states of the other
      know_states(round, block, leaf);
      make_join();
      make_before(round);
    }
    made_.rest = make_rest();
    return std::move(made_);
  }

private:
  [[noreturn]] void refuse(const std::string &why, const Place &where, const std::string &help) {
    support::fail(
        "E0060",
        fmt::format("kernel '{}' does not come apart along {}: {}", spec_.name, name_, why), where,
        help);
  }

  bool has(AxisSet axes) const { return axes.has(axis_); }
  bool input_has(std::uint32_t input) const { return has(spec_.inputs[input].axes()); }
  bool any_arg_has(NodeId id) const {
    return std::ranges::any_of(graph_.args(id), [&](NodeId arg) { return has(graph_[arg].axes); });
  }
  bool goes_along(NodeId id) const { return graph_[id].folded.has(axis_) && any_arg_has(id); }

  void check_kernel() {
    if (spec_.callers_inputs() != given_)
      refuse("it has lets that are arrays or says extents", {},
             "compute these by a kernel of its own, on all of the data, and give them as inputs");
    for (std::size_t i = given_; i < spec_.inputs.size(); ++i) {
      const spec::TypedInput &input = spec_.inputs[i];
      if (!input.window || input.window->derived || input.window->sum ||
          !reads_in_place(spec_, input, axis_))
        refuse("it reads at positions along it", input.where,
               "compute what needs neighbours by a kernel of its own, on all of the data");
    }
    for (const spec::TypedOutput &output : spec_.outputs) {
      if (output.add || output.update)
        refuse(fmt::format("output '{}' {}", output.name,
                           output.update ? "updates a state" : "adds to what its array holds"),
               output.where, "give it by `=`, and add once all blocks are combined");
      made_.maps = made_.maps || std::ranges::count(output.axes, axis_) > 0;
      for (const std::uint32_t like : output.like)
        if (input_has(like))
          refuse(fmt::format("output '{}' has the shape of '{}', of which a block is not all",
                             output.name, spec_.inputs[like].name),
                 output.where, "leave like= out");
    }
    made_.dims.resize(given_);
    for (std::size_t i = 0; i < given_; ++i) {
      const std::vector<int> &axes = spec_.inputs[i].axis_of_dim;
      for (std::size_t d = 0; d < axes.size(); ++d)
        if (axes[d] == axis_ && !is_repeated(spec_.inputs[i], d)) made_.dims[i].push_back(int(d));
      if (made_.dims[i].size() > 1)
        refuse(fmt::format("two dims of '{}' walk it", spec_.inputs[i].name), spec_.inputs[i].where,
               "give its diagonal as an array of its own");
    }
  }

  void check_like(NodeId id) {
    for (const std::uint32_t like : graph_.like(graph_[id]))
      if (like >= given_)
        refuse("it adds up through positions", spec_.where(id),
               "add up by a kernel of its own, on all of the data");
      else if (input_has(like))
        refuse("like=" + spec_.inputs[like].name + " has it", spec_.where(id),
               "give the array the shape of another input");
  }

  // What outputs need, down to the folds along the axis and what counts it.
  void find_folds() {
    rest_.assign(graph_.size(), false);
    std::vector<bool> is_fold(graph_.size(), false), of_folds(graph_.size(), false);
    for (const spec::TypedOutput &output : spec_.outputs) rest_[output.value.index] = true;
    for (std::size_t n = graph_.size(); n-- > 0;) {
      if (!rest_[n]) continue;
      const NodeId id{std::uint32_t(n)};
      const Node &node = graph_[id];
      check_like(id);
      is_fold[n] = (node.kind == NodeKind::Fold && goes_along(id)) ||
                   (node.kind == NodeKind::Extent && any_arg_has(id));
      if (is_fold[n]) {
        folds_.push_back(id);
        continue;
      }
      if (is_scan(id)) {
        add_scan(id);
        made_.rest_goes_on = true;
      }
      made_.rest_takes_offset =
          made_.rest_takes_offset || (node.kind == NodeKind::Index && has(node.axes));
      if (node.kind == NodeKind::Input && node.payload >= given_ && !made_.maps)
        refuse("what comes after the folds reads at positions", spec_.where(id),
               "read there by a second kernel, which takes what was folded");
      if ((node.kind == NodeKind::Expand || node.kind == NodeKind::Index) && any_arg_has(id) &&
          !made_.maps)
        refuse("a value is repeated or counted by the extents of an input that has it",
               spec_.where(id), "let another input have the other axes of that input");
      for (const NodeId arg : graph_.args(id)) rest_[arg.index] = true;
    }
    if (folds_.empty() && scans_.empty())
      refuse("nothing is folded along it", {}, "fold along it, or call the kernel as it is");
    std::ranges::reverse(folds_);
    for (std::size_t n = 0; n < graph_.size(); ++n) {
      const NodeId id{std::uint32_t(n)};
      if (!rest_[n]) continue;
      of_folds[n] = is_fold[n] && graph_[id].kind == NodeKind::Fold;
      if (is_fold[n]) continue;
      for (const NodeId arg : graph_.operands(id)) of_folds[n] = of_folds[n] || of_folds[arg.index];
      const NodeKind kind = graph_[id].kind;
      if (of_folds[n] && !is_scan(id) &&
          (kind == NodeKind::Scan || (kind == NodeKind::Fold && !graph_.recipe(id).exact)))
        refuse("'" + graph_.recipe(id).name + "' goes on with what was folded along it",
               spec_.where(id),
               "fold it by a kernel of its own: the order in which it adds up hangs on all of the "
               "data");
    }
  }

  // What is folded may be made of other folds along the axis.
  void find_inner_folds() {
    std::vector<bool> inside(graph_.size(), false), known(graph_.size(), false);
    const auto enter = [&](NodeId fold) {
      known[fold.index] = true;
      if (graph_[fold].kind != NodeKind::Fold) return;
      const ops::Recipe &recipe = graph_.recipe(fold);
      if (!recipe.has_combine())
        refuse("'" + recipe.name + "' has no combine", spec_.where(fold),
               "say how the states of two blocks are joined: combine STATE = ..");
      for (const NodeId arg : graph_.args(fold)) inside[arg.index] = true;
    };
    for (const NodeId fold : folds_) enter(fold);
    for (const NodeId scan : scans_)
      for (const NodeId arg : graph_.args(scan)) inside[arg.index] = true;
    for (std::size_t n = graph_.size(); n-- > 0;) {
      if (!inside[n]) continue;
      const NodeId id{std::uint32_t(n)};
      const Node &node = graph_[id];
      check_like(id);
      if (is_scan(id)) add_scan(id);
      if (goes_along(id) && (node.kind == NodeKind::Fold || node.kind == NodeKind::Extent) &&
          !known[n]) {
        folds_.push_back(id);
        enter(id);
      }
      for (const NodeId arg : graph_.args(id)) inside[arg.index] = true;
    }
    // Wherever it stands: blocks also hold what an Extent counts, which was not looked into.
    for (std::uint32_t n = 0; n < graph_.size(); ++n)
      made_.takes_offset =
          made_.takes_offset || (graph_[{n}].kind == NodeKind::Index && has(graph_[{n}].axes));
    std::ranges::sort(folds_);
    std::ranges::sort(scans_);
    find_groups();
  }

  bool is_scan(NodeId id) const { return graph_[id].kind == NodeKind::Scan && goes_along(id); }

  void add_scan(NodeId scan) {
    if (std::ranges::count(scans_, scan) > 0) return;
    const ops::Recipe &recipe = graph_.recipe(scan);
    if (!recipe.has_combine())
      refuse("it scans by '" + recipe.name + "' along it, which has no combine", spec_.where(scan),
             "say how the states of two blocks are joined (combine STATE = ..), or scan by a "
             "kernel of its own, on all of the data");
    if (ops::is_scaled_number(recipe))
      refuse("it scans by '" + recipe.name +
                 "' along it, in an order that hangs on how long the axis is",
             spec_.where(scan), "scan by a kernel of its own, on all of the data");
    scans_.push_back(scan);
  }

  // The states of one scan go together, however many of them are read.
  void find_groups() {
    for (const NodeId scan : scans_) {
      const auto same = std::ranges::find_if(groups_, [&](const ScanGroup &group) {
        const Node &a = graph_[group.scan], &b = graph_[scan];
        return a.recipe == b.recipe && a.reverse == b.reverse && a.exclusive == b.exclusive &&
               std::ranges::equal(graph_.args(group.scan), graph_.args(scan));
      });
      group_of_[scan] = std::size_t(same - groups_.begin());
      if (same == groups_.end()) groups_.push_back({scan});
    }
  }

  // How many there are: a fold goes in the round after those of all folds and scans along the axis
  // that it is made of.
  int find_rounds() {
    std::vector<int> ready(graph_.size(), 0); // [node]: so many rounds must have been
    int rounds = 0;
    auto fold = folds_.begin();
    for (std::size_t n = 0; n < graph_.size(); ++n) {
      const NodeId id{std::uint32_t(n)};
      for (const NodeId arg : graph_.args(id)) ready[n] = std::max(ready[n], ready[arg.index]);
      const bool is_fold = fold != folds_.end() && fold->index == n;
      const auto group = group_of_.find(id);
      if (!is_fold && group == group_of_.end()) continue;
      if (is_fold) {
        round_of_.push_back(ready[n]);
        ++fold;
      } else {
        groups_[group->second].round = ready[n];
      }
      rounds = std::max(rounds, ++ready[n]);
    }
    return rounds;
  }

  // A spec of the given inputs, the states of the rounds so far, and windows; `now` is what nodes
  // of the kernel are in it.
  struct Part {
    spec::TypedSpec spec;
    std::vector<int> place; // [given input]: which input it is, or -1
    std::size_t offset = 0, first_known = 0, first_window = 0;
    std::vector<NodeId> now;
  };

  Part begin(const std::string &suffix, const std::vector<int> &place, bool takes_offset,
             bool takes_windows) const {
    Part part{empty_like(spec_, suffix), place, 0, 0, 0, std::vector<NodeId>(graph_.size())};
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
  std::size_t add_windows(spec::TypedSpec &spec) const {
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
  void copy(Part &part, const std::vector<bool> &wanted,
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

  std::vector<int> all_places() const {
    std::vector<int> place(given_);
    for (std::size_t i = 0; i < given_; ++i) place[i] = int(i);
    return place;
  }

  Part make_block(int number) {
    FoldRound &made = made_.rounds.back();
    Part part = begin(fmt::format("_block{}", number), all_places(), made_.takes_offset, true);
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
  Part make_leaf(int number) {
    FoldRound &made = made_.rounds.back();
    Part part = begin(fmt::format("_leaf{}", number), all_places(), made_.takes_offset, true);
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
  void know_states(int number, Part &block, Part &leaf) {
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
  void want(std::vector<bool> &wanted, NodeId root) const {
    wanted[root.index] = true;
    for (std::size_t n = root.index + 1; n-- > 0;)
      if (wanted[n] && !states_.contains({std::uint32_t(n)}))
        for (const NodeId arg : graph_.args({std::uint32_t(n)})) wanted[arg.index] = true;
  }

  void make_join() {
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
          what.recipe
              ? run_code(join.graph, graph_.recipe(*what.recipe).combine, both)
              : std::vector{operation(join.graph, what.sums ? ops::Op::Add : ops::Op::Maximum,
                                      DType::I64, both, {})};
      for (const NodeId state : joined) add_output(join, state, what.axes.list());
    }
  }

  void make_before(int number) {
    spec::TypedSpec &before = made_.rounds.back().before;
    before = empty_like(spec_, fmt::format("_before{}", number));
    for (const ScanGroup &group : groups_)
      if (group.round == number)
        add_before(before, graph_.recipe(group.scan), graph_[group.scan].axes - AxisSet::of(axis_),
                   axis_, graph_[group.scan].reverse);
  }

  spec::TypedSpec make_rest() {
    made_.place_in_rest.assign(given_, -1);
    int count = 0;
    for (std::size_t i = 0; i < given_; ++i)
      if (made_.maps || (made_.dims[i].empty() && reads_in_rest(std::uint32_t(i))))
        made_.place_in_rest[i] = count++;
    Part part = begin("_rest", made_.place_in_rest, made_.rest_takes_offset, made_.maps);
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

  bool reads_in_rest(std::uint32_t input) const {
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

  struct ScanGroup {
    NodeId scan;
    int round = 0;
    std::size_t first_known = 0; // of all states that are known: what comes before a block
  };
  struct Join {
    std::optional<expr::RecipeId> recipe; // none: of extents
    AxisSet axes;
    bool sums = false; // an extent that a block has a part of; others are the same in each
  };

  const spec::TypedSpec &spec_;
  const expr::Graph &graph_;
  const int axis_;
  const std::size_t given_; // inputs that a call is given; windows are behind them
  const std::string name_;
  std::vector<bool> rest_; // [node]: needed by outputs outside of the folds, and these themselves
  std::vector<NodeId> folds_; // along the axis, and extents
  std::vector<int> round_of_; // [fold]
  std::vector<NodeId> scans_; // along the axis, in `rest_` and in what is folded or scanned
  std::vector<ScanGroup> groups_;
  std::map<NodeId, std::size_t> group_of_; // of scans_
  std::map<NodeId, std::size_t>
      states_; // of folds_ in the rounds so far: which of all of their states
  std::map<NodeId, std::size_t> new_states_; // of a round, by its outputs
  std::size_t count_ = 0;                    // of all that is known
  std::vector<Join> joins_;                  // of a round, in the order of the outputs of its block
  FoldSplit made_;
};

} // namespace

spec::TypedSpec of_any_extent(spec::TypedSpec spec, int axis) {
  for (spec::TypedInput &input : spec.inputs) lift_extents(input, axis);
  return spec;
}

FoldSplit split_folds(const spec::TypedSpec &spec, const std::string &axis) {
  return Splitter(spec, find_axis(spec, axis)).run();
}

} // namespace broadloom::rewrite
