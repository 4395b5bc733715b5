// A call that Options::debug has checked: computed into memory of our own, held against what the definition says, and only then written
// to the caller's. What is compared with the interpreter, and memory between forbidden pages: twice.cpp.
#include "jit/kernel.hpp"

#include "check/agreement.hpp"
#include "check/not_finite.hpp"
#include "kernel/operand_copy.hpp"
#include "reference/reference.hpp"
#include "spec/inputs_of.hpp"
#include "support/check.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace broadloom {
namespace {

using checked::Oddity;
using kernel::OperandCopy;
using kernel::Operands;

// What the reference holds of a kernel, in elements of all values: above that it is not asked. Said in docs/language.md.
constexpr std::int64_t most_points = std::int64_t(1) << 22;

struct Watched {
  Debug flag;
  Oddity oddity;
  const char *code, *help;
};
constexpr std::array watched{
    Watched{Debug::nan, Oddity::Nan, "E0319",
            "keep the arguments of that operation where it is defined, by max, clip or where; or "
            "leave out Debug::nan (--debug) where a nan is meant"},
    Watched{Debug::infinity, Oddity::Infinity, "E0320",
            "keep the arguments of that operation away from where it overflows or has a pole; or "
            "leave out Debug::infinity (--debug) where an infinity is meant"},
};

std::vector<Layout> layouts_of(std::span<const AnyView> views) {
  std::vector<Layout> layouts;
  for (const AnyView &view : views) layouts.push_back(view.layout);
  return layouts;
}

// As the reference takes them: the inputs, then the shapes that outputs lend.
std::vector<AnyView> given_by(const spec::TypedSpec &typed, Operands call) {
  const std::size_t inputs = typed.callers_inputs();
  std::vector<AnyView> given;
  for (const AnyView *input : call.first(inputs)) given.push_back(*input);
  for (const spec::TypedInput &input : typed.given())
    if (input.of_output)
      given.push_back({input.dtype, nullptr, false, call[inputs + *input.of_output]->layout});
  return given;
}

// Whether an input of which elements are read, or a number of the kernel, is as odd already.
bool is_held(const spec::TypedSpec &whole, Operands inputs, Oddity oddity) {
  std::vector<bool> read(inputs.size());
  const auto look = [&](const spec::TypedSpec &typed) {
    for (const spec::TypedOutput &output : typed.outputs)
      for (const expr::NodeId value : {output.value, output.addend}) {
        const std::vector<bool> needed = spec::arrays_needed(typed, value);
        for (std::size_t i = 0; i < inputs.size(); ++i) read[i] = read[i] || needed[i];
      }
    return checked::has_odd_literal(typed, oddity);
  };
  bool held = look(whole);
  for (const auto &let : whole.materialised) held = look(let->typed) || held;
  for (std::size_t i = 0; i < inputs.size() && !held; ++i)
    held = read[i] && checked::first_odd(*inputs[i], oddity) >= 0;
  return held;
}

[[noreturn]] void fail_odd(const Watched &watch, const std::string &what,
                           const std::vector<std::int64_t> &at,
                           const std::optional<checked::Origin> &origin, const Place &declared) {
  support::fail(watch.code,
                fmt::format("{} is {} at {}, and no input holds any{}", what,
                            checked::name(watch.oddity), checked::position_text(at),
                            origin ? ": " + origin->what : ""),
                origin && origin->where.known() ? origin->where : declared, watch.help);
}

} // namespace

void KernelImpl::run_checked(Operands call) const {
  const std::size_t inputs = setup_.typed.callers_inputs();
  std::vector<const AnyView *> outputs(setup_.typed.inputs.size());
  outputs.insert(outputs.end(), call.begin() + std::ptrdiff_t(inputs), call.end());
  kernel::check_operands(setup_.typed, outputs);
  kernel::check_pointers(setup_.typed, outputs);
  kernel::check_apart(setup_.typed, outputs);
  std::vector<OperandCopy> copies;
  copies.reserve(call.size());
  std::vector<const AnyView *> made(call.begin(), call.end());
  for (std::size_t k = inputs; k < call.size(); ++k) {
    if (call[k] == nullptr) continue;
    OperandCopy &copy =
        copies.emplace_back(*call[k], kernel::reach_of(call[k]->layout, call[k]->dtype));
    std::ranges::fill(copy.bytes(), OperandCopy::pattern);
    if (setup_.typed.outputs[k - inputs].add) copy.load();
    made[k] = &copy.view();
  }
  run_unchecked(made);
  const support::FloatWorld world;
  if (setup_.asks(Debug::reference) && setup_.engine != Engine::reference)
    hold_against_reference(call, made);
  look_at_outputs(call, made);
  for (const OperandCopy &copy : copies) copy.store();
}

// In elements of all values that the reference computes.
std::int64_t KernelImpl::reference_points(Operands call) const {
  const std::vector<AnyView> given = given_by(setup_.typed, call);
  std::int64_t total =
      checked::points_of(setup_.whole(), reference::with_lets(setup_.whole(), layouts_of(given)));
  if (lets_.empty()) return total;
  const Operands inputs = call.first(setup_.typed.callers_inputs());
  const std::vector<AnyView> views = lets_.views(*lets_.layouts(inputs), nullptr);
  for (std::size_t k = 0; k < lets_.specs().size() && total < most_points; ++k) {
    if (lets_.specs()[k]->join) continue;
    total += checked::points_of(lets_.specs()[k]->typed, layouts_of(read_by_let(k, inputs, views)));
  }
  return total;
}

void KernelImpl::hold_against_reference(Operands call, Operands made) const {
  if (reference_points(call) > most_points) return;
  const std::size_t inputs = setup_.typed.callers_inputs();
  const std::vector<AnyView> given = given_by(setup_.typed, call);
  // Those that are not asked for may have no value, as the minimum of nothing.
  spec::TypedSpec asked = setup_.whole();
  checked::Results results;
  for (std::size_t o = 0; o < setup_.typed.outputs.size(); ++o) {
    if (made[inputs + o] == nullptr) continue;
    results.names.push_back(setup_.typed.outputs[o].name);
    results.got.push_back(*made[inputs + o]);
    results.before.push_back(*call[inputs + o]);
  }
  std::erase_if(asked.outputs, [&](const spec::TypedOutput &output) {
    return std::ranges::find(results.names, output.name) == results.names.end();
  });
  const std::vector<Array> told = reference::evaluate(
      asked, given, results.before, setup_.options.cancel.get(), setup_.threads_now());
  results.wanted.assign(told.begin(), told.end());
  const auto checks = checked::hold_against(asked, given, results, setup_.options.cancel.get());
  for (std::size_t k = 0; k < checks.size(); ++k) {
    const checked::OutputCheck &check = checks[k];
    if (check.passed) continue;
    if (const auto faults = spec::all_faults(setup_.whole()); !faults.empty()) throw faults.front();
    const AnyView &got = results.got[k], &wanted = results.wanted[k];
    support::bug(
        fmt::format("kernel '{}', output '{}': the call and the reference differ at {}: {} and {}, "
                    "{:.1e} apart, {:.1e} allowed",
                    setup_.typed.name, check.name,
                    checked::position_text(checked::indices_of(got.layout, check.at)),
                    checked::value_text(checked::element_at(got, check.at), got.dtype),
                    checked::value_text(checked::element_at(wanted, check.at), got.dtype),
                    check.difference, check.tolerance),
        print(setup_.spec) + "\n" + show(Stage::loop, {}));
  }
}

void KernelImpl::look_at_outputs(Operands call, Operands made) const {
  const std::size_t inputs = setup_.typed.callers_inputs();
  for (const Watched &watch : watched)
    for (std::size_t o = 0; setup_.asks(watch.flag) && o < setup_.typed.outputs.size(); ++o) {
      const spec::TypedOutput &output = setup_.typed.outputs[o];
      if (made[inputs + o] == nullptr) continue;
      const std::int64_t at = checked::first_odd(*made[inputs + o], watch.oddity);
      if (at < 0 || is_held(setup_.whole(), call.first(inputs), watch.oddity)) continue;
      if (output.add && checked::first_odd(*call[inputs + o], watch.oddity) >= 0) continue;
      std::optional<checked::Origin> origin;
      if (reference_points(call) <= most_points)
        origin = checked::origin_of(setup_.whole(), given_by(setup_.typed, call), o, at,
                                    watch.oddity, setup_.options.cancel.get());
      fail_odd(watch, "output '" + output.name + "'",
               checked::indices_of(made[inputs + o]->layout, at), origin, output.where);
    }
}

void KernelImpl::look_at_let(std::size_t k, Operands inputs, std::span<const AnyView> lets) const {
  const spec::TypedSpec &typed = lets_.specs()[k]->typed;
  for (const Watched &watch : watched) {
    if (!setup_.asks(watch.flag)) continue;
    const std::int64_t at = checked::first_odd(lets[k], watch.oddity);
    if (at < 0 || is_held(setup_.whole(), inputs, watch.oddity)) continue;
    const std::vector<AnyView> read = read_by_let(k, inputs, lets);
    std::optional<checked::Origin> origin;
    if (checked::points_of(typed, layouts_of(read)) <= most_points)
      origin = checked::origin_of(typed, read, 0, at, watch.oddity, setup_.options.cancel.get());
    fail_odd(watch, "let '" + typed.outputs[0].name + "'", checked::indices_of(lets[k].layout, at),
             origin, typed.outputs[0].where);
  }
}

std::vector<AnyView> KernelImpl::read_by_let(std::size_t k, Operands inputs,
                                             std::span<const AnyView> lets) const {
  std::vector<AnyView> read;
  for (const AnyView *view : lets_.operands(k, inputs, lets)) read.push_back(*view);
  read.pop_back(); // the let itself
  return reference::with_said(lets_.specs()[k]->typed, std::move(read));
}

// Of a let that reads itself, a row: before the next step reads it.
void KernelImpl::look_at_step(std::size_t k, std::int64_t step, const AnyView &row, Operands inputs,
                              std::span<const AnyView> lets) const {
  const spec::TypedSpec &typed = lets_.specs()[k]->typed;
  const spec::Recurrence &loop = *lets_.specs()[k]->recurrence;
  for (const Watched &watch : watched) {
    if (!setup_.asks(watch.flag)) continue;
    const std::int64_t at = checked::first_odd(row, watch.oddity);
    if (at < 0 || is_held(setup_.whole(), inputs, watch.oddity)) continue;
    std::vector<std::int64_t> indices = checked::indices_of(row.layout, at);
    indices[loop.dim] = step;
    const std::vector<AnyView> read = read_by_let(k, inputs, lets);
    // Where few rows are kept, they lie elsewhere than the reference would look for them.
    const bool lies_whole = std::ranges::none_of(
        loop.reads, [&](const auto &earlier) { return lets_.keeps_last_rows(earlier.let); });
    std::optional<checked::Origin> origin;
    if (lies_whole && checked::points_of(typed, layouts_of(read)) <= most_points)
      origin = checked::origin_of(typed, read, 0, at, watch.oddity, setup_.options.cancel.get(),
                                  reference::Pin{*typed.time, step});
    fail_odd(watch, "let '" + typed.outputs[0].name + "'", indices, origin, typed.outputs[0].where);
  }
}

} // namespace broadloom
