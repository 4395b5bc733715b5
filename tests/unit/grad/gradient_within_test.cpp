// What a gradient saves in so many bytes: the choice, and that each has the same bits.
#include "grad/saved_within.hpp"

#include <broadloom/broadloom.hpp>
#include <broadloom/gradient_within.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

using grad::ForwardValue;
using grad::ForwardWork;

// The fewest operations of any choice of at most so many bytes.
double fewest(const std::vector<ForwardValue> &values, const std::vector<ForwardWork> &work,
              std::int64_t bytes) {
  double best = -1;
  for (unsigned set = 0; set < 1u << values.size(); ++set) {
    std::vector<bool> saved;
    std::int64_t size = 0;
    bool may = true;
    for (std::size_t v = 0; v < values.size(); ++v) {
      saved.push_back(set >> v & 1);
      size += saved[v] ? values[v].bytes : 0;
      may = may && (!saved[v] || values[v].may_be_saved);
    }
    if (!may || size > bytes) continue;
    const double operations = computed_again(values, work, saved);
    if (best < 0 || operations < best) best = operations;
  }
  return best;
}

std::int64_t bytes_of(const std::vector<ForwardValue> &values, const std::vector<bool> &saved) {
  std::int64_t bytes = 0;
  for (std::size_t v = 0; v < values.size(); ++v) bytes += saved[v] ? values[v].bytes : 0;
  return bytes;
}

TEST_CASE("what is saved fits, and nothing with as few bytes has fewer operations at some price") {
  std::mt19937 random(7);
  const auto below = [&](int n) { return int(random() % unsigned(n)); };
  int best = 0, tried = 0;
  for (int k = 0; k < 300; ++k) {
    std::vector<ForwardValue> values;
    std::vector<ForwardWork> work;
    std::int64_t all = 0;
    for (std::size_t v = 0; v < 9; ++v) {
      if (v == 0 || below(4) != 0) work.push_back({double(1 + below(50)), {}});
      for (std::size_t of = 0; of < v; ++of)
        if (below(3) == 0 && values[of].made_by != work.size() - 1) work.back().needs.push_back(of);
      values.push_back({1 + below(40), work.size() - 1, below(2) == 0, below(8) != 0});
      all += values.back().bytes;
    }
    const std::int64_t budget = below(int(all));
    const std::vector<bool> saved = saved_within(values, work, budget);
    CHECK(bytes_of(values, saved) <= budget);
    for (std::size_t v = 0; v < values.size(); ++v) CHECK((!saved[v] || values[v].may_be_saved));
    const double made = computed_again(values, work, saved), least = fewest(values, work, budget);
    CHECK(made >= least);
    // Between the corners of the choices by price it may be more than the least.
    best += made == least;
    ++tried;
    CHECK(computed_again(values, work, saved_within(values, work, all)) ==
          fewest(values, work, all));
  }
  CHECK(best > tried * 4 / 5);
}

TEST_CASE("more bytes never mean more operations") {
  const std::vector<ForwardWork> work{{100, {}}, {1, {0}}, {50, {1}}, {2, {2, 0}}};
  const std::vector<ForwardValue> values{{8, 0, true}, {8, 1, true}, {8, 2, true}, {8, 3, true}};
  double before = 1e9;
  for (std::int64_t bytes = 0; bytes <= 40; bytes += 4) {
    const double now = computed_again(values, work, saved_within(values, work, bytes));
    CHECK(now <= before);
    before = now;
  }
  CHECK(before == 0);
}

LoopSpec kernel(const std::string &body) { return parse("kernel k {\n" + body + "\n}"); }

std::vector<unsigned char> bits(const Array &array) {
  const Array dense = array.copy();
  const auto *begin = static_cast<const unsigned char *>(dense.raw());
  return {begin, begin + std::size_t(dense.size()) * size_of(dense.dtype())};
}

// Forward and then backward, as they print: the bits of each gradient.
std::vector<std::vector<unsigned char>> run(const SavingGradient &made,
                                            const std::vector<NamedView> &inputs,
                                            const NamedView &cotangent, Engine engine) {
  INFO(print(made.forward) << print(made.backward));
  const LoopSpec forward = parse(print(made.forward)), backward = parse(print(made.backward));
  CHECK(print(forward) == print(made.forward));
  CHECK(print(backward) == print(made.backward));
  const Results values = compile(forward, {.engine = engine}).call(inputs);
  const Kernel kernel = compile(backward, {.engine = engine});
  std::vector<NamedView> given;
  std::vector<std::string> names;
  std::int64_t bytes = 0;
  std::vector<Array> saved;
  for (const auto &[name, array] : values)
    if (name.starts_with("saved_")) {
      names.emplace_back(name);
      saved.push_back(array);
      bytes += array.size() * std::int64_t(size_of(array.dtype()));
    }
  CHECK(bytes == made.bytes);
  CHECK(saved.size() == made.saved);
  for (const InputInfo &input : kernel.inputs()) {
    for (const NamedView &view : inputs)
      if (view.name == input.name) given.push_back(view);
    if (cotangent.name == input.name) given.push_back(cotangent);
    for (std::size_t k = 0; k < saved.size(); ++k)
      if (names[k] == input.name) given.emplace_back(names[k], saved[k]);
  }
  std::vector<std::vector<unsigned char>> all;
  for (const auto &[name, array] : kernel.call(given)) all.push_back(bits(array));
  return all;
}

// All bytes from none to as many as all of it takes: the same bits; how many choices there are.
int choices(const LoopSpec &spec, const std::vector<std::string> &wrt,
            const std::vector<NamedView> &inputs, const NamedView &cotangent) {
  const SavingGradient all = gradient_within(spec, wrt, {1 << 30, inputs});
  const Results whole = [&] {
    std::vector<NamedView> given = inputs;
    given.push_back(cotangent);
    return compile(gradient(spec, wrt), {.engine = Engine::interpreter}).call(given);
  }();
  std::set<std::string> printed;
  for (std::int64_t bytes = 0; bytes <= all.bytes + 8;
       bytes += std::max<std::int64_t>(all.bytes / 12, 8)) {
    const SavingGradient made = gradient_within(spec, wrt, {bytes, inputs});
    CHECK(made.bytes <= bytes);
    printed.insert(print(made.forward));
    for (const Engine engine : {Engine::interpreter, Engine::jit}) {
      const auto got = run(made, inputs, cotangent, engine);
      for (std::size_t k = 0; k < got.size(); ++k) CHECK(got[k] == bits(whole[int(k)]));
    }
  }
  CHECK(gradient_within(spec, wrt, {0, inputs}).saved == 0);
  return int(printed.size());
}

} // namespace

TEST_CASE("a network of lets that are arrays saves what fits, with the same bits") {
  std::vector<double> x(40), w{0.5, -1, 0.25}, v{1, 0.5}, d(34, 0.5);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = 0.1 * double(k) - 1;
  const LoopSpec net = kernel("in x : f64[:]; in w : f64[u]; in v : f64[c]\n"
                              "let a[i] = tanh(sum(x[i + u] * w, u))\n"
                              "let b[i] = exp(sum(a[i + u] * w, u))\n"
                              "let e[i] = b[i + 1] - b[i]\n"
                              "let h[i] = sin(e[i] * 2) * e[i + 1]\n"
                              "out y[i] = h[i] * h[i]");
  const std::vector<NamedView> inputs{{"x", x}, {"w", w}, {"v", v}};
  CHECK(choices(net, {"x", "w"}, inputs, {"d_y", View(d, {34})}) >= 3);
}

TEST_CASE("a loop over time is saved or computed again as a whole") {
  std::vector<double> x(30), w{0.5, -1, 0.25, 0.1}, one{1};
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = 0.1 * double(k) - 1;
  const LoopSpec net = kernel("in x : f64[t, c]; in w : f64[c, i]\n"
                              "let a[t, i] = tanh(sum(x * w, c))\n"
                              "let h[t, i] = tanh(a[t, i] + 0.5 * h[t - 1, i])\n"
                              "let g[t, i] = h[t, i] * h[t, i]\n"
                              "out y = sum(g[t, i] * g[t, i] * h[t, i], t, i)");
  const std::vector<NamedView> inputs{{"x", View(x, {15, 2})}, {"w", View(w, {2, 2})}};
  CHECK(choices(net, {"x", "w"}, inputs, {"d_y", View(one, {})}) >= 2);
}

TEST_CASE("values of a kernel without arrays are saved by the same rule") {
  std::vector<double> x(12), y{0.5, -1, 2}, d(12, 0.25);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = 0.1 * double(k) - 0.5;
  const LoopSpec spec = kernel("in x : f64[i, j]; in y : f64[j]\nlet e = exp(x * y)\nout z = "
                               "sin(e) * tanh(e * e) / sum(e, j)");
  const std::vector<NamedView> inputs{{"x", View(x, {4, 3})}, {"y", y}};
  CHECK(choices(spec, {"x", "y"}, inputs, {"d_z", View(d, {4, 3})}) >= 3);
}

TEST_CASE("keep() is saved whatever it costs, recompute() never") {
  std::vector<double> x{1, 2, 3};
  const std::vector<NamedView> inputs{{"x", x}};
  const SavingGradient kept = gradient_within(
      kernel("in x : f64[i]; out y = square(keep(x * 3)) * exp(x)"), {"x"}, {24, inputs});
  CHECK(kept.bytes == 24);
  CHECK(kept.saved == 1);
  CHECK(print(kept.backward).find("x * 3") == std::string::npos);
  CHECK(print(kept.backward).find("exp(x)") != std::string::npos);
  const SavingGradient again = gradient_within(
      kernel("in x : f64[i]; out y = square(recompute(exp(x)))"), {"x"}, {1000, inputs});
  CHECK(again.saved == 0);
  const SavingGradient array = gradient_within(
      kernel("in x : f64[:]; let h[i] = keep(x[i] * 2); out y[i] = h[i] * h[i + 1]"), {"x"},
      {24, inputs});
  CHECK(array.bytes == 24);
}

TEST_CASE("bytes that keep() does not fit into, and inputs without extents, are told") {
  const auto refused = [](const std::string &body, const SaveWithin &within) {
    try {
      gradient_within(kernel(body), {"x"}, within);
    } catch (const Error &error) {
      return error.render();
    }
    return std::string("nothing");
  };
  std::vector<double> x{1, 2, 3};
  const std::string small =
      refused("in x : f64[i]; out y = square(keep(exp(x)))", {16, {{"x", x}}});
  CHECK(small.find("error[E0610]: what keep() is around takes 24 bytes, and 16 may be saved") !=
        std::string::npos);
  CHECK(small.find("^") != std::string::npos);
  const std::string open = refused("in x : f64[i]; out y = exp(x) * x", {16, {}});
  CHECK(open.find("error[E0610]: nothing tells how long dim 0 of 'x' is") != std::string::npos);
  CHECK(refused("in x : f64[i=3]; out y = exp(x) * x", {16, {}}) == "nothing");
  CHECK(refused("in x : f64[i]; out y = exp(x)", {16, {{"q", x}}}).find("E0003") !=
        std::string::npos);
}
