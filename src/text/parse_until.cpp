// Lets that go step by step until a condition holds, written as two lets: see Untils in parser.hpp.
#include "expr/walk.hpp"
#include "support/text.hpp"
#include "text/parser.hpp"

#include <map>
#include <set>

namespace broadloom::text {
namespace {

using Names = std::set<std::string>;

const std::string *label_of(const AxisRef &axis) { return std::get_if<std::string>(&axis.value()); }

// The let that an expression is or reads at positions; null: none.
const std::string *let_read(const ExprNode &node) {
  if (node.kind == ExprKind::Let) return &node.name;
  const bool of_let =
      node.kind == ExprKind::Input && node.input->window && node.input->window->of->is_let;
  return of_let ? &node.input->window->of->name : nullptr;
}

// All nodes of a value, but those of other lets.
template <class Visit> void walk_value(const Expr &value, Visit visit) {
  expr::reach(value.node(), [&](const ExprNode &node) {
    visit(node);
    return let_read(node) == nullptr && node.kind != ExprKind::Input;
  });
}

// The axes that an expression has by what its text says; there may be more, as of inputs without
// labels and in functions.
class AxesSaid {
public:
  const Names &of(const Expr &root) {
    std::vector<const ExprNode *> open{root.node()};
    while (!open.empty()) {
      const ExprNode *node = open.back();
      const std::size_t size = open.size();
      if (!known_.contains(node) && !is_array(*node))
        for (const Expr &arg : node->args)
          if (!known_.contains(arg.node())) open.push_back(arg.node());
      if (open.size() > size) continue;
      open.pop_back();
      if (!known_.contains(node)) known_.emplace(node, own(*node));
    }
    return known_.at(root.node());
  }

private:
  static bool is_array(const ExprNode &node) {
    return node.kind == ExprKind::Input || node.kind == ExprKind::Call ||
           (node.kind == ExprKind::Let && !node.axes.empty());
  }
  static void add(const std::vector<AxisRef> &axes, Names &names) {
    for (const AxisRef &axis : axes)
      if (const std::string *label = label_of(axis)) names.insert(*label);
  }

  Names own(const ExprNode &node) const {
    Names names;
    if (node.kind == ExprKind::Input && node.input->window) {
      for (const AffineForm &form : node.input->window->forms)
        for (const AffineForm::Term &term : form.terms) names.insert(term.axis);
    } else if (node.kind == ExprKind::Input) {
      for (const Dim &dim : node.input->dims)
        if (!dim.label.empty()) names.insert(dim.label);
    } else if (is_array(node) || node.kind == ExprKind::Iota) {
      add(node.axes, names);
    } else if (node.kind != ExprKind::Extent) {
      for (const Expr &arg : node.args)
        names.insert(known_.at(arg.node()).begin(), known_.at(arg.node()).end());
    }
    if (node.kind != ExprKind::Fold) return names;
    if (node.axes.empty() || !node.use->like.empty()) return {};
    for (const AxisRef &axis : node.axes) {
      if (label_of(axis) == nullptr) return {};
      names.erase(*label_of(axis));
    }
    return names;
  }

  std::map<const ExprNode *, Names> known_;
};

// As many steps as are said of the let that ends: a condition that does not read it has them, too.
LetLoop said_of_steps(const std::string &done, const std::string &axis, const ListedDims &listed) {
  LetLoop loop;
  for (std::size_t d = 0; listed.said && d < listed.said->dims.size(); ++d) {
    if (listed.said->dims[d].label != axis) continue;
    loop.count = listed.said->dims[d].extent;
    loop.said =
        make_said(done, {{axis, listed.said->said->of[d]}}, [&] { return listed.said->where; });
  }
  return loop;
}

// u[t - 1, i]
Expr read_before(const std::string &let, const std::vector<AxisRef> &axes, const std::string &time,
                 std::int64_t before, const Place &where) {
  std::vector<AffineForm> forms;
  for (const AxisRef &axis : axes) {
    const std::string &label = *label_of(axis);
    forms.push_back({label == time ? before : 0, {{label, 1}}, {}});
  }
  return make_window(make_ahead(let, where), std::move(forms), where);
}

// The lets of a kernel, and which of them each reads.
class Reads {
public:
  explicit Reads(const std::vector<Expr> &lets) {
    for (const Expr &let : lets) {
      lets_[let.node()->name] = let.node();
      walk_value(let.node()->args[0], [&](const ExprNode &node) {
        if (const std::string *read = let_read(node)) reads_[let.node()->name].insert(*read);
      });
    }
  }

  // Those that read this one and are read by it, if it is one of them.
  Names together_with(const std::string &let) const {
    Names together;
    for (const std::string &other : reached_from(let))
      if (lets_.contains(other) && reached_from(other).contains(let)) together.insert(other);
    return together;
  }

  // Where the step before is: -1 where earlier positions along the axis are read, 1 where later
  // ones.
  std::int64_t before(const Names &lets, const std::string &axis) const {
    std::int64_t before = 0;
    for (const std::string &let : lets)
      walk_value(lets_.at(let)->args[0], [&](const ExprNode &node) {
        const std::string *read = let_read(node);
        if (read == nullptr || node.kind != ExprKind::Input || !lets.contains(*read)) return;
        const std::vector<AxisRef> &own = lets_.at(*read)->axes;
        const std::vector<AffineForm> &forms = node.input->window->forms;
        for (std::size_t d = 0; d < std::min(own.size(), forms.size()); ++d)
          if (before == 0 && label_of(own[d]) != nullptr && *label_of(own[d]) == axis &&
              forms[d].terms.size() == 1 && forms[d].terms[0].axis == axis)
            before = (forms[d].constant > 0) - (forms[d].constant < 0);
      });
    return before;
  }

  const std::vector<AxisRef> &axes_of(const std::string &let) const { return lets_.at(let)->axes; }

private:
  Names reached_from(const std::string &let) const {
    Names reached;
    std::vector<std::string> open{let};
    while (!open.empty()) {
      const auto reads = reads_.find(open.back());
      open.pop_back();
      if (reads == reads_.end()) continue;
      for (const std::string &read : reads->second)
        if (reached.insert(read).second) open.push_back(read);
    }
    return reached;
  }

  std::map<std::string, const ExprNode *> lets_;
  std::map<std::string, Names> reads_;
};

} // namespace

Expr Untils::end_of(const Cursor &cursor, Symbols &symbols, const Definitions &definitions,
                    const Token &name, const ListedDims &listed) {
  const std::string let(cursor.word(name)), done = name_of_end(let);
  const AxisRef &axis = listed.axes[listed.until->dim];
  const std::string *label = label_of(axis);
  if (label == nullptr)
    cursor.fail("E0028", "let '" + let + "' goes along a dim by number", name,
                "list its dims by names: let " + let + "[t < 100 until ..]");
  if (symbols.contains(done))
    cursor.fail("E0004",
                "let '" + let + "' goes until a condition holds, which '" + done +
                    "' says, and that is defined already",
                name, "give one of them another name");
  Cursor at = cursor;
  at.go_to(listed.until->begin);
  const Token first = at.peek();
  symbols.in_let = done;
  const Expr condition = parse_expression(at, symbols, definitions);
  symbols.in_let.clear();
  symbols.ahead.erase(done);
  if (at.at() != listed.until->end) at.unexpected("',' or ']' behind the condition");
  const Place where = cursor.source().place(first, at.previous());
  Names more = AxesSaid().of(condition);
  more.erase(*label);
  if (!more.empty())
    cursor.fail("E0106",
                "the condition that ends let '" + let + "' has axis '" + *more.begin() +
                    "', and is to be one value for each step",
                first, at.previous(), "fold it, as in any(.., " + *more.begin() + ")");
  symbols.ends[let] = done;
  const LetLoop loop = said_of_steps(done, *label, listed);
  if (!is_second_) {
    ended_.push_back({let, *label, name});
    return make_let(done, condition, where, {axis}, loop);
  }
  const Held &held = held_.at(let);
  const Expr before = read_before(done, {axis}, held.axis, held.before, where);
  return make_let(done, make_op(ops::Op::Or, {before, condition}, where), where, {axis}, loop);
}

Expr Untils::held(const std::string &let, const std::vector<AxisRef> &axes, Expr value) const {
  const auto found = held_.find(let);
  if (found == held_.end()) return value;
  const Held &held = found->second;
  const Place where = value.node()->where;
  const Expr done = read_before(held.done, {AxisRef(held.axis)}, held.axis, held.before, where);
  const Expr self = read_before(let, axes, held.axis, held.before, where);
  return make_op(ops::Op::Where, {done, self, std::move(value)}, where);
}

bool Untils::read_again(const SpecData &data, const Cursor &cursor) {
  if (is_second_ || ended_.empty()) return false;
  is_second_ = true;
  const Reads reads(data.lets);
  for (const Ended &ended : ended_) {
    const Names together = reads.together_with(ended.let);
    const std::int64_t before = reads.before(together, ended.axis);
    if (!together.contains(ended.let) || before == 0)
      cursor.fail("E0028",
                  "let '" + ended.let + "' reads no earlier step of itself along '" + ended.axis +
                      "', and is to go until a condition holds",
                  ended.name, "read one, as in " + ended.let + "[" + ended.axis + " - 1]");
    const std::string done = name_of_end(ended.let);
    for (const std::string &let : together) {
      const std::vector<AxisRef> &axes = reads.axes_of(let);
      if (axes.empty() || !std::ranges::all_of(axes, label_of)) continue; // which is told later
      const auto [held, is_new] = held_.emplace(let, Held{done, ended.axis, before});
      if (!is_new && held->second.done != done)
        cursor.fail("E0028",
                    "let '" + ended.let + "' goes step by step with what '" + held->second.done +
                        "' ends, and has a condition of its own",
                    ended.name, "join the conditions with || in one of them");
    }
  }
  return true;
}

} // namespace broadloom::text
