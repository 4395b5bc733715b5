// Gradients of random kernels: the derived slopes against measured ones, and every engine against the others.
//
// The measured slopes are those of bl::check_gradient: central differences of the reference in f64, with
// corners told apart. That also finds a NaN or an infinity where value and slope are finite. For the bits,
// any values will do, NaN and infinities too. BROADLOOM_FUZZ and BROADLOOM_SEED as in differential_test.cpp.
#include "random_data.hpp"
#include "random_spec.hpp"
#include "same_bits.hpp"

#include "reference/reference.hpp"
#include "spec/spec.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace broadloom::differential {
namespace {

class Gradients {
public:
  explicit Gradients(std::uint64_t seed)
      : made_(random_spec(seed, Style::Smooth)), spec_(parse(made_.text)), random_(~seed) {
    for (const RandomInput &in : made_.inputs) {
      inputs_.emplace_back(random_, in.dtype, in.shape, false);
      inputs_.back().fill_smooth(random_);
      if (is_float(in.dtype) || is_complex(in.dtype)) wrt_.push_back(in.name);
    }
  }

  // The slopes that agree, and all.
  std::pair<int, int> check_slopes() {
    INFO("seed " << made_.seed << "\n" << made_.text);
    if (is_wrong()) return {0, 0};
    const GradientCheck check = check_gradient(spec_, views(), {.engine = Engine::Interpreter});
    int agree = 0;
    for (const SlopeCheck &slope : check.slopes) {
      const bool is_wrong = slope.slope == Slope::Differs;
      // At 0 and at infinity derivatives are infinite, and 0 * inf is NaN. Huge values are all whole numbers.
      if (is_wrong && (std::isnan(slope.derived) ? has(is_edge) : has(is_huge))) continue;
      if (slope.slope == Slope::Differs) {
        INFO(print(gradient(spec_, {slope.input}, {.of = {slope.output}})));
        FAIL_CHECK(describe(slope));
      }
      agree += slope.slope == Slope::Agrees;
    }
    return {agree, int(check.slopes.size())};
  }

  bool check_bits() {
    INFO("seed " << made_.seed << "\n" << made_.text);
    if (is_wrong() || wrt_.empty()) return false;
    const LoopSpec derived = gradient(spec_, wrt_);
    INFO(print(derived));
    for (Operand &input : inputs_)
      if (random_.chance(50)) input.fill(random_, false);
    add_cotangents(false);
    const std::vector<NamedView> all = views();
    const Results steps = compile(derived, {.engine = Engine::Interpreter}).call(all);
    for (const int threads : {1, 3}) {
      const Results native =
          compile(derived, {.threads = threads, .engine = Engine::Jit}).call(all);
      for (const auto &[output, array] : steps) CHECK(same_bits(native[output], array));
    }
    return true;
  }

  // Every output put into a branch that is never taken, on any values.
  bool check_branches() {
    if (is_wrong() || wrt_.empty()) return false;
    SpecData data = spec_.data();
    const auto never = parse("kernel k { out z = 1 > 2; out o = 0. }").data().outputs;
    const spec::TypedSpec typed = spec::analyse(data);
    for (std::size_t o = 0; o < data.outputs.size(); ++o) {
      OutputDecl &output = data.outputs[o];
      const DType dtype = typed.outputs[o].dtype;
      if (!is_float(dtype) && !is_complex(dtype)) continue;
      output.value = make_op(ops::Op::Where, {never[0].value, output.value, never[1].value}, {});
    }
    spec_ = LoopSpec(std::make_shared<const SpecData>(std::move(data)));
    const LoopSpec derived = gradient(spec_, wrt_);
    INFO("seed " << made_.seed << "\n" << print(spec_) << print(derived));
    for (Operand &input : inputs_) input.fill(random_, false);
    add_cotangents(true);
    for (const auto &[name, array] :
         compile(derived, {.engine = Engine::Interpreter}).call(views()))
      for (const ops::Scalar value : elements(array)) {
        const DType part = real_dtype(array.dtype());
        CHECK_MESSAGE(ops::as_f64(ops::convert({value.bits}, part, f64)) == 0, name);
      }
    return true;
  }

private:
  // Extents that do not fit, and folds of nothing.
  bool is_wrong() {
    try {
      compile(spec_, {.engine = Engine::Reference}).call(views());
      return false;
    } catch (const InternalError &) {
      throw;
    } catch (const Error &) {
      return true;
    }
  }

  void add_cotangents(bool smooth) {
    const Kernel kernel = compile(spec_, {.engine = Engine::Reference});
    for (const auto &[output, array] : kernel.call(views())) {
      if (!is_float(array.dtype()) && !is_complex(array.dtype())) continue;
      cotangents_.push_back("d_" + output);
      inputs_.emplace_back(random_, array.dtype(), array.shape(), false);
      smooth ? inputs_.back().fill_smooth(random_) : inputs_.back().fill(random_, false);
    }
  }

  static bool is_edge(double x) { return x == 0 || !std::isfinite(x); }
  static bool is_huge(double x) { return std::fabs(x) > 1e12; }

  // Is there such a value on the way?
  bool has(bool (*such)(double)) {
    spec::TypedSpec typed = spec::analyse(spec_.data());
    std::vector<bool> needed(typed.graph.size());
    for (const spec::TypedOutput &output : typed.outputs) needed[output.value.index] = true;
    typed.outputs.clear();
    for (std::uint32_t n = std::uint32_t(typed.graph.size()); n-- > 0;) {
      const expr::NodeId id{n};
      if (!needed[n]) continue;
      for (const expr::NodeId arg : typed.graph.operands(id)) needed[arg.index] = true;
      spec::TypedOutput output;
      output.dtype = typed.graph[id].dtype;
      output.value = id;
      for (int axis = 0; axis < int(typed.axes.size()); ++axis)
        if (typed.graph[id].axes.has(axis)) output.axes.push_back(axis);
      typed.outputs.push_back(std::move(output));
    }
    std::vector<AnyView> views;
    for (Operand &input : inputs_) views.push_back(input.view());
    for (const Array &array : reference::evaluate(typed, views)) {
      if (!is_float(array.dtype()) && !is_complex(array.dtype())) continue;
      for (const ops::Scalar value : elements(array)) {
        const DType part = real_dtype(array.dtype());
        const std::uint64_t parts[] = {value.bits, value.imag};
        for (const std::uint64_t bits : std::span(parts, is_complex(array.dtype()) ? 2 : 1))
          if (such(ops::as_f64(ops::convert({bits}, part, f64)))) return true;
      }
    }
    return false;
  }

  std::vector<NamedView> views() {
    std::vector<NamedView> result;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      result.push_back({i < made_.inputs.size() ? std::string_view(made_.inputs[i].name)
                                                : cotangents_[i - made_.inputs.size()],
                        inputs_[i].view()});
    return result;
  }

  RandomSpec made_;
  LoopSpec spec_;
  Random random_;
  std::vector<Operand> inputs_;
  std::vector<std::string> wrt_, cotangents_; // those stand behind the inputs
};

// A share of the kernels that BROADLOOM_FUZZ asks for. Returns how many.
template <class Check> std::uint64_t each_seed(std::uint64_t share, Check check) {
  const std::uint64_t first = from_environment("BROADLOOM_SEED", 1);
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", default_count) / share + 1;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    try {
      check(seed);
    } catch (const CompileError &) {
      continue; // too large for native code
    } catch (const Error &error) {
      FAIL_CHECK("seed " << seed << ": " << error.render());
    }
  }
  return count;
}

TEST_CASE("the gradients of random kernels agree with measured slopes") {
  int agree = 0, all = 0;
  const std::uint64_t count = each_seed(2, [&](std::uint64_t seed) {
    const auto [agreeing, slopes] = Gradients(seed).check_slopes();
    agree += agreeing;
    all += slopes;
  });
  MESSAGE(count << " kernels: " << agree << " of " << all << " slopes could be measured");
  if (count >= 100) CHECK(agree > all / 2); // the generator has not gone astray
}

TEST_CASE("a gradient has the same bits in native code and in the interpreter") {
  int compared = 0;
  each_seed(40, [&](std::uint64_t seed) { compared += Gradients(seed).check_bits(); });
  CHECK(compared > 0);
}

TEST_CASE("nothing leaks from a branch that is not taken, whatever stands there") {
  int compared = 0;
  each_seed(4, [&](std::uint64_t seed) { compared += Gradients(seed).check_branches(); });
  CHECK(compared > 0);
}

} // namespace
} // namespace broadloom::differential
