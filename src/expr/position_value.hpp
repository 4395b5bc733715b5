// Positions that a value says: it becomes a let, an array that is computed first.
//
//   x[(k[i] + 1) % 7]        let x_at[i] = (k[i] + 1) % 7
//                            x[x_at[i]]
#pragma once

#include "expr/pad.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace broadloom {

// The axes of a value by name, in the order in which they are first read; none where one has no
// name, or where only the analysis can tell.
std::optional<std::vector<std::string>> named_axes(const Expr &value);

// The same, where an axis that no array of the value has, u of (k[i] + u) % 3, is as long as that
// of the input which `lender` names.
Expr with_lengths(
    const Expr &value,
    const std::function<std::optional<std::string>(const std::string &label)> &lender);

// A name for such a let where nothing else has given one, the same for the same value: at_3f2a..
std::string name_of_value(const Expr &value);

// The element of the let that says a position: of a let itself, or of `let name[i, j] = value`,
// which is made. Throws SpecError E0026 where an axis has no name.
Expr element_of_value(const std::string &name, const Expr &value, const PlaceOf &shown);

} // namespace broadloom
