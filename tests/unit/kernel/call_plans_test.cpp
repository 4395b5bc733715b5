// Plans of calls that are kept and run again: what may differ from call to call with the same
// layouts.
#include "all_engines.hpp"

#include <cstdint>
#include <string>
#include <vector>

using namespace broadloom;
using tests::code_thrown_by;
using tests::first_numbers;

namespace {

using D = std::vector<double>;
using Views = std::vector<AnyView>;

LoopSpec spec_of(const std::string &body) { return parse("kernel k { " + body + " }"); }
AnyView view_of(D &numbers) { return View(numbers.data(), {std::int64_t(numbers.size())}); }

} // namespace

TEST_SUITE_BEGIN("call plans");

TEST_CASE("an output that may not be written is refused by a call of known layouts") {
  for (const std::string body :
       {"in x : f64[t]\nlet s[t] = x + 0.9 * s[t - 1]\nout y[t] = s",
        "in x : f64[:]\nlet h[n] = x[n] * 2\nout y[i] = h[i]",
        "in x : f64[:]\nout y[i] = pad(x, 0: (1, 0))[i + 1]\nout z[i] = x[i] * 2"}) {
    INFO(body);
    const Kernel kernel = compile(spec_of(body));
    D x = first_numbers(5), y(5), z(5);
    Views out{view_of(y)};
    if (kernel.outputs().size() == 2) out.push_back(view_of(z));
    kernel.run(Views{view_of(x)}, out);
    const D first = y;
    y.assign(5, -1);
    out[0].writable = false;
    CHECK(code_thrown_by([&] { kernel.run(Views{view_of(x)}, out); }) == "E0309");
    CHECK(code_thrown_by([&] { kernel.bind(Views{view_of(x)}, out)(); }) == "E0309");
    CHECK(y == D(5, -1));
    out[0].writable = true;
    kernel.run(Views{view_of(x)}, out);
    CHECK(y == first);
  }
}

TEST_CASE("a call is bound to positions that are elements at positions of others") {
  D x{10, 11, 12, 13, 14}, y(3), h(5);
  std::vector<std::int64_t> k{1, 2, 3, 4, 5}, m{4, 3, 2}, l{4, 3, 2, 1, 0};
  const auto ints = [](std::vector<std::int64_t> &of) -> AnyView {
    return View(of.data(), {std::int64_t(of.size())});
  };
  const Kernel gather =
      compile(spec_of("in x : f64[:]; in k : i64[:]; in m : i64[:]; out y = x[k[m[i]] - 1]"));
  const BoundCall bound = gather.bind(Views{view_of(x), ints(k), ints(m)}, Views{view_of(y)});
  bound();
  CHECK(y == D{14, 13, 12});
  k = {5, 4, 3, 2, 1};
  bound();
  CHECK(y == D{10, 11, 12});
  k = {1, 2, 3, 4, 5};
  const Kernel scatter = compile(
      spec_of("in x : f64[i]; in k : i64[:]; in l : i64[i]; out h = sum(x, like=x[k[l[i]] - 1])"));
  scatter.bind(Views{view_of(x), ints(k), ints(l)}, Views{view_of(h)})();
  CHECK(h == D{14, 13, 12, 11, 10});
}

TEST_CASE("an array that is gathered through a padding is looked at before it is copied") {
  const Kernel kernel =
      compile(spec_of("in x : f64[:]; in k : i64[:]; out y = pad(x, 0: (1, 1), edge)[k[i]] + 1"));
  D y(3);
  const std::vector<std::int64_t> k{1, 2, 3};
  const std::int64_t five[] = {5};
  const Views in{AnyView(f64, nullptr, false, contiguous_layout(five)),
                 View<const std::int64_t>(k.data(), {3})};
  CHECK(code_thrown_by([&] { kernel.run(in, Views{view_of(y)}); }) == "E0306");
  CHECK(code_thrown_by([&] { kernel.bind(in, Views{view_of(y)}); }) == "E0306");
}

TEST_CASE("an array without elements needs no memory to have borders of numbers") {
  const std::int64_t none[] = {0};
  const std::vector<NamedView> in{{"x", AnyView(f64, nullptr, false, contiguous_layout(none))}};
  const std::string body = "in x : f64[i]; let h = pad(x, 0: (1, 1), 5)[j] * 2\n"
                           "out y = pad(h, 0: (2, 2), edge)[l] + 1; out z = sum(h[q + 0], q)";
  const Results r = tests::in_all_engines(spec_of(body), in);
  CHECK(tests::values(r["y"]) == D(6, 11));
  CHECK(tests::values(r["z"]) == D{20});
}

TEST_CASE("more sets of layouts than plans are kept come in turn, and in place or not") {
  const Kernel kernel =
      compile(spec_of("in x : f64[:]; out y[i] = pad(x, 0: (1, 1), wrap)[i + 0] + x[i + 0]"));
  for (int round = 0; round < 3; ++round)
    for (std::int64_t n = 2; n < 14; ++n) {
      D x = first_numbers(n), y(std::size_t(n), -1), wanted;
      for (std::size_t i = 0; i < x.size(); ++i)
        wanted.push_back(x[(i + x.size() - 1) % x.size()] + x[i]);
      kernel.run(Views{view_of(x)}, Views{view_of(y)});
      CHECK(y == wanted);
      kernel.run(Views{view_of(x)}, Views{view_of(x)});
      CHECK(x == wanted);
    }
}

TEST_SUITE_END();
