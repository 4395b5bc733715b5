// The lets of a call that go step by step together (spec/recurrence.hpp): kernels of one step each, run for one position of time after the
// other on views that move on.
#pragma once

#include "jit/lets.hpp"
#include "kernel/windows.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace broadloom::jit {

class TimeLoop;
// [let]: the loops of a call so far.
using LoopsBefore = std::vector<std::shared_ptr<const TimeLoop>>;

class TimeLoop {
public:
  // Those from let `first` on; `views` are those of Lets::views. The inputs and the memory must live as long as this. Those of `before` that
  // are computed again for this one are held.
  TimeLoop(const Lets &lets, std::shared_ptr<const Lets::Layouts> layouts, std::size_t first,
           kernel::Operands inputs, std::span<const AnyView> views, const LoopsBefore &before,
           kernel::WindowedOperands::How how);

  // Shown each row once it is there, with its let and its step.
  using Watch = std::function<void(std::size_t let, std::int64_t step, const AnyView &row)>;
  // The copies that windows see are those of the constructor, or are made again, as inputs changed.
  enum class Copies : std::uint8_t { AreThere, Again };
  void run(Copies copies, const Watch &watch = nullptr) const;
  void prepare() const; // compiles what a step runs

private:
  struct Operand {
    AnyView view; // of the first position; without memory where it is not read
    // From position to position, in bytes: along the rows, and along other dims that the step is a position of.
    std::int64_t move = 0, aside = 0;
    // Of an array of which only these rows are kept: how many, and which of them the first position is.
    std::int64_t kept_rows = 0, first_row = 0;

    void *at(std::int64_t t) const {
      if (view.data == nullptr) return nullptr;
      const std::int64_t rows = kept_rows > 0 ? (first_row + t) % kept_rows - first_row : t;
      return static_cast<char *>(view.data) + rows * move + t * aside;
    }
  };
  // What it reads of a loop that is computed again.
  struct Again {
    std::size_t input = 0; // of its kernel
    Lets::LoopRead read;
  };
  struct Step {
    std::shared_ptr<const KernelImpl> kernel;
    std::vector<Again> again;
    const spec::Recurrence *recurrence = nullptr;
    std::unique_ptr<const kernel::WindowedOperands> windowed;
    std::vector<std::vector<Operand>> parts; // [part][operand]
    std::vector<const KernelImpl *> kernels; // [part]: the kernel, or a part of it
  };
  void add_step(std::size_t k, kernel::Operands operands, kernel::WindowedOperands::How how);
  Operand operand(const Step &step, const spec::TypedSpec &typed, std::size_t index,
                  const AnyView &whole, const kernel::Operands given) const;
  // The calls of a step, whose pointers move.
  struct Call {
    std::vector<AnyView> views;
    std::vector<const AnyView *> operands;
  };
  using Calls = std::vector<std::vector<Call>>; // [member][part]
  Calls calls() const;
  void step(std::int64_t n, Calls &calls, const Watch &watch) const; // the n-th
  std::int64_t position(std::int64_t n) const;

  // Segments (checkpoints.cpp of Lets).
  std::int64_t kept_rows(std::size_t k) const { return layouts_->kept_rows[k]; }
  std::int64_t segment() const { return layouts_->segment[first_]; }
  void save(std::int64_t n) const;
  void save_last() const;
  // Has the steps there that what follows reads at its own step t; true where these were computed again.
  bool bring(std::int64_t t) const;
  void bring_what_is_read(std::int64_t t) const;
  // Row c of those before the n-th step, of the array that begins with the start.
  std::int64_t row_before(std::size_t k, std::int64_t n, std::int64_t c) const;

  std::int64_t place_of_row(std::size_t k, std::int64_t row) const;
  void begin(Copies copies) const;
  void fill_start(std::size_t k, std::int64_t row) const;
  void copy_borders(std::size_t k, std::int64_t row) const;
  AnyView with_start(std::size_t k) const; // with the rows of the start
  void run_reference(const Watch &watch) const;

  const Lets &lets_;
  const std::shared_ptr<const Lets::Layouts> layouts_;
  const std::size_t first_;
  LoopsBefore followed_; // those that are computed again for this one
  // The steps that are there, in the order of computation: from .. on, a segment of them.
  mutable std::int64_t there_ = 0;
  std::vector<AnyView> inputs_, views_;
  std::vector<AnyView> positions_; // one for each step that reads them
  std::int64_t steps_ = 0;
  std::vector<Step> each_;
};

} // namespace broadloom::jit
