// Golden files: what the stages print for a spec and given layouts, compared exactly.
//
// tests/golden/NAME.loom holds one kernel, preceded by lines that give layouts for the inputs:
//   #@ x 3 4            C-contiguous
//   #@ y 3 4 : 1 3      with strides
// tests/golden/NAME.golden holds spec, axes, graph, loop and plan as printed. `./dev bless` rewrites
// them; a missing file fails. No machine code is involved, so the files hold on every machine.
#include <broadloom/broadloom.hpp>

#include "spec/spec.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace fs = std::filesystem;
namespace bl = broadloom;

namespace {

const fs::path folder = fs::path(BROADLOOM_SOURCE_DIR) / "tests" / "golden";

std::string read(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, bl::Layout> layouts_in(const std::string &text) {
  std::map<std::string, bl::Layout> layouts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("#@ ", 0) != 0) continue;
    std::istringstream words(line.substr(3));
    std::string name, word;
    words >> name;
    std::vector<std::int64_t> shape, strides;
    bool after = false;
    while (words >> word)
      if (word == ":")
        after = true;
      else
        (after ? strides : shape).push_back(std::stoll(word));
    layouts[name] = after ? bl::strided_layout(shape, strides) : bl::contiguous_layout(shape);
  }
  return layouts;
}

std::string stages(const std::string &text, const std::string &file) {
  const bl::Kernel kernel =
      bl::compile(bl::parse(text, {}, file), {.threads = 2, .engine = bl::Engine::Interpreter});
  const auto layouts = layouts_in(text);
  if (!layouts.empty()) {
    std::vector<bl::AnyView> views;
    const auto typed = bl::spec::analyse(kernel.spec().data());
    for (const auto &input : typed.inputs)
      views.push_back({input.dtype, nullptr, false, layouts.at(input.name)});
    kernel.prepare(std::span<const bl::AnyView>(views));
  }
  std::string out;
  out += "---- spec\n" + kernel.show(bl::Stage::Spec);
  out += "---- axes\n" + kernel.show(bl::Stage::Axes);
  out += "---- graph\n" + kernel.show(bl::Stage::Graph);
  out += "---- loop\n" + kernel.show(bl::Stage::Loop);
  out += "---- plan\n" + kernel.show(bl::Stage::Plan);
  return out;
}

} // namespace

TEST_CASE("every golden file shows the stages as they are printed today") {
  const bool bless = std::getenv("BROADLOOM_BLESS") != nullptr;
  std::vector<fs::path> files;
  for (const auto &entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".loom") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  REQUIRE(files.size() >= 10);
  for (const fs::path &file : files) {
    CAPTURE(file.filename().string());
    const std::string text = read(file);
    const std::string printed = stages(text, file.filename().string());
    const fs::path golden = fs::path(file).replace_extension(".golden");
    if (bless) std::ofstream(golden, std::ios::binary) << printed;
    REQUIRE_MESSAGE(fs::exists(golden), "no golden file; write it with: ./dev bless");
    CHECK_MESSAGE(read(golden) == printed,
                  "differs from " << golden.string() << "; if the new text is right: ./dev bless");
    // The printed spec is a spec: it prints itself.
    const std::string spec = bl::print(bl::parse(text));
    CHECK(bl::print(bl::parse(spec)) == spec);
  }
}
