// Folds of a kernel along one axis over one block of the data. Arrays may be too large for one
// call, or lie on several machines. The results have the very bits of one call with all of the
// data.
//
//   bl::Kernel k = bl::compile(bl::parse("kernel k { in x : f32[i, j]; out s = sum(x, j) }"));
//   const std::int64_t unit = k.unit("j", {{"x", a}});    // blocks begin at multiples of it: 4096
//   bl::Partial first = k.partial("j", 0, {{"x", a}});
//   bl::Partial second = k.partial("j", a.shape()[1], {{"x", b}});
//   bl::Results r = k.combine({first, second}, {});       // the bits of k on a and b side by side
//
// Folds of what others along the axis came to (`mean((x - mean(x, j))^2, j)`) take several rounds,
// Kernel::rounds. Blocks of a later one are given what `join` made of all blocks of the one before.
//
//   const Partial means = k.join(std::vector{first, second});
//   first = k.partial(means, 0, {{"x", a}}), second = k.partial(means, a.shape()[1], {{"x", b}});
//
// Scans along the axis (`scan(sum, x, j)`) take a round, too, in which blocks say what each of
// their leaves has come to. `combine` then gives the part of the outputs that belongs to a block,
// from what comes before it. The call says where the block begins.
//
//   bl::Kernel c = bl::compile(bl::parse(
//       "kernel c { in x : f32[i, j]; out s = scan(sum, x, j) }"));
//   const Partial all = c.join(std::vector{c.partial("j", 0, {{"x", a}}),
//                                          c.partial("j", 4096, {{"x", b}})});
//   Results of_b = c.combine({all}, 4096, {{"x", b}});
//
// A fold joins leaves pairwise (docs/design.md, "One tree per fold"). A block that begins and ends
// where leaves do is a few whole subtrees, a *piece* each; `combine` joins them as the whole fold
// would.
#pragma once

#include <broadloom/array.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace broadloom {

// A plain value: it may be stored, or sent to another process that has the same kernel.
struct Partial {
  struct Piece {
    std::int64_t extent = 0;               // positions along the axis
    std::vector<Array> states;             // of all folds
    std::vector<std::int64_t> leaves = {}; // of scans: positions of each
    std::vector<Array> scans =
        {}; // of all scans, [leaf, ..]: what it has come to; in `before`, what comes before it
  };
  std::string axis;
  std::int64_t offset = 0, extent = 0; // of the block, along the axis
  std::int64_t unit = 1;
  std::vector<Piece> pieces; // one behind the other, at most 2 log2(extent / unit) + 1
  std::vector<Piece> before; // of the rounds before: each of all of the data
};

} // namespace broadloom
