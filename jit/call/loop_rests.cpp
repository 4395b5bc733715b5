// Loops over time that rest at some steps (lets.hpp, spec/at_rest.hpp): what says so must be there,
// all of it, before the loop runs.
#include "jit/call/lets.hpp"

#include "spec/at_rest.hpp"
#include "spec/early_end.hpp"

namespace broadloom::jit {

std::optional<Lets::Rest> Lets::rest_of(std::size_t k, const Layouts &layouts) const {
  const auto end = spec::early_end(specs_, k);
  const auto rest = end && !end->moves ? std::nullopt : spec::at_rest(specs_, k);
  if (!rest) return std::nullopt;
  const std::size_t says = index_.at(specs_[rest->let]->typed.inputs[rest->input].name);
  const bool is_there =
      !lets_[says].rows && layouts.segment(says) == 0 && layouts.kept_rows[says] == 0;
  const std::int64_t steps = layouts.lets[k].extents[recurrence(k)->dim];
  if (!is_there || steps <= rest->after) return std::nullopt;
  return Rest{says, rest->shift, rest->after};
}

} // namespace broadloom::jit
