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
Nests::Items items_called(const spec::TypedSpec &spec, const Trees &trees, const Nests &nests,
                          const std::string &name) {
  Nests::Items items;
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

Apart::Apart(const Nests &nests) : nests_(nests), pairs_(nests.apart.size()) {
  if (pairs_ == 0) return;
  needed_.assign(nests.items.size(), std::vector<bool>(2 * pairs_));
  for (std::size_t i = nests.items.size(); i-- > 0;) { // users come after what they need
    const Item &item = nests.items[i];
    for (std::size_t p = 0; p < pairs_; ++p)
      for (std::size_t side = 0; side < 2; ++side)
        if (item.kind == ItemKind::Store && item.output == nests.apart[p][side])
          needed_[i][2 * p + side] = true;
    auto pass = [&](int need) {
      if (need < 0) return;
      for (std::size_t k = 0; k < 2 * pairs_; ++k)
        if (needed_[i][k]) needed_[std::size_t(need)][k] = true;
    };
    for (int need : item.needs) pass(need);
    for (int need : {item.arg_item, item.start_item, item.carried_item}) pass(need);
  }
}

bool Apart::may_meet(int item, int other) const {
  const auto has = [](const Nests::Items &items, int index) {
    return std::ranges::find(items, index) != items.end();
  };
  for (const auto &[a, b] : nests_.items_apart)
    if ((has(a, item) && has(b, other)) || (has(b, item) && has(a, other))) return false;
  if (pairs_ == 0) return true;
  const std::vector<bool> &x = needed_[std::size_t(item)], &y = needed_[std::size_t(other)];
  for (std::size_t p = 0; p < pairs_; ++p) {
    const bool xa = x[2 * p], xb = x[2 * p + 1], ya = y[2 * p], yb = y[2 * p + 1];
    if ((xa && !xb && yb && !ya) || (xb && !xa && ya && !yb)) return false;
  }
  return true;
}

std::vector<std::array<int, 2>> paired_outputs(const Request &request, bool fuse) {
  std::vector<std::array<int, 2>> pairs;
  for (const Pairing &pairing : request.spec.pairings) {
    const int a = output_called(request.spec, pairing.a),
              b = output_called(request.spec, pairing.b);
    if (pairing.fuse != fuse || a < 0 || b < 0 || !request.wanted[std::size_t(a)] ||
        !request.wanted[std::size_t(b)])
      continue;
    pairs.push_back({a, b});
  }
  return pairs;
}

void note_paired_items(const Request &request, const Trees &trees, Nests &nests) {
  for (const Pairing &pairing : request.spec.pairings) {
    bool computed = true, both_outputs = true;
    for (const std::string *name : {&pairing.a, &pairing.b}) {
      const int output = output_called(request.spec, *name);
      computed = computed && (output < 0 || request.wanted[std::size_t(output)]);
      both_outputs = both_outputs && output >= 0;
    }
    if (!computed || both_outputs) continue;
    const Nests::Items a = items_called(request.spec, trees, nests, pairing.a),
                       b = items_called(request.spec, trees, nests, pairing.b);
    (pairing.fuse ? nests.items_together : nests.items_apart).push_back({a, b});
  }
}

void note_pairings(const spec::TypedSpec &spec, const Trees &trees, Nests &nests) {
  for (const Pairing &pairing : spec.pairings) {
    const auto note = [&](Reason fuse, Reason separate, const char *choice, std::string text) {
      nests.why.add([&] {
        return support::decide(pairing.fuse ? fuse : separate, pairing.a + ", " + pairing.b, choice,
                               std::move(text));
      });
    };
    const std::string names = fmt::format("{}, {}: ", pairing.a, pairing.b);
    // The phases, and of a let the last one that it needs.
    int phases[2] = {-1, -1}, k = 0;
    bool without_loops = false;
    for (const std::string *name : {&pairing.a, &pairing.b}) {
      const Nests::Items items = items_called(spec, trees, nests, *name);
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
