// See held_lets.hpp.
#include "expr/held_lets.hpp"

#include <algorithm>

namespace broadloom {

Expr holding(const Expr &read, const std::vector<Expr> &lets) {
  std::vector<Expr> args = read.node()->args;
  for (const Expr &let : lets)
    if (std::ranges::none_of(args, [&](const Expr &arg) { return arg.node() == let.node(); }))
      args.push_back(let);
  return args.size() == read.node()->args.size() ? read : with_args(*read.node(), std::move(args));
}

std::set<std::string> lets_in_positions(const Window &window) {
  std::set<std::string> names;
  for (const AffineForm &form : window.forms)
    for (const AffineForm::Index &index : form.indices) {
      const Window &read = *index.read->window;
      if (read.of->is_let || read.of->materialised) names.insert(read.of->name);
      names.merge(lets_in_positions(read));
    }
  return names;
}

} // namespace broadloom
