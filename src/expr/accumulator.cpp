// The public face of accumulators: uses, options and definitions become nodes and plain data.
#include <broadloom/spec.hpp>

#include "expr/definition.hpp"
#include "support/fail.hpp"

namespace broadloom {

namespace {

void set(FoldUse &use, const Like &like) { use.like = like.inputs; }
void set(FoldUse &use, const Init &init) { use.init = init.values; }
void set(FoldUse &use, const Acc &acc) { use.acc = acc.dtype; }
void set(FoldUse &use, const Correction &correction) { use.correction = correction.value; }
void set(FoldUse &use, const State &state) { use.state = state.name; }
void set(FoldUse &use, ScanFlag flag) {
  (flag == ScanFlag::exclusive ? use.exclusive : use.reverse) = true;
}

// A ModeOption or a ScanOption.
template <class... Options> void set(FoldUse &use, const std::variant<Options...> &option) {
  std::visit([&](const auto &one) { set(use, one); }, option);
}

std::vector<Expr> expressions(const std::vector<Operand> &values) {
  std::vector<Expr> list;
  for (const Operand &value : values) list.push_back(value.expr());
  return list;
}

Place first_place(const std::vector<Operand> &values) {
  return values.empty() ? Place{} : place_of(values[0].where());
}

} // namespace

Init init(std::initializer_list<Operand> values) { return {expressions(values)}; }

Expr Accumulator::reduce(std::vector<Operand> values, std::vector<FoldArgument> more) const {
  FoldUse use{*this, {}, {}, {}, {}, false, false, {}};
  std::vector<AxisRef> axes;
  for (const FoldArgument &argument : more)
    if (const auto *axis = std::get_if<AxisRef>(&argument.value()))
      axes.push_back(*axis);
    else
      set(use, std::get<ModeOption>(argument.value()));
  return make_fold(std::move(use), expressions(values), std::move(axes), first_place(values));
}

Expr detail::scan_along(const Accumulator &accumulator, std::vector<Operand> values, AxisRef axis,
                        std::vector<ScanOption> options) {
  FoldUse use;
  use.accumulator = accumulator;
  for (const ScanOption &option : options) set(use, option);
  return make_scan(std::move(use), expressions(values), std::move(axis), first_place(values));
}

Mode broadcast_like(Like like) {
  Mode mode{ModeKind::broadcast, {}};
  mode.use.like = std::move(like.inputs);
  return mode;
}

Mode detail::fold_mode(ModeKind kind, const Accumulator &accumulator,
                       const std::vector<ModeOption> &options) {
  Mode mode{kind, {}};
  mode.use.accumulator = accumulator;
  for (const ModeOption &option : options) set(mode.use, option);
  return mode;
}

// ------------------------------------------------------------------------------- definitions

Accumulator accumulator(std::string name, std::vector<std::string> states,
                        std::vector<std::string> arguments, std::source_location where) {
  auto definition = std::make_shared<AccumulatorDef>();
  definition->name = std::move(name);
  definition->states = std::move(states);
  definition->args = std::move(arguments);
  definition->where = place_of(where);
  return Accumulator(std::move(definition));
}

Expr parameter(std::string name, std::source_location where) {
  return make_parameter(std::move(name), place_of(where));
}

AccumulatorDef Accumulator::copy(const std::source_location &where) const {
  if (!definition_)
    support::fail("E0020", "a built-in accumulator cannot be redefined", place_of(where),
                  "begin a definition with bl::accumulator(name, states, arguments)");
  return *definition_;
}

Accumulator Accumulator::init(std::string state, const Operand &number) const {
  AccumulatorDef definition = copy(number.where());
  definition.init.push_back({std::move(state), number.expr(), place_of(number.where())});
  return Accumulator(std::make_shared<const AccumulatorDef>(std::move(definition)));
}

Accumulator Accumulator::step(std::string state, const Operand &value) const {
  AccumulatorDef definition = copy(value.where());
  definition.step.push_back({std::move(state), value.expr(), place_of(value.where())});
  return Accumulator(std::make_shared<const AccumulatorDef>(std::move(definition)));
}

Accumulator Accumulator::combine(std::string state, const Operand &value) const {
  AccumulatorDef definition = copy(value.where());
  definition.combine.push_back({std::move(state), value.expr(), place_of(value.where())});
  return Accumulator(std::make_shared<const AccumulatorDef>(std::move(definition)));
}

Accumulator Accumulator::result(const Operand &value) const {
  AccumulatorDef definition = copy(value.where());
  definition.result = value.expr();
  return Accumulator(std::make_shared<const AccumulatorDef>(std::move(definition)));
}

} // namespace broadloom
