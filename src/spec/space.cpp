// See space.hpp.
#include "spec/space.hpp"

#include "expr/stretch.hpp"
#include "expr/walk.hpp"
#include "expr/window.hpp"
#include "spec/check_updates.hpp"
#include "spec/check_windows.hpp"
#include "spec/own_axis.hpp"
#include "spec/walked.hpp"
#include "spec/words.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace broadloom::spec {

using support::fail;

namespace {

constexpr std::size_t max_inputs = 4096;

bool same_declaration(const InputDecl &a, const InputDecl &b) {
  auto same_dim = [](const Dim &x, const Dim &y) {
    return x.label == y.label && x.extent == y.extent;
  };
  return a.dtype == b.dtype && a.placement == b.placement && a.axes == b.axes && a.role == b.role &&
         a.sign == b.sign &&
         std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(), same_dim);
}

// The number that fills a padding, in the type of the input. Throws DTypeError E0202; `where` has
// its source line.
ops::Scalar filling(const Number &number, DType dtype, const std::string &seen,
                    const Place &where) {
  const auto misfit = [&](const std::string &why) {
    fail("E0202", seen + " is filled with a number that " + why, where,
         "write a number that " + std::string(name(dtype)) + " has");
  };
  if (number.too_large) misfit("is too large for i64");
  const bool is_whole = is_integer(dtype) || dtype == DType::Bool,
             has_point = number.kind == Number::Kind::Float;
  if (has_point && is_whole)
    misfit("has a point, and the elements are " + std::string(name(dtype)));
  const DType from = has_point ? DType::F64 : DType::I64;
  const ops::Scalar given =
      has_point ? ops::scalar_from(number.real) : ops::scalar_from(number.integer);
  const ops::Scalar value = ops::convert(given, from, dtype);
  if (is_whole && ops::convert(value, dtype, from) != given)
    misfit(std::string(name(dtype)) + " does not have");
  const ops::Scalar back = ops::convert({value.bits}, real_dtype(dtype), DType::F64);
  if (!is_whole && std::isinf(ops::as_f64(back)) && !std::isinf(number.real))
    misfit("is too large for " + std::string(name(dtype)));
  return value;
}

// Arrays that are read at positions, and outputs that are joins: those with dims whose axes the
// compiler names.
std::unordered_set<std::string>
arrays_named_by(const std::vector<std::shared_ptr<const InputDecl>> &decls,
                const std::vector<OutputDecl> &outputs) {
  std::unordered_set<std::string> arrays;
  for (const auto &decl : decls)
    if (decl->window) arrays.insert(decl->window->of->name);
  for (const OutputDecl &output : outputs) {
    const ExprNode &value = *output.value.node();
    if (value.kind == ExprKind::Input && value.input->window) arrays.insert(output.name);
  }
  return arrays;
}

// h_0 of h[h_0], or of its cotangent d_h[h_0], as gradients and steps(h) read them: no number
// counts it, so unlabelled dims lie as if it were not there.
bool is_own_label(const std::string &label, const std::unordered_set<std::string> &arrays) {
  const std::size_t end = label.rfind('_');
  if (end == std::string::npos || end + 1 == label.size() ||
      label.find_first_not_of("0123456789", end + 1) != std::string::npos)
    return false;
  const std::string array = label.substr(0, end);
  return arrays.contains(array) || arrays.contains("d_" + array);
}

} // namespace

Space::Space(const SpecData &data, TypedSpec &out) : data_(data), out_(out) {
  collect();
  check_names();
  for (const auto &decl : decls_) check_form(*decl);
  name_axes();
  placed_axes_ = int(out_.axes.size());
  name_own_axes();
  for (std::size_t i = 0; i < decls_.size(); ++i) {
    TypedInput input;
    input.name = decls_[i]->name;
    input.dtype = decls_[i]->dtype;
    input.role = decls_[i]->role;
    input.sign = decls_[i]->sign;
    input.where = shown(decls_[i]->where);
    place(*decls_[i], input);
    if (decls_[i]->window) input.window = resolve(*decls_[i]->window, input.where);
    if (decls_[i]->said)
      for (const AffineForm &form : decls_[i]->said->of) input.said.push_back(resolved(form));
    for (std::size_t o = 0; decls_[i]->is_output && o < data.outputs.size(); ++o)
      if (data.outputs[o].name == input.name) input.of_output = std::uint32_t(o);
    out_.inputs.push_back(std::move(input));
    note_fixed(i);
  }
  check_windows(out_);
}

// All inputs are declared by now (expand_calls); an input of the same name elsewhere must be the
// same.
void Space::collect() {
  for (const bool lent : {false, true}) // the shapes that outputs lend come last
    for (const auto &decl : data_.inputs)
      if (!decl->window && decl->is_output == lent) add(decl);
  for (const OutputDecl &output : data_.outputs)
    if (output.said) add(output.said);
  add_said_axes();
  for (const auto &decl : data_.inputs) add_read(decl);
  expr::Walker walker;
  auto visit = [&](const ExprNode &node) {
    if (node.kind == ExprKind::Input) {
      if (!node.input->window) read_whole_.insert(node.input->name);
      if (node.input->window && node.input->window->is_whole)
        fail("E0025", node.input->name + " is read at positions, and none are given",
             shown(node.where), "write one position for each dim, as in pad(x, 0: (1, 1))[i + u]");
      add_read(node.input);
    }
    for (const Expr &arg : node.args)
      if (!arg.node())
        fail("E0002", "an empty bl::Expr is used as an operand", shown(node.where),
             "give it a value first: a default-constructed Expr has none");
  };
  for (const Expr &let : data_.lets) walker.walk(let.node(), visit);
  for (const OutputDecl &output : data_.outputs) {
    if (!output.value.node())
      fail("E0002", "output '" + output.name + "' has no value", shown(output.where),
           "give it an expression: a default-constructed Expr has none");
    walker.walk(output.value.node(), visit);
    for (const Expr &init : output.mode.use.init) {
      if (!init.node())
        fail("E0002", "the init= of output '" + output.name + "' has no value", shown(output.where),
             "give it an expression");
      walker.walk(init.node(), visit);
    }
  }
}

// Of those that something walks: the kernel of a let has the axes of the whole in its text.
void Space::add_said_axes() {
  if (data_.axes.empty()) return;
  std::set<std::string> walked;
  expr::Walker walker;
  const auto visit = [&](const ExprNode &node) { note_walked(node, walked); };
  for (const auto &decl : data_.inputs) note_walked(*decl, walked);
  for (const Expr &let : data_.lets) walker.walk(let.node(), visit);
  for (const OutputDecl &output : data_.outputs)
    if (output.value.node()) walker.walk(output.value.node(), visit);
  for (const auto &axis : data_.axes)
    if (walked.count(axis->dims[0].label) != 0) add(axis);
}

// With what its positions are made of, and what it is of, before it. The axes of x[j, k[i]] are j
// and i all the same.
void Space::add_read(const std::shared_ptr<const InputDecl> &decl) {
  if (!by_decl_.count(decl.get())) {
    for_each_read_by(*decl, [&](const std::shared_ptr<const InputDecl> &part) { add(part); });
    add(decl);
  }
  const std::uint32_t index = by_decl_.at(decl.get());
  if (named_.insert(index).second) order_of_labels_.push_back(index);
}

void Space::add(const std::shared_ptr<const InputDecl> &decl) {
  if (decl->window) windowed_.insert(decl->window->of->name); // named by like= or of=, too
  for_each_extent(
      *decl, [&](const AffineForm::Extent &extent) { windowed_.insert(name_of_array(extent.of)); });

  if (by_decl_.count(decl.get())) return;
  auto [it, fresh] = by_name_.try_emplace(decl->name, std::uint32_t(decls_.size()));
  if (!fresh && !same_declaration(*decls_[it->second], *decl))
    fail("E0004", "input '" + decl->name + "' is declared twice, and differently",
         shown(decl->where), "use one declaration everywhere, or give the inputs different names");
  by_decl_.emplace(decl.get(), it->second);
  if (!fresh) return;
  if (decls_.size() == max_inputs)
    fail("E0013", "a kernel has at most " + std::to_string(max_inputs) + " inputs",
         shown(decl->where), "split the kernel, or join inputs along a new axis");
  decls_.push_back(decl);
}

// Labels in order of first appearance; without any, as many axes as the greatest rank or the
// greatest entry of axes() asks for.
void Space::name_axes() {
  auto too_many = [&](const InputDecl &decl) {
    fail("E0013", "a kernel has at most " + std::to_string(expr::max_axes) + " axes",
         shown(decl.where), "use fewer labels, or smaller positions in axes()");
  };
  for (std::uint32_t i = 0; i < decls_.size(); ++i)
    if (named_.insert(i).second) order_of_labels_.push_back(i);
  const auto arrays = arrays_named_by(decls_, data_.outputs);
  bool has_own = false;
  std::unordered_set<std::string> declared;
  for (const auto &decl : decls_)
    for (const Dim &dim : decl->dims)
      if (!decl->window) declared.insert(dim.label);
  for (const std::uint32_t i : order_of_labels_) {
    const auto &decl = decls_[i];
    if (!decl->labelled()) continue;
    for (const Dim &dim : decl->dims) {
      if (decl->window && !declared.contains(dim.label) && is_own_label(dim.label, arrays)) {
        has_own = true;
        continue;
      }
      if (!label_axis_.try_emplace(dim.label, int(out_.axes.size())).second) continue;
      if (out_.axes.size() == expr::max_axes) too_many(*decl);
      out_.axes.push_back({dim.label, true});
    }
  }
  if (!out_.axes.empty()) return;
  int axes = 0;
  for (const auto &decl : decls_) {
    if (has_own && (decl->window || decl->materialised)) continue;
    axes = std::max(axes, int(decl->dims.size()));
    if (decl->placement != Placement::Axes) continue;
    for (int axis : decl->axes) {
      if (axis >= expr::max_axes) too_many(*decl);
      axes = std::max(axes, axis + 1);
    }
  }
  for (int i = 0; i < axes; ++i) out_.axes.push_back({std::to_string(i), false});
}

// x_0 and x_1 of x : f32[:, :] in x[2*i + u, j]: the axes of sum(.., like=x[2*i + u, j]), as if
// they were its labels. Positions do not count them. Where there is no room for all of them, none
// is there, and nothing can be like this input. Those that nothing is like leave room for what the
// sums of others need.
void Space::name_own_axes() {
  constexpr std::size_t room = 24;
  std::unordered_set<std::string> needed; // a window is declared where it is named
  for (const auto &decl : data_.inputs)
    if (decl->window) needed.insert(decl->window->of->name);
  // A window may be along x_1 alone: x_0 comes before it all the same, as in x.
  std::unordered_map<std::string, std::vector<std::string>> before;
  for (const auto &decl : decls_) {
    if (!has_own_axes(*decl) || !needed.contains(decl->name)) continue;
    const std::vector<std::string> own = own_axes(decl->name, decl->dims.size());
    for (std::size_t dim = 1; dim < own.size(); ++dim)
      before[own[dim]] = {own.begin(), own.begin() + std::ptrdiff_t(dim)};
  }
  const auto add = [&](const std::string &label, const InputDecl &decl) {
    if (label.empty() || label_axis_.contains(label)) return;
    if (out_.axes.size() == expr::max_axes)
      fail("E0013", "a kernel has at most " + std::to_string(expr::max_axes) + " axes",
           shown(decl.where), "use fewer labels");
    label_axis_.emplace(label, int(out_.axes.size()));
    out_.axes.push_back({label, true, true});
  };
  for (const std::uint32_t i : order_of_labels_)
    for (const Dim &dim : decls_[i]->dims) {
      if (const auto own = before.find(dim.label); own != before.end())
        for (const std::string &label : own->second) add(label, *decls_[i]);
      add(dim.label, *decls_[i]);
    }
  for (const auto &decl : decls_) {
    if (!has_own_axes(*decl)) continue;
    std::size_t fresh = 0;
    for (std::size_t dim = 0; dim < decl->dims.size(); ++dim)
      fresh += label_axis_.count(own_axis(decl->name, dim)) == 0;
    const std::size_t left = needed.contains(decl->name) ? 0 : room;
    if (out_.axes.size() + fresh + left > expr::max_axes) continue;
    for (std::size_t dim = 0; dim < decl->dims.size(); ++dim)
      if (label_axis_.try_emplace(own_axis(decl->name, dim), int(out_.axes.size())).second)
        out_.axes.push_back({own_axis(decl->name, dim), true, true});
  }
}

void Space::place(const InputDecl &decl, TypedInput &input) const {
  const bool own = has_own_axes(decl) && label_axis_.count(own_axis(decl.name, 0)) != 0;
  input.labelled = decl.labelled() || own;
  input.materialised = decl.materialised;
  input.in_windows_only =
      (decl.is_idle || windowed_.contains(decl.name)) && !read_whole_.contains(decl.name);
  for (const Dim &dim : decl.dims) {
    const bool is_said = expr::may_be_one_of_more(dim);
    input.extents.push_back(is_said ? -1 : dim.extent);
    const bool open = is_said || (!input.labelled && dim.extent == -1 && data_.stretch);
    input.may_stretch.push_back(!decl.said && (dim.extent == 1 || open));
  }
  if (decl.placement != Placement::ByOrder) return place_explicitly(decl, input);
  int rank = int(decl.dims.size()), axes = placed_axes_;
  if (decl.labelled()) {
    for (const Dim &dim : decl.dims) input.axis_of_dim.push_back(label_axis_.at(dim.label));
    return;
  }
  if (own) {
    for (std::size_t dim = 0; dim < decl.dims.size(); ++dim)
      input.axis_of_dim.push_back(label_axis_.at(own_axis(decl.name, dim)));
    return;
  }
  if (rank > axes && !has_own_axes(decl)) too_many_dims(decl.name, rank, decl.where);
  input.by_order = true;
  int first = data_.order == Order::c ? 0 : std::max(0, axes - rank);
  for (int i = 0; i < rank; ++i)
    input.axis_of_dim.push_back(std::min(first + i, axes - 1)); // where there was no room
}

void Space::too_many_dims(const std::string &input, int rank, const Place &where) const {
  fail("E0101",
       "input '" + input + "' has " + support::count(rank, "unlabelled dim") +
           ", and the kernel has " + support::count(placed_axes_, "label"),
       shown(where), "label its dims, or give it fewer");
}

TypedWindow::Form Space::resolved(const AffineForm &form) const {
  TypedWindow::Form made;
  made.start = form.constant;
  made.outside = form.outside;
  made.stays_inside = form.stays_inside;
  for (const AffineForm::Index &index : form.indices)
    made.indices.push_back({by_name_.at(index.read->name), index.times});
  for (const AffineForm::Extent &extent : form.extents)
    made.counts.push_back({by_name_.at(name_of_array(extent.of)), int(extent.dim), extent.times});
  for (const AffineForm::Term &term : form.terms)
    made.terms.push_back({label_axis_.at(term.axis), term.times});
  return made;
}

TypedWindow Space::resolve(const Window &window, const Place &where) const {
  TypedWindow typed;
  typed.of = by_name_.at(window.of->name);
  for (const AffineForm &form : window.forms) {
    typed.forms.push_back(resolved(form));
    typed.forms.back().start = form.start();
    typed.forms.back().from_end = form.is_from_end();
  }
  if (window.pads.empty()) return typed;
  typed.seen = print_pads(*window.of, window.pads);
  for (const DimPad &pad : window.pads)
    typed.pads.push_back({int(pad.dim), pad.before, pad.after, pad.mode,
                          pad.mode == PadMode::Constant
                              ? filling(pad.value, window.of->dtype, typed.seen, where)
                              : ops::Scalar()});
  return typed;
}

void Space::place_explicitly(const InputDecl &decl, TypedInput &input) const {
  bool dims = decl.placement == Placement::Dims;
  std::string clause = dims ? "dims()" : "axes()";
  auto bad = [&](const char *code, const std::string &message, const std::string &help) {
    fail(code, message, shown(decl.where), help);
  };
  int axes = placed_axes_;
  if (decl.labelled())
    bad("E0132", clause + " places unlabelled dims, and those of '" + decl.name + "' have labels",
        "leave " + clause + " out: the labels say where the dims are");
  if (decl.axes.size() != decl.dims.size())
    bad("E0131",
        clause + " of '" + decl.name + "' has " +
            (decl.axes.size() == 1 ? "1 entry" : std::to_string(decl.axes.size()) + " entries") +
            " for " + support::count(std::int64_t(decl.dims.size()), "dim"),
        "write one axis for each dim");
  for (std::size_t i = 0; i < decl.axes.size(); ++i) {
    int axis = decl.axes[i];
    if (axis < 0)
      bad("E0131",
          clause + " of '" + decl.name + "' has the negative entry " + std::to_string(axis),
          "count axes from 0");
    if (axis >= axes)
      bad("E0131",
          clause + " of '" + decl.name + "' names axis " + std::to_string(axis) +
              ", and the kernel has " + std::to_string(axes) + (axes == 1 ? " axis" : " axes"),
          "count axes from 0");
    if (dims && i > 0 && axis <= decl.axes[i - 1])
      bad("E0131", "dims() of '" + decl.name + "' must increase from entry to entry",
          "for another order of axes write axes(..) instead");
    if (std::count(decl.axes.begin(), decl.axes.end(), axis) > 1)
      bad("E0131", clause + " of '" + decl.name + "' names axis " + std::to_string(axis) + " twice",
          "name two axes, and read the diagonal at positions: " + decl.name + "[a, a]");
    input.axis_of_dim.push_back(axis);
  }
}

// Equal labels have equal extents in the whole kernel, whether the dims meet or not.
void Space::note_fixed(std::size_t index) {
  const TypedInput &input = out_.inputs[index];
  if (!input.labelled) return;
  for (std::size_t dim = 0; dim < input.extents.size(); ++dim) {
    std::int64_t extent = input.extents[dim];
    if (extent == -1 || extent == 1) continue;
    DimExtent here{index, dim, extent};
    auto [it, fresh] = fixed_.try_emplace(input.axis_of_dim[dim], here);
    if (!fresh && it->second.extent != extent) fail_extents(out_, it->second, here, input.where);
  }
}

const DimExtent *Space::fixed(int axis) const {
  auto it = fixed_.find(axis);
  return it == fixed_.end() ? nullptr : &it->second;
}

} // namespace broadloom::spec
