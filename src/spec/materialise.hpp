// Lets that are arrays: those that are read at positions, and those that are declared with their
// dims, as in `let h[i, j] = ..`.
//
//   let h = exp(x) * w                      in h : f32[:]
//       computed first, by a kernel of its own: out h = exp(x) * w
//   out y = h[i + 1] - h[i]                 out y = h[i + 1] - h[i]
//
// Such a let is an array: it is computed first, whole, in its dtype, and then read like an input
// (kernel/windows.hpp). Where it is read as it is, it is that array too. What it reads and what
// reads it are kernels that know nothing of each other, so each solves the extents of its own
// windows: i of `let h = x[i + 1] - x[i]` is another i than that of `out y = h[i + 1] - h[i]`.
#pragma once

#include "expr/walk.hpp"
#include "expr/window.hpp"
#include "spec/recurrence.hpp"
#include "spec/spec.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace broadloom::spec {

// The let `let z[i, j] = concat(i, a, b)`: its parts, lets before it, lie side by side along one
// dim, or each at a position of it. Nothing computes it: its kernel only says what one part is, of
// which it has the dtype and all dims but that one.
//
// Or each part lies at positions: `let z[r] = parts(a at [2*i], b at [2*i + 1])`.
struct Join {
  std::vector<std::string> parts;
  std::size_t dim = 0;
  bool stacks = false;
  // The position of a part along one dim of the whole: start + counts + times the index of this dim
  // of the part. The counts are extents of inputs of the call and, behind these, of lets, by their
  // numbers.
  struct Position {
    std::int64_t start = 0, times = 1;
    std::size_t own = 0;
    std::vector<TypedWindow::Count> counts;
  };
  std::vector<std::vector<Position>> positions =
      {}; // [part][dim of the whole]; empty: one behind the other
};

// A kernel with one output, the let, and the inputs of the kernel that it is a let of; behind them
// the lets that it reads.
struct Materialised {
  SpecData data;
  TypedSpec typed;
  std::optional<Recurrence> recurrence = {}; // it reads itself, or what reads it
  std::optional<Join> join = {};
};

// The axes of the let as positions of its array, as the let itself calls them; none where it has
// none, or one has no name.
std::vector<AffineForm> own_positions(const TypedSpec &let);

// What a loop begins with as a let of its own. It has the dims that the loop reads, and lists them
// unless it is a name of an array that does.
Expr let_of_start(const TypedSpec &start, const std::string &name, const Expr &value,
                  const Place &where);

// What a window reads of lets: their elements or, in its positions, their extents.
std::set<std::string> lets_read(const InputDecl &decl);

// Whether it reads lets that are inputs now: it is a window of one, or the extent of one stands in
// its positions.
bool reads_arrays(const InputDecl &window);
using LetsByName = std::unordered_map<std::string, Expr>;
// The window that it is where such inputs are these lets.
Expr window_of_lets(const InputDecl &window, const LetsByName &lets);
// The same read of something else.
Expr read_over_lets(const Expr &of, const InputDecl &window, const LetsByName &lets,
                    const Place &where);
// Its positions and borders alone.
Window with_lets(const Window &window, const LetsByName &lets);

// Calls visit(expr) with all that a kernel consists of.
template <class Visit> void for_each_root(const SpecData &data, Visit visit) {
  for (const Expr &let : data.lets) visit(let);
  for (const OutputDecl &output : data.outputs) {
    visit(output.value);
    if (output.said)
      for_each_extent(*output.said, [&](const AffineForm::Extent &extent) { visit(extent.of); });
    for (const Expr &init : output.mode.use.init) visit(init);
  }
}

// Calls visit(node) with each node of them once, arguments before their users.
template <class Visit> void for_each_node(const SpecData &data, Visit visit) {
  expr::Walker walker;
  for_each_root(data, [&](const Expr &root) { walker.walk(root.node(), visit); });
}

// The same kernel over other values: now(expr) in place of each. The extents that outputs say stay.
template <class Now> void change_values(SpecData &data, Now now) {
  for (Expr &let : data.lets) let = now(let);
  for (OutputDecl &output : data.outputs) {
    output.value = now(output.value);
    for (Expr &init : output.mode.use.init) init = now(init);
  }
}

struct Split {
  std::vector<std::shared_ptr<const Materialised>> lets; // each after those that it reads
  SpecData rest;                                         // the kernel that reads them as inputs
};

// Those of a kernel, whether it lists them or an expression holds them; of several of one name, the
// first that is met.
LetsByName lets_by_name(const SpecData &data);

// None where no let is read at positions. `data` has all inputs declared and no calls
// (expand_calls). `analyse` types a kernel without such lets and throws what it throws.
std::optional<Split> split_lets(const SpecData &data,
                                const std::function<TypedSpec(const SpecData &)> &analyse);
// The same to be run: the kernel of each let has what the schedule says of its loops, the rest what
// it says of lets that are arrays.
std::optional<Split> split_scheduled(const SpecData &data,
                                     const std::function<TypedSpec(const SpecData &)> &analyse);

// The kernel again, of which `data` is what was split and the split what has become of its parts.
SpecData joined(const SpecData &data, const Split &split);

// Of the kernel and of its lets that are arrays, one at each place; and each as a warning in the
// log.
std::vector<SpecError> all_faults(const TypedSpec &spec);
void warn_of_faults(const TypedSpec &spec);

} // namespace broadloom::spec
