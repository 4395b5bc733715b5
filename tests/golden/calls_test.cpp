// Golden calls: what a call does around its nests, as `show --stage call` prints it.
// tests/calls/NAME.golden is of tests/calls/NAME.loom, kernels with layouts (golden_files.hpp).
// `./dev bless` rewrites the files.
#include "golden_files.hpp"
#include "tests/places.hpp"

#include "tests/file_cases.hpp"
#include "tests/interpreted_call.hpp"

#include "calls/verify.hpp"
#include "jit/call/choose_call.hpp"
#include "ops/ops.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <set>

namespace broadloom {
namespace {

namespace fs = std::filesystem;

struct Shown {
  std::shared_ptr<const detail::KernelImpl> kernel;
  std::string text; // of a call of the layouts in the file
};

Shown show_call(const fs::path &file) {
  const std::string text = golden::read(file);
  setenv("BROADLOOM_LOOP_BYTES", "1500", 1); // so that small loops are computed again
  const bool in_tiles = file.stem().string().starts_with("tiles"); // of small arrays
  if (in_tiles) setenv("BROADLOOM_TILE_ROWS", "3", 1);
  const auto made = detail::make_kernel(parse(text), {.threads = in_tiles ? 2 : 1}, {});
  const Kernel kernel(made);
  unsetenv("BROADLOOM_LOOP_BYTES");
  unsetenv("BROADLOOM_TILE_ROWS");
  const auto layouts = golden::layouts_in(text);
  std::vector<NamedView> inputs;
  const std::vector<InputInfo> infos = kernel.inputs(); // whose names views have
  for (const InputInfo &input : infos)
    if (const auto given = layouts.find(input.name); given != layouts.end())
      inputs.push_back({input.name, AnyView(input.dtype, nullptr, false, given->second)});
  kernel.prepare_named(inputs);
  return {made, kernel.show(Stage::call)};
}

// Whole numbers, which are positions of any array here.
Array small_numbers(DType dtype, const Layout &layout) {
  const Array made = Array::to_be_written(dtype, contiguous_layout(layout.shape()));
  for (std::int64_t n = 0; n < made.size(); ++n)
    ops::store(static_cast<char *>(made.raw()) + n * std::int64_t(size_of(dtype)), dtype,
               ops::convert(ops::scalar_from((n * n + 1) % 5), DType::I64, dtype));
  return made;
}

bool same_elements(const Array &a, const Array &b) {
  return a.shape().size() == b.shape().size() && std::ranges::equal(a.shape(), b.shape()) &&
         std::memcmp(a.raw(), b.raw(), std::size_t(a.size()) * size_of(a.dtype())) == 0;
}

// The text, gone through step by step, gives what the definition gives.
void check_interpreted(const fs::path &file, const Shown &shown) {
  const Kernel kernel(shown.kernel);
  const auto layouts = golden::layouts_in(golden::read(file));
  std::vector<Array> memory;
  std::vector<NamedView> inputs;
  std::map<std::string, AnyView, std::less<>> arrays;
  memory.reserve(100);
  const std::vector<InputInfo> infos = kernel.inputs(); // whose names views have
  for (const InputInfo &input : infos)
    if (const auto given = layouts.find(input.name); given != layouts.end()) {
      const Array &made = memory.emplace_back(small_numbers(input.dtype, given->second));
      inputs.push_back({input.name, made});
      arrays[input.name] = made;
    }
  const Results expected =
      compile(parse(golden::read(file)), {.engine = Engine::reference}).call(inputs);
  const std::vector<std::string> names = jit::arrays_of_outputs(shown.kernel->typed());
  std::size_t next = 0;
  for (const auto &[name, array] : expected)
    arrays[names[next++]] = memory.emplace_back(small_numbers(array.dtype(), array.layout()));
  std::vector<AnyView> operands;
  for (const spec::TypedInput &input : shown.kernel->typed().callers())
    operands.push_back(arrays.at(input.name));
  for (const std::string &name : names) operands.push_back(arrays.at(name));
  const std::map<std::string, Array> made =
      tests::interpreted(*shown.kernel, shown.text, kernel::pointers_to(operands), arrays);
  next = 0;
  for (const auto &[name, array] : expected)
    CHECK_MESSAGE(same_elements(made.at(names[next++]), array), "output " << name);
}

void check_call(const fs::path &file) {
  const Shown shown = show_call(file);
  const std::string &text = shown.text;
  golden::check_golden(fs::path(BROADLOOM_SOURCE_DIR) / "tests" / "calls" /
                           (file.stem().string() + ".golden"),
                       text);
  const calls::Call call = calls::parse(text);
  calls::verify(call);
  std::string bare; // notes are comments
  for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    bare += line.substr(0, line.find("    # ")) + "\n";
  }
  CHECK(calls::print(call) == bare);
  check_interpreted(file, shown);
}

const bool added = tests::add_cases(golden::looms_in("calls"), "the call of ", check_call);

void add_kinds(const std::vector<calls::Step> &steps, std::set<calls::Step::Kind> &kinds) {
  for (const calls::Step &step : steps) {
    kinds.insert(step.kind);
    add_kinds(step.body, kinds);
  }
}

} // namespace

TEST_CASE("there are golden calls, with every kind of step between them") {
  REQUIRE(added);
  std::set<calls::Step::Kind> kinds;
  for (const fs::path &file : golden::looms_in("calls"))
    add_kinds(calls::parse(show_call(file).text).steps, kinds);
  kinds.insert(calls::Step::Kind::Copy); // of an output that lies over an input: calls_test.cpp
  CHECK(kinds.size() == std::size_t(calls::Step::Kind::For) + 1);
}

} // namespace broadloom
