// Lets whose arrays are inputs of the gradient (Policy::save): see lets_gradient.hpp.
#include "grad/lets_gradient.hpp"

#include "expr/exchange.hpp"
#include "expr/held_lets.hpp"
#include "spec/own_axis.hpp"

namespace broadloom::grad {

// Whether a sum is like this window.
static bool is_like(const SpecData &data, const std::string &window) {
  bool found = false;
  spec::for_each_node(data, [&](const ExprNode &node) {
    found = found || (node.use && std::ranges::count(node.use->like, window) != 0);
  });
  return found;
}

// The inputs that stand for lets get names of their own, and so do windows of them: these names.
std::set<std::string> ThroughLets::name_saved_ones() {
  if (saved_lets_.empty()) return {};
  spec::LetsByName inputs;
  Decls saved;
  for (const std::string &let : saved_lets_) {
    auto decl = std::make_shared<InputDecl>(*lets_.at(let).node()->input);
    decl->name = fresh("saved_" + std::to_string(saved.size()));
    decl->materialised = false;
    inputs[let] = make_input(decl, decl->where);
    saved.push_back(std::move(decl));
  }
  // Positions of a let end where any read would leave its array: h[t] beside pad(h, 0: (1, 0))[t].
  const auto seen = [&](const InputDecl &decl) {
    const Expr read = spec::window_of_lets(decl, inputs);
    if (!decl.window->of->materialised) return read;
    Window window = *read.node()->input->window;
    for (AffineForm &form : window.forms)
      if (form.is_axis()) form.stays_inside = true;
    const Expr &of = inputs.at(decl.window->of->name);
    return holding(make_window_like(of, window, decl.where), read.node()->args);
  };
  std::set<std::string> of_names;
  spec::for_each_node(
      made_, [&](const ExprNode &node) { of_names.insert(node.of.begin(), node.of.end()); });
  // What lends its shape to a sum is walked as it is.
  std::unordered_map<std::string, std::string> lent, asked; // windows that like= and of= name
  for (std::size_t k = made_.inputs.size(); k-- > 0;) {
    const auto input = made_.inputs[k];
    if (!input->window || !spec::reads_arrays(*input)) continue;
    const auto plain = spec::window_of_lets(*input, inputs).node()->input;
    const auto inside = seen(*input).node()->input;
    lent[input->name] = plain->name;
    asked[input->name] = inside->name;
    made_.inputs[k] = plain;
    if (!of_names.contains(input->name)) continue;
    const bool is_lent = is_like(made_, input->name);
    if (is_lent && inside->name != plain->name)
      made_.inputs.insert(made_.inputs.begin() + std::ptrdiff_t(k), inside);
    else if (!is_lent)
      made_.inputs[k] = inside;
  }
  const auto renamed = [](std::vector<std::string> called,
                          const std::unordered_map<std::string, std::string> &names) {
    for (std::string &name : called)
      if (const auto now = names.find(name); now != names.end()) name = now->second;
    return called;
  };
  std::set<std::string> read;
  expr::Exchange exchange;
  const auto now = [&](const ExprNode &node) {
    if (node.kind == ExprKind::Input) {
      const auto note = [&](const std::shared_ptr<const InputDecl> &decl) {
        if (decl->materialised) read.insert(decl->name);
      };
      note(node.input);
      for_each_read_by(*node.input, note);
      if (node.input->materialised) return inputs.at(node.input->name);
      return spec::reads_arrays(*node.input) ? seen(*node.input) : Expr();
    }
    const bool is_fold = node.kind == ExprKind::Fold && !node.use->like.empty();
    if (!is_fold && node.of.empty()) return Expr();
    if (!is_fold) return with_of(node, node.axes[0], renamed(node.of, asked));
    FoldUse use = *node.use;
    use.like = renamed(use.like, lent);
    return with_use(node, std::move(use), exchange.args_of(node), node.axes);
  };
  spec::change_values(made_, [&](const Expr &expr) { return exchange.run(expr, now); });
  for (const std::string &let : saved_lets_)
    if (read.contains(let)) saved_read_.push_back(let);
  const auto first_window =
      std::ranges::find_if(made_.inputs, [](const auto &input) { return bool(input->window); });
  made_.inputs.insert(first_window, saved.begin(), saved.end());
  std::set<std::string> names;
  for (const auto &input : saved) names.insert(input->name);
  return names;
}

// Lets that are computed again read those that are saved; the steps of a loop what they compute.
void ThroughLets::read_saved_ones() {
  const auto saved = [&](const std::string &name) {
    return std::ranges::count(saved_lets_, name) != 0;
  };
  const auto of_saved = [&](const ExprNode &node) {
    return let_seen(node).node() && !node.input->window->is_whole &&
           saved(node.input->window->of->name);
  };
  expr::Exchange exchange;
  for (const auto &let : split_.lets) {
    if (!let->recurrence || !defined_.contains(let->data.outputs[0].name)) continue;
    const std::size_t first = let->recurrence->first;
    std::set<std::string> members;
    for (std::size_t k = first; k < first + split_.lets[first]->recurrence->count; ++k)
      members.insert(split_.lets[k]->data.outputs[0].name);
    expr::Walker walker;
    walker.walk(
        defined_.at(let->data.outputs[0].name).node()->args[0].node(),
        [&](const ExprNode &node) {
          if (of_saved(node) && members.contains(node.input->window->of->name))
            exchange.put(&node, make_input(node.input, node.where, node.args));
        },
        [](const ExprNode &node) { return node.kind != ExprKind::Let || node.axes.empty(); });
  }
  const auto now = [&](const Expr &expr) {
    return exchange.run(expr, [&](const ExprNode &node) {
      if (node.kind != ExprKind::Input || !of_saved(node)) return Expr();
      const Expr &of = lets_.at(node.input->window->of->name);
      return holding(make_window_like(of, *node.input->window, node.where),
                     lets_held(node, [&](const Expr &let) { return exchange(let); }));
    });
  };
  spec::change_values(made_, now);
  for (Expr &cotangent : cotangents_) cotangent = now(cotangent);
  for (auto &[name, let] : defined_) let = now(let);
}

void save_lets(SpecData &forward, const spec::Split &split, const std::vector<std::string> &saved) {
  const spec::LetsByName lets = spec::lets_by_name(forward);
  spec::Names taken = spec::names_of(forward);
  for (std::size_t k = 0; k < saved.size(); ++k) {
    const auto let = std::ranges::find_if(
        split.lets, [&](const auto &one) { return one->data.outputs[0].name == saved[k]; });
    OutputDecl output;
    output.name = support::fresh_name("saved_" + std::to_string(k), taken);
    output.where = (*let)->data.outputs[0].where;
    output.has_axes = true;
    const auto own = spec::own_axes(saved[k], (*let)->typed.outputs[0].axes.size());
    output.axes.assign(own.begin(), own.end());
    output.value = make_window(lets.at(saved[k]), spec::along(own), output.where);
    forward.outputs.push_back(std::move(output));
  }
}

} // namespace broadloom::grad
