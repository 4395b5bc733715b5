// Inside the stage that moves scales: a factor of one kernel in the words of another.
//
//   let h[n, i, k] = .. * s            s : f32[k]
//   .. h[n, i + u, c] ..               the same factor there: s[c]
#pragma once

#include "scale/values.hpp"

#include <optional>
#include <set>
#include <string>

namespace broadloom::scale {

// One let as one place reads it, or as its own kernel computes it: the label of the axis along each
// of its dims; empty where a dim is read at other positions than those of an axis, or has a border
// there.
using Labels = std::vector<std::string>;
Labels labels_of_read(const InputDecl &read);
Labels labels_of_output(const spec::TypedSpec &let);

// What stands between a factor and the array that is read with borders; empty where nothing does.
// `positive`: so is the factor.
std::string border_in_the_way(const InputDecl &read, bool positive);

struct Carried {
  Expr factor;
  std::string key; // equal for equal factors
  std::set<std::string> parameters;
};
// `axes`: the labels of the axes of the factor, which it has `from` and is to have as `to`.
// `taken`: the labels that the other kernel has. None where a label is no dim's, or would mean
// another axis there.
std::optional<Carried> carry(const Expr &factor, const std::set<std::string> &axes,
                             const Labels &from, const Labels &to,
                             const std::set<std::string> &taken);

} // namespace broadloom::scale
