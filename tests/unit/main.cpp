// The `main` of every test suite: doctest's own, with its options (--help lists them).
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
