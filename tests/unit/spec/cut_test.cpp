// Kernels cut out of a kernel: what each piece computes, and what it is given.
#include "analysis/analyse.hpp"
#include "spec/cut.hpp"
#include "spec/declared.hpp"
#include "spec/expand.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace broadloom {
namespace {

SpecData kernel(const std::string &body) {
  SpecData data = spec::expand_calls(parse("kernel k { " + body + " }").data());
  data.inputs = spec::declared_inputs(data);
  return data;
}

LoopSpec as_spec(SpecData data) {
  data.inputs = spec::declared_inputs(data);
  return LoopSpec(std::make_shared<const SpecData>(std::move(data)));
}

std::string text(const SpecData &data) { return print(as_spec(data)); }

std::vector<std::string> inputs_of(const SpecData &data) {
  std::vector<std::string> names;
  for (const auto &input : data.inputs) names.push_back(input->name);
  return names;
}

std::shared_ptr<InputDecl> parameter(const std::string &name, std::vector<Dim> dims) {
  auto decl = std::make_shared<InputDecl>();
  decl->name = name;
  decl->dtype = DType::F32;
  decl->dims = std::move(dims);
  decl->role = InputRole::parameter;
  return decl;
}

// The first node of the kernel that is of this kind.
Expr first(const SpecData &data, ExprKind kind) {
  Expr found;
  spec::for_each_node(data, [&](const ExprNode &node) {
    for (const Expr &arg : node.args)
      if (!found.node() && arg.node()->kind == kind) found = arg;
  });
  return found;
}

TEST_CASE("a value is computed apart, and what is left reads an array in its place") {
  const SpecData whole = kernel("in x : f32[i, j]; in z : f32[k]; param w : f32[j]; "
                                "out y = x * sum(exp(w), j)");
  const auto made =
      spec::cut(whole, {{first(whole, ExprKind::Fold), parameter("w_1", {}), {}}}, "_frozen");
  CHECK(text(made.apart) == "kernel k_frozen {\n"
                            "  param w : f32[j]\n"
                            "  out w_1[] : f32 = sum(exp(w), j)\n"
                            "}\n");
  CHECK(inputs_of(made.apart) == std::vector<std::string>{"w"}); // it reads no other
  const std::string rest = text(made.rest);
  CHECK(rest.find("out y = x * w_1") != std::string::npos);
  CHECK(rest.find("exp") == std::string::npos);
}

TEST_CASE("reads of a let at positions, as it is and in extents become reads of its array") {
  const SpecData whole = kernel(
      "in x : f32[n]; param w : f32[u]; let h[u] = exp(w[u]); "
      "out y[i] = sum(x[i + u] * h[u + 0], u); out z = h[u]; out e[i < extent(h, 0)] = x[i + 1]; "
      "out f = x[i + extent(h, 0)]");
  const Expr let = whole.lets[0];
  const auto made =
      spec::cut(whole, {{let, parameter("h_1", {Dim(":")}), {AxisRef("u")}, {}, true}}, "_lets");
  CHECK(made.apart.lets.size() == 1);
  CHECK(inputs_of(made.apart) == std::vector<std::string>{"w"});
  CHECK(made.apart.outputs.size() == 1);
  CHECK(made.rest.lets.empty());
  const spec::NamesRead names = spec::names_read(made.rest);
  CHECK(names.read.contains("h_1"));
  CHECK(!names.read.contains("w"));
  const std::string rest = text(made.rest);
  for (const char *read : {"sum(x[i + u] * h_1[u + 0], u)", "out z = h_1[u]",
                           "out e[i < extent(h_1, 0)] = x[i + 1]", "out f = x[i + extent(h_1, 0)]"})
    CHECK(rest.find(read) != std::string::npos);
}

TEST_CASE("a let goes with the piece that alone reads it, and stays where it is read") {
  const SpecData whole = kernel("in x : f32[i]; param w : f32[i]; let a = exp(w); let b = a * a; "
                                "let c = w + 1; out y = x * sqrt(b) + c");
  Expr root;
  spec::for_each_node(whole, [&](const ExprNode &node) {
    for (const Expr &arg : node.args)
      if (arg.node()->kind == ExprKind::Op && arg.node()->op == ops::Op::Sqrt) root = arg;
  });
  REQUIRE(root.node());
  const auto made =
      spec::cut(whole, {{root, parameter("w_1", {Dim("i")}), {AxisRef("i")}}}, "_frozen");
  const auto names = [](const std::vector<Expr> &lets) {
    std::vector<std::string> all;
    for (const Expr &let : lets) all.push_back(let.node()->name);
    return all;
  };
  CHECK(names(made.apart.lets) == std::vector<std::string>{"a", "b"});
  CHECK(names(made.rest.lets) == std::vector<std::string>{"c"});
}

TEST_CASE("the whole of an output is computed apart, with its mode") {
  const SpecData whole = kernel("in x : f32[i]; param w : f32[i, j]; "
                                "out s[i] = reduce(sum) w * w; out y = x + 1");
  const auto made =
      spec::cut(whole, {{whole.outputs[0].value, parameter("s_1", {Dim("i")}), {}, 0}}, "_frozen");
  CHECK(made.apart.outputs[0].mode.kind == ModeKind::reduce);
  CHECK(made.apart.outputs[0].name == "s_1");
  CHECK(made.rest.outputs[0].mode.kind == ModeKind::plain);
  CHECK(made.rest.outputs[0].value.node()->kind == ExprKind::Input);
}

TEST_CASE("a piece has the settings of the whole and no clause of its schedule") {
  const SpecData whole = kernel("order c; in x : f32[i]; in y : f32[i]; let a = x * 2; "
                                "schedule { inline a; fuse z, v }; out z = a; out v = y + a");
  const SpecData alone = spec::with_outputs(whole, {whole.outputs[1]});
  CHECK(alone.outputs.size() == 1);
  CHECK(alone.order == Order::c);
  CHECK(alone.schedule.clauses().empty());
  CHECK(alone.pairings.empty());
  const SpecData empty = spec::emptied(whole, "_part");
  CHECK(empty.name == "k_part");
  CHECK(empty.inputs.empty());
  CHECK(empty.lets.empty());
  CHECK(empty.outputs.empty());
  CHECK(empty.order == Order::c);
}

TEST_CASE("what a kernel reads and what it calls are told apart") {
  const SpecData whole = kernel("in x : f32[n]; in k : i64[m]; in t : f32[i, j]; in q : f32[p]; "
                                "out y[j] = x[k[j] + extent(q, 0)]; out v = sum(x[j], like=t)");
  const spec::NamesRead names = spec::names_read(whole);
  for (const char *read : {"x", "k", "q"}) CHECK(names.read.contains(read));
  CHECK(!names.read.contains("t"));
  CHECK(names.called == spec::Names{"t"});
}

TEST_CASE("a value stands in place of an input, which is gone") {
  const SpecData whole = kernel("in x : f32[i]; in s : f32; let a = s * 2; out y = x * a + s");
  Number one;
  one.integer = 1;
  const SpecData made = spec::filled(whole, "s", make_literal(one, {}));
  CHECK(inputs_of(made) == std::vector<std::string>{"x"});
  CHECK(!spec::names_read(made).read.contains("s"));
  CHECK(made.lets.size() == 1);
}

} // namespace
} // namespace broadloom
