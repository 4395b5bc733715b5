// Every error code has a test that shows it: a wrong text in this folder, or, where no text can be
// wrong in that way, a unit test, which is named here with the reason.
#include "tests/places.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path root = BROADLOOM_SOURCE_DIR;

std::string contents(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> files(const std::vector<std::string> &folders,
                            const std::vector<std::string> &endings) {
  std::vector<fs::path> paths;
  for (const std::string &folder : folders)
    for (const auto &entry : fs::recursive_directory_iterator(root / folder))
      for (const std::string &ending : endings)
        if (entry.path().extension() == ending) paths.push_back(entry.path());
  REQUIRE(!paths.empty());
  return paths;
}

std::set<std::string> matches(const std::string &text, const std::string &pattern) {
  std::set<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
    found.insert((*it)[1]);
  return found;
}

// But for those that are not given any more, and never mean anything else.
std::set<std::string> listed_codes() {
  const std::string list = contents(root / "docs/errors.md");
  std::set<std::string> codes = matches(list, R"(\n\| (E\d{4}) \|)");
  for (const std::string &code : matches(list, R"(\n\| (E\d{4}) \| not given any more)"))
    codes.erase(code);
  return codes;
}

// Codes that no text can give.
struct Exception {
  std::string reason, file, test; // the unit test that shows it
};
const std::string by_call = "only arrays or a call of the C++ API can be wrong in this way";
const std::string by_command = "only the command line can be wrong in this way";
const std::string by_gradient = "a text is wrong in this way only once its gradient is asked for";
const std::string by_nest = "only the text of a loop program can be wrong in this way";
const std::map<std::string, Exception> exceptions{
    {"E0010",
     {"a choice among kernels is made by the caller", "house/error_codes_test.cpp",
      "a text without a kernel, or with several, needs a choice"}},
    {"E0601",
     {by_gradient, "grad/gradient_test.cpp", "what has no derivative is an error that names it"}},
    {"E0602",
     {by_gradient, "grad/gradient_test.cpp", "what has no derivative is an error that names it"}},
    {"E0603",
     {by_gradient, "grad/gradient_test.cpp", "what has no derivative is an error that names it"}},
    {"E0901",
     {"it takes a bug of ours", "kernel/fallback_test.cpp",
      "A bug is an error where Broadloom is strict or the engine was asked for"}},
    {"E0036",
     {"a warning, and an error of a check only", "kernel/combines_test.cpp",
      "A wrong combine is the user's mistake in --check and in checked calls"}},
    {"E0040", {by_call, "text/param_test.cpp", "A sign is known of parameters only"}},
    {"E0044",
     {by_call, "kernel/states_test.cpp", "Calls, set and get say what is wrong with a state"}},
    {"E0045",
     {by_call, "kernel/states_test.cpp",
      "A step of training is the loss, its gradients and their updates in one kernel"}},
    {"E0046",
     {by_call, "kernel/freeze_test.cpp", "specialise fixes the extents of labels, in the text"}},
    {"E0123",
     {by_call, "kernel/freeze_test.cpp", "Refreezing gives the next version, over the same code"}},
    {"E0060", {by_call, "kernel/partial_test.cpp", "What does not come apart says why"}},
    {"E0150", {by_call, "kernel/partial_test.cpp", "Wrong blocks are mistakes with their places"}},
    {"E0151", {by_call, "kernel/partial_test.cpp", "Wrong blocks are mistakes with their places"}},
    {"E0311", {by_call, "kernel/freeze_test.cpp", "Freezing says what is wrong, and where"}},
    {"E0312", {by_call, "kernel/freeze_test.cpp", "Freezing says what is wrong, and where"}},
    {"E0313",
     {by_call, "kernel/facts_test.cpp",
      "A fact that does not hold is told by each call in each engine, and nothing is written"}},
    {"E0314",
     {by_call, "kernel/states_test.cpp", "Calls, set and get say what is wrong with a state"}},
    {"E0608",
     {by_gradient, "grad/gradient_test.cpp",
      "an input or an output that is named twice is a mistake"}},
    {"E0061",
     {by_gradient, "grad/batch_test.cpp", "what has no form with one more axis is refused"}},
    {"E0609",
     {by_gradient, "grad/jacobian_test.cpp", "what has no Jacobian or Hessian is refused"}},
    {"E0610",
     {by_gradient, "grad/gradient_within_test.cpp",
      "bytes that keep() does not fit into, and inputs without extents, are told"}},
    {"E0607",
     {by_call, "kernel/materialised_test.cpp",
      "the gradient by a let is no gradient, and one without names of axes is told"}},
    {"E0604",
     {by_command, "tools/verify_run_test.cpp",
      "a wrong derivative is the mistake of the clauses that say it, else ours"}},
    {"E0110", {by_call, "array/array_test.cpp", "an array has at most 16 dims"}},
    {"E0111", {by_call, "array/array_test.cpp", "a negative extent is an error"}},
    {"E0112",
     {by_call, "array/array_test.cpp",
      "a shape that overflows is an error, behind an extent of 0 too"}},
    {"E0113", {by_call, "array/array_test.cpp", "strides that reach too far are an error"}},
    {"E0114",
     {by_command, "tools/source_test.cpp",
      "an index that the array lacks is an error of the data"}},
    {"E0120",
     {by_call, "kernel/arguments_test.cpp",
      "Every mistake about the arguments is found before a byte is written"}},
    {"E0121",
     {by_call, "kernel/overlapping_operands_test.cpp",
      "Outputs may interleave in memory but not overlap"}},
    {"E0122",
     {by_call, "kernel/arguments_test.cpp",
      "Every mistake about the arguments is found before a byte is written"}},
    {"E0142",
     {by_call, "kernel/windows_test.cpp",
      "a label has the extent of its dim, and reads that leave the array are an error"}},
    {"E0143",
     {by_call, "kernel/pads_test.cpp", "arrays of no element have borders of numbers only"}},
    {"E0203",
     {by_call, "kernel/arguments_test.cpp",
      "Every mistake about the arguments is found before a byte is written"}},
    {"E0210",
     {by_call, "house/error_codes_test.cpp", "elements of another type are not handed out"}},
    {"E0115", {by_call, "api/views_test.cpp", "strides may be given in bytes"}},
    {"E0116",
     {by_call, "api/results_test.cpp", "indices that are too many, too few or outside are told"}},
    {"E0117", {by_call, "api/interop_test.cpp", "an mdspan is a view, and an array an mdspan"}},
    {"E0317",
     {by_call, "api/empty_values_test.cpp", "an empty kernel says so whatever it is asked"}},
    {"E0319",
     {by_call, "kernel/debug_test.cpp",
      "A nan that no input held is told with the operation that made it"}},
    {"E0320",
     {by_call, "kernel/debug_test.cpp",
      "An infinity that neither an input nor a number of the kernel is, is told"}},
    {"E0321",
     {by_call, "kernel/kernel_threads_test.cpp",
      "A call may be kept to fewer threads than the kernel, with the same bits"}},
    {"E0318",
     {by_call, "api/interop_test.cpp",
      "a DLPack tensor becomes an array that calls its deleter with the last copy"}},
    {"E0211",
     {"only a file can be wrong in this way", "array/npy_test.cpp",
      "element types that Broadloom lacks are named in the error"}},
    {"E0301",
     {"only a file can be wrong in this way", "house/error_codes_test.cpp",
      "a file that is not there cannot be opened"}},
    {"E0302",
     {"only a file can be wrong in this way", "array/npy_test.cpp",
      "a file cut off at any byte is an error"}},
    {"E0303",
     {"only a file can be wrong in this way", "tools/cli_test.cpp",
      "wrong data exits with 3 and changes no file"}},
    {"E0304",
     {by_call, "kernel/kernel_test.cpp",
      "Allocated outputs lie in the stride order of the first input of full rank"}},
    {"E0305", {by_call, "house/error_codes_test.cpp", "more memory than there is cannot be had"}},
    {"E0144",
     {by_call, "kernel/said_extents_test.cpp",
      "extents that disagree, are below 0 or leave an array are told"}},
    {"E0145",
     {by_call, "kernel/output_parts_test.cpp",
      "parts that meet, leave a hole, or begin before the first position are told"}},
    {"E0146",
     {by_call, "kernel/output_parts_test.cpp",
      "parts that meet, leave a hole, or begin before the first position are told"}},
    {"E0315",
     {by_call, "kernel/gather_test.cpp",
      "an index outside is an error that names the first of them, and nothing is written"}},
    {"E0316",
     {by_call, "kernel/gather_test.cpp",
      "an output that is written at positions has the extents of the caller's array"}},
    {"E0306",
     {by_call, "kernel/arguments_test.cpp",
      "Every mistake about the arguments is found before a byte is written"}},
    {"E0307",
     {by_call, "reference/reference_test.cpp", "empty folds give the identity or an error"}},
    {"E0308",
     {by_call, "kernel/arguments_test.cpp",
      "Every mistake about the arguments is found before a byte is written"}},
    {"E0309",
     {by_call, "kernel/arguments_test.cpp",
      "Every mistake about the arguments is found before a byte is written"}},
    {"E0310",
     {by_call, "kernel/arguments_test.cpp",
      "Every mistake about the arguments is found before a byte is written"}},
    {"E0212",
     {by_call, "kernel/arguments_test.cpp",
      "A dtype that is none is an error, in a view and in an array"}},
    {"E0401", {by_command, "tools/cli_test.cpp", "mistakes of usage exit with 2"}},
    {"E0402", {by_command, "tools/cli_test.cpp", "mistakes of usage exit with 2"}},
    {"E0403", {by_command, "tools/cli_test.cpp", "mistakes of usage exit with 2"}},
    {"E0404", {by_command, "tools/cli_test.cpp", "mistakes of usage exit with 2"}},
    {"E0405", {by_command, "tools/cli_test.cpp", "mistakes of usage exit with 2"}},
    {"E0408",
     {by_command, "jit/disk_cache_test.cpp",
      "the program tells what its disk cache holds, and removes what is broken, or all"}},
    {"E0406", {by_command, "tools/cli_test.cpp", "mistakes of usage exit with 2"}},
    {"E0501",
     {"the machine or the engine, not the text", "house/error_codes_test.cpp",
      "there is no machine code of a kernel that is interpreted"}},
    {"E0502",
     {"only compiling finds it", "house/error_codes_test.cpp",
      "native code has a limit of size, and says so where nothing else may run"}},
    {"E0701",
     {by_call, "kernel/cancel_test.cpp", "A call that is cancelled throws, and the next one runs"}},
    {"E0801",
     {by_nest, "loop/loop_parse_test.cpp", "a malformed loop program is E0801 where it is wrong"}},
    {"E0802",
     {by_nest, "loop/loop_parse_test.cpp", "a nest that breaks a rule is E0802 at its statement"}},
    {"E0070",
     {by_call, "jit/built_test.cpp", "a line of layouts that is wrong is told with its place"}},
    {"E0071", {by_call, "jit/built_test.cpp", "a built kernel has a name that C takes"}},
    {"E0504",
     {by_call, "jit/built_test.cpp",
      "bytes that are no built kernel are refused, whatever is wrong"}},
    {"E0322",
     {by_call, "gpu/device_test.cpp",
      "an array of the host is refused by a kernel of a device, with its name: E0322"}},
    {"E0323",
     {by_call, "kernel/arena_test.cpp",
      "an arena that is too small is told before anything is written: E0323"}},
    {"E0505",
     {by_call, "gpu/cuda_test.cpp",
      "without a driver, or with one that does not begin, a CUDA device is not there: E0505"}},
    {"E0506", {by_call, "gpu/device_test.cpp", "what does not go with a device is refused: E0506"}},
    {"E0503", {by_call, "jit/engine_test.cpp", "an unknown target is refused by its name"}},
};

} // namespace

TEST_CASE("every code of docs/errors.md has a wrong text, or a unit test that is named here") {
  std::set<std::string> shown;
  for (const fs::path &path : files({"tests/errors"}, {".loom"}))
    for (const std::string &code : matches(contents(path), R"(#> .*error\[(E\d{4})\])"))
      shown.insert(code);
  const std::set<std::string> listed = listed_codes();
  CHECK(listed.size() > 50);
  for (const std::string &code : listed) {
    INFO(code);
    const auto found = exceptions.find(code);
    const bool is_exception = found != exceptions.end();
    CHECK_MESSAGE((is_exception || shown.count(code) == 1), "no text of tests/errors shows it");
    if (!is_exception) continue;
    CHECK_MESSAGE(shown.count(code) == 0, "a text can give it after all: it is no exception");
    const std::string file = contents(root / "tests/unit" / found->second.file);
    const std::size_t at = file.find("TEST_CASE(\"" + found->second.test + "\"");
    REQUIRE_MESSAGE(at != std::string::npos, "no such test: ", found->second.test);
    // The test itself names the code.
    CHECK(file.substr(at, file.find("\nTEST_CASE", at) - at).find(code) != std::string::npos);
  }
}

TEST_CASE("every code that the sources give is listed in docs/errors.md, and the other way round") {
  std::set<std::string> given;
  for (const fs::path &path : files({"src", "jit", "tools", "include"}, {".cpp", ".hpp"}))
    for (const std::string &code : matches(contents(path), R"re("(E0\d{3})")re"))
      given.insert(code);
  CHECK(given == listed_codes());
}
