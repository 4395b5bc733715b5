// What users hand over as data: bytes that begin as .npy files do are one, all others are a SOURCE.
//
// A file is an array that fills it exactly, and its header written anew reads the same; or a
// helpful error. A SOURCE is an array of which every element can be read; a file that it names is
// never opened (an array made here stands in for it), and what it generates is small or not made.
#include "require.hpp"

#include "array/npy.hpp"
#include "tools/broadloom/data/source.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace broadloom::fuzz {
namespace {

constexpr std::int64_t most_elements = 4096;

// Reads every byte of every element, so that the address sanitizer sees one outside the storage.
unsigned touch(const Array &array) {
  const Layout &layout = array.layout();
  const std::size_t size = size_of(array.dtype());
  unsigned sum = 0;
  for (std::int64_t k = 0; k < array.size(); ++k) {
    std::int64_t at = 0, rest = k;
    for (int d = layout.rank; d-- > 0;) {
      at += rest % layout.extents[std::size_t(d)] * layout.strides[std::size_t(d)];
      rest /= layout.extents[std::size_t(d)];
    }
    const char *element = static_cast<const char *>(array.raw()) + at * std::int64_t(size);
    for (std::size_t b = 0; b < size; ++b) sum += unsigned(std::uint8_t(element[b]));
  }
  return sum;
}

// A file in memory with a path of its own.
class MemoryFile {
public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    require(fd_ >= 0, "no memory file");
    require(::write(fd_, bytes.data(), bytes.size()) == ssize_t(bytes.size()), "no room");
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  ~MemoryFile() { ::close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

private:
  int fd_;
};

void file(std::string_view bytes) {
  const npy::Header header =
      npy::parse_header(bytes.substr(0, npy::max_prefix), bytes.size(), "fuzz.npy");
  const Array array = load_npy(MemoryFile(bytes).path());
  require(array.dtype() == header.dtype, "two dtypes of one file");
  require(header.data_offset + std::size_t(array.size()) * size_of(array.dtype()) == bytes.size(),
          "the elements do not fill the file");
  touch(array);

  const std::string written = npy::format_header(header.dtype, header.fortran_order, header.shape);
  const npy::Header again =
      npy::parse_header(written, written.size() + (bytes.size() - header.data_offset), "fuzz.npy");
  require(again.dtype == header.dtype && again.fortran_order == header.fortran_order &&
              again.shape == header.shape && again.data_offset == written.size(),
          "the header does not survive: " + written);
}

bool is_small(const cli::GeneratorSource &generator) {
  try {
    return element_count(contiguous_layout(generator.extents)) <= most_elements;
  } catch (const ShapeError &) {
    return true; // an array that is refused takes no memory
  }
}

void source(std::string_view text, DType dtype) {
  cli::Source source = cli::parse_source(text, "x");
  if (std::holds_alternative<cli::FileSource>(source.base))
    source.base = cli::GeneratorSource{cli::Generator::Zeros, {7, 4, 5}, {}};
  const auto *generator = std::get_if<cli::GeneratorSource>(&source.base);
  if (generator && !is_small(*generator)) return;
  const Array array = cli::read_source(source, {"x", dtype, {}});
  require(array.size() <= most_elements, "a view larger than its array");
  touch(array);
}

} // namespace
} // namespace broadloom::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace broadloom;
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  if (bytes.substr(0, 1) == "\x93") {
    try {
      fuzz::file(bytes);
    } catch (const InternalError &) {
      throw;
    } catch (const Error &error) {
      fuzz::require_helpful(error);
    }
    return 0;
  }
  for (const DType dtype : {DType::F32, DType::F64, DType::I8, DType::U64, DType::Bool}) {
    try {
      fuzz::source(bytes, dtype);
    } catch (const InternalError &) {
      throw;
    } catch (const Error &error) {
      fuzz::require_helpful(error);
    }
  }
  return 0;
}
