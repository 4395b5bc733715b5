// See pairing.hpp.
#include "plan/pairing.hpp"

#include "support/reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace broadloom::plan {

using support::Reason;

namespace {

std::optional<std::size_t> output_called(const spec::TypedSpec &spec, const std::string &name) {
  for (std::size_t k = 0; k < spec.outputs.size(); ++k)
    if (spec.outputs[k].name == name) return k;
  return std::nullopt; // a let
}

Pairs::Items stores_of(const Nests &nests, std::size_t output) {
  Pairs::Items items;
  for (std::uint32_t k = 0; k < nests.items.size(); ++k)
    if (nests.items[k].kind == ItemKind::Store && nests.items[k].output == output)
      items.push_back(ItemId{k});
  return items;
}

// What a let or an output that is computed has loops for: empty where it has none of its own. An
// output that is kept apart from a let has its folds, too: `out s = max(x, j)` is to be swept by
// itself, not only stored.
enum class Folds : std::uint8_t { OfLets, OfOutputsToo };
Pairs::Items items_called(const spec::TypedSpec &spec, const Trees &trees, const Nests &nests,
                          const std::string &name, Folds folds = Folds::OfLets) {
  Pairs::Items items;
  const auto add = [&](std::optional<ItemId> item) {
    for (; item; item = nests[*item].arg_item) // a fold over several groups
      if (std::ranges::find(items, *item) == items.end()) items.push_back(*item);
  };
  if (const auto output = output_called(spec, name)) {
    for (ItemId store : stores_of(nests, *output)) add(store);
    if (folds == Folds::OfOutputsToo)
      for (expr::NodeId fold : trees.folds_in({&spec.outputs[*output].value, 1}))
        add(nests.item_of_fold[fold.index]);
    return items;
  }
  for (const spec::NamedValue &let : spec.lets) {
    if (let.let != name || !trees.needed(let.value)) continue;
    add(nests.item_of_held[let.value.index]);
    for (expr::NodeId fold : trees.folds_in({&let.value, 1})) add(nests.item_of_fold[fold.index]);
  }
  return items;
}

// Calls visit(need) with the items whose results an item takes.
template <class Visit> void for_each_need(const Item &item, Visit visit) {
  for (ItemId need : item.needs) visit(need);
  for (const auto &need : {item.arg_item, item.start_item, item.carried_item})
    if (need) visit(*need);
}

// [item]: these, and all that they need.
std::vector<bool> with_needs(const Nests &nests, const Pairs::Items &items) {
  std::vector<bool> needed(nests.items.size());
  for (ItemId item : items) needed[item.index] = true;
  for (std::size_t i = nests.items.size(); i-- > 0;) // users come after what they need
    if (needed[i]) for_each_need(nests.items[i], [&](ItemId need) { needed[need.index] = true; });
  return needed;
}

// The first phase that computes something of the one which the other does not need, and the other
// way round: a sum whose chunks are joined later is in the phase that reads, too.
std::optional<std::size_t> shared_phase(const Nests &nests, const Pairs::Items &a,
                                        const Pairs::Items &b) {
  const std::vector<bool> of_a = with_needs(nests, a), of_b = with_needs(nests, b);
  std::vector<std::array<bool, 2>> has(nests.phases.size());
  for (std::size_t i = 0; i < nests.items.size(); ++i)
    if (of_a[i] != of_b[i] && nests.items[i].place)
      has[nests.items[i].place->phase][of_b[i]] = true;
  for (std::size_t phase = 0; phase < has.size(); ++phase)
    if (has[phase][0] && has[phase][1]) return phase;
  return std::nullopt;
}

} // namespace

Pairs find_pairs(const Request &request, const Trees &trees, const Nests &nests) {
  Pairs pairs;
  const spec::TypedSpec &spec = request.spec;
  for (const Pairing &pairing : spec.pairings) {
    const auto a = output_called(spec, pairing.a), b = output_called(spec, pairing.b);
    if ((a && !request.wanted[*a]) || (b && !request.wanted[*b])) continue;
    if (a && b)
      (pairing.fuse ? pairs.together : pairs.apart).push_back({*a, *b});
    else {
      const Folds folds = pairing.fuse ? Folds::OfLets : Folds::OfOutputsToo;
      (pairing.fuse ? pairs.items_together : pairs.items_apart)
          .push_back({items_called(spec, trees, nests, pairing.a, folds),
                      items_called(spec, trees, nests, pairing.b, folds)});
    }
  }
  return pairs;
}

Apart::Apart(const Nests &nests, const Pairs &pairs) : pairs_(pairs) {
  for (const auto &[a, b] : pairs.apart)
    needed_.push_back(
        {with_needs(nests, stores_of(nests, a)), with_needs(nests, stores_of(nests, b))});
}

bool Apart::may_meet(ItemId item, ItemId other) const {
  const auto has = [](const Pairs::Items &items, ItemId id) {
    return std::ranges::find(items, id) != items.end();
  };
  for (const auto &[a, b] : pairs_.items_apart)
    if ((has(a, item) && has(b, other)) || (has(b, item) && has(a, other))) return false;
  for (const auto &[a, b] : needed_) {
    const bool xa = a[item.index], xb = b[item.index], ya = a[other.index], yb = b[other.index];
    if ((xa && !xb && yb && !ya) || (xb && !xa && ya && !yb)) return false;
  }
  return true;
}

void explain_pairs(const Request &request, const Trees &trees, const Nests &nests, Why &why) {
  const spec::TypedSpec &spec = request.spec;
  for (const Pairing &pairing : spec.pairings) {
    const auto note = [&](Reason fuse, Reason separate, const char *choice, std::string text) {
      why.add([&] {
        return support::decide(pairing.fuse ? fuse : separate, pairing.a + ", " + pairing.b, choice,
                               std::move(text));
      });
    };
    const std::string names = fmt::format("{}, {}: ", pairing.a, pairing.b);
    const Pairs::Items a = items_called(spec, trees, nests, pairing.a),
                       b = items_called(spec, trees, nests, pairing.b);
    const auto last_phase = [&](const Pairs::Items &items) {
      std::optional<std::size_t> last;
      for (ItemId item : items) last = std::max(last, std::optional(nests[item].place->phase));
      return last;
    };
    const std::optional<std::size_t> first = last_phase(a), second = last_phase(b);
    const bool without_loops =
        (!first && !output_called(spec, pairing.a)) || (!second && !output_called(spec, pairing.b));
    const std::string *array = spec.is_array(pairing.a)   ? &pairing.a
                               : spec.is_array(pairing.b) ? &pairing.b
                                                          : nullptr;
    if (array != nullptr) {
      note(Reason::FuseOfArray, Reason::SeparateOfArray, "a kernel of its own",
           names + fmt::format("{}let '{}' is an array: a kernel of its own computes all of it "
                               "before the first loop here",
                               pairing.fuse ? "not possible: " : "", *array));
      continue;
    }
    if (without_loops) {
      note(Reason::FuseOfLet, Reason::SeparateOfLet, "where it is read",
           names + "a let has no loops of its own, it is computed where it is read");
      continue;
    }
    if (!first || !second) continue; // not asked for
    std::optional<std::size_t> together = shared_phase(nests, a, b);
    if (!together && first == second) together = first; // one of which the other is made
    if (together)
      note(Reason::FuseDone, Reason::SeparateImpossible, "one phase",
           names + fmt::format("{}both in phase {}",
                               pairing.fuse ? "" : "not possible here: ", *together));
    else
      note(Reason::FuseImpossible, Reason::SeparateDone, "two phases",
           names + fmt::format("{}in phases {} and {}", pairing.fuse ? "not possible here: " : "",
                               *first, *second));
  }
}

} // namespace broadloom::plan
