// What `run --json` and `run --repeat` say about a run.
#pragma once

#include <broadloom/dtype.hpp>
#include <broadloom/kernel.hpp>
#include <broadloom/options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace broadloom::cli {

struct OutputReport {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  bool fortran_order = false;
  std::optional<std::string> path; // none: it was not written to a file
};

struct RunReport {
  std::string kernel;
  std::vector<OutputReport> outputs;
  double compile_ms = 0;
  std::string cache;                // "miss", "disk" or "memory"
  std::vector<std::int64_t> run_ns; // one per timed call
  int threads = 1;
  std::int64_t bytes = 0;      // of all inputs and outputs
  std::string check;           // the JSON object of `--check`, or nothing
  Engine engine = Engine::jit; // that ran the last call
  double parse_ms = 0;
  CompileSteps steps = {}; // of compile_ms
};

std::string to_json(const RunReport &report); // one line, keys as in docs/command_line.md
std::string to_text(const RunReport &report); // one line for people

} // namespace broadloom::cli
