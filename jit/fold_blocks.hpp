// The folds of a kernel along one axis, block by block: include/broadloom/partial.hpp, by the three kernels of rewrite/split_folds.hpp.
#pragma once

#include "rewrite/split_folds.hpp"

#include <broadloom/kernel.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace broadloom {
namespace detail {
class KernelImpl;
}
using detail::KernelImpl;
} // namespace broadloom

namespace broadloom::jit {

class FoldBlocks {
public:
  using Compile = std::function<std::shared_ptr<const KernelImpl>(spec::TypedSpec)>;
  FoldBlocks(const spec::TypedSpec &whole, const std::string &axis, const Compile &compile);

  // Inputs are all those of the kernel, in declared order.
  int rounds() const { return int(rounds_.size()); }
  std::int64_t unit(std::span<const AnyView> inputs) const;
  // Of the first round, and of the one after that whose blocks were joined to this.
  Partial partial(std::int64_t offset, std::span<const AnyView> inputs) const;
  Partial partial(const Partial &before, std::int64_t offset,
                  std::span<const AnyView> inputs) const;
  Partial join(std::span<const Partial> blocks) const;
  Results combine(std::span<const Partial> blocks, std::span<const NamedView> inputs) const;

private:
  using Pieces = std::vector<Partial::Piece>;
  struct Round {
    std::shared_ptr<const KernelImpl> block, join;
  };
  struct Cut; // where the data may be cut
  Cut cut_of(std::span<const AnyView> inputs) const;
  std::int64_t extent_of(std::span<const AnyView> inputs) const;
  bool is_cut(std::span<const AnyView> inputs, std::size_t input, std::int64_t extent) const;
  Partial fold(Pieces before, std::int64_t offset, std::span<const AnyView> inputs) const;
  Partial::Piece run_block(const Pieces &before, std::span<const AnyView> inputs,
                           std::int64_t extent, std::int64_t begin, std::int64_t end,
                           std::int64_t offset) const;
  Partial::Piece joined(std::size_t round, const Partial::Piece &a, const Partial::Piece &b) const;
  Partial::Piece finished(const Partial &all) const;
  void join_idle_ways(std::size_t round, Partial::Piece &piece,
                      const std::vector<bool> &has_ways) const;
  void check(const Partial &block) const;
  void check_extents(std::int64_t extent) const;

  const std::string name_, axis_;
  const std::vector<spec::TypedInput> inputs_; // of the kernel
  const spec::TypedSpec whole_;
  const spec::FoldSplit split_;
  std::vector<Round> rounds_;
  const std::shared_ptr<const KernelImpl> rest_;
  bool all_exact_ = true;
};

} // namespace broadloom::jit
