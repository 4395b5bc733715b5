// The words of the text form that mean something, in one place for lexer, parser and analysis.
#pragma once

#include <broadloom/expr.hpp>

#include <span>
#include <string>
#include <string_view>

namespace broadloom::spec {

// Statement, mode and dtype words, true and false: never a name.
bool is_reserved(std::string_view word);
std::span<const std::string_view> reserved_words(); // without the dtypes

// What is wrong with a name: E0005 for a reserved word, E0001 for what is no identifier. `what` as
// in "an input".
struct NameCheck {
  std::string code, message, help; // code empty: the name is fine
};
NameCheck check_name(std::string_view name, std::string_view what);
// The same for the name of a callable: E0004 for a built-in one.
NameCheck check_callable_name(std::string_view name, std::string_view what);

// The word that declares an input: "in", "param", "state". All but `in` are ordinary names
// elsewhere, as is `update`.
std::string_view word_of(InputRole role);

// Is `name` that of a function or an accumulator of the language?
bool is_built_in(std::string_view name);

} // namespace broadloom::spec
