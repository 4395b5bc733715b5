// Who writes x[k] for an input k is told that k is an axis there.
#include <broadloom/broadloom.hpp>
#include <broadloom/log.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace broadloom;

namespace {

std::vector<std::string> warnings_of(const std::string &text) {
  std::vector<std::string> said;
  const LogLevel before = log_level();
  set_log_level(LogLevel::warn);
  set_log_sink([&said](LogLevel, std::string_view message) { said.emplace_back(message); });
  parse_all(text, "g.loom");
  set_log_sink({});
  set_log_level(before);
  return said;
}

std::vector<std::string> one(const char *warning) { return {warning}; }

} // namespace

TEST_CASE("an input of integers that is read nowhere while an axis has its name is warned of") {
  CHECK(warnings_of("kernel g { in x : f32[:]; in k : i64[:]\n out y = x[k] }") ==
        one("g.loom:2:12: 'k' is an axis here, and the input of that name is read nowhere: its "
            "elements say positions as in x[k[i]]"));
  CHECK(warnings_of("kernel g { in x : f32[:]; in i : u8[a, b]\n out y = x[2*i + 1] }") ==
        one("g.loom:2:14: 'i' is an axis here, and the input of that name is read nowhere: its "
            "elements say positions as in x[i[a, b]]"));
  CHECK(warnings_of("kernel g { in x : f32[:]; in i : i32\n out y = x[i] }") ==
        one("g.loom:2:12: 'i' is an axis here, and the input of that name is read nowhere: its "
            "elements say positions as in x[i[]]"));
}

TEST_CASE("a mask in the place of positions is warned of, and so is a let") {
  CHECK(warnings_of("kernel g { in x : f32[:]; in m : bool[:]\n out y = x[m] }") ==
        one("g.loom:2:12: 'm' is an axis here, and the input of that name is read nowhere: a mask "
            "chooses as in where(m, x, 0)"));
  CHECK(warnings_of("kernel g { in x : f32[:]; let k = 2\n out y = x[k] }") ==
        one("g.loom:2:12: 'k' is an axis here, and the let of that name is read nowhere: its "
            "elements say positions as in x[k[i]]"));
}

TEST_CASE("a mode that folds nothing, as all axes of the only input are kept, is warned of") {
  CHECK(warnings_of("kernel g { in x : f32[i, j]\n out s = reduce(sum) exp(x) * x }") ==
        one("g.loom:2:6: output 's' keeps all axes of 'x', so nothing is folded: list those to "
            "keep, s[] "
            "for one number"));
  for (const char *fine :
       {"out s[] = reduce(sum) x", "out s[i] = reduce(sum) x", "out s = sum(x)",
        "in y : f32[i]; out s = reduce(sum) x * y", "in a : f32; out s = reduce(max) a",
        "out s = reduce(sum, like=x) x", "state w : f32[j]; update w = reduce(sum) x"}) {
    CAPTURE(fine);
    CHECK(warnings_of("kernel g { in x : f32[i, j]; " + std::string(fine) + " }").empty());
  }
}

TEST_CASE("an axis that has the name of an input that is read is not warned of") {
  for (const char *text : {
           "kernel g { in x : f32[:]; in k : i64[:]; out y[i] = x[k[i]] }",
           "kernel g { in x : f32[:]; in k : i64; out y = x[k] + k }",
           "kernel g { in x : f32[:]; in k : i64[:]; out y[k < extent(k, 0)] = x[k] }",
           "kernel g { in x : f32[:]; in k : i64[:]; out y = reduce(sum, like=k) x[k] }",
           "kernel g { in x : f32[:]; in k : f32[:]; out y = x[k] }",
           "kernel g { in x : f32[k]; in k : i64[:]; out y = x }",
       })
    CHECK_MESSAGE(warnings_of(text).empty(), text);
}

TEST_CASE("what a kernel before has read or walked is not counted for the next one") {
  CHECK(warnings_of("kernel a { in x : f32[:]; in k : i64[:]; out y[i] = x[k[i]] }\n"
                    "kernel b { in x : f32[:]; in k : i64[:]; out y = x[i + 1] }")
            .empty());
}
