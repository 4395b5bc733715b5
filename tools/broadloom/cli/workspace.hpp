// What `run` and `show` share: the text's kernel, and the arrays of a call.
#pragma once

#include "tools/broadloom/cli/text_options.hpp"
#include "tools/broadloom/data/source.hpp"

#include <broadloom/broadloom.hpp>

#include <optional>
#include <string>
#include <vector>

namespace broadloom::cli {

// A file's bytes. Throws UsageError E0402.
std::string read_text_file(const std::string &path);

struct Text {
  std::string text, name; // as errors call it
};
// Throws UsageError E0402.
Text read_text(const TextOptions &options, const Streams &streams);

// All kernels of the text, at least one. Throws UsageError E0402, SpecError.
std::vector<LoopSpec> read_kernels(const TextOptions &options, const Streams &streams);

// The kernel that `--kernel` names, or the only one. Throws UsageError E0406.
const LoopSpec &choose_kernel(const std::vector<LoopSpec> &kernels, const std::string &name);
LoopSpec read_kernel(const TextOptions &options, const Streams &streams);

// The `--in` options in the order of the kernel's inputs. Opens nothing yet.
// `standard_input_taken`: by the text. Throws UsageError.
std::vector<Source> match_inputs(const std::string &kernel, const std::vector<InputInfo> &infos,
                                 const std::vector<std::string> &given,
                                 bool standard_input_taken = false);

// `in` is what the source `-` reads, where it may stand.
std::vector<Array> read_inputs(const std::vector<InputInfo> &infos,
                               const std::vector<Source> &sources, std::istream *in = nullptr);

// The names are those of `infos`, which must outlive the views.
std::vector<NamedView> named_views(const std::vector<InputInfo> &infos,
                                   const std::vector<Array> &inputs);

struct Destination {     // an output that is computed
  std::size_t index = 0; // in the kernel's outputs
  std::optional<std::string> path;
  bool is_shown = true; // where it has no path
};

// The `--out` options in the order of the kernel's outputs; all outputs where there are none.
// Throws UsageError E0405.
std::vector<Destination> match_outputs(const std::vector<OutputInfo> &infos,
                                       const std::vector<std::string> &given);

// Memory for an output, zeroed, laid out as the kernel does where it allocates it; for `+=` with a
// file that exists, what the file holds. Throws DTypeError E0203, ShapeError E0120, and what
// reading the file throws.
Array make_output(const OutputInfo &output, const Destination &destination,
                  const Signature &signature);

} // namespace broadloom::cli
