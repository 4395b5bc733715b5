// See pairing.hpp.
#include "plan/pairing.hpp"

#include "support/reasons.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::plan {

using support::Reason;

namespace {

int output_called(const spec::TypedSpec &spec, const std::string &name) {
  for (std::size_t k = 0; k < spec.outputs.size(); ++k)
    if (spec.outputs[k].name == name) return int(k);
  return -1; // a let
}

// What a let or an output that is computed has loops for: empty where it has none of its own.
Pairs::Items items_called(const spec::TypedSpec &spec, const Trees &trees, const Nests &nests,
                          const std::string &name) {
  Pairs::Items items;
  const auto add = [&](int item) {
    for (; item >= 0; item = nests.items[std::size_t(item)].arg_item) // a fold over several groups
      if (std::ranges::find(items, item) == items.end()) items.push_back(item);
  };
  if (const int output = output_called(spec, name); output >= 0) {
    for (std::size_t k = 0; k < nests.items.size(); ++k)
      if (nests.items[k].kind == ItemKind::Store && nests.items[k].output == output) add(int(k));
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
    const int a = output_called(spec, pairing.a), b = output_called(spec, pairing.b);
    const auto computed = [&](int output) {
      return output < 0 || request.wanted[std::size_t(output)];
    };
    if (!computed(a) || !computed(b)) continue;
    if (a >= 0 && b >= 0)
      (pairing.fuse ? pairs.together : pairs.apart).push_back({a, b});
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
    auto pass = [&](int need) {
      if (need < 0) return;
      for (std::size_t k = 0; k < 2 * count; ++k)
        if (needed_[i][k]) needed_[std::size_t(need)][k] = true;
    };
    for (int need : item.needs) pass(need);
    for (int need : {item.arg_item, item.start_item, item.carried_item}) pass(need);
  }
}

bool Apart::may_meet(int item, int other) const {
  const auto has = [](const Pairs::Items &items, int index) {
    return std::ranges::find(items, index) != items.end();
  };
  for (const auto &[a, b] : pairs_.items_apart)
    if ((has(a, item) && has(b, other)) || (has(b, item) && has(a, other))) return false;
  if (needed_.empty()) return true;
  const std::vector<bool> &x = needed_[std::size_t(item)], &y = needed_[std::size_t(other)];
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
    int phases[2] = {-1, -1}, k = 0;
    bool without_loops = false;
    for (const std::string *name : {&pairing.a, &pairing.b}) {
      const Pairs::Items items = items_called(spec, trees, nests, *name);
      for (int item : items) phases[k] = std::max(phases[k], nests.items[std::size_t(item)].phase);
      without_loops = without_loops || (items.empty() && output_called(spec, *name) < 0);
      ++k;
    }
    if (without_loops) {
      note(Reason::FuseOfLet, Reason::SeparateOfLet, "where it is read",
           names + "a let has no loops of its own, it is computed where it is read");
      continue;
    }
    const int first = phases[0], second = phases[1];
    if (first < 0 || second < 0) continue; // not asked for
    const bool together = first == second;
    if (together)
      note(Reason::FuseDone, Reason::SeparateImpossible, "one phase",
           names +
               fmt::format("{}both in phase {}", pairing.fuse ? "" : "not possible here: ", first));
    else
      note(Reason::FuseImpossible, Reason::SeparateDone, "two phases",
           names + fmt::format("{}in phases {} and {}", pairing.fuse ? "not possible here: " : "",
                               first, second));
  }
}

} // namespace broadloom::plan
