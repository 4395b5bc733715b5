// Errors that are told and not thrown, in the form of Error::render: "demo.loom:4:3: warning[E0036]: ..".
#pragma once

#include <broadloom/error.hpp>

#include <string>

namespace broadloom::support {

std::string as_warning(const Error &error);

} // namespace broadloom::support
