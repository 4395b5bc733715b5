// Stages of the compiler in colours, for terminals.
#pragma once

#include "tools/broadloom/repl/library.hpp"

#include <broadloom/options.hpp>

#include <string>

namespace broadloom::cli {

// The text with escapes around keywords, types, numbers and comments. Specs are painted as the same
// text is when it is typed.
std::string painted_stage(const std::string &text, Stage stage, const Library &library);

} // namespace broadloom::cli
