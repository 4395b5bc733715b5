// The parts of building a kernel ahead of time (include/broadloom/build.hpp): what calls look like,
// and the files.
#pragma once

#include "spec/spec.hpp"

#include <broadloom/build.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::jit {

// An operand of a call as a line of layouts has it.
struct ListedOperand {
  std::string name;
  std::vector<std::int64_t> extents = {}; // -1: any; of outputs: what follows
  std::vector<std::int64_t> strides = {}; // in elements, where they are listed
  bool is_fortran = false;                // the first dim varies fastest
  bool is_apart = false;                  // no two neighbours lie side by side, in no dim
  bool is_wanted = true;
};
struct ListedCall {
  std::vector<ListedOperand> operands; // inputs, then outputs, of the spec
  Place where;
};

// The calls of a text of layouts; one in C order where it is empty. Throws SpecError E0070.
std::vector<ListedCall> parse_layouts(const spec::TypedSpec &spec, const std::string &text,
                                      const std::string &file);

// The header that goes with it.
std::string c_header(const BuiltKernel &built, const Kernel &kernel);

} // namespace broadloom::jit
