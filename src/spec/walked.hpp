// The axes that an expression walks, by their labels: of those alone an extent that is said
// matters.
#pragma once

#include "expr/node.hpp"
#include "expr/window.hpp"

#include <set>
#include <string>

namespace broadloom::spec {

inline void note_walked(const InputDecl &read, std::set<std::string> &labels) {
  for (const Dim &dim : read.dims) labels.insert(dim.label);
  if (!read.window) return;
  for (const AffineForm &form : read.window->forms)
    for (const AffineForm::Term &term : form.terms) labels.insert(term.axis);
}

inline void note_walked(const ExprNode &node, std::set<std::string> &labels) {
  if (node.kind == ExprKind::Input) note_walked(*node.input, labels);
  if (node.kind != ExprKind::Iota && node.kind != ExprKind::Extent) return;
  if (const auto *label = std::get_if<std::string>(&node.axes[0].value())) labels.insert(*label);
}

} // namespace broadloom::spec
