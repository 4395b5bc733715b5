// What makes a definition right: names, one clause for each state, elementwise expressions.
#include "spec/definition.hpp"

#include "expr/walk.hpp"
#include "spec/expand.hpp"
#include "spec/words.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace broadloom::spec {

namespace {

using Clauses = std::vector<AccumulatorDef::Clause>;

constexpr std::size_t max_operations = 4096; // in one clause, written out

class Checker {
public:
  Checker(const AccumulatorDef &definition, const std::string *source)
      : def_(definition), source_(source) {}

  void run() {
    form();
    expressions(def_);
    // Sizes count what the calls stand for, and the functions called are elementwise too.
    through_calls_ = true;
    expressions(expand_calls(def_, source_));
  }

private:
  using Names = std::unordered_set<std::string>;

  void form() const {
    names();
    clauses(def_.init, "init");
    clauses(def_.step, "step");
    if (!def_.combine.empty()) clauses(def_.combine, "combine");
    for (const auto &clause : def_.init)
      if (!clause.value.node() || clause.value.node()->kind != ExprKind::Literal ||
          clause.value.node()->number.kind == Number::Kind::Imaginary)
        fail("E0020", "init of state '" + clause.state + "' is not a real number", clause.where,
             "a state starts from a number, such as 0, -1 or inf");
  }

  void expressions(const AccumulatorDef &of) const {
    Names known(of.states.begin(), of.states.end());
    for (const auto &clause : of.combine) known.insert(clause.state + "_other");
    for (const auto &clause : of.combine) elementwise(clause.value, known, clause.where);
    known = {of.states.begin(), of.states.end()};
    if (of.result.node()) {
      elementwise(of.result, known, of.where);
      bool reads = false;
      expr::Walker walker;
      walker.walk(of.result.node(),
                  [&](const ExprNode &node) { reads |= node.kind == ExprKind::Parameter; });
      if (!reads)
        fail("E0020", "its result reads none of its states", of.result.node()->where,
             "make it an expression of " + support::quoted_list(of.states));
    }
    known.insert(of.args.begin(), of.args.end());
    for (const auto &clause : of.step) elementwise(clause.value, known, clause.where);
  }

  [[noreturn]] void fail(const char *code, std::string message, const Place &where,
                         std::string help) const {
    support::fail(code, "accumulator '" + def_.name + "': " + std::move(message),
                  support::with_text(where, source_), std::move(help));
  }

  void name(const std::string &word, const char *what) const {
    const NameCheck found = check_name(word, what);
    if (!found.code.empty()) fail(found.code.c_str(), found.message, def_.where, found.help);
  }

  void names() const {
    const NameCheck found = check_callable_name(def_.name, "an accumulator");
    if (!found.code.empty()) fail(found.code.c_str(), found.message, def_.where, found.help);
    if (def_.states.empty() || def_.args.empty())
      fail("E0020", def_.states.empty() ? "it has no state" : "it has no argument", def_.where,
           "an accumulator has at least one state and one argument: NAME(STATE; ARGUMENT)");
    if (def_.states.size() > max_states || def_.args.size() > max_arguments)
      fail("E0013", "it has too many states or arguments", def_.where,
           "there are at most " + std::to_string(max_states) + " of each");
    std::unordered_set<std::string> known;
    auto add = [&](const std::string &word, const char *what) {
      name(word, what);
      if (!known.insert(word).second)
        fail("E0004", "'" + word + "' names two of its states and arguments", def_.where,
             "give each its own name");
    };
    for (const std::string &state : def_.states) add(state, "a state");
    for (const std::string &arg : def_.args) add(arg, "an argument");
    for (const std::string &state : def_.states)
      if (!def_.combine.empty() && known.count(state + "_other"))
        fail("E0004", "'" + state + "_other' is the later block's '" + state + "'", def_.where,
             "give the other state or argument another name");
  }

  void clauses(const Clauses &clauses, const std::string &word) const {
    std::unordered_set<std::string> given;
    for (const auto &clause : clauses) {
      if (std::find(def_.states.begin(), def_.states.end(), clause.state) == def_.states.end())
        fail("E0020", word + " of '" + clause.state + "', which is none of its states",
             clause.where, "its states are " + support::quoted_list(def_.states));
      if (!given.insert(clause.state).second)
        fail("E0020", word + " of state '" + clause.state + "' is given twice", clause.where,
             "give it once");
    }
    for (const std::string &state : def_.states)
      if (!given.count(state))
        fail("E0020", word + " lacks state '" + state + "'", def_.where,
             "write " + word + " " + state + " = ..");
  }

  void elementwise(const Expr &root, const Names &known, const Place &clause) const {
    if (!root.node()) fail("E0020", "a clause has no value", clause, "give it an expression");
    std::unordered_map<const ExprNode *, std::size_t> size; // of the tree, where a node is shared
    expr::Walker walker;
    walker.walk(root.node(), [&](const ExprNode &node) {
      check_node(node, known, clause);
      std::size_t &own = size[&node];
      own = 1;
      for (const Expr &arg : node.args) {
        if (!arg.node()) fail("E0020", "an empty bl::Expr is used", clause, "give it a value");
        own = std::min(own + size.at(arg.node()), max_operations + 1);
      }
      if (own > max_operations)
        fail("E0013", "a clause has more than " + std::to_string(max_operations) + " operations",
             clause, "add a state to hold part of it");
    });
  }

  void check_node(const ExprNode &node, const Names &known, const Place &clause) const {
    const char *what = nullptr;
    switch (node.kind) {
    case ExprKind::Literal:
    case ExprKind::Op:
    case ExprKind::Cast:
    case ExprKind::Call: return;
    case ExprKind::Parameter:
      if (known.count(node.name)) return;
      fail("E0003", "'" + node.name + "' is none of the names that stand here", clause,
           "step reads states and arguments, combine STATE and STATE_other, result states");
    case ExprKind::Input: what = "an input"; break;
    case ExprKind::Fold: what = "a reduction"; break;
    case ExprKind::Scan: what = "a scan"; break;
    case ExprKind::Let: what = "a let"; break;
    case ExprKind::Join: what = "a join of arrays"; break;
    case ExprKind::Extent: what = "an extent"; break;
    case ExprKind::Iota: what = "an index"; break;
    }
    const Place &where = node.where.line > 0 ? node.where : clause;
    if (through_calls_)
      fail("E0020",
           "its expressions are elementwise, and a function that it calls holds this, " +
               std::string(what),
           where, "call functions of elementwise bodies only");
    const std::string of_two = node.kind == ExprKind::Fold ? of_two_values(*node.use) : "";
    fail("E0020", "its expressions are elementwise, and this is " + std::string(what), where,
         of_two.empty() ? "pass it as an argument: NAME((x, iota(j)), j)" : of_two);
  }

  const AccumulatorDef &def_;
  const std::string *source_;
  bool through_calls_ = false; // are the calls written out?
};

} // namespace

std::string of_two_values(const FoldUse &use) {
  if (use.accumulator.fold() == Fold::Max)
    return "max folds one value; for the greater of two write maximum(a, b)";
  if (use.accumulator.fold() == Fold::Min)
    return "min folds one value; for the lesser of two write minimum(a, b)";
  return {};
}

std::string_view name_of(const Accumulator &accumulator) {
  if (accumulator.definition()) return accumulator.definition()->name;
  return ops::info(accumulator.fold()).name;
}

bool keeps_one_element(const FoldUse &use) {
  switch (use.accumulator.fold()) {
  case Fold::Sum:
  case Fold::Prod:
  case Fold::Mean:
  case Fold::Min:
  case Fold::Max:
  case Fold::LogSumExp: return use.init.empty();
  case Fold::Norm:
  case Fold::Var:
  case Fold::Std:
  case Fold::Any:
  case Fold::All:
  case Fold::ArgMin:
  case Fold::ArgMax:
  case Fold::User: break;
  }
  return false;
}

void check_definition(const AccumulatorDef &definition, const std::string *source) {
  Checker(definition, source).run();
}

} // namespace broadloom::spec
