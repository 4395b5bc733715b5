// See png_file.hpp: a program that is built without libpng.
#include "tools/broadloom/data/png_file.hpp"

#include <broadloom/error.hpp>

namespace broadloom::cli {

namespace {

[[noreturn]] void fail(const char *code, const std::string &path) {
  throw DataError(code, "'" + path + "': this program is built without libpng", {},
                  "build it with libpng (Debian: libpng-dev), or use .npy files");
}

} // namespace

Array read_png(const std::string &path) { fail("E0301", path); }

array::PendingFile pending_png(const std::string &path, const Array &) { fail("E0303", path); }

} // namespace broadloom::cli
