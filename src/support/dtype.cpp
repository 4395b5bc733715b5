// The element types: names, sizes and NumPy 2's promotion table, computed from kinds and widths.
#include <broadloom/dtype.hpp>
#include <broadloom/error.hpp>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>

namespace broadloom {

namespace {

struct Row {
  std::string_view name;
  std::size_t size;
};
constexpr std::array<Row, dtype_count> rows{{
    {"bool", 1},
    {"i8", 1},
    {"i16", 2},
    {"i32", 4},
    {"i64", 8},
    {"u8", 1},
    {"u16", 2},
    {"u32", 4},
    {"u64", 8},
    {"f16", 2},
    {"bf16", 2},
    {"f32", 4},
    {"f64", 8},
    {"c64", 8},
    {"c128", 16},
}};

// Bytes of the smallest IEEE float that holds every value of `d` as NumPy sees it: an i32 needs
// f64.
std::size_t float_bytes(DType d) {
  if (d == DType::Bool) return 2;
  if (is_integer(d)) return std::min<std::size_t>(8, size_of(d) * 2);
  return is_complex(d) ? size_of(d) / 2 : size_of(d);
}

DType promote_integers(DType a, DType b) {
  if (is_signed_integer(a) == is_signed_integer(b)) return size_of(a) >= size_of(b) ? a : b;
  if (is_unsigned_integer(a)) std::swap(a, b); // now a is signed, b unsigned
  if (size_of(a) > size_of(b)) return a;
  switch (size_of(b)) {
  case 1: return DType::I16;
  case 2: return DType::I32;
  case 4: return DType::I64;
  default: return DType::F64; // no integer holds both u64 and a negative number
  }
}

} // namespace

namespace {

const Row &row_of(DType dtype) {
  if (std::size_t(dtype) < rows.size()) return rows[std::size_t(dtype)];
  throw DTypeError("E0212", "there is no dtype of number " + std::to_string(int(dtype)), {},
                   "use a member of DType");
}

} // namespace

std::string_view name(DType dtype) { return row_of(dtype).name; }

std::size_t size_of(DType dtype) { return row_of(dtype).size; }

std::optional<DType> dtype_from_name(std::string_view word) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].name == word) return DType(i);
  return std::nullopt;
}

DType promote(DType a, DType b) {
  if (a == b || b == DType::Bool) return a;
  if (a == DType::Bool) return b;
  if (is_integer(a) && is_integer(b)) return promote_integers(a, b);
  std::size_t bytes = std::max(float_bytes(a), float_bytes(b));
  if (is_complex(a) || is_complex(b)) return bytes <= 4 ? DType::C64 : DType::C128;
  if (bytes == 2) { // f16 and bf16: neither holds the other
    if (is_float(a) && is_float(b)) return DType::F32;
    return is_float(a) ? a : b;
  }
  return bytes == 4 ? DType::F32 : DType::F64;
}

std::ostream &operator<<(std::ostream &out, DType dtype) { return out << name(dtype); }

} // namespace broadloom
