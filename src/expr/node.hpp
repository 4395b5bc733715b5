// What an Expr points to: the expression as the user wrote it, before any type or axis is known.
//
// Nodes are immutable and shared. A chain can be a million nodes long, so nothing may walk it by
// recursion; the destructor below frees children by a work list for that reason.
#pragma once

#include "ops/ops.hpp"

#include <broadloom/accumulator.hpp>

#include <string>
#include <vector>

namespace broadloom {

enum class Placement : std::uint8_t { ByOrder, Dims, Axes }; // how unlabelled dims find their axes

struct Window;      // expr/window.hpp
struct SaidExtents; // the same

// The declaration of an input, or a window of one; shared by all nodes that read it.
struct InputDecl {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Dim> dims;
  Placement placement = Placement::ByOrder;
  std::vector<int> axes; // for Dims and Axes, one entry per dim as written
  Place where;
  std::uint64_t created =
      0; // by bl::input: later ones have greater numbers; 0: by a list of inputs
  std::shared_ptr<const Window> window; // null: the input itself
  // `out y[i < 3]`: extents that an output or a let says of its own axes, the labels of these dims.
  // No array: no call is asked for one, and nothing reads elements of it.
  std::shared_ptr<const SaidExtents> said;
  // The array of an output that is written at positions: `out h[k[i]] += e`. Its shape alone
  // matters, and no call is asked for it.
  bool is_output = false;
  // What a window of a let is of: it has the name of the let and nothing else
  // (spec/materialise.hpp).
  bool is_let = false;
  bool materialised = false; // a let as an input of the kernel that reads it at positions
  bool is_idle = false;      // not read by this part of a kernel that was split: it meets no other
  InputRole role = InputRole::plain;
  Sign sign = Sign::any; // of a parameter: declared of all its elements

  bool labelled() const { return !dims.empty() && !dims[0].label.empty(); }
};

enum class ExprKind : std::uint8_t {
  Input,
  Literal,
  Op,
  Cast,
  Fold,
  Scan,
  Let,
  Extent,
  Iota,
  Parameter, // a state or an argument in a definition
  Call,      // of a user's function: gone after expand_calls
  Join,      // of arrays, the whole value of a let with dims (expr/join.hpp)
};

// A number as written. It has no strong type: see docs/language.md, "Numbers and types".
struct Number {
  enum class Kind : std::uint8_t { Bool, Int, Float, Imaginary } kind = Kind::Int;
  std::int64_t integer = 0; // Bool and Int
  double real = 0;          // Float; Imaginary: times the imaginary unit
  bool too_large = false;   // an integer beyond i64: it is an error wherever it is used
};

namespace detail {
struct FunctionDecl; // expr/function.hpp
}
using detail::AccumulatorDef;
using detail::ExprNode;
using detail::FunctionDecl;
struct JoinPositions; // expr/join.hpp

// The same node over other arguments.
Expr with_args(const ExprNode &node, std::vector<Expr> args);

struct detail::ExprNode {
  ExprKind kind = ExprKind::Literal;
  Place where;
  // Op: operands; Cast: one; Let: its value, then that of `from`, if it has one; Fold, Scan: what
  // is accumulated, then the values of `init=`; Input: the let that it is a window of, none where
  // it is read in its own definition, and those whose extents stand in its positions.
  std::vector<Expr> args;
  std::shared_ptr<const InputDecl> input; // Input; Let: the extents that it says, or null
  Number number;                          // Literal
  ops::Op op = ops::Op::Add;              // Op
  DType dtype = DType::F32;               // Cast
  std::shared_ptr<const FoldUse> use;     // Fold, Scan
  std::size_t folded = 0;                 // Fold, Scan: how many of the args are accumulated
  // Fold: empty means all axes of the argument; Scan, Extent, Iota, Join: one; Let: its dims, if it
  // is declared to be an array.
  std::vector<AxisRef> axes;
  std::vector<std::string> of;                  // Extent, Iota: `of=`, empty where there is none
  std::string name;                             // Let, Parameter
  std::int64_t count = -1;                      // Let: `t < 100`: the extent of a dim; -1: not said
  std::size_t counted_dim = 0;                  //      and which dim that is
  std::shared_ptr<const FunctionDecl> function; // Call
  bool stacks = false;                          // Join: along a dim that the parts lack
  Order store = Order::none;                    // Let: how its array is to lie, if that is said
  std::shared_ptr<const JoinPositions>
      places; // Join: where each part lies; null: one behind the other

  ExprNode() = default;
  ExprNode &operator=(const ExprNode &) = delete;
  ~ExprNode(); // iterative

private:
  ExprNode(const ExprNode &) = default;
  friend Expr broadloom::with_args(const ExprNode &node, std::vector<Expr> args);
};

Place place_of(const std::source_location &where);

// A reduction or a scan like this one; behind what is accumulated, `args` are the values of
// `init=`.
Expr with_use(const ExprNode &node, FoldUse use, std::vector<Expr> args, std::vector<AxisRef> axes);

// The only makers of nodes. Arguments are taken as they are: `analyse` checks them.
Expr make_input(std::shared_ptr<const InputDecl> decl, Place where, std::vector<Expr> let = {});
Expr make_literal(const Number &number, Place where);
Expr make_op(ops::Op op, std::vector<Expr> args, Place where);
Expr make_cast(DType dtype, Expr arg, Place where);
// `use.init` goes behind the arguments.
Expr make_fold(FoldUse use, std::vector<Expr> args, std::vector<AxisRef> axes, Place where);
Expr make_scan(FoldUse use, std::vector<Expr> args, AxisRef axis, Place where);
Expr make_parameter(std::string name, Place where);
Expr make_extent(AxisRef axis, std::vector<std::string> of, Place where);
Expr make_iota(AxisRef axis, std::vector<std::string> of, Place where);
// The same Extent or Iota of another axis and other inputs.
Expr with_of(const ExprNode &node, AxisRef axis, std::vector<std::string> of);
// What a let that reads itself says of how it begins and how far it goes.
struct LetLoop {
  Expr start; // `from`; an empty one: zeros
  std::int64_t count = -1;
  std::size_t counted_dim = 0;
  std::shared_ptr<const InputDecl> said = {}; // all extents that are said, that of the steps too
  Order store = Order::none;
};
Expr make_let(std::string name, Expr value, Place where, std::vector<AxisRef> axes = {},
              LetLoop loop = {});
inline constexpr std::int64_t most_steps = std::int64_t(1) << 40;
LetLoop loop_of(const ExprNode &let);

} // namespace broadloom
