// See direction.hpp.
#include "grad/direction.hpp"

#include "grad/widen.hpp"

#include <algorithm>
#include <cmath>

namespace broadloom::grad {

Direction scales(const Array &array) {
  const std::span<const double> x = grad::parts(array);
  const std::size_t group = is_complex(array.dtype()) ? 2 : 1;
  Direction scale;
  double total = 0, count = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const std::size_t first = k / group * group;
    const double size = std::hypot(x[first], group == 2 ? x[first + 1] : 0);
    scale.push_back(std::isfinite(size) ? size : -1);
    if (std::isfinite(size) && size != 0) total += size, count += 1;
  }
  const double other = count == 0 ? 1 : total / count;
  for (double &s : scale) s = s == 0 ? other : std::max(s, 0.0);
  return scale;
}

Array moved(const Array &array, const Direction &direction, double t) {
  Array result = array.copy();
  const std::span<double> x = grad::parts(result);
  for (std::size_t k = 0; k < x.size(); ++k)
    if (direction[k] != 0) x[k] += t * direction[k];
  return result;
}

} // namespace broadloom::grad
