// Inside the gradient stage: which forward values to save in so many bytes, and which to compute
// again for the backward pass.
//
//   h = exp(x)      8 MB, 50 operations each       saved, where 8 MB are allowed
//   g = h + x       8 MB, 1 operation each         computed again from h
//
// What is saved costs its bytes, what is computed again its operations and those of what it needs
// that is not saved. For a price of a byte the cheapest choice is a minimum cut; the lowest price
// whose choice fits is looked for by halving. No other choice of as few bytes has fewer operations.
// What is left of the bytes goes to what saves most operations for each of them.
#pragma once

#include <cstdint>
#include <vector>

namespace broadloom::grad {

struct ForwardWork { // what is computed at once: a value, or the lets of a loop
  double operations = 0;
  std::vector<std::size_t> needs = {}; // values that it reads
};
struct ForwardValue {
  std::int64_t bytes = 0;
  std::size_t made_by = 0; // work
  bool wanted = false;     // by the backward pass
  bool may_be_saved = true;
  bool must_be_saved = false; // where it is wanted
};

// [value]. Those that must be saved are, also where they take more.
std::vector<bool> saved_within(const std::vector<ForwardValue> &values,
                               const std::vector<ForwardWork> &work, std::int64_t bytes);

// What is computed again where these are saved: in operations.
double computed_again(const std::vector<ForwardValue> &values, const std::vector<ForwardWork> &work,
                      const std::vector<bool> &saved);

} // namespace broadloom::grad
