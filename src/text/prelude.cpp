// The accumulators that the language defines in itself, as text, parsed when they are first asked
// for.
//
// All states are shifted, scaled or compared so that neither the order of blocks nor a large offset
// of the data matters more than rounding does. `correction` is the option of that name.
#include "expr/function.hpp"
#include "spec/definition.hpp"
#include "support/check.hpp"
#include "text/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace broadloom::text {

namespace {

constexpr std::string_view text = R"(
# The sum of squared deviations. A block shifts its data by the first value k that it sees and sums
# d = x - k in s and d^2 in q over n steps: no division in a step, and what cancels in q - s*s/n is bounded
# by the length of the block. Blocks are merged by the formula of Chan, Golub and LeVeque (1983, "Algorithms
# for computing the sample variance"), with the difference of the means as that of the shifts, which is
# nearly exact, plus that of the means of d. After a merge q is centred already, which m = 0 says; in a raw
# block m = n.
accumulator var(n, m, k, s, q; x) {
  init n = 0., m = 0., k = 0., s = 0., q = 0.
  step n = n + 1,
       m = m + 1,
       k = n == 0 ? x : k,
       s = s + (x - (n == 0 ? x : k)),
       q = q + (x - (n == 0 ? x : k)) ^ 2
  combine n = n + n_other,
          m = n == 0 ? m_other : n_other == 0 ? m : 0,
          k = n == 0 ? k_other : k,
          s = n == 0 ? s_other : n_other == 0 ? s : s + (s_other + n_other * (k_other - k)),
          q = n == 0 ? q_other : n_other == 0 ? q :
              (m > 0 ? q - s * s / m : q) + (m_other > 0 ? q_other - s_other * s_other / m_other : q_other) +
              ((k_other - k) + (s_other / n_other - s / n)) ^ 2 * (n * n_other / (n + n_other))
  result maximum(m > 0 ? q - s * s / m : q, 0) / maximum(n - correction, 0)
}

# m is the greatest value so far, s the sum of exp(x - m): one exp for each step.
accumulator logsumexp(m, s; x) {
  init m = -inf, s = 0.
  step m = maximum(m, x),
       s = x > m ? s * exp(-abs(x - m)) + 1 : s + (x == m ? 1 : exp(-abs(x - m)))
  combine m = maximum(m, m_other),
          s = s * (m == maximum(m, m_other) ? 1 : exp(m - maximum(m, m_other))) +
              s_other * (m_other == maximum(m, m_other) ? 1 : exp(m_other - maximum(m, m_other)))
  result m + log(s)
}

# The first NaN wins, else the first of the least values. i < 0: nothing yet. Ties go by the index, so
# that any order gives the same.
accumulator argmin(v, i; x, at) {
  init v = 0, i = -1
  step v = i < 0 || x < v || x != x && v == v || (x == v || x != x && v != v) && at < i ? x : v,
       i = i < 0 || x < v || x != x && v == v || (x == v || x != x && v != v) && at < i ? at : i
  combine v = i_other >= 0 && (i < 0 || v_other < v || v_other != v_other && v == v
              || (v_other == v || v_other != v_other && v != v) && i_other < i) ? v_other : v,
          i = i_other >= 0 && (i < 0 || v_other < v || v_other != v_other && v == v
              || (v_other == v || v_other != v_other && v != v) && i_other < i) ? i_other : i
  result i
}

accumulator argmax(v, i; x, at) {
  init v = 0, i = -1
  step v = i < 0 || x > v || x != x && v == v || (x == v || x != x && v != v) && at < i ? x : v,
       i = i < 0 || x > v || x != x && v == v || (x == v || x != x && v != v) && at < i ? at : i
  combine v = i_other >= 0 && (i < 0 || v_other > v || v_other != v_other && v == v
              || (v_other == v || v_other != v_other && v != v) && i_other < i) ? v_other : v,
          i = i_other >= 0 && (i < 0 || v_other > v || v_other != v_other && v == v
              || (v_other == v || v_other != v_other && v != v) && i_other < i) ? i_other : i
  result i
}
)";

std::map<std::string, AccumulatorDef> parse_prelude() {
  const Source source = lex(text, "<prelude>");
  Cursor cursor(source);
  std::map<std::string, AccumulatorDef> definitions;
  Definitions none;
  while (true) {
    while (cursor.accept(Tok::Break)) {
    }
    if (cursor.is(Tok::End)) return definitions;
    AccumulatorDef definition = parse_accumulator(cursor, none);
    definitions.emplace(definition.name, std::move(definition));
  }
}

// Philox 4x32-10 of Salmon, Moraes, Dror and Shaw (2011, "Parallel random numbers: as easy as 1, 2,
// 3"): ten rounds over four words a, b, c, d of a counter, with a key k, l that grows from round to
// round. A word is held in u64, and is less than 2^32. Each of the functions below is what a number
// is made of, in terms of the four words of the last round.
constexpr std::string_view round = R"(
def p_a(a, b, c, d, k, l) = xor(xor((3449720151 * c) >> 32, b), k)
def p_b(a, b, c, d, k, l) = (3449720151 * c) & 4294967295
def p_c(a, b, c, d, k, l) = xor(xor((3528531795 * a) >> 32, d), l)
def p_d(a, b, c, d, k, l) = (3528531795 * a) & 4294967295
def u53(a, b) = (f64(i32(a >> 5)) * 67108864 + f64(i32(b >> 6))) / 9007199254740992
)";
struct PreludeFunction {
  std::string_view name, value; // of the words A, B, C and D
};
constexpr std::array of_words{
    PreludeFunction{"random_bits", "u32(A)"},
    PreludeFunction{"random", "u53(A, B)"},
    // Box and Muller (1958), of 1 - u, as u may be 0.
    PreludeFunction{"normal", "sqrt(-2 * log(1 - u53(A, B))) * cos(6.283185307179586 * u53(C, D))"},
};

std::string replaced(std::string_view value) {
  std::string made;
  for (const char c : value)
    made += c >= 'A' && c <= 'D' ? fmt::format("p_{}(a, b, c, d, k, l)", char(c - 'A' + 'a'))
                                 : std::string(1, c);
  return made;
}

std::string text_of_functions() {
  std::string made(round);
  for (const auto &[name, value] : of_words) {
    made += fmt::format("def {}_10(a, b, c, d, k, l) = {}\n", name, replaced(value));
    for (int n = 9; n >= 1; --n)
      made += fmt::format("def {0}_{1}(a, b, c, d, k, l) = {0}_{2}(p_a(a, b, c, d, k, l), "
                          "p_b(a, b, c, d, k, l), p_c(a, b, c, d, k, l), p_d(a, b, c, d, k, l), "
                          "(k + 2654435769) & 4294967295, (l + 3144134277) & 4294967295)\n",
                          name, n, n + 1);
    made +=
        fmt::format("def {0}_0(seed, counter) = {0}_1(u64(counter & counter) & 4294967295, "
                    "u64(counter & counter) >> 32, u64(0), u64(0), u64(seed & seed) & 4294967295, "
                    "u64(seed & seed) >> 32)\n  derivative seed = 0\n  derivative counter = 0\n",
                    name);
  }
  return made;
}

using Functions = std::map<std::string, std::shared_ptr<const FunctionDecl>, std::less<>>;

Functions parse_functions() {
  static const std::string text = text_of_functions();
  static const Source source = lex(text, "<prelude>");
  Cursor cursor(source);
  Definitions parsed;
  while (true) {
    while (cursor.accept(Tok::Break)) {
    }
    if (cursor.is(Tok::End)) break;
    parse_function(cursor, parsed);
  }
  Functions functions;
  for (const auto &[name, value] : of_words) {
    auto made = std::make_shared<FunctionDecl>(*parsed.functions.at(std::string(name) + "_0"));
    made->name = name;
    functions.emplace(name, std::move(made));
  }
  return functions;
}

const Functions &functions() {
  static const Functions known = parse_functions();
  return known;
}

} // namespace
} // namespace broadloom::text

namespace broadloom {

std::span<const std::string_view> spec::prelude_functions() {
  static constexpr std::array names{text::of_words[0].name, text::of_words[1].name,
                                    text::of_words[2].name};
  return names;
}

std::shared_ptr<const FunctionDecl> spec::prelude_function(std::string_view name) {
  if (!std::ranges::count(prelude_functions(), name)) return nullptr;
  return text::functions().find(name)->second;
}

// A copy without its derivatives is one, too.
bool spec::is_prelude(const FunctionDecl &function) {
  const auto known = prelude_function(function.name);
  return known && known->body.node() == function.body.node();
}

static Expr call(std::string_view name, const Operand &seed, const Operand &counter) {
  return make_call(spec::prelude_function(name), {seed.expr(), counter.expr()},
                   place_of(seed.where()));
}
Expr random_bits(const Operand &seed, const Operand &counter) {
  return call("random_bits", seed, counter);
}
Expr random(const Operand &seed, const Operand &counter) { return call("random", seed, counter); }
Expr normal(const Operand &seed, const Operand &counter) { return call("normal", seed, counter); }

const AccumulatorDef &spec::prelude(Fold fold) {
  static const std::map<std::string, AccumulatorDef> definitions = text::parse_prelude();
  const auto it = definitions.find(std::string(ops::info(fold).name));
  support::check(it != definitions.end(), "the prelude lacks this accumulator");
  return it->second;
}

} // namespace broadloom
