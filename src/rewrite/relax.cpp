// See relax.hpp.
#include "rewrite/relax.hpp"

#include "rewrite/live_nodes.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"

#include <array>
#include <cmath>
#include <iterator>
#include <optional>

namespace broadloom::rewrite {

namespace {

using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using ops::Op;

constexpr int greatest_power = 8;

enum Kind { Quotient, Fused, Power, Joined, Dot };
constexpr std::array<const char *, 5> kinds{
    "quotients by a number became products: ", "products and sums became fma: ",
    "powers became products: ", "chains of numbers were joined: ",
    "sums of products became dot products by fma: "};

class Relaxer {
public:
  explicit Relaxer(spec::TypedSpec &spec)
      : spec_(spec), old_(spec.graph), graph_(expr::Graph::with_recipes_of(spec.graph)) {}

  void run() {
    users_.resize(old_.size());
    for (const NodeId id : old_.ids())
      for (const NodeId arg : old_.args(id)) ++users_[arg.index];
    for (const spec::TypedOutput &output : spec_.outputs) ++users_[output.value.index];
    for (const spec::Mark &mark : spec_.marks)
      if (!mark.by_schedule) ++users_[mark.value.index]; // a schedule changes no bit

    rebuild(spec_, old_, [&](NodeId id, const std::vector<NodeId> &args) {
      const Node &node = old_[id];
      where_ = &old_.where(id);
      once_.clear();
      for (const NodeId arg : old_.args(id)) once_.push_back(users_[arg.index] == 1);
      std::optional<NodeId> other;
      if (node.kind == NodeKind::Fold) other = dot(node, args, old_.args(id)[0]);
      if (node.kind == NodeKind::Op && (node.dtype == DType::F32 || node.dtype == DType::F64) &&
          args.size() == 2 && graph_[args[0]].dtype == node.dtype)
        other = rule(node, args);
      return other ? *other : graph_.add(node, args, *where_);
    });
    spec_.graph = std::move(graph_);
    for (std::size_t k = 0; k < kinds.size(); ++k)
      if (made_[k] > 0)
        spec_.notes.push_back(support::decide(support::Reason::RelaxedArithmetic, "",
                                              std::to_string(made_[k]),
                                              kinds[k] + std::to_string(made_[k])));
  }

private:
  // Of the type of its last argument: the first of `where` is the mask.
  NodeId make(Op op, std::initializer_list<NodeId> args) {
    Node node{.kind = NodeKind::Op, .op = op, .dtype = graph_[*std::prev(args.end())].dtype};
    for (NodeId arg : args) node.axes = node.axes | graph_[arg].axes;
    return graph_.add(node, std::vector<NodeId>(args), *where_);
  }
  NodeId cast(NodeId x, DType dtype) {
    return graph_.add({.kind = NodeKind::Cast, .dtype = dtype, .axes = graph_[x].axes}, {{x}},
                      *where_);
  }
  NodeId literal(DType dtype, double value) {
    const ops::Scalar number = ops::convert(ops::scalar_from(value), DType::F64, dtype);
    return graph_.add({.dtype = dtype, .literal = number}, {}, *where_);
  }
  // The number that a node is, if it is one.
  std::optional<double> number(NodeId id) const {
    const Node &node = graph_[id];
    if (node.kind != NodeKind::Literal) return {};
    return ops::as_f64(ops::convert(node.literal, node.dtype, DType::F64));
  }
  NodeId arg(NodeId id, std::size_t i) const { return graph_.args(id)[i]; }
  std::optional<NodeId> count(Kind kind, NodeId id) {
    ++made_[kind];
    return id;
  }

  // sum(x * y), or sum(f64(x * y)) of f32, where a mask may hold. `like` asks about one argument
  // only.
  //
  //   sum(where(m, x * y, 0), i)      dot(where(m, x, 0), where(m, y, 0), i)
  std::optional<NodeId> dot(const Node &node, const std::vector<NodeId> &args, NodeId old_arg) {
    const ops::Recipe &recipe = graph_.recipe(node.recipe);
    if (ops::only_op(recipe) != Op::Add || recipe.args != recipe.states || args.size() != 1 ||
        node.like.given() || !once_[0])
      return {};
    const DType sum = recipe.states[0];
    NodeId product = args[0];
    const auto enter = [&](std::size_t k) { // false: another needs what is inside
      product = arg(product, k);
      old_arg = old_.args(old_arg)[k];
      return users_[old_arg.index] == 1;
    };
    const bool widened = graph_[product].kind == NodeKind::Cast;
    if (widened && !enter(0)) return {};
    std::optional<NodeId> mask;
    if (graph_.is(product, Op::Where) && graph_.is_zero(arg(product, 2))) {
      mask = arg(product, 0);
      if (!enter(1)) return {};
    }
    const DType dtype = graph_[product].dtype;
    const bool fits = sum == DType::F64 ? dtype == (widened ? DType::F32 : DType::F64)
                                        : sum == DType::F32 && dtype == DType::F32 && !widened;
    if (!fits || !graph_.is(product, Op::Mul)) return {};
    std::vector<NodeId> factors{arg(product, 0), arg(product, 1)};
    for (NodeId &factor : factors) {
      if (number(factor)) return {};
      if (mask) factor = make(Op::Where, {*mask, factor, literal(dtype, 0)});
      if (widened) factor = cast(factor, sum);
    }
    Node fold = node;
    fold.recipe = graph_.add_recipe(ops::dot_product(sum));
    ++made_[Dot];
    return graph_.add(fold, factors, *where_);
  }

  std::optional<NodeId> rule(const Node &node, const std::vector<NodeId> &args) {
    const NodeId x = args[0], y = args[1];
    switch (node.op) {
    case Op::Div: return quotient(node, x, y);
    case Op::Pow: return power(x, y);
    case Op::Mul: return joined(node, x, y);
    case Op::Add:
      if (auto sum = joined(node, x, y)) return sum;
      if (graph_.is(x, Op::Mul) && once_[0])
        return count(Fused, make(Op::Fma, {arg(x, 0), arg(x, 1), y}));
      if (graph_.is(y, Op::Mul) && once_[1])
        return count(Fused, make(Op::Fma, {arg(y, 0), arg(y, 1), x}));
      return {};
    case Op::Sub:
      if (graph_.is(x, Op::Mul) && once_[0])
        return count(Fused, make(Op::Fma, {arg(x, 0), arg(x, 1), make(Op::Neg, {y})}));
      if (graph_.is(y, Op::Mul) && once_[1])
        return count(Fused, make(Op::Fma, {make(Op::Neg, {arg(y, 0)}), arg(y, 1), x}));
      return {};
    default: return {};
    }
  }

  // Only where the reciprocal is an ordinary number too.
  std::optional<NodeId> quotient(const Node &node, NodeId x, NodeId y) {
    const std::optional<double> divisor = number(y);
    if (!divisor) return {};
    const double inverse = 1 / *divisor;
    const bool normal = node.dtype == DType::F64
                            ? std::isnormal(inverse) && std::isnormal(*divisor)
                            : std::isnormal(float(inverse)) && std::isnormal(float(*divisor));
    if (!normal) return {};
    return count(Quotient, make(Op::Mul, {x, literal(node.dtype, inverse)}));
  }

  std::optional<NodeId> power(NodeId x, NodeId y) {
    const std::optional<double> exponent = number(y);
    if (!exponent || std::fabs(*exponent) > greatest_power || *exponent != std::trunc(*exponent) ||
        *exponent == 0)
      return {};
    const int n = int(std::fabs(*exponent));
    std::optional<NodeId> product;
    // 1 / x comes first: 1e5^8 is infinite in f32, where 1e5^-8 is a subnormal number.
    NodeId square = *exponent < 0 ? make(Op::Div, {literal(graph_[x].dtype, 1), x}) : x;
    for (int bits = n; bits > 0; bits >>= 1) {
      if (bits & 1) product = product ? make(Op::Mul, {*product, square}) : square;
      if (bits > 1) square = make(Op::Mul, {square, square});
    }
    return count(Power, *product);
  }

  // (z op a) op b with numbers a and b.
  std::optional<NodeId> joined(const Node &node, NodeId x, NodeId y) {
    const std::size_t side = number(x) ? 1 : 0; // where the chain is
    const NodeId chain = side == 0 ? x : y;
    const std::optional<double> b = number(side == 0 ? y : x);
    if (!b || !graph_.is(chain, node.op) || !once_[side]) return {};
    const std::optional<double> left = number(arg(chain, 0)), right = number(arg(chain, 1));
    if (!left && !right) return {};
    const NodeId z = arg(chain, left ? 1 : 0);
    const double a = left ? *left : *right;
    const double both = node.op == Op::Add ? a + *b : a * *b;
    const bool is_zero = both == 0 && (node.op == Op::Add || a == 0 || *b == 0);
    if (!std::isfinite(float(both)) || (!is_zero && !std::isnormal(float(both)))) return {};
    return count(Joined, make(node.op, {z, literal(node.dtype, both)}));
  }

  spec::TypedSpec &spec_;
  const expr::Graph &old_;
  expr::Graph graph_;
  std::vector<std::size_t> users_;
  std::vector<bool> once_; // is the node the only user of this argument?
  std::array<int, kinds.size()> made_{};
  const Place *where_ = nullptr;
};

} // namespace

void relax(spec::TypedSpec &spec) { Relaxer(spec).run(); }

} // namespace broadloom::rewrite
