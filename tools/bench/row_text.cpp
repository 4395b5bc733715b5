// Runs for people: text, Markdown, misses. See row.hpp.
#include "bench/row.hpp"

#include "bench/row_format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace bench {

const PeerRow *Row::best_peer() const {
  const PeerRow *best = nullptr;
  for (const PeerRow &peer : peers)
    if (peer.status == PeerRow::Status::Ok && peer.seconds > 0 &&
        (best == nullptr || peer.ratio > best->ratio))
      best = &peer;
  return best;
}

std::string time_text(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.1f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.4g} us", seconds * 1e6);
  return fmt::format("{:.4g} ms", seconds * 1e3);
}

std::string roof_text(const Row &row) {
  return row.roof ? fmt::format("{:.0f} %", row.roof->fraction * 100) : "";
}

std::string bandwidth_text(const Row &row) {
  return row.roof ? fmt::format("{:.1f}", row.gb_per_second()) : "";
}

std::string ratio_text(double ratio) {
  return ratio < 0.1 ? fmt::format("{:.3f}", ratio) : fmt::format("{:.2f}", ratio);
}

std::string predicted_text(const Row &row) {
  return row.predicted ? fmt::format("{:.2f}", *row.predicted / row.seconds) : "";
}

std::string scaling_text(const Row &row) {
  std::string words;
  for (const Scaling &s : row.scaling) {
    words += fmt::format("{}{} {} {}", words.empty() ? "" : ", ", s.threads,
                         s.threads == 1 ? "thread" : "threads", time_text(s.seconds));
    if (&s != &row.scaling.front() && s.seconds > 0)
      words += fmt::format(" ({:.2f} times as fast)", row.scaling.front().seconds / s.seconds);
  }
  return words;
}

std::string text_header() {
  return fmt::format("{:<17} {:>10} {:>9} {:>7} {:>6} {:>9}  {:>6} {:<14} {:>8} {:>7} {:<7} {}",
                     "case", "time", "predicted", "GB/s", "roof", "ns/elem", "ratio",
                     "to best peer", "compile", "code", "cache", "");
}

std::string text_row(const Row &row) {
  if (!row.failure.empty()) return fmt::format("{:<17} FAILED: {}", row.id, row.failure);
  const PeerRow *best = row.best_peer();
  std::string line = fmt::format(
      "{:<17} {:>10} {:>9} {:>7} {:>6} {:>9.4g}  {:>6} {:<14} {:>5.1f} ms {:>5} B {:<7} {}", row.id,
      time_text(row.seconds), predicted_text(row), bandwidth_text(row), roof_text(row),
      row.ns_per_element(), best ? ratio_text(best->ratio) : "", best ? best->name : "no peer",
      row.compile_ms, row.code_bytes ? std::to_string(*row.code_bytes) : "?", row.cache, row.title);
  if (!row.scaling.empty()) line += fmt::format("\n{:>18}{}", "", scaling_text(row));
  for (const PeerRow &peer : row.peers) {
    if (peer.status == PeerRow::Status::Failed)
      line += fmt::format("\n{:>18}{} FAILED: {}", "", peer.name, peer.note);
    if (peer.status == PeerRow::Status::Wrong)
      line += fmt::format("\n{:>18}{} is WRONG by {:.2g} ({})", "", peer.name, peer.error,
                          time_text(peer.seconds));
  }
  return line;
}

std::string text_of_probe(const Run &run) {
  std::string text;
  for (const ProbeLine &line : run.probe)
    text += fmt::format("{:<34} {:>9.1f} {}\n", line.name, line.value, line.unit);
  return text;
}

std::vector<Miss> misses_of(const Run &run) {
  std::vector<Miss> misses;
  for (const Row &row : run.rows) {
    if (!row.failure.empty()) continue;
    if (const PeerRow *best = row.best_peer(); best != nullptr && best->ratio > 1.03)
      misses.push_back({&row,
                        fmt::format("takes {:.2f} times as long as {}", best->ratio, best->name),
                        best->ratio});
    if (row.roof && row.roof->fraction < 0.8)
      misses.push_back({&row,
                        fmt::format("reaches {:.0f} % of the roofline ({})",
                                    row.roof->fraction * 100, row.roof->name),
                        1 / row.roof->fraction});
  }
  std::sort(misses.begin(), misses.end(),
            [](const Miss &a, const Miss &b) { return a.factor > b.factor; });
  return misses;
}

namespace {

// All other peers, the fastest first: "numba 1.31, numpy 0.22, halide wrong".
std::string other_peers(const Row &row) {
  std::vector<PeerRow> peers = row.peers;
  std::sort(peers.begin(), peers.end(), [](const PeerRow &a, const PeerRow &b) {
    return std::pair(a.status, -a.ratio) < std::pair(b.status, -b.ratio);
  });
  std::vector<std::string> words;
  const PeerRow *best = row.best_peer();
  for (const PeerRow &peer : peers) {
    if (best != nullptr && peer.name == best->name) continue;
    switch (peer.status) {
    case PeerRow::Status::Ok:
      words.push_back(fmt::format("{} {}", peer.name, ratio_text(peer.ratio)));
      break;
    case PeerRow::Status::Wrong:
      words.push_back(fmt::format("{} wrong by {:.1g}", peer.name, peer.error));
      break;
    case PeerRow::Status::Failed: words.push_back(peer.name + " failed"); break;
    }
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string table_cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string table_row(const Row &row) {
  if (!row.failure.empty())
    return fmt::format("| {} | {} | failed | | | | | | | | |\n", row.id, table_cell(row.title));
  const PeerRow *best = row.best_peer();
  return fmt::format("| {} | `{}` | {} | {} | {} | {} | {:.3g} | {} | {} | {:.1f} | {} |\n", row.id,
                     table_cell(row.title), time_text(row.seconds), predicted_text(row),
                     bandwidth_text(row), roof_text(row), row.ns_per_element(),
                     best ? fmt::format("**{}** {}", ratio_text(best->ratio), best->name) : "",
                     other_peers(row), row.compile_ms,
                     row.code_bytes ? std::to_string(*row.code_bytes) : "");
}

} // namespace

std::string text_of_predictions(const Run &run) {
  std::vector<double> errors;
  for (const Row &row : run.rows)
    if (row.predicted && row.seconds > 0)
      errors.push_back(std::abs(*row.predicted / row.seconds - 1));
  if (errors.empty()) return "";
  std::ranges::sort(errors);
  const double median = (errors[(errors.size() - 1) / 2] + errors[errors.size() / 2]) / 2;
  return fmt::format("Predictions: median error {:.0f} % over {} cases.\n", median * 100,
                     errors.size());
}

std::string to_markdown(const Run &run) {
  std::string text = fmt::format("{}, {} threads, {}. Peers: hand-written C++", run.machine,
                                 run.threads, run.date);
  for (const std::string &peer : run.peers) text += ", " + peer;
  text += ".\n";
  if (!run.missing.empty())
    text += fmt::format("Missing in this run: {}.\n", fmt::join(run.missing, "; "));
  text += "\n| the machine at the start of the run | |\n| --- | --- |\n";
  for (const ProbeLine &line : run.probe)
    text += fmt::format("| {} | {:.1f} {} |\n", line.name, line.value, line.unit);
  text += "\n| case | | time | predicted | GB/s | roofline | ns/element | ratio to the best peer | "
          "to others | "
          "compile ms | code bytes |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Row &row : run.rows) text += table_row(row);
  if (const std::string line = text_of_predictions(run); !line.empty()) text += "\n" + line;
  const std::vector<Miss> misses = misses_of(run);
  text += misses.empty() ? "\nNo row misses.\n" : "\nMisses, the greatest first:\n\n";
  for (const Miss &miss : misses) text += fmt::format("- {} {}\n", miss.row->id, miss.what);
  return text;
}

std::string with_table(const std::string &page, const std::string &table) {
  const std::string begin = "<!-- bench: begin -->\n", end = "<!-- bench: end -->\n";
  const std::size_t from = page.find(begin), to = page.find(end);
  if (from == page.npos || to == page.npos || to < from)
    throw std::runtime_error("the page lacks the lines <!-- bench: begin --> and <!-- bench: end "
                             "-->, between which the table goes");
  return page.substr(0, from + begin.size()) + table + page.substr(to);
}

} // namespace bench
