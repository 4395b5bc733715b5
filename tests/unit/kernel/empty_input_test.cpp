// Inputs and outputs of no elements, whatever their strides: nothing is read or stored, so the
// pointer may be null.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

namespace broadloom {
namespace {

struct Form {
  const char *text; // with inputs x : f64[i, j] and y : f64[i]
  std::vector<std::int64_t> x, y;
};
const Form forms[] = {
    {"sum(x, j)", {3, 0}, {3}},
    {"sum(x, j)", {300, 0}, {300}},
    {"sum(x, i)", {0, 5}, {0}},
    {"sum(x, i)", {0, 500}, {0}},
    {"sum(x, j)", {3000, 0}, {3000}},
    {"x + sum(x, i)", {0, 100000}, {0}},
    {"sum(x)", {3, 0}, {3}},
    {"sum(x)", {0, 3}, {0}},
    {"x + y", {0, 3}, {0}},
    {"x + y", {3, 0}, {3}},
    {"max(x, j, init=2)", {3, 0}, {3}},
    {"y + max(x, j, init=y)", {70, 0}, {70}},
    {"max(x, j)", {0, 4}, {0}},
    {"mean(x, j)", {3, 0}, {3}},
    {"var(x, j)", {3, 0}, {3}},
    {"logsumexp(x, j)", {40, 0}, {40}},
    {"argmax(x, j, init=(1, 2))", {3, 0}, {3}},
    {"any(x > 0, j)", {3, 0}, {3}},
    {"norm(x, i)", {0, 40}, {0}},
    {"prod(x, j) * y", {40, 0}, {40}},
    {"x / sum(x, j)", {40, 0}, {40}},
    {"x - mean(x, i)", {0, 40}, {0}},
    {"scan(sum, x, j)", {3, 0}, {3}},
    {"scan(sum, x, i)", {0, 3}, {0}},
    {"sum(scan(max, x, j), i)", {4, 0}, {4}},
    {"sum(scan(sum, x, i), j)", {4, 0}, {4}},
    {"sum(y, i) + sum(x)", {5, 0}, {5}},
    {"sum(x * y, j)", {5, 0}, {5}},
    {"sum(sum(x, j) * y)", {5, 0}, {5}},
    {"damped(x, j)", {5, 0}, {5}},
    {"damped(x, i, init=2)", {0, 5}, {0}},
    {"reduce(sum) x * y", {5, 0}, {5}},
    {"accumulate(sum) x * y", {5, 0}, {5}},
    {"broadcast sum(x, j)", {0, 5}, {0}},
    {"sum(f32(x), j) + sum(x > 0, j)", {5, 0}, {5}},
};

std::vector<double> values(const Array &array) {
  const Array dense = array.copy();
  std::vector<double> all;
  for (std::int64_t k = 0; k < dense.size(); ++k)
    all.push_back(dense.dtype() == f64   ? dense.data<double>()[k]
                  : dense.dtype() == i64 ? double(dense.data<std::int64_t>()[k])
                                         : double(dense.data<bool>()[k]));
  return all;
}

bool is_empty(const std::vector<std::int64_t> &shape) {
  for (const std::int64_t extent : shape)
    if (extent == 0) return true;
  return false;
}

TEST_CASE("nothing is read of an input without elements, whatever its strides") {
  const std::vector<double> data(3000, 1.5);
  for (const Form &form : forms) {
    const LoopSpec spec = parse("accumulator damped(a; m) { init a = 0; step a = 0.5 * a + m }\n"
                                "kernel k { in x : f64[i, j]; in y : f64[i]; out z = " +
                                    std::string(form.text) + "; out u = y; out v = x }",
                                "k");
    for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference})
      for (const std::int64_t row : {0, 1, -7, 1000})
        for (const std::int64_t column : {0, 1, -3}) {
          INFO(form.text << " of " << form.x[0] << " by " << form.x[1] << " with strides " << row
                         << " and " << column);
          const double *at = is_empty(form.y) ? nullptr : data.data();
          const View<const double> x(nullptr, {form.x[0], form.x[1]}, {row, column}),
              y(at, {form.y[0]});
          const Results r = compile(spec, {.engine = engine})({{"x", x}, {"y", y}});
          const Results wanted = compile(spec, {.engine = Engine::reference})(
              {{"x", Array(f64, {form.x[0], form.x[1]})}, {"y", y}});
          const auto a = values(r["z"]), b = values(wanted["z"]);
          REQUIRE(a.size() == b.size());
          for (std::size_t k = 0; k < a.size(); ++k)
            CHECK((a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]))));
        }
  }
}

TEST_CASE("nothing is stored to an output without elements, whatever its strides") {
  const std::vector<double> data(3000, 1.5);
  for (const char *z : {"y + sum(x, j)", "y + sum(x)", "y + keep(sum(x, j))"})
    for (const std::int64_t rows : {3, 33, 3000})
      for (const std::int64_t row : {0, 1, -7})
        for (const std::int64_t column : {0, 1, -3}) {
          INFO(z << " of " << rows << " rows, strides " << row << " and " << column);
          const Kernel kernel = compile(parse("kernel k { in x : f64[i, j]; in y : f64[i]; out v = "
                                              "x - y * sum(x); out z = " +
                                              std::string(z) + " }"));
          double none = 0;
          const View<double> v(&none, {rows, 0}, {row, column});
          const View<const double> x(nullptr, {rows, 0}), y(data.data(), {rows});
          Array made(f64, {rows});
          kernel.run({x, y}, {v, View<double>(made.data<double>(), {rows})});
          CHECK(none == 0);
          CHECK(values(made) == std::vector<double>(std::size_t(rows), 1.5));
        }
}

} // namespace
} // namespace broadloom
