// See said.hpp.
#include "kernel/said.hpp"

#include "kernel/positions.hpp"
#include "support/fail.hpp"

#include <fmt/format.h>

namespace broadloom::kernel {

Layout said_layout(const spec::TypedInput &said, Operands given) {
  Layout layout;
  layout.rank = int(said.said.size());
  for (std::size_t dim = 0; dim < said.said.size(); ++dim) {
    const auto extent = start_of(said.said[dim], 0, [&](std::uint32_t input, std::size_t d) {
      return given[input]->layout.extents[d];
    });
    constexpr auto most = std::int64_t(1) << 61;
    if (extent > most)
      support::fail("E0112",
                    fmt::format("dim {} of {} has more elements than i64 counts", dim, said.name),
                    said.where, "say less");
    if (extent < 0)
      support::fail("E0144",
                    fmt::format("dim {} of {} would have {} elements", dim, said.name,
                                std::int64_t(std::max<decltype(extent)>(extent, -most))),
                    said.where, "an extent is 0 or more: give it larger arrays, or subtract less");
    layout.extents[dim] = std::int64_t(extent);
  }
  return layout;
}

} // namespace broadloom::kernel
