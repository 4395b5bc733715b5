// Kernels: what is checked before a call, overlapping operands, counters, threads.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <thread>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace broadloom;

namespace {

const Options interpreted{
    .threads = 1, .target = {}, .cache_dir = {}, .engine = Engine::interpreter};

Options with(Engine engine, int threads = 1) {
  Options options;
  options.engine = engine;
  options.threads = threads;
  return options;
}

// z[i, j] = 2 x[i, j] + y[i]
LoopSpec scaled_rows() {
  const Expr x = input("x", f32, {"i", "j"}), y = input("y", f32, {"i"});
  return LoopSpec("scaled_rows").out("z", x * 2 + y);
}

// z = a + 1, w = a * b
LoopSpec two_outputs() {
  const Expr a = input("a", f64, 1), b = input("b", f64, 1);
  return LoopSpec("two").out("z", a + 1).out("w", a * b);
}

LoopSpec row_sums() {
  const Expr x = input("x", f32, {"i", "j"});
  return LoopSpec("row_sums").out("s", sum(x, "j"));
}

template <class T> std::vector<T> counting(std::size_t count) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), T(1));
  return values;
}

struct Caught {
  std::string code, message, help;
};
template <class F> Caught error_of(const F &call) {
  try {
    call();
  } catch (const Error &error) {
    return {error.code(), error.message(), error.help()};
  }
  return {};
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

const std::vector<Engine> engines = {Engine::interpreter, Engine::automatic, Engine::reference};

} // namespace

TEST_CASE("A kernel runs on the caller's memory, by position and by name") {
  for (const Engine engine : engines) {
    const Kernel kernel = compile(scaled_rows(), with(engine));
    const auto x = counting<float>(6), y = counting<float>(2);
    std::vector<float> z(6), named(6);
    kernel.run({View<const float>(x.data(), {2, 3}), View<const float>(y.data(), {2})},
               {View<float>(z.data(), {2, 3})});
    kernel.run(
        {{"y", View<const float>(y.data(), {2})}, {"x", View<const float>(x.data(), {2, 3})}},
        {{"z", View<float>(named.data(), {2, 3})}});
    CHECK(z == std::vector<float>{3, 5, 7, 10, 12, 14});
    CHECK(named == z);
  }
}

TEST_CASE("An output that is not named is not computed") {
  for (const Engine engine : engines) {
    const Kernel kernel = compile(two_outputs(), with(engine));
    const auto a = counting<double>(4);
    std::vector<double> w(4);
    const View<const double> view(a.data(), {4});
    kernel.run({{"a", view}, {"b", view}}, {{"w", View<double>(w.data(), {4})}});
    CHECK(w == std::vector<double>{1, 4, 9, 16});
    kernel.run({{"a", view}, {"b", view}}, std::initializer_list<NamedView>{});
    CHECK(w == std::vector<double>{1, 4, 9, 16});
  }
}

TEST_CASE("Every mistake about the arguments is found before a byte is written") {
  const Kernel kernel = compile(scaled_rows(), interpreted);
  const auto x = counting<float>(6), y = counting<float>(2);
  std::vector<float> z(6, -1);
  const View<const float> xv(x.data(), {2, 3}), yv(y.data(), {2});
  const View<float> zv(z.data(), {2, 3});
  const auto code = [&](std::vector<AnyView> inputs, std::vector<AnyView> outputs) {
    const Caught caught = error_of([&] { kernel.run(inputs, outputs); });
    CHECK_FALSE(caught.help.empty());
    return caught.code;
  };
  const auto wrong = counting<double>(6);
  CHECK(code({xv}, {zv}) == "E0308");
  CHECK(code({xv, yv}, {zv, zv}) == "E0308");
  CHECK(code({View<const double>(wrong.data(), {2, 3}), yv}, {zv}) == "E0203");
  CHECK(code({View<const float>(x.data(), {6}), yv}, {zv}) == "E0101");
  CHECK(code({xv, View<const float>(y.data(), {1})}, {zv}) == "E0102");
  CHECK(code({View<const float>(nullptr, {2, 3}), yv}, {zv}) == "E0306");
  CHECK(code({xv, yv}, {View<const float>(z.data(), {2, 3})}) == "E0309");
  CHECK(code({xv, yv}, {View<float>(z.data(), {2, 2})}) == "E0120");
  CHECK(code({xv, yv}, {View<float>(z.data(), {2, 3}, {0, 1})}) == "E0122");
  auto *odd = reinterpret_cast<float *>(reinterpret_cast<char *>(z.data()) + 2);
  CHECK(code({xv, yv}, {View<float>(odd, {2, 2}, {2, 1})}) == "E0120");
  CHECK(code({View<const float>(odd, {2, 2}), yv}, {View<float>(z.data() + 2, {2, 2})}) == "E0310");
  CHECK(z == std::vector<float>(6, -1));
}

TEST_CASE("A dtype that is none is an error, in a view and in an array") {
  const auto none = DType(77);
  double memory[6] = {};
  AnyView odd = View<const double>(memory, {6});
  odd.dtype = none;
  const LoopSpec spec = parse("kernel k { in x : f64[i]; out y = 2 * x }");
  for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference}) {
    const Kernel kernel = compile(spec, with(engine));
    CHECK(error_of([&] { kernel({{"x", odd}}); }).code == "E0212");
    CHECK(error_of([&] { kernel.run({odd}, {View<double>(memory, {6})}); }).code == "E0212");
    CHECK(error_of([&] { (void)kernel.bind({odd}, {View<double>(memory, {6})}); }).code == "E0212");
  }
  CHECK(error_of([&] { (void)Array(none, {6}); }).code == "E0212");
  CHECK(error_of([&] { (void)name(none); }).code == "E0212");
}

TEST_CASE("The same mistakes are found in calls whose layouts are known") {
  for (const Engine engine : {Engine::interpreter, Engine::jit}) {
    const Kernel kernel = compile(two_outputs(), with(engine));
    auto a = counting<double>(9), z = a, w = a;
    const View<const double> av(a.data(), {8});
    const View<double> zv(z.data(), {8}), wv(w.data(), {8});
    const auto code = [&](std::vector<AnyView> inputs, std::vector<AnyView> outputs) {
      kernel.run({av, av}, {zv, wv});
      const auto before = z;
      const std::string found = error_of([&] { kernel.run(inputs, outputs); }).code;
      CHECK(z == before);
      return found;
    };
    CHECK(code({View<const double>(nullptr, {8}), av}, {zv, wv}) == "E0306");
    CHECK(code({av, av}, {View<const double>(z.data(), {8}), wv}) == "E0309");
    CHECK(code({av, av}, {zv, zv}) == "E0121");
    CHECK(code({av, av}, {zv, View<double>(z.data() + 1, {8})}) == "E0121");
    auto *odd = reinterpret_cast<double *>(reinterpret_cast<char *>(a.data()) + 4);
    CHECK(code({View<const double>(odd, {8}), av}, {zv, wv}) == "E0310");
    CHECK(code({av, av}, {View<double>(odd, {8}), wv}) == "E0310");
    const std::vector<float> narrow(8);
    CHECK(code({av, View<const float>(narrow.data(), {8})}, {zv, wv}) == "E0203");
    CHECK(code({av, View<const double>(a.data(), {4, 2})}, {zv, wv}) == "E0101");
    CHECK(code({av, View<const double>(a.data(), {7})}, {zv, wv}) == "E0102");
    CHECK(code({av, av}, {zv, View<double>(w.data(), {7})}) == "E0120");
    CHECK(code({av, av}, {zv, View<double>(w.data(), {8}, {0})}) == "E0122");
  }
}

TEST_CASE("Calls whose layouts are known take the memory, the strides and the outputs of each") {
  for (const Engine engine : {Engine::interpreter, Engine::jit}) {
    const Kernel kernel = compile(two_outputs(), with(engine)); // z = a + 1, w = a * b
    const auto a = counting<double>(8), b = counting<double>(16);
    const View<const double> av(a.data(), {4}), bv(b.data(), {4});
    std::vector<double> z(4), w(4);
    const View<double> zv(z.data(), {4}), wv(w.data(), {4});
    std::vector<double> sums(4), products(4), strided(4);
    for (std::size_t k = 0; k < 4; ++k) {
      sums[k] = a[k] + 1;
      products[k] = a[k] * b[k];
      strided[k] = a[k] * b[2 * k];
    }
    kernel.run({av, bv}, {zv, wv});
    REQUIRE(z == sums);
    REQUIRE(w == products);

    auto onto = a; // an output on its input, element by element
    kernel.run({View<const double>(onto.data(), {4}), bv}, {View<double>(onto.data(), {4}), wv});
    CHECK(std::vector(onto.begin(), onto.begin() + 4) == sums);
    CHECK(w == products);

    auto beside = a; // one element further on: as if copied
    kernel.run({View<const double>(beside.data(), {4}), bv},
               {View<double>(beside.data() + 1, {4}), wv});
    CHECK(beside[0] == a[0]);
    CHECK(std::vector(beside.begin() + 1, beside.begin() + 5) == sums);
    CHECK(w == products);

    kernel.run({av, View<const double>(b.data(), {4}, {2})}, {zv, wv});
    CHECK(w == strided);
    std::fill(w.begin(), w.end(), -1);
    kernel.run({{"a", av}, {"b", bv}}, {{"w", wv}}); // z is not wanted
    CHECK(w == products);
  }
}

TEST_CASE("Errors about names list what the kernel declares") {
  const Kernel kernel = compile(two_outputs(), interpreted);
  std::vector<double> a(4), z(4);
  const View<const double> av(a.data(), {4});
  const View<double> zv(z.data(), {4});
  const Caught missing = error_of([&] { kernel.run({{"a", av}}, {{"z", zv}}); });
  CHECK(missing.code == "E0308");
  CHECK(has(missing.message, "'b'"));
  CHECK(has(missing.help, "'a' and 'b'"));
  const Caught unknown = error_of([&] { kernel.run({{"a", av}, {"b", av}}, {{"y", zv}}); });
  CHECK(unknown.code == "E0308");
  CHECK(has(unknown.message, "'y'"));
  CHECK(has(unknown.help, "'z' and 'w'"));
  CHECK(error_of([&] { kernel.run({{"a", av}, {"b", av}, {"a", av}}, {{"z", zv}}); }).code ==
        "E0308");
}

TEST_CASE("Outputs may interleave in memory but not overlap") {
  const Kernel kernel = compile(two_outputs(), interpreted);
  const auto a = counting<double>(4);
  std::vector<double> both(8);
  const View<const double> av(a.data(), {4});
  kernel.run({av, av},
             {View<double>(both.data(), {4}, {2}), View<double>(both.data() + 1, {4}, {2})});
  CHECK(both == std::vector<double>{2, 1, 3, 4, 4, 9, 5, 16});
  CHECK(error_of([&] {
          kernel.run({av, av},
                     {View<double>(both.data(), {4}), View<double>(both.data() + 3, {4})});
        }).code == "E0121");
}

TEST_CASE("Inputs that overlap outputs behave as if they had been copied first") {
  const Expr x = input("x", f32, {"i"}), y = input("y", f32, {"i"});
  const LoopSpec spec = LoopSpec("shift").out("z", x * 10 + y);
  for (const Engine engine : engines) {
    const Kernel kernel = compile(spec, with(engine));
    // Where x, y and z begin in one block of memory, and how they step.
    struct Case {
      int x, x_step, y, y_step, z, z_step;
    };
    const Case cases[] = {{0, 1, 40, 1, 0, 1},   {0, 1, 40, 1, 1, 1}, {1, 1, 40, 1, 0, 1},
                          {15, -1, 40, 1, 0, 1}, {0, 1, 0, 1, 0, 1},  {0, 1, 15, -1, 0, 1},
                          {0, 2, 1, 2, 0, 1},    {0, 0, 3, 1, 0, 1},  {0, 1, 8, 1, 15, -1}};
    for (const Case &c : cases) {
      CAPTURE(&c - cases);
      const auto original = counting<float>(64);
      auto memory = original, expected = original;
      const auto view = [](const std::vector<float> &in, int at, int step) {
        return View<const float>(in.data() + at, {16}, {step});
      };
      kernel.run({view(original, c.x, c.x_step), view(original, c.y, c.y_step)},
                 {View<float>(expected.data() + c.z, {16}, {c.z_step})});
      kernel.run({view(memory, c.x, c.x_step), view(memory, c.y, c.y_step)},
                 {View<float>(memory.data() + c.z, {16}, {c.z_step})});
      CHECK(memory == expected);
    }
  }
}

TEST_CASE("A transpose in place is right") {
  const Expr x = input("x", i32, {"i", "j"});
  const LoopSpec spec = LoopSpec("transpose").out("z", Mode{}, {"j", "i"}, x + 0);
  for (const Engine engine : engines) {
    const Kernel kernel = compile(spec, with(engine));
    auto data = counting<std::int32_t>(9);
    const View<std::int32_t> view(data.data(), {3, 3});
    kernel.run({view}, {view});
    CHECK(data == std::vector<std::int32_t>{1, 4, 7, 2, 5, 8, 3, 6, 9});
  }
}

TEST_CASE("A fold whose output lies in its input is right") {
  for (const Engine engine : engines) {
    const Kernel kernel = compile(row_sums(), with(engine));
    auto data = counting<float>(12);
    kernel.run({View<const float>(data.data(), {3, 4})}, {View<float>(data.data(), {3})});
    CHECK(data[0] == 10);
    CHECK(data[1] == 26);
    CHECK(data[2] == 42);
    CHECK(data[3] == 4);
  }
}

TEST_CASE("An output with += adds to what is there") {
  const Expr x = input("x", f32, {"i"});
  for (const Engine engine : engines) {
    const Kernel kernel = compile(LoopSpec("add").out("z", x * 2).add(), with(engine));
    const auto data = counting<float>(4);
    std::vector<float> z(4, 100);
    kernel.run({View<const float>(data.data(), {4})}, {View<float>(z.data(), {4})});
    CHECK(z == std::vector<float>{102, 104, 106, 108});
    auto both = data;
    kernel.run({View<const float>(both.data(), {4})}, {View<float>(both.data(), {4})});
    CHECK(both == std::vector<float>{3, 6, 9, 12});
  }
}

TEST_CASE("Arrays without elements need no memory") {
  for (const Engine engine : engines) {
    const Kernel kernel = compile(row_sums(), with(engine));
    std::vector<float> s(3, 7);
    kernel.run({View<const float>(nullptr, {3, 0})}, {View<float>(s.data(), {3})});
    CHECK(s == std::vector<float>(3, 0));
    kernel.run({View<const float>(nullptr, {0, 5})}, {View<float>(nullptr, {0})});
  }
}

TEST_CASE("Allocated outputs lie in the stride order of the first input of full rank") {
  const Kernel kernel = compile(scaled_rows(), interpreted);
  const auto x = counting<float>(6), y = counting<float>(2);
  const Results c_order =
      kernel({{"x", View<const float>(x.data(), {2, 3})}, {"y", View<const float>(y.data(), {2})}});
  CHECK(c_order["z"].strides()[1] == 1);
  CHECK(c_order["z"].data<float>()[5] == 14);
  const Results f_order = kernel({{"x", View<const float>(x.data(), {2, 3}, {1, 2})},
                                  {"y", View<const float>(y.data(), {2})}});
  CHECK(f_order["z"].strides()[0] == 1);
  CHECK(f_order["z"].strides()[1] == 2);
  CHECK(f_order["z"].data<float>()[5] == 14);
  CHECK(error_of([&] { f_order["s"]; }).code == "E0304");
}

TEST_CASE("infer gives dtypes and shapes without data") {
  const Kernel kernel = compile(row_sums(), interpreted);
  const auto signatures = kernel.infer({View<const float>(nullptr, {5, 7})});
  REQUIRE(signatures.size() == 1);
  CHECK(signatures[0].name == "s");
  CHECK(signatures[0].dtype == f32);
  CHECK(signatures[0].shape == std::vector<std::int64_t>{5});
  CHECK(error_of([&] { kernel.infer({View<const float>(nullptr, {5})}); }).code == "E0101");
}

TEST_CASE("Ten shapes of a pattern are compiled once, prepare compiles ahead") {
  const Expr x = input("x", f32, {"i", "j"});
  const Kernel kernel = compile(LoopSpec("ten").out("z", x * 3 + 0.25), with(Engine::jit));
  kernel.prepare({View<const float>(nullptr, {4, 5})});
  CHECK(kernel.counters().compiles == 1);
  for (int n = 2; n < 12; ++n) {
    const auto data = counting<float>(std::size_t(n * (n + 1)));
    const Results results = kernel({{"x", View<const float>(data.data(), {n, n + 1})}});
    CHECK(results["z"].data<float>()[1] == 6.25f);
  }
  CHECK(kernel.counters().compiles == 1);
  CHECK(kernel.counters().patterns == 1);
  CHECK(kernel.counters().interpreted == 0);
  CHECK(kernel.counters().compile_ms > 0);

  const Kernel same = compile(LoopSpec("other_name").out("w", x * 3 + 0.25), with(Engine::jit));
  same.prepare({View<const float>(nullptr, {4, 5})});
  CHECK(same.counters().compiles == 0); // the code is in the cache of the process
}

TEST_CASE("More layouts than a kernel remembers are still right") {
  const Kernel kernel = compile(scaled_rows(), interpreted);
  for (int turn = 0; turn < 2; ++turn)
    for (int columns = 1; columns < 300; ++columns) {
      const auto x = counting<float>(std::size_t(2 * columns)), y = counting<float>(2);
      std::vector<float> z(x.size());
      kernel.run({View<const float>(x.data(), {2, columns}), View<const float>(y.data(), {2})},
                 {View<float>(z.data(), {2, columns})});
      CHECK(z.back() == 2 * x.back() + 2);
    }
}

TEST_CASE("Every number of threads gives the same bits") {
  const Expr x = input("x", f32, {"i", "j"});
  const LoopSpec spec =
      LoopSpec("many").out("z", x / 3).out("s", sum(x / 3, "j")).out("t", sum(x / 7));
  std::vector<float> data(300 * 5000);
  for (std::size_t k = 0; k < data.size(); ++k) data[k] = float(k % 1000) / 17 - 20;
  const View<const float> view(data.data(), {300, 5000});
  const Results one = compile(spec, with(Engine::automatic, 1))({{"x", view}});
  for (const int threads : {2, 3, 7}) {
    const Results many = compile(spec, with(Engine::automatic, threads))({{"x", view}});
    for (std::size_t o = 0; o < one.size(); ++o)
      CHECK(std::memcmp(one[o].raw(), many[o].raw(), std::size_t(one[o].size()) * 4) == 0);
  }
}

TEST_CASE("A call may be kept to fewer threads than the kernel, with the same bits") {
  const LoopSpec spec =
      parse("kernel k { in x : f32[i, j]; out z = x / sum(x, j)\n"
            "  out s = sum(x); out r = scan(sum, x, i)\n"
            "  let h[i, j] = pad(x, 1: (1, 1), edge)[i, j + 2] * 2; out t[k, j] = h[k + 1, j] }");
  Array x(f32, {300, 401});
  for (std::int64_t k = 0; k < x.size(); ++k) x.data<float>()[k] = float(k % 97) / 7;
  const Kernel kernel = compile(spec, with(Engine::automatic, 7));
  const Results all = kernel({{"x", x}});
  for (const int most : {1, 2, 3, 50}) {
    const Kernel kept = kernel.with_threads(most);
    CHECK(kept.threads() == std::min(most, 7));
    const Results few = kept({{"x", x}});
    for (const auto &[name, array] : all)
      CHECK(few[name].to_vector<float>() == array.to_vector<float>());
    Array z(f32, {300, 401});
    kept.bind({{"x", x}}, {{"z", z}})();
    CHECK(z.to_vector<float>() == all["z"].to_vector<float>());
  }
  CHECK(kernel.threads() == 7);
  CHECK(kernel.with_threads(2).with_threads(0).threads() == 7);
  CHECK(kernel.counters().compiles == kernel.with_threads(1).counters().compiles);
  try {
    kernel.with_threads(-1);
    FAIL("no error");
  } catch (const DataError &error) {
    CHECK(error.code() == "E0321");
  }
  try {
    compile(kernel.spec(), {.threads = -1});
    FAIL("no error");
  } catch (const DataError &error) {
    CHECK(error.code() == "E0321");
  }
}

TEST_CASE("A kernel whose calls are kept to one thread runs on the calling one alone") {
  // Threads that a call had run on would stay in the process.
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                         std::filesystem::directory_iterator());
  };
  const Kernel kernel =
      compile(parse("kernel one_thread { in x : f64[i, j]; out s = sum(exp(x), i) }"),
              with(Engine::automatic, 11));
  const Array x(f64, {2000, 500});
  kernel.with_threads(1).prepare({x});
  const auto before = threads();
  kernel.with_threads(1)({{"x", x}});
  CHECK(threads() == before);
}

TEST_CASE("A kernel may be called from many threads, with old and new layouts") {
  const Kernel kernel = compile(scaled_rows(), with(Engine::automatic, 2));
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t, own = kernel] {
      for (int turn = 0; turn < 40; ++turn) {
        const int columns = 1 + (turn + t) % 30;
        const auto x = counting<float>(std::size_t(2 * columns)), y = counting<float>(2);
        std::vector<float> z(x.size());
        own.run({View<const float>(x.data(), {2, columns}), View<const float>(y.data(), {2})},
                {View<float>(z.data(), {2, columns})});
        good += z.back() == 2 * x.back() + 2 && z.front() == 3;
      }
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(good == 6 * 40);
}

TEST_CASE("A bound call outlives its kernel and sees new data") {
  const auto y = counting<float>(2);
  auto x = counting<float>(6);
  std::vector<float> z(6);
  const BoundCall call = [&] {
    const Kernel kernel = compile(scaled_rows(), with(Engine::automatic));
    return kernel.bind({View<const float>(x.data(), {2, 3}), View<const float>(y.data(), {2})},
                       {View<float>(z.data(), {2, 3})});
  }();
  call();
  CHECK(z[0] == 3);
  x[0] = 10;
  call();
  CHECK(z[0] == 21);
}

TEST_CASE("Binding checks pointers too") {
  const Kernel kernel = compile(row_sums(), interpreted);
  std::vector<float> s(3);
  CHECK(error_of([&] {
          kernel.bind({View<const float>(nullptr, {3, 4})}, {View<float>(s.data(), {3})});
        }).code == "E0306");
}

#if defined(__x86_64__)
TEST_CASE("Floating-point control of the caller neither matters nor changes") {
  const Expr x = input("x", f32, {"i"});
  const float tiny[] = {1e-40f, 1e-41f};
  for (const Engine engine : {Engine::interpreter, Engine::automatic}) {
    const Kernel kernel = compile(LoopSpec("tiny").out("z", x * 0.5), with(engine));
    float z[2] = {};
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040); // flush to zero, subnormals as zero
    const unsigned odd = _mm_getcsr();
    kernel.run({View<const float>(tiny, {2})}, {View<float>(z, {2})});
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    CHECK(after == odd);
    CHECK(z[0] == 0.5e-40f);
    CHECK(z[1] == 0.5e-41f);
  }
}
#endif

TEST_CASE("Every stage can be shown before the first call") {
  const Kernel kernel = compile(scaled_rows(), with(Engine::automatic));
  for (const Stage stage : {Stage::spec, Stage::folded, Stage::axes, Stage::graph, Stage::plan,
                            Stage::loop, Stage::llvm, Stage::assembly, Stage::why})
    CHECK_FALSE(kernel.show(stage).empty());
  CHECK(has(kernel.show(Stage::plan), "in       x : f32 shape (1000, 1001) strides (1001, 1)"));
  CHECK(kernel.counters().compiles == 0);
}

TEST_CASE("The plan that is shown is that of the latest call") {
  const Kernel kernel = compile(row_sums(), interpreted);
  const auto x = counting<float>(12);
  (void)kernel({{"x", View<const float>(x.data(), {3, 4})}});
  CHECK(has(kernel.show(Stage::plan), "shape (3, 4)"));
  (void)kernel({{"x", View<const float>(x.data(), {2, 6})}});
  CHECK(has(kernel.show(Stage::plan), "shape (2, 6)"));
}

TEST_CASE("why names the engine and what runs one lane at a time") {
  const Expr x = input("x", f32, {"i"});
  const Kernel kernel = compile(LoopSpec("k").out("z", fmod(x, 3.0)), with(Engine::automatic));
  const std::string why = kernel.show(Stage::why);
  CHECK(has(why, "engine: "));
  CHECK(has(why, "fmod runs one lane at a time"));
}

TEST_CASE("A kernel of tens of thousands of operations runs in native code") {
  std::string text = "kernel k {\n in x : f64[:]\n out z = x";
  for (int k = 0; k < 30'000; ++k) text += " + x * " + std::to_string(k % 7);
  const Kernel kernel = compile(parse(text + "\n}"), {.engine = Engine::jit});
  const Array x(f64, {3});
  for (int k = 0; k < 3; ++k) x.data<double>()[k] = k;
  double factor = 1;
  for (int k = 0; k < 30'000; ++k) factor += k % 7;
  CHECK(kernel({{"x", x}})["z"].data<double>()[2] == 2 * factor);
  CHECK(kernel.counters().interpreted == 0);
}

TEST_CASE("A kernel too large for native code is interpreted, or refused where native code was "
          "asked for") {
  std::string step = "m", text = "in x : f64[:]; out z = x";
  for (int k = 0; k < 1'000; ++k) step += " + a * 0";
  for (int k = 0; k < 350; ++k) text += " + heavy(x * " + std::to_string(k) + ")";
  const LoopSpec spec = parse("accumulator heavy(a; m) { init a = 0; step a = " + step +
                              " }\nkernel k { " + text + " }");
  const Array x(f64, {3}), z(f64, {3});
  for (int k = 0; k < 3; ++k) x.data<double>()[k] = k;
  const Kernel kernel = compile(spec);
  kernel.run({x}, {z});
  CHECK(z.data<double>()[1] == 1 + 2 * 350 * 349 / 2);
  CHECK(kernel.counters().interpreted == 1);
  CHECK(kernel.counters().compiles == 0);
  CHECK(has(kernel.show(Stage::why), "too large for native code"));
  const Kernel native = compile(spec, {.engine = Engine::jit});
  CHECK_THROWS_WITH_AS(native.run({x}, {z}), doctest::Contains("too large for native code"),
                       CompileError);
}

TEST_CASE("Thousands of outputs become many small phases") {
  std::string text = "kernel k {\n in x : f64[:]\n";
  for (int k = 0; k < 500; ++k)
    text += " out z" + std::to_string(k) + " = x + " + std::to_string(k) + "\n out s" +
            std::to_string(k) + " = sum(x * " + std::to_string(k) + ")\n";
  const Kernel kernel = compile(parse(text + "}"));
  const Array x(f64, {3});
  for (int k = 0; k < 3; ++k) x.data<double>()[k] = k;
  const Results r = kernel({{"x", x}});
  for (int k = 0; k < 500; ++k) {
    CHECK(r["z" + std::to_string(k)].data<double>()[1] == 1 + k);
    CHECK(r["s" + std::to_string(k)].data<double>()[0] == 3 * k);
  }
}

TEST_CASE("An output that is not asked for cannot fail the call") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[:]\n out z[] = reduce(max) x\n out w = x }"));
  const Array x(f32, {0}), w(f32, {0}), z(f32, {});
  kernel.run({{"x", x}}, {{"w", w}});
  CHECK_THROWS_AS(kernel.run({x}, {z, w}), DataError);
}

TEST_CASE("An input of which only the shape is read needs no data") {
  const LoopSpec spec =
      parse("kernel k { in x : f32[i, j]; in y : f64[i]\n"
            "out z = broadcast(like=x) y; out n = extent(j, of=x) + y; out m = iota(j, of=x)\n"
            "out s += sum(y, like=x) }");
  const std::vector<double> y{3, 4};
  const auto odd = reinterpret_cast<const float *>(std::uintptr_t(3)); // nor need it be aligned
  for (const Engine engine : {Engine::automatic, Engine::interpreter, Engine::reference})
    for (const float *data : {static_cast<const float *>(nullptr), odd}) {
      const Kernel kernel = compile(spec, with(engine));
      for (int turn = 0; turn < 2; ++turn) {
        const Results r = kernel(
            {{"x", View<const float>(data, {2, 3})}, {"y", View<const double>(y.data(), {2})}});
        CHECK(r["z"].copy().data<double>()[5] == 4);
        CHECK(r["n"].data<double>()[1] == 7);
        CHECK(r["m"].data<std::int64_t>()[2] == 2);
        CHECK(r["s"].copy().data<double>()[0] == 3);
      }
      CHECK(error_of([&] {
              kernel({{"x", View<const float>(data, {2, 3})},
                      {"y", View<const double>(nullptr, {2})}});
            }).code == "E0306");
    }
  const LoopSpec back =
      gradient(parse("kernel k { in x : f64[i, j]; out z = sum(3 * x, j) }"), {"x"});
  const Results r = compile(back)(
      {{"x", View<const double>(nullptr, {2, 3})}, {"d_z", View<const double>(y.data(), {2})}});
  CHECK(r["d_x"].copy().data<double>()[5] == 12);
}
