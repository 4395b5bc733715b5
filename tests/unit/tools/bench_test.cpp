// What of the benchmark can be wrong without timing anything: its table, its files, its
// comparisons.
#include "bench/all_cases.hpp"
#include "bench/roofline.hpp"
#include "bench/row.hpp"
#include "bench/run_case.hpp"
#include "bench/table.hpp"
#include "tests/unit/temp_folder.hpp"
#include "tools/broadloom/cli/workspace.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

namespace bl = broadloom;
using namespace bench;

namespace {

std::string contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.is_open(), path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string message_of(const std::string &table) {
  try {
    parse_table(table, "t.txt");
  } catch (const TableError &error) {
    return error.what();
  }
  return "";
}

PeerRow peer(const std::string &name, double seconds, double ratio,
             PeerRow::Status status = PeerRow::Status::Ok) {
  PeerRow row;
  row.name = name;
  row.seconds = seconds;
  row.ratio = ratio;
  row.status = status;
  return row;
}

Row row(const std::string &id, double seconds, double fraction) {
  Row result;
  result.id = id;
  result.title = "a <b> | c";
  result.seconds = result.low = result.high = seconds;
  result.rounds = 5;
  result.elements = 1000;
  result.bytes = 8000;
  if (fraction > 0) result.roof = Roof{"read", seconds * fraction, 12, fraction};
  result.compile_ms = 2.5;
  result.code_bytes = 300;
  result.cache = "miss";
  result.why = "axes: i\n";
  return result;
}

Run example() {
  Run run;
  run.date = "2025-01-02 03:04";
  run.machine = "a machine";
  run.threads = 2;
  run.peers = {"numpy 2.0"};
  run.missing = {"halide: not here"};
  run.probe = {{"read", 20, "GB/s"}};
  run.rows = {row("W1", 1e-3, 0.9), row("W2", 2e-3, 0)};
  run.rows[0].peers = {peer("wrong", 1e-4, 10, PeerRow::Status::Wrong), peer("numpy", 2e-3, 0.5),
                       peer("C++", 9e-4, 1.2), peer("gone", 0, 0, PeerRow::Status::Failed)};
  run.rows[0].peers[0].error = INFINITY;
  run.rows[0].peers[3].note = "it \"broke\"";
  return run;
}

const Change &change_of(const std::vector<Change> &changes, const std::string &id) {
  for (const Change &change : changes)
    if (change.id == id) return change;
  FAIL("no change of " << id);
  return changes.front();
}

} // namespace

TEST_CASE("the benchmark's table gives a case for each line, with its options") {
  const std::vector<Case> cases =
      parse_table("# a comment\n\n"
                  "W1 | triad | a=rand(4) b=rand(4) | ops=2 tol=1e-3 read=64 | a*b, 4\n"
                  "W2-x|k|x=rand(2,3)[::2].T|wrt=x,row via=run first built overhead|t\r\n"
                  "N | net | x=rand(4) w=rand(4) | freeze=w beside=plain,other | t\n",
                  "t.txt");
  REQUIRE(cases.size() == 3);
  CHECK(cases[2].freeze == std::vector<std::string>{"w"});
  CHECK(cases[2].beside == std::vector<std::string>{"plain", "other"});
  CHECK(cases[0].id == "W1");
  CHECK(cases[0].kernel == "triad");
  CHECK(cases[0].inputs == std::vector<std::string>{"a=rand(4)", "b=rand(4)"});
  CHECK(cases[0].ops == 2);
  CHECK(cases[0].tolerance == 1e-3);
  CHECK(cases[0].read_bytes == 64);
  CHECK(cases[0].title == "a*b, 4");
  CHECK(cases[0].peer_key() == "triad");
  CHECK(cases[1].inputs == std::vector<std::string>{"x=rand(2,3)[::2].T"});
  CHECK(cases[1].peer_key() == "k/x,row");
  CHECK((cases[1].via == Case::Via::Run && cases[1].first && cases[1].built && cases[1].overhead));
  CHECK_FALSE(cases[0].built);
}

TEST_CASE("a mistake in the benchmark's table is named with its line") {
  CHECK(message_of("# one\nW1 | k | x=1") ==
        "t.txt:2: 3 fields instead of 5; write ID | KERNEL | INPUT=SOURCE .. | OPTION .. | TITLE");
  CHECK(message_of("W1 | k | x | | t").starts_with("t.txt:1: 'x' is no input"));
  CHECK(message_of("W1 | k | x=1 | fast | t").starts_with("t.txt:1: there is no option 'fast'"));
  CHECK(message_of("W1 | k | x=1 | ops=-1 | t").starts_with("t.txt:1: 'ops=-1' needs a number"));
  CHECK(message_of("W1 | k | x=1 | ops=2x | t").starts_with("t.txt:1: 'ops=2x' needs a number"));
  CHECK(
      message_of("W1 | k | x=1 | freeze=x built | t").starts_with("t.txt:1: built stands beside"));
  CHECK(message_of(" | k | x=1 | | t").starts_with("t.txt:1: the id, the kernel or the title"));
  CHECK(message_of("W1|k|x=1||t\nW1|k|x=1||t").starts_with("t.txt:2: the id 'W1' is taken"));
}

TEST_CASE("every case of the benchmark is a kernel whose inputs are given") {
  const std::string folder = BROADLOOM_CASES_DIR;
  const std::vector<Case> cases = parse_table(contents(folder + "/cases.txt"), "cases.txt");
  CHECK(cases.size() > 30);
  for (const Case &c : cases) {
    CAPTURE(c.id);
    std::string text = contents(folder + "/" + c.kernel + ".loom");
    const std::size_t serial = text.find("SERIAL");
    CHECK((serial != text.npos) == c.first);
    if (serial != text.npos) text.replace(serial, 6, "17");
    const bl::LoopSpec spec = bl::parse(text);
    const bl::LoopSpec made = c.wrt.empty() ? spec : bl::gradient(spec, c.wrt);
    CHECK_NOTHROW(bl::cli::match_inputs(c.id, bl::compile(made).inputs(), c.inputs));
    for (const std::string &kernel : c.beside)
      for (const bl::InputInfo &info :
           bl::compile(bl::parse(contents(folder + "/" + kernel + ".loom"))).inputs())
        CHECK(std::ranges::any_of(c.inputs, [&](const std::string &input) {
          return input.starts_with(info.name + "=");
        }));
  }
}

TEST_CASE("a kernel that is built for the benchmark runs beside the compiled one, with its bits") {
  Bench bench;
  bench.cases_folder = BROADLOOM_CASES_DIR;
  bench.limits = {0.01, 1, 1};
  for (const char *line : {"A | triad | a=rand(16) b=rand(16) c=rand(16) | overhead built | t",
                           "B | first_softmax | x=randn(8,32) | first overhead built | t"}) {
    const Row row = run_case(parse_table(line, "t.txt")[0], bench);
    CHECK(row.failure == "");
    REQUIRE(row.peers.size() == 1);
    CHECK(row.peers[0].name == "compiled");
    CHECK(row.peers[0].status == PeerRow::Status::Ok);
    CHECK(row.peers[0].error == 0);
    CHECK((row.seconds > 0 && row.peers[0].seconds > 0));
    CHECK(row.cache == "memory"); // nothing was compiled
  }
}

TEST_CASE("a filter of cases takes whole ids and their beginnings up to a dash") {
  CHECK(matches("W1-16M", "W1"));
  CHECK(matches("W1", "N,W1"));
  CHECK(matches("W10-dx", "W10-dx"));
  CHECK(matches("W1", ""));
  CHECK_FALSE(matches("W10-dx", "W1"));
  CHECK_FALSE(matches("W1", "W1-16M"));
  CHECK_FALSE(matches("W1", ","));
}

TEST_CASE("the roofline of a case moves its bytes in its proportion of reads and writes") {
  const Mix triad = mix_for(192, 64), copy = mix_for(70, 64), fold = mix_for(4096, 4),
            fill = mix_for(0, 64);
  CHECK(triad.reads == 3);
  CHECK(triad.writes);
  CHECK(triad.elements == 16);
  CHECK(triad.scale == 1);
  CHECK(copy.reads == 1);
  CHECK(copy.scale == doctest::Approx(134.0 / 128));
  CHECK(fold.reads == 1);
  CHECK_FALSE(fold.writes);
  CHECK(fold.scale == doctest::Approx(4100.0 / 4096));
  CHECK(fill.reads == 0);
  CHECK(fill.writes);
}

TEST_CASE("a run of the benchmark comes back from its JSON as it was") {
  const Run run = example();
  const std::string text = to_json(run);
  const Run back = read_json(text, "run.json");
  CHECK(to_json(back) == text);
  REQUIRE(back.rows.size() == 2);
  CHECK(back.rows[0].peers[3].note == "it \"broke\"");
  CHECK(back.rows[0].peers[0].error == 1e300); // JSON has no infinity
  CHECK(back.rows[0].roof->fraction == 0.9);
  CHECK_FALSE(back.rows[1].roof.has_value());
  CHECK(back.rows[0].code_bytes == 300);
}

TEST_CASE("what is no run of the benchmark is refused with the place of the mistake") {
  CHECK_THROWS_WITH(read_json("[1]", "f"), "f: this is no run of broadloom-bench --json");
  CHECK_THROWS_WITH(read_json("{\"format\": 2}", "f"), "f: this format is of a newer version");
  CHECK_THROWS_WITH(read_json("{}", "f"), "f: 'format' should be a whole number");
  std::string text = to_json(example());
  text.replace(text.find("\"cache\""), 7, "\"other\"");
  CHECK_THROWS_WITH(read_json(text, "f"), "f.rows[0]: 'cache' should be a string");
  CHECK_THROWS_AS(read_json("{", "f"), std::runtime_error);
}

TEST_CASE("the best peer is the fastest one whose result is right") {
  const Run run = example();
  REQUIRE(run.rows[0].best_peer() != nullptr);
  CHECK(run.rows[0].best_peer()->name == "C++");
  CHECK(run.rows[1].best_peer() == nullptr);
}

TEST_CASE("a row misses where a peer is faster or the roofline is far") {
  Run run = example();
  run.rows[1] = row("W2", 1, 0.5);
  const std::vector<Miss> misses = misses_of(run);
  REQUIRE(misses.size() == 2); // the greatest first
  CHECK(misses[0].row->id == "W2");
  CHECK(misses[0].what == "reaches 50 % of the roofline (read)");
  CHECK(misses[1].what == "takes 1.20 times as long as C++");
}

TEST_CASE("a run of the benchmark says how far its predictions are off") {
  Run run = example();
  for (Row &row : run.rows) row.predicted.reset();
  CHECK(text_of_predictions(run).empty());
  run.rows = {row("A", 2, 1), row("B", 2, 1), row("C", 2, 1)};
  run.rows[0].predicted = 1 * run.rows[0].seconds;
  run.rows[1].predicted = 0.5 * run.rows[1].seconds;
  CHECK(text_of_predictions(run) == "Predictions: median error 25 % over 2 cases.\n");
  run.rows[2].predicted = 2 * run.rows[2].seconds;
  CHECK(text_of_predictions(run) == "Predictions: median error 50 % over 3 cases.\n");
  CHECK(to_markdown(run).find("\nPredictions: median error 50 %") != std::string::npos);
}

TEST_CASE("two runs are compared by what does not change with the machine") {
  Run before, after;
  before.rows = {row("roof", 1, 0.8), row("peer", 1, 0), row("time", 1, 0), row("gone", 1, 0)};
  before.rows[1].peers = {peer("numpy", 2, 0.5)};
  after.rows = {row("roof", 2, 0.8), row("peer", 1, 0), row("time", 0.5, 0), row("new", 1, 0)};
  after.rows[1].peers = {peer("C++", 0.1, 10), peer("numpy", 1, 1.0)};

  const std::vector<Change> changes = compare(before, after);
  CHECK(changes.size() == 5);
  CHECK(change_of(changes, "roof").kind == Change::Kind::Same); // the machine was half as fast
  CHECK(change_of(changes, "roof").judged == "roofline");
  CHECK(change_of(changes, "peer").kind == Change::Kind::Slower);
  CHECK(change_of(changes, "peer").judged == "ratio to numpy");
  CHECK(change_of(changes, "peer").factor == doctest::Approx(2));
  CHECK(change_of(changes, "time").kind == Change::Kind::Faster);
  CHECK(change_of(changes, "gone").kind == Change::Kind::Vanished);
  CHECK(change_of(changes, "new").kind == Change::Kind::Appeared);
  const std::string text = to_text(changes);
  CHECK(text.find("SLOWER") != text.npos);
  CHECK(text.find("GONE") != text.npos);
}

TEST_CASE("a case that failed in either run of the benchmark is no change of speed") {
  Run before, after;
  before.rows = {row("a", 1, 0), row("b", 1, 0)};
  after.rows = {row("a", 1, 0), row("b", 1, 0)};
  before.rows[0].failure = after.rows[1].failure = "broken";
  const std::vector<Change> changes = compare(before, after);
  CHECK(change_of(changes, "a").kind == Change::Kind::Appeared);
  CHECK(change_of(changes, "b").kind == Change::Kind::Vanished);
}

TEST_CASE("the benchmark's table goes between the markers of a page") {
  CHECK(with_table("a\n<!-- bench: begin -->\nold\n<!-- bench: end -->\nz\n", "new\n") ==
        "a\n<!-- bench: begin -->\nnew\n<!-- bench: end -->\nz\n");
  CHECK_THROWS_AS(with_table("a\n", "new\n"), std::runtime_error);
  const std::string table = to_markdown(example());
  CHECK(table.find("a <b> \\| c") != table.npos); // no cell ends within a title
  CHECK(table.find("| **1.20** C++ | numpy 0.50, wrong wrong by inf, gone failed |") != table.npos);
  CHECK(table.find("Missing in this run: halide: not here.") != table.npos);
}

TEST_CASE("the report of the benchmark is one file that loads nothing") {
  const std::string html = to_html(example());
  CHECK(html.find("a &lt;b&gt; | c") != html.npos);
  CHECK(html.find("<b> |") == html.npos);
  CHECK(html.find("<svg ") != html.npos);
  CHECK(html.find("gone failed: it &quot;broke&quot;") != html.npos);
  for (const char *outside : {"<script", "<link", "<img", "src=", "http", "url("})
    CHECK_MESSAGE(html.find(outside) == html.npos, outside);
}

TEST_CASE("the report of the benchmark says where the machine was busy") {
  Run run = example();
  CHECK(to_html(run).find("busy") == std::string::npos);
  run.rows[1].low = 1e-3;
  run.rows[1].high = 3e-3;
  const std::string html = to_html(run);
  CHECK(html.find("The machine was busy in 1 of 2 rows") != html.npos);
  CHECK(html.find("a quarter of the rounds took less than 1 ms, a quarter more than 3 ms") !=
        html.npos);
  CHECK(html.find("<td>2 ms *</td>") != html.npos);
}

TEST_CASE("rows of several sizes are a curve of the report, for all who ran each of them") {
  Run run = example();
  CHECK(to_html(run).find("<polyline") == std::string::npos);
  for (const auto &[id, elements] : {std::pair("N-1K", 1024), std::pair("N-1M", 1 << 20)}) {
    run.rows.push_back(row(id, 1e-6 * elements, 0));
    run.rows.back().elements = elements;
    run.rows.back().peers = {peer("numpy", 1, 0.5)};
  }
  run.rows.back().peers.push_back(peer("late", 1, 0.5)); // of one size alone
  const std::string html = to_html(run);
  const std::size_t first = html.find("<polyline"), second = html.find("<polyline", first + 1);
  CHECK(first != html.npos);
  CHECK(second != html.npos);
  CHECK(html.find("<polyline", second + 1) == html.npos);
  CHECK(html.find(">1K</text>") != html.npos);
  CHECK(html.find(">1e+03</text>") != html.npos); // ns of ours, the least
  CHECK(html.find(">2e+03</text>") != html.npos);
}

TEST_CASE("a row on several numbers of threads has a line, a curve, and its JSON") {
  Run run = example();
  Row &row = run.rows.front();
  row.scaling = {{1, 8e-3}, {2, 4e-3}, {4, 3.2e-3}};
  CHECK(text_row(row).find("1 thread 8 ms, 2 threads 4 ms (2.00 times as fast), 4 threads 3.2 ms "
                           "(2.50 times as fast)") != std::string::npos);
  const std::string html = to_html(run);
  CHECK(html.find("by threads") != html.npos);
  const Run back = read_json(to_json(run), "run.json");
  REQUIRE(back.rows.front().scaling.size() == 3);
  CHECK(back.rows.front().scaling[2].threads == 4);
  CHECK(back.rows.front().scaling[2].seconds == 3.2e-3);
  CHECK(back.rows.back().scaling.size() == run.rows.back().scaling.size());
}

TEST_CASE("the report of a run tells what was skipped, wrong and failed") {
  const std::string line = text_row(example().rows[0]);
  CHECK(line.find("gone FAILED: it \"broke\"") != line.npos);
  CHECK(line.find("wrong is WRONG by") != line.npos);
  Row broken = row("W9", 0, 0);
  broken.failure = "no such kernel";
  CHECK(text_row(broken).find("FAILED: no such kernel") != std::string::npos);
}

TEST_CASE("results of peers are compared relative to an element or to the whole") {
  bl::Array ours(bl::f32, {2}), theirs(bl::f32, {2});
  ours.data<float>()[0] = 100;
  theirs.data<float>()[0] = 101;
  CHECK(difference(theirs, ours) == doctest::Approx(0.01));
  theirs.data<float>()[0] = 100;
  theirs.data<float>()[1] = 1; // against the root mean square, 70.7, as ours is 0 there
  CHECK(difference(theirs, ours) == doctest::Approx(1 / 70.71).epsilon(1e-3));
  theirs.data<float>()[1] = NAN;
  CHECK(std::isinf(difference(theirs, ours)));
  CHECK(std::isinf(difference(bl::Array(bl::f32, {1}), ours)));
}

TEST_CASE("a report of an earlier run is written whole, and its rows are in the table's order") {
  const TempFolder folder;
  folder.write("cases.txt", "W2|k|x=1||two\nW1|k|x=1||one\n");
  SessionOptions options;
  options.cases_folder = folder.path;
  options.from = folder.write("old.json", to_json(example()));
  options.json = folder / "new.json";
  options.markdown = folder.write("page.md", "<!-- bench: begin -->\n<!-- bench: end -->\n");
  Session session(options);
  session.finish();
  const Run written = read_json(folder.read("new.json"), "new.json");
  REQUIRE(written.rows.size() == 2);
  CHECK(written.rows[0].id == "W2");
  CHECK(folder.read("page.md").find("| W1 |") != std::string::npos);
  CHECK(folder.count() == 4); // nothing temporary is left
  options.filter = "W3";
  CHECK_THROWS_WITH(Session(options).selected(), "no case matches 'W3'; --list prints them all");
  options.json = folder / "none/new.json";
  CHECK_THROWS_WITH(Session{options}, doctest::Contains("there is no folder"));
  options.from = folder / "none.json";
  CHECK_THROWS_WITH(Session{options}, doctest::Contains("cannot read"));
}
