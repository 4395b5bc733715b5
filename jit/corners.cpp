// See corners.hpp. Every value of the graph is measured on its own; then corners go from arguments to what is made of them.
#include "jit/corners.hpp"

#include "grad/slope.hpp"
#include "reference/reference.hpp"
#include "reference/shapes.hpp"

#include <algorithm>

namespace broadloom::jit {
namespace {

using expr::NodeId;
using expr::NodeKind;
using reference::Extents;
using Flags = std::vector<bool>;

constexpr std::int64_t most_elements = std::int64_t(1) << 20;

std::int64_t points_of(const Extents &extents) {
  std::int64_t n = 1;
  for (const reference::Extent &e : extents) n *= e.count;
  return n;
}

// Where the element of a node lies that meets a point of `space`: in C order, repeated where the node has extent 1.
std::size_t offset(const Extents &of, const Extents &space, std::int64_t point) {
  std::int64_t at = 0, stride = 1;
  for (std::size_t a = space.size(); a-- > 0;) {
    if (of[a].count != 1) at += point % space[a].count * stride;
    stride *= of[a].count;
    point /= space[a].count;
  }
  return std::size_t(at);
}

// The kernel that gives all its values.
spec::TypedSpec with_all_values(const spec::TypedSpec &spec) {
  spec::TypedSpec all = spec;
  all.outputs.clear();
  for (std::uint32_t n = 0; n < spec.graph.size(); ++n) {
    const expr::Node &node = spec.graph[{n}];
    spec::TypedOutput output;
    output.name = std::to_string(n);
    output.dtype = node.dtype;
    output.value = output.addend = {n};
    for (int axis = 0; axis < expr::max_axes; ++axis)
      if (node.axes.has(axis)) output.axes.push_back(axis);
    all.outputs.push_back(std::move(output));
  }
  return all;
}

class Corners {
public:
  Corners(const spec::TypedSpec &spec, const std::function<std::vector<Array>(double)> &inputs,
          const std::atomic<bool> *cancel)
      : spec_(spec), all_(with_all_values(spec)), inputs_(inputs), cancel_(cancel) {}

  std::vector<Flags> run() {
    std::vector<Layout> layouts;
    for (const Array &input : inputs_(0)) layouts.push_back(AnyView(input).layout);
    extents_ = reference::shapes_of(spec_, layouts).extents;
    std::int64_t elements = 0;
    for (const Extents &extents : extents_) elements += points_of(extents);
    if (elements > most_elements) return {};
    for (const spec::TypedOutput &value : all_.outputs)
      if (value.axes.size() > std::size_t(max_rank)) return {};
    here_ = values(0);
    const std::vector<grad::Measured> measured = grad::measure([&](double t) { return values(t); });
    std::size_t next = 0;
    for (std::uint32_t n = 0; n < spec_.graph.size(); ++n) {
      first_.push_back(next);
      Flags flags(std::size_t(points_of(extents_[n])));
      for (std::size_t k = 0; k < flags.size(); ++k, next += 2)
        flags[k] = moves(NodeId{n}) && !(measured[next].smooth && measured[next + 1].smooth);
      flags_.push_back(std::move(flags));
      spread(NodeId{n});
    }
    std::vector<Flags> result;
    for (const spec::TypedOutput &output : spec_.outputs) result.push_back(of_output(output));
    return result;
  }

private:
  // Numbers, extents and indices stay, were they infinite.
  bool moves(NodeId id) const {
    const NodeKind kind = spec_.graph[id].kind;
    return kind != NodeKind::Literal && kind != NodeKind::Extent && kind != NodeKind::Index;
  }

  // Two real numbers for each element of each node.
  std::vector<double> values(double t) const {
    const std::vector<Array> inputs = inputs_(t);
    std::vector<double> parts;
    for (const Array &array : reference::evaluate(
             all_, std::vector<AnyView>(inputs.begin(), inputs.end()), {}, cancel_)) {
      const DType real = real_dtype(array.dtype());
      const auto step = std::ptrdiff_t(size_of(array.dtype()));
      for (std::int64_t k = 0; k < array.size(); ++k) {
        const ops::Scalar x =
            ops::load(static_cast<const char *>(array.raw()) + k * step, array.dtype());
        for (const std::uint64_t part : {x.bits, x.imag})
          parts.push_back(ops::as_f64(ops::convert({part}, real, DType::F64)));
      }
    }
    return parts;
  }

  // From the arguments of a node to the node.
  void spread(NodeId id) {
    const expr::Node &node = spec_.graph[id];
    const auto args = spec_.graph.operands(id);
    Flags &flags = flags_[id.index];
    if (node.kind == NodeKind::Fold || node.kind == NodeKind::Scan) return spread_rows(id);
    const bool chooses = node.kind == NodeKind::Op && node.op == ops::Op::Where;
    for (std::size_t p = 0; p < flags.size(); ++p) {
      const auto at = [&](NodeId arg) {
        return offset(extents_[arg.index], extents_[id.index], std::int64_t(p));
      };
      // The choice takes no other value than the branch: its own flag says where it jumps.
      std::size_t taken = 0;
      if (chooses) {
        taken = here_[first_[args[0].index] + 2 * at(args[0])] != 0 ? 1 : 2;
        flags[p] = flags_[args[0].index][at(args[0])];
      }
      for (std::size_t k = 0; k < args.size(); ++k)
        if (!chooses || k == taken) flags[p] = flags[p] || flags_[args[k].index][at(args[k])];
    }
  }

  // Of a fold or a scan: all that meets in a row counts for all that comes out of it.
  void spread_rows(NodeId id) {
    const expr::Node &node = spec_.graph[id];
    Extents rows = extents_[id.index], space = rows;
    for (std::size_t a = 0; a < rows.size(); ++a)
      if (node.folded.has(int(a))) rows[a].count = 1;
    for (const NodeId arg : spec_.graph.operands(id))
      for (std::size_t a = 0; a < space.size(); ++a)
        if (extents_[arg.index][a].count != 1) space[a] = extents_[arg.index][a];
    Flags of_row(std::size_t(points_of(rows)));
    for (std::int64_t p = 0; p < points_of(space); ++p)
      for (const NodeId arg : spec_.graph.operands(id))
        if (flags_[arg.index][offset(extents_[arg.index], space, p)])
          of_row[offset(rows, space, p)] = true;
    Flags &flags = flags_[id.index];
    for (std::size_t p = 0; p < flags.size(); ++p)
      flags[p] = flags[p] || of_row[offset(rows, extents_[id.index], std::int64_t(p))];
  }

  // In C order of the output's own dims.
  Flags of_output(const spec::TypedOutput &output) const {
    const Extents &extents = extents_[output.value.index];
    Flags flags(flags_[output.value.index].size());
    for (std::size_t p = 0; p < flags.size(); ++p) {
      std::vector<std::int64_t> at(extents.size());
      std::int64_t rest = std::int64_t(p);
      for (std::size_t d = output.axes.size(); d-- > 0;) {
        const auto axis = std::size_t(output.axes[d]);
        at[axis] = rest % extents[axis].count;
        rest /= extents[axis].count;
      }
      std::int64_t from = 0;
      for (std::size_t a = 0; a < extents.size(); ++a) from = from * extents[a].count + at[a];
      flags[p] = flags_[output.value.index][std::size_t(from)];
    }
    return flags;
  }

  const spec::TypedSpec &spec_;
  const spec::TypedSpec all_;
  const std::function<std::vector<Array>(double)> &inputs_;
  const std::atomic<bool> *cancel_;
  std::vector<Extents> extents_;   // [node]
  std::vector<double> here_;       // of all nodes, two parts for each element
  std::vector<std::size_t> first_; // [node]: of its parts in here_
  std::vector<Flags> flags_;       // [node]
};

} // namespace

std::vector<std::vector<bool>>
behind_corners(const spec::TypedSpec &spec, const std::function<std::vector<Array>(double)> &inputs,
               const std::atomic<bool> *cancel) {
  return Corners(spec, inputs, cancel).run();
}

} // namespace broadloom::jit
