// Lets that list their dims in any order: arrays over the labels of inputs, other names of them,
// joins of them, and loops that begin from them, read by name and at positions.
//
//   in l0 : f64[lb]; in l1 : f64[la]
//   let m0[la, lb] = l0 * l1
//   let m1[t1 < 2, la, lb] = m1[t1 - 1, la, lb]^2 + l0 from m0
//   m1[-1, la, lb] * m0
#pragma once

#include "random.hpp"
#include "random_spec.hpp"

#include <string>
#include <vector>

namespace broadloom::differential {

struct RandomListed {
  std::vector<std::string> lines;
  std::vector<RandomInput> inputs;
  std::vector<std::string> axes;   // labels, in any order, of the values
  std::vector<std::string> values; // each with all of them
  std::string sum_like;            // one that goes back to an array; empty: none
};

// Of f64. Exact: sums, halves and differences alone.
RandomListed random_listed(Random &random, bool exact);

} // namespace broadloom::differential
