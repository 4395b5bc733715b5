// Kernel::partial and Kernel::combine: blocks of the data have the bits of the whole.
#include "parts_of_arrays.hpp"
#include "unit/kernel/all_engines.hpp"

#include <cmath>
#include <complex>
#include <optional>
#include <random>

using namespace broadloom;
using tests::bytes;
using tests::code_thrown_by;
using tests::dense_copy;
using tests::part_of;
using tests::with;

namespace {

// Sizes so different that any other order of adding up shows.
Array numbers(std::vector<std::int64_t> shape, DType dtype = f64, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> exponent(-8, 8);
  Array array(dtype, shape);
  for (std::int64_t k = 0; k < array.size(); ++k) {
    const double value = (random() % 2 == 0 ? 1 : -1) * std::pow(10.0, exponent(random));
    if (dtype == f64) array.data<double>()[k] = value;
    if (dtype == f32) array.data<float>()[k] = float(value);
    if (dtype == i32) array.data<std::int32_t>()[k] = std::int32_t(random() % 2001) - 1000;
    if (dtype == c64)
      array.data<std::complex<float>>()[k] = {float(value), float(exponent(random))};
  }
  return array;
}

struct Given {
  std::string name;
  Array array;
  int dim = -1; // along the axis; -2: declared as 1 along it
};

// Cuts the data at these places, combines in several ways, and compares the bits with those of one
// call.
void check_blocks(const Kernel &kernel, const std::string &axis, const std::vector<Given> &given,
                  std::vector<std::int64_t> borders) {
  std::vector<NamedView> all, others;
  std::int64_t total = 0;
  for (const Given &input : given) {
    all.push_back({input.name, input.array});
    if (input.dim == -1) others.push_back(all.back());
    if (input.dim >= 0) total = input.array.shape()[std::size_t(input.dim)];
  }
  const Results whole = kernel.call(all);
  borders.insert(borders.begin(), 0);
  borders.push_back(total);
  std::vector<Partial> blocks;
  std::vector<Array> copies;
  for (int round = 0; round < kernel.rounds(axis); ++round) {
    const std::optional<Partial> before =
        round > 0 ? std::optional(kernel.join(blocks)) : std::nullopt;
    blocks.clear();
    for (std::size_t b = 0; b + 1 < borders.size(); ++b) {
      std::vector<NamedView> inputs;
      for (const Given &input : given)
        if (input.dim < 0)
          inputs.push_back({input.name, input.array});
        else if (b % 2 == 0)
          inputs.push_back(
              {input.name, part_of(input.array, input.dim, borders[b], borders[b + 1])});
        else
          inputs.push_back({input.name, copies.emplace_back(dense_copy(part_of(
                                            input.array, input.dim, borders[b], borders[b + 1])))});
      blocks.push_back(before ? kernel.partial(*before, borders[b], inputs)
                              : kernel.partial(axis, borders[b], inputs));
    }
  }
  const auto compare = [&](const Results &got) {
    for (const auto &[name, array] : whole) {
      INFO(print(kernel.spec()) << name << " in " << blocks.size() << " blocks of " << total);
      CHECK(std::ranges::equal(got[name].shape(), array.shape()));
      CHECK(bytes(got[name]) == bytes(array));
    }
  };
  compare(kernel.combine(blocks, others));
  std::vector<Partial> steps(blocks.begin() + std::ptrdiff_t(blocks.size() / 2), blocks.end());
  const Partial later = kernel.join(steps); // the later half first, then one after the other
  Partial first = later;
  for (std::size_t b = blocks.size() / 2; b-- > 0;)
    first = kernel.join(std::vector{blocks[b], first});
  compare(kernel.combine(std::span(&first, 1), others));
}

} // namespace

TEST_CASE("Blocks of every accumulator have the bits of the whole") {
  const std::int64_t n = 7 * 4096 + 1234;
  const Array x = numbers({3, n}), y = numbers({3}, f64, 2);
  for (const std::string fold :
       {"sum(x, j)", "prod(x / 7, j)", "min(x, j)", "max(x, j)", "any(x > 1e7, j)",
        "all(x < 9e7, j)", "mean(x, j)", "var(x, j)", "std(x, j, correction=1)", "norm(x, j)",
        "logsumexp(x / 1e6, j)", "argmin(x, j)", "argmax(x * x, j)", "sum(x, j, init=3)",
        "mean(x, j) * y - sqrt(var(x, j))", "max(x, j) - min(x, j)", "sum(x * iota(j), j)"})
    for (const int threads : {1, 3}) {
      const Kernel kernel = compile(
          tests::kernel_of("in x : f64[i, j]; in y : f64[i]; out z = " + fold + "; out w = y * 2"),
          with(Engine::jit, threads));
      const std::vector<Given> given{{"x", x, 1}, {"y", y, -1}};
      for (const std::vector<std::int64_t> &borders :
           {std::vector<std::int64_t>{},
            {4096},
            {4096, 3 * 4096},
            {2 * 4096, 4 * 4096, 6 * 4096},
            {4096, 2 * 4096, 3 * 4096, 4 * 4096, 5 * 4096, 7 * 4096}})
        check_blocks(kernel, "j", given, borders);
    }
}

TEST_CASE("Blocks have the bits of the whole whatever is left over at the end") {
  const Kernel kernel = compile(tests::kernel_of(
      "in x : f32[j]; out s = sum(x, j); out v = var(x, j); out l = logsumexp(x / 1e7, j)"));
  for (const std::int64_t leaves : {1, 2, 3, 6, 8, 11})
    for (const std::int64_t rest : {0, 1, 2, 31, 33, 4095}) {
      const std::int64_t n = leaves * 4096 + rest;
      const std::vector<Given> given{{"x", numbers({n}, f32, unsigned(n)), 0}};
      std::vector<std::int64_t> every;
      for (std::int64_t border = 4096; border < n; border += 4096) every.push_back(border);
      check_blocks(kernel, "j", given, every);
      check_blocks(kernel, "j", given, {});
      if (leaves * 4096 < n) check_blocks(kernel, "j", given, {leaves * 4096});
    }
  const std::vector<Given> one{{"x", numbers({1}, f32), 0}};
  check_blocks(kernel, "j", one, {});
}

TEST_CASE("Blocks of rows, of several axes and of other orders have the bits of the whole") {
  const Kernel columns =
      compile(tests::kernel_of("in x : f64[i, j]; out s = sum(x, i); out m = max(x, i)"));
  const std::vector<Given> rows{{"x", numbers({1000, 5}), 0}};
  CHECK(columns.unit("i", {{"x", rows[0].array}}) == 128);
  check_blocks(columns, "i", rows, {128, 384, 512});
  check_blocks(columns, "i", rows, {896});

  const Kernel total =
      compile(tests::kernel_of("in x : f64[i, j]; out s = sum(x); out m = mean(x)"));
  const std::vector<Given> wide{{"x", numbers({300, 256}), 0}};
  CHECK(total.unit("i", {{"x", wide[0].array}}) == 16);
  check_blocks(total, "i", wide, {16, 48, 64, 256});
  const std::vector<Given> huge{{"x", numbers({9, 8192}), 0}};
  CHECK(total.unit("i", {{"x", huge[0].array}}) == 1);
  check_blocks(total, "i", huge, {1, 2, 5, 8});
  const Array odd = numbers({50, 100});
  CHECK(code_thrown_by([&] { total.unit("i", {{"x", odd}}); }) == "E0060");
  CHECK(code_thrown_by([&] { total.unit("j", {{"x", odd}}); }) == "E0060");

  // Not one in memory: each row is a leaf.
  const Array padded = numbers({20, 101});
  const AnyView inner = part_of(padded, 1, 0, 100);
  const std::vector<Given> apart{{"x", Array(nullptr, f64, inner.data, inner.layout), 0}};
  CHECK(total.unit("i", {{"x", inner}}) == 1);
  check_blocks(total, "i", apart, {});
  const Kernel twice = compile(tests::kernel_of("in x : f64[i, j]; out s = sum(sum(x, j), i)"));
  const std::vector<Given> tall{{"x", numbers({10000, 3}), 0}};
  check_blocks(twice, "i", tall, {4096, 8192});

  const std::vector<Given> by_f{{"x", numbers({5, 9000}).transposed(), 0}};
  CHECK(columns.unit("i", {{"x", by_f[0].array}}) == 4096);
}

TEST_CASE(
    "An input that is declared to have one element along the axis is the same in each block") {
  const Kernel kernel =
      compile(tests::kernel_of("in x : f64[:, :]; in y : f64[:, 1]; out s[] = reduce(sum) x * y"));
  check_blocks(kernel, "0", {{"x", numbers({500, 64}), 0}, {"y", numbers({500, 1}), 0}}, {64, 256});
  const Kernel along =
      compile(tests::kernel_of("in x : f64[:, :]; in y : f64[1, :]; out s[] = reduce(max) x * y"));
  check_blocks(along, "0", {{"x", numbers({500, 64}), 0}, {"y", numbers({1, 64}), -2}}, {7, 256});
}

TEST_CASE("What is repeated along the axis is not folded once for each block") {
  const Array x = numbers({500}), one = numbers({1});
  for (const std::string folds :
       {"sum(x) + sum(y)", "max(x) + max(y)", "sum(x * y) / extent(0, of=y)"}) {
    const Kernel kernel =
        compile(tests::kernel_of("in x : f64[:]; in y : f64[:]; out s = " + folds));
    CHECK(code_thrown_by([&] { kernel.unit("0", {{"x", x}, {"y", one}}); }) == "E0060");
    CHECK(kernel.unit("0", {{"x", x}, {"y", x}}) > 0);
  }
  const Kernel product =
      compile(tests::kernel_of("in x : f64[:]; in y : f64[:]; out s = sum(x * y)"));
  check_blocks(product, "0", {{"x", numbers({9000}), 0}, {"y", one, -2}}, {4096});
}

TEST_CASE("Blocks of what is read at positions along other axes, or in a whole array, have the "
          "bits of one call") {
  const Kernel lookup = compile(
      tests::kernel_of("in t : f64[v, c]; in k : i64[n]; in w : f64[n]; "
                       "out s = sum(t[k[n], c] * w, n); out m = mean(t[k[n], 0] - mean(w, n), n)"));
  Array index(DType::I64, {9000});
  for (std::int64_t n = 0; n < 9000; ++n) index.data<std::int64_t>()[n] = n * 7 % 50;
  const std::vector<Given> given{
      {"t", numbers({50, 3}), -1}, {"k", index, 0}, {"w", numbers({9000}, f64, 2), 0}};
  for (const std::vector<std::int64_t> &borders :
       {std::vector<std::int64_t>{}, {4096}, {4096, 8192}})
    check_blocks(lookup, "n", given, borders);
  const Kernel stencil = compile(tests::kernel_of("in x : f64[i, j]; out s = sum(x[i, p] * x[i, p "
                                                  "+ 1] - pad(x, j: (1, 1), wrap)[i, p + 1], i)"));
  check_blocks(stencil, "i", {{"x", numbers({1000, 6}), 0}}, {128, 512});
  const auto why = [](const std::string &axis, const std::string &body) {
    const Kernel kernel = compile(tests::kernel_of("in t : f64[v, c]; in k : i64[n]; " + body));
    try {
      kernel.rounds(axis);
    } catch (const Error &error) {
      CHECK_FALSE(error.help().empty());
      return error.message();
    }
    return std::string();
  };
  const std::string apart = "kernel 'k' does not come apart along ";
  CHECK(why("v", "out s = sum(t[k[n], c], n)") == apart + "'v': it reads at positions along it");
}

TEST_CASE("A position is not left alone where it would be folded in another order") {
  const Kernel kernel = compile(tests::kernel_of("in x : f64[i, j]; out m = max(sum(x, i), j)"));
  const Array x = numbers({9000, 7});
  CHECK(code_thrown_by([&] { kernel.partial("j", 6, {{"x", part_of(x, 1, 6, 7)}}); }) == "E0150");
  check_blocks(kernel, "j", {{"x", x, 1}}, {2, 5});
}

TEST_CASE("Folds of what others along the axis came to go in rounds, with the bits of the whole") {
  const std::int64_t n = 3 * 4096 + 1234;
  const Array x = numbers({3, n}), y = numbers({3}, f64, 2);
  const std::vector<Given> given{{"x", x, 1}, {"y", y, -1}};
  struct Case {
    std::string body;
    int rounds;
  };
  for (const auto &[body, rounds] :
       {Case{"out z = mean((x - mean(x, j)) ^ 2, j)", 2},
        {"out z = sum(exp((x - max(x, j)) / 1e8), j)", 2},
        {"let d = x - mean(x, j); let s = sqrt(mean(d * d, j)); out z = mean((d / s) ^ 3, j) * y; "
         "out m = max(x, j)",
         3},
        {"out z = sum(x / extent(j), j)", 2},
        {"out z = sum(x * iota(j) * (x > mean(x, j)), j); out a = argmax(x - mean(x, j), j)", 2},
        {"let m = mean(x, j) + y; out z = norm(x - m, j); out w = m; out v = var(x * m, j)", 2},
        {"out z = logsumexp((x - min(x, j)) / 1e6, j) + std(x, j)", 2}})
    for (const int threads : {1, 3}) {
      const Kernel kernel =
          compile(tests::kernel_of("in x : f64[i, j]; in y : f64[i]; out u = y; " + body),
                  with(Engine::jit, threads));
      CHECK(kernel.rounds("j") == rounds);
      CHECK(kernel.unit("j", {{"x", x}, {"y", y}}) == 4096);
      check_blocks(kernel, "j", given, {});
      check_blocks(kernel, "j", given, {4096, 3 * 4096});
      check_blocks(kernel, "j", given, {4096, 2 * 4096, 3 * 4096});
    }
  // Along the outermost axis, of f16 whose means are f32 between operations, and in the
  // interpreter.
  const Kernel columns =
      compile(tests::kernel_of("in x : f64[i, j]; out v = mean((x - mean(x, i)) ^ 2, i)"));
  check_blocks(columns, "i", {{"x", numbers({1000, 5}), 0}}, {128, 384, 512});
  const Kernel half = compile(tests::kernel_of("in x : f32[j]; let h = f16(x / 1e6); "
                                               "out v = mean((h - mean(h, j)) * (h - 1), j)"),
                              with(Engine::interpreter));
  CHECK(half.rounds("j") == 2);
  check_blocks(half, "j", {{"x", numbers({9000}, f32), 0}}, {4096, 8192});
  const Kernel exact =
      compile(tests::kernel_of("in n : i32[j]; out s = sum((n - min(n, j)) * (n > 5))"));
  check_blocks(exact, "j", {{"n", numbers({1001}, i32), 0}}, {1, 7, 500});
  CHECK(compile(tests::kernel_of("in x : f64[j]; out s = var(x)")).rounds("j") == 1);
}

TEST_CASE("Outputs that have the axis are given block by block, with the bits of one call") {
  const std::int64_t n = 2 * 4096 + 100;
  const Array x = numbers({3, n}), y = numbers({3}, f64, 2), w = numbers({n}, f64, 3);
  for (const std::string body :
       {"let e = exp((x - max(x, j)) / 1e8); out p = e / sum(e, j); out s = sum(e, j) * y",
        "let d = x - mean(x, j); out z = d / sqrt(mean(d * d, j)) * w; out c = sum(x * w, i); out "
        "u = w",
        "out z = x[i, j] - mean(x, j) + y * extent(j); out b = max(y, i) * sum(w, j)"})
    for (const int threads : {1, 2}) {
      const Kernel kernel =
          compile(tests::kernel_of("in x : f64[i, j]; in y : f64[i]; in w : f64[j]; " + body),
                  with(Engine::jit, threads));
      const std::vector<NamedView> all{{"x", x}, {"y", y}, {"w", w}};
      const Results whole = kernel.call(all);
      const std::vector<std::int64_t> borders{0, 4096, 2 * 4096, n};
      const auto inputs = [&](std::size_t b) {
        return std::vector<NamedView>{{"x", part_of(x, 1, borders[b], borders[b + 1])},
                                      {"y", y},
                                      {"w", part_of(w, 0, borders[b], borders[b + 1])}};
      };
      std::vector<Partial> blocks;
      for (int round = 0; round < kernel.rounds("j"); ++round) {
        const std::optional<Partial> before =
            round > 0 ? std::optional(kernel.join(blocks)) : std::nullopt;
        blocks.clear();
        for (std::size_t b = 0; b < 3; ++b)
          blocks.push_back(before ? kernel.partial(*before, borders[b], inputs(b))
                                  : kernel.partial("j", borders[b], inputs(b)));
      }
      for (std::size_t b = 0; b < 3; ++b) {
        const Results got = kernel.combine(blocks, inputs(b));
        for (std::size_t o = 0; o < whole.size(); ++o) {
          INFO(body << " output " << o << " block " << b);
          const Array &made = whole[o];
          const bool has = !made.shape().empty() && made.shape().back() == n;
          const AnyView want =
              has ? part_of(made, made.rank() - 1, borders[b], borders[b + 1]) : AnyView(made);
          CHECK(bytes(dense_copy(got[o])) == bytes(dense_copy(want)));
        }
      }
      CHECK(code_thrown_by([&] { kernel.combine(blocks, std::vector<NamedView>{{"y", y}}); }) ==
            "E0308");
    }
}

TEST_CASE("A round that would fold in another order than one call is refused") {
  const std::vector<Given> given{{"x", numbers({300, 256}), 0}, {"y", numbers({256}, f64, 2), -1}};
  for (const std::string body :
       {"out z = sum(x * sum(y * (y > mean(x)), j)); out w = sum(x - max(x))",
        "out z = sum((x - max(x, i)) ^ 2)", "out z = sum((x - mean(x, i)) ^ 2)"})
    check_blocks(compile(tests::kernel_of("in x : f64[i, j]; in y : f64[j]; out u = y; " + body)),
                 "i", given, {128, 256});
  // j and k are one loop beside what z came to, and are none beside z itself.
  const Kernel kernel = compile(
      tests::kernel_of("in x : f64[i, j, k]; in z : f64[i, k]; out s = sum(x - mean(z, k), j, k)"));
  const Array x = numbers({30, 20, 4}), z = numbers({30, 4});
  try {
    kernel.unit("k", {{"x", x}, {"z", z}});
    CHECK(false);
  } catch (const SpecError &error) {
    CHECK(error.code() == "E0060");
    CHECK(error.message().find("in another order than in one call") != std::string::npos);
    CHECK_FALSE(error.help().empty());
  }
}

TEST_CASE("Exact folds are cut anywhere") {
  const Kernel kernel = compile(tests::kernel_of(
      "in n : i32[j]; in x : f64[j]; out s = sum(n); out m = min(x); out a = argmax(x, j)"));
  const std::vector<Given> given{{"n", numbers({1001}, i32), 0}, {"x", numbers({1001}), 0}};
  CHECK(kernel.unit("j", {{"n", given[0].array}, {"x", given[1].array}}) == 1);
  check_blocks(kernel, "j", given, {1, 7, 500, 999, 1000});
}

TEST_CASE("Blocks of an accumulator of one's own have the bits of the whole") {
  const LoopSpec spec = parse("accumulator both(s, p; x, w) { init s = 0., p = 1. "
                              "step s = s + w * x, p = p * (1 + 1e-12 * x) "
                              "combine s = s + s_other, p = p * p_other result s * log(p) }\n"
                              "accumulator line(a, b; x) { init a = 1., b = 0. "
                              "step a = a * 0.999, b = 0.999 * b + x "
                              "combine a = a_other * a, b = a_other * b + b_other result b }\n"
                              "kernel k { in x : f64[j]; in w : f64[j]; out z = both((x, w), j); "
                              "out l = line(x, j) }");
  const Kernel kernel = compile(spec);
  const std::vector<Given> given{{"x", numbers({20000}), 0}, {"w", numbers({20000}, f64, 3), 0}};
  check_blocks(kernel, "j", given, {4096, 12288});
}

TEST_CASE("A gradient by parameters is the sum of blocks of the data") {
  const LoopSpec loss = tests::kernel_of(
      "in x : f32[n, p]; in t : f32[n]; in w : f32[p]; out l = sum((sum(x * w, p) - t) ^ 2)");
  const Kernel kernel = compile(gradient(loss, {"w"}));
  const Array one = [] {
    Array array(f32, std::initializer_list<std::int64_t>{});
    array.data<float>()[0] = 1;
    return array;
  }();
  const std::vector<Given> given{{"x", numbers({700, 20}, f32), 0},
                                 {"t", numbers({700}, f32, 2), 0},
                                 {"w", numbers({20}, f32, 3), -1},
                                 {"d_l", one, -1}};
  check_blocks(kernel, "n", given, {128, 384});
}

TEST_CASE("Blocks have the same bits in the interpreter, relaxed, and in complex numbers") {
  const std::vector<Given> given{{"x", numbers({2, 9000}, c64), 1}};
  const std::string text = "in x : c64[i, j]; out s = sum(x, j); out p = prod(x / 100, j)";
  check_blocks(compile(tests::kernel_of(text), with(Engine::interpreter)), "j", given, {4096});
  check_blocks(compile(tests::kernel_of("set relaxed = on; " + text)), "j", given, {4096, 8192});
}

TEST_CASE("What does not come apart says why") {
  const auto why = [](const std::string &body, const std::string &axis = "j") {
    const Kernel kernel = compile(tests::kernel_of(body));
    const Array x(f64, {4, 5});
    try {
      kernel.unit(axis, {{"x", x}});
    } catch (const Error &error) {
      CHECK_FALSE(error.help().empty());
      return error.code() + " " + error.message();
    }
    return std::string("none");
  };
  const std::string x = "in x : f64[i, j]; ",
                    apart = "E0060 kernel 'k' does not come apart along 'j': ";
  CHECK(why(x + "out z = x * 2; out s = sum(x, j)") == "none");
  CHECK(why(x + "out z = broadcast(like=x) mean(x, j)") ==
        apart + "output 'z' has the shape of 'x', of which a block is not all");
  CHECK(why(x + "out z = x * iota(j); out s = sum(x, j)") == "none");
  CHECK(why(x + "out z = x * iota(j)") == apart + "nothing is folded along it");
  CHECK(why(x + "out z = scan(sum, x, j) - mean(x, j)") == "none");
  CHECK(why(x + "out z = mean((x - mean(x, j)) ^ 2, j)") == "none");
  CHECK(why(x + "out z = sum(x / extent(j), j)") == "none");
  CHECK(why(x + "out z = sum(scan(sum, x, j), j)") == "none");
  CHECK(why(x + "out z += sum(x, j)") == apart + "output 'z' adds to what its array holds");
  CHECK(why(x + "out z = sum(sum(x, j), i)") ==
        apart + "'sum' goes on with what was folded along it");
  CHECK(why(x + "out z = sum(x[i, j + 1] - x[i, j], j)") ==
        apart + "it reads at positions along it");
  CHECK(why(x + "let h[i, j] = x * 2; out z = sum(h[i, j] * x, j)") ==
        apart + "it has lets that are arrays or says extents");
  CHECK(why(x + "out z = sum(x, i)", "k") == "E0104 no input of kernel 'k' has an axis 'k'");
  const Kernel ordered = compile(parse("accumulator f(a; x) { init a = 0. step a = 0.5 * a + x }\n"
                                       "kernel k { in x : f64[i, j]; out z = f(x, j) }"));
  const Array some(f64, {4, 5});
  CHECK(code_thrown_by([&] { ordered.unit("j", {{"x", some}}); }) == "E0060");
  const Kernel scanned = compile(parse("accumulator f(a; x) { init a = 0. step a = 0.5 * a + x }\n"
                                       "kernel k { in x : f64[i, j]; out z = scan(f, x, j) }"));
  CHECK(code_thrown_by([&] { scanned.unit("j", {{"x", some}}); }) == "E0060");
}

TEST_CASE("A kernel says along which axes it is a map") {
  const auto why = [](const std::string &body) {
    return compile(tests::kernel_of("in x : f64[i, j]; in y : f64[i]; " + body)).why_no_map("j");
  };
  CHECK(why("out z = x * y + sum(x, i); out w = y") == "");
  CHECK(why("out z = x - sum(x, j)") == "it folds by 'sum' along it");
  CHECK(why("out z = scan(max, x, j)") ==
        "it scans by 'max' along it, and what is before a block is not in it");
  CHECK(why("out z = x * extent(j)") == "it counts its positions");
  CHECK(why("out z = x * iota(j)") == "it numbers its positions");
  CHECK(why("out z = x[i, j + 1]") == "it reads at positions along it");
  CHECK(why("out z = x[i, 2 * j] + x[i, extent(x, 1) - 1]") == "it reads at positions along it");
  CHECK(why("out z = x[i + 1, j] * y[i]") == "");
  CHECK(why("out z = pad(x, i: (1, 1), edge)[i + 1, j]") == "");
  CHECK(why("out z = pad(x, j: (1, 1), edge)[i, j + 1]") == "it reads at positions along it");
  const auto gathers = [](const std::string &axis, const std::string &body) {
    return compile(tests::kernel_of("in t : f64[v, c]; in k : i64[n]; in q : f64[n]; " + body))
        .why_no_map(axis);
  };
  CHECK(gathers("n", "out z = t[k[n], c] * q[n]") == "");
  CHECK(gathers("c", "out z = t[k[n], c]") == "");
  CHECK(gathers("n", "out z = t[k[n], c] - q[n + 1]") == "it reads at positions along it");
  CHECK(gathers("v", "out z = t[k[n], c]") == "it reads at positions along it");
  CHECK(gathers("n", "out d = sum(q, like=t[k[n], 0])") != "");
  CHECK(code_thrown_by(
            [] { compile(tests::kernel_of("in x : f64; out z = x")).why_no_map("j"); }) == "E0104");
}

TEST_CASE("Wrong blocks are mistakes with their places") {
  const Kernel kernel =
      compile(tests::kernel_of("in x : f64[j]; in y : f64; out z = sum(x, j) * y"));
  const Array x = numbers({10000}), y = numbers({});
  const auto block = [&](std::int64_t begin, std::int64_t end) {
    return kernel.partial("j", begin, {{"x", part_of(x, 0, begin, end)}, {"y", y}});
  };
  CHECK(code_thrown_by([&] { block(100, 200); }) == "E0150");
  const Partial a = block(0, 4096), b = block(4096, 8192), c = block(8192, 10000),
                short_b = block(4096, 5000);
  CHECK(kernel.combine({c, a, b}, {{"y", y}}).size() == 1); // in any order
  CHECK(code_thrown_by([&] { kernel.combine({a, c}, {{"y", y}}); }) == "E0151");
  CHECK(code_thrown_by([&] { kernel.combine({b, c}, {{"y", y}}); }) == "E0151");
  CHECK(code_thrown_by([&] { kernel.combine({a, a, b}, {{"y", y}}); }) == "E0151");
  CHECK(code_thrown_by([&] { kernel.combine({a, short_b, c}, {{"y", y}}); }) == "E0151");
  CHECK(code_thrown_by([&] { kernel.combine({}, {{"y", y}}); }) == "E0151");
  CHECK(code_thrown_by([&] { kernel.combine({a}, {}); }) == "E0308");
  CHECK(code_thrown_by([&] { kernel.combine({a}, {{"y", y}, {"x", x}}); }) == "E0308");
  const Kernel other = compile(tests::kernel_of("in x : f64[j]; out z = var(x, j)"));
  CHECK(code_thrown_by([&] { other.combine({a}, {}); }) == "E0151");
  const Kernel reference =
      compile(tests::kernel_of("in x : f64[j]; out z = sum(x)"), with(Engine::reference));
  CHECK(code_thrown_by([&] { reference.unit("j", {{"x", x}}); }) == "E0060");
  const Kernel fixed = compile(tests::kernel_of("in x : f64[j=8192]; out z = sum(x)"));
  const Partial half = fixed.partial("j", 0, {{"x", part_of(x, 0, 0, 4096)}});
  CHECK(code_thrown_by([&] { fixed.combine({half}, {}); }) == "E0102");
}

TEST_CASE("A declared extent is that of all blocks together") {
  const Kernel kernel =
      compile(tests::kernel_of("in x : f64[i=3, j=8000]; out z = x - mean(x, j)"));
  const Array x = numbers({3, 8000});
  const auto inputs = [&](std::int64_t begin, std::int64_t end) {
    return std::vector<NamedView>{{"x", part_of(x, 1, begin, end)}};
  };
  const Results whole = kernel.call(inputs(0, 8000));
  const std::vector<Partial> blocks{kernel.partial("j", 0, inputs(0, 4096)),
                                    kernel.partial("j", 4096, inputs(4096, 8000))};
  const Results part = kernel.combine(blocks, inputs(4096, 8000));
  CHECK(bytes(dense_copy(part[0])) == bytes(dense_copy(part_of(whole[0], 1, 4096, 8000))));
  CHECK(code_thrown_by([&] { kernel.combine({&blocks[0], 1}, inputs(0, 4096)); }) == "E0102");
}

TEST_CASE("Blocks of a wrong round are mistakes with their places") {
  const Kernel kernel =
      compile(tests::kernel_of("in x : f64[j]; out z = mean((x - mean(x, j)) ^ 2, j)"));
  const Array x = numbers({10000});
  const auto first = [&](std::int64_t begin, std::int64_t end) {
    return kernel.partial("j", begin, {{"x", part_of(x, 0, begin, end)}});
  };
  const auto second = [&](const Partial &before, std::int64_t begin, std::int64_t end) {
    return kernel.partial(before, begin, {{"x", part_of(x, 0, begin, end)}});
  };
  const Partial a = first(0, 4096), b = first(4096, 10000), all = kernel.join(std::vector{a, b});
  const Partial c = second(all, 0, 4096), d = second(all, 4096, 10000);
  CHECK(kernel.combine({c, d}).size() == 1);
  CHECK(code_thrown_by([&] { kernel.combine({a, b}); }) == "E0151"); // of the first round
  CHECK(code_thrown_by([&] { kernel.combine({c, b}); }) == "E0151");
  CHECK(code_thrown_by([&] { second(a, 0, 10000); }) == "E0151"); // not all of the first round
  CHECK(code_thrown_by([&] { second(b, 0, 4096); }) == "E0151");
  CHECK(code_thrown_by([&] { second(c, 0, 4096); }) == "E0151"); // there is no third
  const Partial other =
      second(kernel.join(std::vector{first(0, 4096), first(4096, 9999)}), 0, 4096);
  CHECK(code_thrown_by([&] { kernel.combine({other, d}); }) == "E0151");
  CHECK(code_thrown_by([&] { kernel.rounds("i"); }) == "E0104");
  CHECK(code_thrown_by([&] { kernel.partial("j", 0, {{"x", numbers({3, 4})}}); }) == "E0101");
  // States that were copied elsewhere, as by another process, are the same states.
  Partial moved = c;
  for (Partial::Piece &piece : moved.before)
    for (Array &state : piece.states) state = state.copy();
  CHECK(kernel.combine({moved, d}).size() == 1);
}

TEST_CASE("A frozen kernel comes apart with its parameters in it") {
  const Array x = numbers({9000, 3}), w = numbers({3}, f64, 2);
  const Kernel kernel =
      compile(
          tests::kernel_of("in x : f64[n, c]; param w : f64[c]; out z = sum(x * sqrt(w * w), n)"))
          .freeze({{"w", w}});
  check_blocks(kernel, "n", {{"x", x, 0}}, {128, 4096});
}
