// Blocks of the outputs of a kernel whose reads move along the axes that are cut. Each is computed
// from the part of the inputs that it reads, its halo with it. Its bits are those that a call with
// all of the data gives it.
//
//   bl::BlockKernel k(bl::parse("kernel k { in x : f32[:]; out d = x[i + 1] - x[i] }"));
//   const std::vector<bl::Layout> whole{bl::contiguous_layout({1000})};
//   k.extents(whole)                                      // i: 999
//   k.reads(whole, {{"i", 100, 200}})                     // of x, along its dim: 100 to 201
//   k.run(whole, {{"i", 100, 200}}, {{slice, {100}}})     // d[100:200] of x[100:201]
//
// Axes that may be cut are those that all outputs have and that nothing folds or scans. Borders of
// `pad` stand at the ends of the whole only, and `iota` and `extent` count its positions. Folds
// along other axes have the trees of the whole, where a block has more than one position of each
// axis that is cut.
#pragma once

#include <broadloom/kernel.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom {

class BlockKernel {
public:
  // Throws what `compile` throws. Throws SpecError E0060 for a kernel that has lets that are arrays
  // (see `Stages`), adds at positions, or runs in the reference. A kernel that sums at positions
  // that an input says has `dims` and `adds_up` only: all else throws E0060.
  explicit BlockKernel(const LoopSpec &spec, const Options &options = {});

  // By how many positions a read moves along a dim of an input, from one position of the axis to
  // the next.
  struct Walk {
    std::string axis;
    std::int64_t times = 1;
  };
  struct Dim {
    std::vector<Walk> walks;
    bool looked_up = false;  // at positions that an input says
    bool is_plain = true;    // every read has an axis alone at its position
    bool is_counted = false; // its extent stands in a position, or is that of an axis
  };
  std::vector<std::vector<Dim>> dims() const; // [input][dim]
  // Why the axis may not be cut; empty: it may. Throws ShapeError E0104 for an axis that there is
  // not.
  std::string why_not(std::string_view axis) const;
  // Whether blocks of the inputs along the axis, each by a call of its own, give outputs that add
  // up to those of one call. Sums of integers at positions that an input says do
  // (`sum(1, like=bins[k[i]])`), as any order gives the same bits.
  bool adds_up(std::string_view axis) const;
  bool folds() const; // or scans

  // How long the axes are, and by what name, where the inputs lie so; of axes that outputs have.
  struct Extent {
    std::string axis;
    std::int64_t extent = 0;
  };
  std::vector<Extent> extents(std::span<const Layout> inputs) const;

  // Positions of an axis.
  struct Interval {
    std::string axis;
    std::int64_t begin = 0, end = 0;
  };
  // Positions of a dim.
  struct Reach {
    std::int64_t begin = 0, end = 0;
  };
  // The positions of each input that the outputs read there, along each of its dims; none where its
  // elements are not read.
  std::vector<std::vector<Reach>> reads(std::span<const Layout> inputs,
                                        std::span<const Interval> where) const;

  // A part of an input, and where it begins.
  struct Slice {
    AnyView view;
    std::vector<std::int64_t> begin; // [dim]
  };
  // The outputs there, in C order. `inputs` say how all of the data would lie, by which folds go;
  // slices must have what `reads` says. Throws ShapeError E0102 for one that has not, and what a
  // call throws.
  Results run(std::span<const Layout> inputs, std::span<const Interval> where,
              std::span<const Slice> slices) const;

private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

// A kernel as several, one after the other. Each let that is an array has one, whose output is that
// let; the one that reads them comes last. Each has the inputs of the kernel, and behind them the
// lets that it reads, by their names.
class Stages {
public:
  // Throws what `compile` throws, and SpecError E0060 where a let is a loop over time.
  explicit Stages(const LoopSpec &spec, const Options &options = {});
  const std::vector<LoopSpec> &kernels() const { return kernels_; }
  // How each let lies where the inputs lie so, as folds go by that.
  std::vector<Layout> lets(std::span<const Layout> inputs) const;
  // A part of a let that puts lets before it side by side. Along each dim of the let, the index
  // `own` of the part lies at `first` and so many `times` it. Without such a dim (-1) all of the
  // part does. The kernel in its place is that of its first part, and computes no let.
  struct PartDim {
    std::int64_t first = 0, times = 1;
    int own = -1;
  };
  struct Part {
    std::string let;
    std::vector<PartDim> dims;
  };
  std::vector<std::vector<Part>> parts(std::span<const Layout> inputs) const; // [let]

private:
  struct Impl;
  std::vector<LoopSpec> kernels_;
  std::shared_ptr<const Impl> impl_;
};

// A kernel that goes block by block as it is, its loops over time with it. A block is a call with a
// part of the inputs that is longer than the block; the ends of its outputs are cut off.
//
//   kernel k { in u0 : f64[:]; let u[t < 9, i] = .. pad(u, 1: (1, 1))[t - 1, i] .. from u0;
//              out y[i] = u[-1, i] }
//
// The end of a part goes wrong by one more position with each step. So y[100:200] is in the middle
// of a call with u0[91:209].
class Halos {
public:
  explicit Halos(const LoopSpec &spec, const Options &options = {});
  struct Halo {
    int dim = -1; // of the input, along which it is cut; -1: it is given whole
    std::int64_t before = 0, after = 0;
    bool is_read = true;
  };
  // [input]. Throws ShapeError E0104 for an axis that there is not. Throws SpecError E0060 for one
  // along which the kernel does not go so, as positions are counted or all of an array is read.
  std::vector<Halo> along(std::string_view axis, std::span<const Layout> inputs) const;
  // Throws SpecError E0060 where a fold in a call with such parts has another tree than in one with
  // all.
  void check(std::span<const Layout> inputs, std::span<const Layout> parts) const;

private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

} // namespace broadloom
