// The spec stage: the public LoopSpec's data, and what `analyse` makes of it.
//
//   text --parse--> SpecData --analyse--> TypedSpec
//
// SpecData is what the user said, with places. TypedSpec is checked: every operation has its types,
// every node its axes, every mode is written out as folds, and no user mistake that can be seen
// without data is left. The stages after it meet only our own bugs and the data of a call.
#pragma once

#include "expr/graph.hpp"
#include "expr/node.hpp"
#include "expr/pad.hpp"
#include "expr/window.hpp"
#include "spec/schedule.hpp"

#include <broadloom/kernel.hpp>

#include <map>
#include <string>
#include <vector>

namespace broadloom {

struct OutputDecl {
  std::string name;
  bool has_axes = false;     // brackets were written, maybe empty: `out s[] = ...`
  std::vector<AxisRef> axes; // in the order written
  std::optional<DType> dtype;
  bool add = false;    // `+=`
  bool update = false; // of the state of this name
  Mode mode;
  Expr value;
  // `out h[k[i], j] += e`: the window of h. The value is then sum(e, like=h[k[i], j]).
  std::shared_ptr<const InputDecl> at;
  Order store = Order::none;                  // `in f`: how it lies where we allocate it
  std::shared_ptr<const InputDecl> said = {}; // `out y[i < 3]`: extents of some of its axes
  Place where;
};

// `fuse a, b` or `separate a, b`.
struct Pairing {
  bool fuse = false;
  std::string a, b; // lets or outputs
  Place where;
};

using detail::SpecData;

struct detail::SpecData {
  std::string name = "kernel";
  // The text it was read from, for errors; null for the API.
  std::shared_ptr<const std::string> source;
  Place where;
  Order order = Order::f;
  bool order_given = false; // printed only where it was written
  bool stretch = true;
  Accuracy accuracy = Accuracy::high;
  bool relaxed = false;
  std::optional<Scales> scales; // none: by `relaxed`
  std::vector<Pairing> pairings;
  Schedule schedule;
  std::vector<std::shared_ptr<const InputDecl>> inputs; // declared by `in`
  std::vector<std::shared_ptr<const InputDecl>> axes;   // said extents (make_said): `axis u < 2`
  std::vector<Expr> lets;                               // Let nodes in order of definition
  std::vector<OutputDecl> outputs;
  // Of one step of a loop over time (spec/recurrence.hpp): the label of the axis that it is a step
  // along.
  std::string step_axis = {};
};

namespace spec {

// Calls visit(expr) with the values of outputs and with those that they begin from.
template <class Visit> void for_each_value(const std::vector<OutputDecl> &outputs, Visit visit) {
  for (const OutputDecl &output : outputs) {
    visit(output.value);
    for (const Expr &init : output.mode.use.init) visit(init);
  }
}

// Of a window (expr/window.hpp): the input that it sees, and the position along each dim of it.
//
// A *derived* window is one that the analysis makes of another read
// (rewrite/transpose_windows.hpp): it gives no axis an extent, and its positions may be outside of
// the array or between two elements, where it reads 0:
//
//   x[i] at i := (p - u - n) / 2, n the extent of y     start 0, terms p and -u, counts -1 of y,
//                                                       divisor 2, may_leave
struct TypedWindow {
  struct Term {
    int axis = 0;
    std::int64_t times = 0;
  };
  struct Index { // an element of an input, before this one; its axes are among those of the gather
    std::uint32_t input = 0;
    std::int64_t times = 0;
  };
  struct Count { // so many times the extent of a dim of an input
    std::uint32_t input = 0;
    int dim = 0;
    std::int64_t times = 0;
    friend bool operator==(const Count &, const Count &) = default;
  };
  struct Form {
    std::int64_t start =
        0; // where all axes are at 0; from_end: counted from behind the last element
    bool from_end = false;
    bool stays_inside = false; // `i + 0`, see AffineForm
    std::vector<Term> terms;
    std::vector<Index> indices; // none but in gathers
    Outside outside = Outside::Fails;
    std::vector<Count> counts; // extents that are added
    // Of derived windows only.
    std::int64_t divisor = 1; // the position is the sum over this, if that is a whole number
    bool may_leave = false;
    bool stretches = false; // a dim of 1 is read at position 0 throughout

    bool is_axis() const {
      return start == 0 && !from_end && !stays_inside && terms.size() == 1 && terms[0].times == 1 &&
             counts.empty() && indices.empty() && divisor == 1;
    }
  };
  // Where a dim of a derived window has its extent from: a number, an axis, or (both -1) a dim of
  // an input that the call is given.
  struct ExtentOf {
    int axis = -1;
    std::uint32_t input = 0;
    int dim = 0;
    std::int64_t number = -1;
  };
  // Elements before and behind those of a dim (expr/pad.hpp). Positions are those in the padded
  // array.
  struct Pad {
    int dim = 0;
    std::int64_t before = 0, after = 0;
    PadMode mode = PadMode::Constant;
    ops::Scalar value; // Constant
    friend bool operator==(const Pad &, const Pad &) = default;
  };
  std::uint32_t of = 0;
  std::vector<Pad> pads;   // in the order in which they are filled
  std::string seen;        // with pads: the text of the padded array
  std::vector<Form> forms; // [dim of it]
  bool derived = false;
  std::vector<ExtentOf> extents;  // derived: [dim of the window]
  std::uint32_t derived_from = 0; // derived: the window that the text has, where it is a gather
  // Only after split_scatters (rewrite/scatters.hpp): no window, but all of the array that this sum
  // gives.
  std::optional<std::uint32_t> sum;

  // Does it take its positions from elements of other inputs? Then a call copies what it reads.
  bool is_gather() const {
    for (const Form &form : forms)
      if (!form.indices.empty()) return true;
    return false;
  }
  const Pad *pad_of(int dim) const {
    for (const Pad &pad : pads)
      if (pad.dim == dim) return &pad;
    return nullptr;
  }
  // The extent of a dim with its padding.
  std::int64_t padded(int dim, std::int64_t extent) const {
    const Pad *pad = pad_of(dim);
    return pad == nullptr ? extent : pad->before + extent + pad->after;
  }
  // Is it seen in a copy with zeros around and between the elements?
  bool needs_zeros() const {
    for (const Form &form : forms)
      if (form.may_leave) return true;
    return false;
  }
};

struct TypedInput {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int> axis_of_dim;      // the axis that each dim walks
  std::vector<std::int64_t> extents; // declared extent or -1
  std::vector<bool> may_stretch;     // may this dim be 1 where others are not?
  bool labelled = false;             // its dims have labels
  bool by_order = false;             // its dims were aligned by `order`
  InputRole role = InputRole::plain;
  Sign sign = Sign::any;        // declared of all its elements
  bool in_windows_only = false; // unlabelled, and read at positions only: it need not lie on axes
  std::optional<TypedWindow> window; // none: a call is given its array
  bool materialised = false; // a let, computed by a kernel of its own (spec/materialise.hpp)
  std::optional<std::uint32_t>
      of_output; // or it has the shape of this output's, which is written at positions
  std::vector<TypedWindow::Form> said; // or its extents are said: a start and counts, [dim]
  bool is_lent() const { return of_output || !said.empty(); } // no call is asked for it
  Place where;

  expr::AxisSet axes() const { return expr::AxisSet::of(axis_of_dim); }
};

struct TypedOutput {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int> axes; // the axis of each dim, in the order of the output's dims
  expr::NodeId value;    // of `dtype`, its axes a subset of `axes` (all of them after Expand)
  bool add = false;
  // For `add`: what is added to the buffer's contents, before the sum is cast to `dtype`. Where a
  // reduction is the whole output, it is the fold, in the type in which its accumulate type meets
  // `dtype` so that neither loses anything; else it is `value`.
  expr::NodeId addend;
  // Of broadcast(like=t), t: at a call the output must not have more elements along its axes.
  std::vector<std::uint32_t> like = {};
  bool update = false; // of the state of this name, whose dtype and axes it has
  Order store = Order::none;
  Place where;
};

struct Axis {
  std::string name;      // a label, or "0", "1", .. by position
  bool labelled = false; // its labelled dims have one extent throughout the kernel
  // Of an unlabelled dim of an input that is read at positions only: positions of axes do not
  // count it.
  bool implied = false;
};

// keep(e) or recompute(e), or what the schedule says of a let: what is held in memory, and what a
// derivative may take from the forward pass.
struct Mark {
  expr::NodeId value;
  bool keep = false;
  Place where;
  bool by_schedule = false;   // not by keep() or recompute() around it
  std::optional<int> at = {}; // kept for one turn of the loops over this axis only
};

// A let that the schedule, `fuse` or `separate` names. In another mode its name may stand for
// another value.
struct NamedValue {
  std::string let;
  expr::NodeId value;
};

struct Materialised; // spec/materialise.hpp

struct TypedSpec {
  std::string name;
  std::shared_ptr<const std::string> source; // as in SpecData
  Order order = Order::f;
  std::vector<Axis> axes;         // the iteration space
  std::vector<TypedInput> inputs; // those that a call is given, then windows of them
  // The lets among its inputs, each after those that it needs. Empty for a kernel that is such a
  // let itself: what it needs is given to it.
  std::vector<std::shared_ptr<const Materialised>> materialised;
  std::vector<TypedOutput> outputs;
  expr::Graph graph;
  Accuracy accuracy = Accuracy::high;
  bool relaxed = false;
  std::vector<Pairing> pairings; // those of the schedule, too
  Wishes wishes;
  std::vector<Mark> marks;      // of nodes that outputs need
  std::vector<NamedValue> lets; // of such nodes
  std::vector<Decision> notes;  // choices made here, for `why`
  std::vector<SpecError>
      faults; // E0036: combines that join wrongly, which is no mistake before a run shows it
  // Of one step of a loop over time (spec/recurrence.hpp): the axis that it is a step along. Its
  // operands have one position of it.
  std::optional<int> time;
  // Of the kernel of a part of a call (kernel/by_parts.hpp): the axes of a fold whose positions the
  // whole asks for, so that it merges none of them with another.
  std::map<expr::NodeId, expr::AxisSet> apart;

  // Where a node was written, with its source line: places in the graph have none, to keep it
  // small.
  Place where(expr::NodeId id) const;
  // The axes that some of these inputs have, as those of a like=.
  expr::AxisSet axes_of(std::span<const std::uint32_t> inputs) const;
  // "x", "(x, y)"
  std::string names_of(std::span<const std::uint32_t> inputs) const;
  // Of sum(.., like=x[i + u]): the window. Null for any other node.
  const TypedInput *summed_through(const expr::Node &node) const;
  // The axes that people see: those that are not implied, and those of outputs.
  expr::AxisSet shown_axes() const;
  // How many inputs a call is given, and those.
  std::size_t given_inputs() const;
  // Whether a let of this name is an array, which a kernel of its own computes. Linear in their
  // number.
  bool is_array(const std::string &let) const;
  std::span<const TypedInput> given() const { return std::span(inputs).first(given_inputs()); }
  // Those of them that the caller gives. Behind them are the lets that are arrays, then the shapes
  // that outputs lend which are written at positions, then the extents that are said.
  std::size_t callers_inputs() const;
  std::span<const TypedInput> callers() const { return std::span(inputs).first(callers_inputs()); }
  // The first of the shapes that outputs lend; null where there is none.
  const TypedInput *lent_input() const;
  // The input that a call is given for this one: itself, or what it is a window of.
  std::size_t array_of(std::size_t input) const {
    return inputs[input].window ? inputs[input].window->of : input;
  }
  // The axes that need no more than to stay inside: those that stand in some position with a number
  // or another axis, and those of positions of a let. Any other has the extent of the dims at whose
  // positions it stands alone, as if it were their label.
  expr::AxisSet free_axes() const;
};

// The array for this input has another extent along dim `dim` than its declaration says.
[[noreturn]] void fail_declared_extent(const TypedInput &input, int dim, std::int64_t given);

// Two inputs disagree about the extent of `axis`: dim `dim` of input `input` has `extent` elements.
// Throws ShapeError E0102, the same at analysis and at a call.
struct DimExtent {
  std::size_t input = 0;
  std::size_t dim = 0;
  std::int64_t extent = 0;
};
[[noreturn]] void fail_extents(const TypedSpec &spec, const DimExtent &a, const DimExtent &b,
                               const Place &where);

// The output is to have the shape of its like=, whose dim has 1 element where the output gets more
// from `by`. E0102 too.
[[noreturn]] void fail_like(const TypedSpec &spec, const TypedOutput &output, const DimExtent &by,
                            const DimExtent &like);

} // namespace spec
} // namespace broadloom
