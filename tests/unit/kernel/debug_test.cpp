// Calls that Options::debug has checked: against the interpreter and the reference, for what is no
// number, on guarded memory.
#include "kernel/operand_copy.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>

using namespace broadloom;

namespace {

const float nan32 = std::numeric_limits<float>::quiet_NaN();

// A world in which these stages go wrong, without an error of their own.
struct Fault {
  explicit Fault(const char *stages) { setenv("BROADLOOM_FAULT", stages, 1); }
  ~Fault() { unsetenv("BROADLOOM_FAULT"); }
};

Kernel debugged(const std::string &text, Debug debug = Debug::all, Engine engine = Engine::jit) {
  return compile(parse(text), {.threads = 2, .engine = engine, .debug = debug});
}

struct Told {
  std::string code = "none", text, ir;
  Place where;
};

Told told(const std::function<void()> &call) {
  try {
    call();
  } catch (const InternalError &error) {
    return {error.code(), error.message(), error.ir(), error.where()};
  } catch (const Error &error) {
    CHECK_FALSE(error.help().empty());
    return {error.code(), error.message(), "", error.where()};
  }
  return {};
}

bool has(const std::string &text, const std::string &part) {
  CAPTURE(text);
  CAPTURE(part);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

std::vector<float> counted(std::size_t count, float first = 1) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

} // namespace

TEST_CASE("A checked call gives what a plain one gives, in every way to call") {
  const std::string text = "kernel plain_sums { in x : f32[i, j]; out p += x / sum(x, j)\n"
                           "  out s[j] = reduce(sum) x; out r = scan(sum, x, j)\n"
                           "  let h[i] = sum(x, j); out d[k] = h[k + 1] - h[k] }";
  const std::vector<float> x = counted(40 * 70);
  const NamedView in{"x", View(x, {40, 70})};
  const Kernel plain = compile(parse(text), {.threads = 2});
  for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference}) {
    const Kernel checked = debugged(text, Debug::all, engine);
    const Results a = plain({in}), b = checked({in});
    for (const auto &[name, array] : a)
      if (engine != Engine::reference) {
        CAPTURE(name);
        CHECK(array.to_vector<float>() == b[name].to_vector<float>());
      }
    std::vector<float> p(x.size(), 1), q(x.size(), 1), s(70), t(70);
    plain.run({in}, {{"p", View(p, {40, 70})}, {"s", View(s)}});
    const BoundCall again = checked.bind({in}, {{"p", View(q, {40, 70})}, {"s", View(t)}});
    again();
    if (engine != Engine::reference) {
      CHECK(p == q);
      CHECK(s == t);
    }
    again(); // `+=` adds to what the first call has left
    CHECK(q[5] == doctest::Approx(2 * p[5] - 1));
  }
}

TEST_CASE("Inputs may overlap outputs in a checked call, too") {
  const Kernel kernel = debugged("kernel overlapped { in x : f32[i]; out y = x * 2 + 1 }");
  std::vector<float> x = counted(1000);
  kernel.run({{"x", View(x)}}, {{"y", View(x)}});
  CHECK(x[10] == 23);
  kernel.run({{"x", View<float>(x.data(), {999})}}, {{"y", View<float>(x.data() + 1, {999})}});
  CHECK(x[11] == 47);
}

TEST_CASE("What is wrong with the arguments is told as ever, and nothing is written") {
  const Kernel kernel = debugged("kernel wrongly_called { in x : f32[i]; out y = x; out z = x }");
  const std::vector<float> x = counted(8);
  std::vector<float> y(8, -1);
  const auto code = [&](const AnyView &out) {
    return told([&] { kernel.run({{"x", View(x)}}, {{"y", out}}); }).code;
  };
  CHECK(code(View(y, {2, 4})) == "E0101");
  CHECK(code(View<float>(y.data(), {7})) == "E0120");
  CHECK(code(View<float>(nullptr, {8})) == "E0306");
  CHECK(code(View<const float>(y.data(), {8})) == "E0309");
  CHECK(code(View<float>(y.data(), {8}, {0})) == "E0122");
  CHECK(told([&] { kernel.run({View(x)}, {View(y), View(y)}); }).code == "E0121");
  CHECK(y == std::vector<float>(8, -1));
}

TEST_CASE(
    "Native code that differs from the interpreter is told with the position and both values") {
  const std::string text = "kernel wrong_sum { in x : f32[i]; in y : f32[i]; out z = x + y * 3 }";
  const std::vector<float> x = counted(100), y = counted(100, 0);
  std::vector<float> z(100, -1);
  const Fault fault("wrong-code");
  const Told error =
      told([&] { debugged(text, Debug::interpreter).run({View(x), View(y)}, {View(z)}); });
  CHECK(error.code == "E0901");
  has(error.text, "kernel 'wrong_sum', output 'z': native code and the interpreter differ at [1]: "
                  "-1.0 and 5.0");
  has(error.ir, "phase 0:");
  CHECK(z == std::vector<float>(100, -1));
}

TEST_CASE(
    "A plan that is wrong is told by the reference, where the kernel is small enough for it") {
  const Fault fault("wrong-plan");
  const Kernel kernel =
      debugged("kernel wrong_plan { in x : f32[i, j]; out z = x + 1; out s = sum(x + 1, j) }");
  const std::vector<float> x = counted(12);
  std::vector<float> z(12, -1), s(3, -1);
  const auto run = [&] { kernel.run({View(x, {3, 4})}, {View(z, {3, 4}), View(s)}); };
  const Told error = told(run);
  CHECK(error.code == "E0901");
  has(error.text, "kernel 'wrong_plan', output 'z': the call and the reference differ at [0, 0]: "
                  "0.0 and 2.0");
  has(error.ir, "kernel wrong_plan {");
  has(error.ir, "phase 0:");
  CHECK(z == std::vector<float>(12, -1));
  const std::vector<float> large(3 << 20);
  std::vector<float> out(large.size());
  kernel.run({{"x", View(large, {3, 1 << 20})}}, {{"z", View(out, {3, 1 << 20})}});
  CHECK(out[0] == -1); // and nobody has seen it
}

TEST_CASE("A nan that no input held is told with the operation that made it") {
  const std::string text = "kernel roots {\n"
                           "  in x : f32[i, j]\n"
                           "  out y = sum(1 + sqrt(x - 3), j) * 2\n"
                           "}\n";
  std::vector<float> x = counted(12, 4), y(3, -1);
  const Kernel kernel = debugged(text, Debug::nan);
  kernel.run({View(x, {3, 4})}, {View(y)});
  CHECK(y[0] > 0);
  x[6] = 1;
  y.assign(3, -1);
  const Told error = told([&] { kernel.run({View(x, {3, 4})}, {View(y)}); });
  CHECK(error.code == "E0319");
  CHECK(error.text ==
        "output 'y' is nan at [1], and no input holds any: sqrt(-2.0) gives the first "
        "one, at i 1, j 2");
  CHECK(error.where.line == 3);
  CHECK(error.where.column == 19);
  CHECK(y == std::vector<float>(3, -1));
  x[0] = nan32; // now one holds one
  kernel.run({View(x, {3, 4})}, {View(y)});
  CHECK(std::isnan(y[1]));
  CHECK(told([&] { debugged(text, Debug::infinity).run({View(x, {3, 4})}, {View(y)}); }).code ==
        "none");
}

TEST_CASE("An infinity that neither an input nor a number of the kernel is, is told") {
  const std::vector<float> x{1, 0, 2};
  std::vector<float> y(3);
  const auto run = [&](const std::string &value, Debug debug = Debug::all) {
    const Kernel kernel = debugged("kernel k { in x : f32[i]; out y = " + value + " }", debug);
    return told([&] { kernel.run({View(x)}, {View(y)}); });
  };
  CHECK(run("1 / x").code == "E0320");
  has(run("1 / x").text, "output 'y' is infinity at [1], and no input holds any: 1.0 / 0.0 gives");
  has(run("log(x)").text, "log(0.0) gives the first one, at i 1");
  has(run("exp(x * 100)").text, "exp(100.0) gives");
  has(run("f32(f16(x * 40000 + x))").text, "as f16 gives");
  has(run("x + (max(1 / x) - max(1 / x))").text,
      "output 'y' is nan at [0], and no input holds any: inf - inf");
  CHECK(run("where(x == 0, -inf, x)").code == "none");
  CHECK(run("1 / x", Debug::nan | Debug::interpreter | Debug::memory).code == "none");
  has(run("x + f32(sum(f64(x) * 7e307, i))").text,
      "'sum' of elements of which none is infinity gives");
}

TEST_CASE("Of where only the branch that is taken counts, and a nan that is not taken is none") {
  const std::vector<float> x{4, -4};
  std::vector<float> y(2);
  const auto run = [&](const std::string &value) {
    const Kernel kernel = debugged("kernel k { in x : f32[i]; out y = " + value + " }");
    return told([&] { kernel.run({View(x)}, {View(y)}); });
  };
  CHECK(run("where(x > 0, sqrt(x), 0)").code == "none");
  has(run("where(x > 0, log(-x), sqrt(x))").text, "log(-4.0) gives the first one, at i 0");
}

TEST_CASE("Lets that are arrays are looked at when they are there") {
  const std::vector<float> x{1, 2, -3, 4};
  std::vector<float> y(3, -1);
  const Kernel kernel = debugged("kernel k { in x : f32[i]\n  let h[i] = log(x)\n"
                                 "  out y[k] = where(h[k + 1] > 0, h[k], 1) }");
  const Told error = told([&] { kernel.run({View(x)}, {View(y)}); });
  CHECK(error.code == "E0319");
  CHECK(error.text ==
        "let 'h' is nan at [2], and no input holds any: log(-3.0) gives the first one, at i 2");
  CHECK(y == std::vector<float>(3, -1));
}

TEST_CASE("A loop over time is stopped at the step that makes the first nan") {
  const std::string text =
      "kernel k { in x : f32[j]\n"
      "  let u[t < 20, j] = u[t - 1, j] * 1e10 - u[t - 1, j] * 1e10 * x from x\n";
  const std::vector<float> x{1, 3, 1};
  std::vector<float> y(3, -1), all(60, -1);
  const std::string nan = "let 'u' is nan at [3, 1], and no input holds any";
  for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference}) {
    const Kernel last = debugged(text + "  out y = u[-1, j] }", Debug::all, engine);
    const Told error = told([&] { last.run({View(x)}, {View(y)}); });
    CHECK(error.code == "E0319");
    has(error.text, nan);
    CHECK(error.where.line == 2);
    CHECK(y == std::vector<float>(3, -1));
    const Kernel whole = debugged(text + "  out y = u }", Debug::all, engine);
    const Told more = told([&] { whole.run({View(x)}, {View(all, {3, 20})}); });
    CHECK(more.text == nan + ": -inf - -inf gives the first one, at j 1");
    CHECK(more.where.column == 22);
    CHECK(all == std::vector<float>(60, -1));
  }
}

TEST_CASE("A state is as it was where a checked call finds something") {
  StatefulKernel kernel(
      parse("kernel k { in x : f32[i]; state s : f32[i = 2]; update s = s + log(x)\n"
            "  out y = s }"),
      {.debug = Debug::all});
  const std::vector<float> good{1, 2}, bad{1, -2};
  kernel({{"x", View(good)}});
  const std::vector<float> before = kernel.get("s").to_vector<float>();
  CHECK(told([&] { kernel({{"x", View(bad)}}); }).code == "E0319");
  CHECK(kernel.get("s").to_vector<float>() == before);
}

TEST_CASE("A write before an output is seen, and one behind it cannot happen") {
  const std::vector<float> x = counted(1000);
  std::vector<float> y(1000, -1);
  {
    const Fault fault("write-before");
    const Kernel kernel = debugged("kernel k { in x : f32[i]; out y = x * 5 }", Debug::memory);
    const Told error = told([&] { kernel.run({View(x)}, {View(y)}); });
    CHECK(error.code == "E0901");
    has(error.text, "kernel 'k', output 'y': native code writes before the first element");
    CHECK(y[0] == -1);
  }
  using kernel::OperandCopy;
  const OperandCopy copy(AnyView(View<float>(y)), {0, 4000}, OperandCopy::Memory::Guarded);
  const auto end = reinterpret_cast<std::uintptr_t>(copy.bytes().data() + copy.bytes().size());
  CHECK(end % 4096 == 0);
  CHECK_FALSE(copy.is_touched_before());
}
