// See standard_input.hpp.
#include "tools/broadloom/data/standard_input.hpp"

#include "tools/broadloom/cli/usage.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <istream>
#include <iterator>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace broadloom::cli {

namespace {

// A file without a name in any folder, which readers of files can open.
class Spool {
public:
  explicit Spool(std::string_view bytes) : descriptor_(memfd_create("broadloom", MFD_CLOEXEC)) {
    while (!bytes.empty() && descriptor_ >= 0) {
      const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      bytes.remove_prefix(std::size_t(count));
    }
    if (descriptor_ >= 0 && bytes.empty()) return;
    const std::string why = std::generic_category().message(errno);
    if (descriptor_ >= 0) close(descriptor_);
    throw DataError("E0301", "standard input cannot be kept: " + why, {},
                    "write the data to a file, and name that");
  }
  ~Spool() { close(descriptor_); }
  Spool(const Spool &) = delete;
  Spool &operator=(const Spool &) = delete;

  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

private:
  int descriptor_ = -1;
};

std::string renamed(std::string text, const std::string &path) {
  const std::string quoted = "'" + path + "'";
  for (std::size_t at = text.find(quoted); at != text.npos; at = text.find(quoted, at))
    text.replace(at, quoted.size(), "standard input");
  return text;
}

} // namespace

FileKind kind_of_bytes(std::string_view bytes) {
  if (bytes.starts_with("\x93NUMPY")) return FileKind::Npy;
  return bytes.starts_with("\x89PNG") ? FileKind::Png : FileKind::Csv;
}

FileKind kind_of_name(std::string_view path) {
  if (path.ends_with(".csv")) return FileKind::Csv;
  return path.ends_with(".png") ? FileKind::Png : FileKind::Npy;
}

Array read_stream(std::istream &in,
                  const std::function<Array(const std::string &path, FileKind kind)> &read) {
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (bytes.empty())
    throw UsageError("E0402", "there is nothing on standard input",
                     "write a .npy, .csv or .png file to it: broadloom run .. --in x=- < a.npy");
  const Spool spool(bytes);
  try {
    return read(spool.path(), kind_of_bytes(bytes));
  } catch (const DataError &error) {
    throw DataError(error.code(), renamed(error.message(), spool.path()), error.where(),
                    error.help());
  }
}

} // namespace broadloom::cli
