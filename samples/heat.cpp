// The heat equation u_t = u_xx + u_yy on the unit square, whose edge is kept at 0, by explicit
// steps of a stencil.
//
// A kernel computes the inside of the next state from the present one. Two bound calls, from one
// buffer into the other and back, are all that the loop does: what they write is a view of the
// inside, so the edge stays. A sine mode decays as exp(-2 pi^2 t); the grid's own mode, by a factor
// of 1 - 8 r sin^2(pi h / 2) a step, r = dt / h^2. Both are compared.
// Usage: heat [POINTS OF A SIDE]
#include <broadloom/broadloom.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <numbers>
#include <string>
#include <vector>

namespace bl = broadloom;

static const char *const text = R"(
kernel heat {
  in  u : f64[:, :]
  in  r : f64                                            # dt / h^2, at most 1/4
  let around = u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2]
  out next = u[i + 1, j + 1] + r * (around - 4 * u[i + 1, j + 1])
}
)";

static void draw(const std::vector<double> &u, std::int64_t n, double greatest) {
  const std::string shades = " .:-=+*#%@";
  for (std::int64_t row = 0; row < 12; ++row) {
    for (std::int64_t column = 0; column < 24; ++column) {
      const double value = u[std::size_t(row * (n - 1) / 11 * n + column * (n - 1) / 23)];
      std::putchar(shades[std::size_t(std::min(9.0, 9.99 * std::max(0.0, value / greatest)))]);
    }
    std::putchar('\n');
  }
}

static int run(std::int64_t n) {
  const double pi = std::numbers::pi, h = 1.0 / double(n - 1), r = 0.2, dt = r * h * h;
  std::vector<double> a(std::size_t(n * n)), b(std::size_t(n * n)); // the edges are 0
  for (std::int64_t i = 1; i < n - 1; ++i)
    for (std::int64_t j = 1; j < n - 1; ++j)
      a[std::size_t(i * n + j)] = std::sin(pi * h * double(i)) * std::sin(pi * h * double(j));

  const auto whole = [&](const std::vector<double> &u) {
    return bl::View<const double>(u.data(), {n, n});
  };
  const auto inside = [&](std::vector<double> &u) {
    return bl::View<double>(u.data() + n + 1, {n - 2, n - 2}, {n, 1});
  };
  const bl::View<const double> rate(&r, {});
  const bl::Kernel kernel = bl::compile(bl::parse(text));
  const bl::BoundCall there = kernel.bind({{"u", whole(a)}, {"r", rate}}, {{"next", inside(b)}});
  const bl::BoundCall back = kernel.bind({{"u", whole(b)}, {"r", rate}}, {{"next", inside(a)}});

  const double factor = 1 - 8 * r * std::pow(std::sin(pi * h / 2), 2);
  const std::size_t middle = std::size_t((n / 2) * n + n / 2);
  const double start = a[middle];
  const auto pairs = std::int64_t(std::ceil(0.1 / dt / 2)); // to about t = 0.1
  std::printf(
      "%lld x %lld points, %lld steps\n\n       t   measured   the grid's   exp(-2 pi^2 t)\n",
      static_cast<long long>(n), static_cast<long long>(n), static_cast<long long>(2 * pairs));
  bool good = true;
  for (std::int64_t pair = 0; pair <= pairs; ++pair) {
    if (pair > 0) {
      there();
      back();
    }
    if (pair % std::max<std::int64_t>(1, pairs / 5) != 0) continue;
    const double t = dt * double(2 * pair), measured = a[middle] / start;
    const double grid = std::pow(factor, double(2 * pair)), exact = std::exp(-2 * pi * pi * t);
    std::printf("%8.5f   %.6f   %.6f     %.6f\n", t, measured, grid, exact);
    good = good && std::fabs(measured - grid) < 1e-10 && std::fabs(measured - exact) < 5 * h * h;
  }
  std::printf("\n");
  draw(a, n, a[middle]);
  std::printf("\n%s\n",
              good ? "The mode decays as it should." : "THE MODE DOES NOT DECAY AS IT SHOULD.");
  return good ? 0 : 1;
}

int main(int argc, char **argv) try {
  const std::string word = argc > 1 ? argv[1] : "65";
  std::int64_t n = 0;
  const char *end = word.data() + word.size();
  if (argc > 2 || std::from_chars(word.data(), end, n).ptr != end || n < 5 || n > 4097) {
    std::cerr << "usage: heat [POINTS OF A SIDE, 5 TO 4097]\n";
    return 2;
  }
  return run(n);
} catch (const bl::Error &error) {
  std::cerr << error.render();
  return 1;
}
