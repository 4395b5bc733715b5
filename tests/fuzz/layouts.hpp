// Numbers and memory for a loop program that nobody has planned, so that an interpreter can run it.
#pragma once

#include "loop/loop.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace broadloom::fuzz {

inline constexpr std::int64_t most_turns = 20000;

// FNV-1a
inline std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ std::uint8_t(c)) * 0x100000001b3;
  return hash;
}

// Extents, chunks and strides for a program: small, of various sizes by `seed`, and as its loops
// and walks ask.
class Layouts {
public:
  Layouts(const loop::Program &program, std::uint64_t seed) : p_(program), axes_(p_.axes.size()) {
    extents.resize(axes_);
    chunks.assign(axes_, 0);
    for (std::size_t a = 0; a < axes_; ++a) {
      constexpr std::int64_t sizes[] = {0, 1, 2, 3, 5, 17, 40};
      extents[a] = sizes[(seed >> (a % 16 * 4)) % std::size(sizes)];
    }
    for (const loop::Loop &l : p_.loops) {
      if (l.turns > 0) extents[l.axis.index] = l.turns;
      if (l.within) chunks[l.axis.index] = std::max<std::int64_t>(l.leaf, 1);
    }
    if (turns() > most_turns)
      for (std::int64_t &extent : extents) extent = std::min<std::int64_t>(extent, 1);
    for (std::size_t a = 0; a < axes_; ++a) {
      if (!p_.axes[a].chunks_of) continue;
      const std::uint32_t of = p_.axes[a].chunks_of->index;
      std::int64_t &chunk = chunks[of];
      if (chunk == 0) chunk = 2;
      extents[a] = (extents[of] + chunk - 1) / chunk;
    }
    strides.assign(p_.buffers.size() * axes_, 0);
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) place(b);
  }

  // Positions of all innermost loops together, but for chunks; most_turns + 1 for any number
  // beyond.
  std::int64_t turns() const {
    std::int64_t sum = 0;
    for (const loop::Phase &phase : p_.phases) sum += turns(phase.body, 1);
    return std::min(sum, most_turns + 1);
  }

  bool verifies() const {
    try {
      loop::verify_numbers(p_, {extents, chunks, strides});
      return true;
    } catch (const InternalError &) { // the numbers here are guessed
      return false;
    }
  }

  // Runs all phases on memory of their own, which it gives: [buffer].
  template <class Phase> std::vector<std::vector<char>> run(Phase phase) const {
    std::vector<std::vector<char>> memory = memory_;
    std::vector<char *> bases;
    for (std::size_t b = 0; b < memory.size(); ++b) bases.push_back(memory[b].data() + first_[b]);
    const loop::Frame frame{1, extents.data(), chunks.data(), strides.data(), bases.data()};
    for (std::size_t p = 0; p < p_.phases.size(); ++p) {
      std::vector<std::int64_t> lo, hi;
      for (const loop::AxisId axis : p_.phases[p].parallel) {
        lo.push_back(0);
        hi.push_back(extents[axis.index]);
      }
      phase(p, frame, lo.data(), hi.data());
    }
    return memory;
  }

  // Whether each element that is stored has memory of its own, so that loops may turn in any order.
  bool are_apart() const { return apart_; }

  std::vector<std::int64_t> extents, chunks, strides;

private:
  std::int64_t turns(const std::vector<loop::Stmt> &body, std::int64_t around) const {
    std::int64_t sum = around * std::int64_t(body.size());
    for (const loop::Stmt &s : body) {
      if (s.kind != loop::StmtKind::Loop) continue;
      const std::int64_t extent = std::max<std::int64_t>(extents[p_[s.loop].axis.index], 1);
      const std::int64_t inside = std::min(around * extent, most_turns + 1);
      sum = std::min(sum + turns(p_[s.loop].body, inside), most_turns + 1);
    }
    return sum;
  }

  // Known strides first, then each other walk beyond all that is reached so far.
  void place(std::size_t b) {
    const loop::Buffer &buffer = p_.buffers[b];
    constexpr std::int64_t most = 100000;
    std::int64_t reach = 1, first = 0, last = 0; // elements; that of all zeros is 0
    bool empty = false;
    int units = 0;
    for (const bool unit : {true, false}) {
      for (std::size_t w = buffer.walks.size(); w-- > 0;) {
        const loop::Walk &walk = buffer.walks[w];
        const int step = loop::step_of(walk.stride);
        if ((step != 0) != unit) continue;
        const std::int64_t extent = extents[walk.axis.index];
        const std::int64_t stride = unit ? step : reach;
        if (!unit && buffer.role != loop::Role::Input && reach > most) apart_ = false;
        units += unit && extent > 1;
        strides[b * axes_ + walk.axis.index] = stride;
        (stride < 0 ? first : last) += stride * std::max<std::int64_t>(extent - 1, 0);
        reach = std::min<std::int64_t>(last - first + 1, most + 1);
        empty = empty || extent == 0;
      }
    }
    if (units > 1 && buffer.role != loop::Role::Input) apart_ = false;
    const std::size_t size = size_of(buffer.dtype);
    memory_.emplace_back(empty ? 0 : std::size_t(last - first + 1) * size, char(0));
    first_.push_back(empty ? 0 : std::size_t(-first) * size);
    for (std::size_t k = 0; k < memory_.back().size(); k += size)
      ops::store(memory_.back().data() + k, buffer.dtype,
                 ops::convert(ops::scalar_from(double(k % 7) - 1.5), DType::F64, buffer.dtype));
  }

  const loop::Program &p_;
  const std::size_t axes_;
  std::vector<std::vector<char>> memory_; // [buffer]
  std::vector<std::size_t> first_;        // [buffer]: where its element of all zeros is, in bytes
  bool apart_ = true;
};

} // namespace broadloom::fuzz
