// What a call that allocates its outputs gives: see kernel.hpp.
#include "support/fail.hpp"
#include "support/text.hpp"

#include <broadloom/kernel.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>

namespace broadloom {

const Array &Results::operator[](std::size_t index) const {
  if (index < arrays_.size()) return arrays_[index].second;
  support::fail("E0304", fmt::format("there is no result {}: there are {}", index, arrays_.size()),
                {}, "count from 0, or ask by name");
}

const Array &Results::operator[](std::string_view name) const {
  for (const auto &[own, array] : arrays_)
    if (own == name) return array;
  if (arrays_.empty())
    support::fail("E0304", fmt::format("there is no result called '{}': there are none", name), {},
                  "results come of a call of a kernel");
  std::vector<std::string> names;
  for (const auto &[own, array] : arrays_) names.push_back(own);
  support::fail("E0304", fmt::format("there is no result called '{}'", name), {},
                "the results are " + support::quoted_list(names));
}

std::ostream &operator<<(std::ostream &out, const Results &results) {
  for (const auto &[name, array] : results) {
    out << name << ": " << array.dtype();
    if (array.rank() > 0) out << fmt::format("[{}]", fmt::join(array.shape(), ", "));
    out << '\n' << array << '\n';
  }
  return out;
}

} // namespace broadloom
