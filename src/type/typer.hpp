// From expressions to typed graph nodes: promotion, weak numbers, casts, folds and repeats.
//
// Every operation comes out with its arguments already in its compute type. A number is weak until
// it meets a type: then it takes that type, if the kind allows (NumPy 2, NEP 50). What is made of
// literals only is computed here.
#pragma once

#include "ops/recipe.hpp"
#include "spec/reads.hpp"

#include <map>
#include <optional>
#include <unordered_set>

namespace broadloom::type {

// The value of an expression. A weak one is of i64, f64 or c128 and may still change type: a
// Literal node beside all types, what is made of extents beside floats only.
struct Value {
  expr::NodeId node;
  bool weak = false;
  // f16 or bf16 where NumPy gives this type and the node is its f32 value, not yet rounded:
  // operations on them compute in f32, and only a cast, the end of a reduction and a store round.
  std::optional<DType> narrow = std::nullopt;
};

// A fold before it is closed by the cast to its result type (or to that of the output).
struct Folded {
  expr::NodeId node;         // of the accumulate type, or the argument itself where nothing folds
  DType result = DType::F32; // NumPy's result type
  std::vector<std::uint32_t> like = {}; // its value is repeated to the axes of these inputs
  bool open = false;                    // still as precise as it was accumulated
};

// How inputs enter an expression: as they are, or folded by `use` down to the `kept` axes
// (accumulate).
struct Entry {
  const FoldUse *use = nullptr;
  expr::AxisSet kept;
  const Place *where = nullptr; // of the output, for errors of the folds
};

// A fold or a scan whose parts are typed.
struct FoldJob {
  const FoldUse &use;
  std::vector<Value> args, init;
  expr::AxisSet axes; // those folded for sure, or the one that is scanned
  std::vector<std::uint32_t> like = {};
  bool is_scan = false;
  Place where;
};

class Typer {
public:
  Typer(spec::TypedSpec &spec, const spec::Space &space, const spec::Reads &reads)
      : spec_(spec), space_(space), reads_(reads), visible_(spec.inputs.size()) {}

  // Which lets the schedule or a pairing names: what their names stand for is noted.
  void watch(std::unordered_set<std::string> lets) { named_ = std::move(lets); }

  Value type(const Expr &root, const Entry &entry);

  // The root of an output: a reduction there (lets looked through) stays open; anything else has
  // its value as `node` and its own type as `result`.
  Folded type_whole(const Expr &root, const Entry &entry);

  // Folds or scans: type_fold.cpp.
  Folded fold(const FoldJob &job);
  // Whether the accumulator takes so many values and these options. Throws E0009, E0021, E0204.
  void check_use(const FoldJob &job) const;
  // The values of the `init=` of a mode.
  std::vector<Value> init_of(const FoldUse &use);

  // An expression of a definition, where the names stand for these values.
  using Parameters = std::unordered_map<std::string, Value>;
  Value type_defined(const Expr &root, const Parameters &parameters);
  expr::NodeId input(std::size_t index, const Place &where);
  // A weak number in type `to`, that of "the other operand". Throws E0202 where it does not fit.
  expr::NodeId number_as(expr::NodeId literal, DType to, const Place &where,
                         const char *met = "the other operand");
  expr::NodeId cast(expr::NodeId node, DType to, const Place &where);

  // Repeats `node` along those of the `wanted` axes that these inputs have and it has not, or not
  // in their extents.
  expr::NodeId expand(expr::NodeId node, const std::vector<std::size_t> &inputs, const Place &where,
                      expr::AxisSet wanted = expr::every_axis);
  // The same along one axis that the node lacks. Other axes of the input give it nothing.
  expr::NodeId expand_along(expr::NodeId node, std::size_t input, int axis, const Place &where);

  DType dtype(expr::NodeId node) const { return spec_.graph[node].dtype; }
  DType dtype(const Value &value) const { return value.narrow.value_or(dtype(value.node)); }

private:
  // What is known of a node's extents.
  struct Facts {
    spec::SetId visible = 0; // inputs that give it the extents of all their axes
    expr::AxisSet rigid;     // axes on which a label gives it the extent
    spec::SetId fixed = 0;   // extents fixed by the text
  };
  // Where extent and iota look for inputs: in the expression that they stand in, the innermost
  // reduction's argument or the whole one, then in those around it.
  // Only what these read matters, so that expressions that read the same share a scope.
  struct Scope {
    spec::SetId inputs = 0;
    int outer = -1;
  };
  using Key = std::pair<const ExprNode *, int>; // a node and its scope, -1 where that cannot matter
  struct KeyHash {
    std::size_t operator()(const Key &key) const {
      return std::hash<const ExprNode *>()(key.first) * 31 + std::size_t(key.second);
    }
  };
  using Memo = std::unordered_map<Key, Value, KeyHash>;

  int open_scope(spec::SetId inputs, int outer);
  Key key(const ExprNode *node, int scope) const {
    return {node, reads_.scoped(*node) ? scope : -1};
  }
  Key key_of_arg(const ExprNode &node, std::size_t arg, int scope);

  Memo &memo(const Entry &entry);
  Value type(const Key &root, const Entry &entry, Memo &known);
  Value type_node(const ExprNode &node, int scope, const Entry &entry, const Memo &memo);
  std::vector<std::size_t> lenders(const ExprNode &node, int axis, int scope) const;
  Value type_counted(const ExprNode &node, int scope);
  Facts along(Facts facts, expr::AxisSet axes);
  Value type_input(const ExprNode &node, const Entry &entry);
  Value type_number(const ExprNode &node);
  Value type_op(const ExprNode &node, std::vector<Value> args);
  std::optional<Value> compare_integers(const ExprNode &node, const std::vector<Value> &args);
  Value type_weak_op(const ExprNode &node, const std::vector<Value> &args);
  Folded type_fold(const ExprNode &node, std::vector<Value> values);

  // type_fold.cpp
  Folded fold_operation(const FoldJob &job, Fold fold, DType accumulate);
  Folded fold_definition(const FoldJob &job, Fold fold);
  Folded fold_into_window(const FoldJob &job);
  Folded mean(const FoldJob &job);
  Folded norm(const FoldJob &job);
  Folded variance(const FoldJob &job);

  // type_accumulate.cpp
  expr::AxisSet may_fold(const FoldJob &job) const;
  expr::AxisSet axes_of(const std::vector<expr::NodeId> &nodes) const;
  std::vector<expr::NodeId> accumulate(const FoldJob &job, const ops::Recipe &recipe,
                                       const std::vector<expr::NodeId> &args);
  std::vector<expr::NodeId> converted_init(const FoldJob &job, const ops::Recipe &recipe);
  std::vector<expr::NodeId> run_code(const ops::Code &code, std::vector<expr::NodeId> inputs,
                                     const Place &where);
  void note_ordered(const FoldJob &job, const ops::Recipe &recipe);
  const ops::Recipe &recipe(const AccumulatorDef &definition, const std::vector<DType> &args);
  void count_steps(const AccumulatorDef &definition, ops::Recipe &recipe);
  void note_wrong_join(const AccumulatorDef &definition, const ops::Recipe &recipe);

  // type_position.cpp
  expr::NodeId points(const FoldJob &job, expr::NodeId arg);
  expr::NodeId position(const FoldJob &job, const std::vector<expr::NodeId> &args);
  expr::NodeId index(expr::NodeId arg, int axis, const Place &where);
  expr::NodeId extent(expr::NodeId arg, expr::AxisSet axes, const std::vector<std::uint32_t> &like,
                      const Place &where);

  void note_let(const ExprNode &let, expr::NodeId value);
  expr::NodeId close(const Folded &folded, const Place &where);

  ops::Typing typing_of(const ExprNode &node, const std::vector<DType> &types) const;
  std::optional<int> whole_exponent(expr::NodeId number) const;
  expr::NodeId power_by_products(expr::NodeId base, int exponent, const Place &where);
  expr::NodeId emit(ops::Op op, DType compute, DType result, const std::vector<expr::NodeId> &args,
                    const Place &where);
  expr::NodeId emit_sugar(const ExprNode &node, DType compute, std::vector<expr::NodeId> args);
  expr::NodeId literal(DType dtype, ops::Scalar value, const Place &where);
  expr::NodeId add(expr::Node node, std::span<const expr::NodeId> args, const Facts &facts,
                   const Place &where);
  void meet(Facts &into, const Facts &other, const Place &where);
  bool is_literal(expr::NodeId node) const {
    return spec_.graph[node].kind == expr::NodeKind::Literal;
  }

  spec::TypedSpec &spec_;
  std::unordered_set<std::string> named_; // by the schedule or a pairing
  const spec::Space &space_;
  const spec::Reads &reads_;
  spec::InputSets visible_;
  spec::FixedExtents fixed_;
  std::vector<Facts> facts_; // by node
  // What tells one `accumulate(..)` from another.
  using UseKey = std::tuple<bool, Fold, const AccumulatorDef *, int, double, bool,
                            std::vector<const ExprNode *>, std::uint64_t>;
  std::map<UseKey, Memo> memos_;
  const Parameters *parameters_ = nullptr;
  std::map<std::pair<const AccumulatorDef *, std::vector<DType>>, ops::Recipe> recipes_;
  std::vector<Scope> scopes_;
  std::map<std::pair<spec::SetId, int>, int> scope_ids_;
  std::size_t steps_ = 0;
};

} // namespace broadloom::type
