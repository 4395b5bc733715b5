// StatefulKernel: states, updates as if at once, all or nothing, and files of states.
#include "unit/temp_folder.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <thread>

using namespace broadloom;

namespace {

template <class F> std::string code_of(const F &call) {
  try {
    call();
  } catch (const Error &error) {
    CHECK_FALSE(error.help().empty());
    return error.code();
  }
  return "none";
}

Array numbers(std::initializer_list<double> values) {
  Array array(f64, {std::int64_t(values.size())});
  std::copy(values.begin(), values.end(), array.data<double>());
  return array;
}
std::vector<double> list(const Array &array) {
  return {array.data<double>(), array.data<double>() + array.size()};
}

using D = std::vector<double>;

const char *const swap = "kernel swap {\n"
                         "  state a : f64[i]\n"
                         "  state b : f64[i]\n"
                         "  in  x : f64[i]\n"
                         "  out s = a + b\n"
                         "  update a = b + x\n"
                         "  update b = a\n"
                         "}\n";

} // namespace

TEST_CASE("States and updates print as they were written, and from C++") {
  CHECK(print(parse(swap)) == swap);
  const Expr a = state("a", f64, {"i"}), b = state_like("b", a), x = input("x", f64, {"i"});
  CHECK(
      print(LoopSpec("swap").in(a).in(b).in(x).out("s", a + b).update("a", b + x).update("b", a)) ==
      swap);
  CHECK(name(a) == "a");
  const char *modes = "kernel k {\n  state w : f32[j]\n  in  x : f32[i, j]\n"
                      "  update w = reduce(max) x\n}\n";
  CHECK(print(parse(modes)) == modes);
}

TEST_CASE("All updates read the states as they were before the call") {
  for (const Engine engine : {Engine::automatic, Engine::interpreter, Engine::reference}) {
    StatefulKernel kernel(parse(swap), {.engine = engine});
    CHECK(kernel.states() == std::vector<std::string>{"a", "b"});
    kernel.set("a", numbers({1, 2}));
    kernel.set("b", numbers({10, 20}));
    const Array x = numbers({0.5, 0.25});
    CHECK(list(kernel({{"x", x}})["s"]) == D{11, 22});
    CHECK(list(kernel.get("a")) == D{10.5, 20.25});
    CHECK(list(kernel.get("b")) == D{1, 2});
    Array s(f64, {2});
    kernel.run({{"x", x}}, {{"s", s}});
    CHECK(list(s) == D{11.5, 22.25});
    kernel.run({{"x", x}}, {});
    CHECK(list(kernel.get("b")) == D{1.5, 2.25});
  }
}

TEST_CASE("An update is cast to its state, and may be a reduction by a mode") {
  StatefulKernel kernel(parse("kernel k { state n : i32; state w : f32[j=2]; in x : f64[i, j]\n"
                              "update n = n + 2.5\n update w = reduce(sum) x + w }"));
  Array x(f64, {3, 2});
  for (int k = 0; k < 6; ++k) x.data<double>()[k] = k;
  kernel.run({{"x", x}}, {});
  kernel.run({{"x", x}}, {});
  CHECK(kernel.get("n").data<std::int32_t>()[0] == 4);
  CHECK(kernel.get("w").data<float>()[1] == 9 + 3 * 9);
}

TEST_CASE("States of declared extents begin as zeros, others need an array") {
  StatefulKernel fixed(parse("kernel k { state n : i64; state w : f64[i=3]; update n = n + 1 }"));
  fixed.run({}, {});
  CHECK(fixed.get("n").data<std::int64_t>()[0] == 1);
  CHECK(list(fixed.get("w")) == D{0, 0, 0});
  StatefulKernel open{parse(swap)};
  CHECK(code_of([&] { open({{"x", numbers({1})}}); }) == "E0314");
  CHECK(code_of([&] { open.get("a"); }) == "E0314");
  CHECK(code_of([&] { open.save("/nowhere"); }) == "E0314");
}

TEST_CASE("A call that fails leaves every state as it was") {
  StatefulKernel kernel(parse("kernel k { state a : f64[i]; state m : f64; in x : f64[j]\n"
                              "update a = a + 1\n update m = max(x) }"));
  kernel.set("a", numbers({1, 2}));
  kernel.set("m", Array(f64, {}));
  CHECK(code_of([&] { kernel.run({{"x", Array(f64, {0})}}, {}); }) == "E0307");
  CHECK(list(kernel.get("a")) == D{1, 2});
  CHECK(code_of([&] { kernel.run({{"x", Array(f32, {1})}}, {}); }) == "E0203");
  CHECK(list(kernel.get("a")) == D{1, 2});

  // An update of another shape than its state.
  StatefulKernel grows(parse("kernel k { state a : f64[:]; in x : f64[:]; update a = a + x }"));
  grows.set("a", numbers({1}));
  CHECK(code_of([&] { grows.run({{"x", numbers({1, 2})}}, {}); }) == "E0120");
  CHECK(list(grows.get("a")) == D{1});
}

TEST_CASE("A call that is cancelled leaves every state as it was") {
  const auto flag = std::make_shared<std::atomic<bool>>(false);
  Options options{.threads = 2};
  options.cancel = flag;
  StatefulKernel kernel(parse("kernel k { state a : f64[i]; state z : f64[i]; in y : f64[j]\n"
                              "update a = a + 1\n update z = sum(sin(a * y), j) }"),
                        options);
  const Array a(f64, {1 << 16}), y(f64, {1 << 20});
  kernel.set("a", a);
  kernel.set("z", a);
  std::thread impatient([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    *flag = true;
  });
  CHECK(code_of([&] { kernel.run({{"y", y}}, {}); }) == "E0701");
  impatient.join();
  CHECK(list(kernel.get("a")) == list(a));
  *flag = false;
  kernel.set("z", Array(f64, {1 << 16}));
  kernel.run({{"y", Array(f64, {2})}}, {});
  CHECK(kernel.get("a").data<double>()[7] == 1);
}

TEST_CASE("Calls, set and get say what is wrong with a state") {
  StatefulKernel kernel{parse(swap)};
  kernel.set("a", numbers({1, 2}));
  kernel.set("b", numbers({1, 2}));
  const Array x = numbers({1, 2});
  CHECK(code_of([&] { kernel.set("c", x); }) == "E0314");
  CHECK(code_of([&] { kernel.set("a", Array(f32, {2})); }) == "E0203");
  CHECK(code_of([&] { kernel.set("a", Array(f64, {2, 2})); }) == "E0101");
  CHECK(code_of([&] { kernel.run({{"x", x}, {"a", x}}, {}); }) == "E0314");
  CHECK(code_of([&] { kernel.run({{"x", x}}, {{"a", x}}); }) == "E0314");
  CHECK(code_of([&] { StatefulKernel(parse("kernel k { in x : f32[:]; out y = x }")); }) ==
        "E0044");
  CHECK(list(kernel.get("a")) == D{1, 2});
}

TEST_CASE("Updates of what is no state, twice, or of other axes are errors of the kernel") {
  const auto code = [](const std::string &text) {
    return code_of(
        [&] { check(parse("kernel k { state w : f32[c]; in x : f32[n, c]\n" + text + " }")); });
  };
  CHECK(code("update v = w") == "E0041");
  CHECK(code("update x = w") == "E0041");
  CHECK(code("update w = w; update w = w + 1") == "E0042");
  CHECK(code("update w = x") == "E0043");
  CHECK(code("update w = sum(x)") == "E0043");
  CHECK(code("update w = sum(x, n)") == "none");
  CHECK(code("out w = x") == "E0004");
  CHECK(code("let w = x") == "E0004");
}

TEST_CASE("Random updates are what is computed by hand from the states before") {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::string text = "kernel k { in x : f64[i]\n";
    const int count = 2 + int(random() % 4);
    std::vector<std::pair<int, int>> reads;
    for (int k = 0; k < count; ++k) text += "state s" + std::to_string(k) + " : f64[i]\n";
    for (int k = 0; k < count; ++k) {
      reads.push_back({int(random() % unsigned(count)), int(random() % unsigned(count))});
      text += "update s" + std::to_string(k) + " = s" +
              std::to_string(reads[std::size_t(k)].first) + " - 0.5 * s" +
              std::to_string(reads[std::size_t(k)].second) + " + x\n";
    }
    StatefulKernel kernel(parse(text + "}"), {.threads = 1});
    std::vector<D> states;
    for (int k = 0; k < count; ++k) {
      states.push_back({k + 0.5, 2.0 - k, 3.0 * k});
      kernel.set("s" + std::to_string(k), numbers({k + 0.5, 2.0 - k, 3.0 * k}));
    }
    const Array x = numbers({1, -1, 0.125});
    for (int call = 0; call < 4; ++call) {
      kernel.run({{"x", x}}, {});
      std::vector<D> next = states;
      for (int k = 0; k < count; ++k)
        for (std::size_t i = 0; i < 3; ++i)
          next[std::size_t(k)][i] = states[std::size_t(reads[std::size_t(k)].first)][i] -
                                    0.5 * states[std::size_t(reads[std::size_t(k)].second)][i] +
                                    list(x)[i];
      states = next;
    }
    for (int k = 0; k < count; ++k)
      CHECK(list(kernel.get("s" + std::to_string(k))) == states[std::size_t(k)]);
  }
}

TEST_CASE("States are saved as .npz and loaded again") {
  const TempFolder folder;
  const std::string path = folder / "states.npz";
  StatefulKernel kernel{parse(swap)};
  kernel.set("a", numbers({1, 2}));
  kernel.set("b", numbers({3, 4}));
  kernel.save(path);
  StatefulKernel other{parse(swap)};
  other.load(path);
  CHECK(list(other.get("b")) == D{3, 4});
  other.set("b", numbers({5, 5}));
  save_npz(path, {{"a", numbers({7, 7})}});
  CHECK(code_of([&] { other.load(path); }) == "E0314");
  save_npz(path, {{"a", numbers({7, 7})}, {"b", Array(f32, {2})}});
  CHECK(code_of([&] { other.load(path); }) == "E0203");
  save_npz(path, {{"a", numbers({7})}, {"b", numbers({7})}, {"c", numbers({7})}});
  CHECK(code_of([&] { other.load(path); }) == "E0314");
  CHECK(list(other.get("a")) == D{1, 2});
  CHECK(list(other.get("b")) == D{5, 5});
}

TEST_CASE("An .npz file holds arrays of any dtype and order, and is checked as it is read") {
  const TempFolder folder;
  const std::string path = folder / "arrays.npz";
  Array matrix(f32, {2, 3});
  for (int k = 0; k < 6; ++k) matrix.data<float>()[k] = float(k);
  Array flags(DType::Bool, {2});
  const NamedArrays arrays{{"m", matrix},
                           {"t", matrix.transposed()},
                           {"flags", flags},
                           {"empty", Array(i16, {0, 4})},
                           {"one", Array(c128, {})}};
  save_npz(path, arrays);
  const NamedArrays read = load_npz(path);
  REQUIRE(read.size() == arrays.size());
  for (std::size_t k = 0; k < read.size(); ++k) {
    CHECK(read[k].first == arrays[k].first);
    CHECK(read[k].second.dtype() == arrays[k].second.dtype());
    CHECK(std::ranges::equal(read[k].second.shape(), arrays[k].second.shape()));
  }
  CHECK(read[1].second.strides()[0] == 1);
  CHECK(read[1].second.data<float>()[4] == 4);
  CHECK(code_of([&] { load_npz(folder / "none.npz"); }) == "E0301");
  CHECK(code_of([&] { save_npz(path, {{"a", matrix}, {"a", matrix}}); }) == "E0303");
  CHECK(code_of([&] { save_npz(folder / "no/where.npz", arrays); }) == "E0303");

  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  for (const std::size_t at : {std::size_t(200), bytes.size() / 2, bytes.size() - 4}) {
    std::string broken = bytes;
    broken[at] = char(broken[at] ^ 0x55);
    const std::string other = folder / "broken.npz";
    std::ofstream(other, std::ios::binary) << broken;
    CHECK(code_of([&] { load_npz(other); }) != "E0301");
  }
  const std::string cut = folder / "cut.npz";
  std::ofstream(cut, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  CHECK(code_of([&] { load_npz(cut); }) == "E0302");
}

TEST_CASE("A step of training is the loss, its gradients and their updates in one kernel") {
  const LoopSpec net = parse("kernel net {\n"
                             "  in  x : f64[n, p]\n"
                             "  in  y : f64[n]\n"
                             "  state w : f64[p]\n"
                             "  out loss = mean(square(sum(x * w, p) - y))\n"
                             "}\n");
  const LoopSpec spec =
      training_step(net, "loss", [](LoopSpec &step, const Expr &w, const Expr &d) {
        step.update(std::string(name(w)), w - 0.1 * d);
      });
  const std::string text = print(spec);
  CHECK(print(parse(text)) == text);
  CHECK(text.find("update w = w - 0.1 * d_w") != text.npos);
  CHECK(text.find("d_loss") == text.npos);
  StatefulKernel step(spec);
  step.set("w", numbers({0, 0}));
  Array x(f64, {4, 2});
  const double xs[] = {1, 0, 0, 1, 1, 1, 2, -1};
  std::copy(xs, xs + 8, x.data<double>());
  const Array y = numbers({3, -2, 1, 8}); // 3 x0 - 2 x1
  double loss = 0;
  for (int k = 0; k < 200; ++k) loss = step({{"x", x}, {"y", y}})["loss"].data<double>()[0];
  CHECK(loss < 1e-9);
  CHECK(std::abs(step.get("w").data<double>()[0] - 3) < 1e-4);
  CHECK(code_of([&] {
          training_step(parse("kernel k { in x : f64; out l = x }"), "l", nullptr);
        }) == "E0045");
  CHECK(code_of([&] {
          training_step(parse("kernel k { state x : f64[i]; out l = x }"), "l", nullptr);
        }) == "E0045");
}

TEST_CASE("Updates are not differentiated, and a state may be asked for") {
  const LoopSpec spec =
      parse("kernel k { state w : f64[i]; in x : f64[i]; out y = w * x; update w = x }");
  const std::string text = print(gradient(spec, {"w"}));
  CHECK(text == "kernel k_grad {\n  state w : f64[i]\n  in  x : f64[i]\n  in  d_y : f64[i]\n"
                "  out d_w : f64 = d_y * x\n}\n");
}
