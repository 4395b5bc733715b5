// The outputs of a call: their memory, and what becomes of it.
#pragma once

#include "tools/broadloom/cli/report.hpp"
#include "tools/broadloom/cli/workspace.hpp"

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace broadloom::cli {

std::size_t byte_count(const Array &array); // of its elements

// How arrays are shown.
struct Shown {
  int columns = 0; // that lines fit; 0: as `print` has them
  int digits = 0;  // of floats; 0: as many as tell one from others
  bool plot = false;
};
// As `print` has it, and below it, if small and wanted, as blocks.
std::string print_shown(const Array &array, const Shown &how);

// `+=` outputs can be set back to what they held, so that a repeated call is the same call again.
class Outputs {
public:
  // Throws what `make_output` throws.
  Outputs(const Kernel &kernel, std::vector<Destination> destinations,
          const std::vector<Signature> &signatures);

  // Remembers the present contents for `restore`.
  void remember();
  void restore();

  // All files or none: every one is complete under a temporary name before the first is renamed.
  // Outputs of one .npz path lie in it together. Throws what `pending_file` throws, Interrupted.
  void write() const;

  // Those that have no file, with dtype and shape; with `plot` small ones as blocks, too. For a
  // terminal of so many columns.
  void print(std::ostream &out, const Shown &how = {}) const;

  std::vector<NamedView> views() const;
  std::vector<OutputReport> report() const;
  const std::vector<Array> &arrays() const { return arrays_; }
  std::vector<std::string> names() const;

  // New arrays that hold what these held when they were remembered; zeros where that does not
  // matter.
  std::vector<Array> before() const;

private:
  const OutputInfo &info(std::size_t i) const { return infos_[destinations_[i].index]; }
  std::map<std::string, NamedArrays> by_path() const;

  std::vector<OutputInfo> infos_; // of all outputs of the kernel
  std::vector<Destination> destinations_;
  std::vector<Array> arrays_;
  std::vector<std::vector<char>> start_;
};

} // namespace broadloom::cli
