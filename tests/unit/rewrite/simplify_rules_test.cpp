// Every rule of the simplifier against the graph as it was, at the values where types end: all
// operations on all dtypes, with the numbers that a rule may look for, and all casts of casts.
#include "reference/reference.hpp"
#include "rewrite/simplify.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace broadloom::spec {
namespace {

using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using ops::Op;
using ops::Scalar;

constexpr double inf = std::numeric_limits<double>::infinity();

constexpr std::array every_dtype{bool_, i8,  i16,  i32, i64, u8,  u16, u32,
                                 u64,   f16, bf16, f32, f64, c64, c128};

// Ends of types, powers of two and what lies beside them, in this dtype.
std::vector<Scalar> boundary_values(DType dtype) {
  std::vector<Scalar> values;
  const auto add = [&](Scalar value, DType from) {
    const Scalar made = ops::convert(value, from, dtype);
    if (std::find(values.begin(), values.end(), made) == values.end()) values.push_back(made);
  };
  for (int bit = 0; bit < 64; ++bit)
    for (const std::uint64_t beside :
         {~std::uint64_t(1), ~std::uint64_t(0), std::uint64_t(0), std::uint64_t(1)}) {
      const std::uint64_t power = (std::uint64_t(1) << bit) + beside;
      add(ops::scalar_from(std::int64_t(power)), DType::I64);
      add(ops::scalar_from(std::int64_t(-power)), DType::I64);
      add({power}, DType::U64);
    }
  for (const double size :
       {0.0,     0.5,     1.5,  2.5,    100.25, 127.5, 254.5, 255.5,  32767.5, 65504.0,
        65519.9, 65520.0, 1e10, 3.4e38, 1e39,   1e300, 1e-40, 5e-324, inf,     std::nan("")})
    for (const double value : {size, -size}) add(ops::scalar_from(value), DType::F64);
  return values;
}

// A kernel of one input along one axis, made node by node.
struct Kernel {
  TypedSpec spec;
  NodeId input;

  explicit Kernel(DType dtype) {
    spec.name = "kernel";
    spec.axes = {{"i", true}};
    TypedInput x;
    x.name = "x", x.dtype = dtype, x.axis_of_dim = {0}, x.extents = {-1}, x.may_stretch = {false};
    x.labelled = true;
    spec.inputs = {x};
    Node node;
    node.kind = NodeKind::Input, node.dtype = dtype, node.axes = x.axes();
    input = spec.graph.add(node, {}, {});
  }
  NodeId literal(DType dtype, Scalar value) {
    Node node;
    node.dtype = dtype, node.literal = value;
    return spec.graph.add(node, {}, {});
  }
  NodeId cast(NodeId x, DType to) {
    if (spec.graph[x].dtype == to) return x;
    Node node;
    node.kind = NodeKind::Cast, node.dtype = to, node.axes = spec.graph[x].axes;
    return spec.graph.add(node, std::vector{x}, {});
  }
  // Whose arguments have the type in which it computes.
  NodeId op(Op op, DType result, const std::vector<NodeId> &args) {
    Node node;
    node.kind = NodeKind::Op, node.op = op, node.dtype = result;
    for (const NodeId arg : args) node.axes = node.axes | spec.graph[arg].axes;
    return spec.graph.add(node, args, {});
  }
  void out(NodeId value) {
    if (spec.graph[value].axes.empty()) return; // of numbers alone
    TypedOutput output;
    output.name = "o" + std::to_string(spec.outputs.size());
    output.dtype = spec.graph[value].dtype, output.axes = {0};
    output.value = output.addend = value;
    spec.outputs.push_back(output);
  }
};

bool same(Scalar a, Scalar b, DType dtype) {
  const DType real = real_dtype(dtype);
  const auto nan = [&](std::uint64_t part) {
    return is_float(real) && std::isnan(ops::as_f64(ops::convert({part}, real, DType::F64)));
  };
  const auto part = [&](std::uint64_t x, std::uint64_t y) { return x == y || (nan(x) && nan(y)); };
  return part(a.bits, b.bits) && part(a.imag, b.imag);
}

std::string shown(const expr::Graph &graph, NodeId id) { // no deeper than a few nodes
  const Node &node = graph[id];
  std::string text = node.kind == NodeKind::Input     ? "x"
                     : node.kind == NodeKind::Literal ? std::to_string(node.literal.bits)
                     : node.kind == NodeKind::Op      ? std::string(ops::info(node.op).enumerator)
                                                      : "cast";
  for (const NodeId arg : graph.args(id)) text += " (" + shown(graph, arg) + ")";
  return text + " : " + std::string(name(node.dtype));
}

Array array_of(const std::vector<Scalar> &values, DType dtype) {
  Array x(dtype, {std::int64_t(values.size())});
  const auto size = std::ptrdiff_t(size_of(dtype));
  for (std::size_t k = 0; k < values.size(); ++k)
    ops::store(static_cast<char *>(x.raw()) + std::ptrdiff_t(k) * size, dtype, values[k]);
  return x;
}

// The first element in which two arrays differ, or -1.
std::int64_t first_difference(const Array &a, const Array &b) {
  REQUIRE(a.dtype() == b.dtype());
  const Array x = a.copy(), y = b.copy();
  for (std::int64_t k = 0; k < x.size(); ++k) {
    const auto at = [&](const Array &array) {
      return ops::load(
          static_cast<const char *>(array.raw()) + k * std::int64_t(size_of(a.dtype())), a.dtype());
    };
    if (!same(at(x), at(y), a.dtype())) return k;
  }
  return -1;
}

// Do all outputs keep their bits when the graph is simplified?
void check(const Kernel &kernel) {
  if (kernel.spec.outputs.empty()) return;
  const DType dtype = kernel.spec.inputs[0].dtype;
  const std::vector<Scalar> values = boundary_values(dtype);
  const Array x = array_of(values, dtype);
  TypedSpec simple = kernel.spec;
  rewrite::simplify(simple);
  const AnyView view = x;
  const auto before = reference::evaluate(kernel.spec, std::span(&view, 1));
  const auto after = reference::evaluate(simple, std::span(&view, 1));
  for (std::size_t o = 0; o < before.size(); ++o) {
    const std::int64_t at = first_difference(before[o], after[o]);
    INFO(shown(kernel.spec.graph, kernel.spec.outputs[o].value)
         << " of bits " << values[std::size_t(std::max<std::int64_t>(at, 0))].bits);
    CHECK(at == -1);
  }
}

// Complex numbers do not become real ones.
bool may_cast(DType from, DType to) {
  return !is_complex(from) || is_complex(to) || to == DType::Bool;
}

std::vector<Op> ops_of(int arity) {
  std::vector<Op> found;
  for (int k = 0; k < ops::op_count(); ++k)
    if (const ops::OpInfo &row = ops::info(Op(k));
        row.arity == arity && row.math != ops::Math::Sugar)
      found.push_back(Op(k));
  return found;
}

// What an operation on arguments of this type gives; none where it computes in another type.
std::optional<DType> result_of(Op op, DType type) {
  std::vector<DType> types(std::size_t(ops::info(op).arity), type);
  if (op == Op::Where) types[0] = DType::Bool;
  const ops::Typing typing = ops::type_of(op, types);
  if (!typing.error.empty() || typing.compute != type) return std::nullopt;
  return ops::compute_dtype(typing.result);
}

// The numbers that rules look for, and their neighbours.
std::vector<Scalar> numbers(DType type) {
  std::vector<Scalar> made;
  for (const double x : {0.0,    -0.0,   1.0,    -1.0,    2.0,     0.5,     127.0,   128.0,
                         255.0,  256.0,  255.5,  -128.0,  -129.0,  32767.0, 65535.0, 0x1p31,
                         0x1p32, 0x1p63, 0x1p64, -0x1p31, -0x1p63, inf,     -inf,    std::nan("")})
    made.push_back(ops::convert(ops::scalar_from(x), DType::F64, type));
  return made;
}

TEST_CASE("a cast of a cast of a cast gives what one after the other gives, for all dtypes") {
  for (const DType a : every_dtype) {
    Kernel kernel(a);
    for (const DType b : every_dtype)
      for (const DType c : every_dtype)
        for (const DType d : {c, i8, u8, u64, f64})
          if (may_cast(a, b) && may_cast(b, c) && may_cast(c, d))
            kernel.out(kernel.cast(kernel.cast(kernel.cast(kernel.input, b), c), d));
    check(kernel);
  }
}

TEST_CASE("every engine casts twice as the definition does, for all dtypes") {
  for (const DType a : every_dtype) {
    std::vector<std::array<DType, 2>> casts;
    std::string text = "kernel k { in x : " + std::string(name(a)) + "[i]";
    for (const DType b : every_dtype)
      for (const DType c : every_dtype)
        if (b != c && may_cast(a, b) && may_cast(b, c)) {
          text += "; out o" + std::to_string(casts.size()) + " = " + std::string(name(c)) + "(" +
                  std::string(name(b)) + "(x))";
          casts.push_back({b, c});
        }
    const std::vector<Scalar> values = boundary_values(a);
    const Array x = array_of(values, a);
    for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference}) {
      const Results r = compile(parse(text + " }"), {.engine = engine})({{"x", x}});
      for (std::size_t o = 0; o < casts.size(); ++o) {
        const auto [b, c] = casts[o];
        std::vector<Scalar> wanted;
        for (const Scalar value : values)
          wanted.push_back(ops::convert(ops::convert(value, a, b), b, c));
        INFO(name(a) << " to " << name(b) << " to " << name(c));
        CHECK(first_difference(r["o" + std::to_string(o)], array_of(wanted, c)) == -1);
      }
    }
  }
}

TEST_CASE("an operation on an operation of one argument keeps its bits when it is simplified") {
  for (const DType type : every_dtype) {
    Kernel kernel(type);
    const DType compute = ops::compute_dtype(type);
    const NodeId x = kernel.cast(kernel.input, compute);
    for (const Op inner : ops_of(1)) {
      const std::optional<DType> between = result_of(inner, compute);
      if (!between) continue;
      const NodeId y = kernel.op(inner, *between, {x});
      for (const Op outer : ops_of(1))
        if (const std::optional<DType> result = result_of(outer, *between))
          kernel.out(kernel.op(outer, *result, {y}));
    }
    check(kernel);
  }
}

TEST_CASE("an operation with a number, or with itself, keeps its bits when it is simplified") {
  for (const DType type : every_dtype) {
    if (ops::compute_dtype(type) != type) continue;
    for (const Op op : ops_of(2)) {
      const std::optional<DType> result = result_of(op, type);
      if (!result) continue;
      Kernel kernel(type);
      kernel.out(kernel.op(op, *result, {kernel.input, kernel.input}));
      for (const Scalar number : numbers(type)) {
        const NodeId y = kernel.literal(type, number);
        kernel.out(kernel.op(op, *result, {kernel.input, y}));
        kernel.out(kernel.op(op, *result, {y, kernel.input}));
      }
      check(kernel);
    }
  }
}

TEST_CASE("a limit before a cast goes only where the end of the type does the same") {
  for (const DType type : {f32, f64, i16, i64, u8, u64})
    for (const DType to : every_dtype) {
      Kernel kernel(type);
      for (const DType middle : {type, f32, f64})
        for (const Op limit : {Op::Minimum, Op::Maximum, Op::Fmin, Op::Fmax})
          for (const Scalar number : numbers(middle)) {
            const NodeId x = kernel.cast(kernel.input, middle), y = kernel.literal(middle, number);
            const NodeId limited = kernel.op(limit, middle, {x, y});
            kernel.out(kernel.cast(limited, to));
            for (const Op rounding : {Op::Floor, Op::Ceil, Op::Round, Op::Trunc})
              kernel.out(kernel.cast(kernel.op(rounding, middle, {limited}), to));
          }
      check(kernel);
    }
}

TEST_CASE("what is asked of a converted number, and a choice, keep their bits when simplified") {
  for (const DType type : every_dtype) {
    Kernel kernel(type);
    for (const DType to : {bool_, i8, i64, u64, f32, f64, c128}) {
      if (!may_cast(type, to)) continue;
      const NodeId y = kernel.cast(kernel.input, to);
      for (const Op op : ops_of(1))
        if (const auto result = result_of(op, to)) kernel.out(kernel.op(op, *result, {y}));
      const NodeId truth = kernel.cast(y, DType::Bool);
      const NodeId two = kernel.literal(to, ops::convert(ops::scalar_from(2.0), DType::F64, to));
      kernel.out(kernel.op(Op::Where, to, {truth, y, y}));
      kernel.out(kernel.op(Op::Where, to, {truth, y, two}));
      for (const bool yes : {true, false})
        for (const auto &[one, other] : {std::pair{y, two}, std::pair{two, y}})
          kernel.out(kernel.op(Op::Where, to,
                               {kernel.literal(DType::Bool, ops::scalar_from(yes)), one, other}));
    }
    check(kernel);
  }
}

} // namespace
} // namespace broadloom::spec
