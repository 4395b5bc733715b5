// See large_shapes.hpp. Most have some 10^5 points, so that many are tried; some of each family
// have 10^6.
#include "large_shapes.hpp"

#include <algorithm>
#include <cmath>

namespace broadloom::differential {
namespace {

// Between the two, each power of two as likely as the next, and often next to a multiple of a power
// of two.
std::int64_t extent(Random &random, double low, double high) {
  const double value = low * std::pow(high / low, random.unit());
  auto n = std::int64_t(value);
  if (random.chance(50)) {
    const std::int64_t group = std::int64_t(1) << random.between(2, 12);
    n = n / group * group + random.pick<std::int64_t>({0, 0, -1, 1});
  }
  return std::clamp(n, std::int64_t(low), std::int64_t(high));
}

} // namespace

LargeShape large_shape(Random &random) {
  const int family = random.below(12);
  // Operands of 40 MB now and then: beyond the last-level cache as it is.
  const bool huge = family >= 2 && family <= 6 && random.below(150) == 0;
  const double points = huge                ? 1.05e7
                        : family == 0       ? 1.3e6
                        : family == 4       ? 8e5
                        : random.chance(12) ? 1.2e6
                        : random.chance(35) ? 3e5
                                            : 6e4;
  const auto rest = [&](const std::vector<std::int64_t> &known) {
    double left = points;
    for (const std::int64_t n : known) left /= double(n);
    return std::max(left, 2.0);
  };
  LargeShape shape;
  std::vector<std::int64_t> &n = shape.extents;
  switch (family) {
  case 0: // a few long rows, in chunks
    n = {random.chance(60) ? random.between(2, 6) : random.between(7, 31)};
    n.push_back(extent(random, rest(n) / 8, rest(n)));
    break;
  case 1: // many short rows
    n = {extent(random, 2, 33)};
    n.insert(n.begin(), extent(random, 512, std::max(600.0, rest(n))));
    shape.along = true;
    break;
  case 2: // channels of images
    n = {random.between(1, 4), 0, extent(random, 30, 90), extent(random, 2, 64)};
    n[1] = extent(random, 2, std::max(3.0, rest({n[0], n[2], n[3]})));
    break;
  case 11:
  case 3: // tiles with ragged edges
    n = {extent(random, 64, 1500)};
    n.push_back(extent(random, 33, std::max(300.0, rest(n))));
    shape.maps = random.chance(60);
    if (family == 11 ||
        random.chance(
            30)) { // rows that begin on whole vectors, and are long enough for non-temporal stores
      n = {64 * random.between(4, 10), 64 * random.between(4, 10)};
      shape.maps = true;
    }
    break;
  case 4: n = {extent(random, points / 16, points)}; break; // one long axis
  case 5:                                                   // tall
    n = {extent(random, 33, 400)};
    n.insert(n.begin(), extent(random, 500, std::max(700.0, 2 * rest(n))));
    shape.across = true;
    break;
  case 6: // boxes
    shape.maps = random.chance(50);
    n = {extent(random, 3, 130), extent(random, 3, 130)};
    n.push_back(extent(random, 3, std::max(4.0, rest(n))));
    break;
  case 7: // many axes
    for (int k = random.between(4, 6); k > 1; --k) n.push_back(extent(random, 2, 12));
    n.push_back(extent(random, 2, std::max(3.0, rest(n))));
    if (random.chance(30)) { // as long as the shortest sides of tiles
      n.assign(4, 16);
      n[std::size_t(random.below(4))] += random.between(-1, 2);
      shape.maps = random.chance(60);
    }
    break;
  case 8:
  case 10: // products: i, j, k
    if (family == 10 && random.chance(40)) {
      n = {extent(random, 1000, 2500), extent(random, 64, 300)};
      shape.factors = {{0}, {1}};
      shape.pairs = true;
      break;
    }
    n = {extent(random, 16, 150), extent(random, 33, 250)};
    if (random.chance(25)) n = {random.between(2, 9), random.between(2, 9)}; // few results
    n.push_back(extent(random, 2, std::max(20.0, rest(n))));
    shape.factors = {{0, 2}, {2, 1}};
    break;
  default:                   // batches of products: i, j, k, l
    if (random.chance(45)) { // rows by rows, of few steps: i, j, k
      n = {extent(random, 64, 100), extent(random, 16, 19), extent(random, 30, 44)};
      shape.factors = {{0, 2}, {1, 2}};
      break;
    }
    n = {extent(random, 8, 60), extent(random, 8, 60), 0, random.between(2, 8)};
    n[2] = extent(random, 2, std::max(3.0, rest({n[0], n[1], n[3]})));
    shape.factors = {{3, 0, 2}, {3, 2, 1}};
    break;
  }
  if (shape.maps && random.chance(50))
    for (std::int64_t &extent : n)
      if (extent >= 48) extent = (extent + 63) / 64 * 64;
  if (shape.factors.empty() && !shape.across && !shape.along && random.chance(30))
    random.shuffle(n);
  return shape;
}

} // namespace broadloom::differential
