// The accumulators that the language defines in itself, as text, parsed when they are first asked for.
//
// All states are shifted, scaled or compared so that neither the order of blocks nor a large offset of the
// data matters more than rounding does. `correction` is the option of that name.
#include "spec/definition.hpp"
#include "support/check.hpp"
#include "text/parser.hpp"

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

} // namespace
} // namespace broadloom::text

namespace broadloom {

const AccumulatorDef &spec::prelude(Fold fold) {
  static const std::map<std::string, AccumulatorDef> definitions = text::parse_prelude();
  const auto it = definitions.find(std::string(ops::info(fold).name));
  support::check(it != definitions.end(), "the prelude lacks this accumulator");
  return it->second;
}

} // namespace broadloom
