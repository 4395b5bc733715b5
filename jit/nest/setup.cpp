// See setup.hpp.
#include "jit/nest/setup.hpp"

#include "jit/cache/built_code.hpp"
#include "jit/gpu/on_host.hpp"
#include "jit/runtime/machine.hpp"
#include "kernel/layouts.hpp"
#include "support/fail.hpp"
#include "support/log.hpp"
#include "support/number.hpp"

#include <cstdlib>
#include <string_view>

namespace broadloom::jit {
namespace {

bool asked_to_verify() {
  const char *asked = std::getenv("BROADLOOM_VERIFY");
  return asked != nullptr && std::string_view(asked) == "1";
}

std::vector<Setup::Declared> declared_by(const spec::TypedSpec &typed) {
  std::vector<Setup::Declared> declared;
  for (const spec::TypedInput &input : typed.inputs)
    declared.push_back({input.dtype, int(input.axis_of_dim.size())});
  for (const spec::TypedOutput &output : typed.outputs)
    declared.push_back({output.dtype, int(output.axes.size())});
  return declared;
}

} // namespace

template <class Number> Number number_in(const char *name, Number usual) {
  const char *variable = std::getenv(name);
  if (variable == nullptr || *variable == '\0') return usual;
  if (const auto asked = support::number_of<Number>(variable)) return *asked;
  support::log().warn("{} is '{}': write a number", name, variable);
  return usual;
}
template std::size_t number_in(const char *, std::size_t);
template std::int64_t number_in(const char *, std::int64_t);

Setup::Setup(const LoopSpec &spec, spec::TypedSpec typed, const MadeFor &made_for)
    : MadeFor(made_for), spec(spec), scatters(rewrite::split_scatters(typed)),
      typed(scatters ? scatters->after : std::move(typed)), names(this->typed),
      reads(kernel::inputs_read(this->typed)), declared(declared_by(this->typed)),
      callers_inputs(this->typed.callers_inputs()), engine(options.engine),
      compares(!device && (asked_to_verify() || asks(Debug::interpreter))),
      verifies(compares || asks(Debug::memory)),
      workers(runtime::workers(device ? runtime::default_threads() : threads)),
      split_from_bytes(number_in("BROADLOOM_SPLIT", std::int64_t(512) << 10)),
      tile_rows(device ? 0 : number_in("BROADLOOM_TILE_ROWS", std::int64_t(-1))),
      has_windows(this->typed.given_inputs() < this->typed.inputs.size()),
      has_lent(this->typed.given_inputs() > 0 &&
               this->typed.inputs[this->typed.given_inputs() - 1].is_lent()),
      facts(kernel::inputs_with_facts(this->typed)),
      is_plain(!is_debugged() && whole().materialised.empty() && !has_lent && !has_windows &&
               facts.empty()),
      by_parts(has_windows && engine != Engine::reference ? kernel::by_parts(this->typed)
                                                          : std::vector<kernel::ByParts>()) {}

kernel::WindowRules Setup::windows() const {
  if (engine == Engine::reference) return {};
  return {split_from_bytes, engine != Engine::interpreter && !verifies, by_parts};
}

support::Machine Setup::machine(int threads) const {
  support::Machine machine = target ? machine_of(*target) : support::Machine();
  const runtime::Caches caches = built ? built->caches() : runtime::caches();
  machine.own_caches = caches.own;
  machine.nearest_cache = std::min<std::int64_t>(machine.nearest_cache, caches.own);
  machine.last_level_cache = caches.last_level;
  machine.kept_output = caches.kept_output;
  machine.threads = threads;
  return machine;
}

bool Setup::is_tiered() const {
  return engine == Engine::tiered && target && !built && !device && !verifies &&
         profile == Profile::none;
}

Array Setup::array_of(DType dtype, const Layout &layout) const {
  return device ? device->array(dtype, layout) : Array(dtype, layout.shape());
}

void Setup::refuse_on_device(const char *what) const {
  if (device)
    support::fail("E0506",
                  "kernel '" + typed.name + "' runs on the device '" + device->name() +
                      "', which does not go with " + what,
                  {}, "compile it without Options::device: the bits are the same");
}

void Setup::look_at_facts(kernel::Operands call) const {
  if (!device) return kernel::check_facts(typed, facts, call);
  gpu::OnHost host(device.get());
  std::vector<AnyView> views;
  for (std::size_t k = 0; k < call.size(); ++k)
    views.push_back(call[k] == nullptr                           ? AnyView()
                    : std::ranges::find(facts, k) != facts.end() ? host.read(*call[k])
                                                                 : *call[k]);
  std::vector<const AnyView *> seen;
  for (std::size_t k = 0; k < call.size(); ++k)
    seen.push_back(call[k] == nullptr ? nullptr : &views[k]);
  kernel::check_facts(typed, facts, seen);
}

void Setup::fail_cancelled() const {
  support::fail("E0701", "the call of kernel '" + typed.name + "' was cancelled", {},
                "what its outputs hold is of no use; reset Options::cancel before the next call");
}

} // namespace broadloom::jit
