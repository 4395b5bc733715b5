// Errors that are told in the log and not thrown, in the form of Error::render: "demo.loom:4:3:
// E0036: ..", the line, the caret, what to do.
#pragma once

#include <broadloom/error.hpp>

#include <string>

namespace broadloom::support {

std::string as_warning(const Error &error);

} // namespace broadloom::support
