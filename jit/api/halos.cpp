// How far around a block its inputs are read, through lets, joins and loops over time: see
// include/broadloom/block_kernel.hpp.
//
//   let u[t < 10, i] = pad(u, 1: (1, 1))[t - 1, i] + pad(u, 1: (1, 1))[t - 1, i + 2] from u0
//   out y[i] = u[-1, i]                                y at i reads u0 from i - 10 to i + 10
//
// Each array is cut along one dim, and has a *reach*: from how many positions before the block to
// how many behind it. The kernel that reads the arrays widens their reaches by its own, which is
// looked at once, as *steps* from its output to what it reads. Those of a loop widen each other as
// often as the loop has steps.
#include "jit/api/public_call.hpp"
#include "jit/call/kernel.hpp"
#include "kernel/affine.hpp"
#include "kernel/layouts.hpp"
#include "kernel/viewer.hpp"
#include "kernel/windows.hpp"
#include "plan/fold_borders.hpp"
#include "rewrite/split_folds.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"

#include <broadloom/block_kernel.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace broadloom {

using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using jit::Lets;
using kernel::pointers_to;
using support::fail;

struct Halos::Impl {
  std::shared_ptr<const KernelImpl> kernel;
};

namespace {

// The operands of a call and of its lets, without memory.
struct Call {
  Call(const KernelImpl &kernel, std::span<const Layout> inputs)
      : kernel(kernel), lets(kernel.nests().lets) {
    const spec::TypedSpec &typed = kernel.setup().whole();
    kernel::check_input_count(typed, inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i)
      given.push_back({typed.inputs[i].dtype, nullptr, false, inputs[i]});
    kernel::check_operands(typed, pointers_to(given));
    if (lets.empty()) return;
    layouts = lets.layouts(pointers_to(given));
    views = lets.views(*layouts, nullptr);
  }

  std::size_t nests() const { return lets.specs().size() + 1; }
  bool is_join(std::size_t k) const { return k < lets.specs().size() && lets.specs()[k]->join; }
  const jit::Setup &setup_of(std::size_t k) const { return kernel.nests().of(k).setup(); }
  // What nest k is given, by the numbers of its inputs.
  std::vector<Layout> inputs_of(std::size_t k) const {
    const spec::TypedSpec &typed = setup_of(k).whole();
    const std::vector<const AnyView *> inputs = pointers_to(given);
    const std::vector<const AnyView *> operands = k < lets.specs().size()
                                                      ? lets.operands(k, inputs, views)
                                                      : lets.operands_of_rest(inputs, views, {});
    std::vector<Layout> layouts = kernel::layouts_of(kernel::LentOperands(typed, operands).all());
    layouts.resize(typed.given_inputs()); // without its output
    for (std::size_t i = 0; i < layouts.size(); ++i)
      kernel::take_one_position(typed, i, layouts[i]);
    return layouts;
  }

  const KernelImpl &kernel;
  const Lets &lets;
  std::vector<AnyView> given, views;
  std::shared_ptr<const Lets::Layouts> layouts;
};

struct Reach {
  int dim = -1; // along which it is cut; -1: it is not
  std::int64_t low = 0, high = 0;
  bool whole = false; // something reads all of it
};

// A read by a kernel at a position of its axis.
struct Step {
  std::size_t array = 0;
  int dim = -1; // -1: it reads all
  std::int64_t low = 0, high = 0;
};

class Finder {
public:
  Finder(const KernelImpl &kernel, std::string_view axis, std::span<const Layout> inputs)
      : call_(kernel, inputs), axis_(axis), lets_(call_.lets), count_(inputs.size()),
        reaches_(count_ + lets_.specs().size()) {}

  std::vector<Reach> run() {
    const spec::TypedSpec &rest = call_.kernel.setup().whole();
    const int axis = rewrite::find_axis(rest, std::string(axis_));
    for (const spec::TypedOutput &output : rest.outputs)
      if (std::ranges::count(output.axes, axis) == 0)
        refuse(fmt::format("output '{}' does not have it", output.name));
    for (const Step &step : steps_of(lets_.specs().size(), axis)) widen(step, {});
    for (std::size_t k = lets_.specs().size(); k-- > 0;) {
      const auto &loop = lets_.specs()[k]->recurrence;
      loop ? go_through_loop(*loop, k) : go_through_let(k);
      if (loop) k = loop->first;
    }
    for (std::size_t a = 0; a < reaches_.size(); ++a)
      if (reaches_[a].dim >= 0 && reaches_[a].whole)
        refuse(fmt::format("all of '{}' is read at once", name_of(a)));
    for (std::size_t a = 0; a < count_; ++a)
      if (reaches_[a].dim >= 0 && rest.inputs[a].extents[std::size_t(reaches_[a].dim)] >= 0)
        refuse(fmt::format("'{}' says how long it is", name_of(a)));
    // A let ends where the parts do: these are as long as what is needed of any array.
    std::int64_t low = 0, high = 0;
    for (const Reach &reach : reaches_)
      if (reach.dim >= 0) low = std::min(low, reach.low), high = std::max(high, reach.high);
    reaches_.resize(count_);
    for (Reach &reach : reaches_) reach.low = low, reach.high = high;
    return std::move(reaches_);
  }

private:
  [[noreturn]] void refuse(const std::string &why) const {
    fail("E0060",
         fmt::format("kernel '{}' does not go block by block along '{}': {}",
                     call_.kernel.typed().name, axis_, why),
         {}, "cut along another axis, or rechunk it to one chunk");
  }

  const std::string &name_of(std::size_t array) const {
    return array < count_ ? call_.kernel.setup().whole().inputs[array].name
                          : lets_.specs()[array - count_]->typed.outputs[0].name;
  }
  std::int64_t extent_of(std::size_t array, int dim) const {
    return array < count_ ? call_.given[array].layout.extents[std::size_t(dim)]
                          : call_.layouts->lets[array - count_].extents[std::size_t(dim)];
  }

  // Which array an input of kernel k is; none: numbers of steps.
  std::optional<std::size_t> array_of(std::size_t k, std::size_t input) const {
    const spec::TypedInput &read = call_.setup_of(k).whole().inputs[input];
    if (!read.materialised) return input < count_ ? std::optional(input) : std::nullopt;
    const auto &specs = lets_.specs();
    if (k < specs.size() && specs[k]->recurrence)
      for (const spec::Recurrence::Read &before : specs[k]->recurrence->reads)
        if (before.input == input) return count_ + before.let;
    for (std::size_t let = 0; let < specs.size(); ++let)
      if (specs[let]->typed.outputs[0].name == read.name) return count_ + let;
    return std::nullopt;
  }

  // What kernel k reads for a position of the axis; -1: for all it computes.
  std::vector<Step> steps_of(std::size_t k, int axis) const {
    const spec::TypedSpec &typed = call_.setup_of(k).whole();
    const std::vector<Layout> given = call_.inputs_of(k);
    kernel::Viewer viewer(typed, given);
    kernel::Box box(typed.axes.size(), {0, -1, 1});
    if (axis >= 0) {
      check(typed, axis);
      for (std::size_t i = 0; i < given.size(); ++i)
        if (viewer.is_read(i) || !typed.inputs[i].said.empty())
          check_extents(typed.inputs[i], axis);
      box[std::size_t(axis)] = {0, 1, 1};
    }
    std::vector<Step> steps;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const auto array = array_of(k, i);
      if (!array || !viewer.is_read(i) || typed.inputs[i].in_windows_only) continue;
      const auto dim = std::ranges::find(typed.inputs[i].axis_of_dim, axis);
      const bool has = dim != typed.inputs[i].axis_of_dim.end();
      steps.push_back({*array, has ? int(dim - typed.inputs[i].axis_of_dim.begin()) : -1, 0, 0});
    }
    for (std::size_t w = given.size(); w < typed.inputs.size(); ++w) {
      const spec::TypedWindow &window = *typed.inputs[w].window;
      const auto array = array_of(k, window.of);
      if (!array || !viewer.is_read(w)) continue;
      Step step{*array, -1, 0, 0};
      const auto positions = viewer.positions(w, &box);
      for (std::size_t d = 0; d < window.forms.size(); ++d) {
        const auto walks = [&](const auto &term) { return term.axis == axis; };
        if (std::ranges::none_of(window.forms[d].terms, walks)) continue;
        check(typed.inputs[w], d, axis);
        if (step.dim >= 0) refuse(fmt::format("{} moves along two dims", typed.inputs[w].name));
        const spec::TypedWindow::Pad *pad = window.pad_of(int(d));
        const std::int64_t before = pad == nullptr ? 0 : pad->before;
        step = {*array, int(d), positions[d].first - before, positions[d].last - before};
        const std::int64_t low = step.low, high = step.high;
        if (pad != nullptr && pad->mode == PadMode::Edge) // what is at the end stands behind it
          step.low = std::min<std::int64_t>(low, 0), step.high = std::max<std::int64_t>(high, 0);
        if (pad != nullptr && pad->mode == PadMode::Reflect)
          step.low = std::min(low, -high), step.high = std::max(high, -low);
      }
      steps.push_back(step);
    }
    return steps;
  }

  void check_extents(const spec::TypedInput &input, int axis) const {
    for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d)
      if (input.axis_of_dim[d] == axis && input.extents[d] >= 0)
        refuse(fmt::format("'{}' says how long it is", input.name));
  }

  // It must move with the axis, position by position.
  void check(const spec::TypedInput &read, std::size_t dim, int axis) const {
    const spec::TypedWindow::Form &form = read.window->forms[dim];
    const bool moves = std::ranges::any_of(
        form.terms, [&](const auto &term) { return term.axis == axis && term.times == 1; });
    const spec::TypedWindow::Pad *pad = read.window->pad_of(int(dim));
    if (!moves || form.from_end || form.divisor != 1 || !form.counts.empty() ||
        !form.indices.empty() || read.window->sum)
      refuse(fmt::format("{} does not move position by position along it", read.name));
    if (pad != nullptr && pad->mode == PadMode::Wrap)
      refuse(fmt::format("{} wraps around along it", read.name));
  }

  void check(const spec::TypedSpec &typed, int axis) const {
    for (std::uint32_t n = 0; n < typed.graph.size(); ++n) {
      const Node &node = typed.graph[NodeId{n}];
      const bool folds = node.kind == NodeKind::Fold || node.kind == NodeKind::Scan;
      if (folds && node.folded.has(axis))
        refuse(fmt::format("it {} by '{}' along it",
                           node.kind == NodeKind::Fold ? "folds" : "scans",
                           typed.graph.recipe(NodeId{n}).name));
      if (folds && node.like.given()) refuse("it sums what has the shape of an input (like=)");
      if (node.kind == NodeKind::Index && node.axes.has(axis)) refuse("it numbers its positions");
      if (node.kind == NodeKind::Extent && node.folded.has(axis)) refuse("it counts its positions");
    }
  }

  // Whether that is news.
  bool widen(const Step &step, const Reach &by) {
    Reach &reach = reaches_[step.array];
    if (step.dim < 0) return !std::exchange(reach.whole, true);
    if (reach.dim >= 0 && reach.dim != step.dim)
      refuse(fmt::format("'{}' is read along two dims", name_of(step.array)));
    const std::int64_t extent = extent_of(step.array, step.dim);
    const Reach before = reach;
    const std::int64_t low = std::max(by.low + step.low, -extent),
                       high = std::min(by.high + step.high, extent);
    reach.low = reach.dim < 0 ? low : std::min(reach.low, low);
    reach.high = reach.dim < 0 ? high : std::max(reach.high, high);
    reach.dim = step.dim;
    return before.dim != reach.dim || before.low != reach.low || before.high != reach.high;
  }

  bool is_needed(std::size_t k) const {
    return reaches_[count_ + k].dim >= 0 || reaches_[count_ + k].whole;
  }
  std::vector<Step> steps_of_let(std::size_t k) const {
    const Reach &reach = reaches_[count_ + k];
    const std::vector<int> &axes = lets_.specs()[k]->typed.outputs[0].axes;
    return steps_of(k, reach.dim < 0 ? -1 : axes[std::size_t(reach.dim)]);
  }

  void go_through_let(std::size_t k) {
    if (!is_needed(k)) return;
    const Reach reach = reaches_[count_ + k];
    if (lets_.specs()[k]->join) return go_through_join(k, reach);
    for (const Step &step : steps_of_let(k)) widen(step, reach);
  }

  void go_through_join(std::size_t k, const Reach &reach) {
    std::vector<Layout> parts;
    for (const std::size_t part : lets_.reads(k)) parts.push_back(call_.layouts->lets[part]);
    const kernel::Whole whole =
        kernel::whole_of(*lets_.specs()[k], parts, [&](std::uint32_t array, std::size_t dim) {
          return extent_of(array, int(dim));
        });
    for (std::size_t p = 0; p < parts.size(); ++p) {
      Step step{count_ + lets_.reads(k)[p], -1, 0, 0};
      if (reach.dim >= 0) {
        const kernel::PartDim &at = whole.places[p][std::size_t(reach.dim)];
        if (at.first != 0 || at.times != 1 || at.own < 0 ||
            parts[p].extents[std::size_t(at.own)] != whole.layout.extents[std::size_t(reach.dim)])
          refuse(fmt::format("'{}' joins arrays along it", name_of(count_ + k)));
        step.dim = at.own;
      }
      widen(step, reach);
    }
  }

  // The last of the lets that go step by step together.
  void go_through_loop(const spec::Recurrence &loop, std::size_t last) {
    const auto is_member = [&](std::size_t array) {
      return array >= count_ + loop.first && array <= count_ + last;
    };
    std::vector<std::vector<Step>> steps(loop.count);
    std::vector<int> looked_at(loop.count, -2); // with the dim cut that far
    const std::int64_t turns =
        call_.layouts->lets[loop.first].extents[lets_.specs()[loop.first]->recurrence->dim];
    bool any = true;
    for (std::int64_t turn = 0; any && turn < turns * std::int64_t(loop.count); ++turn) {
      any = false;
      for (std::size_t k = loop.first; k <= last; ++k) {
        if (!is_needed(k)) continue;
        const Reach reach = reaches_[count_ + k];
        if (reach.dim == int(lets_.specs()[k]->recurrence->dim))
          refuse(fmt::format("let '{}' goes step by step along it", name_of(count_ + k)));
        if (looked_at[k - loop.first] != reach.dim) steps[k - loop.first] = steps_of_let(k);
        looked_at[k - loop.first] = reach.dim;
        for (const Step &step : steps[k - loop.first])
          if (is_member(step.array)) any = widen(step, reach) || any;
      }
    }
    for (std::size_t k = loop.first; k <= last; ++k) {
      if (!is_needed(k)) continue;
      const Reach &reach = reaches_[count_ + k];
      const spec::Recurrence &own = *lets_.specs()[k]->recurrence;
      for (const Step &step : steps[k - loop.first])
        if (!is_member(step.array)) widen(step, reach);
      if (!own.start) continue;
      Step step{count_ + *own.start, -1, 0, 0};
      for (std::size_t d = 0; reach.dim >= 0 && d < own.start_dims.size(); ++d)
        if (own.start_dims[d] == std::size_t(reach.dim)) step.dim = int(d);
      if (step.dim >= 0 || reach.dim < 0 || !own.start_dims.empty()) widen(step, reach);
    }
  }

  const Call call_;
  const std::string_view axis_;
  const Lets &lets_;
  const std::size_t count_; // of inputs; lets come behind them
  std::vector<Reach> reaches_;
};

plan::BlockLayouts layouts_of(const Call &call, std::size_t k) {
  const spec::TypedSpec &typed = call.setup_of(k).typed;
  plan::BlockLayouts made;
  made.inputs = call.inputs_of(k);
  made.lies = kernel::add_windows(typed, made.inputs);
  made.resolved = plan::resolve(typed, made.inputs, std::vector<bool>(typed.outputs.size(), true));
  for (const auto &shape : made.resolved.output_shapes)
    made.outputs.push_back(contiguous_layout(shape));
  return made;
}

} // namespace

Halos::Halos(const LoopSpec &spec, const Options &options) try {
  const support::FloatWorld world;
  auto made = std::make_shared<Impl>();
  made->kernel = detail::make_kernel(spec, options, {});
  impl_ = std::move(made);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::vector<Halos::Halo> Halos::along(std::string_view axis, std::span<const Layout> inputs) const
    try {
  const support::FloatWorld world;
  std::vector<Halo> made;
  const spec::TypedSpec &typed = impl_->kernel->setup().whole();
  for (Reach reach : Finder(*impl_->kernel, axis, inputs).run()) {
    const std::vector<int> &axes = typed.inputs[made.size()].axis_of_dim;
    const bool is_read = reach.dim >= 0 || reach.whole;
    const auto dim = std::ranges::find(axes, rewrite::find_axis(typed, std::string(axis)));
    if (!is_read && dim != axes.end()) reach.dim = int(dim - axes.begin()); // as long as others
    made.push_back({reach.dim, -reach.low, reach.high, is_read});
  }
  return made;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

void Halos::check(std::span<const Layout> inputs, std::span<const Layout> parts) const try {
  const support::FloatWorld world;
  const Call whole(*impl_->kernel, inputs), part(*impl_->kernel, parts);
  for (std::size_t k = 0; k < whole.nests(); ++k) {
    if (whole.is_join(k)) continue;
    const spec::TypedSpec &typed = whole.setup_of(k).typed;
    std::vector<std::pair<NodeId, NodeId>> folds;
    for (std::uint32_t n = 0; n < typed.graph.size(); ++n) {
      const NodeKind kind = typed.graph[NodeId{n}].kind;
      if (kind == NodeKind::Fold || kind == NodeKind::Scan) folds.push_back({{n}, {n}});
    }
    if (folds.empty()) continue;
    if (const auto other =
            plan::other_tree(typed, layouts_of(whole, k), typed, layouts_of(part, k), folds))
      fail("E0060",
           fmt::format("kernel '{}' does not go block by block: '{}' would go in another order",
                       impl_->kernel->typed().name, typed.graph.recipe(*other).name),
           typed.where(*other), "cut along another axis, or fold one axis after the other");
  }
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
