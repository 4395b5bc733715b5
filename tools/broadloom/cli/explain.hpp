// `broadloom explain E0102`, from the page docs/errors.md, which is built in.
#pragma once

#include "tools/broadloom/cli/commands.hpp"

#include <string>
#include <string_view>

namespace broadloom::cli {

// What the page says of a code: its row, what stands about its kind, the sections that it links to,
// and its example.
//
//   E0401: an unknown option, a missing or malformed argument
//
//   E04xx: the command line
//   These have no place in a text; ..
//
//   For example:
//   Options are those of `broadloom COMMAND --help`.
//
//     $ broadloom run --thread 2 ..
//     broadloom: error[E0401]: ..
//
// Throws UsageError E0401 where there is no such code.
std::string explanation(std::string_view code);

// Prints that, or all codes with their rows where none is given.
void explain(const std::string &code, const Streams &streams);

} // namespace broadloom::cli
