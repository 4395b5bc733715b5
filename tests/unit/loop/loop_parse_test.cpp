// The text of loop programs: what is written reads back as the same program, and what is malformed
// is refused where it is.
#include "analysis/analyse.hpp"
#include "tests/places.hpp"
#include "tests/unit/loop_programs.hpp"

#include "kernel/windows.hpp"
#include "plan/plan.hpp"
#include "reference/reference.hpp"
#include "reference/windows.hpp"
#include "tests/golden/golden_files.hpp"
#include "tools/broadloom/data/source.hpp"

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
      const spec::TypedSpec typed = analysis::analyse(broadloom::parse_all(text).back().data());
      const std::map<std::string, Layout> known =
          folder == "golden" ? golden::layouts_in(text) : layouts_of_sources(text, typed);
      std::vector<Layout> inputs, outputs;
      for (const spec::TypedInput &input : typed.given()) {
        const auto found = known.find(input.name);
        if (!input.said.empty()) { // by the call
          std::vector<AnyView> views;
          for (const Layout &layout : inputs)
            views.push_back({input.dtype, nullptr, false, layout});
          const std::vector<AnyView> all = reference::with_said(typed, views);
          for (std::size_t k = inputs.size(); k < all.size(); ++k) inputs.push_back(all[k].layout);
          break;
        }
        const std::vector<std::int64_t> shape(input.extents.size(), 40);
        inputs.push_back(found == known.end() ? contiguous_layout(shape) : found->second);
      }
      kernel::add_windows(typed, inputs);
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
  for (const bool chunked : {false, true})
    reads_back(whole_fold(Fold::Max, DType::I32, 32, 64, chunked));
}

TEST_CASE("names that are no words, and those that several have, read back") {
  Program p = row_sums();
  p.name = "a \"name\"\\ with\nmore";
  p.axes[0].name = "2nd";
  p.axes[1].name = "";
  p.buffers[0].name = p.buffers[1].name = "x";
  p.buffers[2].name = "\xc3\xa9#";
  p.recipes[0].name = "my sum";
  p.phases[0].cost = 0.1;
  p.accuracy = Accuracy::fast;
  reads_back(p);
  const Program again = parse(write(p));
  CHECK(again.name == p.name);
  CHECK(again.axes[0].name == "2nd");
  CHECK(again.buffers[1].name == "x");
  CHECK(again.recipes[0].name == "my sum");
}

TEST_CASE("operands and axes may have the names of anything that loop programs have") {
  for (const std::string name : {"inf", "bits", "complex", "running", "a0", "v0", "exp", "f32",
                                 "extent", "set", "for", "count", "unit", "x.y"}) {
    Program p = row_sums(), q = positions();
    for (Buffer &buffer : p.buffers) buffer.name = name;
    reads_back(p);
    p.buffers[0].name = p.axes[0].name = q.axes[0].name = name;
    p.buffers[1].name = "y";
    reads_back(p);
    reads_back(q);
  }
}

TEST_CASE("literals read back to the bit") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (int k = 0; k < dtype_count; ++k) {
    const auto dtype = DType(k);
    for (const double x : {0., -0., 0.1, -3.25, 1e30, 5e-324, 65504., inf, -inf, std::nan("")}) {
      for (const std::uint64_t flip : {std::uint64_t(0), ~std::uint64_t(0)}) {
        Builder b;
        const BufferId z = b.buffer("z", Role::Output, 0, dtype, {});
        const ValueId v = b.literal(x, dtype);
        ops::Scalar &literal = b.p.values[0].literal;
        char memory[16] = {};
        ops::store(memory, dtype, {literal.bits ^ flip, flip & 1});
        if (dtype == DType::Bool) memory[0] &= 1;
        literal = ops::load(memory, dtype); // NaNs of any kind, and numbers of any size
        b.p.phases.push_back({{let(v), set(z, v)}, {}, 1});
        reads_back(b.p);
        b.p.phases[0].body.erase(b.p.phases[0].body.begin()); // a literal needs no `let`
        reads_back(b.p);
      }
    }
  }
}

TEST_CASE("a person's text may write expressions inline and leave out all places") {
  const Program p = parse(R"(program rows
  axes i, j
  in x : f32[i other, j unit]
  in y : f32[i unit]
  out z : f32[i unit]

phase 0, cost 2:
  parallel for i
    init a0 : sum f64
    vector for j, 32 ways, leaves of 4096   # positions
      step a0 with f64(x[i, j])
    set z[i] = f32(a0) * y[i]
)");
  CHECK(print(p) == print(row_sums()));
  // Numbers take the type of what they meet.
  const Program q =
      parse("program q\n  axes i\n  in x : f32[i unit]\n  out z : bool[i unit]\nphase 0:\n"
            "  for i\n    set z[i] = -2 < (x[i] + -0.5) * (-x[i]) ^ 2 && !(i == 3)\n");
  CHECK(print(q).find("(x[i] + -0.5) * (-x[i]) ^ 2") != std::string::npos);
  reads_back(q);
}

TEST_CASE("the example of docs/contributing.md is a loop program") {
  const std::string page =
      golden::read(std::filesystem::path(BROADLOOM_SOURCE_DIR) / "docs" / "contributing.md");
  const std::size_t from = page.find("```text\n# Rows are folded") + 8;
  CHECK(print(parse(page.substr(from, page.find("```", from) - from))) == print(row_sums()));
}

// What parse says of a text: the code, the place and the message.
std::string complaint(const std::string &text) {
  try {
    parse(text, "t");
  } catch (const InternalError &error) {
    return std::string("a bug: ") + error.what();
  } catch (const Error &error) {
    CHECK_FALSE(error.help().empty());
    return error.code() + " " + std::to_string(error.where().line) + ":" +
           std::to_string(error.where().column) + " " + error.message();
  }
  return "none";
}

// One that stores `expression` in a nest that is right.
std::string storing(const std::string &expression) {
  return complaint("program p\n  axes i\n  in x : f32[i unit]\n  in n : i8\n  out z : f32[i unit]\n"
                   "phase 0:\n  for i\n    set z[i] = " +
                   expression + "\n");
}

TEST_CASE("a malformed loop program is E0801 where it is wrong") {
  CHECK(complaint("") == "E0801 1:1 a text without a program");
  CHECK(complaint("kernel k") == "E0801 1:1 expected 'program NAME', found 'kernel'");
  CHECK(complaint("program p\n   axes i") ==
        "E0801 2:1 a line is indented by an odd number of spaces");
  CHECK(complaint("program p\n    axes i") == "E0801 2:5 this line is indented too far");
  CHECK(complaint("program p\n  axes i, i") == "E0801 2:11 there are two axes 'i'");
  CHECK(complaint("program p\n  in x : f31") == "E0801 2:10 expected a dtype, found 'f31'");
  CHECK(complaint("program p\n  in x : f32[k unit]") == "E0801 2:14 there is no axis 'k'");
  CHECK(complaint("program p\n  in x : f32, operand 99999999999999999999") ==
        "E0801 2:23 '99999999999999999999' is too large here");
  CHECK(complaint("program p\nphase 1:") ==
        "E0801 2:7 phases are numbered 0, 1, .. in their order");
  CHECK(complaint("program \"p") == "E0801 1:9 a name in quotes that does not end");
  CHECK(complaint("program p $") == "E0801 1:11 unexpected character '$'");
  CHECK(storing("x[i]") == "none");
  CHECK(storing("x") == "E0801 8:16 there is no value 'x' here");
  CHECK(storing("x[]") == "E0801 8:16 'x' walks other axes than that");
  CHECK(storing("x[i] + n[]") == "E0801 8:21 '+' computes in f32 here and has an argument of i8");
  CHECK(storing("1 + 1") == "E0801 8:18 an operation on numbers only, which have no type");
  CHECK(storing("x[i] * 1e39") == "E0801 8:23 '1e39' is no f32");
  CHECK(storing("f32(n[] + 128)") == "E0801 8:26 '128' is no i8");
  CHECK(storing("expp(x[i])") == "E0801 8:16 there is no value 'expp' here");
  CHECK(storing("exp(x[i]") == "E0801 8:24 expected ')', found the end of the line");
  CHECK(storing("exp(x[i], x[i])") == "E0801 8:16 'exp' has 2 arguments here");
  CHECK(storing("square(x[i])") == "E0801 8:16 'square' is no operation of loop programs");
  CHECK(storing("-2 ^ x[i]") == "E0801 8:19 a power of a negative number without parentheses");
  CHECK(storing("x[i] < x[i] < x[i]") == "E0801 8:28 comparisons do not chain");
  CHECK(storing("a0") == "E0801 8:16 there is no value 'a0' here");
  CHECK(complaint("program p\n  in x : c64\n  out z : f32\nphase 0:\n  set z[] = f32(x[])") ==
        "E0801 5:13 a complex number is cast to a real one");
  CHECK(storing("x[i]\n    t0 : f64 = x[i]") == "E0801 9:5 a value of f32 and not f64");
  CHECK(storing("x[i]\n    init a0 : sum f64") == "E0801 9:5 an accumulator without a loop");
  CHECK(storing("x[i]\n    init a0 : mean f64") ==
        "E0801 9:15 'mean' is no accumulator of one operation");
  CHECK(storing("x[i]\n    v3 : f32 = x[i]") ==
        "E0801 1:1 the values of this program are not numbered from 0 to 1");
}

TEST_CASE("a nest that breaks a rule is E0802 at its statement") {
  CHECK(storing("x[i]\n    set z[i] = 1") == "E0802 9:5 the output z is stored by two statements");
  CHECK(storing("f64(x[i])") == "E0802 8:5 a store of another type than z has");
  CHECK(storing("x[i]\n    for i") ==
        "E0802 9:5 the loop over i stands within a loop over the same axis");
  CHECK(storing("x[i]\n  for i, 3 turns\n    t0 : f32 = x[i]") ==
        "E0802 9:3 the loop over i has known turns outside of a vector loop");
  CHECK(complaint(
            "program p\n  axes i\n  out z : i64\nphase 0:\n  parallel for i\n    set z[] = i\n") ==
        "E0802 6:5 several turns of the parallel loop over i store to one element of z");
  CHECK(
      storing("x[i]\n  init a0 : sum f32\n  vector scan for i, 16 ways\n    t0 : f32 = running a0\n"
              "    step a0 with x[i]") ==
      "E0802 11:5 value 1 reads a running state in lanes before the arguments of its step are "
      "computed");
}

TEST_CASE("a row of each lane is short, and stored by the lanes before they load it") {
  const auto in_lanes = [](const std::string &walks, const std::string &before,
                           const std::string &body) {
    return complaint("program p\n  axes i, j\n  out z : f32[i unit, j other]\n  row r0 : f32" +
                     walks + "\nphase 0:\n" + before + "  vector for i\n" + body);
  };
  const std::string set = "    for j, 5 turns\n      set r0[j] = 1.0\n";
  const std::string get = "    for j, 5 turns\n      set z[i, j] = r0[j]\n";
  const std::string before = "  for j\n    set r0[j] = 1.0\n";
  CHECK(in_lanes("[j unit]", "", set + get) == "none");
  CHECK(in_lanes("[j unit]", before, get) == "none");
  CHECK(in_lanes("[j unit]", "", "    for j, 33 turns\n      set r0[j] = 1.0\n") ==
        "E0802 8:7 a row of more than 32 known turns is stored");
  CHECK(in_lanes("[j unit]", "", set + "    for j, 40 turns\n      set z[i, j] = r0[j]\n") ==
        "E0802 7:5 the loop over j has other known turns than another one over its axis");
  CHECK(in_lanes("[j unit]", before, get + set) ==
        "E0802 10:7 buffer r0 is read before anything is stored there");
  CHECK(in_lanes("", "", "    for j, 5 turns\n      set r0[] = 1.0\n") ==
        "E0802 8:7 the lanes of the loop over i store to one element of r0");
  CHECK(in_lanes(
            "[j unit]", "",
            "    init a0 : sum f32\n    for j, 5 turns, leaves of 2\n      step a0 with 1.0\n") ==
        "E0802 8:5 the loop over j has known turns, and more than one leaf");
}

TEST_CASE("the caret stands under what is wrong in a loop program") {
  try {
    parse("program p\n  in x : f31\n", "p.loop");
    FAIL("no error");
  } catch (const SpecError &error) {
    CHECK(error.render() == "p.loop:2:10: error[E0801]: expected a dtype, found 'f31'\n"
                            "  in x : f31\n         ^~~\n"
                            "help: src/loop/loop.hpp has the grammar of loop programs");
  }
}

TEST_CASE("texts of any depth and broken bytes are errors and no crash") {
  CHECK(storing(std::string(100'000, '(')).substr(0, 11) == "E0801 8:216");
  CHECK(storing(std::string(100'000, '!') + "x[i]").substr(0, 5) == "E0801");
  std::string powers = "x[i]", axes = "i0", nest;
  for (int k = 0; k < 10'000; ++k) powers += " ^ x[i]";
  CHECK(storing(powers).substr(0, 5) == "E0801");
  std::string sums = "x[i]";
  for (int k = 0; k < 10'000; ++k) sums += " + x[i]";
  CHECK(storing(sums) == "none");
  for (int k = 0; k < 500; ++k) {
    if (k > 0) axes += ", i" + std::to_string(k);
    nest += std::string(std::size_t(2 * k + 2), ' ') + "for i" + std::to_string(k) + "\n";
  }
  CHECK(complaint("program p\n  axes " + axes + "\nphase 0:\n" + nest) ==
        "E0801 104:203 more than 100 loops in each other");
  CHECK(complaint("program p\n  axes i\xff").substr(0, 9) == "E0014 2:9");
  CHECK(complaint(std::string("program p\0", 10)).substr(0, 5) == "E0014");
}

} // namespace
} // namespace broadloom::loop
