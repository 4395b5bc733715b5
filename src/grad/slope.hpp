// Inside the gradient check: how steep a function of one number is at 0, measured.
//
// Central differences at seven steps h, each a quarter of the one before, are taken to h = 0 by
// Richardson's extrapolation; the entry of the table that differs least from its neighbours is the
// slope, and by how much it differs bounds its error (Ridders 1982). A corner at 0 would pass: the
// central difference of |t| is 0 for every h. So half of the gap between the slopes to the right
// and to the left, also taken to h = 0, counts as error too.
#pragma once

#include <functional>
#include <vector>

namespace broadloom::grad {

struct Measured {
  double slope = 0;
  double error = 0;   // a bound as far as one can be measured; inf where nothing is finite
  bool smooth = true; // the error is small beside the slope and the value
};

// f(t) has as many elements for every t; each is measured on its own, by 15 evaluations in all.
std::vector<Measured> measure(const std::function<std::vector<double>(double)> &f);

} // namespace broadloom::grad
