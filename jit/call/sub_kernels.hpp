// The kernels that stand behind a kernel, which owns them: what its calls run before its own phases
// or in their place, and those of the blocks of its folds. All are made as it was.
#pragma once

#include "jit/call/fold_blocks.hpp"
#include "jit/call/lets.hpp"
#include "jit/nest/setup.hpp"
#include "support/undivided.hpp"

#include <unordered_map>

namespace broadloom::jit {

class SubKernels {
public:
  // Those of `kernel`, of which the setup is there already.
  explicit SubKernels(const KernelImpl &kernel);

  const Lets &lets() const { return lets_; }
  // What computes the values of sums through gathers; null where there are none.
  const KernelImpl *before() const { return before_.get(); }
  // What computes parts of this kind: the kernel, or one that is made when first asked for.
  const KernelImpl &of_part(const kernel::PartId &id) const;
  // The folds along an axis, block by block. Throws what split_folds does.
  std::shared_ptr<const FoldBlocks> fold_blocks(const std::string &axis) const;

  // What calls have run.
  std::vector<const KernelImpl *> all() const;

private:
  std::shared_ptr<const KernelImpl> make(const LoopSpec &spec, spec::TypedSpec typed,
                                         const Options &options) const;

  const KernelImpl &kernel_;
  const Lets lets_;
  const std::shared_ptr<const KernelImpl> before_;
  struct Parts { // null until they are needed
    std::shared_ptr<const KernelImpl> border, interior;
  };
  mutable support::Mutex mutex_;     // guards all below
  mutable std::vector<Parts> parts_; // [group]
  mutable std::unordered_map<std::string, std::shared_ptr<const FoldBlocks>> fold_blocks_;
};

} // namespace broadloom::jit
