// Gradients of random kernels: the derived slopes against measured ones, and every engine against
// the others.
//
// Where values are equal a random direction meets corners. Along the direction of all inputs
// themselves, x (1 + t), equal values stay equal, and what is shared out among them must sum to
// what the value moves by.
//
// The measured slopes are those of bl::check_gradient: central differences of the reference in f64,
// with corners told apart. That also finds a NaN or an infinity where everything on the way is
// smooth. For the bits, any values will do, NaN and infinities too. BROADLOOM_FUZZ and
// BROADLOOM_SEED as in differential_test.cpp.
#include "analysis/analyse.hpp"
#include "grad/slope.hpp"
#include "grad/widen.hpp"
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
    const GradientCheck check = check_gradient(spec_, views(), {.engine = Engine::interpreter});
    int agree = 0;
    for (const SlopeCheck &slope : check.slopes) {
      if (slope.slope == Slope::differs) {
        INFO(print(gradient(spec_, {slope.input}, {.of = {slope.output}})));
        FAIL_CHECK(describe(slope));
      }
      agree += slope.slope == Slope::agrees;
    }
    return {agree, int(check.slopes.size())};
  }

  // Of the gradient of one output.
  std::pair<int, int> check_second_slopes() {
    if (is_wrong() || wrt_.empty()) return {0, 0};
    add_cotangents(true);
    if (cotangents_.empty()) return {0, 0};
    const LoopSpec first = gradient(spec_, wrt_);
    INFO("seed " << made_.seed << "\n" << made_.text << print(first));
    const GradientCheck check = check_gradient(first, views(), {.engine = Engine::interpreter});
    int agree = 0;
    for (const SlopeCheck &slope : check.slopes) {
      CHECK_MESSAGE(slope.slope != Slope::differs, describe(slope));
      agree += slope.slope == Slope::agrees;
    }
    return {agree, int(check.slopes.size())};
  }

  // Of few different numbers.
  bool check_ties() {
    if (is_wrong() || wrt_.empty()) return false;
    const LoopSpec wide(std::make_shared<const SpecData>(grad::widened(spec_.data())));
    const Kernel value = compile(wide, {.engine = Engine::reference});
    const double few[] = {0.3 + random_.unit(), 0.3 + random_.unit()};
    std::vector<Array> arrays;
    for (const RandomInput &in : made_.inputs) {
      const Operand &old = inputs_[arrays.size()];
      arrays.emplace_back(grad::wide(in.dtype), in.shape);
      Array &made = arrays.back();
      if (is_moved(made))
        for (double &part : parts(made)) part = few[random_.below(2)];
      else
        for (std::int64_t k = 0; k < made.size(); ++k)
          ops::store(static_cast<char *>(made.raw()) + k * std::int64_t(size_of(in.dtype)),
                     in.dtype, old.element(k));
    }
    const auto named = [&](const std::vector<Array> &of) {
      std::vector<NamedView> views;
      for (std::size_t i = 0; i < of.size(); ++i) views.push_back({made_.inputs[i].name, of[i]});
      return views;
    };
    const auto measured = grad::measure([&](double t) {
      std::vector<Array> moved;
      for (const Array &array : arrays) {
        moved.push_back(array.copy());
        if (is_moved(array))
          for (double &part : parts(moved.back())) part *= 1 + t;
      }
      std::vector<double> all;
      for (const auto &[output, array] : value.call(named(moved))) {
        if (!is_moved(array)) continue;
        const Array dense = array.copy();
        all.insert(all.end(), parts(dense).begin(), parts(dense).end());
      }
      return all;
    });
    double want = 0, got = 0, size = 0, error = 1e-12;
    std::vector<NamedView> given = named(arrays);
    std::vector<std::string> names;
    std::vector<Array> weights;
    std::size_t next = 0;
    for (const auto &[output, array] : value.call(given)) {
      if (!is_moved(array)) continue;
      weights.emplace_back(array.dtype(), array.shape());
      names.push_back("d_" + output);
      for (double &weight : parts(weights.back())) {
        const grad::Measured &slope = measured[next++];
        weight = slope.smooth ? random_.unit() - 0.5 : 0;
        if (!slope.smooth) continue;
        want += weight * slope.slope;
        size += std::fabs(weight * slope.slope);
        error += std::fabs(weight) * (slope.error + 1e-12);
      }
    }
    for (std::size_t o = 0; o < weights.size(); ++o) given.push_back({names[o], weights[o]});
    const LoopSpec derived = gradient(wide, wrt_);
    const Results slopes = compile(derived, {.engine = Engine::interpreter}).call(given);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (!is_moved(arrays[i])) continue;
      const Array d = slopes["d_" + made_.inputs[i].name].copy();
      for (std::size_t k = 0; k < parts(d).size(); ++k) {
        got += parts(d)[k] * parts(arrays[i])[k];
        size += 1e-3 * std::fabs(parts(d)[k] * parts(arrays[i])[k]);
      }
    }
    if (!std::isfinite(got) || size == 0) return false; // an edge of a domain, or nothing moves
    INFO("seed " << made_.seed << "\n" << made_.text << print(derived));
    CHECK_MESSAGE(std::fabs(got - want) <= 1e-6 * size + 4 * error,
                  "derived " << got << ", measured " << want);
    return true;
  }

  // Forward mode against gradients, of f64: for any weights w, sum(w t_z) = sum(d_x t_x). Also of
  // few different numbers, whose ties are shared both ways alike. The engines agree on the bits.
  // `second`: of the gradient.
  bool check_directions(bool second) {
    if (is_wrong() || wrt_.empty()) return false;
    const LoopSpec first(std::make_shared<const SpecData>(grad::widened(spec_.data())));
    if (second) add_cotangents(true);
    if (second && cotangents_.empty()) return false;
    const LoopSpec wide = second ? gradient(first, wrt_) : first;
    INFO("seed " << made_.seed << "\n" << print(wide));
    std::vector<LoopSpec> derived;
    try {
      derived = {jvp(wide, wrt_), gradient(wide, wrt_)};
    } catch (const SpecError &error) { // what has no rule yet: each_seed asks that most have
      if (error.code() == "E0601" || error.code() == "E0607" || error.code() == "E0605")
        return false;
      throw;
    }
    const LoopSpec &forward = derived[0], &back = derived[1];
    INFO(print(forward) << print(back));
    const double few[] = {0.3 + random_.unit(), 0.3 + random_.unit()};
    const bool ties = random_.chance(30);
    std::vector<std::pair<std::string, Array>> given, tangents, weights;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      given.emplace_back(views()[i].name, grad::widened(inputs_[i].view()));
      const Array &array = given.back().second;
      if (!is_moved(array) || i >= made_.inputs.size()) continue;
      if (ties)
        for (double &part : parts(array)) part = few[random_.below(2)];
      tangents.emplace_back("t_" + made_.inputs[i].name, weights_like(array));
    }
    const auto with = [&](const auto &more) {
      std::vector<NamedView> all;
      for (const auto &[name, array] : given) all.push_back({name, array});
      for (const auto &[name, array] : more) all.push_back({name, array});
      return all;
    };
    const Results moved = compile(forward, {.engine = Engine::interpreter}).call(with(tangents));
    if (!second) {
      const Kernel native = compile(forward, {.threads = 3, .engine = Engine::jit});
      const Results same = native.call(with(tangents));
      for (const auto &[output, array] : moved) CHECK(same_bits(same[output], array));
    }
    Sum want, got;
    for (const auto &[output, array] : moved) {
      const Array dense = array.copy();
      weights.emplace_back("d_" + output.substr(2), weights_like(dense));
      want.add(parts(weights.back().second), parts(dense));
    }
    if (weights.empty()) return false;
    const Results slopes = compile(back, {.engine = Engine::interpreter}).call(with(weights));
    for (std::size_t i = 0; i < tangents.size(); ++i) // in the order of wrt_
      got.add(parts(tangents[i].second), parts(slopes[i].copy()));
    if (!std::isfinite(want.value) || !std::isfinite(got.value))
      return false; // an edge of a domain
    CHECK_MESSAGE(std::fabs(got.value - want.value) <= 1e-7 * (want.size + got.size) + 1e-12,
                  "forward " << want.value << ", back " << got.value);
    return want.size > 0;
  }

  // How many were printed.
  int check_texts() {
    if (wrt_.empty()) return 0;
    INFO("seed " << made_.seed << "\n" << made_.text);
    int printed = 0;
    for (const bool forward : {false, true}) {
      std::string text;
      try {
        text = print(forward ? jvp(spec_, wrt_) : gradient(spec_, wrt_));
      } catch (const SpecError &error) { // what has no rule yet
        if (forward && (error.code() == "E0601" || error.code() == "E0607")) continue;
        throw;
      }
      CHECK(print(parse(text)) == text);
      ++printed;
    }
    return printed;
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
    const Results steps = compile(derived, {.engine = Engine::interpreter}).call(all);
    for (const int threads : {1, 3}) {
      const Results native =
          compile(derived, {.threads = threads, .engine = Engine::jit}).call(all);
      for (const auto &[output, array] : steps) CHECK(same_bits(native[output], array));
    }
    return true;
  }

  // Every output put into a branch that is never taken, on any values.
  bool check_branches() {
    if (is_wrong() || wrt_.empty()) return false;
    SpecData data = spec_.data();
    const auto never = parse("kernel k { out z = 1 > 2; out o = 0. }").data().outputs;
    const spec::TypedSpec typed = analysis::analyse(data);
    for (std::size_t o = 0; o < data.outputs.size(); ++o) {
      OutputDecl &output = data.outputs[o];
      const DType dtype = typed.outputs[o].dtype;
      if (!is_float(dtype) && !is_complex(dtype)) continue;
      output.value = make_op(ops::Op::Where, {never[0].value, output.value, never[1].value}, {});
    }
    spec_ = LoopSpec(std::make_shared<const SpecData>(std::move(data)));
    const LoopSpec derived = gradient(spec_, wrt_);
    INFO("seed " << made_.seed << "\n" << print(spec_) << print(derived));
    // Into a let that is an array flows 0, of which a slope that is not finite makes NaN.
    const bool has_arrays = made_.seed % 6 == 2;
    for (Operand &input : inputs_)
      has_arrays ? input.fill_smooth(random_) : input.fill(random_, false);
    add_cotangents(true);
    for (const auto &[name, array] :
         compile(derived, {.engine = Engine::interpreter}).call(views()))
      for (const ops::Scalar value : elements(array)) {
        const DType part = real_dtype(array.dtype());
        CHECK_MESSAGE(ops::as_f64(ops::convert({value.bits}, part, f64)) == 0, name);
      }
    return true;
  }

private:
  static bool is_moved(const Array &array) {
    return is_float(array.dtype()) || is_complex(array.dtype());
  }
  // Of an f64 or c128 array in C order: the real numbers that it is made of.
  static std::span<double> parts(const Array &array) {
    return {static_cast<double *>(array.raw()),
            std::size_t(array.size()) * (is_complex(array.dtype()) ? 2 : 1)};
  }

  struct Sum { // of products, and how large they were
    double value = 0, size = 0;
    void add(std::span<const double> a, std::span<const double> b) {
      for (std::size_t k = 0; k < a.size(); ++k)
        value += a[k] * b[k], size += std::fabs(a[k] * b[k]);
    }
  };
  Array weights_like(const Array &array) {
    Array made(array.dtype(), {array.shape().begin(), array.shape().end()});
    for (double &part : parts(made)) part = random_.unit() - 0.5;
    return made;
  }

  // Extents that do not fit, and folds of nothing.
  bool is_wrong() {
    try {
      compile(spec_, {.engine = Engine::reference}).call(views());
      return false;
    } catch (const InternalError &) {
      throw;
    } catch (const Error &) {
      return true;
    }
  }

  void add_cotangents(bool smooth) {
    const Kernel kernel = compile(spec_, {.engine = Engine::reference});
    for (const auto &[output, array] : kernel.call(views())) {
      if (!is_float(array.dtype()) && !is_complex(array.dtype())) continue;
      cotangents_.push_back("d_" + output);
      inputs_.emplace_back(random_, array.dtype(), array.shape(), false);
      smooth ? inputs_.back().fill_smooth(random_) : inputs_.back().fill(random_, false);
    }
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
// Some windows have no rule yet, as a sum through one beside a scan; most have.
template <class Check> std::uint64_t each_seed(std::uint64_t share, Check check) {
  const std::uint64_t first = from_environment("BROADLOOM_SEED", 1);
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", default_count) / share + 1;
  std::uint64_t refused = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    try {
      check(seed);
    } catch (const CompileError &) {
      continue; // too large for native code
    } catch (const Error &error) {
      const bool has_no_rule = error.code() == "E0601" || error.code() == "E0605" ||
                               error.code() == "E0607" ||
                               error.code() == "E0013"; // more axes than a kernel may have
      if (has_no_rule && (seed % 6 == 4 || seed % 6 == 2)) {
        ++refused;
        continue;
      }
      FAIL_CHECK("seed " << seed << ": " << error.render()
                         << random_spec(seed, Style::Smooth).text);
    }
  }
  CHECK(refused <= count / 12 + 2); // half of those with windows
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

TEST_CASE("the gradients of the gradients of random kernels agree with measured slopes") {
  int agree = 0, all = 0;
  const std::uint64_t count = each_seed(20, [&](std::uint64_t seed) {
    const auto [agreeing, slopes] = Gradients(seed).check_second_slopes();
    agree += agreeing;
    all += slopes;
  });
  MESSAGE(agree << " of " << all << " second slopes could be measured");
  if (count >= 5) CHECK(agree > 0);
}

TEST_CASE("what a gradient shares out among equal values sums to the slope of moving all of them") {
  int compared = 0;
  const std::uint64_t count =
      each_seed(4, [&](std::uint64_t seed) { compared += Gradients(seed).check_ties(); });
  MESSAGE(compared << " of " << count << " kernels could be compared");
  if (count >= 25) CHECK(compared > 0);
}

TEST_CASE("what moves forward meets weights as gradients meet what moves") {
  int compared = 0;
  const std::uint64_t count = each_seed(
      2, [&](std::uint64_t seed) { compared += Gradients(seed).check_directions(false); });
  MESSAGE(compared << " of " << count << " kernels could be compared");
  CHECK(compared > 0);
  if (count >= 100) CHECK(compared > int(count / 3));
  compared = 0;
  each_seed(20, [&](std::uint64_t seed) { compared += Gradients(seed).check_directions(true); });
  MESSAGE(compared << " gradients could be compared");
  CHECK(compared > 0);
}

TEST_CASE("every gradient and directional derivative of random kernels prints as a text that "
          "prints itself") {
  int printed = 0;
  const std::uint64_t count =
      each_seed(1, [&](std::uint64_t seed) { printed += Gradients(seed).check_texts(); });
  MESSAGE(printed << " texts of " << count << " kernels");
  CHECK(printed > int(count));
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
