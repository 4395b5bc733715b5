// What calls::Recorder is told of the operands of a kernel.
#pragma once

#include "calls/record.hpp"
#include "kernel/operands.hpp"
#include "kernel/padding.hpp"
#include "spec/spec.hpp"

namespace broadloom::kernel {

// With the names of the axes; along the steps of a loop an operand has one position.
calls::Operand recorded(const spec::TypedSpec &spec, const std::vector<int> &axes,
                        const AnyView &view);

// A nest, or a part of one, as `kernel`. Nothing where nobody asks.
void record_run(const spec::TypedSpec &spec, std::string_view kernel, Operands operands);

inline void record(calls::Step::Kind kind, const AnyView &from, const AnyView &to) {
  if (calls::Recorder *recorder = calls::Recorder::here()) [[unlikely]]
    recorder->add(kind, from, to);
}

// All of a copy with borders, or a row of it.
void record_pad(const Padding &padding, const AnyView &from, const AnyView &to,
                const AnyView *row_from = nullptr, const AnyView *row_to = nullptr);

} // namespace broadloom::kernel
