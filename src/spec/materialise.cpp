// See materialise.hpp.
#include "spec/splitter.hpp"

namespace broadloom::spec {
namespace {

// From the parts to one kernel.
class Joiner {
public:
  Joiner(const SpecData &data, const Split &split)
      : data_(data), split_(split), lets_(lets_by_name(data)) {}

  SpecData run() {
    SpecData made = split_.rest;
    made.inputs.clear();
    made.lets.clear();
    for (const auto &input : data_.inputs)
      if (!input->window) made.inputs.push_back(input);
    for (const auto &let : split_.lets) {
      const OutputDecl &output = let->data.outputs[0];
      const auto known = lets_.find(output.name);
      if (known == lets_.end()) continue; // the start of one, which stands behind it
      if (let->recurrence) {
        const ExprNode &old = *known->second.node();
        LetLoop loop = loop_of(old);
        if (loop.start.node()) loop.start = relinked(loop.start);
        Expr value = relinked(old.args[0]);
        lets_[output.name] = make_let(output.name, std::move(value), old.where, old.axes, loop);
        made.lets.push_back(lets_[output.name]);
        continue;
      }
      const ExprNode &old = *known->second.node();
      lets_[output.name] = make_let(output.name, again(output.value), old.where, old.axes);
      made.lets.push_back(lets_[output.name]);
      declare(let->data);
    }
    for (const Expr &let : split_.rest.lets) made.lets.push_back(again(let));
    for (OutputDecl &output : made.outputs) {
      output.value = again(output.value);
      for (Expr &init : output.mode.use.init) init = again(init);
    }
    declare(split_.rest);
    made.inputs.insert(made.inputs.end(), windows_.begin(), windows_.end());
    return made;
  }

private:
  Expr window(const InputDecl &decl) const {
    return make_window_like(lets_.at(decl.window->of->name), *decl.window, decl.where);
  }

  void declare(const SpecData &part) {
    for (const auto &input : part.inputs)
      if (input->window && declared_.insert(input->name).second)
        windows_.push_back(input->window->of->materialised ? window(*input).node()->input : input);
  }

  // What was not split stands for the lets as they are now.
  Expr relinked(const Expr &root) {
    return links_.run(root, [&](const ExprNode &node) {
      const bool is_array =
          node.kind == ExprKind::Let && std::ranges::any_of(split_.lets, [&](const auto &let) {
            return let->data.outputs[0].name == node.name;
          });
      if (is_array) return lets_.at(node.name);
      const bool of_let = node.kind == ExprKind::Input && node.input->window &&
                          node.input->window->of->is_let && !node.args.empty() &&
                          !node.input->window->is_whole;
      return of_let ? window(*node.input) : Expr();
    });
  }

  // The arrays are lets again.
  Expr again(const Expr &root) {
    return exchange_.run(root, [&](const ExprNode &node) {
      const bool of_let = node.kind == ExprKind::Input && node.input->window &&
                          node.input->window->of->materialised;
      return of_let ? window(*node.input) : Expr();
    });
  }

  const SpecData &data_;
  const Split &split_;
  std::unordered_map<std::string, Expr> lets_;
  Names declared_;
  std::vector<std::shared_ptr<const InputDecl>> windows_;
  expr::Exchange exchange_, links_;
};

} // namespace

std::unordered_map<std::string, Expr> lets_by_name(const SpecData &data) {
  std::unordered_map<std::string, Expr> lets;
  const auto note = [&](const Expr &let) {
    if (let.node() && let.node()->kind == ExprKind::Let) lets.try_emplace(let.node()->name, let);
  };
  expr::Walker walker;
  for_each_root(data, [&](const Expr &root) {
    walker.walk(root.node(), [&](const ExprNode &node) {
      for (const Expr &arg : node.args) note(arg);
    });
    note(root);
  });
  return lets;
}

std::optional<Split> split_lets(const SpecData &data,
                                const std::function<TypedSpec(const SpecData &)> &analyse) {
  return Splitter(data, analyse).run();
}

SpecData joined(const SpecData &data, const Split &split) { return Joiner(data, split).run(); }

} // namespace broadloom::spec
