// What no declaration may be: see space.hpp.
#include "spec/space.hpp"

#include "expr/stretch.hpp"
#include "spec/check_updates.hpp"
#include "spec/words.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <set>

namespace broadloom::spec {

using support::fail;

namespace {

constexpr std::size_t max_outputs = 4096;

} // namespace

void Space::check_names() const {
  auto check = [&](const std::string &name, const char *what, const Place &where) {
    NameCheck found = check_name(name, what);
    if (!found.code.empty()) fail(found.code, found.message, shown(where), found.help);
  };
  std::set<std::string> taken;
  auto define = [&](const std::string &name, const char *what, const Place &where) {
    check(name, what, where);
    if (!taken.insert(name).second)
      fail("E0004", "'" + name + "' is defined twice", shown(where),
           "inputs, lets and outputs share one set of names; choose another");
  };
  if (data_.name != "kernel") check(data_.name, "a kernel", data_.where); // the default is fine
  for (const auto &decl : decls_) {
    if (!decl->window && !decl->is_output && !decl->said)
      define(decl->name, "an input", decl->where);
    for (const Dim &dim : decl->dims)
      if (!dim.label.empty()) check(dim.label, "an axis", decl->where);
  }
  for (const Expr &let : data_.lets) define(let.node()->name, "a let", let.node()->where);
  for (const OutputDecl &output : data_.outputs)
    if (!output.update) define(output.name, "an output", output.where);
  check_updates(data_, decls_);
  if (data_.outputs.size() > max_outputs)
    fail("E0013", "a kernel has at most " + std::to_string(max_outputs) + " outputs",
         shown(data_.outputs[max_outputs].where), "split the kernel");
}

void Space::check_form(const InputDecl &decl) const {
  auto bad = [&](const char *code, const std::string &message, const std::string &help) {
    fail(code, message, shown(decl.where), help);
  };
  if (decl.window && decl.window->forms.size() != decl.window->of->dims.size()) {
    const std::size_t given = decl.window->forms.size();
    bad("E0140",
        "'" + decl.window->of->name + "' has " +
            support::count(std::int64_t(decl.window->of->dims.size()), "dim") + ", and " +
            support::count(std::int64_t(given), "position") + (given == 1 ? " is" : " are") +
            " given",
        "write one position for each dim, as in x[i + u, j]");
  }
  for (std::size_t d = 0; decl.window && d < decl.window->forms.size(); ++d)
    for (const AffineForm::Index &index : decl.window->forms[d].indices)
      if (!is_integer(index.read->dtype))
        fail("E0206",
             index.read->name + " is " + std::string(name(index.read->dtype)) +
                 ", and a position along '" + decl.window->of->name + "' is an integer",
             shown(index.read->where),
             index.read->window->of->materialised
                 ? "cast what let '" + index.read->window->of->name +
                       "' is to an integer, as in i64(floor(..))"
                 : "declare '" + index.read->window->of->name + "' as i64");
  for_each_extent(decl, [&](const AffineForm::Extent &extent) {
    if (const InputDecl &of = *decls_[by_name_.at(name_of_array(extent.of))];
        extent.dim >= of.dims.size())
      bad("E0104",
          "'" + of.name + "' has " + support::count(std::int64_t(of.dims.size()), "dim") +
              ", and the extent of dim " + std::to_string(extent.dim) + " is asked for",
          "count its dims from 0");
  });
  std::string who = "input '" + decl.name + "'";
  if (decl.dims.size() > std::size_t(max_rank))
    bad("E0013",
        who + " has " + std::to_string(decl.dims.size()) + " dims, and " +
            std::to_string(max_rank) + " is the limit",
        "join dims that are always walked together");
  if (is_complex(decl.dtype) && decl.sign != Sign::any && decl.sign != Sign::nonzero)
    bad("E0201",
        "'" + std::string(relation(decl.sign)) +
            "' is not defined for complex numbers, which have no order",
        "declare that it is != 0, or nothing");
  std::set<std::string> labels;
  for (const Dim &dim : decl.dims) {
    if (dim.label.empty() == decl.labelled())
      bad("E0012", who + " has labelled and unlabelled dims",
          "label all of them, `c=3` where a dim is fixed, or none");
    if (!dim.label.empty() && !labels.insert(dim.label).second)
      bad("E0133", who + " has the label '" + dim.label + "' twice",
          "for a diagonal give the input unlabelled dims and read x[i, i]");
    if (dim.extent < -1 && !(expr::may_be_one_of_more(dim) && !dim.label.empty()))
      bad("E0012", who + " has a dim of " + std::to_string(dim.extent) + " elements",
          "an extent is 0 or more");
  }
}

} // namespace broadloom::spec
