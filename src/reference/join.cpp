// See join.hpp.
#include "reference/join.hpp"

#include "array/layout.hpp"

#include <cstring>

namespace broadloom::reference {
namespace {

// Where an element of a part lies in the whole: [dim] of both. `first` is how far the parts before
// it go, where they lie side by side.
std::vector<std::int64_t> place_in_whole(const spec::Join &join, std::size_t part,
                                         const std::vector<std::int64_t> &index, std::int64_t first,
                                         const ExtentOfArray &extent_of) {
  std::vector<std::int64_t> place;
  if (join.positions.empty()) {
    place = index;
    if (join.stacks)
      place.insert(place.begin() + std::ptrdiff_t(join.dim), first);
    else
      place[join.dim] += first;
    return place;
  }
  for (const spec::Join::Position &at : join.positions[part]) {
    place.push_back(at.start + at.times * index[at.own]);
    for (const spec::TypedWindow::Count &count : at.counts)
      place.back() += count.times * extent_of(count.input, std::size_t(count.dim));
  }
  return place;
}

std::vector<std::int64_t> index_of(const Layout &part, std::int64_t element) {
  std::vector<std::int64_t> index(std::size_t(part.rank));
  for (std::size_t dim = index.size(); dim-- > 0;) {
    index[dim] = element % part.extents[dim];
    element /= part.extents[dim];
  }
  return index;
}

std::vector<std::int64_t> shape_at_positions(const spec::Materialised &let,
                                             std::span<const Layout> parts,
                                             const ExtentOfArray &extent_of) {
  std::vector<std::int64_t> shape(let.join->positions[0].size(), 0);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    std::vector<std::int64_t> last(std::size_t(parts[k].rank));
    for (std::size_t d = 0; d < last.size(); ++d)
      last[d] = std::max<std::int64_t>(parts[k].extents[d] - 1, 0);
    const std::vector<std::int64_t> none(last.size(), 0),
        from = place_in_whole(*let.join, k, none, 0, extent_of),
        to = place_in_whole(*let.join, k, last, 0, extent_of);
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      if (parts[k].extents[let.join->positions[k][dim].own] == 0) continue;
      if (from[dim] < 0)
        throw ShapeError("E0142", "a part of '" + let.data.outputs[0].name + "' begins below 0",
                         let.data.outputs[0].where, "positions begin at 0");
      shape[dim] = std::max(shape[dim], to[dim] + 1);
    }
  }
  return shape;
}

} // namespace

std::vector<std::int64_t> shape_of_join(const spec::Materialised &let,
                                        std::span<const Layout> parts,
                                        const ExtentOfArray &extent_of) {
  const spec::Join &join = *let.join;
  if (!join.positions.empty()) return shape_at_positions(let, parts, extent_of);
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

Array joined(const spec::Materialised &let, std::span<const AnyView> parts,
             const ExtentOfArray &extent_of) {
  const spec::Join &join = *let.join;
  Array whole(parts[0].dtype, shape_of_join(let, array::layouts_of(parts), extent_of));
  const std::size_t size = size_of(whole.dtype());
  const Layout &to = whole.layout();
  std::vector<bool> written(std::size_t(element_count(to)));
  std::int64_t first = 0; // how far the parts before it go
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Layout &part = parts[k].layout;
    const std::int64_t count = element_count(part);
    for (std::int64_t n = 0; n < count; ++n) {
      const std::vector<std::int64_t> index = index_of(part, n),
                                      place = place_in_whole(join, k, index, first, extent_of);
      std::int64_t from = 0, at = 0;
      for (std::size_t dim = 0; dim < index.size(); ++dim) from += index[dim] * part.strides[dim];
      for (std::size_t dim = 0; dim < place.size(); ++dim) at += place[dim] * to.strides[dim];
      if (written[std::size_t(at)])
        throw ShapeError("E0145", "two parts of '" + let.data.outputs[0].name + "' meet",
                         let.data.outputs[0].where, "let each position be written by one part");
      written[std::size_t(at)] = true;
      std::memcpy(static_cast<char *>(whole.raw()) + std::size_t(at) * size,
                  static_cast<const char *>(parts[k].data) + from * std::int64_t(size), size);
    }
    if (join.positions.empty()) first += join.stacks ? 1 : part.extents[join.dim];
  }
  for (std::size_t at = 0; at < written.size(); ++at)
    if (!written[at])
      throw ShapeError("E0146", "no part of '" + let.data.outputs[0].name + "' writes all of it",
                       let.data.outputs[0].where, "let another part hold the rest");
  return whole;
}

} // namespace broadloom::reference
