// Interned sets, so that a million nodes can each know which inputs they read and which extents are
// fixed: equal sets are one number, and a union that was made once is only looked up.
#pragma once

#include "spec/spec.hpp"

#include <map>
#include <unordered_map>
#include <vector>

namespace broadloom::spec {

using SetId = std::uint32_t; // 0 is the empty set

class InputSets {
public:
  explicit InputSets(std::size_t inputs) : words_((inputs + 63) / 64) {
    sets_.push_back(std::vector<std::uint64_t>(words_));
    ids_.emplace(sets_[0], 0);
  }

  SetId single(std::size_t input);
  SetId unite(SetId a, SetId b);
  // The members for which keep(input) holds.
  template <class Keep> SetId filter(SetId a, Keep keep) {
    std::vector<std::uint64_t> set(words_);
    for (std::size_t input : members(a))
      if (keep(input)) set[input / 64] |= std::uint64_t(1) << input % 64;
    return intern(std::move(set));
  }
  bool has(SetId a, std::size_t input) const { return sets_[a][input / 64] >> input % 64 & 1; }
  std::vector<std::size_t> members(SetId a) const;

private:
  SetId intern(std::vector<std::uint64_t> set);

  std::size_t words_;
  std::vector<std::vector<std::uint64_t>> sets_;
  std::map<std::vector<std::uint64_t>, SetId> ids_;
  std::unordered_map<std::uint64_t, SetId> unions_;
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

class FixedExtents {
public:
  FixedExtents() { intern({}); }

  SetId intern(std::vector<FixedExtent> extents); // in order of axes
  const std::vector<FixedExtent> &operator[](SetId id) const { return sets_[id]; }

  // Both together; where they disagree `clash` is called with the two dims.
  template <class Clash> SetId unite(SetId a, SetId b, Clash clash) {
    if (a == b || b == 0) return a;
    if (a == 0) return b;
    auto [it, fresh] = unions_.try_emplace(std::uint64_t(a) << 32 | b, 0);
    if (!fresh) return it->second;
    std::vector<FixedExtent> all;
    const std::vector<FixedExtent> &x = sets_[a], &y = sets_[b];
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
    SetId id = intern(std::move(all));
    return unions_[std::uint64_t(a) << 32 | b] = id;
  }

  SetId without(SetId id, expr::AxisSet axes);

private:
  std::vector<std::vector<FixedExtent>> sets_;
  std::map<std::vector<FixedExtent>, SetId> ids_;
  std::unordered_map<std::uint64_t, SetId> unions_;
};

} // namespace broadloom::spec
