// From a SOURCE to an array: numbers in the target's dtype, files, values, and views of them. What
// the generators make is in generate.cpp.
#include "tools/broadloom/data/source.hpp"

#include "ops/ops.hpp"
#include "support/element.hpp"

#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/data/files.hpp"
#include "tools/broadloom/data/number.hpp"
#include "tools/broadloom/data/png_file.hpp"
#include "tools/broadloom/data/standard_input.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <complex>
#include <limits>
#include <optional>

namespace broadloom::cli {

using support::is_complex_type;
using support::with_type;

namespace {

// Writes the number in the target's dtype.
void put_number(const std::string &word, const Target &target, void *at) {
  with_type(target.dtype, [&](auto zero) {
    using T = decltype(zero);
    T value = zero;
    bool fits = true;
    if constexpr (std::is_same_v<T, bool>) {
      value = word == "true" || word == "1";
      fits = value || word == "false" || word == "0";
    } else if constexpr (support::is_narrow<T>) {
      double wide = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), wide);
      value = T(wide);
      fits = error == std::errc{} && end == word.data() + word.size() &&
             (std::isfinite(float(value)) || !std::isfinite(wide));
    } else if constexpr (is_complex_type<T>) {
      const std::optional<ReadNumber> number = number_of(word);
      fits = number && number->in_range;
      if (fits) value = T(number->value);
      fits = fits && std::isfinite(value.real()) >= std::isfinite(number->value.real()) &&
             std::isfinite(value.imag()) >= std::isfinite(number->value.imag());
    } else {
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      fits = error == std::errc{} && end == word.data() + word.size();
    }
    if (!fits) {
      throw UsageError(
          "E0403",
          fmt::format("input {}: {} is not a value of {}", target.name, word, name(target.dtype)),
          "give a value in the dtype that the kernel declares for this input");
    }
    *static_cast<T *>(at) = value;
  });
}

Array number_array(const std::string &word, const Target &target) {
  const Array array(target.dtype, {});
  put_number(word, target, array.raw());
  return array;
}

Array list_array(const ListSource &list, const Target &target) {
  const Array array(target.dtype, list.extents);
  char *at = static_cast<char *>(array.raw());
  for (const std::string &word : list.words) {
    put_number(word, target, at);
    at += size_of(target.dtype);
  }
  return array;
}

[[noreturn]] void wrong_dtype(const std::string &what, const Array &array, const Target &target,
                              const std::string &help) {
  throw DTypeError("E0203",
                   fmt::format("'{}' holds {}, and input '{}' is declared as {}", what,
                               name(array.dtype()), target.name, name(target.dtype)),
                   target.where, help);
}

// What is weak takes the dtype, if it has its values.
Array named_array(const std::string &called, const Target &target) {
  const auto found = target.values ? target.values->find(called) : Values::const_iterator();
  if (!target.values || found == target.values->end())
    throw UsageError("E0403", fmt::format("input {}: there is no value '{}'", target.name, called),
                     ".list lists the values");
  const Array &array = found->second.array;
  if (array.dtype() == target.dtype) return array;
  if (!found->second.is_weak)
    wrong_dtype(called, array, target,
                fmt::format("declare the input as {}, or cast: .let c = {}({})",
                            name(array.dtype()), name(target.dtype), called));
  const Array from = array.copy(), to(target.dtype, array.shape());
  const std::size_t from_size = size_of(from.dtype()), to_size = size_of(to.dtype());
  const bool loses_all = is_integer(to.dtype()) || to.dtype() == DType::Bool;
  for (std::int64_t k = 0; k < from.size(); ++k) {
    const ops::Scalar value =
        ops::load(static_cast<const char *>(from.raw()) + std::size_t(k) * from_size, from.dtype());
    const bool complex_to_real = is_complex(from.dtype()) && !is_complex(to.dtype());
    const ops::Scalar made =
        complex_to_real ? ops::Scalar{} : ops::convert(value, from.dtype(), to.dtype());
    if (complex_to_real || (loses_all && ops::convert(made, to.dtype(), from.dtype()) != value))
      wrong_dtype(called, array, target, "it has values that this dtype does not have");
    ops::store(static_cast<char *>(to.raw()) + std::size_t(k) * to_size, to.dtype(), made);
  }
  return to;
}

void require_file(const std::string &path, const std::string &what) {
  if (::access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    throw UsageError("E0402", fmt::format("{}: there is no file '{}'", what, path),
                     "check the path; it counts from the current folder");
  }
}

Array array_in(const std::string &path, FileKind kind, const Target &target) {
  switch (kind) {
  case FileKind::Npy: return load_npy(path);
  case FileKind::Csv: return list_array(read_csv(path), target);
  case FileKind::Png: return read_png(path);
  }
  return {};
}

Array standard_input_array(const Target &target) {
  if (target.standard_input == nullptr)
    throw UsageError(
        "E0403",
        fmt::format("input {}: - is standard input, from which the REPL reads its lines",
                    target.name),
        "name a file; broadloom run .. --in x=- reads data from standard input");
  return read_stream(*target.standard_input, [&](const std::string &path, FileKind kind) {
    return array_in(path, kind, target);
  });
}

Array file_array(const FileSource &source, const Target &target) {
  const std::string &path = source.path;
  const bool is_stream = path == "-";
  if (!is_stream) require_file(path, "input " + target.name);
  const Array array = is_stream              ? standard_input_array(target)
                      : source.entry.empty() ? array_in(path, kind_of_name(path), target)
                                             : load_npz(path, source.entry);
  if (array.dtype() != target.dtype)
    wrong_dtype(is_stream ? "standard input" : path, array, target,
                fmt::format("declare the input as {}, or convert the file with numpy",
                            name(array.dtype())));
  return array;
}

[[noreturn]] void bad_view(const std::string &what, const std::string &text) {
  throw ShapeError("E0114", fmt::format("{} in '{}'", what, text), {},
                   "indices count from 0, or from the end with -1; slices may go beyond the end");
}

struct Range {
  std::int64_t start, count, step;
};

// Python's slice.indices: missing and outlying bounds move to the ends.
Range resolve(const Slice &slice, std::int64_t extent) {
  const std::int64_t step =
      std::max(slice.step.value_or(1), -std::numeric_limits<std::int64_t>::max());
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  const auto bound = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? *given + extent : *given, low, high);
  };
  const std::int64_t start = bound(slice.start, step > 0 ? low : high);
  const std::int64_t stop = bound(slice.stop, step > 0 ? high : low);
  if (step > 0) return {start, start < stop ? (stop - start - 1) / step + 1 : 0, step};
  return {start, start > stop ? (start - stop - 1) / -step + 1 : 0, step};
}

} // namespace

Array apply_view(const Array &array, const ViewStep &step, const std::string &text) {
  if (step.transpose) return array.transposed();
  const Layout &from = array.layout();
  const int named = int(std::count_if(step.items.begin(), step.items.end(), [](const Item &item) {
    return !std::holds_alternative<Ellipsis>(item);
  }));
  if (named > from.rank) bad_view(fmt::format("{} indices for {} dims", named, from.rank), text);
  Layout to;
  std::int64_t offset = 0;
  int d = 0;
  const auto keep = [&](std::int64_t extent, std::int64_t stride) {
    to.extents[to.rank] = extent;
    to.strides[to.rank++] = stride;
  };
  const auto skip = [&](int dims) {
    for (; dims > 0; --dims, ++d) keep(from.extents[d], from.strides[d]);
  };
  for (const Item &item : step.items) {
    if (std::holds_alternative<Ellipsis>(item)) {
      skip(from.rank - named);
      continue;
    }
    const std::int64_t extent = from.extents[d], stride = from.strides[d];
    if (const std::int64_t *index = std::get_if<std::int64_t>(&item)) {
      if (*index < -extent || *index >= extent)
        bad_view(fmt::format("index {} is outside dim {} of {} elements", *index, d, extent), text);
      offset += (*index < 0 ? *index + extent : *index) * stride;
    } else {
      const Range range = resolve(std::get<Slice>(item), extent);
      if (range.count > 0) offset += range.start * stride;
      // With one element or none the step is never taken, and the product might not fit.
      keep(range.count, range.count > 1 ? stride * range.step : stride);
    }
    ++d;
  }
  skip(from.rank - d);
  if (element_count(from) == 0) offset = 0;
  char *data = static_cast<char *>(array.raw()) + offset * std::int64_t(size_of(array.dtype()));
  return {std::make_shared<Array>(array), array.dtype(), data, to};
}

Array array_of_file(const Source &source) {
  const auto &file = std::get<FileSource>(source.base);
  if (file.path == "-") return standard_input_array({"of the value", DType::F64, {}});
  require_file(file.path, "the value");
  Array array = !file.entry.empty()           ? load_npz(file.path, file.entry)
                : file.path.ends_with(".png") ? read_png(file.path)
                                              : load_npy(file.path);
  for (const ViewStep &step : source.views) array = apply_view(array, step, source.text);
  return array;
}

Array read_written(const std::string &path, const std::string &name, DType dtype) {
  return is_archive(path) ? load_npz(path, name)
                          : array_in(path, kind_of_name(path), {name, dtype, {}});
}

Array read_source(const Source &source, const Target &target) {
  Array array;
  if (const auto *file = std::get_if<FileSource>(&source.base)) {
    array = file_array(*file, target);
  } else if (const auto *number = std::get_if<NumberSource>(&source.base)) {
    array = number_array(number->text, target);
  } else if (const auto *list = std::get_if<ListSource>(&source.base)) {
    array = list_array(*list, target);
  } else if (const auto *named = std::get_if<NameSource>(&source.base)) {
    array = named_array(named->name, target);
  } else {
    const GeneratorSource &made = std::get<GeneratorSource>(source.base);
    array = generate(made, target);
    if (made.generator == Generator::Full) {
      char *at = static_cast<char *>(array.raw());
      for (std::int64_t k = 0; k < array.size(); ++k, at += size_of(target.dtype))
        put_number(made.value, target, at);
    }
  }
  for (const ViewStep &step : source.views) array = apply_view(array, step, source.text);
  return array;
}

} // namespace broadloom::cli
