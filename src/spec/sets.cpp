// See sets.hpp.
#include "spec/sets.hpp"

#include <bit>

namespace broadloom::spec {

SetId InputSets::single(std::size_t input) {
  std::vector<std::uint64_t> set(words_);
  set[input / 64] = std::uint64_t(1) << input % 64;
  return intern(std::move(set));
}

SetId InputSets::unite(SetId a, SetId b) {
  using Set = std::vector<std::uint64_t>;
  return InternedSets::unite(a, b, [&](Set set, const Set &more) {
    for (std::size_t i = 0; i < words_; ++i) set[i] |= more[i];
    return set;
  });
}

std::vector<std::size_t> InputSets::members(SetId a) const {
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < words_; ++i)
    for (std::uint64_t rest = (*this)[a][i]; rest != 0; rest &= rest - 1)
      inputs.push_back(i * 64 + std::size_t(std::countr_zero(rest)));
  return inputs;
}

SetId FixedExtents::without(SetId id, expr::AxisSet axes) {
  if (id == 0) return 0;
  std::vector<FixedExtent> rest;
  for (const FixedExtent &e : (*this)[id])
    if (!axes.has(e.axis)) rest.push_back(e);
  return intern(std::move(rest));
}

} // namespace broadloom::spec
