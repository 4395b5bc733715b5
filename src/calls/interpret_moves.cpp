// Inside the interpreter of calls: steps that run no nest and are no loop.
#include "calls/elements.hpp"

#include "ops/ops.hpp"
#include "support/number.hpp"

#include <fmt/format.h>

#include <array>

namespace broadloom::calls::interpreted {
namespace {

// Borders: which of the elements begin..end stands there; none: a number does.
std::optional<std::int64_t> in_border(const std::string &mode, std::int64_t at, std::int64_t begin,
                                      std::int64_t end) {
  if (at >= begin && at < end) return at;
  const std::int64_t count = end - begin;
  const auto rest = [&](std::int64_t period) { return ((at - begin) % period + period) % period; };
  if (mode == "edge") return at < begin ? begin : end - 1;
  if (mode == "wrap") return begin + rest(count);
  if (mode != "reflect") return std::nullopt;
  const std::int64_t period = std::max<std::int64_t>(2 * (count - 1), 1);
  return begin + std::min(rest(period), period - rest(period));
}

ops::Scalar number(const std::string &text, DType dtype) {
  if (is_complex(dtype)) {
    const std::size_t comma = text.find(", ");
    if (text.size() < 2 || comma == text.npos) fail("a border has no number of two parts");
    const DType real = real_dtype(dtype);
    return {number(text.substr(1, comma - 1), real).bits,
            number(text.substr(comma + 2, text.size() - comma - 3), real).bits};
  }
  if (is_float(dtype)) {
    const auto value = support::number_of<double>(text);
    if (!value) fail(fmt::format("'{}' is no number", text));
    return ops::convert(ops::scalar_from(*value), DType::F64, dtype);
  }
  const auto whole = support::number_of<std::int64_t>(text);
  const auto large = support::number_of<std::uint64_t>(text);
  if (!whole && !large) fail(fmt::format("'{}' is no integer", text));
  return {whole ? std::uint64_t(*whole) : *large};
}

void pad_element(Elements &elements, const Step &step, Stored &from, Stored &to,
                 const Position &at) {
  Position source(at.size());
  const Border *last = nullptr; // of those with numbers
  for (std::size_t d = 0; d < at.size(); ++d) {
    const auto border = std::ranges::find(step.borders, int(d), &Border::dim);
    const bool has_border = border != step.borders.end();
    const bool is_at = !step.to[0].at.empty() && !step.to[0].at[d].all;
    const std::int64_t begin = from.begin(d), end = from.end(d);
    std::int64_t there = at[d] - (has_border ? border->before : 0) + begin;
    if (step.to[0].at.empty() && from.is_ring() && from.has_rows(d)) {
      source[d] = at[d] - to.first(d) + from.first(d);
      continue;
    }
    if (!is_at && !step.reach.empty()) {
      const Step::Reach &reach = step.reach[d];
      if ((at[d] + reach.first) % reach.divisor != 0)
        return put(elements.at(to, at), nullptr, to.size());
      there = (at[d] + reach.first) / reach.divisor - (has_border ? border->before : 0) + begin;
      const std::int64_t after = has_border ? border->after : 0;
      if (there < begin - (has_border ? border->before : 0) || there >= end + after)
        return put(elements.at(to, at), nullptr, to.size());
    }
    std::optional<std::int64_t> found = there;
    if (has_border) found = in_border(border->mode, there, begin, end);
    if (!found && (last == nullptr || &*border > last)) last = &*border;
    if (is_at) // of a border that is no number the row that is said
      found = elements.sum(step.from[0].at[d].terms, step.from[0].at[d].constant);
    source[d] = found.value_or(0);
  }
  if (last == nullptr) return put(elements.at(to, at), elements.at(from, source), to.size());
  ops::store(elements.at(to, at), to.array->dtype, number(last->mode, to.array->dtype));
}

// Rows that the copy has not are left out.
void pad_row(Elements &elements, const Step &step) {
  Stored &from = elements.memory_of(step.from[0]), &to = elements.memory_of(step.to[0]);
  const std::size_t rank = to.array->extents.size();
  const bool is_row = !step.to[0].at.empty();
  Position first(rank), extents(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    // Of a ring the rows that are there.
    const bool as_it_lies = !is_row && from.is_ring() && from.has_rows(d);
    const bool is_at = is_row && !step.to[0].at[d].all;
    first[d] =
        is_at ? elements.sum(step.to[0].at[d].terms, step.to[0].at[d].constant) : to.first(d);
    extents[d] = is_at ? 1 : as_it_lies ? to.kept(d) : to.extent(d);
    if (is_at && !to.is_inside(d, first[d])) return;
  }
  for_each(extents, [&](const Position &k) {
    Position at(rank);
    for (std::size_t d = 0; d < rank; ++d) at[d] = first[d] + k[d];
    pad_element(elements, step, from, to, at);
  });
}

} // namespace

void pad(Elements &elements, const Step &step) {
  elements.for_each(step, [&] { pad_row(elements, step); });
}

void scatter(Elements &elements, const Step &step) {
  Stored &to = elements.memory_of(step.to[0]);
  for_each(to.array->extents,
           [&](const Position &at) { put(elements.at(to, at), nullptr, to.size()); });
  const DType dtype = to.array->dtype;
  elements.for_each(step, [&] {
    Position place;
    for (std::size_t d = 0; d < to.array->extents.size(); ++d) {
      std::optional<std::int64_t> there = elements.position(step.to[0].at[d], to, d);
      for (const Border &border : step.borders)
        if (there && std::size_t(border.dim) == d)
          there = in_border(border.mode, *there, 0, to.extent(d));
      if (!there) return;
      place.push_back(*there);
    }
    char *const sum = elements.at(to, place);
    const std::array<ops::Scalar, 2> terms{ops::load(sum, dtype),
                                           ops::load(elements.read(step.from[0]), dtype)};
    ops::store(sum, dtype, ops::evaluate(ops::Op::Add, dtype, terms));
  });
}

void move_elements(Elements &elements, const Step &step) {
  Stored &to = elements.memory_of(step.to[0]);
  if (step.kind == Step::Kind::Count) {
    for (std::int64_t n = 0; n < to.extent(0); ++n) std::memcpy(elements.at(to, {n}), &n, sizeof n);
  } else if (step.kind == Step::Kind::Copy) {
    Stored &from = elements.memory_of(step.from[0]);
    for_each(from.array->extents, [&](const Position &at) {
      put(elements.at(to, at), elements.at(from, at), to.size());
    });
  } else { // gather, start
    elements.for_each(step, [&] {
      put(elements.read(step.to[0]), step.from.empty() ? nullptr : elements.read(step.from[0]),
          to.size());
    });
  }
}

} // namespace broadloom::calls::interpreted
