// Lets that are arrays, computed a few rows at a time: with any number of rows, threads and engine
// the bits are those of whole arrays.
#include "split_calls.hpp"

#include "jit/call/choose_tiles.hpp"

#include "calls/record.hpp"
#include "calls/verify.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

using namespace broadloom;
using namespace broadloom::tests;

namespace {

struct TileRows {
  explicit TileRows(const std::string &rows, const std::string &spare = "") {
    setenv("BROADLOOM_TILE_ROWS", rows.c_str(), 1);
    if (!spare.empty()) setenv("BROADLOOM_TILE_SPARE", spare.c_str(), 1);
  }
  ~TileRows() {
    unsetenv("BROADLOOM_TILE_ROWS");
    unsetenv("BROADLOOM_TILE_SPARE");
  }
};

bool is_in_tiles(const Kernel &kernel) {
  return kernel.show(Stage::call).find(" tile ") != std::string::npos;
}

std::vector<std::vector<unsigned char>> outputs_of(const Kernel &kernel,
                                                   const std::vector<NamedView> &in) {
  std::vector<std::vector<unsigned char>> made;
  for (const auto &[name, array] : kernel.call(in)) made.push_back(bytes(array));
  return made;
}

Array first_of(const Kernel &kernel, const Array &x) {
  const std::vector<NamedView> in{{"x", x}};
  return kernel.call(in).begin()->second;
}

// Whether calls go in tiles, all of them or none, and have the bits of the interpreter that does
// not.
bool goes_in_tiles(const std::string &body, const Inputs &inputs) {
  const LoopSpec spec = kernel_of(body);
  const auto in = views(inputs);
  std::vector<std::vector<unsigned char>> truth;
  {
    const TileRows never("0");
    const Kernel whole = compile(spec, with(Engine::interpreter));
    truth = outputs_of(whole, in);
    CHECK_FALSE(is_in_tiles(whole));
  }
  int tiled = 0, calls = 0;
  for (const std::string rows : {"1", "2", "3", "7", "1000"})
    for (const Options &options :
         {with(Engine::interpreter), with(Engine::jit), with(Engine::jit, 3)}) {
      const TileRows some(rows, std::to_string(calls % 4));
      const Kernel kernel = compile(spec, options);
      INFO(body << " in " << rows << " rows");
      CHECK(outputs_of(kernel, in) == truth);
      calls::verify(calls::parse(kernel.show(Stage::call)));
      tiled += is_in_tiles(kernel);
      ++calls;
    }
  CHECK((tiled == 0 || tiled == calls));
  return tiled > 0;
}

} // namespace

TEST_CASE("a blur of two stages has the same bits in tiles of any number of rows") {
  for (const std::vector<std::int64_t> &shape :
       {std::vector<std::int64_t>{37, 50}, {5, 4}, {300, 12}, {4, 1000}}) {
    CAPTURE(shape[0]);
    CHECK(goes_in_tiles("in x : f64[r, c]; let h[r, j] = x[r, j] + x[r, j + 1] * 3; "
                        "out y[i, j] = h[i, j] - h[i + 1, j] * h[i + 2, j]",
                        {{"x", counted(shape)}}));
  }
}

TEST_CASE("a chain of lets goes in tiles, and what several of them read") {
  CHECK(goes_in_tiles("in x : f64[r, c]; let g[r, j] = x[r, j] + x[r, j + 1]; "
                      "let h[s, j] = g[s, j] * g[s + 1, j] + g[s + 2, j]; "
                      "out y[i, j] = h[i, j] - h[i + 1, j]; out z[i, j] = h[i, j] * g[i, j]",
                      {{"x", counted({41, 19})}}));
}

TEST_CASE("a pool with steps reads rows of what is before it that many times as fast") {
  CHECK(goes_in_tiles("in x : f64[n, c]; let h[n, c] = relu(x[n, c]) * 2; "
                      "out y[p, c] = max(h[2*p + u, c], u < 2) + h[2*p, c]",
                      {{"x", counted({40, 6})}}));
  CHECK(goes_in_tiles("in x : f64[n, c]; let h[n, k] = x[n, k] + x[n, k + 1]; "
                      "out y[p, k] = sum(h[3*p + 2*u, k], u < 3)",
                      {{"x", counted({50, 6})}}));
}

TEST_CASE(
    "planes that read the same lets go by the rows of these, and nests of several phases do") {
  CHECK(goes_in_tiles(
      "in x : f64[c=3, r, w]; let g[r, w] = x[0, r, w] + 2 * x[1, r, w] - x[2, r, w]; "
      "let b[i, w] = g[i, w] + g[i + 2, w]; "
      "out y[c, i, j] = x[c, i, j] * (2 - exp(b[i, j] + b[i, j + 1]) / g[i + 1, j])",
      {{"x", counted({3, 30, 20}, 0.01)}}));
}

TEST_CASE("rows of one element each go in tiles") {
  CHECK(goes_in_tiles("in x : f64[n]; let h[n] = exp(x[n] / 50); out y[i] = h[i] + h[i + 1]",
                      {{"x", counted({1001})}}));
}

TEST_CASE("a padded input is copied once, and its parts are computed in tiles") {
  for (const char *split : {"0", "1000000000"}) {
    const SplitFrom from(split);
    CHECK(goes_in_tiles(
        "in x : f64[i, j]; let h[r, c] = pad(x, 0: (1, 1), 1: (1, 1), edge)[r, c + 1] + "
        "pad(x, 0: (1, 1), 1: (1, 1), edge)[r + 2, c]; out y[p, q] = h[p, q] + h[p + 1, q + 1]",
        {{"x", counted({40, 64})}}));
  }
}

TEST_CASE("positions count from the first row of all, and so do extents") {
  CHECK(goes_in_tiles("in x : f64[r, c]; let h[r, c] = x[r, c] * iota(r) + iota(c); "
                      "out y[i, j] = h[i, j] + h[i + 1, j] * iota(i) / extent(i)",
                      {{"x", counted({29, 8})}}));
}

TEST_CASE("a fold along other axes than the rows keeps its tree") {
  CHECK(goes_in_tiles("in x : f64[r, k]; in w : f64[k, c]; "
                      "let h[r, c] = sum(x[r, k] * w[k, c], k); "
                      "out y[i, c] = h[i, c] + h[i + 1, c]",
                      {{"x", counted({31, 400}, 0.1)}, {"w", counted({400, 5}, 0.3)}}));
}

TEST_CASE("a fold that goes from row to row keeps its tree, however far apart rows could begin") {
  for (const std::string value : {"sum(h[i + u, c], u < 3, c)", "sum(h[i + u, c], c, u < 3)"})
    CHECK(goes_in_tiles("in x : f64[r, c]; let h[r, c] = x[r, c] * 1.1; out y[i] = " + value,
                        {{"x", counted({30, 201}, 0.3)}}));
  CHECK(goes_in_tiles("in x : f64[r, c]; let h[r, c] = x[r, c] * 1.1; "
                      "out y[i] = sum(h[i, c] * h[i + 1, c], c)",
                      {{"x", counted({30, 201}, 0.3)}}));
}

TEST_CASE("rows of a let begin where lines do, side by side if they are whole lines") {
  using jit::choice::apart_in_lines;
  CHECK(apart_in_lines(1000) == 1000); // too short
  CHECK(apart_in_lines(1024) == 1024);
  CHECK(apart_in_lines(16392) == 16448);
  CHECK(apart_in_lines(16384) == 16384);
}

TEST_CASE("memory has room for more rows than a tile needs, if rows would have to move often") {
  jit::choice::TileGroup group;
  group.rows = 2;
  group.members = {{.let = 0, .rows = 100, .row_bytes = 1000},
                   {.let = 1, .rows = 98, .reads = {{.reads = 0, .low = 0, .high = 2}}}};
  CHECK(jit::choice::spare_rows(group, 3000) == 0); // a tile needs four
  CHECK(jit::choice::spare_rows(group, 9999) == 5);
  CHECK(jit::choice::spare_rows(group, 1'000'000) == 14); // two rows move for 16
  group.rows = 20;
  CHECK(jit::choice::spare_rows(group, 1'000'000) == 0);
  group.rows = 2;
  group.members[0].times = 2;
  group.members[0].rows = 200;
  group.members[1].reads[0].times = 2;
  CHECK(jit::choice::spare_rows(group, 9999) == 2); // of five
}

TEST_CASE("what is read in another way than by rows is computed whole") {
  const Inputs x{{"x", counted({20, 20})}};
  for (const std::string body :
       {"out y[i, j] = h[i, j] + sum(h[i + 1, j], i)",           // all rows for each
        "out y[i, j] = h[i, j] / sum(h[k, j], k) + h[i + 1, j]", // and these
        "out y[i, j] = h[19 - i, j]",                            // from the last to the first
        "out y[i, j] = scan(sum, h[i, j] + h[i + 1, j], i)"}) {  // one row after the other
    INFO(body);
    CHECK_FALSE(goes_in_tiles("in x : f64[r, c]; let h[r, c] = x[r, c] * 2 + x[r, c]; " + body, x));
  }
}

TEST_CASE("lets that are read past their ends lie in copies with borders in tiles") {
  const Inputs x = {{"x", counted({23, 11}, 0.01)}};
  const std::string h = "in x : f64[r, c]; let h[p, q] = x[p, q] - x[p, q + 1] * 2; ";
  for (const std::string mode : {"", ", edge", ", reflect", ", 3"}) {
    INFO(mode);
    CHECK(goes_in_tiles(h + "out y[i, j] = pad(h, 0: (1, 1), 1: (1, 2)" + mode +
                            ")[i + 2, j] - pad(h, 0: (1, 1), 1: (1, 2)" + mode + ")[i, j + 3]",
                        x));
    CHECK(
        goes_in_tiles(h + "out y[i, j] = sum(pad(h, 0: (4, 3)" + mode + ")[i + u, j], u < 8)", x));
    CHECK(goes_in_tiles(h + "out y[i, j] = pad(h, 0: (0, 3)" + mode + ")[i + 3, j] + h[i, j]", x));
    CHECK(goes_in_tiles(h + "out y[i, j] = pad(h, 0: (2, 0)" + mode + ")[2*i, j]", x));
    CHECK(goes_in_tiles(h + "let g[p, q] = pad(h, 0: (1, 1)" + mode + ")[p, q] + pad(h, 0: (1, 1)" +
                            mode + ")[p + 2, q]; out y[i, j] = pad(g, 0: (2, 2), 1: (1, 1)" + mode +
                            ")[i + 4, j + 2] + h[i, j]",
                        x));
  }
  CHECK(goes_in_tiles(h + "out y[i, j] = pad(h, 1: (1, 1), wrap)[i, j] + h[i, j]", x));
  CHECK(goes_in_tiles(h + "out y[i, j] = pad(pad(h, 0: (1, 1), 5), 1: (1, 1), wrap)[i, j]", x));
  CHECK(goes_in_tiles(
      "in x : f64[r, c]; let h[p, q] = pad(x, 0: (1, 1), 1: (1, 1))[p, q + 1] + "
      "pad(x, 0: (1, 1), 1: (1, 1))[p + 2, q + 1]; "
      "out y[i, j] = pad(h, 0: (1, 1), edge)[i, j] + pad(h, 0: (1, 1), edge)[i + 2, j]",
      x));
  // The other end of the array, two borders, another array, and more rows than there are.
  for (const std::string value : {
           "pad(h, 0: (1, 1), wrap)[i, j]",
           "pad(h, 0: (1, 1), 2)[i, j] + pad(h, 0: (1, 1), edge)[i, j]",
           "pad(h, 0: (1, 1))[i, j] + pad(x, 0: (1, 1))[i, j]",
           "pad(h, 0: (23, 0), reflect)[i, j]",
       }) {
    const TileRows some("3");
    const Kernel kernel = compile(kernel_of(h + "out y[i, j] = " + value), with(Engine::jit));
    kernel.call(views(x));
    INFO(value);
    CHECK_FALSE(is_in_tiles(kernel));
  }
}

TEST_CASE("arrays are small enough for the caches or go in tiles") {
  const LoopSpec spec = kernel_of("in x : f32[r, c]; let h[r, j] = x[r, j] + x[r, j + 1]; "
                                  "out y[i, j] = h[i, j] + h[i + 1, j]");
  setenv("BROADLOOM_CACHES", "64K,1M", 1);
  for (const bool large : {false, true}) {
    const Kernel kernel = compile(spec, with(Engine::interpreter));
    const Array x(DType::F32, {large ? 600 : 60, 100});
    first_of(kernel, x);
    CHECK(is_in_tiles(kernel) == large);
    CHECK(has(kernel, "let-in-tiles") == large);
    CHECK(has(kernel, "let-is-array") != large);
    for (const Decision &decision : kernel.why())
      if (decision.code == "lets-share-memory") {
        INFO(decision.text);
        CHECK((decision.text.find(" 0 bytes") != std::string::npos) == large);
      }
  }
  unsetenv("BROADLOOM_CACHES");
}

TEST_CASE("why says of each array what keeps it from going in tiles") {
  const Array x = counted({12, 5}, 0.0625), k = [] {
    Array indices(DType::I64, {12});
    for (int i = 0; i < 12; ++i) indices.data<std::int64_t>()[i] = 11 - i;
    return indices;
  }();
  const auto reason = [&](const std::string &body, const std::string &let) {
    const Kernel kernel =
        compile(kernel_of("in x : f64[:, :]; in k : i64[:]\n" + body), with(Engine::interpreter));
    kernel.call(std::vector<NamedView>{{"x", x}, {"k", k}});
    for (const Decision &decision : kernel.why())
      if (decision.code == "let-is-array" && decision.subject == let)
        for (const Alternative &other : decision.alternatives)
          if (other.choice == "in tiles") return other.why_not;
    return std::string("none");
  };
  const std::string h = "let h[i, j] = exp(x[i, j])\n",
                    u = "let u[t < 9, j] = u[t - 1, j] + h[t, j]\n",
                    looked_up = "reads at elements of another array, which are all looked up "
                                "before it runs";
  CHECK(reason(h + "out y = h[k[m], n]", "h") == "'k', which reads it, " + looked_up);
  CHECK(reason("let g[i, j] = 2 * x[k[i], j]\nout y = g[m + 1, n]", "g") == "it " + looked_up);
  CHECK(reason(h + "out y = sum(h[i, j], like=x[k[i], j])", "h") ==
        "'k', which reads it, adds at elements of another array, in their order");
  CHECK(reason(h + u + "out y[j] = u[-1, j]", "u") == "each row of it waits for the one before");
  CHECK(reason(h + u + "out y[j] = u[-1, j]", "h") == "'u', which reads it, goes step by step");
  CHECK(reason(h + "let z[i, j] = concat(i, h, x[i, j])\nout y = z[m + 1, n]", "h") ==
        "it is computed where it lies in 'z'");
}

TEST_CASE("`at` asks for tiles of any size, and `keep` for whole arrays") {
  const std::string body = "in x : f64[r, c]; let h[r, c] = exp(x[r, c] / 99); "
                           "out y[i, j] = h[i, j] + h[i + 1, j]; schedule { ";
  const Kernel at = compile(kernel_of(body + "at h i }"), with(Engine::jit));
  const Kernel plain = compile(kernel_of(body + "}"), with(Engine::jit));
  const Array x = counted({30, 8});
  CHECK(bytes(first_of(at, x)) == bytes(first_of(plain, x)));
  CHECK(is_in_tiles(at));
  CHECK(has(at, "wish-met"));
  CHECK_FALSE(is_in_tiles(plain));
  const Kernel across = compile(kernel_of(body + "at h j }"), with(Engine::jit));
  first_of(across, x);
  CHECK_FALSE(is_in_tiles(across)); // h lies in rows of r
  CHECK_FALSE(has(across, "wish-met"));
  const TileRows rows("2");
  const Kernel keep = compile(kernel_of(body + "keep h }"), with(Engine::jit));
  first_of(keep, x);
  CHECK_FALSE(is_in_tiles(keep));
}

TEST_CASE("an output that lies over an input makes lets whole arrays") {
  const TileRows rows("2");
  const Kernel kernel = compile(kernel_of("in x : f64[r]; let h[r] = x[r] * 2; "
                                          "out y[i] = h[i] + h[i + 1]"),
                                with(Engine::jit));
  const Array x = counted({40});
  const Array apart = first_of(kernel, x);
  CHECK(is_in_tiles(kernel));
  Array over = x.copy();
  AnyView out = over;
  out.layout.extents[0] = 39;
  const std::vector<NamedView> in{{"x", over}}, outs{{"y", out}};
  kernel.run_named(in, outs);
  CHECK_FALSE(is_in_tiles(kernel));
  CHECK(std::equal(apart.data<double>(), apart.data<double>() + 39, over.data<double>()));
}

TEST_CASE("a call in tiles ends where it is cancelled, and the next one runs") {
  const TileRows rows("1");
  auto cancel = std::make_shared<std::atomic<bool>>(true);
  Options options = with(Engine::jit, 2);
  options.cancel = cancel;
  const Kernel kernel = compile(kernel_of("in x : f64[r]; let h[r] = x[r] * 2; "
                                          "out y[i] = h[i] + h[i + 1]"),
                                options);
  const Array x = counted({40});
  CHECK_THROWS_AS(first_of(kernel, x), CancelledError);
  cancel->store(false);
  CHECK(first_of(kernel, x).data<double>()[0] == (x.data<double>()[0] + x.data<double>()[1]) * 2);
  CHECK(is_in_tiles(kernel));
}

TEST_CASE("what a call in tiles runs is what is shown of it") {
  const TileRows rows("3");
  setenv("BROADLOOM_VERIFY", "1", 1);
  for (const int threads : {1, 3}) {
    const Kernel kernel =
        compile(kernel_of("in x : f64[r, c]; let g[r, j] = x[r, j] + x[r, j + 1]; "
                          "let h[s, j] = g[s, j] * g[s + 1, j]; "
                          "out y[p, j] = h[2*p, j] - h[2*p + 1, j]"),
                with(Engine::jit, threads));
    first_of(kernel, counted({62, 9}));
    CHECK(is_in_tiles(kernel));
  }
  unsetenv("BROADLOOM_VERIFY");
}

TEST_CASE("a call in tiles may be bound, and called by several threads at once") {
  const TileRows rows("4");
  const Kernel kernel = compile(kernel_of("in x : f64[r, c]; let h[r, c] = exp(x[r, c] / 99); "
                                          "out y[i, j] = h[i, j] + h[i + 1, j]"),
                                with(Engine::jit, 3));
  const Array x = counted({90, 30});
  const Array truth = first_of(kernel, x);
  REQUIRE(is_in_tiles(kernel));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Array y(DType::F64, {89, 30});
      const std::vector<NamedView> in{{"x", x}}, out{{"y", y}};
      const BoundCall bound = kernel.bind_named(in, out);
      for (int n = 0; n < 20; ++n) {
        std::fill_n(y.data<double>(), y.size(), -1.0);
        bound();
        wrong += bytes(y) != bytes(truth);
      }
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(wrong == 0);
}
