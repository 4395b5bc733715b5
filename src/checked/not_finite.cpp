// See not_finite.hpp.
#include "checked/not_finite.hpp"

#include "array/layout.hpp"
#include "checked/agreement.hpp"
#include "ops/ops.hpp"
#include "reference/reference.hpp"
#include "reference/shapes.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace broadloom::checked {

using expr::NodeId;
using expr::NodeKind;
using reference::Extents;

namespace {

bool is_odd(double x, Oddity oddity) {
  return oddity == Oddity::Nan ? std::isnan(x) : std::isinf(x);
}

std::int64_t points(const Extents &extents) {
  std::int64_t n = 1;
  for (const reference::Extent &extent : extents)
    if (__builtin_mul_overflow(n, extent.count, &n)) return std::int64_t(1) << 62;
  return n;
}

// The point of `of` that meets a point of `space`, both in C order: where `of` has extent 1, it is
// repeated.
std::int64_t meeting(const Extents &of, const Extents &space, std::int64_t point) {
  std::int64_t at = 0, stride = 1;
  for (std::size_t a = space.size(); a-- > 0;) {
    const std::int64_t index = point % space[a].count;
    if (of[a].count != 1) at += index * stride;
    stride *= of[a].count;
    point /= space[a].count;
  }
  return at;
}

class Follower {
public:
  Follower(const spec::TypedSpec &spec, std::span<const AnyView> inputs, Oddity oddity,
           const std::atomic<bool> *cancel, std::optional<reference::Pin> step)
      : spec_(spec), oddity_(oddity), values_(spec.graph.size()) {
    extents_ = reference::shapes_of(spec, array::layouts_of(inputs)).extents;
    for (Extents &extents : extents_)
      if (step) extents[std::size_t(step->axis)].count = 1;
    reference::evaluate_nodes(
        spec, inputs, [&](NodeId id, const Array &elements) { values_[id.index] = elements; },
        cancel, step);
  }

  // Of an element of an output, by its number in C order.
  std::optional<Origin> follow(const spec::TypedOutput &out, std::int64_t element) const {
    const NodeId source = out.add ? out.addend : out.value;
    Extents space(extents_[source.index].size());
    std::vector<std::int64_t> index(space.size(), 0);
    const Extents &whole = extents_[out.value.index];
    for (std::size_t d = out.axes.size(); d-- > 0;) {
      const auto axis = std::size_t(out.axes[d]);
      space[axis].count = whole[axis].count;
      index[axis] = element % whole[axis].count;
      element /= whole[axis].count;
    }
    std::int64_t point = 0;
    for (std::size_t a = 0; a < space.size(); ++a) point = point * space[a].count + index[a];
    point = meeting(extents_[source.index], space, point);
    if (!is_odd_at(source, point)) {
      if (out.dtype == spec_.graph[source].dtype) return std::nullopt;
      return Origin{fmt::format("{} as {} gives it", text_at(source, point), name(out.dtype)),
                    out.where};
    }
    return back_from(source, point);
  }

private:
  Origin back_from(NodeId id, std::int64_t point) const {
    while (true) {
      const std::optional<std::pair<NodeId, std::int64_t>> next = odd_argument(id, point);
      if (!next) return {described(id, point), spec_.where(id)};
      std::tie(id, point) = *next;
    }
  }

  std::optional<std::pair<NodeId, std::int64_t>> odd_argument(NodeId id, std::int64_t point) const {
    for (const NodeId arg : spec_.graph.operands(id)) {
      const Extents &of = extents_[arg.index], &space = extents_[id.index];
      if (!accumulates(id)) {
        if (!is_chosen(id, arg, point)) continue;
        const std::int64_t at = meeting(of, space, point);
        if (is_odd_at(arg, at)) return std::pair{arg, at};
        continue;
      }
      for (std::int64_t at = 0; at < points(of); ++at)
        if (is_read(id, point, of, at) && is_odd_at(arg, at)) return std::pair{arg, at};
    }
    return std::nullopt;
  }

  bool accumulates(NodeId id) const {
    const NodeKind kind = spec_.graph[id].kind;
    return kind == NodeKind::Fold || kind == NodeKind::Scan;
  }

  // Of `where` only the branch that is taken.
  bool is_chosen(NodeId id, NodeId arg, std::int64_t point) const {
    const expr::Node &node = spec_.graph[id];
    if (node.kind != NodeKind::Op || node.op != ops::Op::Where) return true;
    const std::span<const NodeId> args = spec_.graph.args(id);
    const char *condition =
        at(args[0], meeting(extents_[args[0].index], extents_[id.index], point));
    return arg == args[ops::load(condition, DType::Bool).bits != 0 ? 1 : 2];
  }

  // Whether a fold or scan at `point` has read this point of its argument.
  bool is_read(NodeId id, std::int64_t point, const Extents &of, std::int64_t at) const {
    const expr::Node &node = spec_.graph[id];
    const Extents &space = extents_[id.index];
    for (std::size_t a = space.size(); a-- > 0;) {
      const std::int64_t here = point % space[a].count, there = at % of[a].count;
      point /= space[a].count, at /= of[a].count;
      if (space[a].count == 1 || of[a].count == 1) continue;
      const bool scanned = node.kind == NodeKind::Scan && node.folded.has(int(a));
      if (!scanned && here != there) return false;
      if (scanned && (node.reverse ? there < here : there > here)) return false;
    }
    return true;
  }

  const char *at(NodeId id, std::int64_t point) const {
    return static_cast<const char *>(values_[id.index].raw()) +
           point * std::int64_t(size_of(spec_.graph[id].dtype));
  }
  bool is_odd_at(NodeId id, std::int64_t point) const {
    return checked::is_odd(at(id, point), spec_.graph[id].dtype, oddity_);
  }
  std::string text_at(NodeId id, std::int64_t point) const {
    return value_text(at(id, point), spec_.graph[id].dtype);
  }

  std::string described(NodeId id, std::int64_t point) const {
    const expr::Node &node = spec_.graph[id];
    std::string text;
    if (accumulates(id)) {
      text = fmt::format("'{}' of elements of which none is {}", spec_.graph.recipe(id).name,
                         name(oddity_));
    } else if (node.kind == NodeKind::Input) {
      text = "an element of '" + spec_.inputs[spec_.array_of(node.payload)].name + "'";
    } else {
      std::vector<std::string> arguments;
      for (const NodeId arg : spec_.graph.operands(id))
        arguments.push_back(text_at(arg, meeting(extents_[arg.index], extents_[id.index], point)));
      text = node.kind == NodeKind::Op
                 ? operation(node.op, arguments)
                 : arguments[0] + " as " + std::string(broadloom::name(node.dtype));
    }
    return text + " gives the first one" + place_text(id, point);
  }

  static std::string operation(ops::Op op, const std::vector<std::string> &arguments) {
    const ops::OpInfo &info = ops::info(op);
    if (info.form == ops::Form::Infix && arguments.size() == 2)
      return fmt::format("{} {} {}", arguments[0], info.spelling, arguments[1]);
    return fmt::format("{}({})", info.spelling, support::joined(arguments));
  }

  // " at i 3, j 0": the axes along which the value varies.
  std::string place_text(NodeId id, std::int64_t point) const {
    const Extents &space = extents_[id.index];
    std::string text;
    for (std::size_t a = space.size(); a-- > 0; point /= space[a].count)
      if (space[a].count > 1)
        text = fmt::format(
            "{} {}{}{}", spec_.axes[a].labelled ? spec_.axes[a].name : "axis " + spec_.axes[a].name,
            point % space[a].count, text.empty() ? "" : ", ", text);
    return text.empty() ? "" : ", at " + text;
  }

  const spec::TypedSpec &spec_;
  const Oddity oddity_;
  std::vector<Extents> extents_; // [node]
  std::vector<Array> values_;    // [node]: in C order
};

} // namespace

std::string_view name(Oddity oddity) { return oddity == Oddity::Nan ? "nan" : "infinity"; }

bool is_odd(const char *element, DType dtype, Oddity oddity) {
  if (!is_float(dtype) && !is_complex(dtype)) return false;
  const DType real = real_dtype(dtype);
  for (std::size_t k = 0; k < size_of(dtype); k += size_of(real))
    if (is_odd(ops::as_f64(ops::convert(ops::load(element + k, real), real, DType::F64)), oddity))
      return true;
  return false;
}

std::int64_t first_odd(const AnyView &view, Oddity oddity) {
  if (view.data == nullptr || (!is_float(view.dtype) && !is_complex(view.dtype))) return -1;
  for (std::int64_t k = 0; k < element_count(view.layout); ++k)
    if (is_odd(element_at(view, k), view.dtype, oddity)) return k;
  return -1;
}

bool has_odd_literal(const spec::TypedSpec &spec, Oddity oddity) {
  for (const expr::Node &node : spec.graph.nodes()) {
    if (node.kind != NodeKind::Literal) continue;
    char element[16];
    ops::store(element, node.dtype, node.literal);
    if (is_odd(element, node.dtype, oddity)) return true;
  }
  return false;
}

std::optional<Origin> origin_of(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
                                std::size_t output, std::int64_t element, Oddity oddity,
                                const std::atomic<bool> *cancel,
                                std::optional<reference::Pin> step) {
  return Follower(spec, inputs, oddity, cancel, step).follow(spec.outputs[output], element);
}

std::int64_t points_of(const spec::TypedSpec &spec, std::span<const Layout> given) {
  std::int64_t total = 0;
  for (const Extents &extents : reference::shapes_of(spec, given).extents)
    if (__builtin_add_overflow(total, points(extents), &total)) return std::int64_t(1) << 62;
  return total;
}

} // namespace broadloom::checked
