// See join.hpp.
#include "kernel/join.hpp"

#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

namespace broadloom::kernel {

Layout whole_of(const spec::Materialised &let, std::span<const Layout> parts) {
  const spec::Join &join = *let.join;
  const OutputDecl &output = let.data.outputs[0];
  std::vector<std::int64_t> shape(parts[0].shape().begin(), parts[0].shape().end());
  if (join.stacks) shape.insert(shape.begin() + std::ptrdiff_t(join.dim), 0);
  shape[join.dim] = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      if (dim == join.dim) continue;
      const std::size_t own = join.stacks && dim > join.dim ? dim - 1 : dim;
      if (parts[k].extents[own] != shape[dim])
        support::fail(
            "E0102",
            fmt::format("part '{}' of '{}' has {} along dim {}, and '{}' has {}", join.parts[k],
                        output.name, support::count(parts[k].extents[own], "element"), own,
                        join.parts[0], support::count(shape[dim], "element")),
            support::with_text(output.where, let.data.source.get()),
            "parts may differ along the dim in which they lie side by side, and only there");
    }
    if (__builtin_add_overflow(shape[join.dim], join.stacks ? 1 : parts[k].extents[join.dim],
                               &shape[join.dim]))
      support::fail("E0112", fmt::format("'{}' has more elements than i64 counts", output.name),
                    support::with_text(output.where, let.data.source.get()), "join less");
  }
  return contiguous_layout(shape);
}

std::int64_t put_part(const spec::Join &join, const Layout &whole, Layout &part,
                      std::int64_t &first) {
  for (std::size_t own = 0; own < std::size_t(part.rank); ++own)
    part.strides[own] = whole.strides[join.stacks && own >= join.dim ? own + 1 : own];
  const std::int64_t before = first * whole.strides[join.dim];
  first += join.stacks ? 1 : part.extents[join.dim];
  return before;
}

} // namespace broadloom::kernel
