// The example of the README: a broadcast, an accumulate and a reduce in one kernel.
#include <broadloom/broadloom.hpp>
#include <iostream>
#include <vector>
namespace bl = broadloom;

int main() {
  auto x = bl::input("x", bl::f32, {"i", "j"});
  auto y = bl::input("y", bl::f32, {"i"});
  auto spec = bl::LoopSpec("demo")
                  .out("z", bl::broadcast, exp(-x * x) * y)    // z[i, j]
                  .out("s", bl::accumulate(bl::sum), x * y)    // s[i] = (sum_j x[i, j]) * y[i]
                  .out("m", bl::reduce(bl::max), {"j"}, x * y) // m[j] = max_i x[i, j] * y[i]
                  .out("n", x / bl::sum(x, "j"));              // each row divided by its sum
  bl::Kernel kernel = bl::compile(spec);

  std::vector<float> xs(6, 0.5f), ys{1, 2};
  bl::Results r = kernel({{"x", bl::View(xs, {2, 3})}, {"y", ys}});
  std::cout << "s = " << r["s"] << ", z[1, 2] = " << r["z"].at(1, 2)
            << "\n";                         // s = [1.5, 3.0], z[1, 2] = 1.5576
  std::cout << kernel.show(bl::Stage::loop); // the loop nest that was built
}
