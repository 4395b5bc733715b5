// The loop programs of tests/nests: texts as loop::parse reads them, with lines that say what they
// are run on.
//
//   #@ with T=f32; how=, streamed | T=f64; how=    a program with {T} and {how} replaced for each
//                                                  choice; several lines are for all combinations,
//                                                  the first choices first
//   #@ agree i=0,1,17 j=0..70                      native code and the interpreter give the same
//                                                  bytes at all combinations of these extents
//   #@ agree i=0,20,66/32                          the same with i in chunks of 32
//   #@ agree i=0..70 all spread=3                  in every direction, at both ends of memory, in
//                                                  one box and in two (else each run has some of
//                                                  these); the innermost other stride is 3 (else 2)
//   #@ run i=2 j=3; x=1 2 3 4 5 6; z=6 15          the elements of inputs, and of outputs
//                                                  afterwards, in both engines
//
// Behind the phases may stand listings of blocks, as block::print writes them, each below a line
// that says what it is:
//
//   #@ blocks expected T=f32; how=                 what is chosen for the machine in its first
//                                                  line, of the programs with these choices (all,
//                                                  without); `./dev bless` rewrites it
//   #@ blocks given T=f32                          they run with these blocks, and agree as with
//                                                  those that are chosen
//   #@ blocks refused E0802 a rest that is not masked    an error, at the line that ends with `#
//                                                        here`
#pragma once

#include "tests/unit/runs.hpp"

#include "loop/loop.hpp"

#include <map>
#include <string>
#include <vector>

namespace broadloom::loop::test {

struct Extents { // of one axis, to be tried
  std::vector<std::int64_t> values;
  std::int64_t chunk = 0;
};

struct Agreement {
  std::map<std::string, Extents> axes;
  bool all = false;
  int spread = 2;
};

struct Run {
  std::map<std::string, std::int64_t> extents;
  std::map<std::string, std::vector<double>> elements; // of buffers
};

struct Nest {
  std::string choices; // "T=f32; how="
  Program program;
};

struct Listing {
  enum class Use : std::uint8_t { Expected, Given, Refused } use;
  std::vector<std::string> choices; // "T=f32"
  std::string code, rule;           // of what is refused
  std::string text;                 // with the lines where they are in the file
  int first = 0, end = 0;           // lines of the text in the file, from 0
  bool is_of(const Nest &nest) const;
};

struct NestFile {
  std::string name;
  std::vector<Nest> nests;
  std::vector<Listing> listings;
  std::vector<Agreement> agreements;
  std::vector<Run> runs;
};

std::vector<std::string> nest_names();
NestFile read_nests(const std::string &name); // "rows.loop"
std::string text_of_nests(const std::string &name);

// Runs at all extents of the agreement: once each, or once for each combination of what else may
// differ.
void agree(Runs &runs, const Program &program, const Agreement &agreement, bool all);

// The program of the first choices, or of these.
Program nest(const std::string &name, const std::string &choices = {});

} // namespace broadloom::loop::test
