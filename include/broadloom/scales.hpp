// Do factors of parameters move to other parameters, so that they cost nothing in a call once these
// are frozen? See LoopSpec::scales, or `set scales = fold` in a text.
//
//   keep   they stay where they are written
//   fold   sum(x * w, k) * s becomes sum(x * (w * s), k), also through bias, relu and pooling; last
//          bits may differ
//
// A kernel that does not say folds them where it is relaxed (LoopSpec::relaxed).
// docs/ideas/scales.md has what may move, and when.
#pragma once

#include <cstdint>

namespace broadloom {

enum class Scales : std::uint8_t { keep, fold };

} // namespace broadloom
