// LoopSpec: a value that is cheap to copy; the first change after a copy makes its own data.
#include "expr/window.hpp"
#include "spec/spec.hpp"

#include "support/fail.hpp"

#include <algorithm>

namespace broadloom {

LoopSpec::LoopSpec(std::string name, std::source_location where) {
  auto data = std::make_shared<SpecData>();
  data->name = std::move(name);
  data->where = place_of(where);
  data_ = std::move(data);
}

SpecData &LoopSpec::edit() {
  if (data_.use_count() != 1) data_ = std::make_shared<SpecData>(*data_);
  // Every SpecData is made mutable, and this object is now its only holder.
  return const_cast<SpecData &>(*data_);
}

LoopSpec &LoopSpec::order(Order order) {
  SpecData &data = edit();
  data.order = order;
  data.order_given = true;
  return *this;
}

LoopSpec &LoopSpec::accuracy(Accuracy accuracy) {
  edit().accuracy = accuracy;
  return *this;
}

LoopSpec &LoopSpec::relaxed(bool on) {
  edit().relaxed = on;
  return *this;
}

LoopSpec &LoopSpec::scales(Scales scales) {
  edit().scales = scales;
  return *this;
}

LoopSpec &LoopSpec::fuse(std::string a, std::string b, std::source_location where) {
  edit().pairings.push_back({true, std::move(a), std::move(b), place_of(where)});
  return *this;
}

LoopSpec &LoopSpec::separate(std::string a, std::string b, std::source_location where) {
  edit().pairings.push_back({false, std::move(a), std::move(b), place_of(where)});
  return *this;
}

LoopSpec &LoopSpec::schedule(Schedule schedule) {
  edit().schedule = std::move(schedule);
  return *this;
}

LoopSpec &LoopSpec::stretch(bool on) {
  edit().stretch = on;
  return *this;
}

LoopSpec &LoopSpec::in(const Expr &input, std::source_location where) {
  if (!input.node() || input.node()->kind != ExprKind::Input || input.node()->input->window)
    support::fail("E0308", "in() declares an input, and this expression is not one",
                  place_of(where), "pass what bl::input() returned");
  SpecData &data = edit();
  const auto &decl = input.node()->input;
  if (std::find(data.inputs.begin(), data.inputs.end(), decl) == data.inputs.end())
    data.inputs.push_back(decl);
  return *this;
}

LoopSpec &LoopSpec::out(std::string name, const Operand &value) {
  return out(std::move(name), Mode{}, value);
}

LoopSpec &LoopSpec::out(std::string name, const Mode &mode, const Operand &value) {
  OutputDecl output;
  output.name = std::move(name);
  output.mode = mode;
  output.value = value.expr();
  output.where = place_of(value.where());
  edit().outputs.push_back(std::move(output));
  return *this;
}

LoopSpec &LoopSpec::out(std::string name, const Mode &mode, std::vector<AxisRef> axes,
                        const Operand &value) {
  out(std::move(name), mode, value);
  OutputDecl &output = edit().outputs.back();
  output.has_axes = true;
  output.axes = std::move(axes);
  return *this;
}

LoopSpec &LoopSpec::update(std::string state, const Operand &value) {
  return update(std::move(state), Mode{}, value);
}

LoopSpec &LoopSpec::update(std::string state, const Mode &mode, const Operand &value) {
  out(std::move(state), mode, value);
  edit().outputs.back().update = true;
  return *this;
}

namespace {

OutputDecl &latest(SpecData &data) {
  if (data.outputs.empty() || data.outputs.back().update)
    support::fail("E0308", "as() and add() apply to the output declared last, and there is none",
                  data.where, "call out() first");
  return data.outputs.back();
}

} // namespace

LoopSpec &LoopSpec::as(DType dtype) {
  latest(edit()).dtype = dtype;
  return *this;
}

LoopSpec &LoopSpec::add() {
  latest(edit()).add = true;
  return *this;
}

LoopSpec &LoopSpec::store(Order order) {
  latest(edit()).store = order;
  return *this;
}

LoopSpec &LoopSpec::axis(std::string axis, const Position &extent, std::source_location where) {
  const Place place = place_of(where);
  if (!extent.valid())
    support::fail("E0006", "the numbers of this extent leave the range of i64", place,
                  "use smaller numbers");
  SpecData &data = edit();
  for (const auto &known : data.axes)
    if (known->dims[0].label == axis)
      support::fail("E0033", "the extent of '" + axis + "' is said twice: " + known->name, place,
                    "say it once");
  data.axes.push_back(
      make_said("axis", {{std::move(axis), form_of(extent)}}, [&] { return place; }));
  return *this;
}

LoopSpec &LoopSpec::extent(std::string axis, const Position &extent, std::source_location where) {
  OutputDecl &output = latest(edit());
  const Place place = place_of(where);
  const bool is_listed = std::ranges::any_of(output.axes, [&](const AxisRef &listed) {
    const auto *label = std::get_if<std::string>(&listed.value());
    return label != nullptr && *label == axis;
  });
  if (!is_listed)
    support::fail("E0033", "output '" + output.name + "' does not list axis '" + axis + "'", place,
                  "say the extent of one that it lists by its name");
  if (!extent.valid())
    support::fail("E0006", "the numbers of this extent leave the range of i64", place,
                  "use smaller numbers");
  std::vector<SaidExtent> dims;
  for (std::size_t dim = 0; output.said && dim < output.said->dims.size(); ++dim)
    dims.push_back({output.said->dims[dim].label, output.said->said->of[dim]});
  dims.push_back({std::move(axis), form_of(extent)});
  output.said = make_said(output.name, std::move(dims), [&] { return place; });
  return *this;
}

} // namespace broadloom
