// A call that BROADLOOM_VERIFY holds against what is shown of it.
#include "jit/kernel.hpp"
#include "jit/show.hpp"

#include "array/copy.hpp"
#include "jit/time_loop.hpp"

namespace broadloom::jit {

void record_operands(const KernelImpl &kernel, kernel::Operands call) {
  calls::Recorder *recorder = calls::Recorder::here();
  if (recorder == nullptr) return;
  const spec::TypedSpec &typed = kernel.typed();
  const std::size_t inputs = typed.callers_inputs();
  const std::vector<std::string> outputs = arrays_of_outputs(typed);
  for (std::size_t k = 0; k < call.size(); ++k)
    if (call[k] != nullptr)
      recorder->name(k < inputs ? typed.inputs[k].name : outputs[k - inputs], *call[k]);
}

void record_lets(const Lets &lets, const std::vector<bool> &needed,
                 std::span<const AnyView> views) {
  calls::Recorder *recorder = calls::Recorder::here();
  if (recorder == nullptr) return;
  for (std::size_t k = 0; k < lets.specs().size(); ++k) {
    const spec::Materialised &let = *lets.specs()[k];
    if (!needed[k] && !let.join && !lets.rows_of_loop(k)) continue;
    AnyView whole = views[k];
    if (let.recurrence) {
      const spec::Recurrence &loop = *let.recurrence;
      whole = array::rows_of(whole, loop.dim, loop.backwards ? 0 : -loop.lag,
                             whole.layout.extents[loop.dim] + loop.lag);
    }
    recorder->name(let.typed.outputs[0].name, whole);
  }
}

// While another call of this kernel runs there is no telling whose steps are shown.
void run_recorded(const KernelImpl &kernel, kernel::Operands call, CallCount &calls) {
  const bool is_recorded = calls::Recorder::here() != nullptr;
  const std::int64_t number = ++calls.begun;
  const bool is_alone = calls.running.fetch_add(1) == 0;
  const struct End {
    CallCount &calls;
    ~End() { --calls.running; }
  } end{calls};
  if (is_recorded) return kernel.run_unchecked(call);
  const calls::Recorder recorder;
  kernel.run_unchecked(call);
  if (!is_alone || recorder.record().events.empty()) return;
  const calls::Call shown = describe_call(kernel);
  if (calls.begun == number) calls::check_record(recorder.record(), shown);
}

} // namespace broadloom::jit
