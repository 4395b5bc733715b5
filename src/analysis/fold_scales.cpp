// See fold_scales.hpp.
#include "analysis/fold_scales.hpp"

#include "analysis/analyse.hpp"
#include "scale/network.hpp"
#include "spec/expand.hpp"
#include "spec/wishes.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"

namespace broadloom {

LoopSpec analysis::fold_scales(const LoopSpec &spec, std::vector<Decision> *why,
                               const scale::KnownParameters &parameters) {
  const support::FloatWorld world;
  check(spec);
  std::vector<Decision> notes;
  const SpecData expanded = spec::expand_calls(spec.data());
  const auto as_written = [](const SpecData &data) { return analyse(scale::unfolded(data)); };
  SpecData folded =
      scale::fold_scales(expanded, spec::split_lets(expanded, as_written), notes, parameters);
  folded.schedule = expanded.schedule;
  folded.pairings = expanded.pairings;
  spec::keep_wishes(folded, expanded.lets);
  if (why) *why = std::move(notes);
  return LoopSpec(std::make_shared<const SpecData>(std::move(folded)));
}

LoopSpec fold_scales(const LoopSpec &spec, std::vector<Decision> *why) try {
  return analysis::fold_scales(spec, why, {});
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
