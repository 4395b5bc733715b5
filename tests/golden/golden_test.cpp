// Golden files: what the stages print for a spec and given layouts, compared exactly.
//
// tests/golden/NAME.loom holds one kernel, maybe after others that it calls, preceded by lines that
// give layouts for the inputs:
//   #@ x 3 4            C-contiguous
//   #@ y 3 4 : 1 3      with strides
//   #@ generic          of a kernel that keeps no pattern of its own
// tests/golden/NAME.golden holds spec, axes, graph, loop and plan as printed. `./dev bless`
// rewrites them; a missing file fails. No machine code is involved, so the files hold on every
// machine.
#include "analysis/analyse.hpp"
#include "golden_files.hpp"
#include "tests/file_cases.hpp"

#include <broadloom/broadloom.hpp>

#include "spec/spec.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

namespace fs = std::filesystem;
namespace bl = broadloom;

namespace {

// Of all golden tests: the caches of one machine, whichever runs them.
const int same_caches = setenv("BROADLOOM_CACHES", "1M,32M", 1);

std::string stages(const std::string &text, const std::string &file) {
  const bool generic = text.find("#@ generic\n") != text.npos;
  if (generic) setenv("BROADLOOM_PATTERNS", "0", 1);
  const bl::Kernel kernel = bl::compile(bl::parse_all(text, file).back(),
                                        {.threads = 2, .engine = bl::Engine::interpreter});
  if (generic) unsetenv("BROADLOOM_PATTERNS");
  const auto layouts = bl::golden::layouts_in(text);
  if (!layouts.empty()) {
    std::vector<bl::AnyView> views;
    const auto typed = bl::analysis::analyse(kernel.spec().data());
    for (const auto &input : typed.callers())
      views.push_back({input.dtype, nullptr, false, layouts.at(input.name)});
    kernel.prepare(std::span<const bl::AnyView>(views));
  }
  std::string out;
  out += "---- spec\n" + kernel.show(bl::Stage::spec);
  out += "---- axes\n" + kernel.show(bl::Stage::axes);
  out += "---- graph\n" + kernel.show(bl::Stage::graph);
  out += "---- loop\n" + kernel.show(bl::Stage::loop);
  out += "---- plan\n" + kernel.show(bl::Stage::plan);
  return out;
}

void check_stages(const fs::path &file) {
  const std::string text = bl::golden::read(file);
  const std::string printed = stages(text, file.filename().string());
  bl::golden::check_golden(fs::path(file).replace_extension(".golden"), printed);
  // The printed spec is a spec: it prints itself.
  const std::string spec = bl::print(bl::parse_all(text).back());
  CHECK(bl::print(bl::parse(spec)) == spec);
}

const std::vector<fs::path> files = bl::golden::looms_in("golden");
const bool added = bl::tests::add_cases(files, "the stages of ", check_stages);

} // namespace

TEST_CASE("there are golden stages") {
  CHECK(added);
  CHECK(files.size() >= 10);
}
