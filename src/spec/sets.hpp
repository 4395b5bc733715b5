// Interned sets, so that a million nodes can each know which inputs they read and which extents are
// fixed: equal sets are one number, and a union that was made once is only looked up.
#pragma once

#include "spec/spec.hpp"

#include <map>
#include <unordered_map>
#include <vector>

namespace broadloom::spec {

using SetId = std::uint32_t; // 0 is the empty set

template <class Set> class InternedSets {
public:
  explicit InternedSets(Set empty) { intern(std::move(empty)); }
  SetId intern(Set set) {
    auto [it, fresh] = ids_.try_emplace(std::move(set), SetId(sets_.size()));
    if (fresh) sets_.push_back(it->first);
    return it->second;
  }
  const Set &operator[](SetId id) const { return sets_[id]; }

protected:
  // `both(set, set)`: what they are together.
  template <class Both> SetId unite(SetId a, SetId b, Both both) {
    if (a == b || b == 0) return a;
    if (a == 0) return b;
    const auto [it, fresh] = unions_.try_emplace(std::uint64_t(a) << 32 | b, 0);
    if (fresh) it->second = intern(both(sets_[a], sets_[b]));
    return it->second;
  }

private:
  std::vector<Set> sets_;
  std::map<Set, SetId> ids_;
  std::unordered_map<std::uint64_t, SetId> unions_;
};

class InputSets : InternedSets<std::vector<std::uint64_t>> {
public:
  explicit InputSets(std::size_t inputs)
      : InternedSets(std::vector<std::uint64_t>((inputs + 63) / 64)), words_((inputs + 63) / 64) {}

  SetId single(std::size_t input);
  SetId unite(SetId a, SetId b);
  // The members for which keep(input) holds.
  template <class Keep> SetId filter(SetId a, Keep keep) {
    std::vector<std::uint64_t> set(words_);
    for (std::size_t input : members(a))
      if (keep(input)) set[input / 64] |= std::uint64_t(1) << input % 64;
    return intern(std::move(set));
  }
  bool has(SetId a, std::size_t input) const { return (*this)[a][input / 64] >> input % 64 & 1; }
  std::vector<std::size_t> members(SetId a) const;

private:
  std::size_t words_;
};

// The axes of a value whose extent the text fixes (to other than 1), and the dim that does so.
struct FixedExtent {
  int axis = 0;
  DimExtent by;
  friend bool operator<(const FixedExtent &a, const FixedExtent &b) {
    auto key = [](const FixedExtent &e) {
      return std::tuple(e.axis, e.by.extent, e.by.input, e.by.dim);
    };
    return key(a) < key(b);
  }
};

class FixedExtents : public InternedSets<std::vector<FixedExtent>> { // each in order of axes
public:
  FixedExtents() : InternedSets({}) {}

  // Both together; where they disagree `clash` is called with the two dims.
  template <class Clash> SetId unite(SetId a, SetId b, Clash clash) {
    using Extents = std::vector<FixedExtent>;
    return InternedSets::unite(a, b, [&](const Extents &x, const Extents &y) {
      Extents all;
      for (std::size_t i = 0, j = 0; i < x.size() || j < y.size();) {
        if (j == y.size() || (i < x.size() && x[i].axis < y[j].axis))
          all.push_back(x[i++]);
        else if (i == x.size() || y[j].axis < x[i].axis)
          all.push_back(y[j++]);
        else {
          if (x[i].by.extent != y[j].by.extent) clash(x[i].by, y[j].by);
          all.push_back(x[i++]);
          ++j;
        }
      }
      return all;
    });
  }

  SetId without(SetId id, expr::AxisSet axes);
};

} // namespace broadloom::spec
