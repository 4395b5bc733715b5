// What a run of the benchmark says: plain data, written and read as JSON, printed as text, HTML and
// a Markdown table.
//
// Times are seconds of one call, each the median over the rounds. Ratios are medians of the ratios
// within rounds, as machines change their speed between rounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench {

struct PeerRow {
  enum class Status { Ok, Wrong, Failed };
  std::string name;
  Status status = Status::Ok;
  double error = 0;   // of its result against ours, relative (cases.txt: tol)
  double seconds = 0; // 0 where it failed
  double ratio = 0;   // ours / theirs: below 1 we are faster
  std::string note;   // why it failed
};

// The least time that the case can take by what the machine did in the same rounds.
struct Roof {
  std::string name;         // "read 2: write 1, streaming, all threads" or "arithmetic"
  double seconds = 0;       // of moving the bytes, or of the operations
  double gb_per_second = 0; // 0 for arithmetic
  double fraction = 0;      // roof / ours: 1 is the roofline
};

struct Scaling { // ours, on so many threads, in the same rounds
  int threads = 1;
  double seconds = 0;
};

struct Row {
  std::string id, title;
  double seconds = 0, low = 0, high = 0; // median and quartiles
  std::int64_t rounds = 0;
  std::int64_t elements = 0;
  std::int64_t bytes = 0; // that must be read and written
  std::optional<Roof> roof;
  std::vector<PeerRow> peers;
  std::vector<Scaling> scaling;    // as --threads asks
  std::optional<double> predicted; // seconds: Kernel::predict
  double compile_ms = 0;
  std::optional<std::int64_t> code_bytes;
  std::string cache;   // "miss", "memory" or "interpreted"
  std::string why;     // as `--stage why` prints it
  std::string failure; // not empty: the case could not be run, and all else is empty

  double gb_per_second() const { return seconds > 0 ? double(bytes) / seconds * 1e-9 : 0; }
  double ns_per_element() const { return elements > 0 ? seconds / double(elements) * 1e9 : 0; }
  // The fastest peer whose result is right; null where there is none.
  const PeerRow *best_peer() const;
};

struct ProbeLine { // one line of the machine's own numbers
  std::string name;
  double value = 0; // GB/s, or G operations/s
  std::string unit;
};

struct Run {
  std::string date, machine;
  int threads = 0;
  std::vector<std::string> peers;   // "numpy 2.1.0"
  std::vector<std::string> missing; // "halide: No module named 'halide'"
  std::vector<ProbeLine> probe;
  std::vector<Row> rows;
};

// JSON, one object. `read_json` throws std::runtime_error with what is wrong and where (`file` is
// for the message).
std::string to_json(const Run &run);
Run read_json(const std::string &text, const std::string &file);

// For people. `text_row` is one line without its end, below `text_header`.
std::string text_header();
std::string text_row(const Row &row);
std::string text_of_probe(const Run &run);
std::string to_markdown(const Run &run); // the table of docs/benchmarks.md, and the misses
std::string to_html(const Run &run);     // one file that needs nothing else

// How far predictions are off: the median over the rows that have one of |predicted / measured -
// 1|, as a line; empty where there is none.
std::string text_of_predictions(const Run &run);

// `page` with what stands between the lines `<!-- bench: begin -->` and `<!-- bench: end -->`
// replaced. Throws std::runtime_error where they are missing.
std::string with_table(const std::string &page, const std::string &table);

// Rows that fall short: slower than a peer by more than 3 %, or below 80 % of the roofline; sorted
// by how much.
struct Miss {
  const Row *row = nullptr;
  std::string what;
  double factor = 1; // by how much the time would have to fall
};
std::vector<Miss> misses_of(const Run &run);

// What became of each row of `before`. A row is judged by its share of the roofline, or where it
// has none by its ratio to the best peer of both runs, else by its time: only these compare runs on
// a machine that changes.
struct Change {
  enum class Kind { Same, Faster, Slower, Appeared, Vanished };
  std::string id;
  Kind kind = Kind::Same;
  double before_ns = 0, after_ns = 0;
  double factor = 1;  // how much slower, by what it is judged by: 1.2 is 20 % slower
  std::string judged; // "roofline", "ratio to numpy", "time"
};
std::vector<Change> compare(const Run &before, const Run &after, double tolerance = 0.1);
std::string to_text(const std::vector<Change> &changes);

} // namespace bench
