// Expressions at the prompt, which the language does not have as such: they read values by name, outputs by `k.z`, and sources and
// views where an operand stands.
//
//   rand(2, 2) + k.z          source_1 + k_z
//   [1, 2] * x[1:3]           source_1 * source_2
//   sum(x.T) + x[0]           sum(source_1) + x[0]       positions are the language's own
#pragma once

#include "tools/broadloom/data/source.hpp"

#include <map>
#include <string>

namespace broadloom::cli {

struct ValueExpression {
  std::string text; // in the language
  // What it reads, by the names that they have there: values that are there, and sources that are to be read.
  std::map<std::string, const Value *> values;
  std::map<std::string, Source> sources;
};

// Nothing is read or made. Throws UsageError E0403 for a source that is none.
ValueExpression parse_value_expression(const std::string &text, const Values &values);

} // namespace broadloom::cli
