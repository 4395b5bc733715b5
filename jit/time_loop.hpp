// The lets of a call that go step by step together (spec/recurrence.hpp): kernels of one step each, run for one position of time after the
// other on views that move on.
#pragma once

#include "jit/lets.hpp"
#include "kernel/windows.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace broadloom::jit {

class TimeLoop {
public:
  // Those from let `first` on; `views` are those of Lets::views. The inputs and the memory must live as long as this.
  TimeLoop(const Lets &lets, std::size_t first, kernel::Operands inputs,
           std::span<const AnyView> views, kernel::WindowedOperands::How how);

  // Shown each row once it is there, with its let and its step.
  using Watch = std::function<void(std::size_t let, std::int64_t step, const AnyView &row)>;
  void run(const Watch &watch = nullptr) const;
  void prepare() const; // compiles what a step runs

private:
  struct Operand {
    AnyView view;          // of the first position; without memory where it is not read
    std::int64_t move = 0; // from position to position, in bytes
    // Of an array of which only these rows are kept: how many, and which of them the first position is.
    std::int64_t kept_rows = 0, first_row = 0;

    void *at(std::int64_t t) const {
      if (view.data == nullptr) return nullptr;
      const std::int64_t rows = kept_rows > 0 ? (first_row + t) % kept_rows - first_row : t;
      return static_cast<char *>(view.data) + rows * move;
    }
  };
  struct Step {
    std::shared_ptr<const KernelImpl> kernel;
    const spec::Recurrence *recurrence = nullptr;
    std::unique_ptr<const kernel::WindowedOperands> windowed;
    std::vector<std::vector<Operand>> parts; // [part][operand]
    std::vector<const KernelImpl *> kernels; // [part]: the kernel, or a part of it
  };
  void add_step(std::size_t k, kernel::Operands operands, kernel::WindowedOperands::How how);
  Operand operand(const Step &step, const spec::TypedSpec &typed, std::size_t index,
                  const AnyView &whole, const kernel::Operands given) const;
  std::int64_t place_of_row(std::size_t k, std::int64_t row) const;
  void begin() const;
  void fill_start(std::size_t k, std::int64_t row) const;
  void copy_borders(std::size_t k, std::int64_t row) const;
  AnyView with_start(std::size_t k) const; // with the rows of the start
  void run_reference(const Watch &watch) const;

  const Lets &lets_;
  const std::size_t first_;
  std::vector<AnyView> inputs_, views_;
  std::vector<AnyView> positions_; // one for each step that reads them
  std::int64_t steps_ = 0;
  std::vector<Step> each_;
};

} // namespace broadloom::jit
