// The `main` of every test suite: doctest's own, with its options (--help lists them). Bugs of ours
// stop a test, where they would cost a user only speed. Code that an earlier version made is none
// of a test's business, so there is no disk cache.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char **argv) {
  setenv("BROADLOOM_STRICT", "1", 1);
  setenv("BROADLOOM_CACHE", "0", 1);
  return doctest::Context(argc, argv).run();
}
