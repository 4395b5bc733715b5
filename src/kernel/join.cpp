// See join.hpp.
#include "kernel/join.hpp"

#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace broadloom::kernel {
namespace {

using Wide = __int128;
constexpr std::int64_t most = std::int64_t(1) << 61; // positions, as of extents and strides

class WholeFinder {
public:
  WholeFinder(const spec::Materialised &let, std::span<const Layout> parts)
      : let_(let), join_(*let.join), parts_(parts) {}

  // One behind the other, or each at a position.
  Whole side_by_side() {
    const std::size_t rank = std::size_t(parts_[0].rank) + (join_.stacks ? 1 : 0);
    std::vector<std::int64_t> shape(rank);
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      std::vector<PartDim> &place = whole_.places.emplace_back();
      for (std::size_t dim = 0; dim < rank; ++dim) {
        const std::size_t own = join_.stacks && dim > join_.dim ? dim - 1 : dim;
        if (dim == join_.dim) {
          place.push_back({shape[dim], 1, join_.stacks ? -1 : int(own)});
          continue;
        }
        place.push_back({0, 1, int(own)});
        if (k == 0) shape[dim] = parts_[0].extents[own];
        if (parts_[k].extents[own] != shape[dim]) fail_dim(k, own, shape[dim]);
      }
      if (__builtin_add_overflow(shape[join_.dim], join_.stacks ? 1 : parts_[k].extents[join_.dim],
                                 &shape[join_.dim]))
        fail_size();
    }
    whole_.layout = contiguous_layout(shape);
    return std::move(whole_);
  }

  Whole at_positions(const ExtentOfArray &extent_of) {
    const std::size_t rank = join_.positions[0].size();
    std::vector<std::int64_t> shape(rank);
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      std::vector<PartDim> &place = whole_.places.emplace_back();
      for (std::size_t dim = 0; dim < rank; ++dim) {
        const spec::Join::Position &at = join_.positions[k][dim];
        Wide first = at.start;
        for (const spec::TypedWindow::Count &count : at.counts)
          first += Wide(count.times) * extent_of(count.input, std::size_t(count.dim));
        const std::int64_t extent = parts_[k].extents[at.own];
        if (extent > 0 && first < 0) fail_before(k, dim, first);
        const Wide end = extent == 0 ? 0 : first + Wide(at.times) * (extent - 1) + 1;
        if (end > most || first > most || first < -most) fail_size();
        place.push_back({std::int64_t(first), at.times, int(at.own)});
        shape[dim] = std::max(shape[dim], std::int64_t(end));
      }
    }
    whole_.layout = contiguous_layout(shape);
    for (std::size_t k = 0; k < parts_.size(); ++k)
      for (std::size_t other = 0; other < k; ++other) check_apart(other, k);
    check_covered();
    return std::move(whole_);
  }

private:
  const OutputDecl &output() const { return let_.data.outputs[0]; }
  // The whole is z_whole of an output z, which is what people know.
  std::string name() const {
    constexpr std::string_view own = "_whole";
    const std::string &all = output().name;
    return all.ends_with(own) ? all.substr(0, all.size() - own.size()) : all;
  }
  Place where() const { return support::with_text(output().where, let_.data.source.get()); }

  [[noreturn]] void fail_dim(std::size_t k, std::size_t own, std::int64_t wanted) const {
    support::fail(
        "E0102",
        fmt::format("part '{}' of '{}' has {} along dim {}, and '{}' has {}", join_.parts[k],
                    output().name, support::count(parts_[k].extents[own], "element"), own,
                    join_.parts[0], support::count(wanted, "element")),
        where(), "parts may differ along the dim in which they lie side by side, and only there");
  }
  [[noreturn]] void fail_size() const {
    support::fail("E0112", fmt::format("'{}' has more elements than i64 counts", name()), where(),
                  "join less");
  }
  [[noreturn]] void fail_before(std::size_t k, std::size_t dim, Wide first) const {
    support::fail("E0142",
                  fmt::format("part '{}' of '{}' begins at position {} of dim {}", join_.parts[k],
                              name(), std::int64_t(std::max<Wide>(first, -most)), dim),
                  where(), "positions begin at 0");
  }

  std::int64_t extent(std::size_t k, const PartDim &at) const {
    return at.own < 0 ? 1 : parts_[k].extents[std::size_t(at.own)];
  }

  // The least position that both have along a dim, or -1. Where both step by the least common
  // multiple, the positions that they share do.
  std::int64_t shared(std::size_t a, std::size_t b, std::size_t dim) const {
    const PartDim &x = whole_.places[a][dim], &y = whole_.places[b][dim];
    const Wide last = std::min(x.first + Wide(x.times) * (extent(a, x) - 1),
                               y.first + Wide(y.times) * (extent(b, y) - 1));
    const Wide begin = std::max(x.first, y.first);
    const std::int64_t common = std::gcd(x.times, y.times);
    if ((Wide(x.first) - y.first) % common != 0) return -1;
    // The first of x from `begin` on, then one after the other until it is of y as well: y.times /
    // common steps at most, by a multiple that is solved for.
    const Wide period = std::max<Wide>(y.times / common, 1), step = x.times / common;
    Wide at = x.first + (begin - x.first + x.times - 1) / x.times * x.times;
    const Wide apart = ((y.first - at) / common % period + period) % period;
    at += apart * inverse(step % period, period) % period * x.times;
    return at <= last ? std::int64_t(at) : -1;
  }
  // Of a number that has no factor in common with `modulus`, by Euclid.
  static Wide inverse(Wide number, Wide modulus) {
    Wide a = number, b = modulus, x = 1, y = 0;
    while (b != 0) {
      const Wide quotient = a / b;
      a = std::exchange(b, a - quotient * b);
      x = std::exchange(y, x - quotient * y);
    }
    return (x % modulus + modulus) % modulus;
  }

  void check_apart(std::size_t a, std::size_t b) const {
    if (element_count(parts_[a]) == 0 || element_count(parts_[b]) == 0) return;
    std::vector<std::int64_t> position;
    for (std::size_t dim = 0; dim < whole_.places[a].size(); ++dim) {
      position.push_back(shared(a, b, dim));
      if (position.back() < 0) return;
    }
    support::fail("E0145",
                  fmt::format("'{}' and '{}' are both written at [{}] of '{}'", join_.parts[a],
                              join_.parts[b], fmt::join(position, ", "), name()),
                  where(), "let each position be written by one part");
  }

  // Parts that are apart cover the whole if they have as many elements.
  void check_covered() const {
    Wide elements = 0;
    for (const Layout &part : parts_) elements += element_count(part);
    const std::int64_t all = element_count(whole_.layout);
    if (elements == all) return;
    support::fail("E0146",
                  fmt::format("the parts of '{}' are {} of its {}{}", name(),
                              std::int64_t(elements), support::count(all, "element"), a_hole(all)),
                  where(), "write all of them: let another part hold the rest");
  }
  // Of those that are found soon.
  std::string a_hole(std::int64_t all) const {
    const std::size_t rank = whole_.places[0].size();
    std::vector<std::int64_t> position(rank);
    for (std::int64_t n = 0; n < std::min<std::int64_t>(all, 1 << 16); ++n) {
      std::int64_t rest = n;
      for (std::size_t dim = rank; dim-- > 0;) {
        position[dim] = rest % whole_.layout.extents[dim];
        rest /= whole_.layout.extents[dim];
      }
      bool written = false;
      for (std::size_t k = 0; k < parts_.size() && !written; ++k) {
        written = true;
        for (std::size_t dim = 0; dim < rank; ++dim) {
          const PartDim &at = whole_.places[k][dim];
          const std::int64_t behind = position[dim] - at.first;
          written =
              written && behind >= 0 && behind % at.times == 0 && behind / at.times < extent(k, at);
        }
      }
      if (!written) return fmt::format(": none is written at [{}]", fmt::join(position, ", "));
    }
    return "";
  }

  const spec::Materialised &let_;
  const spec::Join &join_;
  const std::span<const Layout> parts_;
  Whole whole_;
};

} // namespace

Whole whole_of(const spec::Materialised &let, std::span<const Layout> parts,
               const ExtentOfArray &extent_of) {
  WholeFinder finder(let, parts);
  return let.join->positions.empty() ? finder.side_by_side() : finder.at_positions(extent_of);
}

std::int64_t put_part(const Whole &whole, std::size_t k, Layout &part) {
  std::int64_t before = 0;
  const bool is_empty = element_count(part) == 0; // it may begin anywhere
  for (std::size_t dim = 0; dim < whole.places[k].size(); ++dim) {
    const PartDim &at = whole.places[k][dim];
    if (!is_empty) before += at.first * whole.layout.strides[dim];
    if (at.own < 0) continue;
    const auto own = std::size_t(at.own);
    part.strides[own] = (part.extents[own] > 1 ? at.times : 1) * whole.layout.strides[dim];
  }
  return before;
}

} // namespace broadloom::kernel
