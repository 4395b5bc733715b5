// See freeze.hpp: the kernels, once it is known what is computed once (choose.hpp). Of a kernel
// with lets that are arrays each of them, and what reads them, is a kernel of its own
// (spec/materialise.hpp): values are taken out of each, and then they are one kernel again.
#include "freeze/freeze.hpp"

#include "analysis/analyse.hpp"
#include "freeze/freezing.hpp"
#include "freeze/whole_lets.hpp"
#include "spec/declared.hpp"
#include "spec/expand.hpp"
#include "spec/wishes.hpp"

#include <algorithm>
#include <set>

namespace broadloom::freeze {
namespace {

// Functions are written out, but for those with derivatives of their own.
SpecData with_inputs(const SpecData &data) {
  SpecData all = spec::expand_calls(data, spec::Calls::WithoutDerivatives);
  all.inputs = spec::declared_inputs(all);
  return all;
}

// All parameters are built in as they are.
Frozen as_it_is(const SpecData &data, const std::vector<std::string> &names) {
  return {data, {}, {}, names};
}

// Labels of dims that are 1, or may be (`j=1`, `j?`), and those of dims that say how many elements
// there are.
struct Labels {
  std::set<std::string> repeated, whole;

  explicit Labels(const spec::TypedSpec &typed) {
    for (const spec::TypedInput &input : typed.inputs)
      for (std::size_t d = 0; d < input.axis_of_dim.size() && input.labelled; ++d)
        (input.may_stretch[d] || input.extents[d] == 1 ? repeated : whole)
            .insert(typed.axes[std::size_t(input.axis_of_dim[d])].name);
  }
  // Where all that would say so is gone, a 1 would be repeated no more.
  bool lacks_any_of(const Labels &before) const {
    return std::ranges::any_of(before.repeated, [&](const std::string &label) {
      return before.whole.contains(label) && !whole.contains(label);
    });
  }
};

std::optional<Frozen> freeze_whole(const SpecData &data, Shared &shared) {
  Freezing freezing(data, shared);
  freezing.take_out();
  freezing.declare();
  if (freezing.computed().outputs.empty() || !freezing.has_same_axes()) return std::nullopt;
  if (Labels(analysis::analyse(freezing.rest())).lacks_any_of(Labels(analysis::analyse(data))))
    return std::nullopt;
  return Frozen{freezing.rest(), {freezing.computed()}, {}, freezing.built_in()};
}

std::optional<Frozen> freeze_parts(const SpecData &data, spec::Split split, Shared &shared) {
  shared.has_parts = true;
  for (const Expr &let : data.lets) shared.taken.insert(let.node()->name);
  std::vector<std::unique_ptr<Freezing>>
      parts; // [let], and the rest; none of a join, which reads lets only
  for (const auto &let : split.lets) {
    if (let->recurrence) return std::nullopt;
    parts.push_back(let->join ? nullptr : std::make_unique<Freezing>(let->data, shared));
  }
  // Wishes may name arrays, which are inputs of a part.
  split.rest.schedule = {};
  split.rest.pairings.clear();
  parts.push_back(std::make_unique<Freezing>(split.rest, shared));
  for (const auto &part : parts)
    if (part) part->take_out();
  Frozen made;
  for (const auto &part : parts) {
    if (!part) continue;
    part->declare();
    if (!part->has_same_axes()) return std::nullopt;
    if (!part->computed().outputs.empty()) made.computed.push_back(part->computed());
  }
  if (made.computed.empty()) return std::nullopt;
  made.built_in = parts.back()->built_in();
  for (std::size_t k = 0; k < split.lets.size(); ++k) {
    if (!parts[k]) continue;
    spec::Materialised let = *split.lets[k];
    let.data = parts[k]->rest();
    split.lets[k] = std::make_shared<const spec::Materialised>(std::move(let));
  }
  split.rest = parts.back()->rest();
  SpecData whole = data;
  whole.inputs.clear();
  for (const Decl &decl : split.rest.inputs)
    if (!decl->window && !decl->is_let && !decl->materialised) whole.inputs.push_back(decl);
  made.rest = spec::joined(whole, split);
  made.rest.schedule = data.schedule;
  made.rest.pairings = data.pairings;
  spec::keep_wishes(made.rest, data.lets);
  const spec::TypedSpec before = analysis::analyse(data);
  if (!SameAxes(before).of(made.rest)) return std::nullopt;
  return made;
}

} // namespace

static Frozen freeze_values(const SpecData &data, std::optional<spec::Split> split,
                            const std::vector<std::string> &names) {
  Shared shared;
  shared.frozen.insert(names.begin(), names.end());
  std::optional<Frozen> made =
      split ? freeze_parts(data, std::move(*split), shared) : freeze_whole(data, shared);
  return made ? std::move(*made) : as_it_is(data, names);
}

Frozen freeze(const SpecData &data, const std::vector<std::string> &names) {
  const SpecData expanded = with_inputs(data);
  std::optional<spec::Split> split = spec::split_lets(expanded, analysis::analyse);
  if (split) {
    // Which kernel of several a 1 is repeated in is not followed up.
    if (!Labels(analysis::analyse(data)).repeated.empty()) return as_it_is(data, names);
    if (std::optional<WholeLets> lets = take_whole_lets(expanded, *split, names)) {
      Frozen made =
          freeze_values(lets->rest, spec::split_lets(lets->rest, analysis::analyse), lets->left);
      made.lets = std::move(lets->computed);
      made.built_in.insert(made.built_in.end(), lets->made.begin(), lets->made.end());
      return made;
    }
  }
  return freeze_values(expanded, std::move(split), names);
}

} // namespace broadloom::freeze
