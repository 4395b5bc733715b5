// A call that BROADLOOM_VERIFY holds against what is shown of it.
#include "calls/record.hpp"
#include "jit/call/kernel.hpp"
#include "jit/show/show.hpp"

namespace broadloom::jit {

// While another call of this kernel runs there is no telling whose steps are shown.
void run_recorded(const KernelImpl &kernel, kernel::Operands call, CallCount &calls) {
  const bool is_recorded = calls::Recorder::here() != nullptr;
  const std::int64_t number = ++calls.begun;
  const bool is_alone = calls.running.fetch_add(1) == 0;
  const struct End {
    CallCount &calls;
    ~End() { --calls.running; }
  } end{calls};
  if (is_recorded) return kernel.run_unchecked(call, nullptr);
  const calls::Recorder recorder;
  kernel.run_unchecked(call, nullptr);
  if (!is_alone || recorder.record().events.empty()) return;
  const calls::Call shown = describe_call(kernel);
  if (calls.begun == number) calls::check_record(recorder.record(), shown);
}

} // namespace broadloom::jit
