// See pairing.hpp.
#include "plan/pairing.hpp"

#include "support/reasons.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::plan {

using support::Reason;

namespace {

std::optional<std::size_t> output_called(const spec::TypedSpec &spec, const std::string &name) {
  for (std::size_t k = 0; k < spec.outputs.size(); ++k)
    if (spec.outputs[k].name == name) return k;
  return std::nullopt; // a let
}

// What a let or an output that is computed has loops for: empty where it has none of its own.
Pairs::Items items_called(const spec::TypedSpec &spec, const Trees &trees, const Nests &nests,
                          const std::string &name) {
  Pairs::Items items;
  const auto add = [&](std::optional<ItemId> item) {
    for (; item; item = nests[*item].arg_item) // a fold over several groups
      if (std::ranges::find(items, *item) == items.end()) items.push_back(*item);
  };
  if (const auto output = output_called(spec, name)) {
    for (std::uint32_t k = 0; k < nests.items.size(); ++k)
      if (nests.items[k].kind == ItemKind::Store && nests.items[k].output == *output)
        add(ItemId{k});
    return items;
  }
  for (const spec::NamedValue &let : spec.lets) {
    if (let.let != name || !trees.needed(let.value)) continue;
    add(nests.item_of_held[let.value.index]);
    for (expr::NodeId fold : trees.folds_in({&let.value, 1})) add(nests.item_of_fold[fold.index]);
  }
  return items;
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
    else
      (pairing.fuse ? pairs.items_together : pairs.items_apart)
          .push_back({items_called(spec, trees, nests, pairing.a),
                      items_called(spec, trees, nests, pairing.b)});
  }
  return pairs;
}

Apart::Apart(const Nests &nests, const Pairs &pairs) : pairs_(pairs) {
  const std::size_t count = pairs.apart.size();
  if (count == 0) return;
  needed_.assign(nests.items.size(), std::vector<bool>(2 * count));
  for (std::size_t i = nests.items.size(); i-- > 0;) { // users come after what they need
    const Item &item = nests.items[i];
    for (std::size_t p = 0; p < count; ++p)
      for (std::size_t side = 0; side < 2; ++side)
        if (item.kind == ItemKind::Store && item.output == pairs.apart[p][side])
          needed_[i][2 * p + side] = true;
    auto pass = [&](ItemId need) {
      for (std::size_t k = 0; k < 2 * count; ++k)
        if (needed_[i][k]) needed_[need.index][k] = true;
    };
    for (ItemId need : item.needs) pass(need);
    for (const auto &need : {item.arg_item, item.start_item, item.carried_item})
      if (need) pass(*need);
  }
}

bool Apart::may_meet(ItemId item, ItemId other) const {
  const auto has = [](const Pairs::Items &items, ItemId id) {
    return std::ranges::find(items, id) != items.end();
  };
  for (const auto &[a, b] : pairs_.items_apart)
    if ((has(a, item) && has(b, other)) || (has(b, item) && has(a, other))) return false;
  if (needed_.empty()) return true;
  const std::vector<bool> &x = needed_[item.index], &y = needed_[other.index];
  for (std::size_t p = 0; p < pairs_.apart.size(); ++p) {
    const bool xa = x[2 * p], xb = x[2 * p + 1], ya = y[2 * p], yb = y[2 * p + 1];
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
    // The phases, and of a let the last one that it needs.
    std::optional<std::size_t> first, second;
    bool without_loops = false;
    for (const auto &[name, phase] :
         {std::pair(&pairing.a, &first), std::pair(&pairing.b, &second)}) {
      const Pairs::Items items = items_called(spec, trees, nests, *name);
      for (ItemId item : items) *phase = std::max(*phase, std::optional(nests[item].place->phase));
      without_loops = without_loops || (items.empty() && !output_called(spec, *name));
    }
    const std::string *array = spec.is_array(pairing.a)   ? &pairing.a
                               : spec.is_array(pairing.b) ? &pairing.b
                                                          : nullptr;
    if (array != nullptr) {
      note(Reason::FuseOfArray, Reason::SeparateOfArray, "a kernel of its own",
           names + fmt::format("let '{}' is an array, which a kernel of its own computes first",
                               *array));
      continue;
    }
    if (without_loops) {
      note(Reason::FuseOfLet, Reason::SeparateOfLet, "where it is read",
           names + "a let has no loops of its own, it is computed where it is read");
      continue;
    }
    if (!first || !second) continue; // not asked for
    const bool together = first == second;
    if (together)
      note(Reason::FuseDone, Reason::SeparateImpossible, "one phase",
           names + fmt::format("{}both in phase {}",
                               pairing.fuse ? "" : "not possible here: ", *first));
    else
      note(Reason::FuseImpossible, Reason::SeparateDone, "two phases",
           names + fmt::format("{}in phases {} and {}", pairing.fuse ? "not possible here: " : "",
                               *first, *second));
  }
}

} // namespace broadloom::plan
