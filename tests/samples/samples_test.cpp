// The samples are programs for readers; here they are run as they stand.
#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <string>

namespace {

struct Ran {
  int status;
  std::string output;
};

Ran run(const std::string &name) {
  FILE *pipe = popen((std::string(BROADLOOM_SAMPLES_DIR) + "/" + name + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), n);
  return {pclose(pipe), output};
}

bool has(const Ran &ran, const std::string &text) {
  return ran.output.find(text) != std::string::npos;
}

} // namespace

TEST_CASE("the digits sample standardises, folds by class and agrees with the reference") {
  const Ran ran = run("digits");
  CAPTURE(ran.output);
  CHECK(ran.status == 0);
  CHECK(has(ran, "All outputs agree with the reference."));
  CHECK(has(ran, "parallel for"));
  CHECK(
      has(ran, "energy of all images: 6.90701e+06")); // the sum of all squared pixels, exact in f64
}

TEST_CASE("the README's example prints what its comment says") {
  const Ran ran = run("example");
  CAPTURE(ran.output);
  CHECK(ran.status == 0);
  CHECK(has(ran, "s = 1.5 3"));
}
