// A call that Options::debug has checked: computed into memory of our own, held against what the
// definition says, and only then written to the caller's. What is compared with the interpreter,
// and memory between forbidden pages: twice.cpp.
#include "jit/call/kernel.hpp"
#include "jit/show/show.hpp"

#include "array/layout.hpp"
#include "checked/agreement.hpp"
#include "checked/not_finite.hpp"
#include "kernel/operand_copy.hpp"
#include "reference/lets.hpp"
#include "reference/reference.hpp"
#include "reference/windows.hpp"
#include "spec/inputs_of.hpp"
#include "support/check.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace broadloom::jit {
namespace {

using checked::Oddity;
using kernel::OperandCopy;
using kernel::Operands;

// What the reference holds of a kernel, in elements of all values: above that it is not asked. Said
// in docs/command_line.md.
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

class CheckedCall {
public:
  CheckedCall(const KernelImpl &kernel, Operands call)
      : kernel_(kernel), setup_(kernel.setup()), typed_(setup_.typed), whole_(setup_.whole()),
        cancel_(setup_.options.cancel.get()), lets_(kernel.nests().lets), call_(call),
        inputs_(call.first(setup_.callers_inputs)), made_(call.begin(), call.end()) {}
  void run();

private:
  void look_at_let(std::size_t k, std::optional<std::int64_t> step, const AnyView &row,
                   std::span<const AnyView> lets) const;
  void hold_against_reference() const;
  void look_at_outputs() const;
  // What let k reads, as the reference takes it.
  std::vector<AnyView> read_by_let(std::size_t k, std::span<const AnyView> lets) const;
  std::int64_t reference_points() const;

  const KernelImpl &kernel_;
  const Setup &setup_;
  const spec::TypedSpec &typed_, &whole_;
  const std::atomic<bool> *const cancel_;
  const Lets &lets_;
  const Operands call_, inputs_;
  std::vector<const AnyView *> made_; // of the call, with outputs of our own
};

void CheckedCall::run() {
  const std::size_t inputs = inputs_.size();
  std::vector<const AnyView *> outputs(typed_.inputs.size());
  outputs.insert(outputs.end(), call_.begin() + std::ptrdiff_t(inputs), call_.end());
  kernel::check_operands(typed_, outputs);
  kernel::check_pointers(typed_, outputs);
  kernel::check_apart(typed_, outputs);
  std::vector<OperandCopy> copies;
  copies.reserve(call_.size());
  for (std::size_t k = inputs; k < call_.size(); ++k) {
    if (call_[k] == nullptr) continue;
    OperandCopy &copy =
        copies.emplace_back(*call_[k], kernel::reach_of(call_[k]->layout, call_[k]->dtype));
    std::ranges::fill(copy.bytes(), OperandCopy::pattern);
    if (typed_.outputs[k - inputs].add) copy.load();
    made_[k] = &copy.view();
  }
  kernel_.run_unchecked(made_,
                        [&](std::size_t let, std::optional<std::int64_t> step, const AnyView &row,
                            std::span<const AnyView> lets) { look_at_let(let, step, row, lets); });
  const support::FloatWorld world;
  if (setup_.asks(Debug::reference) && setup_.engine != Engine::reference) hold_against_reference();
  look_at_outputs();
  for (const OperandCopy &copy : copies) copy.store();
}

// In elements of all values that the reference computes.
std::int64_t CheckedCall::reference_points() const {
  const std::vector<AnyView> given = given_by(typed_, call_);
  std::int64_t total =
      checked::points_of(whole_, reference::with_lets(whole_, array::layouts_of(given)));
  if (lets_.empty()) return total;
  const std::vector<AnyView> views = lets_.views(*lets_.layouts(inputs_), nullptr);
  for (std::size_t k = 0; k < lets_.specs().size() && total < most_points; ++k) {
    if (lets_.specs()[k]->join) continue;
    total += checked::points_of(lets_.specs()[k]->typed, array::layouts_of(read_by_let(k, views)));
  }
  return total;
}

void CheckedCall::hold_against_reference() const {
  if (reference_points() > most_points) return;
  const std::size_t inputs = inputs_.size();
  const std::vector<AnyView> given = given_by(typed_, call_);
  // Those that are not asked for may have no value, as the minimum of nothing.
  spec::TypedSpec asked = whole_;
  checked::Results results;
  for (std::size_t o = 0; o < typed_.outputs.size(); ++o) {
    if (made_[inputs + o] == nullptr) continue;
    results.names.push_back(typed_.outputs[o].name);
    results.got.push_back(*made_[inputs + o]);
    results.before.push_back(*call_[inputs + o]);
  }
  std::erase_if(asked.outputs, [&](const spec::TypedOutput &output) {
    return std::ranges::find(results.names, output.name) == results.names.end();
  });
  const std::vector<Array> told =
      reference::evaluate(asked, given, results.before, cancel_, setup_.threads_now());
  results.wanted.assign(told.begin(), told.end());
  const auto checks = checked::hold_against(asked, given, results, cancel_);
  for (std::size_t k = 0; k < checks.size(); ++k) {
    const checked::OutputCheck &check = checks[k];
    if (check.passed) continue;
    if (const auto faults = spec::all_faults(whole_); !faults.empty()) throw faults.front();
    const AnyView &got = results.got[k], &wanted = results.wanted[k];
    support::bug(
        fmt::format("kernel '{}', output '{}': the call and the reference differ at {}: {} and {}, "
                    "{:.1e} apart, {:.1e} allowed",
                    typed_.name, check.name,
                    checked::position_text(checked::indices_of(got.layout, check.at)),
                    checked::value_text(checked::element_at(got, check.at), got.dtype),
                    checked::value_text(checked::element_at(wanted, check.at), got.dtype),
                    check.difference, check.tolerance),
        print(setup_.spec) + "\n" + show(kernel_, Stage::loop, {}));
  }
}

void CheckedCall::look_at_outputs() const {
  const std::size_t inputs = inputs_.size();
  for (const Watched &watch : watched)
    for (std::size_t o = 0; setup_.asks(watch.flag) && o < typed_.outputs.size(); ++o) {
      const spec::TypedOutput &output = typed_.outputs[o];
      if (made_[inputs + o] == nullptr) continue;
      const std::int64_t at = checked::first_odd(*made_[inputs + o], watch.oddity);
      if (at < 0 || is_held(whole_, inputs_, watch.oddity)) continue;
      if (output.add && checked::first_odd(*call_[inputs + o], watch.oddity) >= 0) continue;
      std::optional<checked::Origin> origin;
      if (reference_points() <= most_points)
        origin = checked::origin_of(whole_, given_by(typed_, call_), o, at, watch.oddity, cancel_);
      fail_odd(watch, "output '" + output.name + "'",
               checked::indices_of(made_[inputs + o]->layout, at), origin, output.where);
    }
}

std::vector<AnyView> CheckedCall::read_by_let(std::size_t k, std::span<const AnyView> lets) const {
  std::vector<AnyView> read;
  for (const AnyView *view : lets_.operands(k, inputs_, lets)) read.push_back(*view);
  read.pop_back(); // the let itself
  return reference::with_said(lets_.specs()[k]->typed, std::move(read));
}

// Of a let that reads itself, a row: before the next step reads it.
void CheckedCall::look_at_let(std::size_t k, std::optional<std::int64_t> step, const AnyView &row,
                              std::span<const AnyView> lets) const {
  const spec::TypedSpec &typed = lets_.specs()[k]->typed;
  const std::optional<spec::Recurrence> &loop = lets_.specs()[k]->recurrence;
  for (const Watched &watch : watched) {
    if (!setup_.asks(watch.flag)) continue;
    const std::int64_t at = checked::first_odd(row, watch.oddity);
    if (at < 0 || is_held(whole_, inputs_, watch.oddity)) continue;
    std::vector<std::int64_t> indices = checked::indices_of(row.layout, at);
    if (step) indices[loop->dim] = *step;
    const std::vector<AnyView> read = read_by_let(k, lets);
    // Where few rows are kept, they lie elsewhere than the reference would look for them.
    const bool lies_whole = !step || std::ranges::none_of(loop->reads, [&](const auto &earlier) {
      return lets_.keeps_last_rows(earlier.let);
    });
    const auto pin = step ? std::optional(reference::Pin{*typed.time, *step}) : std::nullopt;
    std::optional<checked::Origin> origin;
    if (lies_whole && checked::points_of(typed, array::layouts_of(read)) <= most_points)
      origin = checked::origin_of(typed, read, 0, at, watch.oddity, cancel_, pin);
    fail_odd(watch, "let '" + typed.outputs[0].name + "'", indices, origin, typed.outputs[0].where);
  }
}

} // namespace

void run_checked(const KernelImpl &kernel, Operands call) { CheckedCall(kernel, call).run(); }

} // namespace broadloom::jit
