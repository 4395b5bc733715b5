// What changed from one run to another. See row.hpp.
#include "bench/row.hpp"

#include "bench/row_format.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bench {
namespace {

const Row *find_row(const Run &run, const std::string &id) {
  const auto found =
      std::find_if(run.rows.begin(), run.rows.end(), [&](const Row &row) { return row.id == id; });
  return found == run.rows.end() || !found->failure.empty() ? nullptr : &*found;
}

const PeerRow *find_peer(const Row &row, const std::string &name) {
  const auto found = std::find_if(row.peers.begin(), row.peers.end(), [&](const PeerRow &peer) {
    return peer.name == name && peer.status == PeerRow::Status::Ok && peer.seconds > 0;
  });
  return found == row.peers.end() ? nullptr : &*found;
}

void judge(const Row &before, const Row &after, double tolerance, Change &change) {
  change.before_ns = before.ns_per_element();
  change.after_ns = after.ns_per_element();
  const PeerRow *then = before.best_peer();
  const PeerRow *now = then != nullptr ? find_peer(after, then->name) : nullptr;
  if (before.roof && after.roof) {
    change.judged = "roofline";
    change.factor = before.roof->fraction / after.roof->fraction;
  } else if (now != nullptr) {
    change.judged = "ratio to " + now->name;
    change.factor = now->ratio / then->ratio;
  } else {
    change.judged = "time";
    change.factor = after.seconds / before.seconds;
  }
  if (change.factor > 1 + tolerance) change.kind = Change::Kind::Slower;
  if (change.factor < 1 / (1 + tolerance)) change.kind = Change::Kind::Faster;
}

constexpr const char *word(Change::Kind kind) {
  switch (kind) {
  case Change::Kind::Same: return "";
  case Change::Kind::Faster: return "faster";
  case Change::Kind::Slower: return "SLOWER";
  case Change::Kind::Appeared: return "new";
  case Change::Kind::Vanished: return "GONE";
  }
  return "";
}

} // namespace

std::vector<Change> compare(const Run &before, const Run &after, double tolerance) {
  std::vector<Change> changes;
  for (const Row &old : before.rows) {
    if (!old.failure.empty()) continue;
    Change change;
    change.id = old.id;
    if (const Row *row = find_row(after, old.id))
      judge(old, *row, tolerance, change);
    else
      change.kind = Change::Kind::Vanished;
    changes.push_back(std::move(change));
  }
  for (const Row &row : after.rows) {
    if (!row.failure.empty() || find_row(before, row.id) != nullptr) continue;
    Change change;
    change.id = row.id;
    change.kind = Change::Kind::Appeared;
    change.after_ns = row.ns_per_element();
    changes.push_back(std::move(change));
  }
  return changes;
}

std::string to_text(const std::vector<Change> &changes) {
  std::string text = fmt::format("{:<17} {:>11} {:>11} {:>7}  {}\n", "case", "ns/elem was", "is",
                                 "factor", "judged by");
  for (const Change &change : changes) {
    const auto ns = [](double value) { return value > 0 ? fmt::format("{:.4g}", value) : ""; };
    text += fmt::format("{:<17} {:>11} {:>11} {:>7}  {:<20} {}\n", change.id, ns(change.before_ns),
                        ns(change.after_ns),
                        change.judged.empty() ? "" : fmt::format("{:.2f}", change.factor),
                        change.judged, word(change.kind));
  }
  return text;
}

} // namespace bench
