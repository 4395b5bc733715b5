// The scales of a whole kernel, each of whose lets that are arrays is folded by itself.
#include "analysis/analyse.hpp"
#include "scale/fold.hpp"
#include "spec/expand.hpp"
#include "spec/materialise.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"

namespace broadloom {

LoopSpec fold_scales(const LoopSpec &spec, std::vector<Decision> *why) try {
  const support::FloatWorld world;
  check(spec);
  std::vector<Decision> notes;
  const SpecData expanded = spec::expand_calls(spec.data());
  SpecData folded;
  if (auto split =
          spec::split_lets(expanded, analysis::analyse)) { // each array is a kernel of its own
    for (auto &let : split->lets) {
      if (let->recurrence) continue; // stays as it is
      spec::Materialised made = *let;
      if (!made.join) made.data = scale::fold_scales(let->data, notes);
      let = std::make_shared<const spec::Materialised>(std::move(made));
    }
    split->rest = scale::fold_scales(split->rest, notes);
    folded = spec::joined(expanded, *split);
  } else {
    folded = scale::fold_scales(expanded, notes);
  }
  if (why) *why = std::move(notes);
  return LoopSpec(std::make_shared<const SpecData>(std::move(folded)));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
