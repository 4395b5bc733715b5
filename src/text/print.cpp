// LoopSpec to canonical text: parse(print(s)) prints the same.
//
// The accumulators and functions that it uses come first, then the kernel: inputs, lets, outputs. Parentheses are
// written only where precedence asks for them. An operation that the API uses twice becomes a let, so that
// the text is never longer than the expression is large:
//
//   auto t = exp(x); out("z", t * t)      let t0 = exp(x)
//                                         out z = t0 * t0
#include "expr/join.hpp"
#include "expr/stretch.hpp"
#include "expr/walk.hpp"
#include "spec/declared.hpp"
#include "spec/definition.hpp"
#include "spec/spec.hpp"
#include "support/check.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"
#include "text/let_order.hpp"
#include "text/printed.hpp"
#include "text/used_definitions.hpp"
#include "text/words.hpp"

#include <charconv>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

namespace broadloom {

namespace {

using ops::Op;

// How tight the printed form binds; the levels are those of the parser.
constexpr int unary_level = 9, power_level = 10, atom_level = 11;

int level_of(Op op) {
  switch (op) {
  case Op::Or: return 1;
  case Op::And: return 2;
  case Op::BitOr: return 3;
  case Op::BitAnd: return 4;
  case Op::Eq:
  case Op::Ne:
  case Op::Lt:
  case Op::Le:
  case Op::Gt:
  case Op::Ge: return 5;
  case Op::Shl:
  case Op::Shr: return 6;
  case Op::Add:
  case Op::Sub: return 7;
  case Op::Mul:
  case Op::Div:
  case Op::FloorDiv:
  case Op::Mod: return 8;
  case Op::Pow: return power_level;
  default: return ops::info(op).form == ops::Form::Prefix ? unary_level : atom_level;
  }
}

std::string axis_text(const AxisRef &axis) {
  if (const int *position = std::get_if<int>(&axis.value())) return std::to_string(*position);
  return std::get<std::string>(axis.value());
}

class Printer {
public:
  explicit Printer(const SpecData &data) : data_(data) {}

  spec::Printed run() {
    collect();
    spec::Printed printed;
    for (const spec::PrintedDefinition &definition : definitions_.all) {
      const AccumulatorDef *accumulator = definition.accumulator;
      accumulator ? define(*accumulator) : define(definition);
      printed.definitions.push_back(
          {accumulator ? accumulator->name : definition.name, std::exchange(text_, {})});
    }
    names_ = std::move(let_names_); // a clause may share nodes with the kernel that was made by it
    text_ += "kernel " + data_.name + " {\n";
    if (data_.order_given)
      text_ += std::string("  order ") +
               (data_.order == Order::c   ? "c"
                : data_.order == Order::f ? "f"
                                          : "none") +
               "\n";
    if (!data_.stretch) text_ += "  stretch off\n";
    if (data_.accuracy != Accuracy::high)
      text_ += std::string("  set accuracy = ") +
               (data_.accuracy == Accuracy::exact ? "exact\n" : "fast\n");
    if (data_.relaxed) text_ += "  set relaxed = on\n";
    if (data_.scales)
      text_ +=
          std::string("  set scales = ") + (*data_.scales == Scales::fold ? "fold\n" : "keep\n");
    for (const Pairing &pairing : data_.pairings)
      text_ += (pairing.fuse ? "  fuse " : "  separate ") + pairing.a + ", " + pairing.b + "\n";
    for (const auto &decl : inputs_)
      if (!decl->window && !decl->is_output) input(*decl);
    for (const ExprNode *node : lets_) {
      text_ += "  let " + names_.at(node);
      const bool is_let = node->kind == ExprKind::Let;
      if (is_let && !node->axes.empty()) list(node->axes, loop_of(*node));
      if (is_let) store(node->store);
      text_ += " = ";
      expression(is_let ? node->args[0].node() : node, node);
      if (is_let && node->args.size() > 1) {
        text_ += " from ";
        expression(node->args[1].node(), node);
      }
      text_ += "\n";
    }
    for (const OutputDecl &decl : data_.outputs) output(decl);
    schedule();
    printed.kernel = text_ + "}\n";
    return printed;
  }

private:
  // One walk finds the inputs, counts the users of every node and lists what becomes a let, each
  // after those that it needs.
  void collect() {
    std::unordered_map<const ExprNode *, std::size_t> users;
    std::vector<const ExprNode *> order;
    inputs_ = spec::declared_inputs(data_);
    for (const auto &decl : inputs_) taken_.insert(decl->name);
    std::vector<const FunctionDecl *> called;
    std::vector<const AccumulatorDef *> folding;
    const auto add_definition = [&](const Accumulator &accumulator) {
      if (accumulator.definition()) folding.push_back(accumulator.definition().get());
    };
    expr::Walker walker;
    auto visit = [&](const ExprNode &node) {
      order.push_back(&node);
      if (node.kind == ExprKind::Let) taken_.insert(node.name);
      if (node.kind == ExprKind::Call) called.push_back(node.function.get());
      if (node.use) add_definition(node.use->accumulator);
      for (const Expr &arg : node.args) ++users[arg.node()];
    };
    for (const Expr &let : data_.lets) walker.walk(let.node(), visit);
    for (const OutputDecl &out : data_.outputs) {
      walker.walk(out.value.node(), visit);
      ++users[out.value.node()];
      add_definition(out.mode.use.accumulator);
      for (const Expr &init : out.mode.use.init) {
        walker.walk(init.node(), visit);
        ++users[init.node()];
      }
      taken_.insert(out.name);
    }
    definitions_ = spec::used_definitions(folding, called);
    names_.insert(definitions_.parts.begin(), definitions_.parts.end());
    for (const ExprNode *node : order) {
      bool named = node->kind == ExprKind::Let;
      bool small = node->kind == ExprKind::Input || node->kind == ExprKind::Literal ||
                   node->kind == ExprKind::Join ||
                   (node->kind == ExprKind::Op && node->op == ops::Op::Neg &&
                    node->args[0].node()->kind == ExprKind::Literal); // -2
      if (!named && (small || users[node] < 2)) continue;
      let_names_[node] = named ? node->name : fresh_name();
      lets_.push_back(node);
    }
    if (labels_as_printed() != labels_of(inputs_)) name_windows(order);
  }

  using Decls = std::vector<std::shared_ptr<const InputDecl>>;

  // The labels of these, in the order of the iteration space.
  static std::vector<std::string> labels_of(const Decls &decls) {
    std::vector<std::string> labels;
    std::unordered_set<std::string> seen;
    for (const auto &decl : decls)
      for (const Dim &dim : decl->dims)
        if (!dim.label.empty() && seen.insert(dim.label).second) labels.push_back(dim.label);
    return labels;
  }

  // Those of the kernel that the text will be: its lets are read before its outputs.
  std::vector<std::string> labels_as_printed() const {
    Decls decls;
    for (const auto &decl : inputs_)
      if (!decl->window) decls.push_back(decl);
    expr::Walker walker;
    const auto visit = [&](const ExprNode &node) {
      if (node.kind == ExprKind::Input && node.input->window) decls.push_back(node.input);
    };
    for (const ExprNode *node : lets_) walker.walk(node, visit);
    for (const OutputDecl &out : data_.outputs) {
      walker.walk(out.value.node(), visit);
      for (const Expr &init : out.mode.use.init) walker.walk(init.node(), visit);
    }
    for (const auto &decl : inputs_) // those that are only named, by like= or of=
      if (decl->window) decls.push_back(decl);
    return labels_of(decls);
  }

  // An expression that becomes a let moves to the front, and with it the windows that it reads, whose axes would then come first.
  // So where that matters the windows become lets of their own, in their order; one of a let stands behind that.
  void name_windows(const std::vector<const ExprNode *> &order) {
    std::unordered_map<std::string, std::vector<const ExprNode *>> reads; // by what is read
    for (const ExprNode *node : order)
      if (node->kind == ExprKind::Input && node->input->window)
        reads[node->input->name].push_back(node);
    std::vector<const ExprNode *> windows;
    for (const auto &decl : inputs_) {
      const auto found = reads.find(decl->name);
      if (found == reads.end()) continue;
      windows.push_back(found->second[0]);
      const std::string name = fresh_name();
      for (const ExprNode *node : found->second) let_names_[node] = name;
      reads.erase(found);
    }
    lets_ = spec::LetOrder(windows, lets_, inputs_, let_names_).run();
  }

  void define(const AccumulatorDef &definition) {
    auto list = [&](const std::vector<std::string> &names) {
      for (std::size_t k = 0; k < names.size(); ++k) text_ += (k == 0 ? "" : ", ") + names[k];
    };
    auto clauses = [&](const char *word, const std::vector<AccumulatorDef::Clause> &clauses) {
      for (std::size_t k = 0; k < clauses.size(); ++k) {
        text_ += k == 0 ? std::string("  ") + word + " " : ", ";
        text_ += clauses[k].state + " = ";
        expression(clauses[k].value.node(), nullptr);
      }
      if (!clauses.empty()) text_ += "\n";
    };
    text_ += "accumulator " + definition.name + "(";
    list(definition.states);
    text_ += "; ";
    list(definition.args);
    text_ += ") {\n";
    // In a definition inf and nan are what they are, whatever the kernel calls so.
    std::unordered_set<std::string> taken;
    taken.swap(taken_);
    clauses("init", definition.init);
    for (const auto *names : {&definition.states, &definition.args})
      taken_.insert(names->begin(), names->end());
    clauses("step", definition.step);
    clauses("combine", definition.combine);
    if (definition.result.node()) {
      text_ += "  result ";
      expression(definition.result.node(), nullptr);
      text_ += "\n";
    }
    text_ += "}\n";
    taken.swap(taken_);
  }

  // acc=, correction=, exclusive, reverse and state=, each after a comma.
  std::string options(const FoldUse &use) const {
    std::string text;
    if (use.exclusive) text += ", exclusive";
    if (use.reverse) text += ", reverse";
    if (!use.state.empty()) text += ", state=" + use.state;
    if (use.acc) text += ", acc=" + std::string(name(*use.acc));
    if (use.correction) text += ", correction=" + plain_number(*use.correction);
    return text;
  }

  std::string fresh_name() {
    while (true) {
      std::string name = "t" + std::to_string(next_name_++);
      if (taken_.insert(name).second) return name;
    }
  }

  void define(const spec::PrintedDefinition &function) {
    // In a definition inf and nan are what they are, whatever the kernel calls so.
    std::unordered_set<std::string> own(function.params.begin(), function.params.end());
    taken_.swap(own);
    text_ += "def " + function.name + "(";
    for (std::size_t i = 0; i < function.params.size(); ++i)
      text_ += (i == 0 ? "" : ", ") + function.params[i];
    text_ += ") = ";
    expression(function.body, function.is_part ? function.body : nullptr);
    text_ += "\n";
    if (function.function) {
      taken_.insert(cotangent_name);
      for (const FunctionDecl::Derivative &d : function.function->derivatives) {
        text_ += "  derivative " + function.params[d.param] + " = ";
        expression(d.value.node(), nullptr);
        text_ += "\n";
      }
    }
    taken_.swap(own);
  }

  void input(const InputDecl &decl) {
    text_ += "  " + std::string(spec::word_of(decl.role)) +
             (decl.role == InputRole::plain ? "  " : " ") + decl.name + " : " +
             std::string(name(decl.dtype));
    for (std::size_t i = 0; i < decl.dims.size(); ++i) {
      const Dim &dim = decl.dims[i];
      text_ += i == 0 ? "[" : ", ";
      text_ += dim.label;
      if (!dim.label.empty() && dim.extent >= 0) text_ += "=";
      if (expr::may_be_one_of_more(dim))
        text_ += "?";
      else if (dim.extent >= 0)
        text_ += std::to_string(dim.extent);
      else if (dim.label.empty())
        text_ += ":";
    }
    if (!decl.dims.empty()) text_ += "]";
    if (decl.placement != Placement::ByOrder) {
      text_ += decl.placement == Placement::Dims ? " dims(" : " axes(";
      for (std::size_t i = 0; i < decl.axes.size(); ++i)
        text_ += (i == 0 ? "" : ", ") + std::to_string(decl.axes[i]);
      text_ += ")";
    }
    if (decl.sign != Sign::any) text_ += " " + std::string(relation(decl.sign));
    text_ += "\n";
  }

  void list(const std::vector<AxisRef> &axes, const LetLoop &loop) {
    text_ += "[";
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::string axis = axis_text(axes[i]);
      text_ += (i == 0 ? "" : ", ") + axis;
      for (std::size_t d = 0; loop.said && d < loop.said->dims.size(); ++d)
        if (loop.said->dims[d].label == axis)
          text_ += " < " + broadloom::print(loop.said->said->of[d]);
      if (!loop.said && loop.count >= 0 && loop.counted_dim == i)
        text_ += " < " + std::to_string(loop.count);
    }
    text_ += "]";
  }

  void store(Order order) {
    if (order != Order::none) text_ += order == Order::c ? " in c" : " in f";
  }

  void output(const OutputDecl &decl) {
    text_ += (decl.update ? "  update " : "  out ") + (decl.at ? decl.at->name : decl.name);
    if (decl.has_axes) list(decl.axes, {{}, -1, 0, decl.said});
    if (decl.dtype) text_ += " : " + std::string(name(*decl.dtype));
    store(decl.store);
    text_ += decl.add ? " += " : " = ";
    const Mode &mode = decl.mode;
    const std::string like = mode.use.like.empty() ? "" : "like=" + support::tuple(mode.use.like);
    switch (mode.kind) {
    case ModeKind::plain: break;
    case ModeKind::broadcast:
      text_ += like.empty() ? "broadcast " : "broadcast(" + like + ") ";
      break;
    case ModeKind::accumulate:
    case ModeKind::reduce:
      text_ += mode.kind == ModeKind::reduce ? "reduce(" : "accumulate(";
      text_ += std::string(spec::name_of(mode.use.accumulator)) + options(mode.use);
      if (!like.empty()) text_ += ", " + like;
      for (std::size_t k = 0; k < mode.use.init.size(); ++k) {
        text_ += k > 0 ? ", " : mode.use.init.size() > 1 ? ", init=(" : ", init=";
        expression(mode.use.init[k].node(), nullptr);
      }
      text_ += mode.use.init.size() > 1 ? ")) " : ") ";
      break;
    }
    expression((decl.at ? decl.value.node()->args[0] : decl.value).node(), nullptr);
    text_ += "\n";
  }

  void schedule() {
    if (data_.schedule.clauses().empty()) return;
    text_ += "  schedule {\n";
    for (const ScheduleClause &clause : data_.schedule.clauses())
      text_ += "    " + spec::print(clause) + "\n";
    text_ += "  }\n";
  }

  // What is still to be written, the next piece on top: a node in a place that takes forms of at
  // least `level`, or plain text.
  struct Piece {
    const ExprNode *node = nullptr;
    int level = 0;
    std::string text;
  };

  // Prints `root`; `self` is the let being defined, which must not print as its own name.
  void expression(const ExprNode *root, const ExprNode *self) {
    std::vector<Piece> work{{root, 0, {}}};
    while (!work.empty()) {
      Piece piece = std::move(work.back());
      work.pop_back();
      if (!piece.node) {
        text_ += piece.text;
        continue;
      }
      auto known = names_.find(piece.node);
      if (known != names_.end() && piece.node != self)
        text_ += known->second;
      else
        node(*piece.node, piece.level, work);
    }
  }

  void node(const ExprNode &node, int level, std::vector<Piece> &work) {
    std::vector<Piece> pieces; // in reading order
    auto text = [&](std::string word) { pieces.push_back({nullptr, 0, std::move(word)}); };
    auto arg = [&](std::size_t i, int least) {
      pieces.push_back({node.args[i].node(), least, {}});
    };
    auto call = [&](std::string_view callee) {
      text(std::string(callee) + "(");
      for (std::size_t i = 0; i < node.args.size(); ++i) {
        if (i > 0) text(", ");
        arg(i, 0);
      }
    };
    int own = atom_level;
    switch (node.kind) {
    case ExprKind::Input: text(node.input->name); break;
    case ExprKind::Literal: text(number(node.number, own)); break;
    case ExprKind::Let: support::bug("print: a let without a name"); // collect() named them all
    case ExprKind::Join:
      if (node.places) {
        text("parts(");
        for (std::size_t i = 0; i < node.args.size(); ++i) {
          text(i == 0 ? "" : ", ");
          arg(i, 0);
          std::string positions;
          for (const AffineForm &form : node.places->of_parts[i])
            positions += (positions.empty() ? "" : ", ") + broadloom::print(form);
          text(" at [" + positions + "]");
        }
        text(")");
        break;
      }
      text((node.stacks ? "stack(" : "concat(") + axis_text(node.axes[0]));
      for (std::size_t i = 0; i < node.args.size(); ++i) {
        text(", ");
        arg(i, 0);
      }
      text(")");
      break;
    case ExprKind::Cast:
      call(name(node.dtype));
      text(")");
      break;
    case ExprKind::Parameter: text(node.name); break;
    case ExprKind::Fold:
    case ExprKind::Scan: {
      auto tuple = [&](std::size_t first, std::size_t last) {
        if (last - first > 1) text("(");
        for (std::size_t i = first; i < last; ++i) {
          if (i > first) text(", ");
          arg(i, 0);
        }
        if (last - first > 1) text(")");
      };
      const std::string callee(spec::name_of(node.use->accumulator));
      text(node.kind == ExprKind::Scan ? "scan(" + callee + ", " : callee + "(");
      tuple(0, node.folded);
      for (const AxisRef &axis : node.axes) text(", " + axis_text(axis));
      text(options(*node.use));
      if (!node.use->like.empty()) text(", like=" + support::tuple(node.use->like));
      if (node.folded < node.args.size()) {
        text(", init=");
        tuple(node.folded, node.args.size());
      }
      text(")");
      break;
    }
    case ExprKind::Extent:
    case ExprKind::Iota: {
      text((node.kind == ExprKind::Iota ? "iota(" : "extent(") + axis_text(node.axes[0]));
      if (!node.of.empty()) text(", of=" + support::tuple(node.of));
      text(")");
      break;
    }
    case ExprKind::Call:
      call(definitions_.names.at(node.function.get()));
      text(")");
      break;
    case ExprKind::Op: {
      const ops::OpInfo &row = ops::info(node.op);
      own = level_of(node.op);
      if (row.form == ops::Form::Prefix) {
        text(std::string(row.spelling));
        arg(0, unary_level);
      } else if (node.op == Op::Pow) {
        arg(0, atom_level);
        text("^");
        arg(1, unary_level);
      } else if (row.form == ops::Form::Infix) {
        bool chains = row.rule != ops::TypeRule::Compare;
        arg(0, chains ? own : own + 1);
        text(" " + std::string(row.spelling) + " ");
        arg(1, own + 1);
      } else {
        call(row.spelling);
        text(")");
      }
      break;
    }
    }
    bool enclosed = own < level;
    if (enclosed) work.push_back({nullptr, 0, ")"});
    for (std::size_t i = pieces.size(); i-- > 0;) work.push_back(std::move(pieces[i]));
    if (enclosed) work.push_back({nullptr, 0, "("});
  }

  // The shortest digits that read back as the same number; floats keep a point or an exponent.
  std::string number(const Number &number, int &level) const {
    if (number.kind == Number::Kind::Bool) return number.integer != 0 ? "true" : "false";
    if (number.kind == Number::Kind::Int) {
      // An error, here as there: behind a sign too, which makes 9223372036854775808 a number.
      if (number.too_large) return "9999999999999999999";
      if (number.integer < 0) level = unary_level;
      return std::to_string(number.integer);
    }
    if (std::isnan(number.real)) return special("nan", "0. / 0.", level);
    if (std::signbit(number.real)) level = unary_level;
    if (std::isinf(number.real))
      return number.real > 0 ? special("inf", "1. / 0.", level)
                             : special("inf", "-1. / 0.", level, "-");
    std::string text = plain_number(number.real);
    if (number.kind == Number::Kind::Imaginary) return text + "j";
    if (text.find_first_of(".e") == text.npos) text += ".";
    return text;
  }

  // As an option has it.
  static std::string plain_number(double number) {
    if (std::isnan(number)) return "nan";
    char digits[32];
    return std::string(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }

  // The names of infinity and NaN, or a quotient where the kernel uses that name for something else.
  std::string special(const char *word, const char *quotient, int &level,
                      const char *sign = "") const {
    if (!taken_.count(word)) return std::string(sign) + word;
    level = level_of(Op::Div);
    return quotient;
  }

  const SpecData &data_;
  std::string text_;
  spec::UsedDefinitions definitions_;
  std::vector<std::shared_ptr<const InputDecl>> inputs_;
  std::vector<const ExprNode *> lets_;
  std::unordered_map<const ExprNode *, std::string> names_; // of what is being printed
  std::unordered_map<const ExprNode *, std::string> let_names_;
  std::unordered_set<std::string> taken_;
  int next_name_ = 0;
};

} // namespace

spec::Printed spec::print(const SpecData &data) { return Printer(data).run(); }

std::string print(const LoopSpec &spec) try {
  return print(std::vector{spec});
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
