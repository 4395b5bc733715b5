// What stands behind a Kernel: the checked spec, the target, and what was learned from the calls.
//
//   compile.cpp   from the spec to a KernelImpl, from layouts to a Specialisation: the table of contents
//   patterns.cpp  the programs and their code
//   check.cpp     the arguments of a call
//   call.cpp      a call: look the layouts up, check the pointers, run
//   checked_call.cpp  a call that Options::debug has checked
//   twice.cpp     native code held against the interpreter
//   failure.cpp   what a bug of ours leaves behind
//   layout_cache.cpp  the layouts seen so far
//   lets.cpp      the lets that are kernels of their own
//   show.cpp      its stages as text
//   kernel.cpp    the public face
//   bound_call.cpp    calls with their arguments fixed
//   kernel_impl.cpp   what is made, and said without a call
//   kernel_blocks.cpp the public face of
//   fold_blocks*.cpp  blocks of the data, joined
//   frozen.hpp    parameters that are built into a kernel
#pragma once

#include "jit/fold_blocks.hpp"
#include "jit/layout_cache.hpp"
#include "jit/lets.hpp"
#include "jit/patterns.hpp"
#include "jit/setup.hpp"
#include "jit/specialisation.hpp"
#include "support/undivided.hpp"
#include "text/graph_page.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace broadloom {

using detail::KernelImpl;

namespace detail {
// What bl::compile makes. What is declared of the inputs `known` is known to hold: calls do not look at their elements.
std::shared_ptr<const KernelImpl> make_kernel(const LoopSpec &spec, const Options &options,
                                              const std::vector<std::string> &known);
} // namespace detail

class detail::KernelImpl {
public:
  // `target` is empty where no native code is wanted; `ms` is the time that compiling has taken so far.
  KernelImpl(const LoopSpec &spec, spec::TypedSpec typed, const Options &options,
             std::optional<jit::Target> target, Profile profile, int threads, double ms);

  // Operands are inputs, then outputs; their number is right. Each throws what Kernel::run does. `run` is given what a call is,
  // `run_lent` also the lets that are arrays, `run_given` also the shapes that outputs lend; all else is about operands with their
  // windows (kernel/windows.hpp).
  void run(kernel::Operands call) const {
    if (setup_.is_plain) [[likely]]
      return run_windowed(call);
    setup_.is_debugged() ? run_checked(call) : run_unchecked(call);
  }
  void run_unchecked(kernel::Operands call) const;
  // Looks at layouts only, of all that a call is.
  void check_shapes(kernel::Operands call) const;
  void run_lent(kernel::Operands named) const {
    setup_.has_lent ? run_given(kernel::LentOperands(setup_.typed, named).all()) : run_given(named);
  }
  void run_given(kernel::Operands given) const {
    setup_.has_windows ? run_with_windows(given) : run_windowed(given);
  }
  void run_windowed(kernel::Operands operands, kernel::Lies lies = {}) const;
  // Looks at layouts only. For many calls, by a pattern of their own.
  enum class Use : std::uint8_t { Once, Often };
  std::shared_ptr<const jit::Specialisation> bind(kernel::Operands operands, kernel::Lies lies,
                                                  Use use) const;
  void execute(const jit::Specialisation &special,
               kernel::Operands operands) const; // looks at pointers only

  // For calls on the same memory again and again: the buffers of the frame, if the phases are all that
  // such a call has to run; else empty.
  std::vector<char *> ready_buffers(const jit::Specialisation &special,
                                    kernel::Operands operands) const;
  void run_phases(const jit::Specialisation &special, char *const *buffers,
                  bool interpreted = false) const;

  // A call that allocates its outputs. `operands` are the inputs, in declared order.
  Results call(std::vector<AnyView> operands, Order store = Order::none) const;
  // The layouts of a call with these inputs that allocates its outputs; they may be without memory.
  kernel::Layouts allocated_layouts(std::span<const AnyView> inputs) const;
  // The same of all inputs, lets too.
  kernel::Layouts layouts_of_given(std::span<const AnyView> inputs) const;
  const jit::Lets &lets() const { return lets_; }

  std::string show(Stage stage, const ShowFormat &format) const;
  std::vector<Decision> why() const;
  Prediction predict() const;
  Engine engine_used() const;
  Counters counters() const;

  // For what a call does before its phases.
  kernel::Helpers helpers() const;
  void fill(const kernel::WindowedOperands &windowed) const;
  // What computes parts of this kind: this, or a kernel of them that is made when it is first asked for.
  const KernelImpl &of_part(const kernel::PartId &id) const;
  // Of the latest call, what computed its parts: this, and of each group the interior or the last part.
  std::vector<const KernelImpl *> latest_kernels() const;
  // What a call chose for its windows: for those who tell of it, and the count of paths.
  void note_windows(const kernel::WindowedOperands &windowed) const;
  std::shared_ptr<const kernel::WindowChoice> latest_windows() const; // null before any call
  // What a call would choose that is given these inputs, without shapes that outputs lend.
  std::shared_ptr<const kernel::WindowChoice> planned_windows(kernel::Operands named) const;
  // Whether the latest call ran no loop, as a gather was all of its output; before any, whether one would.
  bool fills_output() const;
  // What computes the values of sums through gathers; null where there are none.
  const KernelImpl *before() const { return before_.get(); }

  // The folds along an axis, block by block. Throws what split_folds does.
  std::shared_ptr<const jit::FoldBlocks> fold_blocks(const std::string &axis) const;

  const jit::Setup &setup() const { return setup_; }
  const spec::TypedSpec &typed() const { return setup_.typed; }

private:
  // compile.cpp
  plan::Resolved resolve(kernel::Operands operands, kernel::Layouts &layouts) const;
  std::shared_ptr<const jit::Specialisation> build(kernel::Operands operands, kernel::Lies lies,
                                                   std::uint64_t hash, Use use) const;
  void place(jit::Specialisation &special, const plan::Resolved &resolved, int threads,
             Use use) const;
  plan::Plan make_plan(const kernel::Layouts &layouts, const plan::Resolved &resolved, int threads,
                       bool explain, plan::Generality generality) const;

  // call.cpp
  void run_lets(kernel::Operands call) const;
  void run_with_windows(kernel::Operands given) const;
  bool run_again(const jit::Specialisation *special, kernel::Operands operands,
                 kernel::Lies lies) const;
  bool fits(kernel::Operands operands) const;
  void run_reference(kernel::Operands operands) const;
  void execute_on_copies(const jit::Specialisation &special, kernel::Operands operands) const;
  void interpret_or_refer(const jit::Specialisation &special, kernel::Operands operands) const;
  void invoke(const jit::Specialisation &special, void *const *addresses, bool interpreted) const;
  void interpret(const jit::Specialisation &special, const loop::Frame &frame) const;

  // checked_call.cpp
  void run_checked(kernel::Operands call) const;
  void hold_against_reference(kernel::Operands call, kernel::Operands made) const;
  void look_at_outputs(kernel::Operands call, kernel::Operands made) const;
  void look_at_let(std::size_t k, kernel::Operands inputs, std::span<const AnyView> lets) const;
  void look_at_step(std::size_t k, std::int64_t step, const AnyView &row, kernel::Operands inputs,
                    std::span<const AnyView> lets) const;
  // What let k reads, as the reference takes it.
  std::vector<AnyView> read_by_let(std::size_t k, kernel::Operands inputs,
                                   std::span<const AnyView> lets) const;
  std::int64_t reference_points(kernel::Operands call) const;

  // twice.cpp
  void execute_twice(const jit::Specialisation &special, kernel::Operands operands) const;

  // show.cpp
  struct Shown;
  Shown what_to_show() const;
  kernel::Layouts layouts_to_show() const;
  void find_engine(Shown &shown) const;
  Shown native_to_show() const;
  Shown program_to_show() const;
  std::vector<Decision> why_with_times() const;
  std::string show_one(Stage stage, const ShowFormat &format) const;
  std::string show_own(Stage stage, const ShowFormat &format) const;
  std::string show_stage(Stage stage, const ShowFormat &format) const;
  std::vector<Decision> why_one() const;
  std::vector<Decision> why_own() const;
  Prediction predict_own() const;
  std::string show_let(std::size_t k, Stage stage, const ShowFormat &format) const;
  std::string show_rest(Stage stage, const ShowFormat &format) const;
  std::vector<Decision> explain_let(std::size_t k) const;
  std::vector<Decision> explain_rest() const;
  std::string show_graph(ShowFormat::Graph format) const; // show_graph.cpp
  std::vector<spec::GraphPart> graph_parts() const;
  spec::GraphPart graph_part(std::string name) const;
  Decision explain_engine(const Shown &shown) const;
  void explain_padding(std::vector<Decision> &why) const;
  void explain_classes(std::vector<Decision> &why) const;

  std::vector<Array> summed(kernel::Operands inputs) const;

  const jit::Setup setup_;

  const jit::Lets lets_;
  const std::unique_ptr<const KernelImpl> before_;
  // What the calls teach.
  mutable jit::LayoutCache layout_cache_;
  mutable jit::PatternCache patterns_;
  mutable support::Mutex mutex_; // guards all below
  mutable std::unordered_map<std::string, std::shared_ptr<const jit::FoldBlocks>> fold_blocks_;
  mutable std::atomic<std::int64_t> interpreted_{0};
  struct PartKernels { // null until they are needed
    std::unique_ptr<const KernelImpl> border, interior;
  };
  mutable std::vector<PartKernels> part_kernels_; // [group]
  mutable std::shared_ptr<const kernel::WindowChoice> latest_windows_;
};

} // namespace broadloom
