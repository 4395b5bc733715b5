// Every node of the graph becomes a full array over its own axes, in order; an array is dropped
// after its last use. See reference.hpp.
#include "reference/reference.hpp"

#include "array/copy.hpp"
#include "array/layout.hpp"
#include "ops/rows.hpp"
#include "reference/accumulate.hpp"
#include "reference/lets.hpp"
#include "reference/loops.hpp"
#include "reference/noise.hpp"
#include "reference/scatter.hpp"
#include "reference/shapes.hpp"
#include "reference/time_loop.hpp"
#include "reference/windows.hpp"
#include "support/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <thread>

namespace broadloom::reference {

using expr::NodeId;
using expr::NodeKind;
using ops::Row;
using ops::Scalar;
using ops::WritableRow;

namespace {

constexpr std::int64_t block_length = 4096; // of what is computed element by element

std::int64_t points_of(const Extents &extents) {
  std::int64_t n = 1;
  for (const Extent &e : extents) n *= e.count;
  return n;
}

// The bytes between elements of `size` bytes in C order along each axis; 0 where the extent is 1,
// which is broadcasting.
std::vector<std::int64_t> strides_of(const Extents &extents, std::size_t size) {
  std::vector<std::int64_t> strides(extents.size(), 0);
  std::int64_t stride = std::int64_t(size);
  for (std::size_t a = extents.size(); a-- > 0;) {
    if (extents[a].count != 1) strides[a] = stride;
    stride *= extents[a].count;
  }
  return strides;
}

class Evaluator {
public:
  Evaluator(const spec::TypedSpec &spec, std::span<const AnyView> inputs, const Workers &workers,
            std::optional<Pin> pin = std::nullopt)
      : spec_(spec), inputs_(inputs), workers_(workers), pin_(pin), elements_(spec.graph.size()),
        uses_(spec.graph.size(), 0) {
    Shapes shapes = shapes_of(spec, array::layouts_of(inputs));
    extents_ = std::move(shapes.extents);
    counts_ = std::move(shapes.counts);
    for (Extents &extents : extents_)
      if (pin_) extents[std::size_t(pin_->axis)].count = 1;
    for (std::uint32_t n = 0; n < spec.graph.size(); ++n)
      for (NodeId arg : spec.graph.operands(NodeId{n})) ++uses_[arg.index];
    for (const spec::TypedOutput &out : spec.outputs) ++uses_[source_of(out).index];
  }

  void shake(double units, std::uint64_t draw) { units_ = units, draw_ = draw; }

  void compute_nodes(const Visit *visit = nullptr) {
    check_dtypes();
    for (const NodeId id : spec_.graph.ids()) {
      if (visit || uses_[id.index] > 0) compute(id);
      if (visit) show(id, *visit);
      stop_if_cancelled();
      for (NodeId arg : spec_.graph.operands(id))
        if (--uses_[arg.index] == 0) elements_[arg.index] = Array();
    }
  }

  std::vector<Array> run(std::span<const AnyView> initial) {
    compute_nodes();
    std::vector<Array> results;
    for (std::size_t k = 0; k < spec_.outputs.size(); ++k) {
      results.push_back(output(spec_.outputs[k], initial.empty() ? nullptr : &initial[k]));
      stop_if_cancelled();
    }
    return results;
  }

private:
  void stop_if_cancelled() const {
    if (workers_.cancelled())
      throw CancelledError("E0701", "the evaluation of kernel '" + spec_.name + "' was cancelled",
                           {}, "reset the flag before the next call");
  }

  static NodeId source_of(const spec::TypedOutput &out) { return out.add ? out.addend : out.value; }

  void check_dtypes() const {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].dtype != spec_.inputs[i].dtype)
        throw DTypeError("E0203",
                         "'" + spec_.inputs[i].name + "' is declared " +
                             std::string(name(spec_.inputs[i].dtype)) + ", the array is " +
                             std::string(name(inputs_[i].dtype)),
                         spec_.inputs[i].where, "pass an array of the declared type");
  }

  void compute(NodeId id) {
    const expr::Node &node = spec_.graph[id];
    if (is_given(node)) return; // read where it lies
    const std::int64_t points = points_of(extents_[id.index]);
    elements_[id.index] = Array::to_be_written(node.dtype, contiguous_layout({&points, 1}));
    char *data = static_cast<char *>(elements_[id.index].raw());
    switch (node.kind) {
    case NodeKind::Input: look_through(id); break;
    case NodeKind::Literal: ops::store(data, node.dtype, node.literal); break;
    case NodeKind::Extent: ops::store(data, node.dtype, ops::scalar_from(counts_[id.index])); break;
    case NodeKind::Index: // the only axis that varies counts up
      for (std::int64_t p = 0; p < points; ++p)
        ops::store(data + p * std::int64_t(sizeof p), node.dtype, ops::scalar_from(p));
      break;
    case NodeKind::Op:
    case NodeKind::Cast:
    case NodeKind::Expand: map(id); break;
    case NodeKind::Fold:
    case NodeKind::Scan: draw_ &&is_inexact(id) ? accumulate_shaken(id) : accumulate(id); break;
    }
  }

  bool is_inexact(NodeId id) const {
    const NodeKind kind = spec_.graph[id].kind;
    if (kind != NodeKind::Fold && kind != NodeKind::Scan) return false;
    const ops::Recipe &recipe = spec_.graph.recipe(id);
    return !recipe.exact && recipe.has_combine();
  }

  // Whether its elements are those of an array that the caller has given.
  bool is_given(const expr::Node &node) const {
    return node.kind == NodeKind::Input && !spec_.inputs[node.payload].window;
  }

  // The elements that a window sees, one by one.
  void look_through(NodeId id) {
    const expr::Node &node = spec_.graph[id];
    const spec::TypedWindow &window = *spec_.inputs[node.payload].window;
    const AnyView &of = inputs_[window.of];
    if (window.is_gather() && window.derived) check_positions(window.derived_from);
    if (of.data == nullptr && !window.is_gather() && element_count(of.layout) > 0)
      return; // nothing of it is read
    const auto element = std::int64_t(size_of(node.dtype));
    const Extents &extents = extents_[id.index];
    const std::int64_t points = points_of(extents);
    char *to = static_cast<char *>(elements_[id.index].raw());
    std::vector<std::int64_t> indices(extents.size(), 0);
    if (pin_) indices[std::size_t(pin_->axis)] = pin_->at;
    for (std::int64_t p = 0; p < points; ++p, to += element) {
      const Read read = read_by(spec_, node.payload, inputs_, indices);
      if (const auto &at = read.position) {
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < at->size(); ++d) {
          support::check((*at)[d] >= 0 && (*at)[d] < of.layout.extents[d],
                         "a window reads outside");
          offset += (*at)[d] * of.layout.strides[d];
        }
        std::memcpy(to, static_cast<const char *>(of.data) + offset * element,
                    std::size_t(element));
      } else {
        ops::store(to, node.dtype, read.number);
      }
      for (std::size_t a = extents.size(); a-- > 0;) {
        if (pin_ && a == std::size_t(pin_->axis)) continue;
        if (++indices[a] < extents[a].count) break;
        indices[a] = 0;
      }
    }
  }

  // Whether a gather of which another is derived reads inside of its array.
  void check_positions(std::size_t window) const {
    const std::vector<std::int64_t> counts = window_extents(spec_, array::layouts_of(inputs_));
    const std::vector<int> &axes = spec_.inputs[window].axis_of_dim;
    for (const int axis : axes)
      if (counts[std::size_t(axis)] == 0) return;
    std::vector<std::int64_t> indices(counts.size(), 0);
    for (bool more = true; more;) {
      read_by(spec_, window, inputs_, indices);
      more = false;
      for (std::size_t k = axes.size(); k-- > 0 && !more;) {
        std::int64_t &index = indices[std::size_t(axes[k])];
        more = ++index < counts[std::size_t(axes[k])];
        if (!more) index = 0;
      }
    }
  }

  // The elements of a node in C order, in memory of their own.
  Array copied(NodeId id) const {
    const expr::Node &node = spec_.graph[id];
    if (!is_given(node)) return elements_[id.index].copy();
    const std::int64_t points = points_of(extents_[id.index]);
    Array copy = Array::to_be_written(node.dtype, contiguous_layout({&points, 1}));
    const AnyView &view = inputs_[node.payload];
    const std::vector<std::int64_t> steps = strides_of(extents_[id.index], 1);
    Layout to = view.layout;
    for (int d = 0; d < to.rank; ++d)
      to.strides[std::size_t(d)] =
          steps[std::size_t(spec_.inputs[node.payload].axis_of_dim[std::size_t(d)])];
    array::copy_elements(view, copy.raw(), to);
    return copy;
  }

  void show(NodeId id, const Visit &visit) {
    Array &elements = elements_[id.index];
    const expr::Node &node = spec_.graph[id];
    if (is_given(node)) // an extent that is said has no elements
      elements = spec_.inputs[node.payload].is_lent()
                     ? Array(node.dtype, std::vector{points_of(extents_[id.index])})
                     : copied(id);
    visit(id, elements);
    if (uses_[id.index] == 0) elements = Array();
  }

  // On arguments that are moved a little, and moved back.
  void accumulate_shaken(NodeId id) {
    Noise noise((*draw_ << 32) + id.index);
    shaken_.resize(elements_.size());
    for (const NodeId arg : spec_.graph.folded_args(id)) {
      shaken_[arg.index] = copied(arg);
      noise.shake(shaken_[arg.index], units_);
    }
    if (ops::only_op(spec_.graph.recipe(id)) == ops::Op::Mul)
      multiply_in_any_order(id);
    else
      accumulate(id);
    for (const NodeId arg : spec_.graph.folded_args(id)) shaken_[arg.index] = Array();
  }

  // A product leaves the range of its type on the way where that of its large elements does, or
  // that of its small ones; whether it does, the order says. So in every other draw such a product
  // is NaN.
  void multiply_in_any_order(NodeId id) {
    const NodeId arg = spec_.graph.folded_args(id)[0];
    const Array moved = shaken_[arg.index];
    std::vector<Array> products;
    for (const bool large : {true, false}) {
      shaken_[arg.index] = factors(moved, large);
      accumulate(id);
      products.push_back(elements_[id.index].copy());
    }
    shaken_[arg.index] = moved;
    accumulate(id);
    if (*draw_ % 2 == 0) return;
    Array &result = elements_[id.index];
    const DType dtype = result.dtype();
    const auto step = std::int64_t(size_of(dtype));
    const auto size = [&](const Array &product, std::int64_t k) { // its real part
      const ops::Scalar element =
          ops::load(static_cast<const char *>(product.raw()) + k * step, dtype);
      return ops::as_f64(ops::convert({element.bits}, real_dtype(dtype), DType::F64));
    };
    const ops::Scalar nan =
        ops::convert(ops::scalar_from(std::numeric_limits<double>::quiet_NaN()), DType::F64, dtype);
    for (std::int64_t k = 0; k < result.size(); ++k)
      if (std::isinf(size(products[0], k)) ||
          size(products[1], k) < std::numeric_limits<double>::min())
        ops::store(static_cast<char *>(result.raw()) + k * step, dtype, nan);
  }

  // Its elements: those of an input are the caller's, unless there is a copy.
  Operand operand(NodeId id) const {
    const expr::Node &node = spec_.graph[id];
    const Extents &extents = extents_[id.index];
    const bool shaken = id.index < shaken_.size() && shaken_[id.index].raw() != nullptr;
    if (shaken || !is_given(node) || elements_[id.index].raw() != nullptr)
      return {static_cast<char *>((shaken ? shaken_ : elements_)[id.index].raw()),
              strides_of(extents, size_of(node.dtype))};
    const AnyView &view = inputs_[node.payload];
    std::vector<std::int64_t> strides(extents.size(), 0);
    if (view.data == nullptr) return {nullptr, std::move(strides)}; // nothing of it is read
    for (int d = 0; d < view.layout.rank; ++d)
      if (view.layout.extents[std::size_t(d)] != 1)
        strides[std::size_t(spec_.inputs[node.payload].axis_of_dim[std::size_t(d)])] =
            view.layout.strides[std::size_t(d)] * std::int64_t(size_of(view.dtype));
    char *data = static_cast<char *>(view.data);
    if (pin_) data += pin_->at * std::exchange(strides[std::size_t(pin_->axis)], 0);
    return {data, std::move(strides)};
  }

  // Op, Cast and Expand: a value at each point from the arguments at that point.
  void map(NodeId id) {
    const expr::Node &node = spec_.graph[id];
    const auto args = spec_.graph.operands(id);
    const DType compute_type = spec_.graph[args[args.size() == 3 ? 1 : 0]].dtype;
    std::vector<Operand> operands{operand(id)};
    for (NodeId arg : args) operands.push_back(operand(arg));
    const Block block = [&](const Addresses &at, std::int64_t count, const Steps &steps) {
      Row rows[3];
      for (std::size_t k = 0; k < args.size(); ++k) rows[k] = {at[k + 1], steps[k + 1]};
      const WritableRow out{at[0], steps[0]};
      if (node.kind == NodeKind::Op)
        ops::evaluate_row(node.op, compute_type, {rows, args.size()}, out, count, spec_.accuracy);
      else
        ops::convert_row(rows[0], compute_type, out, node.dtype, count);
    };
    const Extents &space = extents_[id.index];
    for_each_block(nest_of(space, operands), starts_of(operands), block_length, points_of(space),
                   workers_, [&] { return block; });
  }

  void accumulate(NodeId id) {
    const expr::Node &node = spec_.graph[id];
    if (is_sum_through_gather(spec_, node)) {
      const NodeId arg = spec_.graph.args(id)[0];
      return sum_through_gather(spec_, node, inputs_, operand(arg), extents_[arg.index],
                                operand(id), extents_[id.index]);
    }
    Accumulation what{spec_.graph.recipe(id), node.payload, spec_.accuracy};
    what.scan = node.kind == NodeKind::Scan;
    what.exclusive = node.exclusive;
    what.reverse = node.reverse;
    what.out = operand(id);
    for (NodeId arg : spec_.graph.folded_args(id)) what.args.push_back(operand(arg));
    for (NodeId arg : spec_.graph.start_args(id)) what.starts.push_back(operand(arg));
    // Along each axis the positions are independent, or they are taken in order.
    what.kept = what.folded = extents_[id.index];
    for (std::size_t a = 0; a < what.kept.size(); ++a) {
      std::int64_t &kept = what.kept[a].count, &folded = what.folded[a].count;
      if (what.scan && node.folded.has(int(a))) {
        kept = 1;
      } else {
        folded = 1;
        if (kept == 1) // all that the arguments vary over
          for (NodeId arg : spec_.graph.folded_args(id))
            if (extents_[arg.index][a].count != 1) folded = extents_[arg.index][a].count;
      }
    }
    run_accumulation(what, workers_);
  }

  Array output(const spec::TypedOutput &out, const AnyView *initial) const {
    const std::vector<std::int64_t> shape = shape_of(out, extents_);
    const NodeId source = source_of(out);
    const DType from = spec_.graph[source].dtype;
    const auto element = std::int64_t(size_of(out.dtype));
    if (initial && out.add) check_initial(out, shape, *initial);
    Array result = out.add && !initial // adds to zeros
                       ? Array(out.dtype, shape)
                       : Array::to_be_written(out.dtype, contiguous_layout(shape));

    // Over all axes: the result, the value, and what the result starts from.
    Extents space(extents_[out.value.index].size());
    const std::vector<std::int64_t> nowhere(space.size(), 0);
    Operand to{static_cast<char *>(result.raw()), nowhere}, old{to.data, nowhere};
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto axis = std::size_t(out.axes[d]);
      space[axis].count = shape[d];
      to.strides[axis] = result.strides()[d] * element;
      if (initial) old.strides[axis] = initial->layout.strides[d] * element;
    }
    if (initial)
      old.data = static_cast<char *>(initial->data);
    else
      old.strides = to.strides;
    const std::vector<Operand> operands{to, operand(source), old};

    const Block store = [&](const Addresses &at, std::int64_t count, const Steps &steps) {
      const WritableRow row{at[0], steps[0]};
      if (!out.add) return ops::convert_row({at[1], steps[1]}, from, row, out.dtype, count);
      // The sum is taken in the type of what is added, and then cast.
      alignas(16) char sum[block_length * 16];
      const auto step = std::int64_t(size_of(from));
      ops::convert_row({at[2], steps[2]}, out.dtype, {sum, step}, from, count);
      const Row both[] = {{sum, step}, {at[1], steps[1]}};
      ops::evaluate_row(ops::Op::Add, from, both, {sum, step}, count, spec_.accuracy);
      ops::convert_row({sum, step}, from, row, out.dtype, count);
    };
    for_each_block(nest_of(space, operands), starts_of(operands), block_length, points_of(space),
                   workers_, [&] { return store; });
    return result;
  }

  void check_initial(const spec::TypedOutput &out, const std::vector<std::int64_t> &shape,
                     const AnyView &initial) const {
    const auto given = initial.layout.shape();
    if (!std::equal(shape.begin(), shape.end(), given.begin(), given.end()))
      throw ShapeError("E0120", "output '" + out.name + "' has another shape than its result",
                       out.where, "pass an array of the shape that `infer` gives");
    if (initial.dtype != out.dtype)
      throw DTypeError("E0203", "output '" + out.name + "' is of another type than declared",
                       out.where, "pass an array of type " + std::string(name(out.dtype)));
  }

  const spec::TypedSpec &spec_;
  std::span<const AnyView> inputs_;
  const Workers workers_;
  const std::optional<Pin> pin_;
  double units_ = 0; // of evaluate_shaken, as draw_
  std::optional<std::uint64_t> draw_;
  std::vector<Array> shaken_;        // [node]: while a fold that reads it is accumulated
  std::vector<Extents> extents_;     // [node]
  std::vector<std::int64_t> counts_; // [node]
  std::vector<Array> elements_;      // [node]: in C order; of inputs for visitors only
  std::vector<int> uses_;            // [node]: readers still to come
};

} // namespace

static EvaluateOne evaluate_one(const std::atomic<bool> *cancel, int threads) {
  return [=](const spec::TypedSpec &let, std::span<const AnyView> views, std::optional<Pin> pin) {
    return std::move(Evaluator(let, views, {threads, cancel}, pin).run({})[0]);
  };
}

std::vector<Array> evaluate_loop(spec::LetKernels lets, std::size_t first,
                                 std::span<const AnyView> inputs, std::span<const AnyView> before,
                                 const std::atomic<bool> *cancel, int threads) {
  if (threads == 0) threads = int(std::max(1u, std::thread::hardware_concurrency()));
  return run_loop(lets, first, inputs, before, evaluate_one(cancel, threads));
}

std::vector<Array> evaluate(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
                            std::span<const AnyView> initial_outputs,
                            const std::atomic<bool> *cancel, int threads) {
  if (threads == 0) threads = int(std::max(1u, std::thread::hardware_concurrency()));
  const WithLets given(spec, inputs, evaluate_one(cancel, threads));
  inputs = given.views();
  return Evaluator(spec, inputs, {threads, cancel}).run(initial_outputs);
}

std::vector<Array> evaluate_shaken(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
                                   std::span<const AnyView> initial_outputs, double units,
                                   std::uint64_t draw, const std::atomic<bool> *cancel) {
  const int threads = int(std::max(1u, std::thread::hardware_concurrency()));
  const WithLets given(
      spec, inputs,
      [&](const spec::TypedSpec &let, std::span<const AnyView> views, std::optional<Pin> pin) {
        Evaluator one(let, views, {threads, cancel}, pin);
        one.shake(units, draw + (pin ? std::uint64_t(pin->at) << 16 : 0));
        return std::move(one.run({})[0]);
      });
  inputs = given.views();
  Evaluator evaluator(spec, inputs, {threads, cancel});
  evaluator.shake(units, draw);
  return evaluator.run(initial_outputs);
}

void evaluate_nodes(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
                    const Visit &visit, const std::atomic<bool> *cancel, std::optional<Pin> pin) {
  const int threads = int(std::max(1u, std::thread::hardware_concurrency()));
  const WithLets given(spec, inputs, evaluate_one(cancel, threads));
  inputs = given.views();
  Evaluator(spec, inputs, {threads, cancel}, pin).compute_nodes(&visit);
}

} // namespace broadloom::reference
