// What is known of all elements of a value that is made of parameters and numbers: which signs they
// may have, and whether they are finite.
//
//   param var : f32[c] >= 0
//   sqrt(var + 1e-5)          var is 0 or above, 1e-5 above: the sum and its root are above 0 and
//                             finite, and so is 1 / sqrt(..)
//
// What is said holds in exact numbers: that exp(x) is above 0 and finite is true of the reals, and
// of floats as long as nothing leaves their range. A parameter counts as finite unless its values
// are known (fold.hpp).
#pragma once

#include "expr/node.hpp"

#include <map>
#include <span>
#include <string>

namespace broadloom::scale {

struct Known {
  bool negative = true, zero = true, positive = true; // may an element be so?
  bool finite = false;                                // is each for sure?

  bool above_zero() const { return finite && !negative && !zero; }
  bool below_zero() const { return finite && !positive && !zero; }
  bool not_zero() const { return finite && !zero; }
  bool not_negative() const { return !negative; } // 0 or above
  // Whether all that this says is true of what `other` is said of.
  bool holds_of(const Known &other) const {
    return (negative || !other.negative) && (zero || !other.zero) &&
           (positive || !other.positive) && (!finite || other.finite);
  }

  static Known of(double number);
  static Known of(Sign sign); // declared of a parameter
};

using KnownParameters = std::map<std::string, Known>; // by name

// Of a number as written, and of what is one or the other.
Known to_count(const Known &a); // to the power of a number from 0 on
Known known_of(const Number &number);
Known either(const Known &a, const Known &b);

// Of an operation, a cast or a reduction of such values; nothing where no rule is known. `square`:
// of a product of a value by itself.
Known known_of(const ExprNode &node, std::span<const Known> args, bool square = false);

} // namespace broadloom::scale
