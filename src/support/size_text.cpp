// See size_text.hpp.
#include "support/size_text.hpp"

#include <fmt/format.h>

#include <iterator>

namespace broadloom::support {

std::string size_text(double bytes) {
  const char *units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double size = bytes;
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(units); ++unit) size /= 1024;
  return unit == 0 || size >= 100 ? fmt::format("{:.0f} {}", size, units[unit])
                                  : fmt::format("{:.3g} {}", size, units[unit]);
}

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.3g} ns", ns);
  if (ns < 1e6) return fmt::format("{:.3g} us", ns * 1e-3);
  return ns < 1e9 ? fmt::format("{:.3g} ms", ns * 1e-6) : fmt::format("{:.3g} s", ns * 1e-9);
}

} // namespace broadloom::support
