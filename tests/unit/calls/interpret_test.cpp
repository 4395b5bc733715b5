// Calls gone through step by step: what each kind of step does, by a text of it.
#include "calls/interpret.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

using Numbers = std::vector<double>;

// A nest that gives its first operand, and more: `times` times it and `plus`.
calls::NestOf nests_of(double times, double plus) {
  return [=](const calls::Step &step, std::span<const calls::Range> over) {
    calls::Nest nest;
    const auto operand_of = [&](const calls::Ref &ref) {
      calls::Nest::Operand made;
      std::vector<std::int64_t> extents;
      for (const calls::Range &range : over)
        for (const calls::Affine &position : ref.at)
          for (const calls::Affine::Term &term : position.terms)
            if (term.axis == range.axis) {
              made.dims.push_back({range.axis, range.first, range.step});
              extents.push_back(term.count > 0 ? term.count : range.count);
            }
      made.layout = contiguous_layout(extents);
      return made;
    };
    for (const calls::Ref &ref : step.from) nest.from.push_back(operand_of(ref));
    for (const calls::Ref &ref : step.to) nest.to.push_back(operand_of(ref));
    nest.run = [=](std::span<const AnyView> from, std::span<const AnyView> to) {
      const auto *read = static_cast<const double *>(from[0].data);
      auto *written = static_cast<double *>(to[0].data);
      for (std::int64_t n = 0; n < element_count(to[0].layout); ++n)
        written[n] = times * read[n % element_count(from[0].layout)] + plus;
    };
    return nest;
  };
}

// What a call with these lines makes of inputs that it names, `y` being its output.
Numbers made(const std::string &lines, std::map<std::string, Numbers> inputs, double times = 1,
             double plus = 0) {
  const calls::Call call = calls::parse("call k\n" + lines);
  std::map<std::string, AnyView, std::less<>> arrays;
  std::map<std::string, std::vector<std::int64_t>> positions;
  Numbers y;
  for (const calls::Array &array : call.arrays) {
    const Layout layout = contiguous_layout(array.extents);
    if (array.owner == calls::Array::Owner::Out) {
      y.assign(std::size_t(element_count(layout)), -1000);
      arrays[array.name] = {f64, y.data(), true, layout};
    } else if (array.owner == calls::Array::Owner::In && array.dtype == i64) {
      const Numbers &given = inputs.at(array.name);
      auto &own = positions[array.name] = std::vector<std::int64_t>(given.begin(), given.end());
      arrays[array.name] = {i64, own.data(), false, layout};
    } else if (array.owner == calls::Array::Owner::In) {
      arrays[array.name] = {f64, inputs.at(array.name).data(), false, layout};
    }
  }
  calls::interpret(call, arrays, nests_of(times, plus));
  return y;
}

const Numbers x{1, 2, 3, 4};
const std::string four = "  in x : f64[4]\n  out y : f64[4]\n";

} // namespace

TEST_CASE("a nest sees what its references say, and writes where its step says") {
  CHECK(made(four + "  y[i] = run k(x[3 - i]) over i [0, 4)\n", {{"x", x}}, 2, 1) ==
        Numbers{9, 7, 5, 3});
}

TEST_CASE("parts of a nest leave what others write") {
  CHECK(
      made(four +
               "  y[i] = run k(x[i]) over i [0, 3) by 2\n  y[i] = run k(x[0]) over i [1, 4) by 2\n",
           {{"x", x}}) == Numbers{1, 1, 3, 1});
}

TEST_CASE("a part that is left out stays as it was before the call") {
  CHECK(made(four + "  y[i] = run k(x[i]) over i [1, 3)\n", {{"x", x}}) ==
        Numbers{-1000, 2, 3, -1000});
}

TEST_CASE("an operand may have more positions of an axis than its step") {
  CHECK(made(four + "  y[i<4] = run k(x[i<4]) over i [0, 2)\n", {{"x", x}}) == x);
}

TEST_CASE("a gather looks where elements say, inside, around or at zeros") {
  const std::string arrays = "  in x : f64[4]\n  in k : i64[3]\n  out y : f64[3]\n";
  const std::map<std::string, Numbers> given{{"x", x}, {"k", {3, -2, 5}}};
  const auto gathered = [&](const std::string &position) {
    return made(arrays + "  y[m] = gather x[" + position + "] over m [0, 3)\n", given);
  };
  CHECK(gathered("clip(k[m])") == Numbers{4, 1, 4});
  CHECK(gathered("wrap(k[m])") == Numbers{4, 3, 2});
  CHECK(gathered("zero(k[m])") == Numbers{4, 0, 0});
  CHECK(gathered("wrap(-k[m] + 1)") == Numbers{3, 4, 1});
  CHECK(gathered("(2*m) / 2") == Numbers{1, 2, 3});
  CHECK(gathered("zero((m) / 2 + k[0])") == Numbers{4, 0, 0}); // between, and behind
}

TEST_CASE("a position outside of an array is a mistake of the call") {
  CHECK_THROWS_AS(made(four + "  y[i] = run k(x[i + 1]) over i [0, 4)\n", {{"x", x}}), SpecError);
}

TEST_CASE("a scatter begins with zeros, and adds what comes together") {
  const std::string arrays = "  in x : f64[4]\n  in k : i64[4]\n  out y : f64[3]\n";
  CHECK(made(arrays + "  y[k[m]] = scatter x[m] over m [0, 4)\n",
             {{"x", x}, {"k", {2, 0, 2, 2}}}) == Numbers{2, 0, 8});
}

TEST_CASE("a scatter adds to what stands in a border") {
  const std::string arrays = "  in x : f64[4]\n  in k : i64[4]\n  out y : f64[3]\n";
  const std::map<std::string, Numbers> given{{"x", x}, {"k", {-1, 1, 3, 4}}};
  const auto added = [&](const std::string &mode) {
    return made(arrays + "  y[k[m]] = scatter x[m] by 0: (1, 2) " + mode + " over m [0, 4)\n",
                given);
  };
  CHECK(added("edge") == Numbers{1, 2, 7});
  CHECK(added("wrap") == Numbers{3, 6, 1});
  CHECK(added("reflect") == Numbers{4, 6, 0});
  CHECK(added("0") == Numbers{0, 2, 0});
}

TEST_CASE("a copy has borders of each kind") {
  const auto padded = [&](const std::string &mode) {
    return made("  in x : f64[4]\n  out y : f64[7]\n  y = pad x by 0: (2, 1) " + mode + "\n",
                {{"x", x}});
  };
  CHECK(padded("edge") == Numbers{1, 1, 1, 2, 3, 4, 4});
  CHECK(padded("wrap") == Numbers{3, 4, 1, 2, 3, 4, 1});
  CHECK(padded("reflect") == Numbers{3, 2, 1, 2, 3, 4, 3});
  CHECK(padded("-1.5") == Numbers{-1.5, -1.5, 1, 2, 3, 4, -1.5});
}

TEST_CASE("in a corner stands the number of the border that is filled last") {
  const std::string arrays = "  in x : f64[1, 1]\n  out y : f64[2, 2]\n";
  CHECK(made(arrays + "  y = pad x by 0: (1, 0) 5, 1: (1, 0) 7\n", {{"x", {1}}}) ==
        Numbers{7, 5, 7, 1});
  CHECK(made(arrays + "  y = pad x by 1: (1, 0) 7, 0: (1, 0) 5\n", {{"x", {1}}}) ==
        Numbers{5, 5, 7, 1});
}

TEST_CASE("a copy has the positions that it reaches, and zeros between the elements") {
  CHECK(made("  in x : f64[4]\n  out y : f64[7]\n  y = pad x at [-2, 4] by 2\n", {{"x", x}}) ==
        Numbers{0, 0, 1, 0, 2, 0, 3});
  CHECK(made("  in x : f64[4]\n  out y : f64[3]\n  y = pad x by 0: (1, 1) edge at [4, 6]\n",
             {{"x", x}}) == Numbers{4, 4, 0});
}

TEST_CASE("a copy is as it was, and a view is what it shows") {
  CHECK(made(four + "  copy c : f64[4]\n  c = copy x\n  y[i] = run k(c[i]) over i [0, 4)\n",
             {{"x", x}}) == x);
  CHECK(made(four +
                 "  temp z : f64[4]\n"
                 "  z[2*p] = view x[p] over p [0, 2)\n  z[2*p + 1] = view x[p + 2] over p [0, 2)\n"
                 "  y[i] = run k(z[i]) over i [0, 4)\n",
             {{"x", x}}) == Numbers{1, 3, 2, 4});
}

TEST_CASE("the steps of a loop are numbered, and go on from the row that they start with") {
  CHECK(made("  in x : f64[1]\n  out y : f64[4]\n  temp u : f64[5] along 0 from -1 ring 2\n"
             "  u[p] = start x[0] over p [-1, 0)\n"
             "  for t [0, 4):\n    u[t] = run k_u(u[t - 1])\n    y[t] = run k(u[t])\n",
             {{"x", {1}}}, 2, 0) == Numbers{4, 8, 16, 32});
  CHECK(made("  in x : f64[1]\n  out y : f64[3]\n  temp n : i64[3]\n  n = count\n"
             "  y[i] = gather x[clip(n[i] - 5)] over i [0, 3)\n",
             {{"x", {1}}}) == Numbers{1, 1, 1});
}

TEST_CASE("a loop the other way has rows behind it") {
  CHECK(made("  in x : f64[1]\n  out y : f64[3]\n  temp u : f64[4] along 0 from 0 behind 1\n"
             "  u[p] = start x[0] over p [3, 4)\n"
             "  for t [0, 3) down:\n    u[t] = run k_u(u[t + 1])\n"
             "  y[i] = run k(u[i]) over i [0, 3)\n",
             {{"x", {1}}}, 2, 0) == Numbers{16, 8, 4});
}

TEST_CASE("all of an array of rows is its steps, and of a ring the rows that are there") {
  CHECK(made("  in x : f64[1]\n  out y : f64[5]\n  temp u : f64[4] along 0 from -1\n"
             "  u[p] = start x[0] over p [-1, 0)\n"
             "  for t [0, 3):\n    u[t] = run k_u(u[t - 1])\n  y = pad u by 0: (1, 1) 0\n",
             {{"x", {1}}}, 2, 0) == Numbers{0, 2, 4, 8, 0});
}

TEST_CASE("rows behind the end of a loop repeat the last") {
  CHECK(
      made("  in x : f64[1]\n  in b : f64[5]\n  out y : f64[5]\n  temp u : f64[6] along 0 from -1\n"
           "  u[p] = start x[0] over p [-1, 0)\n"
           "  for t [0, 5) until b[t]:\n    u[t] = run k_u(u[t - 1])\n"
           "  y[i] = run k(u[i]) over i [0, 5)\n",
           {{"x", {1}}, {"b", {0, 0, 1, 0, 0}}}, 1, 1) == Numbers{3, 4, 5, 5, 5});
}

TEST_CASE("a loop rests behind so many steps at which it may") {
  CHECK(
      made("  in x : f64[1]\n  in b : f64[6]\n  out y : f64[6]\n  temp u : f64[7] along 0 from -1\n"
           "  u[p] = start x[0] over p [-1, 0)\n"
           "  for t [0, 6) rests after 1 of b[t]:\n    u[t] = run k_u(u[t - 1])\n"
           "  y[i] = run k(u[i]) over i [0, 6)\n",
           {{"x", {0}}, {"b", {0, 1, 1, 1, 0, 0}}}, 1, 1) == Numbers{2, 3, 3, 3, 4, 5});
}

TEST_CASE("rows that were saved bring a segment back") {
  // u[t] = t + 1, of which four rows are kept at a time, and the rows before some of the segments.
  const auto back = [&](int places) {
    return made("  in x : f64[1]\n  out y : f64[10]\n  temp u : f64[11] along 0 from -1 ring 4\n"
                "  temp s : f64[" +
                    std::to_string(places + 1) +
                    "]\n"
                    "  u[p] = start x[0] over p [-1, 0)\n"
                    "  for t [0, 10):\n    s = save u each 3\n    u[t] = run k_u(u[t - 1])\n"
                    "  for t [0, 10) down:\n    again u[t] each 3\n    y[t] = run k(u[t])\n",
                {{"x", {0}}}, 1, 1);
  };
  const Numbers rows{2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  for (int places = 1; places <= 4; ++places) CHECK(back(places) == rows);
}

TEST_CASE("a loop that reads two rows before goes on from both") {
  const auto back = [&](int places) {
    return made("  in x : f64[2]\n  out y : f64[8]\n  temp u : f64[10] along 0 from -2 ring 5\n"
                "  temp s : f64[" +
                    std::to_string(2 * places + 1) +
                    "]\n  u[p] = start x[p + 2] over p [-2, 0)\n"
                    "  for t [0, 8):\n    s = save u each 3\n    u[t] = run k_u(u[t - 2])\n"
                    "  for t [0, 8) down:\n    again u[t] each 3\n    y[t] = run k(u[t])\n",
                {{"x", {0, 10}}}, 1, 1);
  };
  for (int places = 1; places <= 3; ++places)
    CHECK(back(places) == Numbers{2, 12, 3, 13, 4, 14, 5, 15});
}
