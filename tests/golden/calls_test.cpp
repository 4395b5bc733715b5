// Golden calls: what a call does around its nests, as `show --stage call` prints it.
// tests/calls/NAME.golden is of tests/calls/NAME.loom, kernels with layouts (golden_files.hpp).
// `./dev bless` rewrites the files.
#include "golden_files.hpp"
#include "tests/places.hpp"

#include "tests/file_cases.hpp"

#include "calls/verify.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>

namespace broadloom {
namespace {

namespace fs = std::filesystem;

std::string call_text(const fs::path &file) {
  const std::string text = golden::read(file);
  setenv("BROADLOOM_LOOP_BYTES", "1500", 1); // so that small loops are computed again
  const bool in_tiles = file.stem().string().starts_with("tiles"); // of small arrays
  if (in_tiles) setenv("BROADLOOM_TILE_ROWS", "3", 1);
  const Kernel kernel = compile(parse(text), {.threads = in_tiles ? 2 : 1});
  unsetenv("BROADLOOM_LOOP_BYTES");
  unsetenv("BROADLOOM_TILE_ROWS");
  const auto layouts = golden::layouts_in(text);
  std::vector<NamedView> inputs;
  for (const InputInfo &input : kernel.inputs())
    if (const auto given = layouts.find(input.name); given != layouts.end())
      inputs.push_back({input.name, AnyView(input.dtype, nullptr, false, given->second)});
  kernel.prepare_named(inputs);
  return kernel.show(Stage::call);
}

void check_call(const fs::path &file) {
  const std::string text = call_text(file);
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
    add_kinds(calls::parse(call_text(file)).steps, kinds);
  kinds.insert(calls::Step::Kind::Copy); // of an output that lies over an input: calls_test.cpp
  CHECK(kinds.size() == std::size_t(calls::Step::Kind::For) + 1);
}

} // namespace broadloom
