// See check.hpp.
#include "support/check.hpp"

namespace broadloom::support {

void bug(const std::string &what, const std::string &ir, std::source_location where) {
  throw InternalError("bug in Broadloom: " + what + " (" + where.file_name() + ":" +
                          std::to_string(where.line()) + ")",
                      ir);
}

} // namespace broadloom::support
