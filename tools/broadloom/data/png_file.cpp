// See png_file.hpp: libpng by its full interface, as the simple one converts what a file says of
// its gamma.
//
// libpng leaves a function that fails by longjmp: `setjmp` stands in functions of their own, in
// which nothing has a destructor.
#include "tools/broadloom/data/png_file.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <png.h>

#include <algorithm>
#include <cerrno>
#include <csetjmp>
#include <cstdio>
#include <memory>
#include <system_error>
#include <vector>

namespace broadloom::cli {

namespace {

struct CloseFile {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

struct Message {
  char text[128] = "";
};

void on_error(png_structp png, png_const_charp text) {
  auto *message = static_cast<Message *>(png_get_error_ptr(png));
  std::strncpy(message->text, text, sizeof message->text - 1);
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {} // the picture can be read all the same

struct Picture {
  png_structp png = nullptr;
  png_infop info = nullptr;
  Message message;
};

class Reader : public Picture {
public:
  Reader() {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &message, on_error, on_warning);
    if (png != nullptr) info = png_create_info_struct(png);
  }
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  Reader(const Reader &) = delete;
  Reader &operator=(const Reader &) = delete;
};

class Writer : public Picture {
public:
  Writer() {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &message, on_error, on_warning);
    if (png != nullptr) info = png_create_info_struct(png);
  }
  ~Writer() { png_destroy_write_struct(&png, &info); }
  Writer(const Writer &) = delete;
  Writer &operator=(const Writer &) = delete;
};

bool read_head(Picture &picture, std::FILE *file) {
  if (setjmp(png_jmpbuf(picture.png)) != 0) return false;
  png_init_io(picture.png, file);
  png_read_info(picture.png, picture.info);
  png_set_expand(picture.png); // palettes, fewer bits and transparent colours
  png_set_interlace_handling(picture.png);
  png_read_update_info(picture.png, picture.info);
  return true;
}

bool read_rows(Picture &picture, png_bytepp rows) {
  if (setjmp(png_jmpbuf(picture.png)) != 0) return false;
  png_read_image(picture.png, rows);
  png_read_end(picture.png, nullptr);
  return true;
}

struct Extents {
  png_uint_32 height = 0, width = 0;
  int channels = 1;
};

bool write_all(Picture &picture, std::FILE *file, const Extents &extents, png_bytepp rows) {
  constexpr int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                           PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(png_jmpbuf(picture.png)) != 0) return false;
  png_init_io(picture.png, file);
  png_set_IHDR(picture.png, picture.info, extents.width, extents.height, 8,
               types[extents.channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(picture.png, picture.info);
  png_write_image(picture.png, rows);
  png_write_end(picture.png, nullptr);
  return true;
}

std::vector<png_bytep> rows_of(const Array &array, std::size_t bytes_of_row) {
  std::vector<png_bytep> rows;
  for (std::int64_t row = 0; row < array.shape()[0]; ++row)
    rows.push_back(static_cast<png_bytep>(array.raw()) + std::size_t(row) * bytes_of_row);
  return rows;
}

std::string reason() { return std::generic_category().message(errno); }

[[noreturn]] void malformed(const std::string &path, const std::string &what) {
  throw DataError("E0302", fmt::format("'{}' cannot be read: {}", path, what), {},
                  "a .png file of 8 bits a channel is needed");
}

Extents extents_of(const std::string &path, const Array &array) {
  if (array.dtype() != DType::U8)
    throw DTypeError(
        "E0203",
        fmt::format("'{}': a .png file holds u8, and this is {}", path, name(array.dtype())), {},
        "write u8(round(clamp(v, 0, 1) * 255)) of values between 0 and 1");
  const auto shape = array.shape();
  const bool flat = array.rank() == 2, deep = array.rank() == 3 && shape[2] >= 1 && shape[2] <= 4;
  constexpr std::int64_t most = 0x7fffffff;
  const bool fits =
      array.rank() >= 2 && shape[0] >= 1 && shape[1] >= 1 && shape[0] <= most && shape[1] <= most;
  if ((!flat && !deep) || !fits)
    throw ShapeError(
        "E0101",
        fmt::format("'{}': an array of shape [{}] is no picture", path, fmt::join(shape, ", ")), {},
        "a picture is [h, w] or [h, w, c] with 1 to 4 channels, and not empty");
  return {png_uint_32(shape[0]), png_uint_32(shape[1]), flat ? 1 : int(shape[2])};
}

} // namespace

Array read_png(const std::string &path) {
  const File file(std::fopen(path.c_str(), "rbe"));
  if (!file)
    throw DataError("E0301", fmt::format("'{}' cannot be opened: {}", path, reason()), {},
                    "check the path, and that it may be read");
  unsigned char mark[8];
  if (std::fread(mark, 1, sizeof mark, file.get()) != sizeof mark ||
      png_sig_cmp(mark, 0, sizeof mark) != 0)
    malformed(path, "it is no PNG file");
  std::rewind(file.get());
  Reader reader;
  if (reader.info == nullptr) throw std::bad_alloc();
  if (!read_head(reader, file.get())) malformed(path, reader.message.text);
  if (png_get_bit_depth(reader.png, reader.info) != 8)
    malformed(path, fmt::format("it has {} bits a channel",
                                int(png_get_bit_depth(reader.png, reader.info))));
  const std::int64_t height = png_get_image_height(reader.png, reader.info),
                     width = png_get_image_width(reader.png, reader.info),
                     channels = png_get_channels(reader.png, reader.info);
  std::vector<std::int64_t> shape{height, width};
  if (channels > 1) shape.push_back(channels);
  const Array array(DType::U8, shape);
  std::vector<png_bytep> rows = rows_of(array, png_get_rowbytes(reader.png, reader.info));
  if (!read_rows(reader, rows.data())) malformed(path, reader.message.text);
  return array;
}

array::PendingFile pending_png(const std::string &path, const Array &array) {
  array::PendingFile pending(path);
  const Extents extents = extents_of(path, array);
  const Array in_order = array.copy();
  std::vector<png_bytep> rows = rows_of(in_order, std::size_t(extents.width) * extents.channels);
  Writer writer;
  if (writer.info == nullptr) throw std::bad_alloc();
  File file(std::fopen(pending.temporary().c_str(), "wbe"));
  if (!file) pending.fail(reason());
  const bool written = write_all(writer, file.get(), extents, rows.data());
  const bool closed = std::fclose(file.release()) == 0;
  if (!written || !closed) pending.fail(written ? reason() : writer.message.text);
  return pending;
}

} // namespace broadloom::cli
