// What `broadloom grad` and `broadloom jvp` print: texts that people read.
//
// tests/golden/derived/NAME.loom holds one kernel, NAME.golden its gradient by all inputs, the
// gradient of that by its inputs that it has of the kernel, and its directional derivative; of one
// with loops over time also the gradient whose sums are carried along them. `./dev bless` rewrites
// them.
#include "golden_files.hpp"
#include "tests/file_cases.hpp"

#include <broadloom/broadloom.hpp>
#include <broadloom/jacobian.hpp>

#include <doctest/doctest.h>

namespace fs = std::filesystem;
namespace bl = broadloom;

namespace {

void check_derived(const fs::path &file) {
  const bl::LoopSpec spec = bl::parse_all(bl::golden::read(file), file.filename().string()).back();
  std::vector<std::string> inputs;
  for (const bl::InputInfo &input : bl::compile(spec, {.engine = bl::Engine::reference}).inputs())
    inputs.push_back(input.name);
  const bl::LoopSpec gradient = bl::gradient(spec, inputs), moved = bl::jvp(spec, inputs);
  std::vector<std::pair<std::string, bl::LoopSpec>> all{
      {"gradient", gradient},
      {"gradient of the gradient", bl::gradient(gradient, inputs)},
      {"directional derivative", moved}};
  const bl::LoopSpec carried = bl::gradient(spec, inputs, {.carry = true});
  if (bl::print(carried) != bl::print(gradient)) all.emplace_back("carried gradient", carried);
  std::string printed;
  for (const auto &[name, derived] : all) {
    const std::string text = bl::print(derived);
    printed += std::string("---- ") + name + "\n" + text;
    CHECK(bl::print(bl::parse(text)) == text);
  }
  bl::golden::check_golden(fs::path(file).replace_extension(".golden"), printed);
}

// tests/golden/batches/NAME.loom holds one kernel, NAME.golden its batch, the Jacobian of its first
// output by its first input, and the Hessian of its last one, where that is a single number.
void check_batches(const fs::path &file) {
  const bl::LoopSpec spec = bl::parse_all(bl::golden::read(file), file.filename().string()).back();
  const bl::Kernel kernel = bl::compile(spec, {.engine = bl::Engine::reference});
  const std::string input = kernel.inputs()[0].name;
  const std::vector<bl::OutputInfo> outputs = kernel.outputs();
  std::vector<std::pair<std::string, bl::LoopSpec>> all{
      {"batch", bl::batch(spec, "b")},
      {"batch of the first input", bl::batch(spec, "b", {input})},
      {"Jacobian", bl::jacobian(spec, outputs[0].name, input)}};
  if (outputs.back().axes.empty())
    all.emplace_back("Hessian", bl::hessian(spec, outputs.back().name, input));
  std::string printed;
  for (const auto &[name, derived] : all) {
    const std::string text = bl::print(derived);
    printed += std::string("---- ") + name + "\n" + text;
    CHECK(bl::print(bl::parse(text)) == text);
  }
  bl::golden::check_golden(fs::path(file).replace_extension(".golden"), printed);
}

const std::vector<fs::path> batches = bl::golden::looms_in("golden/batches");
const bool added_batches = bl::tests::add_cases(batches, "the batches of ", check_batches);

const std::vector<fs::path> files = bl::golden::looms_in("golden/derived");
const bool added = bl::tests::add_cases(files, "the derivatives of ", check_derived);

} // namespace

TEST_CASE("there are golden derivatives") {
  CHECK(added);
  CHECK(files.size() >= 7);
  CHECK(added_batches);
  CHECK(batches.size() >= 4);
}
