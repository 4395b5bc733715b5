// Loading and saving .npy files.
//
// Files are read, not mapped: a mapped file that another program cuts short kills the process, and
// memory of our own has the alignment and the huge pages that kernels like.
#include "array/npy.hpp"

#include "array/layout.hpp"
#include "support/out_of_memory.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace broadloom {

namespace {

class Descriptor {
public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

private:
  int fd_;
};

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void cannot_read(const std::string &path, const std::string &why) {
  throw DataError("E0301", fmt::format("cannot read '{}': {}", path, why), {},
                  "check the path and its permissions; data files are regular .npy files");
}

// A signal is handled between two calls of the system: within some milliseconds.
constexpr std::size_t most_at_once = std::size_t(8) << 20;

// Reads until `size` bytes are there or the file ends; returns how many came.
std::size_t read_fully(int fd, char *to, std::size_t size, const std::string &path) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::read(fd, to + done, std::min(size - done, most_at_once));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) cannot_read(path, reason(errno));
    if (n == 0) break;
    done += std::size_t(n);
  }
  return done;
}

} // namespace

Array load_npy(const std::string &path) try {
  // Without O_NONBLOCK, opening a pipe would wait for somebody to write to it.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) cannot_read(path, reason(errno));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) cannot_read(path, reason(errno));
  if (!S_ISREG(status.st_mode)) cannot_read(path, "it is not a regular file");
  const std::uint64_t file_size = std::uint64_t(status.st_size);

  std::string prefix(std::size_t(std::min<std::uint64_t>(file_size, npy::max_prefix)), '\0');
  prefix.resize(read_fully(file.get(), prefix.data(), prefix.size(), path));
  const npy::Header header = npy::parse_header(prefix, file_size, path);

  Array dense(header.dtype, header.shape);
  char *data = static_cast<char *>(dense.raw());
  const std::size_t bytes = std::size_t(dense.size()) * size_of(header.dtype);
  const std::size_t had = std::min(prefix.size() - header.data_offset, bytes);
  std::copy_n(prefix.data() + header.data_offset, had, data);
  if (had + read_fully(file.get(), data + had, bytes - had, path) != bytes) {
    throw DataError("E0302", fmt::format("'{}' became shorter while it was read", path), {},
                    "load it again when the program that writes it has finished");
  }
  // A file may hold any byte; a bool is 0 or 1.
  if (header.dtype == DType::Bool)
    std::for_each(data, data + bytes, [](char &byte) { byte = char(byte != 0); });
  if (!header.fortran_order) return dense;
  return {std::make_shared<Array>(dense), header.dtype, data, array::fortran_layout(header.shape)};
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

void save_npy(const std::string &path, const Array &array) try {
  npy::pending(path, array).commit();
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

array::PendingFile npy::pending(const std::string &path, const Array &array) {
  array::PendingFile file(path);
  const bool c_order = array::is_c_contiguous(array.layout());
  const bool f_order = !c_order && array::is_f_contiguous(array.layout());
  const Array dense = c_order || f_order ? array : array.copy();
  const std::string header = format_header(dense.dtype(), f_order, dense.shape());
  file.write(header.data(), header.size());
  file.write(dense.raw(), std::size_t(dense.size()) * size_of(dense.dtype()));
  return file;
}

} // namespace broadloom
