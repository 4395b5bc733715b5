// Random kernels as planned programs: block::interpret has the bits of loop::interpret, for the
// blocks that are chosen for any machine and for blocks of any sizes. No native code takes part.
#include "analysis/analyse.hpp"
#include "case.hpp"
#include "random_data.hpp"

#include "block/block.hpp"
#include "kernel/gather.hpp"
#include "kernel/scatter.hpp"
#include "kernel/windows.hpp"
#include "plan/plan.hpp"
#include "reference/lets.hpp"
#include "reference/reference.hpp"
#include "rewrite/scatters.hpp"
#include "spec/spec.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <map>
#include <optional>

namespace broadloom::differential {
namespace {

block::Machine machine_of(std::uint64_t seed) {
  block::Machine machine;
  machine.vector_bits = seed % 3 == 0 ? 128 : seed % 3 == 1 ? 256 : 512;
  if (machine.vector_bits == 512) {
    machine.registers = 32;
    machine.masks_free = machine.gathers = true;
    machine.least_masked_move = 1;
  }
  if (seed / 3 % 2 == 1) machine.sizes = block::random_sizes(seed);
  return machine;
}

using Phase = std::function<void(std::size_t phase, const loop::Frame &, const std::int64_t *lo,
                                 const std::int64_t *hi)>;

// A random case as a plan, and memory for it.
class Planned {
public:
  explicit Planned(const Case &c) : typed_(analysis::analyse(parse(c.text).data())) {
    for (const spec::TypedInput &declared : typed_.callers())
      for (const CaseOperand &in : c.inputs)
        if (in.name == declared.name) inputs_.push_back(make_input(in)), in_.push_back(in.layout);
    Random random(c.inputs.size());
    const std::vector<Layout> with_lets = reference::with_lets(typed_, in_);
    for (std::size_t k = in_.size(); k < with_lets.size(); ++k) { // what they hold is no matter
      const auto shape = with_lets[k].shape();
      inputs_.emplace_back(random, typed_.inputs[k].dtype,
                           std::vector<std::int64_t>(shape.begin(), shape.end()), false);
      inputs_.back().fill(random, true);
    }
    for (Operand &input : inputs_) given_.push_back(input.view());
    in_.clear();
    for (const AnyView &view : given_) in_.push_back(view.layout);
    std::vector<const AnyView *> pointers;
    for (const AnyView &view : given_) pointers.push_back(&view);
    operands_ = given_;
    // What is before a sum through a gather is computed by the reference.
    std::optional<rewrite::Scatters> parts = rewrite::split_scatters(typed_);
    if (parts) typed_ = parts->after;
    if (parts)
      for (const Array &sum : reference::evaluate(parts->before, given_)) summed_.push_back(sum);
    see_windows(pointers);
    for (const CaseOperand &out : c.outputs)
      out_.push_back(out.layout), wanted_.push_back(out.wanted);
    // Small caches, so that these kernels are large.
    const plan::Machine machine{.own_caches = 4096,
                                .last_level_cache = 65536,
                                .kept_output = 65536,
                                .threads = c.threads[0]};
    plan_ = plan::make_plan(typed_, plan::resolve(typed_, in_, wanted_), in_, out_, wanted_,
                            machine, false);
  }

  const loop::Program &program() const { return plan_.program; }

  // The bytes of all outputs; those that nobody stores hold a pattern.
  std::vector<std::vector<unsigned char>> run(const Phase &phase) {
    std::vector<Operand> outputs;
    for (std::size_t o = 0; o < out_.size(); ++o)
      outputs.emplace_back(typed_.outputs[o].dtype, out_[o], true, true);
    std::vector<std::vector<char>> scratch, rows;
    for (const std::int64_t bytes : plan_.binding.scratch_bytes)
      scratch.emplace_back(std::size_t(bytes), char(0x5A));
    for (const std::int64_t bytes : plan_.binding.row_bytes)
      rows.emplace_back(std::size_t(bytes), char(0x5A));
    std::vector<char *> buffers;
    for (const loop::Buffer &buffer : program().buffers) {
      switch (buffer.role) {
      case loop::Role::Input:
        buffers.push_back(static_cast<char *>(operands_[buffer.operand].data));
        break;
      case loop::Role::Output:
        buffers.push_back(static_cast<char *>(outputs[buffer.operand].view().data));
        break;
      case loop::Role::Scratch: buffers.push_back(scratch[buffer.operand].data()); break;
      case loop::Role::Row: buffers.push_back(rows[buffer.operand].data()); break;
      }
    }
    const loop::Frame frame{1, plan_.binding.extents.data(), plan_.binding.chunks.data(),
                            plan_.binding.strides.data(), buffers.data()};
    for (std::size_t p = 0; p < program().phases.size(); ++p) {
      std::vector<std::int64_t> lo, hi;
      for (const loop::AxisId axis : program().phases[p].parallel) {
        lo.push_back(0);
        hi.push_back(plan_.binding.extents[axis.index]);
      }
      phase(p, frame, lo.data(), hi.data());
    }
    std::vector<std::vector<unsigned char>> found;
    for (const Operand &output : outputs) found.push_back(output.dense());
    return found;
  }

private:
  // Adds the windows, as a call that is not split sees them.
  void see_windows(kernel::Operands given) {
    const kernel::WindowChoice choice = kernel::choose_windows(typed_, given, {}, {});
    std::size_t sums = 0;
    operands_.reserve(typed_.inputs.size()); // their addresses are kept
    for (std::size_t i = given.size(); i < typed_.inputs.size(); ++i) {
      const spec::TypedWindow &window = *typed_.inputs[i].window;
      const kernel::Seen &seen = choice.parts[0].seen[i - given.size()];
      AnyView view = given_[window.of];
      if (seen.padding) {
        Array &copy = copies_.emplace_back(
            Array::to_be_written(view.dtype, kernel::padded_layout(*seen.padding, view.layout)));
        kernel::pad(*seen.padding, view, copy);
        view = copy;
      }
      const std::vector<const AnyView *> before = kernel::pointers_to(operands_);
      if (window.is_gather() || window.sum) {
        Array made = Array::to_be_written(typed_.inputs[i].dtype, seen.layout);
        if (window.sum)
          kernel::scatter(typed_, *window.sum, before, summed_[sums++], made, kernel::run_in_order);
        else if (kernel::looked_up(typed_).elements[i])
          kernel::gather(typed_, i, before, view, made, kernel::run_in_order);
        operands_.push_back(made);
        copies_.push_back(std::move(made));
      } else {
        view.layout = seen.layout;
        view.data =
            static_cast<char *>(view.data) + seen.offset * std::int64_t(size_of(view.dtype));
        operands_.push_back(view);
      }
      in_.push_back(seen.layout);
    }
  }

  spec::TypedSpec typed_;
  std::vector<Operand> inputs_;
  std::vector<AnyView> given_, operands_; // without windows, and with them
  std::vector<Array> copies_, summed_;
  std::vector<Layout> in_, out_;
  std::vector<bool> wanted_;
  plan::Plan plan_;
};

// Whether all elements have the same bits, all NaNs being equal.
bool same_bytes(const std::vector<unsigned char> &a, const std::vector<unsigned char> &b,
                DType dtype) {
  if (a == b) return true;
  if (a.size() != b.size()) return false;
  for (std::size_t at = 0; at < a.size(); at += size_of(dtype))
    if (!same(ops::load(a.data() + at, dtype), ops::load(b.data() + at, dtype), dtype))
      return false;
  return true;
}

struct Seen {
  std::map<block::Shape, int> shapes;
  int kernels = 0;
};

void gather(const block::Box &box, Seen &seen) {
  for (const block::Run &run : box.runs) {
    ++seen.shapes[run.shape];
    for (const block::Box &inner : run.boxes) gather(inner, seen);
  }
}

void agree(std::uint64_t seed, Style style, int machines, Seen &seen) {
  const Case c = random_case(seed, style);
  if (c.outputs.empty()) return; // shapes that do not fit
  std::optional<Planned> planned;
  try {
    planned.emplace(c);
  } catch (const InternalError &) {
    throw;
  } catch (const Error &) { // a fold of nothing, say
    return;
  }
  CAPTURE(seed);
  CAPTURE(c.text);
  ++seen.kernels;
  const loop::Program &program = planned->program();
  const auto told =
      planned->run([&](std::size_t phase, const loop::Frame &frame, const std::int64_t *lo,
                       const std::int64_t *hi) { loop::interpret(program, phase, frame, lo, hi); });
  for (int k = 0; k < machines; ++k) {
    const block::Program blocks = block::choose(program, machine_of(seed + std::uint64_t(k)));
    for (const block::Box &phase : blocks.phases) gather(phase, seen);
    const auto found = planned->run(
        [&](std::size_t phase, const loop::Frame &frame, const std::int64_t *lo,
            const std::int64_t *hi) { block::interpret(program, blocks, phase, frame, lo, hi); });
    for (std::size_t o = 0; o < found.size(); ++o)
      CHECK_MESSAGE(same_bytes(found[o], told[o], c.outputs[o].dtype),
                    "output " << c.outputs[o].name << " differs by these blocks:\n"
                              << block::print(program, blocks));
  }
}

} // namespace

TEST_CASE("random kernels have the interpreter's bits by the blocks of any machine, of any sizes") {
  const char *seed = std::getenv("BROADLOOM_SEED"), *count = std::getenv("BROADLOOM_FUZZ");
  const std::uint64_t first = seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1;
  const std::uint64_t small = count != nullptr ? std::strtoull(count, nullptr, 10) : 300;
  Seen seen;
  for (std::uint64_t k = 0; k < small; ++k) agree(first + k, Style::Any, 3, seen);
  // As many as it takes to meet all shapes: register tiles are in one large kernel of some hundred.
  const auto met_all = [&] {
    for (int k = 0; k <= int(block::Shape::TransposedTile); ++k)
      if (seen.shapes[block::Shape(k)] == 0) return false;
    return true;
  };
  for (std::uint64_t k = 0; k < small * 2 / 3 || (k < small * 5 && !met_all()); ++k)
    agree(10000 + first + k, Style::Large, 2, seen);
  CHECK(seen.kernels > int(small / 2));
  for (int k = 0; count == nullptr && k <= int(block::Shape::TransposedTile); ++k) {
    CAPTURE(k);
    CHECK(seen.shapes[block::Shape(k)] > 0);
  }
}

} // namespace broadloom::differential
