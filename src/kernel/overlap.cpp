// Two views share a byte if and only if a bounded linear equation has a solution.
//
// With all strides made positive (start from the lowest address and count reversed dims backwards),
// a byte of `a` lies at A + sum a_k i_k + u with 0 <= i_k < extent and 0 <= u < element size; so
// does one of `b`. Counting b's indices from their far end turns its minus signs into plus signs:
//
//   sum a_k i_k + u + sum b_k j_k + v = T       all variables between 0 and a bound of their own
//
// Variables of equal coefficient are merged. The search gives the largest coefficient its possible
// values and goes on with the rest: strides of ordinary views are nested (each is larger than all
// that the smaller ones can reach), which leaves one or two values at each step. The greatest
// common divisor of what is left cuts most of the other searches short.
//
// Example: the left and the right half of the rows of a 2 x 8 f32 array, u and v merged with
// nothing: 32 (i0 + j0) + 4 (i1 + j1) + (u + v) = 16 + 32 + 12 + 3 = 63 with i0 + j0 <= 2, i1 + j1
// <= 6 and u + v <= 6. 63 - 32 = 31 is more than 4 * 6 + 6 = 30 and 63 - 64 < 0: the halves do not
// meet.
#include "kernel/overlap.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace broadloom::kernel {
namespace {

using Wide = __int128;

struct Term {
  std::int64_t coefficient = 0; // positive
  Wide bound = 0;               // the variable is 0..bound
};

// Looks for solutions of sum coefficient * variable = target, up to `wanted` of them.
class Search {
public:
  Search(std::vector<Term> terms, int wanted) : wanted_(wanted) {
    std::sort(terms.begin(), terms.end(),
              [](const Term &a, const Term &b) { return a.coefficient > b.coefficient; });
    for (const Term &term : terms) {
      if (term.bound == 0) continue;
      if (!terms_.empty() && terms_.back().coefficient == term.coefficient)
        terms_.back().bound += term.bound;
      else
        terms_.push_back(term);
    }
    rest_.assign(terms_.size() + 1, {0, 0});
    for (std::size_t k = terms_.size(); k-- > 0;)
      rest_[k] = {rest_[k + 1].reach + terms_[k].coefficient * terms_[k].bound,
                  std::gcd(rest_[k + 1].divisor, terms_[k].coefficient)};
  }

  // Whether there are that many; true also where the search gives up. Depth: at most 34 terms.
  bool run(Wide target) {
    visit(0, target);
    return found_ >= wanted_ || steps_ >= most_steps;
  }

private:
  struct Rest { // of the terms from here on
    Wide reach = 0;
    std::int64_t divisor = 0;
  };
  static constexpr int most_steps = 100'000;

  void visit(std::size_t k, Wide target) {
    if (found_ >= wanted_ || ++steps_ >= most_steps) return;
    if (k == terms_.size()) {
      found_ += target == 0;
      return;
    }
    if (target % rest_[k].divisor != 0) return;
    const Term &term = terms_[k];
    const Wide short_of = target - rest_[k + 1].reach;
    const Wide least = short_of > 0 ? (short_of + term.coefficient - 1) / term.coefficient : 0;
    const Wide most = std::min(term.bound, target / term.coefficient);
    for (Wide value = least; value <= most; ++value) {
      visit(k + 1, target - value * term.coefficient);
      if (found_ >= wanted_ || steps_ >= most_steps) return;
    }
  }

  std::vector<Term> terms_;
  std::vector<Rest> rest_;
  int wanted_;
  int found_ = 0;
  int steps_ = 0;
};

} // namespace

Reach reach_of(const Layout &layout, DType dtype) {
  std::int64_t low = 0, high = 0;
  for (int d = 0; d < layout.rank; ++d) {
    if (layout.extents[d] == 0) return {};
    const std::int64_t length = (layout.extents[d] - 1) * layout.strides[d];
    (length < 0 ? low : high) += length;
  }
  const auto size = std::int64_t(size_of(dtype));
  return {low * size, (high + 1) * size};
}

bool overlaps_itself(const Layout &layout) {
  // The difference of two index vectors, shifted to be 0 or more. The middle of all bounds is the
  // solution "no difference"; an overlap is a second one. Equal coefficients are caught beforehand:
  // merging them would hide solutions.
  std::vector<Term> terms;
  for (int d = 0; d < layout.rank; ++d) {
    if (layout.extents[d] == 0) return false;
    if (layout.extents[d] == 1) continue;
    terms.push_back({std::abs(layout.strides[d]), Wide(layout.extents[d] - 1)});
  }
  std::sort(terms.begin(), terms.end(),
            [](const Term &a, const Term &b) { return a.coefficient < b.coefficient; });
  Wide reach = 0;
  bool nested = true;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const bool repeated = k > 0 && terms[k].coefficient == terms[k - 1].coefficient;
    if (terms[k].coefficient == 0 || repeated) return true;
    nested = nested && terms[k].coefficient > reach;
    reach += terms[k].coefficient * terms[k].bound;
  }
  if (nested) return false;
  for (Term &term : terms) term.bound *= 2;
  return Search(std::move(terms), 2).run(reach);
}

bool elements_meet(const AnyView &a, const AnyView &b) {
  const Span in_a = span_of(a.data, reach_of(a.layout, a.dtype));
  const Span in_b = span_of(b.data, reach_of(b.layout, b.dtype));
  if (!meet(in_a, in_b)) return false;
  std::vector<Term> terms;
  for (const AnyView *view : {&a, &b}) {
    const auto size = std::int64_t(size_of(view->dtype));
    terms.push_back({1, size - 1});
    for (int d = 0; d < view->layout.rank; ++d)
      if (view->layout.strides[d] != 0)
        terms.push_back({std::abs(view->layout.strides[d]) * size, view->layout.extents[d] - 1});
  }
  // From a's lowest byte to b's highest one.
  return Search(std::move(terms), 1).run(Wide(in_b.high) - 1 - Wide(in_a.low));
}

} // namespace broadloom::kernel
