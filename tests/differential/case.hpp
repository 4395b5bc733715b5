// A kernel with its data, whole in a text: what the random tests run, print when it fails, make
// smaller, and keep as a file.
//
//   # Unit rows of the last register were stored over the last row.
//   # in x = exact(513, 8; seed 7) strides(1, 513)
//   # in y = ones(513,16)[:, ::2]
//   # out s strides(2) at start
//   # null q
//   # threads 1 3
//   # caches 4K,64K
//   # blocks 17
//   # gradient x
//   kernel k { .. }
//
// An input is data of one of the kinds below with its layout, or a SOURCE of the command line.
// Lines that say nothing of this are its story. An output without a line lies in C order. Arrays
// touch the page after their last byte, or with `at start` the one before their first.
#pragma once

#include "random_data.hpp"
#include "random_spec.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace broadloom::differential {

enum class Data { Exact, General, Smooth, Source };

struct CaseOperand {
  std::string name;
  DType dtype = DType::F32;
  Layout layout = {};
  bool at_end = true;
  Data data = Data::Exact;
  std::uint64_t seed = 0;
  std::string source = {}; // Data::Source
  // of outputs
  bool add = false, wanted = true;
  Agreement agreement = Agreement::Loose;
};

struct Case {
  std::string story;
  std::string text;
  std::string bound_text; // as RandomSpec has it
  std::vector<CaseOperand> inputs, outputs;
  std::vector<int> threads{1, 2, 3, 7};
  std::string caches; // BROADLOOM_CACHES, or empty
  std::string
      blocks; // BROADLOOM_BLOCKS: a seed of other sizes of blocks than the usual ones, or empty
  std::vector<std::string> gradient;
};

Case random_case(std::uint64_t seed, Style style);

std::string print(const Case &c);
Case read_case(const std::string &text); // throws std::runtime_error where a line is malformed

// The canonical text, where `in  NAME :` of these is `param NAME :`.
std::string with_parameters(const std::string &text, const std::set<std::string> &names);

// The outputs as the kernel declares them, for the layouts of the inputs; lines that the case has
// for them are kept. Throws Error where the shapes do not fit.
void complete_outputs(Case &c);

Operand make_input(const CaseOperand &in);

} // namespace broadloom::differential
