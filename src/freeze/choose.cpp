// See choose.hpp. One walk upwards says what is made of parameters only; one downwards, users
// before arguments, says under which folds each value is read, and takes the greatest that may be
// taken out.
#include "freeze/choose.hpp"

#include "expr/stretch.hpp"

#include <algorithm>

namespace broadloom::freeze {

using expr::AxisSet;

namespace {

// What lets and marks stand for.
const ExprNode *value_of(const ExprNode *node) {
  while (node->kind == ExprKind::Let) node = node->args[0].node();
  return node;
}

using expr::is_one_of_more;

bool is_reduction(const ExprNode &node) {
  return node.kind == ExprKind::Fold || node.kind == ExprKind::Scan;
}

} // namespace

std::vector<Chosen> Chooser::run() {
  for (const OutputDecl &output : data_.outputs) {
    look({output.value});
    look(output.mode.use.init);
  }
  for (std::size_t o = 0; o < data_.outputs.size(); ++o) {
    whole_.push_back(is_whole_output(data_.outputs[o]));
    if (whole_.back()) continue;
    const Context context = context_of(o);
    enter(data_.outputs[o].value, context);
    for (const Expr &init : data_.outputs[o].mode.use.init) enter(init, context);
  }
  std::vector<Chosen> chosen;
  for (std::size_t k = order_.size(); k-- > 0;) {
    const ExprNode &node = *order_[k];
    const Context context = contexts_[&node];
    if (!context.is_read) continue;
    if (auto found = choose(node, context))
      chosen.push_back(std::move(*found));
    else
      hand_on(node, context);
  }
  std::ranges::reverse(chosen);
  return chosen;
}

void Chooser::look(const std::vector<Expr> &roots) {
  for (const Expr &root : roots) {
    handles_.emplace(root.node(), root);
    walker_.walk(root.node(), [&](const ExprNode &node) {
      order_.push_back(&node);
      Facts &facts = known_[&node];
      facts.constant = facts.frozen = true;
      facts.folds = is_reduction(node);
      for (const Expr &arg : node.args) {
        handles_.emplace(arg.node(), arg);
        const Facts &of = known_.at(arg.node());
        facts.constant = facts.constant && of.constant;
        facts.frozen = facts.frozen && of.frozen;
        facts.folds = facts.folds || of.folds;
        for (const InputDecl *param : of.params)
          if (std::ranges::count(facts.params, param) == 0) facts.params.push_back(param);
      }
      switch (node.kind) {
      case ExprKind::Literal:
      case ExprKind::Op:
      case ExprKind::Cast:
      case ExprKind::Join:
      case ExprKind::Let: break;
      case ExprKind::Input:
        facts.constant = false;
        facts.frozen = is_parameter(*node.input);
        if (facts.frozen) facts.params = {node.input.get()};
        break;
      case ExprKind::Fold:
      case ExprKind::Scan:
        if (!may_name(node.use->like)) facts.frozen = false;
        break;
      case ExprKind::Call:
      case ExprKind::Extent:
      case ExprKind::Iota:
      case ExprKind::Parameter: facts.constant = facts.frozen = false; break;
      }
      // Lists of parameters stay short: sums over thousands of them are computed in the call.
      constexpr std::size_t most = 64;
      if (!facts.frozen || facts.params.size() > most) {
        facts.frozen = false;
        facts.params.clear();
      }
    });
  }
}

// One that is asked for, or all of it read by other names of its axes: s[c] of `param s : f32[k]`.
bool Chooser::is_parameter(const InputDecl &decl) const {
  if (!decl.window) return names_.contains(decl.name);
  const auto is_axis = [](const AffineForm &form) { return form.is_axis(); };
  return names_.contains(decl.window->of->name) && decl.window->pads.empty() &&
         decl.dims.size() == decl.window->forms.size() && // no axis twice
         std::ranges::all_of(decl.window->forms, is_axis) &&
         std::ranges::none_of(decl.window->of->dims, is_one_of_more);
}

bool Chooser::may_name(const std::vector<std::string> &like) const {
  return std::ranges::all_of(like, [&](const std::string &name) {
    const auto decl =
        std::ranges::find_if(data_.inputs, [&](const auto &input) { return input->name == name; });
    return names_.contains(name) && (decl == data_.inputs.end() || !(*decl)->labelled() ||
                                     std::ranges::none_of((*decl)->dims, is_one_of_more));
  });
}

bool Chooser::is_whole_output(const OutputDecl &output) const {
  const auto frozen = [&](const Expr &root) {
    const Facts &facts = known_.at(root.node());
    return facts.frozen || facts.constant;
  };
  // It would be declared with the axis, which others may hold to another extent.
  const auto is_one = [](const InputDecl *param) {
    return param->labelled() && std::ranges::any_of(param->dims, is_one_of_more);
  };
  if (std::ranges::any_of(known_.at(output.value.node()).params, is_one)) return false;
  return !output.add && !output.update && known_.at(output.value.node()).frozen &&
         !known_.at(output.value.node()).constant && may_name(output.mode.use.like) &&
         std::ranges::all_of(output.mode.use.init, frozen);
}

// `accumulate` folds inputs before they are used; `broadcast` repeats along the axes of all inputs;
// `reduce` folds the value.
Chooser::Context Chooser::context_of(std::size_t o) {
  const OutputDecl &output = data_.outputs[o];
  Context context;
  context.is_read = context.is_root = true;
  switch (output.mode.kind) {
  case ModeKind::plain: break;
  case ModeKind::broadcast: context.keeps_axes = true; break;
  case ModeKind::accumulate: context.stays = true; break;
  case ModeKind::reduce: {
    AxisSet folded = facts_.axes(output.value);
    if (output.mode.use.like.empty())
      for (const int axis : typed_.outputs[o].axes) folded = folded - AxisSet::of(axis);
    context.folds.push_back(folded);
    break;
  }
  }
  return context;
}

void Chooser::enter(const Expr &root, const Context &context) {
  Context &all = contexts_[root.node()];
  for (const AxisSet folded : context.folds)
    if (std::ranges::count(all.folds, folded) == 0) all.folds.push_back(folded);
  all.keeps_axes |= context.keeps_axes;
  all.stays |= context.stays;
  all.is_root |= context.is_root;
  all.is_read = true;
}

void Chooser::hand_on(const ExprNode &node, const Context &context) {
  Context inside = context;
  inside.is_root = context.is_root && node.kind == ExprKind::Let;
  if (is_reduction(node)) {
    AxisSet folded;
    for (const Expr &arg : node.args) folded = folded | facts_.axes(arg);
    // A scan goes along one axis and keeps the order of all; what is like an input may fold where
    // that is 1.
    if (node.kind == ExprKind::Fold && node.use->like.empty())
      folded = folded - facts_.axes(handles_.at(&node));
    inside.folds.push_back(folded);
  }
  for (const Expr &arg : node.args) enter(arg, inside);
}

std::optional<Chosen> Chooser::choose(const ExprNode &node, const Context &context) {
  const Facts &facts = known_.at(&node);
  const ExprNode &value = *value_of(&node);
  if (!facts.frozen || facts.params.empty() || context.stays) return std::nullopt;
  if (value.kind == ExprKind::Input || value.kind == ExprKind::Literal) return std::nullopt;
  if (context.is_root && is_reduction(value)) return std::nullopt;
  if (facts.folds && (context.keeps_axes || !context.folds.empty())) return std::nullopt;
  const Expr expr = handles_.at(&node);
  if (!facts_.can_be_saved(expr)) return std::nullopt;
  const AxisSet axes = facts_.axes(expr);
  if (axes.empty() && !facts.folds) return std::nullopt; // a few operations on numbers

  // In declared order, the first that has all the axes.
  for (const spec::TypedInput &input : typed_.inputs) {
    const auto like = std::ranges::find(facts.params, input.name, [](auto *p) { return p->name; });
    if (input.window || like == facts.params.end() || !input.axes().contains(axes)) continue;
    if (!facts.folds && !(input.axes() == axes)) continue;
    if (!keeps_order(facts.params, **like, context)) return std::nullopt;
    Chosen chosen;
    chosen.value = expr;
    for (const auto &decl : data_.inputs)
      if (decl->name == input.name) chosen.like = decl;
    for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d)
      if (axes.has(input.axis_of_dim[d])) chosen.dims.push_back(d);
    return chosen;
  }
  return std::nullopt;
}

// Whether each fold around reads one input in place of these as it read them: see freeze.hpp.
bool Chooser::keeps_order(const std::vector<const InputDecl *> &params, const InputDecl &like,
                          const Context &context) const {
  const std::vector<int> dims = facts_.dims(like);
  const AxisSet all = AxisSet::of(dims);
  for (const InputDecl *param : params) {
    if (param->dims.empty()) continue;
    // A dim of 1 that is repeated walks no axis at a call, though it lies on one.
    const bool may_be_one = std::ranges::any_of(param->dims, [](const Dim &dim) {
      return dim.label.empty() ? dim.extent < 0 : is_one_of_more(dim);
    });
    const bool is_one = std::ranges::any_of(param->dims, is_one_of_more);
    if (is_one && (param->labelled() || !data_.stretch)) return false; // and would have to be again
    if (params.size() > 1 && may_be_one && !context.folds.empty()) return false;
    const std::vector<int> own = facts_.dims(*param);
    std::size_t at = 0; // own is in dims, in the same order
    for (const int axis : dims) at += at < own.size() && own[at] == axis;
    if (!context.folds.empty() && at < own.size()) return false;
    for (const AxisSet folded : context.folds) {
      const AxisSet part = AxisSet::of(own) & folded;
      if (!part.empty() && !(part == (all & folded))) return false;
    }
  }
  return true;
}

} // namespace broadloom::freeze
