// See corners.hpp. Every value of the graph is measured on its own; then corners go from arguments to what is made of them.
#include "grad/corners.hpp"

#include "grad/slope.hpp"
#include "grad/widen.hpp"
#include "reference/reference.hpp"
#include "reference/shapes.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

namespace broadloom::grad {
namespace {

using expr::NodeId;
using expr::NodeKind;
using reference::Extents;
using Flags = std::vector<bool>;

// Measured at a time, of all elements of all nodes: each is held for some 30 steps.
constexpr std::int64_t most_elements = std::int64_t(1) << 18;

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

// The values that a node has here, as far as the moves of its parts depend on them.
struct Here {
  std::vector<bool> zero; // [part]
  double size = 1;        // of the other parts on average

  explicit Here(const Array &elements) {
    double total = 0, count = 0;
    for (const double part : parts(elements)) {
      zero.push_back(part == 0);
      if (std::isfinite(part) && part != 0) total += std::fabs(part), count += 1;
    }
    if (count > 0) size = total / count;
  }

  // Each part by a share of its own of its size; a zero by a share of the size of others.
  void move(const Array &elements, std::uint64_t seed, double t) const {
    const std::span<double> x = parts(elements);
    std::mt19937_64 engine(seed);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double by = 0.5 + double(engine() >> 11) * 0x1p-54;
      x[k] += (engine() >> 63 ? t : -t) * by * (zero[k] ? size : std::fabs(x[k]));
    }
  }
};

class Finder {
public:
  Finder(const spec::TypedSpec &spec, std::span<const AnyView> inputs, std::size_t moved,
         const std::atomic<bool> *cancel)
      : spec_(spec), inputs_(inputs), cancel_(cancel), here_(spec.graph.size()),
        weighed_(spec.graph.size()) {
    std::vector<Layout> layouts;
    for (const AnyView &input : inputs) layouts.push_back(input.layout);
    extents_ = reference::shapes_of(spec, layouts).extents;
    for (std::uint32_t n = 0; n < spec.graph.size(); ++n) {
      const expr::Node &node = spec.graph[{n}];
      bool reached = node.kind == NodeKind::Input && spec.array_of(node.payload) == moved;
      for (const NodeId arg : spec.graph.operands({n})) reached = reached || reached_[arg.index];
      reached_.push_back(reached);
      flags_.emplace_back(std::size_t(points_of(extents_[n])));
      is_weighed_.push_back(false);
      if (chooses({n}))
        for (const NodeId arg : spec.graph.operands({n})) is_weighed_[arg.index] = true;
    }
  }

  Corners run() {
    const auto visit = [&](NodeId id, const Array &elements) { note(id, elements); };
    reference::evaluate_nodes(spec_, inputs_, visit, cancel_);
    for (std::uint32_t first = 0; first < spec_.graph.size();) first = measure_from(first);
    for (std::uint32_t n = 0; n < spec_.graph.size(); ++n) spread({n});
    for (const spec::TypedOutput &output : spec_.outputs)
      found_.behind.push_back(of_output(output));
    return std::move(found_);
  }

private:
  // ---- each node

  // As many nodes as are measured at a time; returns the one after the last of them.
  std::uint32_t measure_from(std::uint32_t first) {
    std::uint32_t end = first;
    for (std::int64_t total = 0; end < spec_.graph.size(); ++end) {
      if (reached_[end]) total += points_of(extents_[end]);
      if (end > first && total > most_elements) break;
    }
    if (std::none_of(reached_.begin() + first, reached_.begin() + end, [](bool r) { return r; }))
      return end;
    const std::vector<Measured> measured = measure([&](double t) { return values(first, end, t); });
    std::size_t next = 0;
    for (std::uint32_t n = first; n < end; ++n)
      for (std::size_t k = 0; reached_[n] && k < flags_[n].size(); ++k, next += 2)
        flags_[n][k] = flags_[n][k] || !(measured[next].smooth && measured[next + 1].smooth);
    return end;
  }

  // Two real numbers for each element of the nodes that the input reaches.
  std::vector<double> values(std::uint32_t first, std::uint32_t end, double t) {
    std::vector<double> all;
    const auto visit = [&](NodeId id, const Array &elements) {
      const std::uint32_t n = id.index;
      if (!reached_[n]) return;
      // Measured as moved: where value and slope are both 0, as of x * x at 0, there is no size to measure errors by.
      if (moves(id)) here_[n]->move(elements, n, t);
      if (n >= first && n < end) append(all, elements);
    };
    reference::evaluate_nodes(spec_, inputs_, visit, cancel_);
    return all;
  }

  // A repeated or cast value is the same value.
  bool moves(NodeId id) const {
    const expr::Node &node = spec_.graph[id];
    return node.kind != NodeKind::Expand && node.kind != NodeKind::Cast &&
           is_continuous(node.dtype);
  }

  static void append(std::vector<double> &all, const Array &elements) {
    const DType dtype = elements.dtype(), real = real_dtype(dtype);
    const auto *at = static_cast<const char *>(elements.raw());
    for (std::int64_t k = 0; k < elements.size(); ++k, at += size_of(dtype)) {
      const ops::Scalar x = ops::load(at, dtype);
      for (const std::uint64_t part : {x.bits, x.imag})
        all.push_back(ops::as_f64(ops::convert({part}, real, DType::F64)));
    }
  }

  // What operations choose by or from, how large values are, and which are not finite.
  void note(NodeId id, const Array &elements) {
    const std::uint32_t n = id.index;
    if (is_weighed_[n]) {
      weighed_[n].clear();
      append(weighed_[n], elements);
    }
    if (reached_[n] && moves(id)) here_[n].emplace(elements);
    const bool literal = spec_.graph[id].kind == NodeKind::Literal; // -inf may start a fold
    if (literal || !is_continuous(elements.dtype())) return;
    const std::span<const double> x = parts(elements);
    const std::size_t group = x.size() / std::max<std::size_t>(flags_[n].size(), 1);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double size = std::fabs(x[k]);
      if (!std::isfinite(size))
        flags_[n][k / group] = true;
      else if (reached_[n] && size != 0 && (size > 0x1p256 || size < 0x1p-256))
        found_.may_overflow = true;
    }
  }

  // ---- from node to node

  // What it comes to is one of its arguments. Complex numbers are not compared part by part.
  bool chooses(NodeId id) const {
    const expr::Node &node = spec_.graph[id];
    if (node.kind != NodeKind::Op) return false;
    if (node.op == ops::Op::Where) return true;
    const bool greatest = takes_larger(node.op);
    const bool least = node.op == ops::Op::Minimum || node.op == ops::Op::Fmin;
    return (greatest || least) && !is_complex(node.dtype);
  }
  static bool takes_larger(ops::Op op) { return op == ops::Op::Maximum || op == ops::Op::Fmax; }

  // From the arguments of a node to the node.
  void spread(NodeId id) {
    const expr::Node &node = spec_.graph[id];
    const auto args = spec_.graph.operands(id);
    Flags &flags = flags_[id.index];
    if (node.kind == NodeKind::Fold || node.kind == NodeKind::Scan) return spread_rows(id);
    for (std::size_t p = 0; p < flags.size(); ++p) {
      const auto at = [&](NodeId arg) {
        return offset(extents_[arg.index], extents_[id.index], std::int64_t(p));
      };
      const auto here = [&](NodeId arg) { return weighed_[arg.index][2 * at(arg)]; };
      const auto flag = [&](NodeId arg) { return bool(flags_[arg.index][at(arg)]); };
      if (chooses(id) && node.op == ops::Op::Where) {
        // The choice takes no other value than the branch: its own flag says where it jumps.
        flags[p] = flag(args[0]) || flag(args[here(args[0]) != 0 ? 1 : 2]);
      } else if (chooses(id) && here(args[0]) != here(args[1])) {
        const bool first = (here(args[0]) > here(args[1])) == takes_larger(node.op);
        flags[p] = flags[p] || flag(args[first ? 0 : 1]);
      } else {
        for (const NodeId arg : args) flags[p] = flags[p] || flag(arg);
      }
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
  const std::span<const AnyView> inputs_;
  const std::atomic<bool> *cancel_;
  std::vector<Extents> extents_;             // [node]
  std::vector<bool> reached_;                // [node]: does the input reach it?
  std::vector<Flags> flags_;                 // [node]
  std::vector<std::optional<Here>> here_;    // [node]: of those that move
  std::vector<bool> is_weighed_;             // [node]: does an operation choose by it or from it?
  std::vector<std::vector<double>> weighed_; // [node]: of these, two parts for each element
  Corners found_;
};

} // namespace

Corners find_corners(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
                     std::size_t moved, const std::atomic<bool> *cancel) {
  return Finder(spec, inputs, moved, cancel).run();
}

} // namespace broadloom::grad
