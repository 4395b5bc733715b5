// Scans along the axis that is cut into blocks: their bits are those of one call.
#include "parts_of_arrays.hpp"
#include "unit/kernel/all_engines.hpp"

#include <cmath>
#include <cstring>
#include <optional>
#include <random>

using namespace broadloom;
using tests::bytes;
using tests::code_thrown_by;
using tests::dense_copy;
using tests::part_of;
using tests::with;

namespace {

// Of any dtype: sizes so different that any other order of adding up shows.
Array any_numbers(std::vector<std::int64_t> shape, DType dtype, unsigned seed = 1) {
  std::mt19937 random(seed);
  const double most = dtype == f16 ? 2 : 8;
  std::uniform_real_distribution<double> exponent(-most, most);
  Array array(f64, shape);
  for (std::int64_t k = 0; k < array.size(); ++k)
    array.data<double>()[k] = (random() % 2 == 0 ? 1 : -1) * std::pow(10.0, exponent(random));
  if (dtype == f64) return array;
  const std::string cast = dtype == DType::Bool ? "x > 0"
                           : is_complex(dtype)
                               ? std::string(name(dtype)) + "(x) * (1 + 0.001j * sin(x))"
                           : is_float(dtype) ? std::string(name(dtype)) + "(x)"
                                             : std::string(name(dtype)) + "(sin(x) * 100)";
  std::string dims;
  for (std::size_t d = 0; d < shape.size(); ++d) dims += (d > 0 ? ", d" : "d") + std::to_string(d);
  const Kernel kernel = compile(
      parse("kernel k { in x : f64[" + dims + "]; out y : " + std::string(name(dtype)) + " = " +
            (dtype == DType::U8 || dtype == DType::U16 || dtype == DType::U32 || dtype == DType::U64
                 ? std::string(name(dtype)) + "(abs(sin(x)) * 100)"
                 : cast) +
            " }"));
  return kernel({{"x", array}})[0];
}

// That lies in the same order of dims.
Array moved(const AnyView &view) {
  const Array array(nullptr, view.dtype, view.data, view.layout);
  const bool first_is_innermost = array.rank() > 1 && array.strides()[0] < array.strides().back();
  return first_is_innermost ? array.transposed().copy().transposed() : array.copy();
}

struct Cut {
  std::string name;
  Array array;
  int dim = -1; // along the axis
};

std::vector<NamedView> block_of(const std::vector<Cut> &given, std::int64_t begin, std::int64_t end,
                                std::vector<Array> &copies) {
  std::vector<NamedView> inputs;
  for (const Cut &input : given)
    if (input.dim < 0)
      inputs.push_back({input.name, input.array});
    else if (begin % 3 == 0) // a copy, as on another machine, or a view
      inputs.push_back({input.name, part_of(input.array, input.dim, begin, end)});
    else
      inputs.push_back(
          {input.name, copies.emplace_back(moved(part_of(input.array, input.dim, begin, end)))});
  return inputs;
}

// Outputs that have the axis have it as this dim.
void check_scans(const Kernel &kernel, const std::string &axis, const std::vector<Cut> &given,
                 std::vector<std::int64_t> borders) {
  std::vector<NamedView> all;
  std::int64_t total = 0;
  for (const Cut &input : given) {
    all.push_back({input.name, input.array});
    if (input.dim >= 0) total = input.array.shape()[std::size_t(input.dim)];
  }
  const Results whole = kernel.call(all);
  borders.insert(borders.begin(), 0);
  borders.push_back(total);
  std::vector<Array> copies;
  std::optional<Partial> before;
  for (int round = 0; round < kernel.rounds(axis); ++round) {
    std::vector<Partial> blocks;
    for (std::size_t b = 0; b + 1 < borders.size(); ++b) {
      const auto inputs = block_of(given, borders[b], borders[b + 1], copies);
      blocks.push_back(before ? kernel.partial(*before, borders[b], inputs)
                              : kernel.partial(axis, borders[b], inputs));
    }
    std::vector<Partial> steps(blocks.begin() + std::ptrdiff_t(blocks.size() / 2), blocks.end());
    Partial joined = kernel.join(steps); // the later half first, then one after the other
    for (std::size_t b = blocks.size() / 2; b-- > 0;)
      joined = kernel.join(std::vector{blocks[b], joined});
    before = joined;
  }
  const auto infos = kernel.outputs();
  const bool maps = std::ranges::any_of(
      infos, [&](const OutputInfo &output) { return std::ranges::count(output.axes, axis) > 0; });
  for (std::size_t b = 0; b + 1 < borders.size(); ++b) {
    std::vector<NamedView> inputs = block_of(given, borders[b], borders[b + 1], copies);
    if (!maps)
      for (const Cut &input : given)
        if (input.dim >= 0)
          std::erase_if(inputs, [&](const NamedView &view) { return view.name == input.name; });
    const Results got = kernel.combine(std::vector{*before}, borders[b], inputs);
    for (std::size_t o = 0; o < whole.size(); ++o) {
      const auto dim = std::ranges::find(infos[o].axes, axis);
      const AnyView want = dim == infos[o].axes.end()
                               ? AnyView(whole[o])
                               : part_of(whole[o], std::size_t(dim - infos[o].axes.begin()),
                                         borders[b], borders[b + 1]);
      INFO(print(kernel.spec()) << infos[o].name << " in block " << b << " of " << total);
      CHECK(bytes(dense_copy(got[o])) == bytes(dense_copy(want)));
    }
  }
}

const std::string own =
    "accumulator both(s, p; x) { init s = 0., p = 1. step s = s + x, p = p * (1 + 1e-12 * x) "
    "combine s = s + s_other, p = p * p_other result s * log(abs(p)) }\n"
    "accumulator line(a, b; x) { init a = 1., b = 0. step a = a * 0.999, b = 0.999 * b + x "
    "combine a = a_other * a, b = a_other * b + b_other result b }\n";

} // namespace

TEST_CASE("Scans by every accumulator go block by block with the bits of one call") {
  const std::int64_t n = 5 * 4096 + 1234;
  const Array x = any_numbers({3, n}, f64), y = any_numbers({3}, f64, 2);
  for (const std::string scan : {"scan(sum, x, j)",
                                 "scan(prod, 1 + x / 1e9, j)",
                                 "scan(min, x, j)",
                                 "scan(max, x, j, reverse)",
                                 "scan(any, x > 9e7, j)",
                                 "scan(all, x < 9e7, j, exclusive)",
                                 "scan(mean, x, j)",
                                 "scan(mean, x, j, reverse)",
                                 "scan(var, x, j)",
                                 "scan(std, x, j, correction=1)",
                                 "scan(norm, x, j, reverse)",
                                 "scan(logsumexp, x / 1e6, j)",
                                 "scan(logsumexp, x / 1e6, j, reverse)",
                                 "scan(argmax, x, j, state=i)",
                                 "scan(argmin, x * y, j, state=v)",
                                 "scan(sum, x, j, exclusive, init=3)",
                                 "scan(sum, x, j, reverse, exclusive)",
                                 "scan(var, x, j, exclusive, reverse)",
                                 "scan(line, x, j)",
                                 "scan(line, x, j, reverse)",
                                 "scan(both, x, j, exclusive)",
                                 "scan(both, x, j, state=p)"})
    for (const int threads : {1, 3}) {
      const Kernel kernel =
          compile(parse(own + "kernel k { in x : f64[i, j]; in y : f64[i]; out z = " + scan +
                        " * y; out w = y * 2 }"),
                  with(Engine::jit, threads));
      CHECK(kernel.rounds("j") == 1);
      const std::vector<Cut> given{{"x", x, 1}, {"y", y}};
      for (const std::vector<std::int64_t> &borders :
           {std::vector<std::int64_t>{}, {4096}, {2 * 4096, 3 * 4096}, {4096, 4 * 4096, 5 * 4096}})
        check_scans(kernel, "j", given, borders);
    }
}

TEST_CASE("Scans of every dtype go block by block with the bits of one call") {
  const std::int64_t n = 3 * 4096 + 77;
  for (const DType dtype : {DType::Bool, DType::I8, DType::I32, DType::I64, DType::U8, DType::U64,
                            f16, DType::BF16, f32, f64, c64, DType::C128})
    for (const std::string by : {"sum", "prod", "max", "var"}) {
      if (is_complex(dtype) && (by == "max" || by == "var")) continue;
      if (dtype == DType::Bool && by == "var") continue;
      for (const std::string more : {"", ", reverse"}) {
        const Kernel kernel = compile(tests::kernel_of(
            "in x : " + std::string(name(dtype)) + "[j, i]; out r = scan(" + by + ", x, i" + more +
            "); out c = scan(" + by + ", x, j" + more + (by == "max" ? ")" : ", exclusive)")));
        check_scans(kernel, "j", {{"x", any_numbers({n, 3}, dtype), 0}}, {4096, 3 * 4096});
        check_scans(kernel, "j", {{"x", any_numbers({2, n}, dtype).transposed(), 0}}, {2 * 4096});
        check_scans(kernel, "i", {{"x", any_numbers({2, n}, dtype), 1}}, {4096});
      }
    }
}

TEST_CASE("Scans have the bits of one call whatever is left over at the end") {
  const Kernel kernel = compile(parse(
      own +
      "kernel k { in x : f32[j]; out s = scan(sum, x, j); out r = scan(var, x, j, reverse); "
      "out e = scan(line, f64(x), j, exclusive); out b = scan(logsumexp, x / 1e7, j, reverse, "
      "exclusive); out l = scan(logsumexp, x / 1e7, j) }"));
  for (const std::int64_t leaves : {1, 2, 3})
    for (const std::int64_t rest : {0, 1, 2, 15, 16, 17, 4095}) {
      const std::int64_t n = leaves * 4096 + rest;
      const std::vector<Cut> given{{"x", any_numbers({n}, f32, unsigned(n)), 0}};
      std::vector<std::int64_t> every;
      for (std::int64_t border = 4096; border < n; border += 4096) every.push_back(border);
      check_scans(kernel, "j", given, every);
      check_scans(kernel, "j", given, {});
      if (rest > 0) check_scans(kernel, "j", given, {leaves * 4096});
    }
  const Kernel rows = compile(tests::kernel_of("in x : c64[j, i]; out p = scan(prod, x, j); "
                                               "out q = scan(prod, x, j, reverse, exclusive)"));
  check_scans(rows, "j", {{"x", any_numbers({8193, 5}, c64), 0}}, {4096, 8192});
  check_scans(rows, "j", {{"x", any_numbers({5, 8193}, c64).transposed(), 0}}, {4096, 8192});
  const Kernel sum = compile(tests::kernel_of("in x : f64[j]; out s = scan(sum, x, j)"));
  check_scans(sum, "j", {{"x", any_numbers({1}, f64), 0}}, {});
  const Array one = any_numbers({1}, f32);
  const Partial block = kernel.partial("j", 0, {{"x", one}});
  CHECK(code_thrown_by([&] { kernel.combine({block}, 0, {{"x", one}}); }) == "E0150");
}

TEST_CASE(
    "Scans of folds, folds of scans and scans of scans go in rounds, with the bits of one call") {
  const std::int64_t n = 3 * 4096 + 1234;
  const Array x = any_numbers({3, n}, f64), y = any_numbers({3}, f64, 2);
  struct Case {
    std::string body;
    int rounds;
  };
  for (const auto &[body, rounds] :
       {Case{"out z = scan(sum, x - mean(x, j), j) * y", 2},
        {"out z = scan(sum, x, j) / sum(x, j); out m = max(x, j)", 1},
        {"out z = max(scan(sum, x, j), j) - min(scan(sum, x, j, reverse), j)", 2},
        {"out z = scan(max, scan(sum, x, j), j, reverse)", 2},
        {"out z = scan(sum, scan(sum, x, j, reverse, exclusive) / 1e3, j) - x", 2},
        {"let c = scan(sum, x, j); out z = mean(c * c, j) * y; out w = c - mean(c, j)", 2},
        {"out z = scan(sum, x * iota(j), j) + iota(j); out a = scan(argmax, x, j, state=i)", 1},
        {"out z = sum(scan(sum, x, j), i); out w = scan(sum, sum(x * y, i), j)", 1},
        {"let d = x - mean(x, j); out z = sum(scan(sum, d, j) * scan(sum, d, j), j)", 3}})
    for (const int threads : {1, 3}) {
      const Kernel kernel =
          compile(tests::kernel_of("in x : f64[i, j]; in y : f64[i]; out u = y * 2; " + body),
                  with(Engine::jit, threads));
      CHECK(kernel.rounds("j") == rounds);
      const std::vector<Cut> given{{"x", x, 1}, {"y", y}};
      for (const std::vector<std::int64_t> &borders :
           {std::vector<std::int64_t>{}, {4096}, {4096, 3 * 4096}})
        check_scans(kernel, "j", given, borders);
    }
}

TEST_CASE(
    "Long scans, whose leaves run in parallel, and those of the interpreter go block by block") {
  const std::string body =
      "in x : f64[j]; out s = scan(sum, x, j); out v = scan(var, x, j, reverse); "
      "out p = scan(prod, c128(1 + x / 1e9), j)";
  const std::vector<Cut> given{{"x", any_numbers({400000}, f64), 0}};
  check_scans(compile(tests::kernel_of(body), with(Engine::jit, 3)), "j", given, {300 * 1024});
  const std::vector<Cut> some{{"x", any_numbers({9001}, f64), 0}};
  check_scans(compile(tests::kernel_of(body), with(Engine::interpreter)), "j", some, {4096});
  check_scans(compile(tests::kernel_of("set relaxed = on; " + body)), "j", some, {8192});
}

TEST_CASE(
    "Scans that any order gives the same bits are cut anywhere, at the same places in all rounds") {
  const Kernel kernel = compile(tests::kernel_of(
      "in n : i32[j]; in x : f64[j]; out s = scan(sum, n, j); out r = scan(max, x, "
      "j, reverse); out d = scan(sum, n - min(n, j), j)"));
  const std::vector<Cut> given{{"n", any_numbers({1001}, i32), 0},
                               {"x", any_numbers({1001}, f64), 0}};
  CHECK(kernel.unit("j", {{"n", given[0].array}, {"x", given[1].array}}) == 1);
  check_scans(kernel, "j", given, {1, 7, 500, 999, 1000});
  const Kernel sum = compile(tests::kernel_of("in n : i32[j]; out s = scan(sum, n, j)"));
  const Array n = given[0].array;
  const auto block = [&](std::int64_t begin, std::int64_t end) {
    return std::vector<NamedView>{{"n", part_of(n, 0, begin, end)}};
  };
  const Partial all = sum.join(
      std::vector{sum.partial("j", 0, block(0, 300)), sum.partial("j", 300, block(300, 1001))});
  CHECK(code_thrown_by([&] { sum.combine(std::vector{all}, 200, block(200, 300)); }) == "E0150");
  CHECK(code_thrown_by([&] { sum.combine(std::vector{all}, block(0, 300)); }) == "E0150");
  CHECK(code_thrown_by([&] { sum.combine(std::vector{all}, 900, block(0, 300)); }) == "E0151");
}

TEST_CASE("A scan along another axis than the one that is cut is part of what a block is made of") {
  const Kernel kernel = compile(
      tests::kernel_of("in x : f64[i, j]; out s = sum(scan(sum, x, i), j); out m = mean(x, j)"));
  CHECK(kernel.rounds("j") == 1);
  check_scans(kernel, "j", {{"x", any_numbers({7, 9000}, f64), 1}}, {4096});
}

TEST_CASE(
    "Positions are those in all of the data, also beside folds alone and in blocks of any length") {
  const Kernel kernel = compile(tests::kernel_of(
      "in n : i32[j]; out z = n - min(n, j) + iota(j); out b = iota(j) * max(n, j)"));
  check_scans(kernel, "j", {{"n", any_numbers({1001}, i32), 0}}, {1, 7, 500, 1000});
}

TEST_CASE("A scan that begins somewhere may stand in a fold along another axis") {
  const Kernel kernel = compile(
      tests::kernel_of("in x : f64[i, j]; in y : f64[i, j]; "
                       "out z = mean(where(x > 0, scan(max, y, j, exclusive, init=0.5), y), i)"));
  check_scans(kernel, "j",
              {{"x", any_numbers({3, 9000}, f64), 1}, {"y", any_numbers({3, 9000}, f64), 1}},
              {4096, 8192});
}
