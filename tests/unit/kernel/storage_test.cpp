// The orders in which arrays between kernels lie (kernel/storage.hpp): those that cost least over
// all that write and read them.
#include "all_engines.hpp"
#include "analysis/analyse.hpp"

#include "kernel/storage.hpp"
#include "spec/materialise.hpp"

#include <broadloom/kernel.hpp>

using namespace broadloom;
using namespace broadloom::tests;

namespace {

std::string order_of(const std::string &body, const std::vector<NamedView> &inputs,
                     const std::string &let) {
  const LoopSpec spec = kernel_of(body);
  in_all_engines(spec, inputs);
  const Kernel kernel = compile(spec, with(Engine::jit, 2));
  kernel.call(inputs);
  for (const Decision &decision : kernel.why())
    if (decision.code == "let-order" && decision.subject == let) return decision.choice;
  return "";
}

Array counted(std::vector<std::int64_t> shape) {
  Array array(DType::F64, shape);
  for (std::int64_t k = 0; k < array.size(); ++k) array.data<double>()[k] = double(k % 23) - 7;
  return array;
}

} // namespace

TEST_CASE("a let lies as those that read it go through it, where these read more") {
  const Array x = counted({12, 10}), w = counted({10, 10}), v = counted({10, 10});
  const std::vector<NamedView> inputs{{"x", x}, {"w", w}, {"v", v}};
  const std::string in = "in x : f64[i, j]; in w : f64[r, k]; in v : f64[r, k]; ";
  const std::string read = "out y[r, k] = h[k, r] * v + h[k + 1, r] * h[k + 2, r] + w";
  CHECK(order_of(in + "let h[i, j] = x * 2; " + read, inputs, "h") == "strides 1, 12");
  CHECK(order_of(in + "let h[i, j] = x * 2; out y[r, k] = h[k + 2, r] + w", inputs, "h") == "");
  CHECK(order_of(in + "let h[i, j] in c = x * 2; " + read, inputs, "h") == ""); // as is wished
}

TEST_CASE("a chain of lets turns where turning costs least") {
  // g is written across the rows of x, once, and all behind it goes along them.
  const Array x = counted({9, 8}), w = counted({8, 9}), v = counted({8, 9});
  const std::string chain = "in x : f64[i, j]; in w : f64[r, k]; in v : f64[r, k]; let g[i, j] = x "
                            "+ 1; let h[i, j] = g[i, j] * "
                            "2; let f[r, k] = h[k, r] * w + v; out y[r, k] = f[r, k] + f[r, -k - "
                            "1] + w * v + h[k, r] + g[k, r]";
  const std::vector<NamedView> inputs{{"x", x}, {"w", w}, {"v", v}};
  CHECK(order_of(chain, inputs, "h") == "strides 1, 9");
  CHECK(order_of(chain, inputs, "g") == "strides 1, 9");
  CHECK(order_of(chain, inputs, "f") == "");
}

TEST_CASE("the search is exact on small graphs: it finds what trying all orders finds") {
  const auto typed_of = [](const std::string &body) {
    return analysis::analyse(kernel_of(body).data());
  };
  // a -> b -> c, a and c given; each pair of layouts of b and d is tried below.
  const spec::TypedSpec first = typed_of("in a : f64[i, j]; out b[i, j] = a + 1");
  const spec::TypedSpec second =
      typed_of("in b : f64[i, j]; in c : f64[j, i]; out d[i, j] = b * c");
  const spec::TypedSpec third =
      typed_of("in d : f64[i, j]; in b : f64[i, j]; in c : f64[j, i]; out e[j, i] = d + b + c");
  const auto given = [](std::vector<std::int64_t> shape) {
    return kernel::StoredArray{contiguous_layout(shape)};
  };
  const auto free = [](std::vector<std::int64_t> shape) {
    return kernel::StoredArray{contiguous_layout(shape), true};
  };
  std::vector<kernel::StoredArray> arrays{given({6, 5}), free({6, 5}), given({5, 6}), free({6, 5})};
  const std::vector<kernel::StorageStep> steps{
      {&first, {0}, 1}, {&second, {1, 2}, 3}, {&third, {3, 1, 2}, -1}};
  const kernel::Storage found = kernel::choose_storage(arrays, steps);
  double least = found.bytes_before;
  for (const bool b : {false, true})
    for (const bool d : {false, true}) {
      std::vector<kernel::StoredArray> fixed = arrays;
      for (const std::size_t k : {1, 3}) fixed[k].is_free = false;
      if (b) fixed[1].layout.strides[0] = 1, fixed[1].layout.strides[1] = 6;
      if (d) fixed[3].layout.strides[0] = 1, fixed[3].layout.strides[1] = 6;
      least = std::min(least, kernel::choose_storage(fixed, steps).bytes_before);
    }
  CHECK(found.bytes == least);
  CHECK(found.bytes < found.bytes_before);
}
