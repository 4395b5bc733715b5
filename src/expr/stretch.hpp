// A dim that may be 1 where others with its label are not: `i?`.
#pragma once

#include <broadloom/expr.hpp>

namespace broadloom::expr {

// The extent of such a dim as it is declared. It has a label.
inline constexpr std::int64_t may_be_one = -2;

inline bool may_be_one_of_more(const Dim &dim) { return dim.extent == may_be_one; }

// `j=1`, `j?`, or a dim without a label that is declared to be 1: it is or may be repeated.
inline bool is_one_of_more(const Dim &dim) { return dim.extent == 1 || may_be_one_of_more(dim); }

} // namespace broadloom::expr
