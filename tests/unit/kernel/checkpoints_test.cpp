// Loops over time that are read step by step: their states are computed again where they take too
// much memory, earlier steps are read where they lie, and loops that follow each other go together.
// None of it changes a bit.
#include "split_calls.hpp"

#include "calls/record.hpp"
#include "jit/call/revolve.hpp"

#include <algorithm>

using namespace broadloom;
using namespace broadloom::tests;

namespace {

// The states of loops may take so many bytes, while this lives.
struct LoopBytes {
  explicit LoopBytes(const char *bytes) { setenv("BROADLOOM_LOOP_BYTES", bytes, 1); }
  ~LoopBytes() { unsetenv("BROADLOOM_LOOP_BYTES"); }
};

Kernel compiled(const LoopSpec &spec, const Inputs &inputs) {
  Kernel kernel = compile(spec, with(Engine::jit, 2));
  kernel.call(views(inputs));
  return kernel;
}

std::string choice_of_checkpoints(const Kernel &kernel) {
  for (const Decision &decision : kernel.why())
    if (decision.code == "let-checkpoints") return decision.choice;
  return "none";
}

double bytes_of_lets(const Kernel &kernel) {
  for (const Decision &decision : kernel.why())
    if (decision.code == "lets-share-memory") return *decision.cost.bytes;
  return 0;
}

// Near to the reference, whose sums have another order.
void check_near(const Results &got, const Results &truth) {
  for (const auto &[name, array] : truth) {
    const std::vector<double> a = values(got[name]), b = values(array);
    for (std::size_t k = 0; k < b.size(); ++k) CHECK(a[k] == doctest::Approx(b[k]).epsilon(1e-9));
  }
}

// Whether states are computed again where there is no memory for them: then in all engines, with
// the bits of the interpreter that has it.
bool again(const LoopSpec &spec, const Inputs &inputs) {
  const auto in = views(inputs);
  const Results truth = compile(spec, with(Engine::interpreter)).call(in);
  check_near(truth, compile(spec, with(Engine::reference)).call(in));
  CHECK_FALSE(has(compiled(spec, inputs), "let-checkpoints"));
  std::size_t found = 0;
  const LoopBytes none("0");
  for (const Options &options :
       {with(Engine::interpreter), with(Engine::jit), with(Engine::jit, 3)}) {
    const Kernel kernel = compile(spec, options);
    const Results got = kernel.call(in);
    for (const auto &[name, array] : truth) {
      INFO(print(spec) << ": " << name);
      CHECK(bytes(got[name]) == bytes(array));
    }
    found += has(kernel, "let-checkpoints");
  }
  CHECK((found == 0 || found == 3));
  return found > 0;
}

Inputs with_cotangents(const LoopSpec &derived, Inputs inputs,
                       const std::vector<std::int64_t> &shape) {
  for (const InputInfo &input : compile(derived).inputs())
    if (input.name.starts_with("d_")) inputs.emplace_back(input.name, counted(shape, 0.125));
  return inputs;
}

const std::string diffusion =
    "in u0 : f64[i]; in k : f64\nlet u[t < 77, i] = u[t - 1, i] + k * (pad(u, 1: (1, 1), MODE)[t - "
    "1, i] "
    "- 2 * u[t - 1, i] + pad(u, 1: (1, 1), MODE)[t - 1, i + 2]) - u[t - 1, i]^3 / 64 from u0\n"
    "out y[i] = u[-1, i]";
std::string with_mode(std::string text, const std::string &mode) {
  for (std::size_t at; (at = text.find(", MODE")) != text.npos;)
    text.replace(at, 6, mode.empty() ? "" : ", " + mode);
  return text;
}

} // namespace

TEST_CASE("states that take too much are computed again from a few of them, with the same bits") {
  for (const std::string mode : {"", "2", "edge", "wrap", "reflect"}) {
    CAPTURE(mode);
    const LoopSpec spec = kernel_of(with_mode(diffusion, mode));
    const Inputs given{{"u0", counted({37}, 0.03125)}, {"k", counted({}, -1 / 64.0)}};
    for (const bool value : {false, true}) {
      const LoopSpec derived = gradient(spec, {"u0", "k"}, {.value = value, .carry = true});
      CHECK(again(derived, with_cotangents(derived, given, {37})));
      const SplitFrom always("0");
      CHECK(again(derived, with_cotangents(derived, given, {37})));
    }
  }
}

TEST_CASE("no schedule computes fewer segments again in as many places") {
  // Of so many segments, the least; and what the schedule does, from the first one on.
  const std::int64_t most = 60;
  std::vector<std::int64_t> least(std::size_t(most + 1)), done(std::size_t(most + 1));
  for (std::int64_t l = 1; l <= most; ++l)
    least[std::size_t(l)] = done[std::size_t(l)] = l * (l - 1) / 2;
  for (std::int64_t places = 1; places <= 6; ++places) {
    std::vector<std::int64_t> best(least.size()), made(least.size());
    for (std::int64_t l = 1; l <= most; ++l) {
      const auto at = [](std::vector<std::int64_t> &of, std::int64_t k) -> std::int64_t & {
        return of[std::size_t(k)];
      };
      for (std::int64_t next = 1; next < l && places > 1; ++next) {
        const std::int64_t here = next + at(least, l - next) + at(best, next);
        at(best, l) = next == 1 ? here : std::min(at(best, l), here);
      }
      if (places == 1) at(best, l) = at(least, l);
      if (l == 1) continue;
      const std::int64_t next = jit::saved_next(l, places);
      REQUIRE((next > 0 && next < l));
      if (places == 1) CHECK(next == l - 1);
      at(made, l) = places == 1 ? at(done, l) : next + at(done, l - next) + at(made, next);
      CHECK(at(made, l) == at(best, l));
      CHECK(jit::segments_again(l, places) == at(best, l));
    }
    least = best;
    done = made;
  }
}

TEST_CASE("the less memory there is for the states of a loop, the more steps are run again") {
  const LoopSpec spec = kernel_of(with_mode(diffusion, "edge"));
  const LoopSpec derived = gradient(spec, {"u0", "k"}, {.carry = true});
  const Inputs inputs = with_cotangents(
      derived, {{"u0", counted({500}, 0.03125)}, {"k", counted({}, -1 / 64.0)}}, {500});
  const Kernel all = compiled(derived, inputs);
  const Results truth = all.call(views(inputs));
  double before = bytes_of_lets(all) / 2;
  for (const auto &[most, choice] : // of 77 rows of 4000 bytes
       {std::pair("100000", "6 segments of 7, 143 steps"),
        {"80000", "6 segments of 7, 143 steps"},
        {"65000", "5 segments of 20, 209 steps"},
        {"40000", "3 segments of 20, 257 steps"},
        {"0", "3 segments of 77, 413 steps"}}) {
    CAPTURE(most);
    const LoopBytes bytes_of_loop(most);
    const Kernel kernel = compiled(derived, inputs);
    CHECK(choice_of_checkpoints(kernel) == choice);
    CHECK(bytes_of_lets(kernel) <= before);
    before = bytes_of_lets(kernel);
    const calls::Recorder recorder;
    const Results got = kernel.call(views(inputs));
    for (const auto &[name, array] : truth) CHECK(bytes(got[name]) == bytes(array));
    const auto steps = std::ranges::count_if(
        recorder.record().events, [](const auto &event) { return event.kernel == "k_grad_u"; });
    CHECK(choice_of_checkpoints(kernel).ends_with(" " + std::to_string(steps) + " steps"));
  }
}

TEST_CASE("segments are computed again of loops the other way, and of two steps") {
  const Inputs inputs{{"x", counted({230, 3}, 0.0625)}};
  for (const char *body :
       {"in x : f64[t, i]; let u[t, i] = tanh(u[t - 1, i] + x[t, i]); "
        "let d[t, i] = d[t + 1, i] * u[t, i] + 1; out y[i] = d[0, i]",
        "in x : f64[t, i]; let u[t, i] = tanh(u[t + 1, i] + x[t, i]); "
        "let d[t, i] = d[t - 1, i] * u[t, i] + 1; out y[i] = d[-1, i]",
        "in x : f64[t, i]; let u[t, i] = tanh(u[t - 1, i] - u[t - 2, i] + x[t, i]); "
        "let d[t, i] = d[t + 1, i] * u[t, i] + 1; out y[i] = d[0, i] + u[-1, i]"})
    CHECK(again(kernel_of(body), inputs));
}

TEST_CASE("states are computed again for the gradient of a loss of the last one") {
  const LoopSpec spec = kernel_of(
      "in x : f64[t, i]; in v : f64[k, i]\nlet h[t, i] = tanh(x + sum(h[t - 1, k] * v, k))\n"
      "out y = sum(h[-1, i]^2)");
  const Inputs inputs{
      {"x", counted({61, 5}, 0.0625)}, {"v", counted({5, 5}, 0.0625)}, {"d_y", counted({}, 0.125)}};
  for (const bool value : {false, true})
    CHECK(again(gradient(spec, {"v"}, {.value = value, .carry = true}), inputs));
}

TEST_CASE("bound calls compute states again, each time that they run") {
  const LoopSpec spec = kernel_of(with_mode(diffusion, "wrap"));
  const LoopSpec derived = gradient(spec, {"u0", "k"}, {.value = true, .carry = true});
  Inputs inputs = with_cotangents(
      derived, {{"u0", counted({37}, 0.03125)}, {"k", counted({}, -1 / 64.0)}}, {37});
  const LoopBytes none("0");
  const Kernel kernel = compile(derived, with(Engine::jit, 2));
  const Results first = kernel.call(views(inputs));
  std::vector<Array> made;
  std::vector<AnyView> in, outputs; // in declared order
  for (const auto &[name, array] : first) made.emplace_back(array.dtype(), array.shape());
  for (const InputInfo &declared : kernel.inputs())
    in.push_back(std::ranges::find(inputs, declared.name, &Inputs::value_type::first)->second);
  for (Array &array : made) outputs.push_back(array);
  const BoundCall bound = kernel.bind(in, outputs);
  for (int turn = 0; turn < 3; ++turn) {
    inputs[0].second.data<double>()[5] = turn;
    bound();
    const Results expected = kernel.call(views(inputs));
    for (std::size_t o = 0; o < made.size(); ++o)
      CHECK(bytes(made[o]) == bytes(expected[kernel.outputs()[o].name]));
  }
}

TEST_CASE("states of several lets, of several earlier steps and of loops that go backwards are "
          "computed again") {
  const Inputs x{{"x", counted({61, 5}, 0.0625)}, {"v", counted({5, 5}, 0.0625)}};
  const std::string lstm = "in x : f64[t, i]; in v : f64[k, i]\n"
                           "let c[t, i] = c[t - 1, i] * 0.5 + sin(x + sum(h[t - 1, k] * v, k))\n"
                           "let h[t, i] = tanh(c)\nout y[i] = h[-1, i] + c[-1, i]";
  const std::string third =
      "in x : f64[t, i]; in v : f64[k, i]\n"
      "let h[t, i] = sin(x + h[t - 3, i] * sum(h[t - 1, k] * v, k)) from 0.5\n"
      "out y[i] = h[-1, i]";
  const std::string back = "in x : f64[t, i]; in v : f64[k, i]\n"
                           "let h[t, i] = sin(x + h[t + 2, i] * sum(h[t + 1, k] * v, k)) from 2\n"
                           "out y[i] = h[0, i]";
  for (const std::string &text : {lstm, third, back}) {
    CAPTURE(text);
    const LoopSpec derived = gradient(kernel_of(text), {"v"}, {.value = true, .carry = true});
    const Inputs inputs = with_cotangents(derived, x, {5});
    CHECK(again(derived, inputs));
    for (const std::int64_t steps : {0, 1, 2, 3, 4, 5, 7, 16}) { // few of them, too
      Inputs few = inputs;
      few[0].second = counted({steps, 5}, 0.0625);
      if (steps == 0) continue; // there is no last position
      again(derived, few);
    }
  }
}

TEST_CASE("what a loop reads that is computed again lives as long as what goes back along it") {
  const std::string text =
      "in x : f64[t, i]\nlet z[t, i] = sin(x)\nlet h[t, i] = z[t, i] + h[t - 1, i] / 2\n"
      "let w[t, i] = h[-1, i] * cos(x)\n"
      "let g[t, i] = g[t + 1, i] / 2 + w[t, i] * h[t, i]\nout y[i] = g[0, i]";
  CHECK(again(kernel_of(text), {{"x", counted({61, 5}, 0.0625)}}));
}

TEST_CASE("states are kept where they are read otherwise than step by step") {
  const Inputs x{{"x", counted({40, 5}, 0.0625)}};
  const std::string loop = "in x : f64[t, i]; let h[t, i] = sin(x + h[t - 1, i])\n";
  const std::string back = "let g[t, i] = g[t + 1, i] * 0.5 + ";
  CHECK(again(kernel_of(loop + back + "h[t, i]\nout y[i] = g[0, i]"), x));
  CHECK(again(kernel_of(loop + back + "h[t, i]\nout y[i] = g[0, i] + h[-1, i]"), x));
  CHECK(again(kernel_of(loop + back + "sum(h[t, k], k) * h[t, i]\nout y[t, i] = g"), x));
  const std::vector<std::string> others{
      back + "h[t, i]\nout y[i] = g[0, i] + h[3, i]",
      back + "h[t, i]\nout y[t, i] = g + h",
      back + "h[-1 - t, i]\nout y[i] = g[0, i]",
      back + "h[-1, i]\nout y[i] = g[0, i]",
      "let g[t, i] = g[t - 1, i] * 0.5 + h[t, -i]\nout y[i] = g[0, i]",
      back + "h[t, i]\nlet f[t, i] = f[t + 1, i] + h[t, -i]\nout y[i] = g[0, i] * f[0, i]"};
  for (const std::string &other : others) CHECK_FALSE(again(kernel_of(loop + other), x));
}

TEST_CASE("what a loop had a step before is read where it lies") {
  const auto rows = [](const std::string &start, const std::string &first, bool backwards = false) {
    const std::string text =
        backwards
            ? "in u0 : f64[i]; in z : f64[i]\nlet u[t < 9, i] = u[t + 1, i] / 2 + iota(t)" + start +
                  "\nlet v[t, i] = where(iota(t, of=u[t, i]) >= extent(t, of=u[t, i]) - 1, " +
                  first + ", pad(u, 0: (0, 1))[t + 1, i])\nout y[t, i] = v * 2 + u0 + z"
            : "in u0 : f64[i]; in z : f64[i]\nlet u[t < 9, i] = u[t - 1, i] / 2 + iota(t)" + start +
                  "\nlet v[t, i] = where(iota(t, of=u[t, i]) < 1, " + first +
                  ", pad(u, 0: (1, 0))[t, i])\nout y[t, i] = v * 2 + u0 + z";
    const Inputs inputs{{"u0", counted({7})}, {"z", counted({7}, 3)}};
    in_all_engines(kernel_of(text), views(inputs));
    return has(compiled(kernel_of(text), inputs), "let-is-rows");
  };
  for (const bool backwards : {false, true}) {
    CAPTURE(backwards);
    CHECK(rows(" from u0", "u0[i]", backwards));
    CHECK(rows(" from 3", "3", backwards));
    CHECK_FALSE(rows(" from u0", "z[i]", backwards));
    CHECK_FALSE(rows(" from u0", "2 * u0[i]", backwards));
    CHECK_FALSE(rows(" from 3", "4", backwards));
    CHECK_FALSE(rows(" from u0", "3", backwards));
  }
}

TEST_CASE("a loop that reads another at its own step goes together with it") {
  const std::string first = "in x : f64[t, i]; let a[t, i] = a[t - 1, i] * 0.5 + x\n";
  const Inputs inputs{{"x", counted({12, 5}, 0.0625)}};
  const auto keeps = [&](const std::string &rest) { // no more than the rows of a step of a
    const LoopSpec spec = kernel_of(first + rest);
    check_near(compile(spec, with(Engine::jit, 2)).call(views(inputs)),
               compile(spec, with(Engine::reference)).call(views(inputs)));
    for (const Decision &decision : compiled(kernel_of(first + rest), inputs).why())
      if (decision.code == "let-keeps-rows" && decision.subject == "a") return true;
    return false;
  };
  CHECK(keeps("let b[t, i] = b[t - 1, i] + a^2\nout y[i] = b[-1, i]"));
  CHECK(keeps("let b[t, i] = b[t - 1, i] + a[t, i]^2 + x\nout y[i] = b[-1, i]"));
  CHECK(keeps("let b[t, i] = b[t - 1, i] + a^2\nlet c[t] = c[t - 1] * sum(b + a, i)\nout y = "
              "c[-1]; out w[i] = b[-1, i]"));
  CHECK(
      keeps("let b[t, i] = b[t - 1, i] + pad(a, 1: (1, 1), edge)[t, i + 2]\nout y[i] = b[-1, i]"));
  // What may have fewer steps, or waits for all of a.
  const std::string fewer =
      "in x : f64[i]; in z : f64[:, :]\nlet a[t < 12, i] = a[t - 1, i] * 0.5 + x\n"
      "let b[t, i] = b[t - 1, i] + a + z[t, i]\nout y[i] = b[-1, i] + a[-1, i]";
  const Array ones = counted({5}, 0.0625), z = counted({11, 5}, 0.0625);
  const Results made = in_all_engines(kernel_of(fewer), {{"x", ones}, {"z", z}});
  CHECK(has(compiled(kernel_of(fewer), {{"x", ones}, {"z", z}}), "let-goes-by-step"));
  CHECK_FALSE(keeps("let b[t, i] = b[t + 1, i] + a\nout y[i] = b[0, i]"));
  CHECK_FALSE(
      keeps("let m[i] = sum(a[s, i], s)\nlet b[t, i] = b[t - 1, i] + a + m\nout y[i] = b[-1, i]"));
  CHECK_FALSE(keeps("let b[t, i] = b[t - 1, i] + a from a[3, i]\nout y[i] = b[-1, i]"));
}

TEST_CASE(
    "the last row of what goes on with a loop is there when the loop has been computed again") {
  const std::string loops = "in x : f64[i]; let a[t < 12, i] = a[t + 1, i] * 0.5 + x\n"
                            "let p[t < 12, i] = p[t + 1, i] + a[t + 1, i]\n"
                            "let b[t, i] = b[t - 1, i] + a[t, i]\n";
  CHECK(again(kernel_of(loops + "out y[i] = b[-1, i] + p[0, i]"), {{"x", counted({5}, 0.0625)}}));
}
