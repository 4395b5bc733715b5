// Every node of the graph becomes a full array over its own axes, in order; an array is dropped after
// its last use. See reference.hpp.
#include "reference/reference.hpp"

#include "reference/shapes.hpp"
#include "support/check.hpp"

#include <cmath>
#include <optional>
#include <random>

namespace broadloom::reference {

using expr::NodeId;
using expr::NodeKind;
using ops::Scalar;

namespace {

// A sum of floats with the rounding errors of all additions kept (Neumaier's scheme, in extended
// precision). Infinities and NaN spoil the errors, not the plain sum.
struct FloatSum {
  long double sum = 0, errors = 0; // -0 stays where all is -0
  void add(long double x) {
    const long double next = sum + x;
    errors += std::fabs(sum) >= std::fabs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
  }
  double result() const { return double(std::isfinite(sum) && errors != 0 ? sum + errors : sum); }
};

// The elements of a node in C order over all axes of the iteration space.
using Elements = std::vector<Scalar>;

std::int64_t points_of(const Extents &extents) {
  std::int64_t n = 1;
  for (const Extent &e : extents) n *= e.count;
  return n;
}

// `extents` are those of all nodes.
std::vector<std::int64_t> shape_of(const spec::TypedOutput &out,
                                   const std::vector<Extents> &extents) {
  std::vector<std::int64_t> shape;
  for (int axis : out.axes) shape.push_back(extents[out.value.index][std::size_t(axis)].count);
  return shape;
}

// The stride along each axis of elements in C order; 0 where the extent is 1, which is broadcasting.
std::vector<std::int64_t> strides_of(const Extents &extents) {
  std::vector<std::int64_t> strides(extents.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t a = extents.size(); a-- > 0;) {
    if (extents[a].count != 1) strides[a] = stride;
    stride *= extents[a].count;
  }
  return strides;
}

// Calls visit(offsets) at every point of `space` in C order, with the offset of each operand there.
template <class Visit>
void visit_points(const Extents &space, const std::vector<std::vector<std::int64_t>> &strides,
                  Visit visit) {
  const std::int64_t points = points_of(space);
  std::vector<std::int64_t> at(space.size(), 0), offsets(strides.size(), 0);
  for (std::int64_t p = 0; p < points; ++p) {
    visit(offsets);
    for (std::size_t a = space.size(); a-- > 0;) {
      const bool carry = ++at[a] == space[a].count;
      const std::int64_t moved = carry ? 1 - space[a].count : 1;
      for (std::size_t k = 0; k < strides.size(); ++k) offsets[k] += strides[k][a] * moved;
      if (!carry) break;
      at[a] = 0;
    }
  }
}

// What moves the elements that a fold reads. Half of the draws move all by one sign: errors may add up.
class Noise {
public:
  explicit Noise(std::uint64_t seed) : engine_(seed), together_(engine_() % 2 != 0) {
    sign_ = engine_() % 2 != 0 ? 1 : -1;
  }

  void shake(Elements &elements, DType dtype, double units) {
    const DType real = real_dtype(dtype);
    if (!is_float(real)) return;
    const double unit =
        real == DType::F64 ? 0x1p-53 : 0x1p-24; // folds accumulate in no narrower type
    for (Scalar &element : elements) {
      element.bits = moved(element.bits, real, units * unit);
      if (is_complex(dtype)) element.imag = moved(element.imag, real, units * unit);
    }
  }

private:
  std::uint64_t moved(std::uint64_t bits, DType real, double most) {
    const double x = ops::as_f64(ops::convert({bits}, real, DType::F64));
    const double draw = double(engine_() >> 11) * 0x1p-53; // below 1
    const double by = together_ ? sign_ * (0.5 + draw / 2) : 2 * draw - 1;
    const double to = x + std::fabs(x) * most * by;
    if (!std::isfinite(to)) return bits;
    return ops::convert(ops::scalar_from(to), DType::F64, real).bits;
  }

  std::mt19937_64 engine_;
  bool together_;
  double sign_ = 1;
};

class Evaluator {
public:
  Evaluator(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
            const std::atomic<bool> *cancel)
      : spec_(spec), inputs_(inputs), cancel_(cancel), elements_(spec.graph.size()),
        uses_(spec.graph.size(), 0) {
    std::vector<Layout> layouts;
    for (const AnyView &view : inputs) layouts.push_back(view.layout);
    Shapes shapes = shapes_of(spec, layouts);
    extents_ = std::move(shapes.extents);
    counts_ = std::move(shapes.counts);
    for (std::uint32_t n = 0; n < spec.graph.size(); ++n)
      for (NodeId arg : spec.graph.operands(NodeId{n})) ++uses_[arg.index];
    for (const spec::TypedOutput &out : spec.outputs) ++uses_[source_of(out).index];
  }

  void shake(double units, std::uint64_t draw) { units_ = units, draw_ = draw; }

  std::vector<Array> run(std::span<const AnyView> initial) {
    check_dtypes();
    for (std::uint32_t n = 0; n < spec_.graph.size(); ++n) {
      const NodeId id{n};
      if (uses_[n] > 0) elements_[n] = draw_ && is_inexact(id) ? compute_shaken(id) : compute(id);
      for (NodeId arg : spec_.graph.operands(id))
        if (--uses_[arg.index] == 0) Elements().swap(elements_[arg.index]);
    }
    std::vector<Array> results;
    for (std::size_t k = 0; k < spec_.outputs.size(); ++k)
      results.push_back(output(spec_.outputs[k], initial.empty() ? nullptr : &initial[k]));
    return results;
  }

private:
  template <class Visit>
  void for_each_point(const Extents &space, const std::vector<std::vector<std::int64_t>> &strides,
                      Visit visit) const {
    visit_points(space, strides, [&](const std::vector<std::int64_t> &at) {
      if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed))
        throw CancelledError("E0701", "the evaluation of kernel '" + spec_.name + "' was cancelled",
                             {}, "reset the flag before the next call");
      visit(at);
    });
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

  Elements compute(NodeId id) const {
    const expr::Node &node = spec_.graph[id];
    switch (node.kind) {
    case NodeKind::Literal: return {node.literal};
    case NodeKind::Input: return read(node.payload, extents_[id.index]);
    case NodeKind::Fold: return is_plain_sum(id) ? plain_sum(id) : fold(id);
    case NodeKind::Scan: return scan(id);
    case NodeKind::Extent: return {ops::scalar_from(counts_[id.index])};
    case NodeKind::Index: return index(extents_[id.index]);
    case NodeKind::Op:
    case NodeKind::Cast:
    case NodeKind::Expand: return map(id);
    }
    return {};
  }

  bool is_inexact(NodeId id) const {
    const NodeKind kind = spec_.graph[id].kind;
    if (kind != NodeKind::Fold && kind != NodeKind::Scan) return false;
    const ops::Recipe &recipe = spec_.graph.recipe(id);
    return !recipe.exact && recipe.has_combine();
  }

  Elements compute_shaken(NodeId id) {
    const auto args = spec_.graph.folded_args(id);
    std::vector<Elements> kept;
    Noise noise((*draw_ << 32) + id.index);
    for (const NodeId arg : args) {
      kept.push_back(elements_[arg.index]);
      noise.shake(elements_[arg.index], spec_.graph[arg].dtype, units_);
    }
    Elements result = compute(id);
    for (std::size_t k = args.size(); k-- > 0;) elements_[args[k].index] = std::move(kept[k]);
    return result;
  }

  Elements read(std::uint32_t input, const Extents &extents) const {
    const AnyView &view = inputs_[input];
    std::vector<std::int64_t> strides(extents.size(), 0);
    for (int d = 0; d < view.layout.rank; ++d)
      strides[std::size_t(spec_.inputs[input].axis_of_dim[std::size_t(d)])] =
          view.layout.strides[std::size_t(d)] * std::int64_t(size_of(view.dtype));
    Elements out;
    out.reserve(std::size_t(points_of(extents)));
    for_each_point(extents, {strides}, [&](const std::vector<std::int64_t> &at) {
      out.push_back(ops::load(static_cast<const char *>(view.data) + at[0], view.dtype));
    });
    return out;
  }

  // The only axis that varies counts up.
  static Elements index(const Extents &extents) {
    Elements out;
    for (std::int64_t p = 0; p < points_of(extents); ++p) out.push_back(ops::scalar_from(p));
    return out;
  }

  // Op, Cast and Expand: a value at each point from the arguments at that point.
  Elements map(NodeId id) const {
    const expr::Node &node = spec_.graph[id];
    const auto args = spec_.graph.operands(id);
    const std::size_t count = args.size();
    std::vector<std::vector<std::int64_t>> strides;
    for (std::size_t k = 0; k < count; ++k) strides.push_back(strides_of(extents_[args[k].index]));
    const DType compute_type = spec_.graph[args[count == 3 ? 1 : 0]].dtype;
    Elements out;
    out.reserve(std::size_t(points_of(extents_[id.index])));
    for_each_point(extents_[id.index], strides, [&](const std::vector<std::int64_t> &at) {
      Scalar values[3];
      for (std::size_t k = 0; k < count; ++k)
        values[k] = elements_[args[k].index][std::size_t(at[k])];
      if (node.kind == NodeKind::Op)
        out.push_back(ops::evaluate(node.op, compute_type, {values, count}, spec_.accuracy));
      else
        out.push_back(ops::convert(values[0], compute_type, node.dtype));
    });
    return out;
  }

  // Sums and products of floats are not taken step by step, where their order is free: they are as exact as can be.
  bool is_plain_sum(NodeId id) const {
    if (!spec_.graph.recipe(id).has_combine()) return false;
    const std::optional<ops::Op> op = ops::only_op(spec_.graph.recipe(id));
    const DType dtype = spec_.graph[id].dtype;
    return ((is_float(dtype) && op == ops::Op::Mul) ||
            ((is_float(dtype) || is_complex(dtype)) && op == ops::Op::Add)) &&
           spec_.graph.start_args(id).empty();
  }

  Elements plain_sum(NodeId id) const {
    const DType dtype = real_dtype(spec_.graph[id].dtype);
    const NodeId arg = spec_.graph.args(id)[0];
    const std::vector<std::vector<std::int64_t>> strides{strides_of(extents_[arg.index]),
                                                         strides_of(extents_[id.index])};
    const bool product = ops::only_op(spec_.graph.recipe(id)) == ops::Op::Mul;
    const auto size = std::size_t(points_of(extents_[id.index]));
    const Scalar start = spec_.graph.recipe(id).start[0];
    const auto number = [&](std::uint64_t part) {
      return ops::as_f64(ops::convert({part}, dtype, DType::F64));
    };
    std::vector<FloatSum> sums(product ? 0 : size, {number(start.bits)});
    std::vector<FloatSum> imaginary(sums.size(), {number(start.imag)});
    std::vector<long double> products(product ? size : 0, number(start.bits));
    for_each_point(extents_[arg.index], strides, [&](const std::vector<std::int64_t> &at) {
      const Scalar value = elements_[arg.index][std::size_t(at[0])];
      const double x = number(value.bits);
      product ? void(products[std::size_t(at[1])] *= x) : sums[std::size_t(at[1])].add(x);
      if (is_complex(spec_.graph[id].dtype)) imaginary[std::size_t(at[1])].add(number(value.imag));
    });
    Elements out;
    for (std::size_t k = 0; k < size; ++k) {
      const double x = product ? double(products[k]) : sums[k].result();
      out.push_back(ops::convert(ops::scalar_from(x), DType::F64, dtype));
      if (is_complex(spec_.graph[id].dtype))
        out.back().imag =
            ops::convert(ops::scalar_from(imaginary[k].result()), DType::F64, dtype).bits;
    }
    return out;
  }

  // Every point in logical order, each a step of the states that it belongs to.
  Elements fold(NodeId id) const {
    const expr::Node &node = spec_.graph[id];
    const ops::Recipe &recipe = spec_.graph.recipe(id);
    std::vector<std::vector<Scalar>> states = start_states(id, extents_[id.index]);
    std::vector<std::vector<std::int64_t>> strides = arg_strides(id);
    strides.push_back(strides_of(extents_[id.index]));
    std::vector<Scalar> work;
    for_each_point(space_of(id), strides, [&](const std::vector<std::int64_t> &at) {
      take_step(recipe, id, at, states[std::size_t(at.back())], work);
    });
    Elements out;
    for (const auto &state : states) out.push_back(state[node.payload]);
    return out;
  }

  // The same along one axis, the state after each step (or before it) being the element there.
  Elements scan(NodeId id) const {
    const expr::Node &node = spec_.graph[id];
    const ops::Recipe &recipe = spec_.graph.recipe(id);
    const Extents &space = extents_[id.index];
    Extents kept = space;
    std::size_t along = 0;
    for (std::size_t a = 0; a < space.size(); ++a)
      if (node.folded.has(int(a))) along = a, kept[a].count = 1;
    std::vector<std::vector<Scalar>> states = start_states(id, kept);
    std::vector<std::vector<std::int64_t>> strides = arg_strides(id);
    strides.push_back(strides_of(kept));
    strides.push_back(strides_of(space));
    const std::vector<std::vector<std::int64_t>> along_axis = strides;
    for (auto &s : strides) s[along] = 0; // the points of `kept`, then the axis for each of them
    Elements out(std::size_t(points_of(space)));
    std::vector<Scalar> work;
    for_each_point(kept, strides, [&](const std::vector<std::int64_t> &first) {
      std::vector<Scalar> &state = states[std::size_t(first[first.size() - 2])];
      for (std::int64_t k = 0; k < space[along].count; ++k) {
        const std::int64_t p = node.reverse ? space[along].count - 1 - k : k;
        std::vector<std::int64_t> at = first;
        for (std::size_t s = 0; s < at.size(); ++s) at[s] += p * along_axis[s][along];
        Scalar &element = out[std::size_t(at.back())];
        if (node.exclusive) element = state[node.payload];
        take_step(recipe, id, at, state, work);
        if (!node.exclusive) element = state[node.payload];
      }
    });
    return out;
  }

  // All that the arguments of a fold or scan vary over.
  Extents space_of(NodeId id) const {
    Extents space = extents_[id.index];
    for (NodeId arg : spec_.graph.folded_args(id))
      for (std::size_t a = 0; a < space.size(); ++a)
        if (extents_[arg.index][a].count != 1) space[a] = extents_[arg.index][a];
    return space;
  }

  std::vector<std::vector<std::int64_t>> arg_strides(NodeId id) const {
    std::vector<std::vector<std::int64_t>> strides;
    for (NodeId arg : spec_.graph.folded_args(id))
      strides.push_back(strides_of(extents_[arg.index]));
    return strides;
  }

  // [point of `kept`][state]
  std::vector<std::vector<Scalar>> start_states(NodeId id, const Extents &kept) const {
    const auto start = spec_.graph.start_args(id);
    std::vector<std::vector<std::int64_t>> strides;
    for (NodeId arg : start) strides.push_back(strides_of(extents_[arg.index]));
    std::vector<std::vector<Scalar>> states;
    for_each_point(kept, strides, [&](const std::vector<std::int64_t> &at) {
      states.push_back(spec_.graph.recipe(id).start);
      for (std::size_t k = 0; k < start.size(); ++k)
        states.back()[k] = elements_[start[k].index][std::size_t(at[k])];
    });
    return states;
  }

  void take_step(const ops::Recipe &recipe, NodeId id, const std::vector<std::int64_t> &at,
                 std::vector<Scalar> &state, std::vector<Scalar> &work) const {
    std::vector<Scalar> inputs = state;
    const auto args = spec_.graph.folded_args(id);
    for (std::size_t k = 0; k < args.size(); ++k)
      inputs.push_back(elements_[args[k].index][std::size_t(at[k])]);
    ops::run(recipe.step, inputs, work, spec_.accuracy);
    for (std::size_t k = 0; k < state.size(); ++k) state[k] = work[recipe.step.results[k]];
  }

  Array output(const spec::TypedOutput &out, const AnyView *initial) const {
    const std::vector<std::int64_t> shape = shape_of(out, extents_);
    Array result(out.dtype, shape);
    const NodeId source = source_of(out);
    const DType from = spec_.graph[source].dtype;
    const auto element = std::int64_t(size_of(out.dtype));
    if (initial && out.add) check_initial(out, shape, *initial);

    // Strides over all axes: of the result, of what it starts from, and of the value.
    Extents space(extents_[out.value.index].size());
    std::vector<std::vector<std::int64_t>> strides(2, std::vector<std::int64_t>(space.size(), 0));
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto axis = std::size_t(out.axes[d]);
      space[axis].count = shape[d];
      strides[0][axis] = result.strides()[d] * element;
      if (initial) strides[1][axis] = initial->layout.strides[d] * element;
    }
    strides.push_back(strides_of(extents_[source.index]));
    for_each_point(space, strides, [&](const std::vector<std::int64_t> &at) {
      Scalar value = elements_[source.index][std::size_t(at[2])];
      if (out.add) { // in the type of what is added, which is then cast
        const Scalar old =
            initial ? ops::load(static_cast<const char *>(initial->data) + at[1], out.dtype)
                    : ops::convert(Scalar{}, DType::Bool, out.dtype);
        const Scalar both[] = {ops::convert(old, out.dtype, from), value};
        value = ops::evaluate(ops::Op::Add, from, both);
      }
      ops::store(static_cast<char *>(result.raw()) + at[0], out.dtype,
                 ops::convert(value, from, out.dtype));
    });
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
  const std::atomic<bool> *cancel_; // null: never
  double units_ = 0;                // of evaluate_shaken, as draw_
  std::optional<std::uint64_t> draw_;
  std::vector<Extents> extents_;     // [node]
  std::vector<std::int64_t> counts_; // [node]
  std::vector<Elements> elements_;   // [node]
  std::vector<int> uses_;            // [node]: readers still to come
};

} // namespace

std::vector<Array> evaluate(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
                            std::span<const AnyView> initial_outputs,
                            const std::atomic<bool> *cancel) {
  support::check(inputs.size() == spec.inputs.size(), "one view for each input");
  return Evaluator(spec, inputs, cancel).run(initial_outputs);
}

std::vector<Array> evaluate_shaken(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
                                   std::span<const AnyView> initial_outputs, double units,
                                   std::uint64_t draw, const std::atomic<bool> *cancel) {
  support::check(inputs.size() == spec.inputs.size(), "one view for each input");
  Evaluator evaluator(spec, inputs, cancel);
  evaluator.shake(units, draw);
  return evaluator.run(initial_outputs);
}

std::vector<std::vector<std::int64_t>> output_shapes(const spec::TypedSpec &spec,
                                                     std::span<const Layout> inputs) {
  const std::vector<Extents> extents = shapes_of(spec, inputs).extents;
  std::vector<std::vector<std::int64_t>> shapes;
  for (const spec::TypedOutput &out : spec.outputs) shapes.push_back(shape_of(out, extents));
  return shapes;
}

} // namespace broadloom::reference
