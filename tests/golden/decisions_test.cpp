// Golden decisions: what `why` says of the kernels that the benchmarks are about, and of shapes
// that planners stumble over, so that a decision that made one of them fast is not lost in silence.
//
// tests/decisions/NAME.loom holds one kernel with layouts (golden_files.hpp), NAME.golden a line
// for each decision:
//
//   topic: code: subject -> choice [bytes, operations] not alternative | alternative
//
// There is no data, and the machine is a given one, so 16 million elements cost nothing and the
// files hold everywhere. Texts for people are left out. `./dev bless` rewrites the files.
#include "analysis/analyse.hpp"
#include "golden_plan.hpp"
#include "jit/native/target.hpp"
#include "jit/nest/explain_program.hpp"
#include "plan/explain.hpp"
#include "support/reasons.hpp"
#include "tests/file_cases.hpp"
#include "tests/places.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <fmt/format.h>
#include <set>

namespace broadloom {
namespace {

namespace fs = std::filesystem;

using golden::plan_of;

std::vector<Decision> decisions_of(const std::string &text) {
  const spec::TypedSpec typed = analysis::analyse(parse(text).data());
  const plan::Machine machine = golden::machine_of(512);
  const plan::Plan plan = plan_of(typed, text, machine);
  std::vector<Decision> why = plan.why;
  const auto append = [&](const std::vector<Decision> &more) {
    why.insert(why.end(), more.begin(), more.end());
  };
  append(plan::explain_program(typed, plan.program, plan.binding));
  const loop::Numbers numbers = plan.binding.numbers();
  append(
      block::explain(plan.program, jit::blocks_of(plan.program, golden::target_of(512)), &numbers));
  append(jit::explain_threads(plan.program, plan.binding, machine));
  return why;
}

std::string line_of(const Decision &d) {
  std::string text = fmt::format("{}: {}: {} -> {}", d.topic, d.code, d.subject, d.choice);
  if (d.cost.bytes) text += fmt::format(" [{:.4g} bytes", *d.cost.bytes);
  if (d.cost.bytes && d.cost.flops) text += fmt::format(", {:.4g} operations", *d.cost.flops);
  if (d.cost.bytes) text += "]";
  for (std::size_t k = 0; k < d.alternatives.size(); ++k)
    text += (k == 0 ? " not " : " | ") + d.alternatives[k].choice;
  return text + "\n";
}

// The choice that was made for this subject, by the code of its reason; empty where there is none.
std::string choice(const std::vector<Decision> &why, const std::string &code,
                   const std::string &subject) {
  for (const Decision &d : why)
    if (d.code == code && d.subject == subject) return d.choice;
  return {};
}

bool has(const std::vector<Decision> &why, const std::string &code) {
  return std::any_of(why.begin(), why.end(), [&](const Decision &d) { return d.code == code; });
}

std::vector<Decision> case_of(const std::string &name) {
  return decisions_of(
      golden::read(fs::path(BROADLOOM_SOURCE_DIR) / "tests" / "decisions" / (name + ".loom")));
}

void check_decisions(const fs::path &file) {
  std::string printed;
  for (const Decision &d : decisions_of(golden::read(file))) printed += line_of(d);
  golden::check_golden(fs::path(file).replace_extension(".golden"), printed);
}

const bool added =
    tests::add_cases(golden::looms_in("decisions"), "the decisions of ", check_decisions);

} // namespace

TEST_CASE("there are golden decisions") {
  CHECK(added);
  CHECK(golden::looms_in("decisions").size() >= 25);
}

TEST_CASE("only outputs that exceed the last-level cache are stored around it") {
  CHECK(choice(case_of("w01_triad_16m"), "output-exceeds-cache", "z") == "around the caches");
  CHECK(choice(case_of("w01_triad_64k"), "output-fits-cache", "z") == "plain stores");
}

TEST_CASE("a transposed operand is walked in tiles, a strided one is not") {
  CHECK(choice(case_of("w08_transposed"), "operand-across", "c") == "64 by 64 of i and j");
  CHECK(has(case_of("w08_every_second_and_third"), "side-by-side"));
}

TEST_CASE("a fold of everything runs in parallel chunks, and one over rows row by row") {
  CHECK(choice(case_of("w06_sum_of_all"), "no-axis-kept", "i") == "in chunks");
  CHECK(choice(case_of("w06_sum_of_columns"), "rows-as-they-lie", "i") == "row by row");
  CHECK(choice(case_of("w07_weighted_columns"), "one-sweep", "x") == "read once");
}

TEST_CASE("softmax and layernorm read their input once and keep rows") {
  for (const char *name : {"w09_softmax", "w09_layernorm"}) {
    CAPTURE(name);
    const auto why = case_of(name);
    CHECK(choice(why, "one-sweep", "x") == "read once");
    CHECK_FALSE(has(why, "waits-for-results"));
  }
  CHECK(choice(case_of("w09_softmax"), "row-kept", "j") == "kept in a row");
}

TEST_CASE("sixteen elements wake no thread") {
  CHECK(choice(case_of("w11_few_elements"), "too-little-work", "phase 0") == "1 block");
}

TEST_CASE("predicted bytes are those of the operands, predicted operations those of the text") {
  for (const Decision &d : case_of("w01_triad_16m")) {
    if (d.code != "compulsory-traffic" || !d.subject.empty()) continue;
    CHECK(*d.cost.bytes == 4.0 * 4 * 16777216);
    CHECK(*d.cost.flops == 2.0 * 16777216);
  }
}

TEST_CASE("every decision has a code of the table, of its own topic") {
  std::map<std::string, std::string> topics;
  for (const support::ReasonInfo &row : support::all_reasons()) {
    const bool fresh = topics.emplace(row.code, row.topic).second;
    CHECK_MESSAGE(fresh, std::string(row.code) << " is in the table twice");
  }
  for (const fs::path &file : golden::looms_in("decisions")) {
    CAPTURE(file.filename().string());
    for (const Decision &d : decisions_of(golden::read(file))) {
      CAPTURE(d.text);
      REQUIRE(topics.count(d.code) == 1);
      CHECK(topics[d.code] == d.topic);
      CHECK_FALSE(d.text.empty());
    }
  }
}

TEST_CASE(
    "docs/why.md lists the codes of the table with their topics and meanings, and no others") {
  const std::string page = golden::read(fs::path(BROADLOOM_SOURCE_DIR) / "docs" / "why.md");
  std::set<std::string> rows;
  REQUIRE(page.find("## The codes") != page.npos);
  std::istringstream lines(page.substr(page.find("## The codes")));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("| `")) rows.insert(line);
  std::set<std::string> wanted;
  for (const support::ReasonInfo &row : support::all_reasons())
    wanted.insert(fmt::format("| `{}` | {} | {} |", row.code, row.topic, row.meaning));
  for (const std::string &row : wanted) {
    CAPTURE(row);
    CHECK_MESSAGE(rows.count(row) == 1, "docs/why.md lacks this row");
  }
  for (const std::string &row : rows) {
    CAPTURE(row);
    CHECK_MESSAGE(wanted.count(row) == 1, "no reason of the compiler has this row");
  }
}

} // namespace broadloom
