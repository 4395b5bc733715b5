// See materialise.hpp.
#include "spec/materialise.hpp"

#include "expr/array_named.hpp"
#include "support/log.hpp"
#include "support/warning.hpp"

#include <algorithm>
#include <tuple>

namespace broadloom::spec {

std::vector<AffineForm> own_positions(const TypedSpec &let) {
  std::vector<AffineForm> own;
  for (const int axis : let.outputs[0].axes) {
    const Axis &known = let.axes[std::size_t(axis)];
    if (!known.labelled) return {};
    own.push_back({0, {{known.name, 1}}, {}});
  }
  return own;
}

Expr let_of_start(const TypedSpec &start, const std::string &name, const Expr &value,
                  const Place &where) {
  const std::vector<int> &axes = start.outputs[0].axes;
  std::vector<AxisRef> dims;
  for (const int axis : axes) {
    const Axis &known = start.axes[std::size_t(axis)];
    dims.push_back(known.labelled ? AxisRef(known.name) : AxisRef(axis));
  }
  const std::vector<AxisRef> listed = dims_listed(value);
  const auto is_same = [](const AxisRef &a, const AxisRef &b) { return a.value() == b.value(); };
  const bool has_them =
      listed.empty() ? std::ranges::is_sorted(axes) : std::ranges::equal(listed, dims, is_same);
  if (names_array(value) && has_them) dims.clear();
  return make_let(name, value, where, std::move(dims));
}

LetsByName lets_by_name(const SpecData &data) {
  LetsByName lets;
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
  for (const auto &axis : data.axes)
    for_each_extent(*axis, [&](const AffineForm::Extent &extent) { note(extent.of); });
  return lets;
}

bool TypedSpec::is_array(const std::string &let) const {
  const auto is_it = [&](const TypedInput &input) { // of the kernel of a let, too
    return input.materialised && !input.window && input.name == let;
  };
  return std::ranges::any_of(inputs, is_it) ||
         std::ranges::any_of(materialised, [&](const std::shared_ptr<const Materialised> &array) {
           return array->typed.outputs[0].name == let;
         });
}

std::vector<SpecError> all_faults(const TypedSpec &spec) {
  std::vector<SpecError> faults;
  const auto add = [&](const std::vector<SpecError> &more) {
    for (const SpecError &fault : more) {
      const auto is_it = [&](const SpecError &other) {
        return std::tuple(other.where().file, other.where().line, other.where().column) ==
               std::tuple(fault.where().file, fault.where().line, fault.where().column);
      };
      if (std::ranges::none_of(faults, is_it)) faults.push_back(fault);
    }
  };
  add(spec.faults);
  for (const auto &let : spec.materialised) add(let->typed.faults);
  return faults;
}

void warn_of_faults(const TypedSpec &spec) {
  for (const SpecError &fault : all_faults(spec))
    support::log().warn("{}", support::as_warning(fault));
}

} // namespace broadloom::spec
