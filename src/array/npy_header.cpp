// The header of a .npy file: magic, version, length, and a Python dict with exactly three keys.
//
//   \x93NUMPY 01 00 <u16 length> {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//
// The file is not trusted: lengths are compared with what is there before they are used, products
// are checked, and the elements must end where the file ends.
#include "array/npy.hpp"

#include "array/layout.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace broadloom::npy {

namespace {

struct Spelling {
  std::string_view code;
  DType dtype;
};

// NumPy's codes without the byte order. bfloat16 is not NumPy's own: ml_dtypes stores it as 2 bytes
// of anything.
constexpr std::array<Spelling, dtype_count> spellings{{
    {"b1", DType::Bool},
    {"i1", DType::I8},
    {"i2", DType::I16},
    {"i4", DType::I32},
    {"i8", DType::I64},
    {"u1", DType::U8},
    {"u2", DType::U16},
    {"u4", DType::U32},
    {"u8", DType::U64},
    {"f2", DType::F16},
    {"V2", DType::BF16},
    {"f4", DType::F32},
    {"f8", DType::F64},
    {"c8", DType::C64},
    {"c16", DType::C128},
}};

class HeaderParser {
public:
  HeaderParser(std::string_view bytes, std::uint64_t file_size, const std::string &path)
      : bytes_(bytes), file_size_(file_size), path_(path) {}

  Header parse() {
    const std::size_t end = preamble();
    header_.data_offset = end;
    text_ = bytes_.substr(0, end);
    dict();
    skip_space();
    if (at_ != end) malformed("there is text after the header's dict");
    check_size();
    return header_;
  }

private:
  [[noreturn]] void malformed(const std::string &what) const {
    throw DataError(
        "E0302", fmt::format("'{}' is not a valid .npy file: {} (at byte {})", path_, what, at_),
        {}, "write the file again with numpy.save; it may have been cut off on its way");
  }

  [[noreturn]] void unknown_type(const std::string &what, const std::string &help) const {
    throw DTypeError("E0211", fmt::format("'{}' holds {}", path_, what), {}, help);
  }

  // Magic, version and length. Returns where the header's text ends.
  std::size_t preamble() {
    constexpr std::string_view magic = "\x93NUMPY";
    const std::size_t shared = std::min(bytes_.size(), magic.size());
    if (bytes_.substr(0, shared) != magic.substr(0, shared))
      malformed("it does not begin with \\x93NUMPY");
    if (bytes_.size() < 10) malformed("it ends within its first 10 bytes");
    at_ = 6;
    const int major = byte(6), minor = byte(7);
    if (major < 1 || major > 3 || minor != 0)
      malformed(fmt::format("format version {}.{} is not one of 1.0, 2.0, 3.0", major, minor));
    at_ = 8;
    std::size_t length = std::size_t(byte(8)) | std::size_t(byte(9)) << 8;
    std::size_t start = 10;
    if (major >= 2) {
      if (bytes_.size() < 12) malformed("it ends within the length of its header");
      length |= std::size_t(byte(10)) << 16 | std::size_t(byte(11)) << 24;
      start = 12;
    }
    if (length > max_header)
      malformed(fmt::format("a header of {} bytes is longer than {}", length, max_header));
    if (start + length > bytes_.size())
      malformed(fmt::format("a header of {} bytes goes beyond the file's {}", length, file_size_));
    at_ = start;
    return start + length;
  }

  void dict() {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !std::exchange(descr, true))
        header_.dtype = element_type();
      else if (key == "fortran_order" && !std::exchange(order, true))
        header_.fortran_order = boolean();
      else if (key == "shape" && !std::exchange(shape, true))
        tuple();
      else
        malformed(fmt::format("key '{}' is unknown or there twice", key));
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!descr) malformed("the header lacks 'descr'");
    if (!order) malformed("the header lacks 'fortran_order'");
    if (!shape) malformed("the header lacks 'shape'");
  }

  DType element_type() {
    skip_space();
    if (peek() == '[')
      unknown_type("records of several fields", "save one field: numpy.save(path, a['field'])");
    std::string_view text = string();
    const std::string quoted = fmt::format("elements of type '{}'", text);
    const char order = text.empty() ? '\0' : text[0];
    if (order == '<' || order == '>' || order == '|' || order == '=') text.remove_prefix(1);
    if (text.substr(0, 1) == "O")
      unknown_type("Python objects", "save numbers: numpy.save(path, a.astype('f8'))");
    for (const Spelling &spelling : spellings) {
      if (spelling.code != text) continue;
      if (order == '>' && size_of(spelling.dtype) > 1) {
        unknown_type(quoted + ", which are big-endian",
                     fmt::format("save them as numpy.save(path, a.astype('<{}'))", text));
      }
      return spelling.dtype;
    }
    unknown_type(quoted, "Broadloom reads bool, i1 to i8, u1 to u8, f2, f4, f8, c8, c16, and "
                         "bfloat16 as V2; convert with a.astype(..)");
  }

  bool boolean() {
    skip_space();
    for (const auto &[word, value] : {std::pair<std::string_view, bool>("True", true),
                                      std::pair<std::string_view, bool>("False", false)}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    malformed("'fortran_order' is neither True nor False");
  }

  void tuple() {
    expect('(');
    while (!accept(')')) {
      header_.shape.push_back(extent());
      const bool comma = accept(',');
      if (!comma && header_.shape.size() == 1) malformed("'shape' is not a tuple");
      if (!comma) {
        expect(')');
        break;
      }
    }
    if (header_.shape.size() > std::size_t(max_rank)) {
      malformed(fmt::format("{} dims are more than the {} that an array may have",
                            header_.shape.size(), max_rank));
    }
  }

  std::int64_t extent() {
    skip_space();
    if (peek() == '-') malformed("an extent is negative");
    if (!is_digit(peek())) malformed("an extent is not a number");
    std::int64_t value = 0;
    while (is_digit(peek())) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, peek() - '0', &value)) {
        malformed("an extent does not fit in 64 bits");
      }
      ++at_;
    }
    if (peek() == 'L') ++at_; // Python 2 wrote long integers so
    return value;
  }

  // The elements must fill the rest of the file exactly.
  void check_size() {
    std::int64_t count = 0;
    try {
      count = element_count(contiguous_layout(header_.shape));
    } catch (const ShapeError &) {
      malformed(fmt::format("shape {} has too many elements", array::shape_text(header_.shape)));
    }
    const std::uint64_t needed = std::uint64_t(count) * size_of(header_.dtype);
    const std::uint64_t there = file_size_ - header_.data_offset;
    if (needed == there) return;
    malformed(fmt::format("{} elements of {}, shape {}, are {} bytes, and {} follow the header",
                          count, name(header_.dtype), array::shape_text(header_.shape), needed,
                          there));
  }

  // A quoted string without escapes, which no key or type needs.
  std::string_view string() {
    skip_space();
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed("a quoted string is missing");
    const std::size_t start = ++at_;
    while (at_ < text_.size() && peek() != quote) {
      if (peek() == '\\' || std::uint8_t(peek()) < 0x20) malformed("a string has a strange byte");
      ++at_;
    }
    if (at_ == text_.size()) malformed("a quoted string does not end");
    return text_.substr(start, at_++ - start);
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  int byte(std::size_t at) const { return std::uint8_t(bytes_[at]); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) malformed(fmt::format("'{}' is missing in the header", c));
  }

  std::string_view bytes_, text_; // text_: the bytes up to the header's end
  std::uint64_t file_size_;
  const std::string &path_;
  std::size_t at_ = 0;
  Header header_;
};

} // namespace

Header parse_header(std::string_view bytes, std::uint64_t file_size, const std::string &path) {
  return HeaderParser(bytes, file_size, path).parse();
}

std::string format_header(DType dtype, bool fortran_order, std::span<const std::int64_t> shape) {
  std::string_view code;
  for (const Spelling &spelling : spellings)
    if (spelling.dtype == dtype) code = spelling.code;
  const char order = size_of(dtype) == 1 ? '|' : '<';
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': {}, 'shape': {}, }}", order,
                                 code, fortran_order ? "True" : "False", array::shape_text(shape));
  const std::size_t before = 10;
  const std::size_t total = (before + text.size() + 1 + 63) / 64 * 64;
  text.append(total - before - text.size() - 1, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += char(text.size() & 0xff);
  header += char(text.size() >> 8);
  return header + text;
}

} // namespace broadloom::npy
