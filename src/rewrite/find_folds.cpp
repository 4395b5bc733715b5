// See fold_splitter.hpp.
#include "rewrite/fold_splitter.hpp"

#include "rewrite/split_parts.hpp"
#include "support/fail.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::rewrite {

void FoldSplitter::refuse(const std::string &why, const Place &where, const std::string &help) {
  support::fail("E0060",
                fmt::format("kernel '{}' does not come apart along {}: {}", spec_.name, name_, why),
                where, help);
}

void FoldSplitter::check_kernel() {
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

void FoldSplitter::check_like(NodeId id) {
  for (const std::uint32_t like : graph_.like(graph_[id]))
    if (like >= given_)
      refuse("it adds up through positions", spec_.where(id),
             "add up by a kernel of its own, on all of the data");
    else if (input_has(like))
      refuse("like=" + spec_.inputs[like].name + " has it", spec_.where(id),
             "give the array the shape of another input");
}

// What outputs need, down to the folds along the axis and what counts it.
void FoldSplitter::find_folds() {
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
void FoldSplitter::find_inner_folds() {
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

void FoldSplitter::add_scan(NodeId scan) {
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
void FoldSplitter::find_groups() {
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
int FoldSplitter::find_rounds() {
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

} // namespace broadloom::rewrite
