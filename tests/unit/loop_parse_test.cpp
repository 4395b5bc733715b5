// The text of loop programs: what is written reads back as the same program, and what is malformed is refused where it is.
#include "loop_programs.hpp"

#include "plan/plan.hpp"
#include "tests/golden/golden_files.hpp"
#include "tools/repl/source.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <limits>

namespace broadloom::loop {
namespace {

using namespace test;

void reads_back(const Program &program) {
  const std::string text = write(program);
  INFO(text);
  Program again;
  try {
    again = parse(text);
  } catch (const SpecError &error) {
    FAIL_CHECK(error.render());
    return;
  }
  CHECK(key(again) == key(program));
  CHECK(print(again) == print(program));
  CHECK(write(again) == text);
}

// `# in x = rand(3,4)`, as in tests/regressions.
std::map<std::string, Layout> layouts_of_sources(const std::string &text,
                                                 const spec::TypedSpec &typed) {
  std::map<std::string, Layout> layouts;
  std::istringstream lines(text);
  for (std::string line, mark, in, name, is; std::getline(lines, line);) {
    std::istringstream words(line);
    if (!(words >> mark >> in >> name >> is) || mark != "#" || in != "in" || is != "=") continue;
    const auto input = std::find_if(typed.inputs.begin(), typed.inputs.end(),
                                    [&](const spec::TypedInput &i) { return i.name == name; });
    REQUIRE(input != typed.inputs.end());
    std::string source;
    std::getline(words >> std::ws, source);
    layouts[name] =
        cli::read_source(cli::parse_source(source, name), {name, input->dtype, {}}).layout();
  }
  return layouts;
}

TEST_CASE("the loop program of every golden file and every regression reads back from its text") {
  int programs = 0;
  for (const std::string folder : {"golden", "regressions"}) {
    for (const std::filesystem::path &path : golden::looms_in(folder)) {
      INFO(path.filename().string());
      const std::string text = golden::read(path);
      const spec::TypedSpec typed = spec::analyse(broadloom::parse(text).data());
      const std::map<std::string, Layout> known =
          folder == "golden" ? golden::layouts_in(text) : layouts_of_sources(text, typed);
      std::vector<Layout> inputs, outputs;
      for (const spec::TypedInput &input : typed.inputs) {
        const auto found = known.find(input.name);
        const std::vector<std::int64_t> shape(input.extents.size(), 40);
        inputs.push_back(found == known.end() ? contiguous_layout(shape) : found->second);
      }
      const std::vector<bool> wanted(typed.outputs.size(), true);
      const plan::Resolved resolved = plan::resolve(typed, inputs, wanted);
      for (const auto &shape : resolved.output_shapes) outputs.push_back(contiguous_layout(shape));
      for (const int threads : {1, 4}) {
        reads_back(plan::make_plan(typed, resolved, inputs, outputs, wanted, {.threads = threads})
                       .program);
        ++programs;
      }
    }
  }
  CHECK(programs > 80);
}

TEST_CASE("programs that were built by hand read back") {
  reads_back(row_sums());
  reads_back(positions());
  for (const bool chunked : {false, true}) reads_back(whole_fold(Fold::Max, DType::I32, 32, 64, chunked));
}

} // namespace
} // namespace broadloom::loop
