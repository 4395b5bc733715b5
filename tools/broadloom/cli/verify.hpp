// `run --check`: what a run gave against the definition of the kernel, and its gradient against
// slopes.
#pragma once

#include "checked/agreement.hpp"
#include "spec/spec.hpp"

#include <broadloom/broadloom.hpp>

#include <string>
#include <vector>

namespace broadloom::cli {

using checked::OutputCheck;

struct RunCheck {
  std::vector<OutputCheck> outputs; // those that were computed
  GradientCheck gradient;

  bool passed() const;
};

// `outputs` holds what the run gave, `initial` what `+=` outputs held before it. Throws
// CancelledError once `cancel` is true.
RunCheck check_run(const LoopSpec &spec, const std::vector<Array> &inputs,
                   const std::vector<std::string> &names, const std::vector<Array> &outputs,
                   const std::vector<Array> &initial, Engine engine,
                   std::shared_ptr<const std::atomic<bool>> cancel = nullptr);

std::string to_text(const RunCheck &check); // a line for each thing that was checked
std::string to_json(const RunCheck &check); // an object

// Throws where the check has failed: SpecError E0604 where the spec has derivative clauses and a
// gradient differs, else InternalError.
void require_passed(const LoopSpec &spec, const RunCheck &check);

} // namespace broadloom::cli
