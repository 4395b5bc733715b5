// See repeat.hpp.
#include "plan/repeat.hpp"

#include "plan/thresholds.hpp"

#include <algorithm>
#include <set>

namespace broadloom::plan {
namespace {

using expr::NodeId;
using expr::NodeKind;

class Repeater {
public:
  Repeater(Request request, const Machine &machine)
      : request_(std::move(request)), machine_(machine) {
    const expr::Graph &graph = request_.spec.graph;
    const std::vector<bool> needed = needed_nodes(request_.spec, request_.wanted);
    for (std::uint32_t n = 0; n < graph.size(); ++n) {
      if (!needed[n]) continue;
      const expr::Node &node = graph[NodeId{n}];
      if (node.kind == NodeKind::Input) inputs_.insert(node.payload);
      plain_ = plain_ && node.kind != NodeKind::Fold && node.kind != NodeKind::Scan &&
               node.kind != NodeKind::Index;
    }
    for (std::size_t k = 0; k < request_.wanted.size(); ++k)
      if (request_.wanted[k]) outputs_.push_back(k);
  }

  Request run() {
    choose();
    return std::move(request_);
  }

private:
  void choose() {
    if (!plain_ || outputs_.empty() || !find_axes()) return;
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t input : inputs_) {
      const Steps &steps = request_.walks.inputs[input];
      if (lies_as_one(steps)) continue;
      const bool only_inner = steps.size() == 1 && steps[0].cls == inner_;
      if (!only_inner) return; // w and c would not be one axis all the same
      chosen.push_back(input);
    }
    if (chosen.empty() || extent(inner_) >= shortest_line) return;
    const double row = double(extent(outer_)) * double(extent(inner_));
    const std::int64_t rows = rows_of_a_block(chosen);
    // Beside what streams by, a part of the nearest cache is kept.
    if (is_worth_it(row, chosen, rows > 0 ? kept_part_of_nearest_cache : 1))
      for (std::uint32_t input : chosen) {
        request_.walks.repeated.push_back({input, {outer_, inner_}, request_.walks.inputs[input]});
        request_.walks.inputs[input] = {{outer_, extent(inner_)}, {inner_, 1}};
      }
    else if (rows > 0)
      repeat_in_blocks(rows, chosen);
  }

  std::int64_t extent(ClassId cls) const { return request_.resolved[cls].extent; }

  bool lies_as_one(const Steps &steps) const {
    return merges(outer_, inner_, request_.resolved, {&steps});
  }

  // The two innermost axes, which every output has side by side.
  bool find_axes() {
    std::vector<ClassId> classes;
    for (std::uint32_t c = 0; c < request_.resolved.classes.size(); ++c)
      classes.push_back(ClassId{c});
    std::vector<const Steps *> operands;
    for (std::uint32_t input : inputs_) operands.push_back(&request_.walks.inputs[input]);
    for (std::size_t output : outputs_) operands.push_back(&request_.walks.outputs[output]);
    order_ = sort_by_stride(classes, operands);
    inner_ = order_.back();
    outer_ = order_[order_.size() - 2];
    return std::all_of(outputs_.begin(), outputs_.end(), [&](std::size_t output) {
      const Steps &steps = request_.walks.outputs[output];
      return stride_along(steps, inner_) == 1 && lies_as_one(steps) &&
             steps.size() == request_.resolved.classes.size();
    });
  }

  bool fits_cache(double row, const std::vector<std::uint32_t> &chosen, double part) const {
    double bytes = 0;
    for (std::uint32_t input : chosen)
      bytes += row * double(size_of(request_.spec.inputs[input].dtype));
    return row >= double(shortest_line) && bytes <= double(machine_.nearest_cache) * part;
  }

  bool is_worth_it(double row, const std::vector<std::uint32_t> &chosen, double part) const {
    double reads = 1;
    for (ClassId c : order_)
      if (c != outer_ && c != inner_) reads *= double(extent(c));
    return fits_cache(row, chosen, part) && reads >= fewest_reads;
  }

  // A power of two, so that blocks begin where vectors do; 0: blocks are not worth it.
  std::int64_t rows_of_a_block(const std::vector<std::uint32_t> &chosen) const {
    double all = 1; // rows
    for (std::size_t k = 0; k + 1 < order_.size(); ++k) {
      all *= double(extent(order_[k]));
      const auto as_one = [&](const Steps &steps) {
        return merges(order_[k], order_[k + 1], request_.resolved, {&steps});
      };
      for (std::uint32_t input : inputs_)
        if (std::count(chosen.begin(), chosen.end(), input) == 0 &&
            !as_one(request_.walks.inputs[input]))
          return 0;
      for (std::size_t output : outputs_)
        if (!as_one(request_.walks.outputs[output])) return 0;
    }
    for (std::int64_t rows = most_repeated_rows; rows > 0; rows /= 2)
      if (double(rows * fewest_repeated_blocks) <= all &&
          fits_cache(double(rows) * double(extent(inner_)), chosen, kept_part_of_nearest_cache))
        return rows;
    return 0;
  }

  void repeat_in_blocks(std::int64_t rows, const std::vector<std::uint32_t> &chosen) {
    const ClassId block{std::uint32_t(request_.resolved.classes.size())};
    request_.resolved.classes.push_back({"block", rows, std::nullopt});
    for (std::uint32_t input : chosen) {
      request_.walks.repeated.push_back(
          {input, {block, inner_}, request_.walks.inputs[input], order_, rows * extent(inner_)});
      Steps all;
      std::int64_t stride = 1;
      for (std::size_t k = order_.size(); k-- > 0;) {
        all.insert(all.begin(), {order_[k], stride});
        stride *= extent(order_[k]);
      }
      request_.walks.inputs[input] = all;
    }
  }

  Request request_;
  const Machine &machine_;
  std::set<std::uint32_t> inputs_;
  std::vector<std::size_t> outputs_;
  bool plain_ = true;
  std::vector<ClassId> order_; // all classes
  ClassId outer_, inner_;
};

} // namespace

Request repeat_short_operands(Request request, const Machine &machine) {
  // Axes that the schedule names stay axes of their own.
  if (request.resolved.classes.size() < 2 || request.spec.wishes.names_axes()) return request;
  return Repeater(std::move(request), machine).run();
}

} // namespace broadloom::plan
