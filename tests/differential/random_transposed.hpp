// Sums that go back through windows, as gradients of convolutions and pools are: steps and
// dilations from -3 to 3, borders, channels.
//
//   in rx : f32[:, c]; in rd : f32[a0, o]; in rk : f32[b0, c, o]
//   sum(rd * rk, like=pad(rx, 0: (1, 2), edge)[2*a0 + b0 + 1, c])
#pragma once

#include "random.hpp"
#include "random_spec.hpp"

#include <string>
#include <vector>

namespace broadloom::differential {

struct RandomTransposed {
  std::vector<std::string> lines;
  std::vector<RandomInput> inputs;
  std::string value;
};

RandomTransposed random_transposed(Random &random, DType dtype, bool large);

} // namespace broadloom::differential
