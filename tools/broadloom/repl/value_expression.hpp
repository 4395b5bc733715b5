// Expressions at the prompt, which the language does not have as such: they read values by name,
// outputs by `k.z`, and sources and views where an operand stands.
//
//   rand(2, 2) + k.z          source_1 + k_z
//   [1, 2] * x[1:3]           source_1 * source_2
//   sum(x.T) + x[0]           sum(source_1) + x[0]       positions are the language's own
#pragma once

#include "tools/broadloom/data/source.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace broadloom::cli {

struct ValueExpression {
  std::string text; // in the language
  // What it reads, by the names that they have there: values that are there, and sources that are
  // to be read.
  std::map<std::string, const Value *> values;
  std::map<std::string, Source> sources;

  // What was typed: its words by those names, and from which to which byte of it each byte of
  // `text` comes.
  std::map<std::string, std::string> written;
  std::vector<std::pair<std::size_t, std::size_t>> typed;

  // The bytes of what was typed that some bytes of `text` stand for.
  std::pair<std::size_t, std::size_t> typed_at(std::size_t offset, std::size_t length) const;
  // A message with the words that were typed: 'source_1' is '[1, 2]'.
  std::string in_typed_words(std::string message) const;
};

// Nothing is read or made. Throws UsageError E0403 for a source that is none.
ValueExpression parse_value_expression(const std::string &text, const Values &values);

} // namespace broadloom::cli
