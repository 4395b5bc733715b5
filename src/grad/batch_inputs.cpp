// See batch.hpp: inputs with one dim more, and what reads them at positions.
#include "grad/batch.hpp"

#include "expr/graph.hpp"
#include "spec/own_axis.hpp"

#include <algorithm>

namespace broadloom::grad {

// Before the dims that it has.
std::shared_ptr<const InputDecl> Batcher::with_axis(const InputDecl &decl) const {
  auto made = std::make_shared<InputDecl>(decl);
  const bool has_label =
      decl.dims.empty() ? !facts_.is_by_position() : decl.labelled(); // others are placed below
  made->dims.insert(made->dims.begin(), has_label ? Dim(axis_) : Dim(":"));
  return made;
}

void Batcher::make_inputs() {
  for (const auto &decl : data_.inputs) {
    if (decl->window) continue;
    made_.inputs.push_back(inputs_.contains(decl->name) ? with_axis(*decl) : decl);
  }
  place_unlabelled();
  for (const auto &decl : made_.inputs) decls_[decl->name] = decl;
  rename_own_axes();
}

// h_0 names the first dim of h wherever it stands (spec::own_axis), and that is h_1 now.
void Batcher::rename_own_axes() {
  std::set<std::string> declared;
  for (const auto &decl : data_.inputs)
    for (const Dim &dim : decl->dims)
      if (!decl->window) declared.insert(dim.label);
  for (const std::string &label : labels_of(data_)) {
    const std::size_t end = label.rfind('_');
    if (end == std::string::npos || declared.contains(label)) continue;
    const std::string array = label.substr(0, end);
    if (!facts_.depends(array)) continue;
    for (std::size_t dim = 0; dim < std::size_t(max_rank); ++dim)
      if (label == spec::own_axis(array, dim)) one_further_[label] = spec::own_axis(array, dim + 1);
  }
}

// Where an unlabelled dim lies is said by the number of its axis, of which there is one more now.
void Batcher::place_unlabelled() {
  std::set<std::string> before; // labels, as they come
  bool found = facts_.is_by_position();
  for (const auto &decl : made_.inputs)
    for (const Dim &dim : decl->dims) {
      found = found || dim.label == axis_;
      if (!found && !dim.label.empty()) before.insert(dim.label);
    }
  place_ = found ? int(before.size()) : expr::max_axes; // else behind all labels of inputs
  const std::size_t count = facts_.typed().axes.size();
  const bool has_all = std::ranges::any_of( // one that tells how many axes there are
      made_.inputs, [&](const auto &decl) { return decl->dims.size() == count + 1; });
  if (facts_.split()) return; // none that is read as a whole
  std::set<std::string> used;
  spec::for_each_node(data_, [&](const ExprNode &node) {
    if (node.kind == ExprKind::Input) used.insert(node.input->name);
    used.insert(node.of.begin(), node.of.end());
    if (node.use) used.insert(node.use->like.begin(), node.use->like.end());
  });
  for (const OutputDecl &output : data_.outputs)
    used.insert(output.mode.use.like.begin(), output.mode.use.like.end());
  for (auto &decl : made_.inputs) {
    if (decl->labelled() || decl->dims.empty() || decl->is_output) continue;
    const bool moves = inputs_.contains(decl->name);
    if (!used.contains(decl->name) && !moves && !facts_.is_by_position())
      continue; // it lies anywhere
    const auto old = std::ranges::find_if(
        data_.inputs, [&](const auto &input) { return input->name == decl->name; });
    const AxisNames axes = facts_.axes_of_input(**old);
    std::vector<int> placed;
    for (const std::string &axis : axes) {
      if (axis[0] == '#') {
        placed.push_back(std::stoi(axis.substr(1)));
        continue;
      }
      const std::vector<spec::Axis> &known = facts_.typed().axes;
      const auto at = std::ranges::find(known, axis, &spec::Axis::name);
      if (at == known.end() || at->implied) break; // read at positions only
      placed.push_back(int(at - known.begin()));
    }
    if (placed.size() < axes.size()) {
      if (moves && facts_.is_by_position())
        fail("'" + decl->name + "' is read at positions, beside axes without labels", decl->where,
             "label the dims of the inputs");
      continue;
    }
    if (!found)
      fail("'" + decl->name + "' has no labels, and nothing says where its dims lie", decl->where,
           "label its dims");
    for (int &axis : placed) axis += axis >= place_ ? 1 : 0;
    if (moves) placed.insert(placed.begin(), place_);
    auto made = std::make_shared<InputDecl>(*decl);
    const bool is_last = facts_.is_by_position() && data_.order == Order::f && has_all &&
                         (*old)->placement == Placement::ByOrder &&
                         placed.front() + placed.size() == count + 1 && placed.back() == int(count);
    if (is_last) continue; // as NumPy aligns them
    // axes() also says how many axes there are.
    const bool increases = (has_all || !facts_.is_by_position()) && std::ranges::is_sorted(placed);
    made->placement = increases ? Placement::Dims : Placement::Axes;
    made->axes = std::move(placed);
    decl = std::move(made);
  }
}

// ---- positions

bool Batcher::changes(const InputDecl &decl) const {
  if (!decl.window) return facts_.depends(decl.name);
  bool has_changed = facts_.reads(decl);
  const auto look_at = [&](const InputDecl &window) {
    for_each_extent(window, [&](const AffineForm::Extent &extent) {
      has_changed = has_changed || facts_.depends(name_of_array(extent.of));
    });
    for (const Dim &dim : window.dims)
      has_changed = has_changed || one_further_.contains(dim.label);
  };
  look_at(decl);
  for_each_read_by(decl, [&](const std::shared_ptr<const InputDecl> &part) {
    if (part->window) look_at(*part);
  });
  return has_changed;
}

Expr Batcher::array_now(const Expr &array, const Place &where) {
  const std::string &name = name_of_array(array);
  if (array.node()->kind == ExprKind::Let) {
    const auto made = lets_now_.find(name);
    return made == lets_now_.end() ? array : made->second;
  }
  const auto decl = decls_.find(name);
  return decl == decls_.end() ? array : make_input(decl->second, where);
}

void Batcher::extents_now(AffineForm &form, const Place &where) {
  for (AffineForm::Extent &extent : form.extents) {
    if (facts_.depends(name_of_array(extent.of))) ++extent.dim;
    extent.of = array_now(extent.of, where);
  }
}

Window Batcher::positions_now(const InputDecl &decl, const Place &where) {
  Window window = *decl.window;
  for (AffineForm &form : window.forms) {
    extents_now(form, where);
    for (AffineForm::Term &term : form.terms) term.axis = label_now(term.axis);
    for (AffineForm::Index &index : form.indices)
      index.read = window_now(*index.read, {}, where).node()->input;
  }
  if (facts_.depends(window.of->name)) {
    window.forms.insert(window.forms.begin(), own_form());
    for (DimPad &pad : window.pads) ++pad.dim;
  }
  return window;
}

// `of`: the let that it is a window of; empty for an input, and for a let that is not there yet.
Expr Batcher::window_now(const InputDecl &decl, const Expr &of, const Place &where) {
  const Window window = positions_now(decl, where);
  const std::string &array = window.of->name;
  if (!window.of->is_let)
    return make_window_like(make_input(decls_.at(array), where), window, where);
  return make_window_like(of.node() ? exchange_(of) : make_ahead(array, where), window, where);
}

// One that like= or of= names: of the lets so far.
Expr Batcher::window_called(const InputDecl &decl) {
  Expr let;
  if (decl.window->of->is_let) {
    const std::string &name = decl.window->of->name;
    const auto made = lets_now_.find(name);
    if (made != lets_now_.end()) let = made->second;
    // What nothing changes in is the let that it was.
    else if (const Expr &old = facts_.lets().at(name); !facts_.depends(name))
      let = old;
  }
  if (!let.node()) return window_now(decl, {}, decl.where);
  return make_window_like(let, positions_now(decl, decl.where), decl.where);
}

std::string Batcher::named(const std::string &array) {
  const InputDecl *window = facts_.window_called(array);
  if (window == nullptr) return array;
  const Expr made = window_called(*window);
  const auto &decl = made.node()->input;
  if (declared_.insert(decl->name).second) windows_.push_back(decl);
  return decl->name;
}

std::shared_ptr<const InputDecl> Batcher::said_now(const std::string &owner,
                                                   const InputDecl &said) {
  std::vector<SaidExtent> dims;
  for (std::size_t d = 0; d < said.dims.size(); ++d) {
    dims.push_back({label_now(said.dims[d].label), said.said->of[d]});
    extents_now(dims.back().extent, said.where);
  }
  return make_said(owner, std::move(dims), [&] { return said.where; });
}

// How long the new axis is: as that of the first input that has it.
SaidExtent Batcher::own_extent(const Place &where) {
  if (facts_.is_by_position())
    fail("a value is to be repeated along it", where, "label the inputs");
  AffineForm form;
  for (const auto &decl : made_.inputs)
    if (inputs_.contains(decl->name)) {
      form.extents.push_back({make_input(decl, where), 0, 1});
      break;
    }
  return {axis_, std::move(form)};
}

} // namespace broadloom::grad
