// See elements.hpp.
#include "calls/elements.hpp"

#include "ops/ops.hpp"
#include "support/fail.hpp"

#include <fmt/format.h>

namespace broadloom::calls::interpreted {

void fail(const std::string &what) {
  support::fail("E0801", "a call cannot be interpreted: " + what, {}, "look at its steps");
}

Elements::Elements(const Call &call, const std::map<std::string, AnyView, std::less<>> &arrays) {
  for (const Array &array : call.arrays) {
    Stored &memory = memory_[array.name];
    memory.array = &array;
    if (array.owner == Array::Owner::In || array.owner == Array::Owner::Out) {
      const auto given = arrays.find(array.name);
      if (given == arrays.end() || !std::ranges::equal(given->second.layout.shape(), array.extents))
        fail(fmt::format("'{}' is not given as it is printed", array.name));
      memory.view = given->second;
      continue;
    }
    Position kept;
    for (std::size_t d = 0; d < array.extents.size(); ++d) kept.push_back(memory.kept(d));
    const Layout layout = contiguous_layout(kept);
    constexpr char garbage = char(0xa5); // of what is read before it is written
    memory.own.assign(std::size_t(element_count(layout)) * memory.size() + 1, garbage);
    memory.view = {array.dtype, memory.own.data(), true, layout};
  }
}

Stored &Elements::memory_of(const Ref &ref) {
  const auto known = memory_.find(ref.array);
  if (known == memory_.end()) fail(fmt::format("there is no array '{}'", ref.array));
  return known->second;
}

char *Elements::at(Stored &memory, const Position &position) {
  for (const Step *view : memory.views)
    if (const std::optional<Position> seen = seen_through(*view, position))
      return this->at(memory_of(view->from[0]), *seen);
  std::int64_t place = 0;
  for (std::size_t d = 0; d < position.size(); ++d) {
    if (!memory.is_inside(d, position[d]))
      fail(fmt::format("'{}' is at {} along dim {}", memory.array->name, position[d], d));
    place += (position[d] - memory.first(d)) % memory.kept(d) * memory.view.layout.strides[d];
  }
  return static_cast<char *>(memory.view.data) + place * std::int64_t(memory.size());
}

std::int64_t Elements::sum(const std::vector<Affine::Term> &terms, std::int64_t constant) const {
  for (const Affine::Term &term : terms) {
    const auto axis = axes.find(term.axis);
    if (axis == axes.end()) fail(fmt::format("there is no axis '{}'", term.axis));
    constant += term.times * axis->second;
  }
  return constant;
}

std::optional<std::int64_t> Elements::position(const Affine &affine, const Stored &memory,
                                               std::size_t dim) {
  using Wide = __int128; // multiples of elements that may be any number
  Wide at = sum(affine.terms, affine.constant);
  if (at % affine.divisor != 0) return std::nullopt;
  at /= affine.divisor;
  for (const Affine::Index &index : affine.indices) {
    const Ref &ref = *index.element;
    const char *said = read(ref);
    alignas(16) static constexpr char zero[16] = {};
    const DType dtype = memory_of(ref).array->dtype;
    const ops::Scalar value = ops::load(said != nullptr ? said : zero, dtype);
    at += index.times * (is_unsigned_integer(dtype)
                             ? Wide(value.bits)
                             : Wide(ops::as_i64(ops::convert(value, dtype, DType::I64))));
  }
  const std::int64_t extent = memory.extent(dim);
  if (affine.outside == "clip") at = std::clamp<Wide>(at, 0, extent - 1);
  if (affine.outside == "wrap") at = (at % extent + extent) % extent;
  const bool is_inside = at >= memory.first(dim) && at < memory.first(dim) + extent;
  if (affine.outside == "zero" && !is_inside) return std::nullopt;
  return std::int64_t(std::clamp<Wide>(at, INT64_MIN, INT64_MAX));
}

char *Elements::read(const Ref &ref) {
  Stored &memory = memory_of(ref);
  Position place;
  for (std::size_t d = 0; d < ref.at.size(); ++d) {
    const std::optional<std::int64_t> position_of = position(ref.at[d], memory, d);
    if (!position_of) return nullptr;
    place.push_back(*position_of);
  }
  return at(memory, place);
}

std::vector<Range> Elements::ranges_now(const Step &step) const {
  std::vector<Range> ranges = step.over;
  for (Range &range : ranges) {
    range.first = sum(range.moves, range.first);
    range.moves.clear();
  }
  return ranges;
}

} // namespace broadloom::calls::interpreted
