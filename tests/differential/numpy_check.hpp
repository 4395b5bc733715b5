// A kernel's outputs against NumPy, by the translator in tests/numpy.
#pragma once

#include <broadloom/kernel.hpp>

#include <span>
#include <string>

namespace broadloom::differential {

struct NumpyVerdict {
  int right = 0, refused = 0; // outputs; what the translator does not know it refuses
  std::string wrong;          // its words, or empty
};

// `arrays` are the inputs and the outputs that were computed, `before` what `+=` outputs held. Runs
// `python tests/numpy/spec_to_numpy.py` on a folder of its own. Throws std::runtime_error where it
// cannot be run.
NumpyVerdict hold_against_numpy(const std::string &python, const std::string &text,
                                std::span<const NamedView> arrays,
                                std::span<const NamedView> before);

} // namespace broadloom::differential
