// See pairing.hpp.
#include "plan/pairing.hpp"

#include "support/reasons.hpp"

#include <fmt/format.h>

namespace broadloom::plan {

using support::Reason;

namespace {

int output_called(const spec::TypedSpec &spec, const std::string &name) {
  for (std::size_t k = 0; k < spec.outputs.size(); ++k)
    if (spec.outputs[k].name == name) return int(k);
  return -1; // a let
}

int phase_of(const Nests &nests, int output) {
  for (const Item &item : nests.items)
    if (item.kind == ItemKind::Store && item.output == output) return item.phase;
  return -1; // not asked for
}

} // namespace

Apart::Apart(const Nests &nests) : pairs_(nests.apart.size()) {
  if (empty()) return;
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
  const std::vector<bool> &x = needed_[std::size_t(item)], &y = needed_[std::size_t(other)];
  for (std::size_t p = 0; p < pairs_; ++p) {
    const bool xa = x[2 * p], xb = x[2 * p + 1], ya = y[2 * p], yb = y[2 * p + 1];
    if ((xa && !xb && yb && !ya) || (xb && !xa && ya && !yb)) return false;
  }
  return true;
}

std::vector<std::array<int, 2>> paired_outputs(const spec::TypedSpec &spec,
                                               const std::vector<bool> &wanted, bool fuse) {
  std::vector<std::array<int, 2>> pairs;
  for (const Pairing &pairing : spec.pairings) {
    const int a = output_called(spec, pairing.a), b = output_called(spec, pairing.b);
    if (pairing.fuse != fuse || a < 0 || b < 0 || !wanted[std::size_t(a)] ||
        !wanted[std::size_t(b)])
      continue;
    pairs.push_back({a, b});
  }
  return pairs;
}

void note_pairings(const spec::TypedSpec &spec, Nests &nests) {
  for (const Pairing &pairing : spec.pairings) {
    const auto note = [&](Reason fuse, Reason separate, const char *choice, std::string text) {
      nests.why.add([&] {
        return support::decide(pairing.fuse ? fuse : separate, pairing.a + ", " + pairing.b, choice,
                               std::move(text));
      });
    };
    const std::string names = fmt::format("{}, {}: ", pairing.a, pairing.b);
    const int a = output_called(spec, pairing.a), b = output_called(spec, pairing.b);
    if (a < 0 || b < 0) {
      note(Reason::FuseOfLet, Reason::SeparateOfLet, "where it is read",
           names + "a let has no loops of its own, it is computed where it is read");
      continue;
    }
    const int first = phase_of(nests, a), second = phase_of(nests, b);
    if (first < 0 || second < 0) continue;
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
