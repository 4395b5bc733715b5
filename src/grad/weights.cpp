// See weights.hpp.
#include "grad/weights.hpp"

#include "expr/exchange.hpp"
#include "expr/stretch.hpp"
#include "expr/window.hpp"
#include "spec/cut.hpp"
#include "spec/materialise.hpp"
#include "support/free_name.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace broadloom::grad {
namespace {

class Weights {
public:
  explicit Weights(SpecData &data) : data_(data), taken_(spec::names_of(data)) {
    for (const auto &input : data.inputs)
      if (input->window) windows_[input->name] = input.get();
  }

  bool run() {
    expr::Exchange exchange;
    spec::change_values(data_, [&](const Expr &value) {
      return exchange.run(value, [&](const ExprNode &node) {
        if (node.kind != ExprKind::Fold || node.use->like.size() != 1) return Expr();
        const auto window = windows_.find(node.use->like[0]);
        if (window == windows_.end()) return Expr();
        std::vector<Expr> args = exchange.args_of(node);
        const Expr now = factors(args[0], *window->second);
        if (now.node() == args[0].node()) return Expr();
        args[0] = now;
        return with_args(node, std::move(args));
      });
    });
    data_.lets.insert(data_.lets.begin(), made_.begin(), made_.end());
    return !made_.empty();
  }

private:
  // Of a product, those that are weights.
  Expr factors(const Expr &product, const InputDecl &window) {
    expr::Exchange exchange;
    std::set<const ExprNode *> found;
    std::vector<const ExprNode *> work{product.node()};
    while (!work.empty()) {
      const ExprNode &node = *work.back();
      work.pop_back();
      if (node.kind == ExprKind::Op && node.op == ops::Op::Mul)
        for (const Expr &arg : node.args) work.push_back(arg.node());
      else if (node.kind == ExprKind::Input)
        found.insert(&node);
    }
    return exchange.run(product, [&](const ExprNode &node) {
      return found.contains(&node) ? laid(node, window) : Expr();
    });
  }

  // The input with the last axis of the window behind the one that lies side by side in it, and
  // which the window does not have; else nothing. An array is not repeated as such an input may be.
  Expr laid(const ExprNode &node, const InputDecl &window) {
    const InputDecl &input = *node.input;
    const AffineForm &last = window.window->forms.back();
    if (window.window->is_gather() || input.window || !input.labelled() || input.dims.size() < 2 ||
        !last.is_axis())
      return {};
    const std::string &kept = last.terms[0].axis, &folded = input.dims.back().label;
    const auto has_folded = [&](const AffineForm &form) {
      return std::ranges::find(form.terms, folded, &AffineForm::Term::axis) != form.terms.end();
    };
    std::vector<std::string> axes;
    for (const Dim &dim : input.dims)
      if (dim.label != kept) axes.push_back(dim.label);
    if (axes.size() == input.dims.size() || folded == kept ||
        std::ranges::any_of(window.window->forms, has_folded) ||
        std::ranges::any_of(input.dims, expr::is_one_of_more))
      return {};
    axes.push_back(kept);
    Expr &let = lets_[{input.name, kept}];
    if (!let.node()) {
      LetLoop lies;
      lies.store = Order::c;
      let = make_let(support::fresh_name(input.name + "_by_" + kept, taken_),
                     make_input(node.input, node.where), node.where, {axes.begin(), axes.end()},
                     lies);
      made_.push_back(let);
    }
    return make_window(let, spec::along(axes), node.where);
  }

  SpecData &data_;
  std::set<std::string> taken_;
  std::map<std::string, const InputDecl *> windows_;
  std::map<std::pair<std::string, std::string>, Expr> lets_;
  std::vector<Expr> made_;
};

} // namespace

bool lay_weights(SpecData &data) { return Weights(data).run(); }

} // namespace broadloom::grad
