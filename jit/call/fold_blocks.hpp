// The folds of a kernel along one axis, block by block: include/broadloom/partial.hpp, by the three
// kernels of rewrite/split_folds.hpp.
#pragma once

#include "rewrite/split_folds.hpp"

#include <broadloom/kernel.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace broadloom::jit {

using detail::KernelImpl;

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
  // `offset`, or nowhere: of the block whose inputs are given, where outputs have the axis.
  static constexpr std::int64_t nowhere = -1;
  Results combine(std::span<const Partial> blocks, std::int64_t offset,
                  std::span<const NamedView> inputs) const;

private:
  using Pieces = std::vector<Partial::Piece>;
  struct Round { // null where there is nothing of its kind
    std::shared_ptr<const KernelImpl> block, join, leaf, before;
    const KernelImpl &any() const { return block ? *block : *leaf; }
  };
  struct Cut { // where the data may be cut
    std::int64_t unit = 1;
    std::vector<std::vector<bool>> has_ways;  // [round][fold]
    std::vector<std::vector<bool>> in_groups; // [round][scan]
    bool one_differs = false;                 // one position alone is folded in another order
    bool one_differs_in_rest = false;
  };
  Cut cut_of(std::span<const AnyView> inputs) const;
  std::int64_t extent_of(std::span<const AnyView> inputs) const;
  bool is_cut(std::span<const AnyView> inputs, std::size_t input, std::int64_t extent) const;
  Partial fold(Pieces before, std::int64_t offset, std::span<const AnyView> inputs) const;
  // Positions of a block, and of these in all of the data.
  struct Range {
    std::int64_t begin = 0, end = 0, offset = 0;
    std::int64_t extent() const { return end - begin; }
  };
  Partial::Piece run_block(const Cut &cut, const Pieces &before, std::span<const AnyView> inputs,
                           std::int64_t extent, const Range &range) const;

  // The operands of a kernel that is made for a part of the data: a range of the inputs, where it
  // begins, what is known before it. `keep` is of arrays that are made for this.
  std::vector<AnyView> views_of(const Cut &cut, const Pieces &before,
                                std::span<const AnyView> inputs, std::int64_t extent,
                                const Range &range, bool takes_offset,
                                std::vector<Array> &keep) const;

  // fold_blocks_scans.cpp
  void run_leaves(const Cut &cut, const Pieces &before, std::span<const AnyView> inputs,
                  std::int64_t extent, const Range &range, Partial::Piece &piece) const;
  void add_known(const Cut &cut, std::size_t round, const Partial::Piece &known, const Range &range,
                 std::vector<AnyView> &views, std::vector<Array> &keep) const;
  using Arrays = std::vector<Array>;
  Arrays identities(std::size_t round, const Arrays &scans) const;
  Arrays run_before(std::size_t round, const Arrays &starts, const Arrays &scans) const;
  Arrays joined_once(std::size_t round, const Arrays &starts, const Arrays &totals) const;
  const ops::Recipe &recipe_of(std::size_t round, const rewrite::ScanOfRound &scan) const;
  bool has_exact_joins(std::size_t round, const rewrite::ScanOfRound &scan) const;

  // fold_blocks_join.cpp
  Partial::Piece joined(std::size_t round, const Partial::Piece &a, const Partial::Piece &b) const;
  Partial::Piece finished(const Partial &all) const;
  std::vector<AnyView> inputs_of_rest(std::span<const NamedView> inputs) const;
  void join_idle_ways(std::size_t round, Partial::Piece &piece,
                      const std::vector<bool> &has_ways) const;
  void check(const Partial &block) const;

  void check_extents(std::int64_t extent) const;

  const std::string name_, axis_;
  const std::vector<spec::TypedInput> inputs_; // of the kernel
  const rewrite::FoldSplit split_;
  const spec::TypedSpec whole_; // of any extent along the axis
  std::vector<Round> rounds_;
  const std::shared_ptr<const KernelImpl> rest_;
  bool all_exact_ = true;
};

// Those of a kernel, made when first asked for. Throws what split_folds does.
std::shared_ptr<const FoldBlocks> fold_blocks(const KernelImpl &kernel, const std::string &axis);

// An array of one value.
Array filled(DType dtype, std::span<const std::int64_t> shape, const ops::Scalar &value);
// One behind the other along the first dim.
Array stacked(const Array &a, const Array &b);
// The part at a position of the first dim.
Array slice(const Array &array, std::int64_t position);

} // namespace broadloom::jit
