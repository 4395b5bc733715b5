// See split_folds.hpp.
#include "rewrite/split_folds.hpp"

#include "support/check.hpp"
#include "support/fail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace broadloom::spec {
namespace {

using expr::AxisSet;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;

std::vector<int> list_of(AxisSet axes) {
  std::vector<int> list;
  for (int axis = 0; axis < expr::max_axes; ++axis)
    if (axes.has(axis)) list.push_back(axis);
  return list;
}

// A spec with the axes and settings of another, without anything in it.
TypedSpec empty_like(const TypedSpec &spec, const std::string &suffix) {
  TypedSpec made;
  made.name = spec.name + suffix;
  made.source = spec.source;
  made.order = spec.order;
  made.axes = spec.axes;
  made.accuracy = spec.accuracy;
  made.relaxed = spec.relaxed;
  return made;
}

TypedInput array_input(std::string name, DType dtype, AxisSet axes) {
  TypedInput input;
  input.name = std::move(name);
  input.dtype = dtype;
  input.axis_of_dim = list_of(axes);
  input.extents.assign(input.axis_of_dim.size(), -1);
  input.may_stretch.assign(input.axis_of_dim.size(), true); // as it may be 1 by like=
  return input;
}

void add_output(TypedSpec &spec, NodeId value, AxisSet axes) {
  TypedOutput output;
  output.name = fmt::format("state{}", spec.outputs.size());
  output.dtype = spec.graph[value].dtype;
  output.axes = list_of(axes);
  output.value = output.addend = value;
  spec.outputs.push_back(std::move(output));
  spec.wishes.stores.resize(spec.outputs.size());
}

NodeId read_input(TypedSpec &spec, std::size_t input, const Place &where) {
  Node node;
  node.kind = NodeKind::Input;
  node.dtype = spec.inputs[input].dtype;
  node.axes = spec.inputs[input].axes();
  node.payload = std::uint32_t(input);
  return spec.graph.add(node, {}, where);
}

NodeId operation(expr::Graph &graph, ops::Op op, DType dtype, const std::vector<NodeId> &args,
                 const Place &where) {
  Node node;
  node.kind = NodeKind::Op;
  node.op = op;
  node.dtype = dtype;
  for (const NodeId arg : args) node.axes = node.axes | graph[arg].axes;
  return graph.add(node, args, where);
}

// The nodes of straight-line code over these values.
std::vector<NodeId> run_code(expr::Graph &graph, const ops::Code &code,
                             std::vector<NodeId> values) {
  using Line = ops::Code::Line;
  return ops::write_out(
      code, std::move(values),
      [&](const Line &line) {
        Node node;
        node.dtype = line.dtype;
        node.literal = line.literal;
        return graph.add(node, {}, {});
      },
      [&](const Line &line, NodeId arg) {
        Node node;
        node.kind = NodeKind::Cast;
        node.dtype = line.dtype;
        node.axes = graph[arg].axes;
        return line.dtype == graph[arg].dtype ? arg : graph.add(node, std::span(&arg, 1), {});
      },
      [&](const Line &line, const std::vector<NodeId> &args) {
        return operation(graph, line.op, ops::compute_dtype(line.dtype), args, {});
      });
}

class Splitter {
public:
  Splitter(const TypedSpec &spec, int axis)
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
      make_block(round);
      make_join();
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
  // Declared as 1: the same element for all positions of the axis.
  static bool is_repeated(const TypedInput &input, std::size_t dim) {
    return input.extents[dim] == 1 && input.may_stretch[dim];
  }
  bool any_arg_has(NodeId id) const {
    return std::ranges::any_of(graph_.args(id), [&](NodeId arg) { return has(graph_[arg].axes); });
  }
  bool goes_along(NodeId id) const { return graph_[id].folded.has(axis_) && any_arg_has(id); }

  void check_kernel() {
    if (spec_.callers_inputs() != given_)
      refuse("it has lets that are arrays or says extents", {},
             "compute these by a kernel of its own, on all of the data, and give them as inputs");
    for (std::size_t i = given_; i < spec_.inputs.size(); ++i) {
      const TypedInput &input = spec_.inputs[i];
      if (!input.window || input.window->derived || input.window->sum ||
          !reads_in_place(spec_, input, axis_))
        refuse("it reads at positions along it", input.where,
               "compute what needs neighbours by a kernel of its own, on all of the data");
    }
    for (const TypedOutput &output : spec_.outputs) {
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
    for (const TypedOutput &output : spec_.outputs) rest_[output.value.index] = true;
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
      if (node.kind == NodeKind::Scan && goes_along(id))
        refuse("it scans by '" + graph_.recipe(id).name + "' along it", spec_.where(id),
               "scan by a kernel of its own, on all of the data");
      if (node.kind == NodeKind::Index && has(node.axes))
        refuse("it numbers its positions after the folds", spec_.where(id),
               "give the numbers as an input that has the axis");
      if (node.kind == NodeKind::Input && node.payload >= given_ && !made_.maps)
        refuse("what comes after the folds reads at positions", spec_.where(id),
               "read there by a second kernel, which takes what was folded");
      if ((node.kind == NodeKind::Expand || node.kind == NodeKind::Index) && any_arg_has(id) &&
          !made_.maps)
        refuse("a value is repeated or counted by the extents of an input that has it",
               spec_.where(id), "let another input have the other axes of that input");
      for (const NodeId arg : graph_.args(id)) rest_[arg.index] = true;
    }
    if (folds_.empty())
      refuse("nothing is folded along it", {}, "fold along it, or call the kernel as it is");
    std::ranges::reverse(folds_);
    for (std::size_t n = 0; n < graph_.size(); ++n) {
      const NodeId id{std::uint32_t(n)};
      if (!rest_[n]) continue;
      of_folds[n] = is_fold[n] && graph_[id].kind == NodeKind::Fold;
      if (is_fold[n]) continue;
      for (const NodeId arg : graph_.operands(id)) of_folds[n] = of_folds[n] || of_folds[arg.index];
      const NodeKind kind = graph_[id].kind;
      if (of_folds[n] &&
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
    for (std::size_t n = graph_.size(); n-- > 0;) {
      if (!inside[n]) continue;
      const NodeId id{std::uint32_t(n)};
      const Node &node = graph_[id];
      check_like(id);
      const bool goes = goes_along(id);
      if (goes && node.kind == NodeKind::Scan)
        refuse("what is folded needs the scan by '" + graph_.recipe(id).name + "' along all of it",
               spec_.where(id), "scan by a kernel of its own, and fold what it gives");
      if (goes && (node.kind == NodeKind::Fold || node.kind == NodeKind::Extent) && !known[n]) {
        folds_.push_back(id);
        enter(id);
      }
      made_.takes_offset = made_.takes_offset || (node.kind == NodeKind::Index && has(node.axes));
      for (const NodeId arg : graph_.args(id)) inside[arg.index] = true;
    }
    std::ranges::sort(folds_);
  }

  // How many there are: a fold goes in the round after those of all folds along the axis that it is made of.
  int find_rounds() {
    std::vector<int> ready(graph_.size(), 0); // [node]: so many rounds must have been
    int rounds = 0;
    auto fold = folds_.begin();
    for (std::size_t n = 0; n < graph_.size(); ++n) {
      for (const NodeId arg : graph_.args({std::uint32_t(n)}))
        ready[n] = std::max(ready[n], ready[arg.index]);
      if (fold == folds_.end() || fold->index != n) continue;
      round_of_.push_back(ready[n]);
      rounds = std::max(rounds, ++ready[n]);
      ++fold;
    }
    return rounds;
  }

  void add_states(TypedSpec &spec) const {
    for (const FoldRound &round : made_.rounds)
      for (const TypedOutput &state : round.block.outputs)
        spec.inputs.push_back(array_input(fmt::format("known{}", spec.inputs.size()), state.dtype,
                                          round.block.graph[state.value].axes));
  }

  // Where they begin.
  std::size_t add_windows(TypedSpec &spec) const {
    const std::size_t first = spec.inputs.size();
    for (std::size_t i = given_; i < spec_.inputs.size(); ++i) {
      TypedInput &window = spec.inputs.emplace_back(spec_.inputs[i]);
      for (std::size_t d = 0; d < window.axis_of_dim.size(); ++d)
        if (window.axis_of_dim[d] == axis_) window.extents[d] = -1;
      for (TypedWindow::Form &form : window.window->forms)
        for (TypedWindow::Index &index :
             form.indices) // which may be a window, as k[n] of table[k[n]]
          if (index.input >= given_) index.input += std::uint32_t(first - given_);
    }
    return first;
  }

  void make_block(int number) {
    FoldRound &made = made_.rounds.back();
    TypedSpec block = empty_like(spec_, fmt::format("_block{}", number));
    block.inputs.assign(spec_.given().begin(), spec_.given().end());
    for (std::size_t i = 0; i < given_; ++i)
      for (const int d : made_.dims[i]) block.inputs[i].extents[std::size_t(d)] = -1;
    block.graph = expr::Graph::with_recipes_of(graph_);
    const std::size_t offset = block.inputs.size();
    if (made_.takes_offset) block.inputs.push_back(array_input("offset", DType::I64, {}));
    const std::size_t first_known = block.inputs.size();
    add_states(block);
    const std::size_t first_window = add_windows(block);
    std::vector<NodeId> folds;
    for (std::size_t f = 0; f < folds_.size(); ++f)
      if (round_of_[f] == number) folds.push_back(folds_[f]);
    std::vector<NodeId> now(graph_.size());
    std::vector<bool> wanted(graph_.size(), false);
    for (const NodeId fold : folds)
      for (const NodeId arg : graph_.args(fold)) want(wanted, arg);
    for (std::size_t n = 0; n < graph_.size(); ++n) {
      if (!wanted[n]) continue;
      const NodeId id{std::uint32_t(n)};
      if (const auto state = states_.find(id); state != states_.end()) {
        now[n] = read_input(block, first_known + state->second, graph_.where(id));
        continue;
      }
      now[n] = copy(block.graph, id, now, first_window);
      if (graph_[id].kind == NodeKind::Fold || graph_[id].kind == NodeKind::Scan)
        made.same.emplace_back(id, now[n]);
      if (graph_[id].kind == NodeKind::Index && has(graph_[id].axes)) {
        const NodeId begin = read_input(block, offset, {});
        now[n] = operation(block.graph, ops::Op::Add, DType::I64, {now[n], begin}, {});
      }
    }
    std::map<NodeId, std::size_t> states;
    for (const NodeId fold : folds) {
      Node node = graph_[fold];
      std::vector<NodeId> args;
      for (const NodeId arg : graph_.args(fold)) args.push_back(now[arg.index]);
      if (node.kind == NodeKind::Extent) {
        states[fold] = block.outputs.size();
        const NodeId extent = block.graph.add(node, args, graph_.where(fold));
        if (node.folded.has(axis_)) made.extents.push_back(extent);
        add_output(block, extent, node.axes);
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
        for (const NodeId state : all) add_output(block, state, node.axes);
        joins_.push_back({graph_[fold].recipe, node.axes, true});
      } else {
        first = made.first_states[std::size_t(known - made.folds.begin())];
      }
      states[fold] = first + graph_[fold].payload;
    }
    for (const auto &[fold, output] : states) states_[fold] = count_ + output;
    count_ += block.outputs.size();
    made.block = std::move(block);
  }

  // All that it is made of, down to states that are known.
  void want(std::vector<bool> &wanted, NodeId root) const {
    wanted[root.index] = true;
    for (std::size_t n = root.index + 1; n-- > 0;)
      if (wanted[n] && !states_.contains({std::uint32_t(n)}))
        for (const NodeId arg : graph_.args({std::uint32_t(n)})) wanted[arg.index] = true;
  }

  NodeId copy(expr::Graph &graph, NodeId id, const std::vector<NodeId> &now,
              std::size_t first_window) const {
    std::vector<NodeId> args;
    for (const NodeId arg : graph_.args(id)) args.push_back(now[arg.index]);
    Node node = graph_[id];
    if (node.kind == NodeKind::Input && node.payload >= given_)
      node.payload += std::uint32_t(first_window - given_);
    return graph.add(node, args, graph_.where(id));
  }

  void make_join() {
    TypedSpec &join = made_.rounds.back().join;
    join = empty_like(spec_, fmt::format("_join{}", made_.rounds.size() - 1));
    const auto states_of = [&](const Join &what) {
      return what.recipe ? graph_.recipe(*what.recipe).states : std::vector{DType::I64};
    };
    for (const Join &what : joins_) {
      std::vector<NodeId> both;
      for (const char *side : {"a", "b"})
        for (const DType dtype : states_of(what)) {
          join.inputs.push_back(
              array_input(fmt::format("{}{}", side, join.inputs.size()), dtype, what.axes));
          both.push_back(read_input(join, join.inputs.size() - 1, {}));
        }
      const std::vector<NodeId> joined =
          what.recipe
              ? run_code(join.graph, graph_.recipe(*what.recipe).combine, both)
              : std::vector{operation(join.graph, what.sums ? ops::Op::Add : ops::Op::Maximum,
                                      DType::I64, both, {})};
      for (const NodeId state : joined) add_output(join, state, what.axes);
    }
  }

  TypedSpec make_rest() {
    TypedSpec rest = empty_like(spec_, "_rest");
    rest.graph = expr::Graph::with_recipes_of(graph_);
    made_.place_in_rest.assign(given_, -1);
    for (std::size_t i = 0; i < given_; ++i) {
      if (!made_.maps && (!made_.dims[i].empty() || !reads_in_rest(std::uint32_t(i)))) continue;
      made_.place_in_rest[i] = int(rest.inputs.size());
      rest.inputs.push_back(spec_.inputs[i]);
      for (const int d : made_.dims[i]) rest.inputs.back().extents[std::size_t(d)] = -1;
    }
    const std::size_t first_state = rest.inputs.size();
    add_states(rest);
    const std::size_t first_window = made_.maps ? add_windows(rest) : 0;
    std::vector<NodeId> now(graph_.size());
    for (std::size_t n = 0; n < graph_.size(); ++n) {
      if (!rest_[n]) continue;
      const NodeId id{std::uint32_t(n)};
      if (const auto state = states_.find(id); state != states_.end()) {
        now[n] = read_input(rest, first_state + state->second, graph_.where(id));
        continue;
      }
      Node node = graph_[id];
      const auto moved = [&](std::uint32_t input) {
        return input < given_ ? std::uint32_t(made_.place_in_rest[input])
                              : std::uint32_t(first_window + input - given_);
      };
      if (node.kind == NodeKind::Input) node.payload = moved(node.payload);
      std::vector<std::uint32_t> like;
      for (const std::uint32_t input : graph_.like(node)) like.push_back(moved(input));
      node.like = rest.graph.add_like(std::move(like));
      std::vector<NodeId> args;
      for (const NodeId arg : graph_.args(id)) args.push_back(now[arg.index]);
      now[n] = rest.graph.add(node, args, graph_.where(id));
      if (made_.maps && (node.kind == NodeKind::Fold || node.kind == NodeKind::Scan))
        made_.same_in_rest.emplace_back(id, now[n]);
    }
    rest.outputs = spec_.outputs;
    for (TypedOutput &output : rest.outputs) {
      output.value = output.addend = now[output.value.index];
      for (std::uint32_t &like : output.like) like = std::uint32_t(made_.place_in_rest[like]);
    }
    rest.wishes.stores.resize(rest.outputs.size());
    return rest;
  }

  bool reads_in_rest(std::uint32_t input) const {
    for (const TypedOutput &output : spec_.outputs)
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

  struct Join {
    std::optional<expr::RecipeId> recipe; // none: of extents
    AxisSet axes;
    bool sums = false; // an extent that a block has a part of; others are the same in each
  };

  const TypedSpec &spec_;
  const expr::Graph &graph_;
  const int axis_;
  const std::size_t given_; // inputs that a call is given; windows are behind them
  const std::string name_;
  std::vector<bool> rest_; // [node]: needed by outputs outside of the folds, and these themselves
  std::vector<NodeId> folds_; // along the axis, and extents
  std::vector<int> round_of_; // [fold]
  std::map<NodeId, std::size_t>
      states_;              // of folds_ in the rounds so far: which of all of their states
  std::size_t count_ = 0;   // of these
  std::vector<Join> joins_; // of a round, in the order of the outputs of its block
  FoldSplit made_;
};

} // namespace

FoldSplit split_folds(const TypedSpec &spec, const std::string &axis) {
  return Splitter(spec, find_axis(spec, axis)).run();
}

} // namespace broadloom::spec
