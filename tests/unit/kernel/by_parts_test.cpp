// Sums that go back through windows, in parts: residue classes of windows that move by more than
// one, and interiors that ask no condition. The interpreter that makes each class as a whole says
// what is right, and the reference what the sums are.
#include "split_calls.hpp"

#include <algorithm>

using namespace broadloom;
using namespace broadloom::tests;

namespace {

struct Found {
  bool classes = false, interior = false;
};

// All engines, in parts or not, have the bits of one; of whole numbers those of the reference.
Found found(const std::string &body, Inputs inputs) {
  const LoopSpec spec = kernel_of(body);
  Found found;
  run(body, views(inputs));
  for (auto &[name, array] : inputs) {
    array = array.copy();
    for (std::int64_t k = 0; k < array.size(); ++k) array.data<double>()[k] *= 0.1;
  }
  std::vector<std::vector<unsigned char>> truth;
  for (const char *bytes_from : {"4000000000000", "0"}) {
    const SplitFrom from(bytes_from);
    for (const Options &options :
         {with(Engine::interpreter), with(Engine::jit), with(Engine::jit, 3)}) {
      const Kernel kernel = compile(spec, options);
      std::vector<std::vector<unsigned char>> made;
      for (const auto &[name, array] : kernel.call(views(inputs))) made.push_back(bytes(array));
      if (truth.empty()) truth = made;
      INFO(body << " from " << bytes_from);
      CHECK(made == truth);
      found.classes = has(kernel, "residue-classes");
      found.interior = has(kernel, "padding-split");
      CHECK((*bytes_from == '0' || found.classes || !found.interior));
    }
  }
  return found;
}

void check_classes(const std::string &body, const Inputs &inputs) {
  const Found parts = found(body, inputs);
  CHECK(parts.classes);
  CHECK(parts.interior);
}

} // namespace

TEST_CASE(
    "what flows back through a window that moves by more than one is summed in residue classes") {
  const std::string head = "in x : f64[:]; in k : f64[u]; in d : f64[i]; out s = ";
  for (const std::string form :
       {"2*i + u", "2*i - u + 8", "3*i + 2*u", "73 - 2*i + u", "5*i + 3*u + 1"}) {
    INFO(form);
    check_classes(head + "sum(d[i] * k[u], like=x[" + form + "])",
                  {{"x", counted({211})}, {"k", counted({8})}, {"d", counted({37})}});
  }
  // Steps of one and the same axis, and sums beside each other.
  check_classes(head +
                    "sum(d[i] * k[u], like=x[2*i + u]) - 2 * sum(d[i] * k[u] + 1, like=x[3*i + u])",
                {{"x", counted({211})}, {"k", counted({8})}, {"d", counted({37})}});
}

TEST_CASE("each dim has classes of its own, and the channels are folded in each") {
  check_classes("in x : f64[n, h, w, c]; in k : f64[u, v, c, o]; in d : f64[n, i, j, o]; "
                "out s = sum(d * k, like=x[n, 2*i + u, 3*j + v, c])",
                {{"x", counted({2, 23, 31, 3})},
                 {"k", counted({3, 4, 3, 5})},
                 {"d", counted({2, 11, 10, 5})}});
  // A class of which nothing comes: there are fewer elements of the kernel than steps.
  const Found few = found("in x : f64[:]; in k : f64[u]; in d : f64[i]; "
                          "out s = sum(d[i] * k[u], like=x[4*i + u])",
                          {{"x", counted({90})}, {"k", counted({2})}, {"d", counted({22})}});
  CHECK(few.classes);
}

TEST_CASE("arrays that repeat elements are read as copies in all parts, as these have strides") {
  const double k[] = {0.3, 0.1, 0.7, 0.2, 0.9, 0.4, 0.6, 0.5, 0.8};
  std::vector<double> d(72);
  for (std::size_t n = 0; n < d.size(); ++n) d[n] = 1 / double(n + 3);
  const Array x(DType::F64, {12, 26});
  const std::vector<NamedView> inputs{
      {"x", x}, {"d", View(d.data(), {6, 12, 3}, {12, 1, 0})}, {"k", View(k, {3, 3})}};
  const LoopSpec spec =
      kernel_of("in x : f64[:, :]; in d : f64[a, b, o]; in k : f64[u, o]; out s = "
                "sum(d * k, like=x[1 + 2*a, 1 + 2*b + u])");
  std::vector<std::vector<unsigned char>> made;
  for (const char *bytes_from : {"4000000000000", "0"}) {
    const SplitFrom from(bytes_from);
    for (const Options &options :
         {with(Engine::interpreter), with(Engine::jit), with(Engine::jit, 3)})
      made.push_back(bytes(compile(spec, options).call(inputs)["s"]));
  }
  for (const auto &one : made) CHECK(one == made[0]);
}

TEST_CASE("there are no classes where an axis has none, and the sums are the same") {
  // Nothing folded has the residues; both axes do; a scan goes along; another sum has all
  // positions.
  for (const std::string body :
       {"in x : f64[:]; in d : f64[i]; out s = sum(d[i], like=x[2*i])",
        "in x : f64[:]; in k : f64[u]; in l : f64[v]; in d : f64[i]; out s = sum(d[i] * k[u] * "
        "l[v], like=x[2*i + u + v])",
        "in x : f64[:]; in k : f64[u]; in d : f64[i]; out s = sum(d[i] * k[u], like=x[2*i + 2*u])",
        "in x : f64[:]; in k : f64[u]; in d : f64[i]; out s = sum(d[i] * scan(sum, k[u], u), "
        "like=x[2*i + u])"}) {
    Inputs inputs;
    inputs.push_back({"x", counted({90})});
    inputs.push_back({"d", counted({20})});
    if (body.find("in k") != std::string::npos) inputs.push_back({"k", counted({4})});
    if (body.find("in l") != std::string::npos) inputs.push_back({"l", counted({3})});
    INFO(body);
    found(body, inputs);
  }
}

TEST_CASE("an interior asks no condition of what flows back through borders") {
  for (const std::string mode : {"", ", 9", ", edge", ", wrap", ", reflect"})
    for (const std::string pads : {"(1, 1)", "(3, 0)", "(0, 2)"}) {
      const std::string p = "pad(x, 0: " + pads + mode + ")";
      const Found parts = found("in x : f64[:]; in d : f64[i]; out s = sum(d[i] * 3, like=" + p +
                                    "[i]) + sum(-d[i], like=" + p + "[i + 2])",
                                {{"x", counted({81})}, {"d", counted({79})}});
      INFO(mode << pads);
      CHECK(parts.interior);
      CHECK_FALSE(parts.classes);
    }
  // Borders wider than the array, and all of it a border.
  found("in x : f64[:]; in d : f64[i]; out s = sum(d[i], like=pad(x, 0: (9, 9), wrap)[i])",
        {{"x", counted({4})}, {"d", counted({22})}});
}

TEST_CASE("each output goes in parts of its own") {
  const Inputs inputs{
      {"x", counted({2, 20, 21, 3})}, {"k", counted({3, 3, 3, 4})}, {"d", counted({2, 9, 10, 4})}};
  const std::string text =
      "in x : f64[n, h, w, c]; in k : f64[u, v, c, o]; in d : f64[n, i, j, o]; "
      "out s = sum(d * k, like=x[n, 2*i + u, 2*j + v, c]); "
      "out t[u, v, c, o] = sum(d * x[n, 2*i + u, 2*j + v, c], like=k); "
      "out all = sum(d)";
  const Found parts = found(text, inputs);
  CHECK(parts.classes);
  // An output alone has the bits that it has beside others.
  const Kernel kernel = compile(kernel_of(text), with(Engine::jit, 2));
  const Results all = kernel.call(views(inputs));
  for (const std::string name : {"s", "t", "all"}) {
    const Array one(DType::F64, shape_of(all[name]));
    kernel.run_named(views(inputs), std::vector<NamedView>{{name, one}});
    CHECK(bytes(one) == bytes(all[name]));
  }
}

TEST_CASE("classes are computed as if inputs had been copied, wherever the output lies") {
  const Array k = counted({4}), d = counted({49}, 0.1), x = counted({100}, 0.1);
  const Kernel kernel = compile(kernel_of("in x : f64[:]; in k : f64[u]; in d : f64[i]; "
                                          "out s = sum(d[i] * k[u], like=x[2*i + u])"),
                                with(Engine::jit, 2));
  const Array wanted = kernel.call(views({{"x", x}, {"k", k}, {"d", d}}))["s"];
  const Array both = counted({100}, 0.1);
  const View<double> start(both.data<double>() + 20, {49});
  for (std::int64_t n = 0; n < 49; ++n) both.data<double>()[20 + n] = d.data<double>()[n];
  kernel.run_named(std::vector<NamedView>{{"x", x}, {"k", k}, {"d", start}},
                   std::vector<NamedView>{{"s", both}});
  CHECK(bytes(both) == bytes(wanted));
}

TEST_CASE("a bound call of classes sees what its inputs hold now") {
  const Kernel kernel = compile(kernel_of("in x : f64[:]; in k : f64[u]; in d : f64[i]; "
                                          "out s = sum(d[i] * k[u], like=x[2*i + u])"),
                                with(Engine::jit));
  const Array k = counted({4}), d = counted({49}), x = counted({100}), s(DType::F64, {100});
  const BoundCall call = kernel.bind_named(std::vector<NamedView>{{"x", x}, {"k", k}, {"d", d}},
                                           std::vector<NamedView>{{"s", s}});
  for (int turn = 0; turn < 2; ++turn) {
    call();
    CHECK(bytes(s) == bytes(kernel.call(views({{"x", x}, {"k", k}, {"d", d}}))["s"]));
    for (std::int64_t n = 0; n < d.size(); ++n) d.data<double>()[n] = double(n % 17);
  }
}

TEST_CASE("mistakes of a call in classes are told of the whole, and nothing is written") {
  const Kernel kernel = compile(kernel_of("in x : f64[:]; in k : f64[u]; in d : f64[i]; "
                                          "out s = sum(d[i] * k[u], like=x[2*i + u])"),
                                with(Engine::jit));
  const Array k = counted({4}), d = counted({49}), x = counted({100});
  Array s(DType::F64, {99});
  const auto code = [&](const AnyView &from) {
    return code_thrown_by([&] {
      kernel.run_named(std::vector<NamedView>{{"x", x}, {"k", k}, {"d", from}},
                       std::vector<NamedView>{{"s", s}});
    });
  };
  CHECK(code(d) == "E0120");
  s = Array(DType::F64, {100});
  AnyView nowhere = d;
  nowhere.data = nullptr;
  CHECK(code(nowhere) == "E0306");
  nowhere.data = reinterpret_cast<char *>(d.data<double>()) + 1;
  CHECK(code(nowhere) == "E0310");
  nowhere.data = reinterpret_cast<char *>(4097); // no memory of ours: it is not looked at
  CHECK(code(nowhere) == "E0310");
  CHECK(
      std::all_of(s.data<double>(), s.data<double>() + s.size(), [](double v) { return v == 0; }));
}

TEST_CASE("of several outputs none is written where the shape of one is wrong") {
  const Kernel kernel = compile(
      kernel_of(
          "in x : f64[n, h]; in k : f64[u]; in d : f64[n, i]; "
          "out t[u] = sum(d * x[n, 2*i + u], like=k); out s = sum(d * k[u], like=x[n, 2*i + u])"),
      with(Engine::jit));
  const Inputs inputs{{"x", counted({3, 100})}, {"k", counted({4})}, {"d", counted({3, 49})}};
  for (const std::vector<std::int64_t> &shape : {std::vector<std::int64_t>{2, 100}, {3, 99}}) {
    const Array t(DType::F64, {4}), s(DType::F64, shape);
    CHECK(code_thrown_by([&] {
            kernel.run_named(views(inputs), std::vector<NamedView>{{"t", t}, {"s", s}});
          }) == "E0120");
    for (const Array &array : {t, s})
      CHECK(std::all_of(array.data<double>(), array.data<double>() + array.size(),
                        [](double v) { return v == 0; }));
  }
}

TEST_CASE("the steps of a loop over time send back in parts what they read of borders") {
  const std::string heat =
      "in u0 : f64[i]; "
      "let u[t < 40, i] = u[t - 1, i] / 2 + (pad(u, 1: (1, 1), edge)[t - 1, i] + "
      "pad(u, 1: (1, 1), edge)[t - 1, i + 2]) / 4 from u0; out y[i] = u[-1, i]";
  const LoopSpec forward = kernel_of(heat);
  const LoopSpec backward = gradient(forward, {"u0"});
  const Array u0 = counted({300}, 0.1), d = counted({300}, 0.1);
  const std::vector<NamedView> in{{"u0", u0}, {"d_y", d}};
  std::vector<unsigned char> whole;
  for (const char *bytes_from : {"4000000000000", "0"}) {
    const SplitFrom from(bytes_from);
    for (const Engine engine : {Engine::interpreter, Engine::jit}) {
      const Results made = compile(backward, with(engine, 2)).call(in);
      if (whole.empty()) whole = bytes(made["d_u0"]);
      CHECK(bytes(made["d_u0"]) == whole);
    }
  }
}

TEST_CASE("no part has one position of an axis that has more, as its folds would be others") {
  // The rest of a border of one row: along j the products would be folded 32 at a time.
  for (const char *text :
       {"in x : f64[i]; in k : f64[u]; out y[j] = sum(pad(x, 0: (1, 1))[j + u] * k[u], u)",
        "in x : f64[i]; in k : f64[u]; out y[j] = sum(pad(x, 0: (1, 0))[j + u] * k[u], u)",
        "in x : f64[i]; in k : f64[u]; out y[j] = sum(pad(x, 0: (0, 1))[j + u] * k[u], u)"}) {
    const Found parts = found(text, {{"x", counted({3000})}, {"k", counted({500})}});
    CHECK(parts.interior);
  }
}

TEST_CASE("sums go back through windows of more dims than axes, in whichever order these stand") {
  const Inputs inputs{{"v", counted({9, 7, 6})}, {"d", counted({4, 3})}};
  for (const std::string form :
       {"u + i, u, i", "u, u + i, i", "u, i, u + i", "i + u, 2*i, u", "u - i + 2, -1 - u, i",
        "u + i, u + i, u + i", "2*u, u + 0, i + 0", "u + 2*i, u + i, u", "u + i, i, 5 - i"}) {
    CAPTURE(form);
    run("in v : f64[:, :, :]; in d : f64[u, i]; out o = sum(d, like=v[" + form + "])",
        views(inputs));
  }
}
