// See bounds.hpp.
#include "grad/bounds.hpp"

#include "expr/stretch.hpp"
#include "facts/substitute.hpp"
#include "facts/terms.hpp"
#include "grad/accumulator_names.hpp"
#include "grad/rename_axes.hpp"
#include "spec/cut.hpp"
#include "support/free_name.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace broadloom::grad {

std::string bound_of(const Window &window, std::size_t dim, const SameExtents &same) {
  const auto of = same.find(window.of->name);
  std::string text = of == same.end() ? window.of->name : of->second;
  AffineForm form = window.forms[dim];
  form.stays_inside = false; // i bounds i as i + 0 does
  text += " " + std::to_string(dim) + " " + print(form);
  for (const DimPad &pad : window.pads)
    if (pad.dim == dim) text += " " + std::to_string(pad.before + pad.after);
  return text;
}

namespace {

template <class Visit> void for_each_bound(const Window &window, Visit visit) {
  for (std::size_t dim = 0; dim < window.forms.size(); ++dim)
    if (window.forms[dim].indices.empty()) // elements bound no axis
      for (const AffineForm::Term &term : window.forms[dim].terms) visit(term.axis, dim);
}

// The axes of windows that stand beside others or numbers somewhere, or at a position of a let:
// they end where a read would leave its array, and may be shorter than a dim at whose position they
// stand alone.
void add_free_axes(const Window &window, std::set<std::string> &axes) {
  for (const AffineForm &form : window.forms)
    if (form.indices.empty() && (window.of->materialised || !form.is_axis()))
      for (const AffineForm::Term &term : form.terms) axes.insert(term.axis);
}
std::set<std::string> free_axes(const Decls &inputs) {
  std::set<std::string> axes;
  for (const auto &input : inputs)
    if (input->window) add_free_axes(*input->window, axes);
  return axes;
}
std::set<std::string> without(std::set<std::string> axes, const std::set<std::string> &others) {
  std::erase_if(axes, [&](const std::string &axis) { return others.contains(axis); });
  return axes;
}

template <class Visit>
void for_each_called(const Decls &inputs, const std::vector<std::string> &names, Visit visit) {
  for (const auto &input : inputs)
    if (std::ranges::count(names, input->name) != 0) visit(*input);
}

// Whether the label of a dim gives its axis an extent: one that may be 1 gives none.
bool says_extent(const Dim &dim) {
  return !dim.label.empty() && dim.extent != expr::may_be_one && dim.extent != 1;
}

// That of a let in what is derived may be named only, where it says nothing of this.
void add_free_axes_of_inputs(const Window &window, std::set<std::string> &axes) {
  if (!window.of->materialised && !window.of->is_let) add_free_axes(window, axes);
}

} // namespace

void stay_inside(SpecData &data, const Decls &inputs, bool keeps_names) {
  const std::set<std::string> were_free = free_axes(inputs);
  if (were_free.empty()) return;
  const std::vector<Expr> roots = values_of(data);
  std::set<std::string> free, alone;
  std::set<const InputDecl *> seen;
  const auto note = [&](const InputDecl &decl) {
    if (!decl.window || !seen.insert(&decl).second) return;
    add_free_axes_of_inputs(*decl.window, free);
    for (const AffineForm &form : decl.window->forms)
      if (form.is_axis()) alone.insert(form.terms[0].axis);
  };
  expr::Walker walker;
  for (const Expr &root : roots)
    walker.walk(root.node(), [&](const ExprNode &node) {
      if (node.kind == ExprKind::Input) note(*node.input);
      if (node.use) for_each_called(data.inputs, node.use->like, note);
    });
  for (const OutputDecl &output : data.outputs)
    for_each_called(data.inputs, output.mode.use.like, note);
  Renaming renaming;
  renaming.keeps_names = keeps_names;
  renaming.inside = without(were_free, free);
  std::erase_if(renaming.inside, [&](const auto &axis) { return !alone.contains(axis); });
  if (renaming.inside.empty()) return;
  std::unordered_map<std::string, std::string> names;
  for (auto &input : data.inputs) {
    if (!input->window) continue;
    renaming.windows.push_back(input);
    const auto made = renamed(input, renaming);
    names.emplace(input->name, made->name);
    input = made;
  }
  const std::vector<Expr> made = renamed(roots, renaming);
  std::size_t next = 0;
  for (Expr &let : data.lets) let = made[next++];
  for (OutputDecl &output : data.outputs) {
    output.value = made[next++];
    for (Expr &init : output.mode.use.init) init = made[next++];
    for (std::string &like : output.mode.use.like)
      if (const auto found = names.find(like); found != names.end()) like = found->second;
  }
}

void keep_bounds(SpecData &data, const Decls &inputs, const SameExtents &same) {
  std::set<std::string> labels, read, bounds, axes;
  spec::Names names = spec::names_of(data);
  for (const auto &input : data.inputs)
    for (const Dim &dim : input->dims)
      if (!input->window && says_extent(dim)) labels.insert(dim.label);
  const auto note = [&](const InputDecl &decl) {
    if (!read.insert(decl.name).second || !decl.window) return;
    for_each_bound(*decl.window, [&](const std::string &axis, std::size_t dim) {
      axes.insert(axis);
      bounds.insert(bound_of(*decl.window, dim, same));
    });
  };
  const auto note_name = [&](const std::string &name) {
    for (const auto &input : data.inputs)
      if (input->name == name) note(*input);
  };
  spec::for_each_node(data, [&](const ExprNode &node) {
    if (node.kind == ExprKind::Input) note(*node.input);
    for (const std::string &name : node.of) note_name(name);
    if (node.use)
      for (const std::string &name : node.use->like) note_name(name);
  });
  for (const OutputDecl &output : data.outputs) {
    for (const AxisRef &axis : output.axes)
      if (const auto *label = std::get_if<std::string>(&axis.value())) axes.insert(*label);
    for (const std::string &name : output.mode.use.like) note_name(name);
  }
  for (const auto &input : inputs) {
    if (!input->window || input->window->is_whole || read.contains(input->name)) continue;
    bool bounds_one = false;
    for_each_bound(*input->window, [&](const std::string &axis, std::size_t dim) {
      bounds_one = bounds_one || (axes.contains(axis) && !labels.contains(axis) &&
                                  !bounds.contains(bound_of(*input->window, dim)));
    });
    if (!bounds_one) continue;
    note(*input);
    if (std::ranges::none_of(data.inputs,
                             [&](const auto &known) { return known->name == input->name; }))
      data.inputs.push_back(input);
    const std::string name = support::fresh_name("bound", names);
    const Expr window = make_input(input, input->where);
    data.lets.push_back(make_let(name, window, input->where));
  }
  stay_inside(data, inputs, true);
}

namespace {

// What one value says of the axes that windows walk.
class BoundsOfValue {
public:
  BoundsOfValue(const Expr &value, const Decls &inputs, const Decls &named, const SameExtents &same)
      : inputs_(inputs), named_(named), same_(same) {
    for (const auto &input : inputs)
      if (!input->window) note_labels(*input);
    expr::Walker().walk(value.node(), [&](const ExprNode &node) {
      if (node.kind == ExprKind::Input) note(*node.input);
      for (const std::string &name : node.of) note_name(name);
      if (node.use)
        for (const std::string &name : node.use->like) note_name(name);
    });
  }

  // By axis: the windows that bound it in a way in which none of the value does.
  std::map<std::string, Decls> missing() const {
    std::map<std::string, Decls> missing;
    for (const auto &input : inputs_) {
      if (!input->window || input->window->is_whole || read_.contains(input->name)) continue;
      std::map<std::size_t, int> unknown; // by dim: axes that the value has not
      for_each_bound(*input->window, [&](const std::string &axis, std::size_t dim) {
        unknown[dim] += !axes_.contains(axis) && !labels_.contains(axis);
      });
      const auto is_open = [](const auto &of_dim) { return of_dim.second > 1; };
      if (std::ranges::any_of(unknown, is_open)) continue; // nothing would tell them apart
      for_each_bound(*input->window, [&](const std::string &axis, std::size_t dim) {
        if (!axes_.contains(axis) || labels_.contains(axis) || unknown[dim] != 0) return;
        if (bounds_.contains(bound_of(*input->window, dim))) return;
        Decls &windows = missing[axis];
        if (std::ranges::find(windows, input) == windows.end()) windows.push_back(input);
      });
    }
    return missing;
  }

  // The node that is to say more of an axis: what reads along it, or, where nothing does, what is
  // summed like such a window.
  const ExprNode *place(const Expr &value, const std::string &axis) const {
    const ExprNode *read = nullptr, *index = nullptr, *sum = nullptr;
    expr::Walker().walk(value.node(), [&](const ExprNode &node) {
      if (!read && node.kind == ExprKind::Input && walks(*node.input, axis)) read = &node;
      if (!index && node.kind == ExprKind::Iota && is_called(node.axes[0], axis)) index = &node;
      if (!sum && node.kind == ExprKind::Fold && is_like(node, axis)) sum = &node;
    });
    return read ? read : index ? index : sum;
  }

private:
  void note_labels(const InputDecl &input) {
    for (const Dim &dim : input.dims)
      if (says_extent(dim)) labels_.insert(dim.label);
  }
  void note(const InputDecl &decl) {
    if (!read_.insert(decl.name).second) return;
    if (!decl.window) return note_labels(decl);
    for_each_bound(*decl.window, [&](const std::string &axis, std::size_t dim) {
      axes_.insert(axis);
      bounds_.insert(bound_of(*decl.window, dim, same_));
    });
  }
  void note_name(const std::string &name) {
    if (const InputDecl *decl = declaration(name)) note(*decl);
  }
  const InputDecl *declaration(const std::string &name) const {
    for (const Decls *decls : {&named_, &inputs_})
      for (const auto &decl : *decls)
        if (decl->name == name) return decl.get();
    return nullptr;
  }

  static bool is_called(const AxisRef &axis, const std::string &name) {
    const auto *label = std::get_if<std::string>(&axis.value());
    return label != nullptr && *label == name;
  }
  static bool walks(const InputDecl &decl, const std::string &axis) {
    bool found = false;
    if (decl.window)
      for_each_bound(*decl.window,
                     [&](const std::string &walked, std::size_t) { found |= walked == axis; });
    return found;
  }
  bool is_like(const ExprNode &fold, const std::string &axis) const {
    return std::ranges::any_of(fold.use->like, [&](const std::string &name) {
      const InputDecl *decl = declaration(name);
      return decl != nullptr && walks(*decl, axis);
    });
  }

  const Decls &inputs_, &named_;
  const SameExtents &same_;
  std::set<std::string> labels_, read_, bounds_, axes_;
};

// The node, which says of the axis that it has an index in all of the windows.
Expr naming(const ExprNode &node, const std::string &axis, std::vector<std::string> windows) {
  if (node.kind == ExprKind::Iota) {
    windows.insert(windows.end(), node.of.begin(), node.of.end());
    return make_iota(AxisRef(axis), std::move(windows), node.where);
  }
  if (node.kind == ExprKind::Input)
    return where_inside(with_args(node, node.args), axis, std::move(windows),
                        node.input->dtype == DType::Bool);
  std::vector<Expr> args = node.args; // what flows back through a window is a number
  args[0] = where_inside(args[0], axis, std::move(windows), false);
  return with_args(node, std::move(args));
}

} // namespace

Expr where_inside(const Expr &value, const std::string &axis, std::vector<std::string> windows,
                  bool is_bool) {
  const facts::Terms t(value.node()->where);
  const Expr index = make_iota(AxisRef(axis), std::move(windows), t.place());
  const Expr inside = t.op(ops::Op::Ge, {index, t.num(0)});
  return is_bool ? t.both(inside, value) : t.where(inside, value);
}

Expr with_bounds(const Expr &value, const Decls &inputs, Decls &named, const SameExtents &same) {
  if (std::ranges::none_of(inputs, [](const auto &input) { return bool(input->window); }))
    return value;
  const BoundsOfValue bounds(value, inputs, named, same);
  Expr bounded = value;
  for (const auto &[axis, windows] : bounds.missing()) {
    const ExprNode *place = bounds.place(bounded, axis);
    if (place == nullptr) continue; // an extent, which says of what
    std::vector<std::string> names;
    for (const auto &window : windows) {
      names.push_back(window->name);
      if (std::ranges::none_of(named,
                               [&](const auto &known) { return known->name == window->name; }))
        named.push_back(window);
    }
    bounded = facts::exchange(bounded, [&, axis = axis](const ExprNode &node) {
      return &node == place ? naming(node, axis, names) : Expr();
    });
  }
  return bounded;
}

} // namespace broadloom::grad
