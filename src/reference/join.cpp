// See join.hpp.
#include "reference/join.hpp"

#include <cstring>

namespace broadloom::reference {

std::vector<std::int64_t> shape_of_join(const spec::Materialised &let,
                                        std::span<const Layout> parts) {
  const spec::Join &join = *let.join;
  std::vector<std::vector<std::int64_t>> shapes; // with the dim along which they are stacked
  for (const Layout &part : parts) {
    shapes.emplace_back(part.shape().begin(), part.shape().end());
    if (join.stacks) shapes.back().insert(shapes.back().begin() + std::ptrdiff_t(join.dim), 1);
  }
  std::vector<std::int64_t> whole = shapes[0];
  for (std::size_t k = 1; k < shapes.size(); ++k)
    for (std::size_t dim = 0; dim < whole.size(); ++dim)
      if (dim == join.dim)
        whole[dim] += shapes[k][dim];
      else if (whole[dim] != shapes[k][dim])
        throw ShapeError("E0102", "the parts of '" + let.data.outputs[0].name + "' differ",
                         let.data.outputs[0].where, "join arrays that differ along one dim");
  return whole;
}

Array joined(const spec::Materialised &let, std::span<const AnyView> parts) {
  const spec::Join &join = *let.join;
  std::vector<Layout> layouts;
  for (const AnyView &part : parts) layouts.push_back(part.layout);
  Array whole(parts[0].dtype, shape_of_join(let, layouts));
  const std::size_t size = size_of(whole.dtype());
  const Layout &to = whole.layout();
  std::int64_t first = 0; // the position of the part
  for (const AnyView &part : parts) {
    const std::int64_t count = element_count(part.layout);
    for (std::int64_t n = 0; n < count; ++n) {
      std::int64_t rest = n, from = 0, at = first * to.strides[join.dim];
      for (int d = part.layout.rank; d-- > 0;) {
        const auto dim = std::size_t(d);
        const std::int64_t index = rest % part.layout.extents[dim];
        rest /= part.layout.extents[dim];
        from += index * part.layout.strides[dim];
        at += index * to.strides[join.stacks && dim >= join.dim ? dim + 1 : dim];
      }
      std::memcpy(static_cast<char *>(whole.raw()) + std::size_t(at) * size,
                  static_cast<const char *>(part.data) + from * std::int64_t(size), size);
    }
    first += join.stacks ? 1 : part.layout.extents[join.dim];
  }
  return whole;
}

} // namespace broadloom::reference
