// Gradients of random kernels: the derived slopes against measured ones, and every engine against the others.
//
// The measured slopes are those of bl::check_gradient: central differences of the reference in f64, with
// corners told apart. That also finds a NaN or an infinity where value and slope are finite. For the bits,
// any values will do, NaN and infinities too. BROADLOOM_FUZZ and BROADLOOM_SEED as in differential_test.cpp.
#include "random_data.hpp"
#include "random_spec.hpp"
#include "same_bits.hpp"

#include <doctest/doctest.h>

namespace broadloom::differential {
namespace {

class Kernel {
public:
  explicit Kernel(std::uint64_t seed)
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
    std::vector<NamedView> all = views();
    std::vector<std::string> names;
    std::vector<Operand> cotangents;
    const Results values = compile(spec_, {.engine = Engine::Interpreter}).call(all);
    for (const auto &[output, array] : values) {
      if (!is_float(array.dtype()) && !is_complex(array.dtype())) continue;
      names.push_back("d_" + output);
      cotangents.emplace_back(random_, array.dtype(), array.shape(), false);
      cotangents.back().fill(random_, false);
    }
    for (std::size_t o = 0; o < names.size(); ++o) all.push_back({names[o], cotangents[o].view()});
    const Results steps = compile(derived, {.engine = Engine::Interpreter}).call(all);
    for (const int threads : {1, 3}) {
      const Results native =
          compile(derived, {.threads = threads, .engine = Engine::Jit}).call(all);
      for (const auto &[output, array] : steps) CHECK(same_bits(native[output], array));
    }
    return true;
  }

private:
  // Extents that do not fit, and folds of nothing.
  bool is_wrong() {
    try {
      compile(spec_, {.engine = Engine::Reference}).call(views());
      return false;
    } catch (const Error &) {
      return true;
    }
  }

  std::vector<NamedView> views() {
    std::vector<NamedView> result;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      result.push_back({made_.inputs[i].name, inputs_[i].view()});
    return result;
  }

  RandomSpec made_;
  LoopSpec spec_;
  Random random_;
  std::vector<Operand> inputs_;
  std::vector<std::string> wrt_;
};

TEST_CASE("the gradients of random kernels agree with measured slopes") {
  const std::uint64_t first = from_environment("BROADLOOM_SEED", 1);
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", default_count) / 4 + 1;
  int agree = 0, all = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    try {
      const auto [agreeing, slopes] = Kernel(seed).check_slopes();
      agree += agreeing;
      all += slopes;
    } catch (const Error &error) {
      FAIL_CHECK("seed " << seed << ": " << error.render());
    }
  }
  MESSAGE(count << " kernels: " << agree << " of " << all << " slopes could be measured");
  if (count >= 100) CHECK(agree > all / 2); // the generator has not gone astray
}

TEST_CASE("a gradient has the same bits in native code and in the interpreter") {
  const std::uint64_t first = from_environment("BROADLOOM_SEED", 1);
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", default_count) / 20 + 1;
  int compared = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    try {
      compared += Kernel(seed).check_bits();
    } catch (const Error &error) {
      FAIL_CHECK("seed " << seed << ": " << error.render());
    }
  CHECK(compared > 0);
}

} // namespace
} // namespace broadloom::differential
