// See check.hpp.
#include "support/check.hpp"

namespace broadloom::support {

void bug(const std::string &what, const std::string &ir, std::source_location where) {
  std::string text = "bug in Broadloom: " + what + " (" + where.file_name() + ":" +
                     std::to_string(where.line()) + ")";
  if (!ir.empty()) text += "\n" + ir;
  throw InternalError(text);
}

} // namespace broadloom::support
