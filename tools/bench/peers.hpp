// Other array libraries, in one Python process that runs beside the benchmark (peers/driver.py), so
// that their rounds alternate with ours. Each request and each answer is a JSON object on a line of
// its own:
//
//   {"hello": 1}                                 {"peers": ["numpy 2.1.0"], "missing": ["halide: No
//                                                module .."]}
//   {"case": "triad", "tolerance": 2e-5,         {"peers": [{"name": "numpy", "status": "ok",
//                                                "error": 1e-8},
//    "first": false, "overhead": false,                     {"name": "drjit", "status": "wrong",
//                                                           "error": 0.1},
//    "inputs": [{"file": "/tmp/a.npy",                      {"name": "jax", "status": "failed",
//                                                           "note": ".."}]}
//                "strides": [8192, 3]}, ..],
//    "outputs": ["/tmp/z.npy", ..]}
//   {"round": "numpy", "repeat": 3}              {"seconds": 0.012}      of one call
//   {"drop": 1}                                  {}                      the case is over
//
// The process stands still between an answer and the next request. The threads of OpenBLAS and of
// OpenMP spin for a while after their work, and would take a core from whoever comes next: a
// product of matrices of ours took 30 ms beside NumPy's, and 15 alone (two threads).
#pragma once

#include "bench/row.hpp"
#include "bench/table.hpp"

#include <broadloom/array.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

// The process died, did not answer in time, or said something else than it should.
struct PeerError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Peers {
public:
  // Starts `command` (a program and its arguments) and greets it. Throws PeerError.
  explicit Peers(const std::vector<std::string> &command,
                 std::chrono::seconds patience = std::chrono::seconds(120));
  ~Peers(); // ends the process
  Peers(const Peers &) = delete;
  Peers &operator=(const Peers &) = delete;

  const std::vector<std::string> &versions() const { return versions_; }
  const std::vector<std::string> &missing() const { return missing_; }

  // Hands a case over, by files in `folder`, and checks the results of those that know it against
  // `outputs`. Those that do not know it are left out. Throws PeerError.
  std::vector<PeerRow> prepare(const Case &c, const std::vector<broadloom::Array> &inputs,
                               const std::vector<broadloom::Array> &outputs,
                               const std::string &folder);

  double seconds(const std::string &peer, int repeat); // throws PeerError
  void drop();                                         // throws PeerError

private:
  std::string ask(const std::string &line); // wakes the process, and stops it behind the answer
  std::string answer_to(const std::string &line);

  int socket_ = -1;
  int process_ = -1;
  std::chrono::seconds patience_;
  std::string unread_;
  std::vector<std::string> versions_, missing_;
};

} // namespace bench
