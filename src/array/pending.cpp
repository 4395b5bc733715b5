// See pending.hpp.
#include "array/pending.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace broadloom::array {
namespace {

// A signal is handled between two calls of the system: within some milliseconds.
constexpr std::size_t most_at_once = std::size_t(8) << 20;

std::string reason(int error) { return std::generic_category().message(error); }

// Where a file called `path` really is: a symbolic link keeps pointing at what it points at.
std::string resolve(const std::string &path) {
  if (char *real = ::realpath(path.c_str(), nullptr)) {
    std::string result = real;
    std::free(real);
    return result;
  }
  return path;
}

} // namespace

PendingFile::PendingFile(const std::string &path) : given_(path), path_(resolve(path)) {
  // Renaming would replace whatever is there, a device or a write-protected file too.
  struct stat old{};
  const bool replaces = ::stat(path_.c_str(), &old) == 0;
  if (replaces && !S_ISREG(old.st_mode)) fail("it is not a regular file");
  if (replaces && ::access(path_.c_str(), W_OK) != 0) fail(reason(errno));

  static std::atomic<unsigned> counter{0};
  do {
    temporary_ = fmt::format("{}.{}-{}.tmp", path_, ::getpid(), counter++);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail(reason(errno));
  if (!replaces || ::fchmod(descriptor_, old.st_mode & 0777) == 0) return;
  const int error = errno;
  ::close(descriptor_); // the destructor does not run
  ::unlink(temporary_.c_str());
  fail(reason(error));
}

PendingFile::PendingFile(PendingFile &&other) noexcept
    : given_(std::move(other.given_)), path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

PendingFile::~PendingFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void PendingFile::write(const void *from, std::size_t bytes) {
  for (const char *at = static_cast<const char *>(from); bytes > 0;) {
    const ssize_t n = ::write(descriptor_, at, std::min(bytes, most_at_once));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(reason(errno));
    at += n;
    bytes -= std::size_t(n);
  }
}

void PendingFile::commit() {
  if (::close(std::exchange(descriptor_, -1)) != 0 ||
      ::rename(temporary_.c_str(), path_.c_str()) != 0)
    fail(reason(errno));
  temporary_.clear();
}

void PendingFile::fail(const std::string &why) const {
  throw DataError("E0303", fmt::format("cannot write '{}': {}", given_, why), {},
                  "check that the folder exists, may be written to and has room");
}

} // namespace broadloom::array
