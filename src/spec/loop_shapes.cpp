// The extents of lets that read themselves (recurrence.hpp). What is not known is taken to be far
// too large, once by one number and once by
// another: extents that come out the same both times do not depend on it.
#include "spec/materialise.hpp"
#include "spec/start_of.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>

namespace broadloom::spec {
namespace {

// Extents of the members of a loop, as far as they are known.
class ShapeFinder {
public:
  ShapeFinder(LetKernels lets, std::size_t first, std::span<const Layout> inputs,
              std::vector<std::vector<std::int64_t>> &shapes, const Solve &solve)
      : lets_(lets), first_(first), inputs_(inputs), shapes_(shapes), solve_(solve),
        steps_(of(first).steps) {
    for (std::size_t k = first; k < end(); ++k) {
      std::vector<std::int64_t> &known =
          known_.emplace_back(lets_[k]->typed.outputs[0].axes.size(), unknown);
      std::vector<bool> &begun = begun_.emplace_back(known.size());
      if (!of(k).start) continue;
      const std::vector<std::int64_t> &start = shapes_[*of(k).start];
      for (std::size_t d = 0; d < start.size(); ++d) {
        known[of(k).start_dims[d]] = start[d];
        begun[of(k).start_dims[d]] = true;
      }
    }
  }

  void run() {
    for (std::size_t pass = 0; pass <= 2 * known_.size(); ++pass) {
      bool changed = false;
      for (std::size_t k = first_; k < end(); ++k)
        if (known_.size() > 1 || !is_known(k)) changed = look(k) || changed;
      if (!changed) break;
    }
    for (std::size_t k = first_; k < end(); ++k) {
      take_steps(k);
      if (!is_known(k))
        support::fail("E0031", "nothing gives let '" + name(k) + "' all its extents",
                      lets_[k]->typed.outputs[0].where,
                      "let an input that it reads have its axes, or begin it `from` an array");
      shapes_.push_back(known_[k - first_]);
    }
    for (std::size_t k = first_; k < end(); ++k) check(k);
  }

private:
  static constexpr std::int64_t unknown = -1;
  static constexpr std::array far{std::int64_t(1) << 40, std::int64_t(3) << 39};

  const Recurrence &of(std::size_t k) const { return *lets_[k]->recurrence; }
  std::size_t end() const { return first_ + of(first_).count; }
  const std::string &name(std::size_t k) const { return lets_[k]->typed.outputs[0].name; }
  bool is_known(std::size_t k) const {
    return std::ranges::count(known_[k - first_], unknown) == 0;
  }
  void take_steps(std::size_t k) {
    if (steps_ >= 0) known_[k - first_][of(k).dim] = steps_;
  }

  static Layout said(const TypedInput &input, std::span<const Layout> before) {
    Layout layout;
    layout.rank = int(input.said.size());
    for (std::size_t d = 0; d < input.said.size(); ++d) {
      const auto extent = start_of(input.said[d], 0, [&](std::uint32_t of, std::size_t dim) {
        return before[of].extents[dim];
      });
      // A call says what is wrong with one that is no extent.
      layout.extents[d] = std::int64_t(std::clamp<__int128>(extent, 0, std::int64_t(1) << 40));
    }
    return layout;
  }

  // What its kernel is given, where what is not known is as large as `most`.
  std::vector<Layout> given(std::size_t k, std::int64_t most) const {
    const TypedSpec &typed = lets_[k]->typed;
    std::vector<Layout> layouts;
    for (std::uint32_t i = 0; i < typed.given_inputs(); ++i) {
      if (!typed.inputs[i].said.empty()) { // behind what they are said by
        layouts.push_back(said(typed.inputs[i], layouts));
        continue;
      }
      if (!typed.inputs[i].materialised) {
        layouts.push_back(inputs_[i]);
        continue;
      }
      std::vector<std::int64_t> shape;
      const auto read = std::ranges::find(of(k).reads, i, &Recurrence::Read::input);
      if (read != of(k).reads.end()) {
        shape = known_[read->let - first_];
        for (std::int64_t &extent : shape)
          if (extent == unknown) extent = most;
        shape = shape_before(of(read->let), *read, shape);
      } else if (of(k).positions == i) {
        shape = {steps_ < 0 ? most : steps_};
      } else {
        const auto let = std::ranges::find_if(lets_, [&](const auto &one) {
          return one->typed.outputs[0].name == typed.inputs[i].name;
        });
        shape = shapes_[std::size_t(let - lets_.begin())];
      }
      Layout layout; // strides do not matter, and might be too large
      layout.rank = int(shape.size());
      std::ranges::copy(shape, layout.extents.begin());
      layouts.push_back(layout);
    }
    return layouts;
  }

  // Of its dims, and of the axis along which it goes.
  std::vector<std::int64_t> solved(std::size_t k, std::int64_t most) const {
    const TypedSpec &typed = lets_[k]->typed;
    const std::vector<Layout> layouts = given(k, most);
    std::vector<std::int64_t> extents = solve_(typed, layouts);
    for (const expr::Node &node : typed.graph.nodes()) { // dims without labels that are read
      const bool is_given = node.kind == expr::NodeKind::Input && node.payload < layouts.size();
      if (!is_given || typed.inputs[node.payload].labelled) continue;
      const std::vector<int> &axes = typed.inputs[node.payload].axis_of_dim;
      for (std::size_t d = 0; d < axes.size(); ++d)
        if (std::int64_t &extent = extents[std::size_t(axes[d])]; extent == 1)
          extent = layouts[node.payload].extents[d];
    }
    std::vector<std::int64_t> shape;
    for (const int axis : typed.outputs[0].axes) shape.push_back(extents[std::size_t(axis)]);
    shape.push_back(extents[std::size_t(of(k).axis)]);
    return shape;
  }

  // What does not depend on what is not known. Of several lets one may bound what another has: an
  // extent may turn out to be less.
  bool look(std::size_t k) {
    take_steps(k);
    std::vector<std::int64_t> &known = known_[k - first_];
    const std::vector<std::int64_t> one = solved(k, far[0]), other = solved(k, far[1]);
    bool changed = false;
    for (std::size_t d = 0; d < known.size(); ++d) {
      const bool is_said = begun_[k - first_][d] || (d == of(k).dim && of(k).steps >= 0);
      if (one[d] != other[d] || is_said || (known[d] != unknown && known[d] <= one[d])) continue;
      known[d] = one[d];
      if (d == of(k).dim) steps_ = one[d];
      changed = true;
    }
    return changed;
  }

  void check(std::size_t k) const {
    const TypedSpec &typed = lets_[k]->typed;
    const std::vector<std::int64_t> shape = solved(k, 0);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const bool of_time = d == of(k).dim || d + 1 == shape.size();
      const std::int64_t known = known_[k - first_][of_time ? of(k).dim : d];
      if (shape[d] == known) continue;
      const int at = d + 1 == shape.size() ? of(k).axis : typed.outputs[0].axes[d];
      const std::string axis = "axis '" + typed.axes[std::size_t(at)].name + "'";
      support::fail("E0102",
                    axis + " of let '" + name(k) + "' has " + support::count(known, "element") +
                        (of_time       ? " by its steps"
                         : of(k).start ? " by its start"
                                       : " by what it goes together with") +
                        ", and " + std::to_string(shape[d]) + " by what it reads",
                    typed.outputs[0].where,
                    of_time ? "count as many steps as there are, or leave the count out"
                            : "begin it from an array of its shape without its axis of steps");
    }
  }

  const LetKernels lets_;
  const std::size_t first_;
  std::span<const Layout> inputs_;
  std::vector<std::vector<std::int64_t>> &shapes_;
  const Solve &solve_;
  std::int64_t steps_;
  std::vector<std::vector<std::int64_t>> known_; // [member][dim]
  std::vector<std::vector<bool>> begun_;         // [member][dim]: by its start
};

} // namespace

void find_loop_shapes(LetKernels lets, std::size_t first, std::span<const Layout> inputs,
                      std::vector<std::vector<std::int64_t>> &shapes, const Solve &solve) {
  ShapeFinder(lets, first, inputs, shapes, solve).run();
}

std::vector<std::int64_t> shape_before(const Recurrence &of, const Recurrence::Read &read,
                                       const std::vector<std::int64_t> &shape) {
  std::vector<std::int64_t> before = shape;
  before[of.dim] += read.more;
  return before;
}

} // namespace broadloom::spec
