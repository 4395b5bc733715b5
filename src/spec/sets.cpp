// See sets.hpp.
#include "spec/sets.hpp"

#include <bit>

namespace broadloom::spec {

SetId InputSets::intern(std::vector<std::uint64_t> set) {
  auto [it, fresh] = ids_.try_emplace(std::move(set), SetId(sets_.size()));
  if (fresh) sets_.push_back(it->first);
  return it->second;
}

SetId InputSets::single(std::size_t input) {
  std::vector<std::uint64_t> set(words_);
  set[input / 64] = std::uint64_t(1) << input % 64;
  return intern(std::move(set));
}

SetId InputSets::unite(SetId a, SetId b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  auto [it, fresh] = unions_.try_emplace(std::uint64_t(a) << 32 | b, 0);
  if (!fresh) return it->second;
  std::vector<std::uint64_t> set = sets_[a];
  for (std::size_t i = 0; i < words_; ++i) set[i] |= sets_[b][i];
  return it->second = intern(std::move(set));
}

std::vector<std::size_t> InputSets::members(SetId a) const {
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < words_; ++i)
    for (std::uint64_t rest = sets_[a][i]; rest != 0; rest &= rest - 1)
      inputs.push_back(i * 64 + std::size_t(std::countr_zero(rest)));
  return inputs;
}

SetId FixedExtents::intern(std::vector<FixedExtent> extents) {
  auto [it, fresh] = ids_.try_emplace(std::move(extents), SetId(sets_.size()));
  if (fresh) sets_.push_back(it->first);
  return it->second;
}

SetId FixedExtents::without(SetId id, expr::AxisSet axes) {
  if (id == 0) return 0;
  std::vector<FixedExtent> rest;
  for (const FixedExtent &e : sets_[id])
    if (!axes.has(e.axis)) rest.push_back(e);
  return intern(std::move(rest));
}

} // namespace broadloom::spec
