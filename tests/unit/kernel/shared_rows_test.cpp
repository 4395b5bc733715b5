// Several rows of a stencil in one turn, which load each row once. Each engine must have the bits
// of the reference.
#include "all_engines.hpp"

#include <string>

using namespace broadloom;
using namespace broadloom::tests;

namespace {

// Nine points in three rows.
const std::string around = "x[i, j] - 2*x[i + 1, j] + x[i + 2, j] + x[i, j + 1] - x[i + 1, j + 1]"
                           " + x[i + 2, j + 1] - x[i, j + 2] * x[i + 1, j + 2] * x[i + 2, j + 2]";
const std::string three_rows = "in x : f32[:, :]; out y = " + around;

// So small that these arrays are beyond a core's nearest cache, or beyond all caches.
struct Caches {
  explicit Caches(const char *bytes) { setenv("BROADLOOM_CACHES", bytes, 1); }
  ~Caches() { unsetenv("BROADLOOM_CACHES"); }
};

Array noise(DType dtype, const std::vector<std::int64_t> &shape) {
  Array array(f64, shape);
  std::uint64_t state = 7;
  for (std::int64_t k = 0; k < array.size(); ++k) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    array.data<double>()[k] = double(state >> 40) * 0x1p-24 - 0.5;
  }
  const Kernel convert = compile(
      parse("kernel c { in x : f64[:, :]; out y : " + std::string(name(dtype)) + " = x * 90 }"));
  return std::move(convert.call(std::vector<NamedView>{{"x", array}}).begin()->second);
}

std::string shown(const std::string &body, const Array &x, Stage stage) {
  const Kernel kernel = compile(kernel_of(body), with(Engine::jit));
  kernel.call(std::vector<NamedView>{{"x", x}});
  return kernel.show(stage);
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("rows that several rows of a stencil read are loaded once, and all stages say so") {
  const Array x = noise(f32, {90, 200});
  const std::string loops = shown(three_rows, x, Stage::loop);
  CAPTURE(loops);
  CHECK(has(loops, "in x[i + 1, j] : f32[i other, j unit], like x[i, j] at i + 1"));
  CHECK(has(loops, "in x[i + 2, j] : f32[i other, j unit], like x[i, j] at i + 2"));
  const std::string blocks = shown(three_rows, x, Stage::block);
  CAPTURE(blocks);
  CHECK(has(blocks, "block i 2 copies"));
  CHECK(has(blocks, "load \"x[i + 1, j]\": row, rows shared"));
  CHECK(has(shown(three_rows, x, Stage::why), "each row that several of them read is loaded once"));
}

TEST_CASE("what the nearest cache holds, or what memory brings, is loaded as it is read") {
  CHECK(!has(shown(three_rows, noise(f32, {20, 20}), Stage::loop), "like"));
  const Caches small("4K,64K");
  CHECK(!has(shown(three_rows, noise(f32, {200, 200}), Stage::loop), "like"));
}

TEST_CASE("stencils have the same bits in every engine, however many rows there are") {
  const Caches small("1K,1M");
  for (const std::int64_t rows : {3, 4, 5, 6, 7, 31})
    for (const DType dtype : {f32, f64, f16, c64, i16}) {
      const Array x = noise(dtype, {rows, 77});
      std::string text = three_rows;
      text.replace(text.find("f32"), 3, name(dtype));
      run(text, {NamedView{"x", x}});
    }
  const Array x = noise(f32, {40, 70});
  for (const std::string &body :
       {// rows that are read backwards, and every second row
        around + " + x[38 - i, j] + x[37 - i, j]", around + " + x[2*i, j] * x[2*i + 2, j]",
        // a row for all, and columns across
        around + " + x[0, j] + x[j, i]", around + " + x[i, i]",
        // borders
        around + " + pad(x, 0: (1, 1), edge)[i, j] * pad(x, 0: (1, 1), edge)[i + 1, j]",
        around + " + pad(x, 0: (1, 1), wrap)[i, j] * x[i, j] + pad(x, 0: (1, 1), 3)[i + 2, j]",
        // folds of rows, and several outputs
        "sum(" + around + ", i)", "sum(" + around + ", j)",
        around + "; out z = x[i + 1, j] * x[i + 2, j] + x[i, j + 2]"}) {
    INFO(body);
    run("in x : f32[:, :]; out y = " + body, {NamedView{"x", x}});
  }
}

TEST_CASE("rows in every order and at every distance have the same bits") {
  const Caches small("1K,1M");
  const Array x = noise(f32, {60, 130});
  const auto look = [&](std::int64_t first, std::int64_t rows, std::int64_t down,
                        std::int64_t columns, std::int64_t across) {
    AnyView view = x;
    view.data = static_cast<char *>(view.data) + first * 4;
    view.layout.extents[0] = rows;
    view.layout.extents[1] = columns;
    view.layout.strides[0] = down;
    view.layout.strides[1] = across;
    run(three_rows, {NamedView{"x", view}});
  };
  look(0, 30, 260, 130, 1);         // every second row
  look(59 * 130, 60, -130, 130, 1); // from the last row on
  look(3, 60, 130, 120, 1);         // not aligned
  look(0, 50, 0, 130, 1);           // one row throughout
  look(0, 50, 1, 130, 1);           // rows that overlap
  look(129, 60, 130, 130, -1);      // columns from the last on
  look(0, 60, 130, 65, 2);          // every second column
}

TEST_CASE("an output that lies on rows which are read has what these were before") {
  const Caches small("1K,1M");
  std::string reads = around;
  for (std::size_t at = 0; (at = reads.find("x[", at)) != std::string::npos; at += 34)
    reads.replace(at, 1, "pad(x, 0: (1, 1), 1: (1, 1), edge)");
  const std::string body = "in x : f32[i, j]; out y[i, j] = x[i, j] + " + reads;
  const Array before = noise(f32, {33, 70});
  const Array truth = run(body, {NamedView{"x", before}});
  for (const int threads : {1, 3}) {
    const Array both = before.copy();
    const Kernel kernel = compile(kernel_of(body), with(Engine::jit, threads));
    kernel.run({AnyView(both)}, {AnyView(both)});
    CHECK(bytes(both) == bytes(truth));
  }
}

TEST_CASE("rows that go around the caches share what they read, wherever the output lies") {
  const Array x = noise(f32, {100, 130});
  const std::string body = three_rows + "\nschedule { stream y }";
  CHECK(has(shown(body, x, Stage::block), "rows shared"));
  CHECK(has(shown(body, x, Stage::block), "store y: non-temporal row"));
  const Array truth = run(body, {NamedView{"x", x}});
  const Array room(f32, {98 * 144 + 16});
  const Kernel kernel = compile(kernel_of(body), with(Engine::jit));
  for (const std::int64_t first : {0, 1, 16})
    for (const std::int64_t row : {128, 129, 144}) {
      AnyView out = truth;
      out.data = room.data<float>() + first;
      out.writable = true;
      out.layout.strides[0] = row;
      kernel.run({AnyView(x)}, {out});
      for (std::int64_t i = 0; i < 98; ++i)
        CHECK(std::equal(truth.data<float>() + i * 128, truth.data<float>() + (i + 1) * 128,
                         room.data<float>() + first + i * row));
    }
}
