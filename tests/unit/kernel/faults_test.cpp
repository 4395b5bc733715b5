// Memory that ends: tests/faults is a program of its own, since it replaces operator new.
#include "tests/places.hpp"
#include "tests/unit/run_program.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

Ended run(const std::string &words) { return run_program(BROADLOOM_FAULTS " " + words); }

} // namespace

TEST_CASE("An allocation that fails outside LLVM is an error, after which all works") {
  const Ended ended = run("100");
  CAPTURE(ended.text);
  CHECK(ended.status == 0);
  CHECK(ended.text.find("outside LLVM: 0 not reached") != std::string::npos);
  CHECK(ended.text.find(" 0 bad_alloc, 0 wrong, 0 other, 0 wrong after, 0 died\ninside") !=
        std::string::npos);
}

TEST_CASE("LLVM is not entered where memory for a compilation is missing") {
  const Ended ended = run("limit");
  CAPTURE(ended.text);
  CHECK(ended.status == 0);
}
