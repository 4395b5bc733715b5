// SOURCE: where the data of an input comes from.
//
//   source    = ( path | number | list | generator | value ) { view }
//   path      = .. ".npy" | .. ".csv" | .. ".png" | .. ".npz:" NAME | "-"
//       "-": standard input, one of the first three
//   list      = "[" ( number | list ) { "," ( number | list ) } "]"
//   generator = ("rand" | "randn") "(" [ INT { "," INT } ] [ "," "seed" "=" INT ] ")"
//             | ("zeros" | "ones" | "eye" | "arange") "(" INT { "," INT } ")"
//             | "full" "(" { INT "," } "value" "=" number ")"
//             | "linspace" "(" number "," number "," INT ")"
//   value     = NAME [ "." NAME ]      of the REPL: what .let named, or an output of a kernel
//   view      = ".T" | "[" item { "," item } "]"
//   item      = INT | [INT] ":" [INT] [ ":" [INT] ] | "..."
//
// Views mean what they mean in NumPy and copy nothing. Reading is in two steps, so that all
// mistakes of form on a command line are found before any file is opened.
#pragma once

#include <broadloom/array.hpp>
#include <broadloom/error.hpp>

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace broadloom::cli {

enum class Generator { Rand, Randn, Zeros, Ones, Arange, Full, Eye, Linspace };

// "rand", "randn", ..
std::span<const std::string_view> generator_words();

struct Slice {
  std::optional<std::int64_t> start, stop, step;
};
struct Ellipsis {};
using Item = std::variant<std::int64_t, Slice, Ellipsis>;

struct ViewStep { // `.T`, or brackets with items
  bool transpose = false;
  std::vector<Item> items;
};

struct FileSource {
  std::string path;       // "-": standard input
  std::string entry = {}; // of a .npz file
};
struct NumberSource {
  std::string text;
};
struct GeneratorSource {
  Generator generator = Generator::Rand;
  std::vector<std::int64_t> extents;
  std::optional<std::uint64_t> seed;
  std::int64_t start = 0, step = 1; // Arange
  std::string value = {};           // Full
  double from = 0, to = 0;          // Linspace
};
struct ListSource {
  std::vector<std::int64_t> extents;
  std::vector<std::string> words; // the numbers, in C order
};
struct NameSource {
  std::string name;
};

// Arrays by their names. What was written as numbers is weak: it takes the dtype of the input that
// it is for.
struct Value {
  Array array;
  bool is_weak = false;
};
using Values = std::map<std::string, Value>;

struct Source {
  std::string text; // as written
  std::variant<FileSource, NumberSource, GeneratorSource, ListSource, NameSource> base;
  std::vector<ViewStep> views;
};

// The input that a source is for. Its name is also the seed where none is given, so that two inputs
// differ and every run is the same.
struct Target {
  std::string name;
  DType dtype = DType::F32;
  Place where; // the declaration, for errors about the data
  const Values *values = nullptr;
  std::istream *standard_input = nullptr; // where "-" is to be had
};

// Throws UsageError E0403, with a caret under the text. `input` is named there, where it is not
// empty.
Source parse_source(std::string_view text, const std::string &input,
                    const Values *values = nullptr);

// The dtype that a source of numbers has by itself: i64, f64 or c128; none of a file and a value,
// which have their own.
std::optional<DType> dtype_of(const Source &source);

// Loads or makes the data in the target's dtype and applies the views. Throws UsageError (no such
// file; a number that the dtype does not have), ShapeError E0114 (an index that the array lacks),
// DTypeError E0203 (the file has another dtype), and what `load_npy` throws.
Array read_source(const Source &source, const Target &target);

// One view step, as NumPy would: a[items] or a.T.
Array apply_view(const Array &array, const ViewStep &step, const std::string &text);

// Makes the data of a generator.
Array generate(const GeneratorSource &source, const Target &target);

} // namespace broadloom::cli
