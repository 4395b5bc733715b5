// Golden PTX: the code of tests/ptx/NAME.loom for a GPU is tests/ptx/NAME.golden, to the letter.
// Nothing runs, so any machine does. `./dev bless` rewrites the files.
#include "golden_files.hpp"

#include "tests/file_cases.hpp"

#include <broadloom/broadloom.hpp>

namespace broadloom {
namespace {

namespace fs = std::filesystem;

std::string ptx_of(const fs::path &file) {
  const Kernel kernel = compile(parse(golden::read(file)), {.target = "sm_90"});
  return kernel.show(Stage::block) + "\n" + kernel.show(Stage::assembly, {.whole = true});
}

void check_ptx(const fs::path &file) {
  golden::check_golden(fs::path(file).replace_extension(".golden"), ptx_of(file));
}

const bool added = tests::add_cases(golden::looms_in("ptx"), "the PTX of ", check_ptx);

} // namespace

TEST_CASE("there is golden PTX") { CHECK(added); }

TEST_CASE("PTX rounds as the standard says, and no atomic operation decides an order") {
  for (const fs::path &file : golden::looms_in("ptx")) {
    const std::string code = ptx_of(file);
    CAPTURE(file.filename().string());
    for (const char *wrong : {".ftz", "fma.", ".approx", "\tatom.", "\tred."})
      CHECK(code.find(wrong) == code.npos);
  }
}

TEST_CASE("a thread moves 16 bytes at once, and one element where what is there is not aligned") {
  const std::string code = ptx_of(golden::looms_in("ptx").back()); // triad
  CHECK(code.find("ld.global.v4") != code.npos);
  CHECK(code.find("st.global.v4") != code.npos);
  CHECK(code.find("ld.global.f32") != code.npos);
}

} // namespace broadloom
