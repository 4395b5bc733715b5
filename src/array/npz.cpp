// Loading and saving .npz files: zip archives of .npy files, by libzip.
//
// libzip checks the sums of what it reads.
#include "array/npz.hpp"

#include "array/layout.hpp"
#include "array/npy.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>

#include <zip.h>

#include <algorithm>
#include <memory>
#include <unordered_set>

namespace broadloom {

namespace {

constexpr std::string_view suffix = ".npy";

[[noreturn]] void malformed(const std::string &path, const std::string &why) {
  throw DataError("E0302", fmt::format("'{}' is no .npz file that can be read: {}", path, why), {},
                  "write it by save_npz or numpy.savez");
}

struct Discard {
  void operator()(zip_t *archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

struct CloseFile {
  void operator()(zip_file_t *file) const { zip_fclose(file); }
};

std::string text_of(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

// Reads until `size` bytes are there or the entry ends.
std::size_t read_fully(zip_file_t *file, char *to, std::size_t size, const std::string &path) {
  std::size_t done = 0;
  while (done < size) {
    const zip_int64_t n = zip_fread(file, to + done, std::min(size - done, std::size_t(1) << 30));
    if (n < 0) malformed(path, zip_file_strerror(file));
    if (n == 0) break;
    done += std::size_t(n);
  }
  return done;
}

Array load_entry(zip_t *archive, zip_uint64_t index, std::uint64_t size, const std::string &path) {
  const std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(archive, index, 0));
  if (!file) malformed(path, zip_strerror(archive));
  std::string prefix(std::size_t(std::min<std::uint64_t>(size, npy::max_prefix)), '\0');
  prefix.resize(read_fully(file.get(), prefix.data(), prefix.size(), path));
  const npy::Header header = npy::parse_header(prefix, size, path);
  const Array dense(header.dtype, header.shape);
  char *data = static_cast<char *>(dense.raw());
  const std::size_t bytes = std::size_t(dense.size()) * size_of(header.dtype);
  const std::size_t had = std::min(prefix.size() - header.data_offset, bytes);
  std::copy_n(prefix.data() + header.data_offset, had, data);
  if (had + read_fully(file.get(), data + had, bytes - had, path) != bytes)
    malformed(path, "it ends too early");
  char rest = 0;
  while (read_fully(file.get(), &rest, 1, path) > 0) { // at the end the sum is checked
  }
  if (header.dtype == DType::Bool)
    std::for_each(data, data + bytes, [](char &byte) { byte = char(byte != 0); });
  if (!header.fortran_order) return dense;
  return {std::make_shared<Array>(dense), header.dtype, data, array::fortran_layout(header.shape)};
}

void add_entry(zip_t *archive, const array::PendingFile &file, const std::string &name,
               const Array &array, std::vector<std::string> &headers) {
  const bool f_order =
      !array::is_c_contiguous(array.layout()) && array::is_f_contiguous(array.layout());
  headers.push_back(npy::format_header(array.dtype(), f_order, array.shape()));
  zip_buffer_fragment_t parts[] = {
      {reinterpret_cast<zip_uint8_t *>(headers.back().data()), headers.back().size()},
      {static_cast<zip_uint8_t *>(array.raw()),
       std::uint64_t(array.size()) * size_of(array.dtype())}};
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *source = zip_source_buffer_fragment_create(parts, 2, 0, &error);
  if (source == nullptr) file.fail(zip_error_strerror(&error));
  const zip_int64_t entry =
      zip_file_add(archive, (name + std::string(suffix)).c_str(), source, ZIP_FL_ENC_UTF_8);
  if (entry < 0) {
    zip_source_free(source);
    file.fail(zip_strerror(archive));
  }
  const zip_uint64_t index = zip_uint64_t(entry);
  constexpr zip_uint16_t first_day = 0x21; // of 1980: the same arrays are the same file
  if (zip_set_file_compression(archive, index, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(archive, index, 0, first_day, 0) != 0)
    file.fail(zip_strerror(archive));
}

Archive open_to_read(const std::string &path) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive && (code == ZIP_ER_NOENT || code == ZIP_ER_OPEN || code == ZIP_ER_READ))
    throw DataError("E0301", fmt::format("cannot read '{}': {}", path, text_of(code)), {},
                    "check the path and its permissions");
  if (!archive) malformed(path, text_of(code));
  return archive;
}

struct Entry {
  std::string name; // of the array
  std::uint64_t size = 0;
};

Entry entry_at(zip_t *archive, zip_uint64_t index, const std::string &path) {
  zip_stat_t entry;
  zip_stat_init(&entry);
  if (zip_stat_index(archive, index, 0, &entry) != 0) malformed(path, zip_strerror(archive));
  std::string name = (entry.valid & ZIP_STAT_NAME) != 0 ? entry.name : "";
  if (!name.ends_with(suffix) || (entry.valid & ZIP_STAT_SIZE) == 0)
    malformed(path, fmt::format("'{}' in it is no .npy file", name));
  name.resize(name.size() - suffix.size());
  return {std::move(name), entry.size};
}

Array load_entry(zip_t *archive, zip_uint64_t index, const Entry &entry, const std::string &path) {
  return load_entry(archive, index, entry.size, path + ":" + entry.name + std::string(suffix));
}

} // namespace

NamedArrays load_npz(const std::string &path) try {
  const Archive archive = open_to_read(path);
  NamedArrays arrays;
  const auto count = zip_uint64_t(zip_get_num_entries(archive.get(), 0));
  for (zip_uint64_t k = 0; k < count; ++k) {
    Entry entry = entry_at(archive.get(), k, path);
    Array array = load_entry(archive.get(), k, entry, path);
    arrays.emplace_back(std::move(entry.name), std::move(array));
  }
  return arrays;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Array load_npz(const std::string &path, const std::string &name) try {
  const Archive archive = open_to_read(path);
  std::vector<std::string> names;
  const auto count = zip_uint64_t(zip_get_num_entries(archive.get(), 0));
  for (zip_uint64_t k = 0; k < count; ++k) {
    const Entry entry = entry_at(archive.get(), k, path);
    if (entry.name == name) return load_entry(archive.get(), k, entry, path);
    names.push_back(entry.name);
  }
  throw DataError("E0304", fmt::format("'{}' has no array '{}'", path, name), {},
                  names.empty() ? "it is empty" : "it has " + support::quoted_list(names));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

array::PendingFile npz::pending(const std::string &path, const NamedArrays &arrays) {
  array::PendingFile file(path);
  std::unordered_set<std::string> names;
  for (const auto &[name, array] : arrays)
    if (name.empty() || !names.insert(name).second)
      file.fail(name.empty() ? "an array has no name"
                             : fmt::format("two arrays have the name '{}'", name));
  int code = 0;
  Archive archive(zip_open(file.temporary().c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (!archive) file.fail(text_of(code));
  std::vector<Array> dense; // these and the headers live until all is written
  std::vector<std::string> headers;
  dense.reserve(arrays.size());
  headers.reserve(arrays.size());
  for (const auto &[name, array] : arrays) {
    const bool lies_dense =
        array::is_c_contiguous(array.layout()) || array::is_f_contiguous(array.layout());
    dense.push_back(lies_dense ? array : array.copy());
    add_entry(archive.get(), file, name, dense.back(), headers);
  }
  if (zip_close(archive.get()) != 0) file.fail(zip_strerror(archive.get()));
  (void)archive.release();
  return file;
}

void save_npz(const std::string &path, const NamedArrays &arrays) try {
  npz::pending(path, arrays).commit();
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
