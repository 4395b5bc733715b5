// The steps of a call between nests, on a device: see step_code.hpp for what its threads do.
//
// Example: Steps steps(device); steps.copy(x, y.data, y.layout);
#pragma once

#include "jit/gpu/device.hpp"
#include "kernel/padding.hpp"
#include "kernel/positions.hpp"

namespace broadloom::jit::gpu {

class Steps final : public kernel::Elements {
public:
  using Operands = std::span<const AnyView *const>;

  explicit Steps(Device &device) : device_(device) {}

  void copy(const AnyView &from, void *to, const Layout &layout) const override;
  void fill(DType dtype, const void *number, void *to, const Layout &layout) const override;
  void count_up(const AnyView &to) const; // 0, 1, 2 .. of i64, one behind the other

  // As kernel::listed_positions, kernel::gather and kernel::scatter. Gives false, with nothing
  // written, where the host has to do it: a position is outside, a number is very large, there are
  // many indices, or elements have 16 bits and are added.
  bool look(const spec::TypedSpec &spec, std::size_t window, const Layout &shape,
            Operands operands) const;
  bool gather(const spec::TypedSpec &spec, std::size_t window, Operands operands, const AnyView &of,
              const AnyView &to) const;
  bool scatter(const spec::TypedSpec &spec, std::size_t window, Operands operands,
               const AnyView &values, const AnyView &to) const;

private:
  struct Listed {
    std::vector<kernel::ListedPositions> described;
    std::vector<std::shared_ptr<void>> entries;
  };
  std::optional<Listed> listed(const spec::TypedSpec &spec, std::size_t window, const Layout &shape,
                               Operands operands) const;
  void bring(const void *from, const Layout &read, void *to, const Layout &written,
             std::size_t size, Wide number) const;

  Device &device_;
};

// A step, as a processor runs it that plays a device: all threads, one after the other.
void play(Step step, const void *arguments);

// The name of a step's kernel, and how many bytes of arguments it takes.
struct StepKernel {
  const char *name;
  std::size_t bytes;
};
const StepKernel &kernel_of(Step step);
// Its PTX.
std::string text_of(Step step);
inline constexpr int step_count = int(Step::SumC128) + 1;

} // namespace broadloom::jit::gpu
