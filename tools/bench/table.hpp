// The table of cases: cases/cases.txt, which says at its top what a line means.
//
//   W5 | affine | x=rand(4096,4096) col=rand(4096) row=rand(4096) | ops=2 | x*col + row
//   -> {id "W5", kernel "affine", inputs {"x=rand(4096,4096)", ..}, ops 2, title "x*col + row"}
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

// A mistake in the table; the message begins with `FILE:LINE: ` and says what to write instead.
struct TableError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Case {
  std::string id, kernel, title;
  std::vector<std::string> inputs; // NAME=SOURCE
  std::vector<std::string> wrt;    // not empty: the gradient is run
  std::vector<std::string> freeze; // parameters that are frozen before the rounds
  std::vector<std::string> beside; // kernels of ours that run in the same rounds, as peers
  double ops = 0;                  // for each element; 0: not bound by arithmetic
  std::int64_t read_bytes = 0;     // 0: the sum of the inputs
  double tolerance = 2e-5;
  // How it is called: bound; by Kernel::run; by that with views that each call makes; or while
  // another thread calls the kernel with a layout of its own.
  enum class Via : std::uint8_t { Bound, Run, Views, Shared };
  Via via = Via::Bound;
  bool first = false;    // the first call of a new kernel
  bool tiered = false;   // by Engine::tiered
  bool built = false;    // ahead of time; the kernel that is compiled is its one peer
  bool overhead = false; // no roofline

  // How peers know it: "affine", "row_scale/x,row".
  std::string peer_key() const;
};

// Throws TableError; `file` is for its messages.
std::vector<Case> parse_table(std::string_view text, const std::string &file);

} // namespace bench
