// The states of a kernel in a .npz file, from one run to the next: `run --load-state w.npz
// --save-state w.npz`.
#pragma once

#include "tools/broadloom/cli/outputs.hpp"
#include "tools/broadloom/cli/workspace.hpp"

#include <string>
#include <vector>

namespace broadloom::cli {

// The arrays of a file for states that no `--in` gives; none for an empty path. Throws DataError
// E0314 for a name that is no state, and what load_npz throws.
NamedArrays load_states(const std::string &path, const std::vector<InputInfo> &infos,
                        const std::vector<std::string> &given);

// Those that `--in` is to give.
std::vector<InputInfo> without(const std::vector<InputInfo> &infos, const NamedArrays &states);
// All, in the order of the kernel.
std::vector<Array> with_states(const std::vector<InputInfo> &infos, std::vector<Array> given,
                               const NamedArrays &states);

// All updates are computed where states are saved; those that no `--out` asks for are not printed.
// Throws DataError E0314 for a kernel without states.
std::vector<Destination> with_updates(std::vector<Destination> destinations,
                                      const std::vector<InputInfo> &inputs,
                                      const std::vector<OutputInfo> &outputs);

// What each state is after the call. Throws what save_npz throws.
void save_states(const std::string &path, const std::vector<InputInfo> &infos,
                 const std::vector<Array> &inputs, const Outputs &outputs);

} // namespace broadloom::cli
