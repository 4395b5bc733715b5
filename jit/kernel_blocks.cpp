// Kernels of blocks of the data: the public face of fold_blocks.hpp.
#include "jit/kernel.hpp"
#include "jit/public_call.hpp"
#include "support/fail.hpp"
#include "support/out_of_memory.hpp"

namespace broadloom {

std::int64_t Kernel::unit(std::string_view axis, std::span<const NamedView> inputs) const try {
  return impl()
      ->subs()
      .fold_blocks(std::string(axis))
      ->unit(in_order(*impl(), frozen_.get(), inputs));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Partial Kernel::partial(std::string_view axis, std::int64_t offset,
                        std::span<const NamedView> inputs) const try {
  const jit::runtime::ThreadCap cap(most_threads_);
  return impl()
      ->subs()
      .fold_blocks(std::string(axis))
      ->partial(offset, in_order(*impl(), frozen_.get(), inputs));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Partial Kernel::partial(const Partial &before, std::int64_t offset,
                        std::span<const NamedView> inputs) const try {
  const jit::runtime::ThreadCap cap(most_threads_);
  return impl()
      ->subs()
      .fold_blocks(before.axis)
      ->partial(before, offset, in_order(*impl(), frozen_.get(), inputs));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

int Kernel::rounds(std::string_view axis) const try {
  return impl()->subs().fold_blocks(std::string(axis))->rounds();
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Partial Kernel::join(std::span<const Partial> blocks) const try {
  if (blocks.empty())
    support::fail("E0151", "there are no blocks of kernel '" + impl()->typed().name + "' to join",
                  {}, "give at least one that has positions");
  const jit::runtime::ThreadCap cap(most_threads_);
  return impl()->subs().fold_blocks(blocks.front().axis)->join(blocks);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Results Kernel::combine(std::span<const Partial> blocks, std::span<const NamedView> inputs) const {
  return combine(blocks, jit::FoldBlocks::nowhere, inputs);
}

Results Kernel::combine(std::span<const Partial> blocks, std::int64_t offset,
                        std::span<const NamedView> inputs) const try {
  if (blocks.empty())
    support::fail("E0151",
                  "there are no blocks of kernel '" + impl()->typed().name + "' to combine", {},
                  "give at least one that has positions");
  std::vector<NamedView> all;
  if (frozen_) inputs = all = frozen_->all(inputs);
  const jit::runtime::ThreadCap cap(most_threads_);
  return impl()->subs().fold_blocks(blocks.front().axis)->combine(blocks, offset, inputs);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::string Kernel::why_no_map(std::string_view axis) const {
  return rewrite::why_no_map(impl()->setup().whole(), std::string(axis));
}

} // namespace broadloom
