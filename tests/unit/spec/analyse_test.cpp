// From specs to typed graphs: axes, types, modes, extents. Most tests compare the printed graph.
#include "analysis/analyse.hpp"
#include "text/print_typed.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

namespace bl = broadloom;

namespace {

bl::spec::TypedSpec typed(const std::string &body) {
  return bl::analysis::analyse(bl::parse("kernel k {\n" + body + "\n}").data());
}

std::string graph(const std::string &body) { return bl::text::print_graph(typed(body)); }

std::string code_of(const std::string &body) {
  try {
    typed(body);
  } catch (const bl::Error &error) {
    return error.code();
  }
  return "";
}

// The axes that the dims of input `i` walk, as in "0 1".
std::string walked(const std::string &body, std::size_t i) {
  std::string text;
  auto spec = typed(body);
  for (int axis : spec.inputs[i].axis_of_dim)
    text += (text.empty() ? "" : " ") + std::to_string(axis);
  return text;
}

// "f32[i, j]": the type and axes of the first output.
std::string output(const std::string &body) {
  auto spec = typed(body);
  std::string text(bl::name(spec.outputs[0].dtype));
  for (std::size_t i = 0; i < spec.outputs[0].axes.size(); ++i)
    text += (i == 0 ? "[" : ", ") + spec.axes[std::size_t(spec.outputs[0].axes[i])].name;
  return text + (spec.outputs[0].axes.empty() ? "" : "]");
}

} // namespace

TEST_CASE("unlabelled dims align at the end in order f and at the start in order c") {
  std::string body = "in x : f32[:, :, :]; in y : f32[:]; out z = x * y";
  CHECK(walked(body, 1) == "2");
  CHECK(walked("order c; " + body, 1) == "0");
}

TEST_CASE("labels come in order of first appearance and unlabelled dims align with them") {
  std::string body = "in x : f32[i, j]; in y : f32[k, i]; in b : f32[:]; out z = x * y * b";
  CHECK(walked(body, 1) == "2 0");
  CHECK(walked(body, 2) == "2");
  CHECK(walked("order c; " + body, 2) == "0");
  CHECK(output(body) == "f32[i, j, k]");
}

TEST_CASE("dims and axes place dims where they say, and axes may enlarge the space") {
  CHECK(walked("in x : f32[:, :]; in y : f32[:] dims(0); out z = x * y", 1) == "0");
  auto spec = typed("in x : f32[:, :] axes(3, 1); out z = x");
  CHECK(spec.axes.size() == 4);
  CHECK(spec.outputs[0].axes == std::vector{1, 3});
}

TEST_CASE("the graph of a mixed kernel has every cast and fold written out") {
  CHECK(graph("in x : f32[i, j]; in b : f32[j]; out s[j] : f64 = accumulate(sum) x * b") ==
        "n0 = input 0 x : f32 {i j}\n"
        "n1 = cast n0 : f64 {i j}\n"
        "n2 = fold sum n1 over {i} : f64 {j}\n"
        "n3 = cast n2 : f32 {j}\n"
        "n4 = input 1 b : f32 {j}\n"
        "n5 = mul n3 n4 : f32 {j}\n"
        "n6 = cast n5 : f64 {j}\n"
        "out s[j] : f64 = n6\n");
}

TEST_CASE("a reduction that is the whole output is rounded once, an inner one is rounded first") {
  CHECK(graph("in x : f32[i]; out s : f64 = sum(x)") ==
        "n0 = input 0 x : f32 {i}\nn1 = cast n0 : f64 {i}\nn2 = fold sum n1 over {i} : f64 {}\n"
        "out s[] : f64 = n2\n");
  CHECK(graph("in x : f32[i]; let t = sum(x); out s : f64 = t") ==
        graph("in x : f32[i]; out s : f64 = sum(x)"));
  CHECK(graph("in x : f32[i]; out s : f64 = sum(x) * 1") ==
        "n0 = input 0 x : f32 {i}\nn1 = cast n0 : f64 {i}\nn2 = fold sum n1 over {i} : f64 {}\n"
        "n3 = cast n2 : f32 {}\nn4 = cast n3 : f64 {}\nout s[] : f64 = n4\n");
}

TEST_CASE("adding into an output happens before a reduction is rounded") {
  auto spec = typed("in x : f32[i]; out s += sum(x); out t += x");
  CHECK(spec.graph[spec.outputs[0].addend].dtype == bl::f64);
  CHECK(spec.graph[spec.outputs[0].value].dtype == bl::f32);
  CHECK(spec.outputs[1].addend == spec.outputs[1].value);
}

TEST_CASE(
    "a reduction over no axes is one, too: what += adds to is added to before the conversion") {
  auto spec = typed("in x : f32[i]; out a : i32 += reduce(sum) x; out b : i32 += x;"
                    "out c : i32 += reduce(max, like=x) x; out d : i32 += sum(x, like=x)");
  const auto added = [&](std::size_t i) { return spec.graph[spec.outputs[i].addend].dtype; };
  CHECK(added(0) == bl::promote(bl::f32, bl::i32));
  CHECK(added(1) == bl::i32);
  CHECK(added(2) == added(0));
  CHECK(added(3) == added(0));
}

TEST_CASE("numbers take the type of what they meet") {
  CHECK(output("in x : f32[:]; out z = x * 2.5 + 1") == "f32[0]");
  CHECK(output("in x : i8[:]; out z = x + 1") == "i8[0]");
  CHECK(output("in x : i8[:]; out z = x * 1.5") == "f64[0]");
  CHECK(output("in x : bool[:]; out z = x + 1") == "i64[0]");
  CHECK(output("in x : i32[:]; out z = x / 2") == "f64[0]");
  CHECK(output("in x : i16[:]; out z = x > 0 ? x : -1") == "i16[0]");
  CHECK(output("in x : f32[:]; out z = x > 0 ? 1 : 2") == "i64[0]");
  CHECK(output("in x : f32[:]; out z = x * (2 ^ 0.5)") == "f32[0]");
  CHECK(output("in x : i8[:]; out z = x + true") == "i8[0]");
}

TEST_CASE("an output made of numbers only has their own type") {
  CHECK(output("out z = 1 + 2") == "i64");
  CHECK(output("out z = 1 / 2") == "f64");
  CHECK(output("out z = 1 < 2") == "bool");
  CHECK(graph("out z : f32 = 1 / 4") == "n0 = literal 0.25 : f32 {}\nout z[] : f32 = n0\n");
}

TEST_CASE("a number that does not fit is an error, and the edges fit") {
  CHECK(code_of("in x : i8[:]; out z = x + 127 - -128") == "");
  CHECK(code_of("in x : i8[:]; out z = x + 128") == "E0202");
  CHECK(code_of("in x : u8[:]; out z = x + 255") == "");
  CHECK(code_of("in x : u8[:]; out z = x + 256") == "E0202");
  CHECK(code_of("in x : u64[:]; out z = x + 9223372036854775807") == "");
  CHECK(code_of("in x : f32[:]; out z = x + 3.4028234e38") == "");
  CHECK(code_of("in x : f32[:]; out z = x + 3.5e38") == "E0202");
  CHECK(code_of("in x : f32[:]; out z = x + inf") == "");
  CHECK(code_of("in x : i64[:]; out z = x + (2^63 - 1)") == "E0202");
}

TEST_CASE("equal sub-expressions are one node and constants are computed") {
  CHECK(graph("in x : f32[i]; let a = exp(x); out z = a * exp(x) + (2 * 3 - 6)") ==
        "n0 = input 0 x : f32 {i}\nn1 = exp n0 : f32 {i}\nn2 = mul n1 n1 : f32 {i}\n"
        "n3 = literal 0 : f32 {}\nn4 = add n2 n3 : f32 {i}\nout z[i] : f32 = n4\n");
}

TEST_CASE("sugar is written out") {
  CHECK(graph("in x : f32[i]; out z = square(x)") ==
        "n0 = input 0 x : f32 {i}\nn1 = mul n0 n0 : f32 {i}\nout z[i] : f32 = n1\n");
  CHECK(graph("in x : f32[i]; out z = clip(x, 0, 1)") ==
        "n0 = input 0 x : f32 {i}\nn1 = literal 0 : f32 {}\nn2 = literal 1 : f32 {}\n"
        "n3 = maximum n0 n1 : f32 {i}\nn4 = minimum n3 n2 : f32 {i}\nout z[i] : f32 = n4\n");
  CHECK(graph("in x : f32[i]; out z = relu(x)") == graph("in x : f32[i]; out z = maximum(x, 0)"));
  CHECK(graph("in x : i32[i]; out z = reciprocal(x)") ==
        "n0 = input 0 x : i32 {i}\nn1 = cast n0 : f64 {i}\nn2 = literal 1 : f64 {}\n"
        "n3 = div n2 n1 : f64 {i}\nout z[i] : f64 = n3\n");
}

TEST_CASE("plain outputs have the axes of the expression, in the order listed") {
  CHECK(output("in x : f32[i, j]; out z[j, i] = x") == "f32[j, i]");
  CHECK(output("in x : f32[:, :]; out z[-1, 0] = x") == "f32[1, 0]");
  CHECK(output("in x : f32[i, j]; out z = sum(x, i)") == "f32[j]");
}

TEST_CASE("broadcast gives all axes of the inputs it reads") {
  CHECK(output("in x : f32[i, j]; out z = broadcast sum(x, j)") == "f32[i, j]");
  CHECK(graph("in x : f32[i, j]; in y : f32[i]; out z = broadcast x * y").find("expand") ==
        std::string::npos);
  CHECK(output("in x : f32[i, j]; in y : f32[i]; out z[j, i] = broadcast y") == "f32[j, i]");
  CHECK(output("in x : f32[:, :]; in y : f32[:]; out z = broadcast(like=x) y") == "f32[0, 1]");
}

TEST_CASE("an unlabelled input that was folded still gives a broadcast its extents") {
  std::string text = graph("in x : f32[:, :]; in y : f32[:]; out z = broadcast y * sum(x, 1)");
  CHECK(text.find("expand n5 n1") != std::string::npos); // y may be 1 where x is not
}

TEST_CASE("accumulate folds each operand on its own, reduce folds the value") {
  std::string inputs = "in x : f32[i, j]; in y : f32[i]; ";
  CHECK(output(inputs + "out z = accumulate(sum) exp(x) * y") == "f32[i]");
  CHECK(graph(inputs + "let t = exp(x); out z = accumulate(sum) t * y").find("exp n3") !=
        std::string::npos);
  CHECK(graph(inputs + "out z = reduce(sum) exp(x) * y").find("fold sum n4 over {j}") !=
        std::string::npos);
  CHECK(output("in x : bool[i, j]; in y : bool[i]; out z = accumulate(sum) x * y") == "i64[i]");
  CHECK(output("in x : i8[i]; in k : i8; out z = reduce(sum) x * k") == "i64");
}

TEST_CASE("brackets name the axes that accumulate and reduce keep") {
  std::string inputs = "in x : f32[i, j, k]; in y : f32[j]; ";
  CHECK(output(inputs + "out z[k, i] = reduce(max) x") == "f32[k, i]");
  CHECK(output(inputs + "out z[] = reduce(max) x * y") == "f32");
  CHECK(output(inputs + "out z[j, i] = accumulate(sum) x * y") == "f32[j, i]");
  CHECK(code_of("in a : f32[i]; in b : f32[j]; out z[] = accumulate(sum) a * b") == "");
}

TEST_CASE("a scalar operand makes accumulate fold everything, with a note that says so") {
  auto spec = typed("in x : f32[i, j]; in k : f32; out z = accumulate(sum) x * k");
  CHECK(spec.outputs[0].axes.empty());
  REQUIRE(spec.notes.size() == 1);
  CHECK(spec.notes[0].text.find("'k'") != std::string::npos);
}

TEST_CASE("inputs used elsewhere in the kernel change nothing") {
  std::string alone = "in x : f32[i, j]; in y : f32[i]; out z = accumulate(sum) x * y";
  CHECK(output(alone) == output("in x : f32[i, j]; in y : f32[i]; in k : f32;"
                                "out z = accumulate(sum) x * y; out w = x * k"));
}

TEST_CASE("an input of which only the shape is used has no say in the modes") {
  CHECK(output("in x : f32[i, j]; in k : f32; out z = reduce(sum) x * sum(x, like=k)") ==
        "f32[i, j]");
}

TEST_CASE("like= folds what the input lacks or stretches and repeats what the value lacks") {
  CHECK(graph("in g : f32[:, :]; in x : f32[:]; out d = sum(g, like=x)") ==
        "n0 = input 0 g : f32 {0 1}\nn1 = cast n0 : f64 {0 1}\n"
        "n2 = fold sum n1 over {0} like x : f64 {1}\nn3 = cast n2 : f32 {1}\n"
        "n4 = input 1 x : f32 {1}\nn5 = expand n3 n4 : f32 {1}\nout d[1] : f32 = n5\n");
  CHECK(graph("in g : f32[i]; in x : f32[i, j]; out d = sum(g, like=x)") ==
        "n0 = input 0 g : f32 {i}\nn1 = input 1 x : f32 {i j}\nn2 = expand n0 n1 : f32 {i j}\n"
        "out d[i, j] : f32 = n2\n");
  CHECK(output("in x : f32[:, :]; out z = sum(1, like=x)") == "i64[0, 1]");
}

TEST_CASE("fixed extents that meet must agree, and 1 is repeated") {
  CHECK(code_of("in x : f32[4, 3]; in y : f32[3]; out z = x * y") == "");
  CHECK(code_of("in x : f32[4, 3]; in y : f32[4]; out z = x * y") == "E0102");
  CHECK(code_of("in x : f32[4, 3]; in y : f32[1]; out z = x * y") == "");
  CHECK(code_of("in x : f32[4, 3]; in y : f32[4]; out z = x; out w = y") == "");
  CHECK(code_of("in x : f32[j=3]; in y : f32[j=1]; out z = x * y") == "");
  CHECK(code_of("in x : f32[j=3]; in y : f32[4]; out z = x * y") == "E0102");
  CHECK(code_of("in x : f32[4, 3]; in y : f32[4]; out z = sum(x, 1) * sum(y, 1)") == "");
  CHECK(code_of("in x : f32[3]; in y : f32[4]; out z = reduce(sum, like=y) x") == "E0102");
}

TEST_CASE("which dims may stretch follows from how they are written") {
  auto spec = typed("in x : f32[i, j=1]; in y : f32[:, 1]; out z = x * y");
  CHECK(spec.inputs[0].may_stretch == std::vector{false, true});
  CHECK(spec.inputs[1].may_stretch == std::vector{true, true});
  CHECK(typed("stretch off; in y : f32[:, 1]; out z = y").inputs[0].may_stretch ==
        std::vector{false, true});
}

TEST_CASE("order none wants equal ranks within an expression and leaves scalars free") {
  std::string inputs = "order none; in x : f32[:, :]; in y : f32[:]; in k : f32; ";
  CHECK(code_of(inputs + "out z = x * k; out w = y * k") == "");
  CHECK(code_of(inputs + "out z = x * y") == "E0130");
}

TEST_CASE("sixty doublings stay sixty nodes") {
  bl::Expr x = bl::input("x", bl::f64, {"i"});
  for (int i = 0; i < 60; ++i) x = x + x;
  CHECK(bl::analysis::analyse(
            bl::LoopSpec("demo").out("z", x).out("s", bl::accumulate(bl::sum), x).data())
            .graph.size() == 61);
}

TEST_CASE("a hundred thousand operations in a chain are analysed without recursion") {
  bl::Expr x = bl::input("x", bl::f64, {"i"}), sum = x;
  for (int i = 0; i < 100'000; ++i) sum = bl::sqrt(sum) + x;
  CHECK(bl::analysis::analyse(bl::LoopSpec("demo").out("z", sum).data()).graph.size() == 200'001);
}

TEST_CASE("the axes of a kernel print as a table") {
  CHECK(bl::text::print_axes(typed(
            "order c; in x : f32[i, j=3]; in b : f32[:]; in k : i32; out z[j, i] += x * b * k")) ==
        "kernel k: 2 axes, order c\n  axis 0 = i\n  axis 1 = j\n  in  x : f32[i, j=3]\n"
        "  in  b : f32[i?]\n  in  k : i32[]\n  out z : f64[j, i] +=\n");
}

TEST_CASE(
    "a broadcast takes only the listed axes from an input that its expression does not read") {
  const broadloom::Kernel kernel = broadloom::compile(
      broadloom::parse("kernel k { in x: u8[i, j]\n in y: f64\n out o[i] = broadcast y }"),
      {.engine = broadloom::Engine::reference});
  const broadloom::AnyView inputs[] = {broadloom::Array(broadloom::u8, {3, 4}),
                                       broadloom::Array(broadloom::f64, {})};
  CHECK(kernel.infer(inputs)[0].shape == std::vector<std::int64_t>{3});
}

TEST_CASE("a broadcast may list the axes that like= gave its value") {
  const broadloom::Kernel kernel =
      broadloom::compile(broadloom::parse("kernel k { order c\n in y: f64[i, j]\n in z: i16[:]\n "
                                          "out o[i] = broadcast sum(y, like=z) }"),
                         {.engine = broadloom::Engine::reference});
  const broadloom::AnyView inputs[] = {broadloom::Array(broadloom::f64, {3, 4}),
                                       broadloom::Array(broadloom::i16, {3})};
  CHECK(kernel.infer(inputs)[0].shape == std::vector<std::int64_t>{3});
}

TEST_CASE("a fold is added into an output in the type in which both meet") {
  const broadloom::Kernel kernel =
      broadloom::compile(broadloom::parse("kernel k { in x: i32[:]\n out z: f64 += sum(x) }"),
                         {.engine = broadloom::Engine::interpreter});
  const broadloom::Array x(broadloom::i32, {3}), z(broadloom::f64, {});
  for (int k = 0; k < 3; ++k) x.data<std::int32_t>()[k] = 1;
  z.data<double>()[0] = 0.5;
  kernel.run({x}, {z});
  CHECK(z.data<double>()[0] == 3.5);
}

TEST_CASE("a broadcast may list unlabelled axes that a whole sum got from like=") {
  const broadloom::Kernel kernel = broadloom::compile(
      broadloom::parse(
          "kernel k { in x: f32[:, :]\n in w: f32[:]\n out o[0, 1] = broadcast sum(w, like=x) }"),
      {.engine = broadloom::Engine::reference});
  const broadloom::AnyView inputs[] = {broadloom::Array(broadloom::f32, {3, 4}),
                                       broadloom::Array(broadloom::f32, {4})};
  CHECK(kernel.infer(inputs)[0].shape == std::vector<std::int64_t>{3, 4});
}

TEST_CASE("a square is a product") {
  CHECK(graph("in x: f32[:]\n out z = x ^ 2").find("mul n0 n0") != std::string::npos);
}
