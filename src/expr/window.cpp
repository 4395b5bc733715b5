// See window.hpp.
#include "expr/window.hpp"

#include "expr/array_named.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace broadloom {

bool AffineForm::is_from_end() const {
  const bool moves_up =
      std::any_of(terms.begin(), terms.end(), [](const Term &term) { return term.times > 0; });
  return indices.empty() && extents.empty() && !moves_up &&
         (constant < 0 || (constant == 0 && !terms.empty()));
}

bool operator==(const AffineForm::Index &a, const AffineForm::Index &b) {
  return a.times == b.times && a.read->name == b.read->name;
}

const std::string &name_of_array(const Expr &array) {
  return array.node()->kind == ExprKind::Let ? array.node()->name : array.node()->input->name;
}

bool operator==(const AffineForm::Extent &a, const AffineForm::Extent &b) {
  return a.times == b.times && a.dim == b.dim && name_of_array(a.of) == name_of_array(b.of);
}

std::int64_t AffineForm::start() const { return constant == 0 && is_from_end() ? -1 : constant; }

// The least number has no positive counterpart: its text could not be read back.
static bool add(std::int64_t &to, std::int64_t more) {
  return !__builtin_add_overflow(to, more, &to) && to != INT64_MIN;
}

template <class Multiple, class Same>
static bool add(std::vector<Multiple> &sum, const std::vector<Multiple> &more, std::int64_t times,
                Same same) {
  for (Multiple one : more) {
    if (__builtin_mul_overflow(one.times, times, &one.times) || one.times == INT64_MIN)
      return false;
    const auto known =
        std::ranges::find_if(sum, [&](const Multiple &other) { return same(one, other); });
    if (known == sum.end())
      sum.push_back(std::move(one));
    else if (!add(known->times, one.times))
      return false;
  }
  std::erase_if(sum, [](const Multiple &one) { return one.times == 0; });
  return true;
}

bool add_to(AffineForm &sum, const AffineForm &form, std::int64_t times) {
  using Form = AffineForm;
  std::int64_t product = 0;
  sum.stays_inside = sum.stays_inside || form.stays_inside;
  return !__builtin_mul_overflow(form.constant, times, &product) && add(sum.constant, product) &&
         add(sum.terms, form.terms, times,
             [](const Form::Term &a, const Form::Term &b) { return a.axis == b.axis; }) &&
         add(sum.indices, form.indices, times,
             [](const Form::Index &a, const Form::Index &b) {
               return a.read->name == b.read->name;
             }) &&
         add(sum.extents, form.extents, times, [](const Form::Extent &a, const Form::Extent &b) {
           return a.dim == b.dim && name_of_array(a.of) == name_of_array(b.of);
         });
}

std::string print(const AffineForm &form) {
  std::string text;
  using support::add_term;
  for (const AffineForm::Index &index : form.indices) add_term(text, index.times, index.read->name);
  for (const AffineForm::Term &term : form.terms) add_term(text, term.times, term.axis);
  for (const AffineForm::Extent &extent : form.extents)
    add_term(text, extent.times,
             "extent(" + name_of_array(extent.of) + ", " + std::to_string(extent.dim) + ")");
  if (form.constant != 0 || text.empty() || (form.stays_inside && form.is_bare()))
    add_term(text, form.constant);
  switch (form.outside) {
  case Outside::Fails: break;
  case Outside::Clips: return "clip(" + text + ")";
  case Outside::Wraps: return "wrap(" + text + ")";
  }
  return text;
}

Expr array_named(Expr of) {
  while (of.node()->kind == ExprKind::Let && of.node()->axes.empty()) {
    const Expr &value = of.node()->args[0];
    const bool goes_on = value.node() != nullptr &&
                         (value.node()->kind == ExprKind::Let ||
                          (value.node()->kind == ExprKind::Input && !value.node()->input->window));
    if (!goes_on) break;
    of = Expr(value);
  }
  return of;
}

bool names_array(const Expr &value) {
  const Expr array = array_named(value);
  const ExprNode &node = *array.node();
  return node.kind == ExprKind::Let || (node.kind == ExprKind::Input && !node.input->window);
}

std::vector<AxisRef> dims_listed(const Expr &value) {
  const Expr array = array_named(value);
  const ExprNode &node = *array.node();
  if (node.kind == ExprKind::Let) return node.axes;
  if (!names_array(array)) return {};
  std::vector<AxisRef> dims(node.input->axes.begin(), node.input->axes.end());
  for (const Dim &dim : node.input->dims)
    if (node.input->labelled()) dims.emplace_back(dim.label);
  return dims;
}

AffineForm extent_form(const Expr &array, const AxisRef &dim, const PlaceOf &shown) {
  const Expr of = array_named(array);
  const ExprNode &node = *of.node();
  AffineForm form;
  for (std::size_t d = 0; node.kind == ExprKind::Let && d < node.axes.size(); ++d)
    if (node.axes[d].value() == dim.value()) form.extents.push_back({of, d, 1});
  if (!form.extents.empty()) return form;
  const auto decl = node.kind == ExprKind::Let ? declaration_of(of) : node.input;
  form.extents.push_back({of, dim_of(*decl, dim, "to take the extent of", shown), 1});
  return form;
}

std::shared_ptr<const InputDecl> make_said(const std::string &owner, std::vector<SaidExtent> dims,
                                           const PlaceOf &shown) {
  auto decl = std::make_shared<InputDecl>();
  auto said = std::make_shared<SaidExtents>();
  decl->name = owner + "[";
  for (SaidExtent &dim : dims) {
    AffineForm &form = dim.extent;
    const bool is_number = form.extents.empty() && form.terms.empty() && form.indices.empty();
    if (!form.terms.empty() || !form.indices.empty())
      support::fail("E0033",
                    "the extent of '" + dim.axis + "' is said by " + print(form) +
                        ", which holds more than numbers and extents",
                    shown(), "write such as " + dim.axis + " < 2*extent(x, 0) + 1");
    if (is_number && (form.constant < 0 || form.constant > most_steps))
      support::fail("E0033",
                    "axis '" + dim.axis + (owner == "axis" ? "'" : "' of '" + owner + "'") +
                        " is to have " + std::to_string(form.constant) + " elements",
                    shown(), "say from 0 to 2^40");
    for (const Dim &other : decl->dims)
      if (other.label == dim.axis)
        support::fail("E0033", "the extent of '" + dim.axis + "' is said twice", shown(),
                      "say it once");
    decl->name += (decl->dims.empty() ? "" : ", ") + dim.axis + " < " + print(form);
    decl->dims.emplace_back(std::move(dim.axis));
    if (is_number) decl->dims.back().extent = form.constant;
    said->of.push_back(std::move(form));
  }
  decl->name += "]";
  decl->said = std::move(said);
  decl->where = shown();
  return decl;
}

std::shared_ptr<const InputDecl> declaration_of(const Expr &let) {
  auto decl = std::make_shared<InputDecl>();
  decl->name = let.node()->name;
  decl->where = let.node()->where;
  decl->is_let = true;
  return decl;
}

Expr make_ahead(std::string name, Place where) {
  auto decl = std::make_shared<InputDecl>();
  decl->name = std::move(name);
  decl->where = where;
  decl->is_let = true;
  return make_input(std::move(decl), std::move(where));
}

Expr let_seen(const ExprNode &node) {
  const bool of_let =
      node.kind == ExprKind::Input && node.input->window && node.input->window->of->is_let;
  if (!of_let || node.args.empty()) return {};
  const ExprNode *let = node.args[0].node();
  const bool is_it =
      let != nullptr && let->kind == ExprKind::Let && let->name == node.input->window->of->name;
  return is_it ? node.args[0] : Expr();
}

bool reads_ahead(const ExprNode &node) {
  if (node.kind != ExprKind::Input) return false;
  const bool of_let = node.input->is_let || (node.input->window && node.input->window->of->is_let);
  return of_let && !let_seen(node).node();
}

// The declaration of a window of an input or a let, which takes the name.
static std::shared_ptr<InputDecl> declared_like(const Window &window, std::string name,
                                                const Place &where) {
  auto decl = std::make_shared<InputDecl>();
  decl->name = std::move(name);
  decl->dtype = window.of->dtype;
  decl->where = where;
  decl->created = window.of->created;
  decl->role = window.of->role;
  decl->sign = window.of->sign;
  return decl;
}

static std::shared_ptr<Window> window_of(const Expr &of) {
  auto window = std::make_shared<Window>();
  window->of = of.node()->kind == ExprKind::Let ? declaration_of(of)
               : of.node()->input->window       ? of.node()->input->window->of
                                                : of.node()->input;
  return window;
}

Expr make_padded(const Expr &of, std::vector<DimPad> pads, Place where) {
  auto window = window_of(of);
  window->pads = std::move(pads);
  window->is_whole = true;
  auto decl = declared_like(*window, print_pads(*window->of, window->pads), where);
  decl->window = std::move(window);
  return make_input(std::move(decl), std::move(where),
                    of.node()->kind == ExprKind::Let ? std::vector<Expr>{of} : of.node()->args);
}

bool is_padded_whole(const Expr &expr) {
  const ExprNode *node = expr.node();
  return node != nullptr && node->kind == ExprKind::Input && node->input->window &&
         node->input->window->is_whole;
}

Expr make_window_like(const Expr &of, const Window &window, Place where) {
  return make_window(window.pads.empty() ? of : make_padded(of, window.pads, where), window.forms,
                     where);
}

Expr make_window(const Expr &read, std::vector<AffineForm> forms, Place where) {
  const Expr of = array_named(read);
  const bool is_let = of.node()->kind == ExprKind::Let;
  auto window = window_of(of);
  window->forms = std::move(forms);
  for (AffineForm &form : window->forms) form.stays_inside = form.stays_inside && form.is_bare();
  if (!is_let && of.node()->input->window) window->pads = of.node()->input->window->pads;

  std::vector<Expr> lets; // that it is of, then those whose extents it takes
  if (is_let)
    lets.push_back(of);
  else
    lets = of.node()->args;
  for (const AffineForm &form : window->forms)
    for (const AffineForm::Extent &extent : form.extents)
      if (extent.of.node()->kind == ExprKind::Let) lets.push_back(extent.of);

  for (const AffineForm &form : window->forms)
    for (const AffineForm::Index &index : form.indices)
      window->depth = std::max(window->depth, index.read->window->depth + 1);
  if (window->depth > Window::deepest)
    support::fail(
        "E0013",
        "elements say the positions of more than " + std::to_string(Window::deepest) + " others",
        where, "store an index of indices as the output of one kernel and read it in another");

  auto decl = declared_like(*window, print_pads(*window->of, window->pads) + "[", where);
  for (std::size_t d = 0; d < window->forms.size(); ++d) {
    decl->name += (d == 0 ? "" : ", ") + print(window->forms[d]);
    const auto add_axis = [&](const std::string &axis) {
      if (std::none_of(decl->dims.begin(), decl->dims.end(),
                       [&](const Dim &dim) { return dim.label == axis; }))
        decl->dims.emplace_back(axis);
    };
    for (const AffineForm::Index &index : window->forms[d].indices)
      for (const Dim &dim : index.read->dims) add_axis(dim.label);
    for (const AffineForm::Term &term : window->forms[d].terms) add_axis(term.axis);
  }
  decl->name += "]";
  decl->window = std::move(window);
  return make_input(std::move(decl), std::move(where), std::move(lets));
}

} // namespace broadloom
