// See include/broadloom/block_kernel.hpp.
#include "jit/api/block_windows.hpp"
#include "jit/api/public_call.hpp"
#include "jit/call/kernel.hpp"
#include "kernel/block_of.hpp"
#include "kernel/interior.hpp"
#include "kernel/layouts.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/text.hpp"

#include <broadloom/block_kernel.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

namespace broadloom {

using expr::AxisSet;
using kernel::Box;
using kernel::Operands;
using kernel::pointers_to;
using support::fail;

namespace {
// The positions of the axes that are cut, of all and of the block; others count as negative.
struct Boxes {
  Box whole, box;
  std::vector<int> axes; // that are cut, ascending
};

} // namespace

namespace {
constexpr const char *adds_at_positions =
    "it adds up at positions that an input says, in the order in which all of them stand";
constexpr const char *help_of_sums = "call it with all of the data, array.rechunk(-1)";
} // namespace

struct BlockKernel::Impl {
  std::shared_ptr<const KernelImpl> kernel;
  std::vector<std::string> why_not; // [axis]
  struct Made {
    std::shared_ptr<const KernelImpl> kernel; // null: masks stand in the way
    std::vector<kernel::ByParts::Number> numbers;
  };
  mutable support::Mutex mutex; // guards what follows
  mutable std::map<std::vector<int>, Made> made;

  const spec::TypedSpec &typed() const { return kernel->setup().whole(); }
  int find_axis(std::string_view name) const;
  Made of_axes(const std::vector<int> &axes) const;
  Boxes boxes_of(std::span<const Layout> outputs, std::span<const Interval> where) const;
  void check(std::span<const Layout> inputs) const;
};

namespace {

// A call on a block: how all operands would lie, and what of them is asked for.
struct Whole {
  Whole(const KernelImpl &kernel, std::span<const Layout> given) {
    const spec::TypedSpec &typed = kernel.typed();
    for (std::size_t i = 0; i < given.size(); ++i)
      views.push_back({typed.inputs[i].dtype, nullptr, false, given[i]});
    const kernel::Layouts layouts = kernel.allocated_layouts(views);
    outputs = layouts.outputs;
  }
  std::vector<AnyView> views; // of inputs
  std::vector<Layout> outputs;
};

} // namespace

int BlockKernel::Impl::find_axis(std::string_view name) const {
  std::vector<std::string> names;
  for (std::size_t a = 0; a < typed().axes.size(); ++a) {
    if (typed().axes[a].name == name) return int(a);
    names.push_back(typed().axes[a].name);
  }
  fail("E0104", fmt::format("kernel '{}' has no axis '{}'", typed().name, name), {},
       names.empty() ? "it has no axes" : "the axes are " + support::quoted_list(names));
}

static std::int64_t extent_of(const spec::TypedSpec &typed, std::span<const Layout> outputs,
                              int axis) {
  std::int64_t most = 1;
  for (std::size_t o = 0; o < typed.outputs.size(); ++o)
    for (std::size_t d = 0; d < typed.outputs[o].axes.size(); ++d)
      if (typed.outputs[o].axes[d] == axis && outputs[o].extents[d] != 1)
        most = outputs[o].extents[d];
  return most;
}

void BlockKernel::Impl::check(std::span<const Layout> inputs) const {
  if (kernel->setup().scatters)
    fail("E0060", fmt::format("kernel '{}' has no blocks: {}", typed().name, adds_at_positions), {},
         help_of_sums);
  if (inputs.size() != typed().callers_inputs())
    fail("E0308",
         fmt::format("kernel '{}' takes {}, {} {} given", typed().name,
                     support::count(std::int64_t(typed().callers_inputs()), "input"), inputs.size(),
                     inputs.size() == 1 ? "was" : "were"),
         {}, "say how each of them lies, in declared order");
}

BlockKernel::Impl::Made BlockKernel::Impl::of_axes(const std::vector<int> &axes) const {
  const std::lock_guard lock(mutex);
  if (const auto it = made.find(axes); it != made.end()) return it->second;
  const AxisSet set = AxisSet::of(axes);
  const auto is_declared = [&](const spec::TypedInput &input) {
    for (std::size_t d = 0; d < input.extents.size() && !input.window; ++d)
      if (input.extents[d] >= 0 && set.has(input.axis_of_dim[d])) return true;
    return false;
  };
  kernel::ByParts parts;
  std::optional<spec::TypedSpec> block = kernel::block_spec(typed(), set, parts);
  Made one{nullptr, parts.numbers};
  if (one.numbers.empty() && std::ranges::none_of(typed().inputs, is_declared)) {
    one.kernel = kernel;
  } else if (block) {
    const support::FloatWorld world;
    const jit::Setup &setup = kernel->setup();
    one.kernel = std::make_shared<const KernelImpl>(setup.spec, std::move(*block), setup);
  }
  return made.emplace(axes, std::move(one)).first->second;
}

BlockKernel::BlockKernel(const LoopSpec &spec, const Options &options) try {
  const support::FloatWorld world;
  Options unchecked = options; // the parts of a call are not looked at, either
  unchecked.debug = options.debug & (Debug::interpreter | Debug::memory);
  auto made = std::make_shared<Impl>();
  made->kernel = detail::make_kernel(spec, unchecked, {});
  const jit::Setup &setup = made->kernel->setup();
  setup.refuse_on_device("blocks of its outputs");
  const spec::TypedSpec &typed = setup.whole();
  const auto refuse = [&](const std::string &why, const char *help) {
    fail("E0060", fmt::format("kernel '{}' has no blocks: {}", typed.name, why), {}, help);
  };
  if (setup.engine == Engine::reference)
    refuse("it runs in the reference", "compile it for another engine");
  if (!setup.whole().materialised.empty())
    refuse("it has lets that are arrays", "take it apart by Stages: each let is a kernel");
  if (setup.whole().lent_input() != nullptr) refuse(adds_at_positions, help_of_sums);
  for (int axis = 0; axis < int(setup.whole().axes.size()); ++axis)
    made->why_not.push_back(setup.scatters ? adds_at_positions
                                           : kernel::why_no_block(setup.whole(), axis));
  impl_ = std::move(made);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::vector<std::vector<BlockKernel::Dim>> BlockKernel::dims() const {
  const spec::TypedSpec &typed = impl_->typed();
  kernel::LookedUp looked_up = kernel::looked_up(typed);
  std::vector<bool> is_index = looked_up.positions; // or says where sums add
  for (std::uint32_t n = 0; n < typed.graph.size(); ++n)
    if (const spec::TypedInput *window = typed.summed_through(typed.graph[expr::NodeId{n}]))
      for (const auto &form : window->window->forms)
        for (const auto &index : form.indices) is_index[index.input] = true;
  for (std::size_t w = typed.inputs.size(); w-- > typed.given_inputs();)
    for (const auto &form : typed.inputs[w].window->forms)
      for (const auto &index : form.indices)
        if (is_index[w]) is_index[index.input] = true;
  looked_up.positions = std::move(is_index);
  std::vector<std::vector<Dim>> made;
  std::vector<bool> is_seen(typed.callers_inputs()); // through a window so far
  for (std::size_t i = 0; i < typed.callers_inputs(); ++i) {
    std::vector<Dim> &dims = made.emplace_back(typed.inputs[i].axis_of_dim.size());
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const spec::Axis &axis = typed.axes[std::size_t(typed.inputs[i].axis_of_dim[d])];
      dims[d].is_plain = !axis.implied; // else windows alone see it
      if (looked_up.positions[i]) dims[d].walks.push_back({axis.name, 1});
    }
  }
  for (std::size_t w = typed.given_inputs(); w < typed.inputs.size(); ++w) {
    const spec::TypedWindow &window = *typed.inputs[w].window;
    if (window.of >= made.size() || !looked_up.positions[w]) continue;
    for (std::size_t d = 0; d < window.forms.size(); ++d) {
      Dim &dim = made[window.of][d];
      dim.looked_up = dim.looked_up || !window.forms[d].indices.empty();
      const bool is_plain = window.forms[d].is_axis() && !window.derived && !window.pad_of(int(d));
      dim.is_plain = is_plain && (dim.is_plain || !is_seen[window.of]);
      for (const auto &term : window.forms[d].terms)
        if (window.forms[d].divisor == 1)
          dim.walks.push_back({typed.axes[std::size_t(term.axis)].name, term.times});
    }
    is_seen[window.of] = true;
  }
  // What is not read may say an extent.
  const auto count = [&](const spec::TypedWindow::Form &form) {
    for (const spec::TypedWindow::Count &of : form.counts)
      if (of.input < made.size()) made[of.input][std::size_t(of.dim)].is_counted = true;
  };
  for (const spec::TypedInput &input : typed.inputs) {
    std::ranges::for_each(input.said, count);
    if (input.window) std::ranges::for_each(input.window->forms, count);
  }
  return made;
}

std::string BlockKernel::why_not(std::string_view axis) const {
  return impl_->why_not[std::size_t(impl_->find_axis(axis))];
}

bool BlockKernel::adds_up(std::string_view axis) const {
  const spec::TypedSpec &typed = impl_->typed();
  const expr::Graph &graph = typed.graph;
  const int a = impl_->find_axis(axis);
  std::vector<bool> is_sum(graph.size());
  // Positions that it is added to must not follow from where a block begins.
  const auto walks = [&](const spec::TypedInput &input) {
    for (const auto &form : input.window->forms)
      for (const auto &term : form.terms)
        if (term.axis == a) return true;
    return false;
  };
  for (const spec::TypedOutput &output : typed.outputs) {
    const expr::Node &node = graph[output.value];
    const spec::TypedInput *window = typed.summed_through(node);
    if (output.add || output.update || window == nullptr || !window->window->is_gather() ||
        walks(*window) || !graph.recipe(output.value).exact || node.dtype != output.dtype ||
        !(graph[graph.args(output.value)[0]].axes | window->axes()).has(a))
      return false;
    is_sum[output.value.index] = true;
  }
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    const expr::Node &node = graph[expr::NodeId{n}];
    if (is_sum[n]) continue;
    if (node.folded.has(a) || (node.kind == expr::NodeKind::Index && node.axes.has(a)))
      return false;
  }
  return true;
}

bool BlockKernel::folds() const {
  const expr::Graph &graph = impl_->typed().graph;
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    if (graph[expr::NodeId{n}].kind == expr::NodeKind::Fold ||
        graph[expr::NodeId{n}].kind == expr::NodeKind::Scan)
      return true;
  return false;
}

std::vector<BlockKernel::Extent> BlockKernel::extents(std::span<const Layout> inputs) const try {
  impl_->check(inputs);
  const spec::TypedSpec &typed = impl_->typed();
  const Whole whole(*impl_->kernel, inputs);
  std::vector<Extent> made;
  for (int axis = 0; axis < int(typed.axes.size()); ++axis)
    if (std::ranges::any_of(typed.outputs, [&](const spec::TypedOutput &output) {
          return std::ranges::count(output.axes, axis) != 0;
        }))
      made.push_back({typed.axes[std::size_t(axis)].name, extent_of(typed, whole.outputs, axis)});
  return made;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Boxes BlockKernel::Impl::boxes_of(std::span<const Layout> outputs,
                                  std::span<const Interval> where) const {
  Boxes made;
  made.whole.assign(typed().axes.size(), {0, -2, 1}); // no operand has such an extent
  made.box.assign(typed().axes.size(), {0, -1, 1});
  for (const Interval &interval : where) {
    const int axis = find_axis(interval.axis);
    const std::string &why = why_not[std::size_t(axis)];
    if (!why.empty())
      fail("E0060",
           fmt::format("kernel '{}' does not come apart along '{}': {}", typed().name,
                       interval.axis, why),
           {}, "cut along another axis");
    const std::int64_t extent = extent_of(typed(), outputs, axis);
    if (interval.begin < 0 || interval.begin > interval.end || interval.end > extent)
      fail(
          "E0150",
          fmt::format("a block of kernel '{}' is to be at {} to {} of '{}', which has {} positions",
                      typed().name, interval.begin, interval.end, interval.axis, extent),
          {}, "blocks lie inside of the axis");
    if (interval.begin == 0 && interval.end == extent)
      continue; // also of what is repeated along it
    made.whole[std::size_t(axis)] = {0, extent, 1};
    made.box[std::size_t(axis)] = {interval.begin, interval.end - interval.begin, 1};
    made.axes.push_back(axis);
  }
  std::ranges::sort(made.axes);
  return made;
}

std::vector<std::vector<BlockKernel::Reach>>
BlockKernel::reads(std::span<const Layout> inputs, std::span<const Interval> where) const try {
  impl_->check(inputs);
  const spec::TypedSpec &typed = impl_->typed();
  const Whole whole(*impl_->kernel, inputs);
  const Boxes boxes = impl_->boxes_of(whole.outputs, where);
  const kernel::LentOperands lent(typed, pointers_to(whole.views));
  const std::vector<Layout> given = kernel::layouts_of(lent.all());
  kernel::Viewer viewer(typed, given);
  std::vector<std::vector<Reach>> made;
  for (const auto &dims : kernel::reads_in(typed, viewer, given, boxes.whole, boxes.box)) {
    if (made.size() == inputs.size()) break;
    std::vector<Reach> &reaches = made.emplace_back();
    for (const kernel::Positions &reach : dims) reaches.push_back({reach.begin, reach.end});
  }
  return made;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

namespace {

// The slice as if all of the input were there, of which nothing else is looked at.
AnyView as_whole(const spec::TypedInput &input, const BlockKernel::Slice &slice,
                 const Layout &whole, std::span<const kernel::Positions> reads) {
  AnyView view = slice.view;
  bool fits = view.layout.rank == whole.rank && slice.begin.size() == std::size_t(whole.rank);
  std::int64_t before = 0;
  for (std::size_t d = 0; fits && d < reads.size(); ++d) {
    const std::int64_t begin = slice.begin[d], end = begin + view.layout.extents[d];
    fits = reads[d].begin == reads[d].end || (begin <= reads[d].begin && reads[d].end <= end);
    before += begin * view.layout.strides[d];
    view.layout.extents[d] = whole.extents[d];
  }
  if (!fits)
    fail("E0102",
         fmt::format("the part of '{}' that is given for a block has not all that it reads",
                     input.name),
         input.where, "give what `reads` says");
  if (view.data != nullptr)
    view.data = static_cast<char *>(view.data) - before * std::int64_t(size_of(view.dtype));
  return view;
}

} // namespace

Results BlockKernel::run(std::span<const Layout> inputs, std::span<const Interval> where,
                         std::span<const Slice> slices) const try {
  impl_->check(inputs);
  const spec::TypedSpec &typed = impl_->typed();
  const KernelImpl &kernel = *impl_->kernel;
  const Whole whole(kernel, inputs);
  const Boxes boxes = impl_->boxes_of(whole.outputs, where);
  if (folds())
    for (const int axis : boxes.axes)
      if (boxes.box[std::size_t(axis)].count == 1)
        fail("E0150",
             fmt::format(
                 "a block of kernel '{}' has position {} of '{}' alone, where sums may be in "
                 "another order than beside others",
                 typed.name, boxes.box[std::size_t(axis)].first,
                 typed.axes[std::size_t(axis)].name),
             {}, "let blocks have two positions or more");
  const Impl::Made made = impl_->of_axes(boxes.axes);
  if (!made.kernel)
    fail("E0060",
         fmt::format("kernel '{}' does not come apart: masks go by positions along the axes",
                     typed.name),
         {}, "cut along another axis");

  // How all of the data lies, by which folds go.
  const kernel::LentOperands lent(typed, pointers_to(whole.views));
  const std::vector<Layout> given = kernel::layouts_of(lent.all());
  kernel::Viewer viewer(typed, given);
  const auto reads = kernel::reads_in(typed, viewer, given, boxes.whole, boxes.box);
  std::vector<Layout> lies;
  for (std::size_t w = given.size(); w < typed.inputs.size(); ++w)
    lies.push_back(viewer.see(w, &boxes.box).lies);

  std::vector<AnyView> named;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    named.push_back(as_whole(typed.inputs[i], slices[i], inputs[i], reads[i]));
  kernel::check_operands(typed, pointers_to(named));
  const kernel::LentOperands present(typed, pointers_to(named));
  std::vector<AnyView> all;
  for (const AnyView *view : present.all()) all.push_back(*view);
  jit::BlockWindows windows(typed, std::move(all), boxes.box, kernel.setup());
  std::vector<AnyView> operands = windows.views();
  const auto part_of = [&](std::size_t k, const AnyView &view) {
    return kernel::part_of(typed, k, view, boxes.whole, boxes.box);
  };
  for (std::size_t i = 0; i < given.size(); ++i) operands[i] = part_of(i, operands[i]);
  std::deque<std::int64_t> numbers;
  for (const kernel::ByParts::Number &number :
       made.kernel == impl_->kernel ? std::vector<kernel::ByParts::Number>() : made.numbers) {
    const auto axis = std::size_t(number.axis);
    numbers.push_back(number.kind == kernel::ByParts::Number::Kind::First
                          ? boxes.box[axis].first
                          : boxes.whole[axis].count);
    operands.push_back({DType::I64, &numbers.back(), false, Layout()});
  }
  std::vector<std::pair<std::string, Array>> outputs;
  for (std::size_t o = 0; o < typed.outputs.size(); ++o) {
    const AnyView shape{typed.outputs[o].dtype, nullptr, true, whole.outputs[o]};
    const Layout layout = contiguous_layout(part_of(typed.inputs.size() + o, shape).layout.shape());
    outputs.emplace_back(typed.outputs[o].name, kernel::allocate(typed.outputs[o], layout));
  }
  for (const auto &[name, array] : outputs) operands.push_back(array);
  made.kernel->nests().rest.run(pointers_to(operands), {lies});
  return Results(std::move(outputs));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
