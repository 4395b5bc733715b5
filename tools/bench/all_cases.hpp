// One run of the benchmark: the cases that were asked for, one after the other, and what is written
// at its end.
#pragma once

#include "bench/peers.hpp"
#include "bench/roofline.hpp"
#include "bench/row.hpp"
#include "bench/run_case.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace bench {

struct SessionOptions {
  std::string cases_folder;
  std::string filter; // "W1,N": ids that are one of these or go on with "-"; empty: all
  std::string python; // with the peers' libraries; empty: hand-written loops are the only peers
  bool brief = false; // fewer rounds, and nothing of 64M elements
  std::vector<int> threads; // on so many of which our kernels run, too
  double seconds = 0;       // for the rounds of a case; 0: 3, or 1 where it is brief
  std::string keep;         // JSON of an earlier run, whose other rows are taken over
  std::string from;         // JSON of a run that is reported instead of running anything
  std::string compare, json, html, markdown; // files
};

class Session {
public:
  // Reads the table and the runs that the options name. Throws TableError, std::runtime_error.
  explicit Session(SessionOptions options);
  ~Session();

  const std::vector<Case> &cases() const { return cases_; } // all of the table
  std::vector<const Case *> selected() const;               // throws std::runtime_error for none
  const Run &result() const { return run_; }

  // The machine's numbers, and the peers; loud about those that are missing.
  void start();
  const Row &run(const Case &c); // starts where that has not been done
  // Puts rows in the order of the table, then writes what the options ask for, each file as a whole
  // or not at all, and prints the comparison. Throws std::runtime_error.
  void finish();

private:
  void start_peers();

  SessionOptions options_;
  std::vector<Case> cases_;
  Run run_;
  std::unique_ptr<Probe> probe_;
  std::unique_ptr<Peers> peers_;
  std::filesystem::path data_folder_;
};

// Whether an id is asked for: matches("W1-16M", "W1,N") but not matches("W10-dx", "W1").
bool matches(const std::string &id, const std::string &filter);

} // namespace bench
