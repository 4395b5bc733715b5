// The C interface from within: what it gives, and each mistake that a caller can make.
#include <broadloom.h>

#include <broadloom/build.hpp>
#include <broadloom/interop/dlpack.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Compiled {
  bl_kernel *kernel = nullptr;
  explicit Compiled(const char *text, const bl_options *options = nullptr) {
    REQUIRE(bl_compile(text, options, &kernel) == BL_OK);
  }
  ~Compiled() { CHECK(bl_free_kernel(kernel) == BL_OK); }
};

bl_view view(float *data, std::int32_t rank, const std::int64_t *extents,
             const std::int64_t *strides = nullptr) {
  return {BL_F32, rank, data, extents, strides};
}

std::string latest_text() { return bl_latest_error()->text; }
std::string latest_code() { return bl_latest_error()->code; }

constexpr const char *twice =
    "kernel twice { in x : f32[i, j]; out y = x * 2; out s[i] = reduce(sum) x }";

} // namespace

// Other languages declare these structs by hand.
static_assert(sizeof(bl_view) == 32 && offsetof(bl_view, data) == 8 &&
              offsetof(bl_view, extents) == 16);
static_assert(sizeof(bl_options) == 48 && offsetof(bl_options, target) == 16);
static_assert(sizeof(bl_counters) == 40 && offsetof(bl_counters, interpreted) == 32);
static_assert(sizeof(bl_operand) == 40 && offsetof(bl_operand, dtype) == 24);
static_assert(sizeof(bl_shape) == 8 + 8 * BL_MAX_RANK);
static_assert(sizeof(bl_error) == 48 && offsetof(bl_error, line) == 40);

TEST_CASE("a kernel is compiled, asked and run through the C interface") {
  const Compiled twice_kernel(twice);
  bl_kernel *const k = twice_kernel.kernel;
  CHECK(bl_abi_version() == BL_ABI_VERSION);
  CHECK(std::string(bl_version()) == "0.1.0");
  CHECK(std::string(bl_dtype_name(BL_BF16)) == "bf16");
  CHECK(bl_dtype_name(bl_dtype(15)) == nullptr);
  REQUIRE(bl_input_count(k) == 1);
  REQUIRE(bl_output_count(k) == 2);
  bl_operand operand{};
  REQUIRE(bl_input(k, 0, &operand) == BL_OK);
  CHECK(std::string(operand.name) == "x");
  CHECK(operand.rank == 2);
  CHECK(std::string(operand.axes[1]) == "j");
  CHECK(operand.extents[0] == -1);
  CHECK(operand.dtype == BL_F32);
  REQUIRE(bl_output(k, 1, &operand) == BL_OK);
  CHECK(std::string(operand.name) == "s");
  CHECK(operand.rank == 1);
  CHECK(operand.extents == nullptr);

  float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {}, s[2] = {};
  const std::int64_t shape[] = {2, 3}, two[] = {2}, columns[] = {1, 2};
  const bl_view by_columns = view(x, 2, shape, columns); // 1 3 5, 2 4 6
  bl_shape shapes[2];
  REQUIRE(bl_infer(k, &by_columns, 1, shapes) == BL_OK);
  CHECK(shapes[0].rank == 2);
  CHECK(shapes[0].extents[1] == 3);
  CHECK(shapes[1].extents[0] == 2);
  CHECK(bl_prepare(k, &by_columns, 1) == BL_OK);
  const bl_view out[] = {view(y, 2, shape), view(s, 1, two)};
  REQUIRE(bl_run(k, &by_columns, 1, out, 2) == BL_OK);
  CHECK(std::vector<float>(y, y + 6) == std::vector<float>{2, 6, 10, 4, 8, 12});
  CHECK(s[0] == 9);
  CHECK(s[1] == 12);

  y[0] = 77;
  const bl_view only_sums[] = {view(nullptr, 2, nullptr), view(s, 1, two)};
  CHECK(bl_run(k, &by_columns, 1, only_sums, 2) == BL_OK);
  CHECK(y[0] == 77);

  bl_bound *bound = nullptr;
  REQUIRE(bl_bind(k, &by_columns, 1, out, 2, &bound) == BL_OK);
  x[0] = 10;
  REQUIRE(bl_run_bound(bound) == BL_OK);
  CHECK(y[0] == 20);
  CHECK(bl_free_bound(bound) == BL_OK);
}

TEST_CASE("gradients, frozen parameters and each stage come through the C interface") {
  const Compiled kernel("kernel k { in x : f32[i]; param w : f32[i]; out y = x * w }");
  const char *wrt[] = {"x"};
  bl_kernel *gradient = nullptr, *frozen = nullptr;
  REQUIRE(bl_gradient(kernel.kernel, wrt, 1, &gradient) == BL_OK);
  bl_operand operand{};
  REQUIRE(bl_output(gradient, 0, &operand) == BL_OK);
  CHECK(std::string(operand.name) == "d_x");
  float w[2] = {3, 4}, x[2] = {1, 2}, y[2] = {};
  const std::int64_t two[] = {2};
  const bl_view value = view(w, 1, two), in = view(x, 1, two), out = view(y, 1, two);
  const char *names[] = {"w"};
  REQUIRE(bl_freeze(kernel.kernel, names, &value, 1, &frozen) == BL_OK);
  CHECK(bl_input_count(frozen) == 1);
  REQUIRE(bl_run(frozen, &in, 1, &out, 1) == BL_OK);
  CHECK(y[1] == 8);
  for (const char *stage : {"spec", "folded", "axes", "graph", "call", "plan", "loop", "block",
                            "llvm", "asm", "why", "why-json"}) {
    char *text = nullptr;
    INFO(stage);
    REQUIRE(bl_show(kernel.kernel, stage, &text) == BL_OK);
    CHECK(std::strlen(text) > 0);
    if (std::string(stage) == "why-json") CHECK(text[0] == '[');
    bl_free_text(text);
  }
  CHECK(bl_free_kernel(gradient) == BL_OK);
  CHECK(bl_free_kernel(frozen) == BL_OK);
}

TEST_CASE("a kernel that was built is loaded once for all threads, and anew after it was freed") {
  const broadloom::BuiltKernel built =
      broadloom::build(broadloom::parse(twice), {.layouts = "x=(2, 3)"});
  const char *data = built.data.data();
  const std::size_t size = built.data.size();
  bl_kernel *handle = nullptr, *found[8] = {};
  std::vector<std::thread> threads;
  for (bl_kernel *&own : found)
    threads.emplace_back([&] { CHECK(bl_load_once(data, size, &handle, &own) == BL_OK); });
  for (std::thread &thread : threads) thread.join();
  for (bl_kernel *own : found) CHECK(own == handle);
  bl_counters counters{};
  CHECK(bl_count(handle, &counters) == BL_BAD_ARGUMENT);
  counters.size = sizeof counters;
  CHECK(bl_count(handle, &counters) == BL_OK);
  CHECK(counters.compiles == 0);
  CHECK(bl_free_kernel(handle) == BL_OK);
  CHECK(handle == nullptr);
  CHECK(bl_free_kernel(found[0]) == BL_BAD_ARGUMENT);
  bl_kernel *other = nullptr, *again = nullptr;
  CHECK(bl_load_once(data, size, &handle, &again) == BL_OK);
  CHECK(bl_load(data, size, nullptr, &other) == BL_OK);
  CHECK(again == handle);
  CHECK(other != handle);
  CHECK(bl_free_kernel(other) == BL_OK);
  CHECK(bl_free_kernel(again) == BL_OK);

  CHECK(bl_load(nullptr, size, nullptr, &other) == BL_BAD_ARGUMENT);
  CHECK(bl_load_once(data, size, nullptr, &other) == BL_BAD_ARGUMENT);
  CHECK(bl_load_once(data, size, &handle, nullptr) == BL_BAD_ARGUMENT);
  CHECK(bl_load_once(data, size - 1, &handle, &again) == BL_COMPILE_ERROR);
  CHECK(latest_code() == "E0504");
  CHECK(handle == nullptr);
}

TEST_CASE("what was built for another version of the C interface is refused by the first call") {
  std::string data = broadloom::build(broadloom::parse(twice), {.layouts = "x=(2, 3)"}).data;
  const std::size_t at = data.find("C interface 1,");
  REQUIRE(at != std::string::npos);
  data[at + 12] = '2';
  bl_kernel *handle = nullptr, *found = nullptr;
  CHECK(bl_load_once(data.data(), data.size(), &handle, &found) == BL_COMPILE_ERROR);
  CHECK(latest_code() == "E0504");
  CHECK(std::string(bl_latest_error()->message).find("with C interface 2,") != std::string::npos);
  CHECK(latest_text().find("build the kernel again") != std::string::npos);
  CHECK(handle == nullptr);
  CHECK(found == nullptr);
}

TEST_CASE("mistakes come through the C interface as a status and a text, and write nothing") {
  bl_kernel *none = nullptr;
  CHECK(bl_compile("kernel k { in x : f32[i]\n out y = x * w }", nullptr, &none) == BL_SPEC_ERROR);
  CHECK(none == nullptr);
  CHECK(bl_latest_error()->line == 2);
  CHECK(bl_latest_error()->column == 14);
  CHECK(latest_text().find("^") != std::string::npos);
  CHECK(latest_text().starts_with("<text>:2:14: error["));
  CHECK(std::strlen(bl_latest_error()->help) > 0);

  const Compiled kernel(twice);
  bl_kernel *const k = kernel.kernel;
  float x[6] = {}, y[6] = {}, s[2] = {5, 5};
  const std::int64_t shape[] = {2, 3}, two[] = {2}, three[] = {3}, negative[] = {-2, 3};
  const bl_view in = view(x, 2, shape);
  const bl_view wrong[] = {view(y, 2, shape), view(s, 1, three)};
  CHECK(bl_run(k, &in, 1, wrong, 2) == BL_SHAPE_ERROR);
  CHECK(latest_code().starts_with("E01"));
  CHECK(s[0] == 5);
  bl_view ints = in;
  ints.dtype = BL_I32;
  const bl_view out[] = {view(y, 2, shape), view(s, 1, two)};
  CHECK(bl_run(k, &ints, 1, out, 2) == BL_DTYPE_ERROR);
  CHECK(bl_run(k, &in, 1, out, 1) != BL_OK);
  CHECK(bl_run(k, nullptr, 1, out, 2) == BL_BAD_ARGUMENT);
  CHECK(bl_run(nullptr, &in, 1, out, 2) == BL_BAD_ARGUMENT);
  CHECK(latest_text().find("'kernel' is null") != std::string::npos);
  bl_view bad = in;
  bad.rank = 17;
  CHECK(bl_run(k, &bad, 1, out, 2) == BL_BAD_ARGUMENT);
  bad = in;
  bad.rank = -1;
  CHECK(bl_run(k, &bad, 1, out, 2) == BL_BAD_ARGUMENT);
  bad = in;
  bad.dtype = 99;
  CHECK(bl_run(k, &bad, 1, out, 2) == BL_BAD_ARGUMENT);
  bad = in;
  bad.extents = nullptr;
  CHECK(bl_run(k, &bad, 1, out, 2) == BL_BAD_ARGUMENT);
  bad = in;
  bad.extents = negative;
  CHECK(bl_run(k, &bad, 1, out, 2) == BL_SHAPE_ERROR);
  bad = in;
  bad.data = nullptr;
  CHECK(bl_run(k, &bad, 1, out, 2) == BL_DATA_ERROR);
  bl_operand operand{};
  CHECK(bl_input(k, 1, &operand) == BL_BAD_ARGUMENT);
  CHECK(bl_output(nullptr, 0, &operand) == BL_BAD_ARGUMENT);
  CHECK(bl_input_count(nullptr) == 0);
  char *text = nullptr;
  CHECK(bl_show(k, "nothing", &text) == BL_BAD_ARGUMENT);
  CHECK(text == nullptr);
  const char *wrt[] = {"q", nullptr};
  CHECK(bl_gradient(k, wrt, 1, &none) == BL_SPEC_ERROR);
  CHECK(bl_gradient(k, wrt + 1, 1, &none) == BL_BAD_ARGUMENT);
  bl_options options = BL_DEFAULT_OPTIONS;
  options.size = 8;
  CHECK(bl_compile(twice, &options, &none) == BL_BAD_ARGUMENT);
  options = BL_DEFAULT_OPTIONS;
  options.engine = 7;
  CHECK(bl_compile(twice, &options, &none) == BL_BAD_ARGUMENT);
  options = BL_DEFAULT_OPTIONS;
  options.target = "vax";
  CHECK(bl_compile(twice, &options, &none) != BL_OK);
  CHECK(none == nullptr);
}

TEST_CASE("a handle that is freed twice, or is none, is told") {
  bl_kernel *kernel = nullptr;
  REQUIRE(bl_compile(twice, nullptr, &kernel) == BL_OK);
  CHECK(bl_free_kernel(kernel) == BL_OK);
  CHECK(bl_free_kernel(kernel) == BL_BAD_ARGUMENT);
  CHECK(latest_text().find("freed before") != std::string::npos);
  CHECK(bl_free_kernel(nullptr) == BL_OK);
  CHECK(bl_free_bound(nullptr) == BL_OK);
  CHECK(bl_run_bound(nullptr) == BL_BAD_ARGUMENT);
}

TEST_CASE("each thread has the latest error of its own") {
  bl_kernel *none = nullptr;
  CHECK(bl_compile("kernel", nullptr, &none) == BL_SPEC_ERROR);
  const std::string here = latest_text();
  std::thread other([&] {
    CHECK(bl_latest_error()->status == BL_OK);
    CHECK(latest_text().empty());
    CHECK(bl_compile(nullptr, nullptr, &none) == BL_BAD_ARGUMENT);
  });
  other.join();
  CHECK(latest_text() == here);
}

TEST_CASE("a DLPack tensor is seen by the C interface") {
  float data[6] = {1, 2, 3, 4, 5, 6};
  std::int64_t shape[] = {2, 2}, strides[] = {3, 2};
  broadloom::dlpack::Tensor tensor;
  tensor.data = data;
  tensor.ndim = 2;
  tensor.shape = shape;
  tensor.strides = strides;
  const auto *seen = reinterpret_cast<const DLTensor *>(&tensor);
  bl_view view{};
  REQUIRE(bl_view_of_dltensor(seen, &view) == BL_OK);
  CHECK(view.dtype == BL_F32);
  CHECK(view.data == data);
  const Compiled kernel(twice);
  float y[4] = {}, s[2] = {};
  const std::int64_t two[] = {2, 2};
  const bl_view out[] = {{BL_F32, 2, y, two, nullptr}, {BL_F32, 1, s, two, nullptr}};
  REQUIRE(bl_run(kernel.kernel, &view, 1, out, 2) == BL_OK);
  CHECK(y[3] == 12);
  tensor.device.device_type = 2;
  CHECK(bl_view_of_dltensor(seen, &view) == BL_DATA_ERROR);
  tensor.device.device_type = 1;
  tensor.ndim = -1;
  CHECK(bl_view_of_dltensor(seen, &view) == BL_BAD_ARGUMENT);
  CHECK(bl_view_of_dltensor(nullptr, &view) == BL_BAD_ARGUMENT);
}

TEST_CASE("many threads run one kernel through the C interface") {
  const Compiled kernel(twice);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&kernel, t] {
      float x[4] = {float(t), 1, 2, 3}, y[4] = {}, s[2] = {};
      const std::int64_t shape[] = {2, 2};
      const bl_view in = view(x, 2, shape);
      const bl_view out[] = {view(y, 2, shape), view(s, 1, shape)};
      for (int n = 0; n < 50; ++n) {
        CHECK(bl_run(kernel.kernel, &in, 1, out, 2) == BL_OK);
        CHECK(s[0] == float(t) + 1);
      }
    });
  for (std::thread &thread : threads) thread.join();
}
