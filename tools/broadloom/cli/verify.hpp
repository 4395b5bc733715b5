// `run --check`: what a run gave against the definition of the kernel, and its gradient against slopes.
#pragma once

#include "spec/spec.hpp"

#include <broadloom/broadloom.hpp>

#include <string>
#include <vector>

namespace broadloom::cli {

// An output against the reference.
struct OutputCheck {
  std::string name;
  bool passed = true; // equal bits, or no element is off by more than it may be
  // Of the element that uses most of its tolerance; NaN where only one of the two is finite.
  double difference = 0;
  double tolerance =
      0; // 0 where no fold rounds: then all bits must be equal; inf where anything may come out
};

struct RunCheck {
  std::vector<OutputCheck> outputs; // those that were computed
  GradientCheck gradient;

  bool passed() const;
};

// `outputs` holds what the run gave, `initial` what `+=` outputs held before it. Throws CancelledError once
// `cancel` is true.
RunCheck check_run(const LoopSpec &spec, const std::vector<Array> &inputs,
                   const std::vector<std::string> &names, const std::vector<Array> &outputs,
                   const std::vector<Array> &initial, Engine engine,
                   std::shared_ptr<const std::atomic<bool>> cancel = nullptr);

std::string to_text(const RunCheck &check); // a line for each thing that was checked
std::string to_json(const RunCheck &check); // an object

// Throws where the check has failed: SpecError E0604 where the spec has derivative clauses and a gradient
// differs, else InternalError.
void require_passed(const LoopSpec &spec, const RunCheck &check);

} // namespace broadloom::cli
