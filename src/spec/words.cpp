// See words.hpp.
#include "spec/words.hpp"

#include "ops/ops.hpp"
#include "support/text.hpp"

#include <broadloom/dtype.hpp>

#include <algorithm>

#include <array>

namespace broadloom::spec {

namespace {

using namespace std::string_view_literals;

constexpr std::array reserved{
    "kernel"sv,     "accumulator"sv, "def"sv,  "order"sv, "stretch"sv, "set"sv,
    "fuse"sv,       "separate"sv,    "in"sv,   "let"sv,   "out"sv,     "broadcast"sv,
    "accumulate"sv, "reduce"sv,      "true"sv, "false"sv,
};

template <class Words> bool holds(const Words &words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

} // namespace

bool is_reserved(std::string_view word) {
  return holds(reserved, word) || dtype_from_name(word).has_value();
}

std::span<const std::string_view> reserved_words() { return reserved; }

NameCheck check_name(std::string_view name, std::string_view what) {
  std::string shown = "'" + std::string(name) + "'";
  if (!support::is_identifier(name))
    return {"E0001", shown + " cannot be the name of " + std::string(what),
            "a name is letters, digits and _, and begins with no digit"};
  const bool is_mode =
      what == "an output" && (name == "accumulate" || name == "reduce" || name == "broadcast");
  if (is_reserved(name))
    return {"E0005", shown + " is a reserved word and cannot be the name of " + std::string(what),
            is_mode ? "a mode stands behind '=': out y = " + std::string(name) +
                          (name == "broadcast" ? " x" : "(sum) x")
                    : "choose another name, such as '" + std::string(name) + "_'"};
  return {};
}

std::string_view word_of(InputRole role) {
  switch (role) {
  case InputRole::plain: return "in";
  case InputRole::parameter: return "param";
  case InputRole::state: return "state";
  }
  return "";
}

bool is_built_in(std::string_view name) {
  return ops::find_function(name) || ops::find_fold(name) || name == "iota" || name == "extent" ||
         name == "scan" || name == "pad" || name == "concat" || name == "stack" || name == "parts";
}

NameCheck check_callable_name(std::string_view name, std::string_view what) {
  NameCheck found = check_name(name, what);
  if (!found.code.empty() || !is_built_in(name)) return found;
  return {"E0004", "'" + std::string(name) + "' is built in and cannot be defined again",
          "choose another name"};
}

} // namespace broadloom::spec
