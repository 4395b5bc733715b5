// From expressions to typed graph nodes: promotion, weak numbers, casts, folds and repeats.
//
// Every operation comes out with its arguments already in its compute type. A number is weak until it
// meets a type: then it takes that type, if the kind allows (NumPy 2, NEP 50). What is made of
// literals only is computed here.
#pragma once

#include "spec/reads.hpp"

#include <map>
#include <optional>

namespace broadloom::spec {

// The value of an expression. A weak one is a Literal node of i64 or f64 that may still change type.
struct Value {
  expr::NodeId node;
  bool weak = false;
  // f16 or bf16 where NumPy gives this type and the node is its f32 value, not yet rounded: operations
  // on them compute in f32, and only a cast, the end of a reduction and a store round.
  std::optional<DType> narrow = std::nullopt;
};

// A fold before it is closed by the cast to its result type (or to that of the output).
struct Folded {
  expr::NodeId node;         // of the accumulate type, or the argument itself where nothing folds
  DType result = DType::F32; // NumPy's result type
  std::uint32_t like = expr::no_input; // then its value is repeated to this input's axes
  bool open = false;                   // still as precise as it was accumulated
};

// How inputs enter an expression: as they are, or folded down to the `kept` axes (accumulate).
struct Entry {
  bool accumulate = false;
  Fold fold = Fold::Sum;
  expr::AxisSet kept;
};

class Typer {
public:
  Typer(TypedSpec &spec, const Space &space, const Reads &reads)
      : spec_(spec), space_(space), reads_(reads), visible_(spec.inputs.size()) {}

  Value type(const Expr &root, const Entry &entry);

  // The root of an output: a reduction there (lets looked through) stays open; anything else has
  // its value as `node` and its own type as `result`.
  Folded type_whole(const Expr &root, const Entry &entry);

  Folded fold(Value value, Fold fold, expr::AxisSet axes, std::uint32_t like, const Place &where);
  expr::NodeId cast(expr::NodeId node, DType to, const Place &where);

  // Repeats `node` along those of the `wanted` axes that these inputs have and it has not, or not in
  // their extents.
  expr::NodeId expand(expr::NodeId node, const std::vector<std::size_t> &inputs, const Place &where,
                      expr::AxisSet wanted = expr::every_axis);

  DType dtype(expr::NodeId node) const { return spec_.graph[node].dtype; }
  DType dtype(const Value &value) const { return value.narrow.value_or(dtype(value.node)); }

private:
  // What is known of a node's extents.
  struct Facts {
    SetId visible = 0;   // inputs that give it the extents of all their axes
    expr::AxisSet rigid; // axes on which a label gives it the extent
    SetId fixed = 0;     // extents fixed by the text
  };
  // Where extent and iota look for inputs: in the expression that they stand in, the innermost
  // reduction's argument or the whole one, then in those around it.
  // Only what these read matters, so that expressions that read the same share a scope.
  struct Scope {
    SetId inputs = 0;
    int outer = -1;
  };
  using Key = std::pair<const ExprNode *, int>; // a node and its scope, -1 where that cannot matter
  struct KeyHash {
    std::size_t operator()(const Key &key) const {
      return std::hash<const ExprNode *>()(key.first) * 31 + std::size_t(key.second);
    }
  };
  using Memo = std::unordered_map<Key, Value, KeyHash>;

  int open_scope(const ExprNode *root, int outer);
  Key key(const ExprNode *node, int scope) const {
    return {node, reads_[*node].scoped ? scope : -1};
  }
  Key key_of_arg(const ExprNode &node, std::size_t arg, int scope);

  Memo &memo(const Entry &entry);
  Value type(const Key &root, const Entry &entry);
  Value type_node(const ExprNode &node, int scope, const Entry &entry, const Memo &memo);
  std::vector<std::size_t> lenders(const ExprNode &node, int axis, int scope) const;
  Value type_extent(const ExprNode &node, int scope);
  Value type_iota(const ExprNode &node, int scope);
  Folded mean(Value value, expr::AxisSet axes, std::uint32_t like, const Place &where);
  Facts along(Facts facts, expr::AxisSet axes);
  Value type_input(const ExprNode &node, const Entry &entry);
  Value type_number(const ExprNode &node);
  Value type_op(const ExprNode &node, std::vector<Value> args);
  std::optional<Value> compare_integers(const ExprNode &node, const std::vector<Value> &args);
  Value type_weak_op(const ExprNode &node, const std::vector<Value> &args);
  Folded type_fold(const ExprNode &node, Value arg);
  expr::NodeId close(const Folded &folded, const Place &where);

  ops::Typing typing_of(const ExprNode &node, const std::vector<DType> &types) const;
  expr::NodeId convert_number(expr::NodeId literal, DType to, const ExprNode &user);
  std::optional<int> whole_exponent(expr::NodeId number) const;
  expr::NodeId power_by_products(expr::NodeId base, int exponent, const Place &where);
  expr::NodeId emit(ops::Op op, DType compute, DType result, const std::vector<expr::NodeId> &args,
                    const Place &where);
  expr::NodeId emit_sugar(const ExprNode &node, DType compute, std::vector<expr::NodeId> args);
  expr::NodeId input(std::size_t index, const Place &where);
  expr::NodeId literal(DType dtype, ops::Scalar value, const Place &where);
  expr::NodeId add(expr::Node node, std::span<const expr::NodeId> args, const Facts &facts,
                   const Place &where);
  void meet(Facts &into, const Facts &other, const Place &where);
  bool is_literal(expr::NodeId node) const {
    return spec_.graph[node].kind == expr::NodeKind::Literal;
  }

  TypedSpec &spec_;
  const Space &space_;
  const Reads &reads_;
  InputSets visible_;
  FixedExtents fixed_;
  std::vector<Facts> facts_; // by node
  std::map<std::tuple<bool, Fold, std::uint64_t>, Memo> memos_;
  std::vector<Scope> scopes_;
  std::map<std::pair<SetId, int>, int> scope_ids_;
  std::size_t steps_ = 0;
};

} // namespace broadloom::spec
