// The edges of a picture: a Sobel filter from one PNG file to another, whose pixels libpng reads
// and writes.
//
// The brightness of a pixel is a let that is read at positions, so it is an array: computed once
// for each pixel, not for each of the twelve reads. The picture lies in a border that repeats its
// outermost pixels, so the result is as large as the picture.
// Usage: sobel [IN.png [OUT.png]]
#include <broadloom/broadloom.hpp>

#include <png.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bl = broadloom;

static const char *const text = R"(
kernel sobel {
  in  x      : u8[:, :, :]                 # rows, columns; red, green, blue
  in  weight : f32[c]
  let g[p, q] = sum(x[p, q, c] * weight, c)
  let across = g[i, j + 2] + 2 * g[i + 1, j + 2] + g[i + 2, j + 2] - (g[i, j] + 2 * g[i + 1, j] + g[i + 2, j])
  let down   = g[i + 2, j] + 2 * g[i + 2, j + 1] + g[i + 2, j + 2] - (g[i, j] + 2 * g[i, j + 1] + g[i, j + 2])
  out edges : u8 = minimum(sqrt(across * across + down * down) / 4, 255)
  out strongest = max(sqrt(across * across + down * down) / 4)
}
)";

struct Picture {
  std::int64_t rows = 0, columns = 0;
  std::vector<std::uint8_t> pixels; // 3 each, in C order
};

// In a border of one pixel.
static Picture read_with_border(const std::string &path) {
  png_image png;
  std::memset(&png, 0, sizeof png);
  png.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&png, path.c_str()))
    throw std::runtime_error("cannot read " + path + ": " + png.message);
  png.format = PNG_FORMAT_RGB;
  Picture picture{std::int64_t(png.height) + 2, std::int64_t(png.width) + 2, {}};
  picture.pixels.resize(std::size_t(picture.rows * picture.columns * 3));
  const std::int64_t stride = picture.columns * 3; // rows of the file go straight into the inside
  if (!png_image_finish_read(&png, nullptr, picture.pixels.data() + stride + 3, png_int_32(stride),
                             nullptr))
    throw std::runtime_error("cannot read " + path + ": " + png.message);
  std::uint8_t *const first = picture.pixels.data();
  for (std::int64_t row = 1; row < picture.rows - 1; ++row) {
    std::uint8_t *const left = first + row * stride, *const right = left + stride - 3;
    std::copy_n(left + 3, 3, left);
    std::copy_n(right - 3, 3, right);
  }
  std::copy_n(first + stride, stride, first);
  std::uint8_t *const last = first + (picture.rows - 1) * stride;
  std::copy_n(last - stride, stride, last);
  return picture;
}

static void write_gray(const std::string &path, const bl::Array &pixels) {
  png_image png;
  std::memset(&png, 0, sizeof png);
  png.version = PNG_IMAGE_VERSION;
  png.format = PNG_FORMAT_GRAY;
  png.height = png_uint_32(pixels.shape()[0]);
  png.width = png_uint_32(pixels.shape()[1]);
  if (!png_image_write_to_file(&png, path.c_str(), 0, pixels.data<std::uint8_t>(), 0, nullptr))
    throw std::runtime_error("cannot write " + path + ": " + png.message);
}

static int run(const std::string &from, const std::string &to) {
  const Picture picture = read_with_border(from);
  const float weight[] = {54.0f / 256, 183.0f / 256, 19.0f / 256}; // those of Rec. 709, nearly
  const bl::View<const std::uint8_t> x(picture.pixels.data(), {picture.rows, picture.columns, 3});
  const bl::View<const float> w(weight, {3});

  const bl::LoopSpec spec = bl::parse(text);
  const bl::Results found = bl::compile(spec)({{"x", x}, {"weight", w}});
  const bl::Results truth =
      bl::compile(spec, {.engine = bl::Engine::reference})({{"x", x}, {"weight", w}});
  const bl::Array edges = found["edges"].copy(), expected = truth["edges"].copy();
  if (!std::equal(edges.data<std::uint8_t>(), edges.data<std::uint8_t>() + edges.size(),
                  expected.data<std::uint8_t>())) {
    std::cerr << "the edges differ from the reference\n";
    return 1;
  }
  write_gray(to, edges);
  std::printf("%s: %lld x %lld pixels, the strongest edge is %.1f of 255\n", from.c_str(),
              static_cast<long long>(edges.shape()[1]), static_cast<long long>(edges.shape()[0]),
              double(found["strongest"].data<float>()[0]));
  std::printf("All pixels agree with the reference.\nWritten to %s\n", to.c_str());
  return 0;
}

int main(int argc, char **argv) try {
  if (argc > 3 || (argc > 1 && argv[1][0] == '-')) {
    std::cerr << "usage: sobel [IN.png [OUT.png]]\n";
    return 2;
  }
  return run(argc > 1 ? argv[1] : BROADLOOM_DATA_DIR "/spheres.png",
             argc > 2 ? argv[2] : "edges.png");
} catch (const bl::Error &error) {
  std::cerr << error.render();
  return 1;
} catch (const std::runtime_error &error) {
  std::cerr << error.what() << "\n";
  return 1;
}
