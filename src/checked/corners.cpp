// See corners.hpp. Every value of the graph is measured on its own; then corners go from arguments
// to what is made of them.
#include "checked/corners.hpp"

#include "array/copy.hpp"
#include "array/layout.hpp"
#include "grad/slope.hpp"
#include "grad/widen.hpp"
#include "reference/join.hpp"
#include "reference/reference.hpp"
#include "reference/shapes.hpp"
#include "reference/windows.hpp"
#include "spec/materialise.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <unordered_map>

namespace broadloom::checked {
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

// Where the element of a node lies that meets a point of `space`: in C order, repeated where the
// node has extent 1.
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
    for (const double part : grad::parts(elements)) {
      zero.push_back(part == 0);
      if (std::isfinite(part) && part != 0) total += std::fabs(part), count += 1;
    }
    if (count > 0) size = total / count;
  }

  // Each part by a share of its own of its size; a zero by a share of the size of others.
  void move(const Array &elements, std::uint64_t seed, double t) const {
    const std::span<double> x = grad::parts(elements);
    std::mt19937_64 engine(seed);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double by = 0.5 + double(engine() >> 11) * 0x1p-54;
      x[k] += (engine() >> 63 ? t : -t) * by * (zero[k] ? size : std::fabs(x[k]));
    }
  }
};

class Finder {
public:
  // `moved`, by input: is it, or does it move with what is?
  Finder(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
         const std::vector<bool> &moved, const std::atomic<bool> *cancel)
      : spec_(spec), inputs_(inputs), cancel_(cancel), here_(spec.graph.size()),
        weighed_(spec.graph.size()) {
    extents_ = reference::shapes_of(spec, array::layouts_of(inputs)).extents;
    for (std::uint32_t n = 0; n < spec.graph.size(); ++n) {
      const expr::Node &node = spec.graph[{n}];
      bool reached = node.kind == NodeKind::Input && moved[spec.array_of(node.payload)];
      for (const NodeId arg : spec.graph.operands({n})) reached = reached || reached_[arg.index];
      reached_.push_back(reached);
      flags_.emplace_back(std::size_t(points_of(extents_[n])));
      is_weighed_.push_back(false);
      if (chooses({n}))
        for (const NodeId arg : spec.graph.operands({n})) is_weighed_[arg.index] = true;
    }
  }

  // `behind`, by input: not 0 where an element is behind a corner already.
  Corners run(std::span<const AnyView> behind) {
    const auto mark = [&](NodeId id, const Array &elements) {
      if (spec_.graph[id].kind != NodeKind::Input) return;
      std::vector<double> values;
      append(values, elements);
      for (std::size_t k = 0; k < flags_[id.index].size(); ++k)
        flags_[id.index][k] = values[2 * k] != 0;
    };
    if (!behind.empty()) reference::evaluate_nodes(spec_, behind, mark, cancel_);
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
    const std::vector<grad::Measured> measured =
        grad::measure([&](double t) { return values(first, end, t); });
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
      // Measured as moved: where value and slope are both 0, as of x * x at 0, there is no size to
      // measure errors by.
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
           grad::is_continuous(node.dtype);
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
    if (literal || !grad::is_continuous(elements.dtype())) return;
    const std::span<const double> x = grad::parts(elements);
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

namespace {

// The lets that are arrays, one after the other: what is behind a corner in one is so in what is
// made of it.
class LetCorners {
public:
  LetCorners(const spec::TypedSpec &spec, std::span<const AnyView> inputs, std::size_t moved,
             const std::atomic<bool> *cancel)
      : inputs_(inputs), moved_(moved), cancel_(cancel) {
    for (const AnyView &input : inputs) zeros_.emplace_back(input.dtype, input.layout.shape());
    for (std::size_t k = 0; k < spec.materialised.size(); ++k) {
      const auto &let = spec.materialised[k];
      if (let->recurrence) {
        if (let->recurrence->first == k) add_loop(spec, k);
        continue;
      }
      Let made;
      if (let->join) {
        std::vector<AnyView> parts, behind;
        for (const std::string &part : let->join->parts) {
          const Let &known = lets_.at(part);
          parts.push_back(known.array);
          behind.push_back(known.behind);
          made.moved = made.moved || known.moved;
        }
        const auto extent_of = [&](std::uint32_t array, std::size_t dim) {
          if (array < inputs_.size()) return inputs_[array].layout.extents[dim];
          const auto &before = spec.materialised[array - inputs_.size()];
          return lets_.at(before->typed.outputs[0].name).array.layout().extents[dim];
        };
        made.array = reference::joined(*let, parts, extent_of);
        made.behind = reference::joined(*let, behind, extent_of);
        lets_.emplace(let->typed.outputs[0].name, std::move(made));
        continue;
      }
      const Given given = given_to(let->typed);
      Corners corners = Finder(let->typed, given.views, given.moved, cancel).run(given.behind);
      made.array = std::move(reference::evaluate(let->typed, given.views, {}, cancel)[0]);
      made.behind = Array(made.array.dtype(), made.array.shape());
      mark(made.behind, corners.behind[0]);
      made.moved = std::ranges::any_of(given.moved, std::identity());
      may_overflow_ = may_overflow_ || corners.may_overflow;
      lets_.emplace(let->typed.outputs[0].name, std::move(made));
    }
  }

  Corners of(const spec::TypedSpec &spec) const {
    const Given given = given_to(spec);
    Corners corners = Finder(spec, given.views, given.moved, cancel_).run(given.behind);
    corners.may_overflow = corners.may_overflow || may_overflow_;
    return corners;
  }

private:
  struct Let {
    Array array, behind;
    bool moved = false;
  };
  struct Given {
    std::vector<AnyView> views, behind;
    std::vector<bool> moved;

    void add(const AnyView &view, const AnyView &of_it, bool moves) {
      views.push_back(view);
      behind.push_back(of_it);
      moved.push_back(moves);
    }
    void add(const Let &let) { add(let.array, let.behind, let.moved); }
  };

  // Sets those elements to 1.
  static void mark(const Array &behind, const Flags &marked) {
    const DType dtype = behind.dtype();
    const ops::Scalar one = ops::convert(ops::scalar_from(std::int64_t(1)), DType::I64, dtype);
    for (std::size_t k = 0; k < marked.size(); ++k)
      if (marked[k]) ops::store(static_cast<char *>(behind.raw()) + k * size_of(dtype), dtype, one);
  }

  // Lets that go step by step together: what they read of earlier steps is known, and so all steps
  // are looked at at once, until no more elements have a corner behind them.
  void add_loop(const spec::TypedSpec &spec, std::size_t first) {
    std::vector<AnyView> before;
    for (std::size_t k = 0; k < first; ++k)
      before.push_back(lets_.at(spec.materialised[k]->typed.outputs[0].name).array);
    const std::vector<Array> arrays =
        reference::evaluate_loop(spec.materialised, first, inputs_, before, cancel_);
    std::vector<Array> behind, alone;
    std::vector<Flags> flags(arrays.size());
    for (std::size_t m = 0; m < arrays.size(); ++m) {
      const spec::Recurrence &loop = *spec.materialised[first + m]->recurrence;
      behind.emplace_back(arrays[m].dtype(), arrays[m].shape());
      alone.push_back(reference::steps_alone(loop, behind[m]));
    }
    bool moved = false;
    for (bool more = true; more;) {
      more = false;
      for (std::size_t m = 0; m < arrays.size(); ++m) {
        const spec::Materialised &let = *spec.materialised[first + m];
        Given given = given_to_step(spec, first + m, arrays, behind);
        moved = moved || std::ranges::any_of(given.moved, std::identity());
        for (const spec::Recurrence::Read &read : let.recurrence->reads)
          given.moved[read.input] = moved;
        const Corners corners =
            Finder(let.typed, given.views, given.moved, cancel_).run(given.behind);
        may_overflow_ = may_overflow_ || corners.may_overflow;
        more = more || flags[m] != corners.behind[0];
        flags[m] = corners.behind[0];
        mark(alone[m], flags[m]);
        const spec::Recurrence &loop = *let.recurrence;
        const AnyView steps = array::rows_of(behind[m], loop.dim, loop.backwards ? 0 : loop.lag,
                                             behind[m].shape()[loop.dim] - loop.lag);
        array::copy_elements(alone[m], steps.data, steps.layout);
      }
    }
    for (std::size_t m = 0; m < arrays.size(); ++m) {
      const spec::Materialised &let = *spec.materialised[first + m];
      Let made;
      made.array = reference::steps_alone(*let.recurrence, arrays[m]);
      made.behind = std::move(alone[m]);
      made.moved = moved;
      lets_.emplace(let.typed.outputs[0].name, std::move(made));
    }
  }

  // All steps of one of them. Corners behind what it begins with are behind its first steps.
  Given given_to_step(const spec::TypedSpec &spec, std::size_t k, const std::vector<Array> &arrays,
                      const std::vector<Array> &behind) {
    const spec::Materialised &let = *spec.materialised[k];
    const spec::Recurrence &loop = *let.recurrence;
    Given given;
    for (std::uint32_t i = 0; i < let.typed.given_inputs(); ++i) {
      const spec::TypedInput &input = let.typed.inputs[i];
      if (input.is_lent()) break; // with_said
      const auto read = std::ranges::find(loop.reads, i, &spec::Recurrence::Read::input);
      if (read != loop.reads.end()) {
        const std::size_t of = read->let - loop.first;
        const spec::Recurrence &other = *spec.materialised[read->let]->recurrence;
        const std::int64_t count = arrays[of].shape()[other.dim] - other.lag + read->more;
        given.add(array::rows_of(arrays[of], other.dim, 0, count),
                  array::rows_of(behind[of], other.dim, 0, count), false);
      } else if (loop.positions == i) {
        const std::int64_t steps = arrays[k - loop.first].shape()[loop.dim] - loop.lag;
        Array &positions = kept_.emplace_back(DType::I64, std::vector{steps});
        for (std::int64_t t = 0; t < steps; ++t) positions.data<std::int64_t>()[t] = t;
        given.add(positions, kept_.emplace_back(DType::I64, std::vector{steps}), false);
      } else if (!input.materialised) {
        given.add(inputs_[i], zeros_[i], i == moved_);
      } else {
        given.add(lets_.at(input.name));
      }
    }
    return with_said(let.typed, std::move(given));
  }

  Given given_to(const spec::TypedSpec &reader) const {
    Given given;
    for (std::size_t i = 0; i < inputs_.size(); ++i) given.add(inputs_[i], zeros_[i], i == moved_);
    for (const spec::TypedInput &input : reader.given())
      if (input.materialised) given.add(lets_.at(input.name));
    return with_said(reader, std::move(given));
  }

  static Given with_said(const spec::TypedSpec &reader, Given given) {
    given.views = reference::with_said(reader, std::move(given.views));
    given.behind = reference::with_said(reader, std::move(given.behind));
    given.moved.resize(given.views.size());
    return given;
  }

  const std::span<const AnyView> inputs_;
  const std::size_t moved_;
  const std::atomic<bool> *cancel_;
  std::vector<Array> zeros_;
  std::unordered_map<std::string, Let> lets_;
  std::deque<Array> kept_; // the numbers of steps
  bool may_overflow_ = false;
};

} // namespace

Corners find_corners(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
                     std::size_t moved, const std::atomic<bool> *cancel) {
  if (!spec.materialised.empty()) return LetCorners(spec, inputs, moved, cancel).of(spec);
  const std::vector<AnyView> given = reference::with_said(spec, {inputs.begin(), inputs.end()});
  std::vector<bool> moves(given.size());
  moves[moved] = true;
  return Finder(spec, given, moves, cancel).run({});
}

} // namespace broadloom::checked
