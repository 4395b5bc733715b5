// A run as one HTML file with SVG bars, which needs nothing else. See row.hpp.
#include "bench/row.hpp"

#include "bench/row_format.hpp"
#include "support/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace bench {
namespace {

using broadloom::support::escaped_markup;

constexpr const char *style = R"(
:root { color-scheme: light dark; --ink: #1d2430; --paper: #fff; --faint: #6b7280; --line: #e3e6eb;
        --ours: #2563eb; --peer: #9aa5b5; --bad: #c2410c; --roof: #111827 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e5e9f0; --paper: #14181f; --faint: #9aa5b5; --line: #2b323d; --ours: #60a5fa;
          --peer: #5b6675; --bad: #fb923c; --roof: #e5e9f0 } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1rem; margin: 1.6rem 0 .2rem } h2 span { font-weight: 400; color: var(--faint) }
p, table { color: var(--faint); margin: .2rem 0 } b { color: var(--ink) } .bad { color: var(--bad) }
td { padding: 0 .8rem 0 0 } td:nth-child(2) { text-align: right }
svg { display: block; width: 100%; height: auto } svg text { font: 12px system-ui, sans-serif; fill: var(--ink) }
.overview svg { width: 120px } .overview th { text-align: left; font-weight: 400 } .overview td:nth-child(5) { text-align: right }
@media (max-width: 30rem) { .overview svg { width: 60px } td { padding: 0 .4rem 0 0 } }
a { color: inherit } details { color: var(--faint) } pre { font-size: 12px; white-space: pre-wrap; border-left: 2px solid var(--line); padding-left: .8rem }
.ours { fill: var(--ours) } .peer { fill: var(--peer) } .wrong { fill: none; stroke: var(--bad) } .roof { stroke: var(--roof) }
.line { fill: none; stroke: var(--peer); stroke-width: 1.5 }
.ours-line { stroke: var(--ours); stroke-width: 3 }
)";

struct Bar {
  std::string name, note, kind; // the kind is a class of the style sheet
  double seconds = 0;
};

std::vector<Bar> bars_of(const Row &row) {
  std::vector<Bar> bars{{"Broadloom", "", "ours", row.seconds}};
  for (const PeerRow &peer : row.peers) {
    switch (peer.status) {
    case PeerRow::Status::Ok:
      // From paired rounds, so that lengths agree with the ratios.
      bars.push_back({peer.name, "", "peer", row.seconds / peer.ratio});
      break;
    case PeerRow::Status::Wrong:
      bars.push_back({peer.name, fmt::format(", wrong by {:.1g}", peer.error), "wrong",
                      row.seconds / peer.ratio});
      break;
    case PeerRow::Status::Failed: break;
    }
  }
  std::sort(bars.begin(), bars.end(),
            [](const Bar &a, const Bar &b) { return a.seconds < b.seconds; });
  return bars;
}

// Bars of time, shorter is faster; a line where the roofline is. Bars that go beyond 6 times ours
// are cut.
std::string svg_of(const Row &row) {
  constexpr double left = 130, width = 560, height = 20;
  const std::vector<Bar> bars = bars_of(row);
  const double longest = std::min(
      row.seconds * 6, std::max_element(bars.begin(), bars.end(), [](const Bar &a, const Bar &b) {
                         return a.seconds < b.seconds;
                       })->seconds);
  std::string svg = fmt::format("<svg viewBox=\"0 0 860 {}\" role=\"img\" aria-label=\"{}\">\n",
                                height * double(bars.size()) + 4, escaped_markup(row.title));
  double y = 2;
  for (const Bar &bar : bars) {
    const bool cut = bar.seconds > longest;
    const double length = std::max(1.0, std::min(bar.seconds, longest) / longest * width);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
                       "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>"
                       "<text x=\"{:.1f}\" y=\"{}\">{}{}{}</text>\n",
                       left - 8, y + 14, escaped_markup(bar.name), bar.kind, left, y + 3, length,
                       height - 6, left + length + 6, y + 14, cut ? "&#8230; " : "",
                       time_text(bar.seconds), escaped_markup(bar.note));
    y += height;
  }
  if (row.roof) {
    const double x = left + row.seconds * row.roof->fraction / longest * width;
    svg += fmt::format("<line class=\"roof\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1}\" "
                       "stroke-dasharray=\"3 2\"/>\n",
                       x, y);
  }
  return svg + "</svg>\n";
}

// Half of the rounds lie between the two: on a quiet machine they are nearly as long.
bool was_busy(const Row &row) { return row.high > 1.3 * row.low; }

// All rows at a glance: a bar of the roofline, and the ratio to the best peer.
std::string overview_of(const Run &run) {
  std::string html =
      "<table class=\"overview\"><tr><th>case</th><th>time</th><th>roofline</th><th></th>"
      "<th>ratio</th><th>to the best peer</th></tr>\n";
  for (const Row &row : run.rows) {
    html += fmt::format("<tr><td><a href=\"#{0}\">{0}</a></td>", escaped_markup(row.id));
    if (!row.failure.empty()) {
      html += "<td class=\"bad\">failed</td></tr>\n";
      continue;
    }
    html += fmt::format("<td>{}{}</td>", time_text(row.seconds), was_busy(row) ? " *" : "");
    if (row.roof)
      html += fmt::format("<td><svg viewBox=\"0 0 120 10\"><rect class=\"{}\" x=\"0\" y=\"0\" "
                          "width=\"{:.1f}\" height=\"10\"/></svg></td><td>{}</td>",
                          row.roof->fraction < 0.8 ? "peer" : "ours",
                          std::min(row.roof->fraction, 1.2) * 100, roof_text(row));
    else
      html += "<td></td><td></td>";
    if (const PeerRow *best = row.best_peer(); best != nullptr)
      html += fmt::format("<td class=\"{}\">{}</td><td>{}</td>", best->ratio > 1.03 ? "bad" : "",
                          ratio_text(best->ratio), escaped_markup(best->name));
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

// "N" of "N-16K": rows that differ in their size alone have the rest of their names in common.
std::string family_of(const std::string &id) {
  const std::size_t dash = id.rfind('-');
  if (dash == id.npos || dash + 2 >= id.size()) return {};
  const std::size_t digits = id.find_first_not_of("0123456789", dash + 1);
  const bool is_size = digits == id.size() - 1 && digits > dash + 1 &&
                       std::string_view("KMG").find(id[digits]) != std::string_view::npos;
  return is_size ? id.substr(0, dash) : "";
}

// The time of an element over the number of elements, for us and for each peer that ran all sizes.
std::string curve_of(const std::string &family, const std::vector<const Row *> &rows) {
  constexpr double left = 60, top = 12, width = 520, height = 200;
  std::map<std::string, std::vector<double>> lines; // ns of an element, by who
  for (const Row *row : rows) {
    lines["Broadloom"].push_back(row->ns_per_element());
    for (const PeerRow &peer : row->peers)
      if (peer.status == PeerRow::Status::Ok && peer.ratio > 0)
        lines[peer.name].push_back(row->ns_per_element() / peer.ratio);
  }
  std::erase_if(lines, [&](const auto &line) { return line.second.size() < rows.size(); });
  double least = rows[0]->ns_per_element(), most = least;
  for (const auto &[name, values] : lines)
    for (const double value : values) least = std::min(least, value), most = std::max(most, value);
  const double first = std::log(double(rows.front()->elements)),
               last = std::log(double(rows.back()->elements));
  const auto x = [&](const Row *row) {
    return left + width * (std::log(double(row->elements)) - first) / (last - first);
  };
  const auto y = [&](double ns) {
    const double share = most > least ? std::log(most / ns) / std::log(most / least) : 0.5;
    return top + height * share;
  };
  std::string svg =
      fmt::format("<h2>{} <span>ns for each element, by how many there are</span></h2>\n"
                  "<svg viewBox=\"0 0 860 {}\" role=\"img\" aria-label=\"{}\">\n",
                  escaped_markup(family), top + height + 34, escaped_markup(family));
  for (const Row *row : rows)
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x(row),
                       top + height + 26, escaped_markup(row->id.substr(family.size() + 1)));
  for (const double ns : {least, most})
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.3g}</text>", left - 10,
                       y(ns) + 4, ns);
  double below = 0; // so that names of lines that end together do not meet
  std::vector<std::pair<double, std::string>> ends;
  for (const auto &[name, values] : lines) ends.emplace_back(y(values.back()), name);
  std::ranges::sort(ends);
  for (const auto &[end, name] : ends) {
    std::string points;
    for (std::size_t k = 0; k < rows.size(); ++k)
      points += fmt::format("{:.1f},{:.1f} ", x(rows[k]), y(lines[name][k]));
    below = std::max(below + 14, end + 4);
    svg +=
        fmt::format("<polyline class=\"{}\" points=\"{}\"/><text x=\"{}\" y=\"{:.1f}\">{}</text>\n",
                    name == "Broadloom" ? "line ours-line" : "line", points, left + width + 8,
                    below, escaped_markup(name));
  }
  return svg + "</svg>\n";
}

std::string curves_of(const Run &run) {
  std::map<std::string, std::vector<const Row *>> families;
  for (const Row &row : run.rows)
    if (const std::string family = family_of(row.id);
        !family.empty() && row.failure.empty() && row.elements > 0 && row.seconds > 0)
      families[family].push_back(&row);
  std::string html;
  for (auto &[family, rows] : families) {
    std::ranges::sort(rows, {}, &Row::elements);
    if (rows.front()->elements < rows.back()->elements) html += curve_of(family, rows);
  }
  return html;
}

// How many times as fast as on the first number of threads, and the line of as many times as there
// are more threads.
std::string scaling_of(const Row &row) {
  if (row.scaling.size() < 2) return {};
  constexpr double left = 60, top = 12, width = 300, height = 150;
  const Scaling &first = row.scaling.front();
  double most = 1;
  for (const Scaling &s : row.scaling)
    most = std::max({most, double(s.threads) / first.threads, first.seconds / s.seconds});
  const auto point = [&](int threads, double times) {
    const auto along = [&](double value) {
      return most > 1 ? std::log(value) / std::log(most) : 0;
    };
    return fmt::format("{:.1f},{:.1f} ", left + width * along(double(threads) / first.threads),
                       top + height * (1 - along(std::max(times, 1 / most))));
  };
  std::string ours, even;
  for (const Scaling &s : row.scaling) {
    ours += point(s.threads, first.seconds / s.seconds);
    even += point(s.threads, double(s.threads) / first.threads);
  }
  return fmt::format(
      "<p>{}</p>\n<svg viewBox=\"0 0 860 {}\" role=\"img\" aria-label=\"{} by threads\">"
      "<polyline class=\"line\" points=\"{}\"/>"
      "<polyline class=\"line ours-line\" points=\"{}\"/></svg>\n",
      scaling_text(row), top + height + 12, escaped_markup(row.id), even, ours);
}

std::string section_of(const Row &row) {
  std::string html = fmt::format("<h2 id=\"{0}\">{0} <span>{1}</span></h2>\n",
                                 escaped_markup(row.id), escaped_markup(row.title));
  if (!row.failure.empty())
    return html + fmt::format("<p class=\"bad\">failed: {}</p>\n", escaped_markup(row.failure));
  const PeerRow *best = row.best_peer();
  html += fmt::format("<p>{}, {:.3g} ns for each element", time_text(row.seconds),
                      row.ns_per_element());
  if (row.roof)
    html += fmt::format(", {:.1f} GB/s, <b>{}</b> of the roofline ({})", row.gb_per_second(),
                        roof_text(row), escaped_markup(row.roof->name));
  if (best != nullptr)
    html +=
        fmt::format(", <b class=\"{}\">{}</b> of the time of {}", best->ratio > 1.03 ? "bad" : "",
                    ratio_text(best->ratio), escaped_markup(best->name));
  html += "</p>\n";
  if (was_busy(row))
    html +=
        fmt::format("<p class=\"bad\">the machine was busy: a quarter of the rounds took less than "
                    "{}, a quarter more than {}</p>\n",
                    time_text(row.low), time_text(row.high));
  html += svg_of(row) + scaling_of(row);
  for (const PeerRow &peer : row.peers)
    if (peer.status == PeerRow::Status::Failed)
      html += fmt::format("<p class=\"bad\">{} failed: {}</p>\n", escaped_markup(peer.name),
                          escaped_markup(peer.note));
  html += fmt::format("<details><summary>compiled in {:.1f} ms, {} bytes of code, cache: {}, {} "
                      "rounds</summary><pre>{}</pre></details>\n",
                      row.compile_ms, row.code_bytes ? std::to_string(*row.code_bytes) : "?",
                      escaped_markup(row.cache), row.rounds, escaped_markup(row.why));
  return html;
}

} // namespace

std::string to_html(const Run &run) {
  std::string html =
      fmt::format("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width\">\n"
                  "<title>Broadloom benchmark</title>\n<style>{}</style>\n"
                  "<h1>Broadloom benchmark</h1>\n<p>{}, {} threads, {}.</p>\n",
                  style, escaped_markup(run.machine), run.threads, escaped_markup(run.date));
  html += fmt::format("<p>Bars are times of one call, shorter is faster; the dashed line is the "
                      "roofline of the same rounds. Peers: hand-written C++{}{}.</p>\n",
                      run.peers.empty() ? "" : ", ",
                      escaped_markup(fmt::format("{}", fmt::join(run.peers, ", "))));
  for (const std::string &missing : run.missing)
    html += fmt::format("<p class=\"bad\">missing: {}</p>\n", escaped_markup(missing));
  if (const std::vector<Miss> misses = misses_of(run); !misses.empty()) {
    html += "<details><summary>rows that fall short</summary><ul>\n";
    for (const Miss &miss : misses)
      html += fmt::format("<li><a href=\"#{0}\">{0}</a> {1}</li>\n", escaped_markup(miss.row->id),
                          escaped_markup(miss.what));
    html += "</ul></details>\n";
  }
  if (const auto busy = std::ranges::count_if(run.rows, was_busy); busy > 0)
    html +=
        fmt::format("<p class=\"bad\">The machine was busy in {} of {} rows, which have a *: their "
                    "times are those of that moment.</p>\n",
                    busy, run.rows.size());
  html += "<details><summary>the machine at the start</summary><table>\n";
  for (const ProbeLine &line : run.probe)
    html += fmt::format("<tr><td>{}</td><td>{:.1f} {}</td></tr>\n", escaped_markup(line.name),
                        line.value, escaped_markup(line.unit));
  html += "</table></details>\n";
  html += overview_of(run) + curves_of(run);
  for (const Row &row : run.rows) html += section_of(row);
  return html + "</html>\n";
}

} // namespace bench
