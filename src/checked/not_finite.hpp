// NaNs and infinities that a kernel has made: whether there is one, and which operation made it of
// arguments that are none.
//
//   y[3] = sqrt(x - 1) * 2 is nan; back from there: the product of nan and 2.0, sqrt of -1.0: that
//   made it
#pragma once

#include "reference/reference.hpp"
#include "spec/spec.hpp"

#include <broadloom/array.hpp>

#include <atomic>
#include <optional>
#include <span>
#include <string>

namespace broadloom::checked {

enum class Oddity : std::uint8_t { Nan, Infinity };
std::string_view name(Oddity oddity); // "nan", "infinity"

bool is_odd(const char *element, DType dtype,
            Oddity oddity); // or a part of it, of a complex number
// The first in C order that is, or -1. A view without memory has none.
std::int64_t first_odd(const AnyView &view, Oddity oddity);
// Whether a number of the kernel is.
bool has_odd_literal(const spec::TypedSpec &spec, Oddity oddity);

// What made an element of an output what it is.
struct Origin {
  std::string what; // "sqrt of -1.0 gives the first one, at i 3"
  Place where;
};
// Follows an element of the output back through the definition, as long as an argument is the same.
// Nothing where the definition has another value there. `inputs` and `step` as
// reference::evaluate_nodes has them; the elements of all values are held.
std::optional<Origin> origin_of(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
                                std::size_t output, std::int64_t element, Oddity oddity,
                                const std::atomic<bool> *cancel,
                                std::optional<reference::Pin> step = std::nullopt);

// How many elements all values of a kernel have together, for arrays that are given; at most 2^62.
std::int64_t points_of(const spec::TypedSpec &spec, std::span<const Layout> given);

} // namespace broadloom::checked
