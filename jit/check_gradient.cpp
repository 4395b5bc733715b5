// See <broadloom/check_gradient.hpp>. The measured slopes are the reference's, on the widened kernel; the
// derived ones are those of its gradient, which runs like any kernel.
#include "array/copy.hpp"
#include "grad/nudge.hpp"
#include "grad/slope.hpp"
#include "grad/widen.hpp"
#include "jit/corners.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"

#include <broadloom/check_gradient.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>

namespace broadloom {
namespace {

constexpr int single_elements = 6; // tried where a random direction meets corners
constexpr int most_nudges = 8;     // tried where slopes differ

bool is_continuous(DType dtype) { return is_float(dtype) || is_complex(dtype); }

// An f64 or c128 array as the real numbers that it is made of.
std::span<double> parts(const Array &array) {
  return {static_cast<double *>(array.raw()),
          std::size_t(array.size()) * (is_complex(array.dtype()) ? 2 : 1)};
}

// A C-contiguous copy in the wide type.
Array widened(const AnyView &view) {
  const Array dense(view.dtype, view.layout.shape());
  array::copy_elements(view, dense.raw(), dense.layout());
  const Array result(grad::wide(view.dtype), view.layout.shape());
  const auto from = std::ptrdiff_t(size_of(dense.dtype())),
             to = std::ptrdiff_t(size_of(result.dtype()));
  for (std::int64_t k = 0; k < dense.size(); ++k)
    ops::store(
        static_cast<char *>(result.raw()) + k * to, result.dtype(),
        ops::convert(ops::load(static_cast<const char *>(dense.raw()) + k * from, view.dtype),
                     view.dtype, result.dtype()));
  return result;
}

// The same numbers with every standard library.
class Draw {
public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  // 0.5 to 1, and minus that.
  double weight() {
    const double size = 0.5 + double(engine_() >> 11) * 0x1p-54;
    return engine_() >> 63 ? size : -size;
  }
  std::size_t below(std::size_t n) { return std::size_t(engine_() % n); }

private:
  std::mt19937_64 engine_;
};

struct Output { // a real or complex one
  std::string name;
  std::size_t first = 0;       // of its parts among those of all outputs
  std::vector<double> weights; // of its parts
  std::vector<std::int64_t> shape;
  DType dtype = DType::F64;
};

// The derivative of one output by some inputs, or why there is none.
struct Derived {
  std::optional<Kernel> kernel;
  std::string cotangent; // the name of its input
  std::string reason;
  std::optional<Results> unmasked; // where no weight is left out
};

struct DerivedBy { // one input
  std::shared_ptr<Derived> derived;
  std::size_t position = 0; // of d_INPUT among the kernel's outputs
};

// How much of what is allowed; none where nothing was compared.
double share(const SlopeCheck &slope) {
  if (slope.slope == Slope::NotSmooth || slope.slope == Slope::NoGradient) return -1;
  if (slope.difference == 0) return 0;
  const double share = slope.difference / slope.tolerance;
  return std::isnan(share) ? std::numeric_limits<double>::infinity() : share;
}

class Checker {
public:
  Checker(const LoopSpec &spec, std::span<const NamedView> inputs,
          const GradientCheckOptions &options)
      : options_(options), draw_(options.seed),
        wide_(std::make_shared<const SpecData>(grad::widened(spec.data()))),
        typed_(spec::analyse(wide_.data())),
        reference_(compile(wide_, {.engine = Engine::Reference, .cancel = options.cancel})) {
    check_names(spec);
    // What is wrong with the arguments is found on the kernel as it was written.
    const Results results =
        compile(spec, {.engine = Engine::Reference, .cancel = options.cancel}).call(inputs);
    for (const spec::TypedInput &input : typed_.inputs)
      for (const NamedView &given : inputs)
        if (given.name == input.name) {
          names_.push_back(input.name);
          arrays_.push_back(widened(given.view));
        }
    for (const spec::TypedOutput &output : typed_.outputs) {
      if (!is_continuous(output.dtype) || !asked(options_.of, output.name)) continue;
      const Array like(output.dtype, results[output.name].shape());
      Output made{output.name, 0, {}, {like.shape().begin(), like.shape().end()}, output.dtype};
      if (!outputs_.empty()) made.first = outputs_.back().first + outputs_.back().weights.size();
      for (std::size_t k = 0; k < parts(like).size(); ++k) made.weights.push_back(draw_.weight());
      outputs_.push_back(std::move(made));
    }
  }

  GradientCheck run() {
    std::vector<std::size_t> wrt;
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (is_continuous(arrays_[i].dtype()) && asked(options_.wrt, names_[i])) wrt.push_back(i);
    for (const Output &output : outputs_) derive(output, wrt);
    std::vector<std::vector<SlopeCheck>> by_input;
    for (const std::size_t i : wrt) by_input.push_back(check_input(i));
    GradientCheck check;
    for (std::size_t o = 0; o < outputs_.size(); ++o)
      for (auto &slopes : by_input) check.slopes.push_back(std::move(slopes[o]));
    return check;
  }

  // What differs here and agrees a little aside has met a corner of an operation on the way. So has a NaN
  // where there is nothing aside: the slope of x / x is 0, times NaN in (-1) ^ (x / x). A NaN where the values on
  // the way have some is that one, times 0.
  void excuse_corners(GradientCheck &check) {
    if (check.passed()) return;
    std::vector<AnyView> given;
    for (const NamedView &view : named_views()) given.push_back(view.view);
    const bool finite = grad::is_finite_throughout(wide_.data(), given);
    for (SlopeCheck &slope : check.slopes)
      if (slope.slope == Slope::Differs && std::isnan(slope.derived) && !finite) leave_out(slope);
    for (int k = 1; k <= most_nudges && !check.passed(); ++k) {
      GradientCheckOptions options = options_;
      options.wrt.clear(), options.of.clear();
      for (const SlopeCheck &slope : check.slopes)
        if (slope.slope == Slope::Differs)
          options.wrt.push_back(slope.input), options.of.push_back(slope.output);
      const std::uint64_t seed = options_.seed + std::uint64_t(k);
      const auto data = std::make_shared<const SpecData>(grad::nudged(wide_.data(), seed));
      const std::vector<Array> arrays = arrays_aside();
      std::vector<NamedView> views;
      for (std::size_t i = 0; i < names_.size(); ++i) views.push_back({names_[i], arrays[i]});
      for (const SlopeCheck &aside : Checker(LoopSpec(data), views, options).run().slopes)
        for (SlopeCheck &slope : check.slopes)
          if (slope.slope == Slope::Differs && slope.input == aside.input &&
              slope.output == aside.output && is_corner(slope, aside))
            leave_out(slope);
    }
  }

private:
  static void leave_out(SlopeCheck &slope) {
    slope.slope = Slope::NotSmooth;
    slope.left_out += slope.compared;
    slope.compared = 0;
  }
  static bool is_corner(const SlopeCheck &here, const SlopeCheck &aside) {
    return aside.slope == Slope::Agrees ||
           (aside.slope == Slope::NotSmooth && std::isnan(here.derived));
  }

  // The inputs with each part moved by 2^-8 of itself at most.
  std::vector<Array> arrays_aside() {
    std::vector<Array> made;
    for (const Array &array : arrays_) {
      made.push_back(array.copy());
      if (is_continuous(array.dtype()))
        for (double &x : parts(made.back())) x *= 1 + 0x1p-8 * draw_.weight();
    }
    return made;
  }

  static bool asked(const std::vector<std::string> &names, const std::string &name) {
    return names.empty() || std::count(names.begin(), names.end(), name) > 0;
  }

  void check_names(const LoopSpec &spec) const {
    try {
      gradient(spec, options_.wrt, {.of = options_.of});
    } catch (const SpecError &error) {
      // That there is no derivative will be said of each output and input on its own.
      if (error.code() == "E0003" || error.code() == "E0603") throw;
    }
  }

  // One kernel for all inputs, or one for each where an input has no derivative.
  void derive(const Output &output, const std::vector<std::size_t> &wrt) {
    std::vector<std::string> names;
    for (const std::size_t i : wrt) names.push_back(names_[i]);
    const auto all = std::make_shared<Derived>(derived(output, names));
    for (std::size_t k = 0; k < wrt.size(); ++k)
      derived_[{output.name, wrt[k]}] =
          all->kernel ? DerivedBy{all, k}
                      : DerivedBy{std::make_shared<Derived>(derived(output, {names[k]})), 0};
  }

  Derived derived(const Output &output, const std::vector<std::string> &wrt) const {
    try {
      const LoopSpec spec = gradient(wide_, wrt, {.of = {output.name}});
      return {compile(spec, {.engine = options_.engine, .cancel = options_.cancel}),
              spec.data().inputs.back()->name,
              "",
              {}};
    } catch (const SpecError &error) {
      return {{}, "", error.message(), {}};
    }
  }

  // ---- one input

  std::vector<SlopeCheck> check_input(std::size_t input) {
    std::vector<SlopeCheck> slopes(outputs_.size());
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      slopes[o].output = outputs_[o].name;
      slopes[o].input = names_[input];
      slopes[o].reason = derived_.at({outputs_[o].name, input}).derived->reason;
      if (!slopes[o].reason.empty()) slopes[o].slope = Slope::NoGradient;
    }
    const std::size_t size = parts(arrays_[input]).size();
    const std::vector<double> scale = scales(arrays_[input]);
    for (int d = 0; d < options_.directions; ++d) {
      std::vector<double> direction;
      for (const double s : scale) direction.push_back(s * draw_.weight());
      compare(slopes, input, direction);
    }
    const bool all_smooth = std::all_of(slopes.begin(), slopes.end(),
                                        [](const SlopeCheck &s) { return s.left_out == 0; });
    if (all_smooth) return slopes;
    // Corners at some elements of the input must not hide what happens at the others.
    const std::size_t singles = std::min<std::size_t>(size, single_elements);
    for (std::size_t k = 0; k < singles; ++k) {
      const std::size_t element = singles == size ? k : draw_.below(size);
      std::vector<double> direction(size, 0);
      direction[element] = scale[element] * draw_.weight();
      compare(slopes, input, direction);
    }
    return slopes;
  }

  // How far each part moves: as much as the element is large; a zero, as the others are on average.
  static std::vector<double> scales(const Array &array) {
    const std::span<const double> x = parts(array);
    const std::size_t group = is_complex(array.dtype()) ? 2 : 1;
    std::vector<double> scale;
    double total = 0, count = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      const std::size_t first = k / group * group;
      const double size = std::hypot(x[first], group == 2 ? x[first + 1] : 0);
      scale.push_back(std::isfinite(size) ? size : -1);
      if (std::isfinite(size) && size != 0) total += size, count += 1;
    }
    const double other = count == 0 ? 1 : total / count;
    for (double &s : scale) s = s == 0 ? other : std::max(s, 0.0); // what is not finite stays
    return scale;
  }

  Array moved_by(std::size_t input, const std::vector<double> &direction, double t) const {
    const Array moved = arrays_[input].copy();
    const std::span<double> x = parts(moved);
    for (std::size_t k = 0; k < x.size(); ++k)
      if (direction[k] != 0) x[k] += t * direction[k];
    return moved;
  }

  std::vector<double> values(std::size_t input, const std::vector<double> &direction, double t) {
    const Array moved = moved_by(input, direction, t);
    std::vector<NamedView> views = named_views();
    views[input].view = moved;
    const Results results = reference_.call(views);
    std::vector<double> all;
    for (const Output &output : outputs_) {
      const Array dense = results[output.name].copy();
      const std::span<const double> of_output = parts(dense);
      all.insert(all.end(), of_output.begin(), of_output.end());
    }
    return all;
  }

  std::vector<NamedView> named_views() const {
    std::vector<NamedView> views;
    for (std::size_t i = 0; i < arrays_.size(); ++i) views.push_back({names_[i], arrays_[i]});
    return views;
  }

  // ---- one direction

  void compare(std::vector<SlopeCheck> &slopes, std::size_t input,
               const std::vector<double> &direction) {
    const std::vector<grad::Measured> all =
        grad::measure([&](double t) { return values(input, direction, t); });
    for (std::size_t o = 0; o < outputs_.size(); ++o)
      if (slopes[o].slope != Slope::NoGradient)
        compare(slopes[o], outputs_[o], input, direction,
                std::span(all).subspan(outputs_[o].first, outputs_[o].weights.size()));
  }

  void compare(SlopeCheck &slope, const Output &output, std::size_t input,
               const std::vector<double> &direction, std::span<const grad::Measured> measured,
               bool again = false) {
    std::vector<double> weights = output.weights;
    SlopeCheck now;
    double size = 0, errors = 0;
    std::int64_t at_rest = 0;
    for (std::size_t k = 0; k < weights.size(); ++k) {
      if (!measured[k].smooth) {
        weights[k] = 0;
        ++now.left_out;
        continue;
      }
      ++now.compared;
      at_rest += measured[k].slope == 0;
      now.measured += weights[k] * measured[k].slope;
      size += std::fabs(weights[k] * measured[k].slope);
      errors += std::fabs(weights[k]) * measured[k].error;
      // What is derived as the difference of equal terms is seldom 0 to the last bit.
      if (measured[k].slope == 0) errors += 1e-12 * std::fabs(weights[k]);
    }
    const Array d_x = run_derived(output, input, weights, now.left_out > 0);
    const std::span<const double> d = parts(d_x);
    for (std::size_t k = 0; k < d.size(); ++k) {
      if (direction[k] == 0) continue;
      now.derived += direction[k] * d[k];
      size += 1e-3 * std::fabs(direction[k] * d[k]); // it has rounding errors, too
    }
    // Where an operation inside is at a corner or at the edge of its domain, as cbrt in cbrt(x - x), its derivative
    // is infinite or none, though what is measured may be smooth. And that elements stay at rest which do not read
    // what moves says nothing.
    const bool says_nothing = now.left_out > 0 && now.derived == 0 && at_rest == now.compared;
    if (!std::isfinite(now.derived) || says_nothing) {
      slope.left_out += std::int64_t(weights.size());
      return;
    }
    now.difference = std::fabs(now.derived - now.measured);
    now.tolerance = options_.tolerance * size + 4 * errors;
    now.slope = now.difference <= now.tolerance ? Slope::Agrees : Slope::Differs; // of NaN: Differs
    if (now.slope == Slope::Differs && !again) {
      const std::vector<grad::Measured> others =
          without_corners(output, input, direction, measured);
      return compare(slope, output, input, direction, others, true);
    }
    now.compared += slope.compared;
    now.left_out += slope.left_out;
    if (share(now) <= share(slope)) {
      slope.compared = now.compared, slope.left_out = now.left_out;
      return;
    }
    now.output = slope.output, now.input = slope.input;
    slope = now;
  }

  // Elements that are smooth, but made of what is not, do not count either: what flows back through a corner is shared.
  std::vector<grad::Measured> without_corners(const Output &output, std::size_t input,
                                              const std::vector<double> &direction,
                                              std::span<const grad::Measured> measured) const {
    const auto inputs = [&](double t) {
      std::vector<Array> arrays = arrays_;
      arrays[input] = moved_by(input, direction, t);
      return arrays;
    };
    const auto flags = jit::behind_corners(typed_, inputs, options_.cancel.get());
    std::vector<grad::Measured> result(measured.begin(), measured.end());
    const std::size_t group = is_complex(output.dtype) ? 2 : 1;
    for (std::size_t o = 0; o < flags.size(); ++o)
      for (std::size_t k = 0; typed_.outputs[o].name == output.name && k < result.size(); ++k)
        result[k].smooth = result[k].smooth && !flags[o][k / group];
    return result;
  }

  // d_x in C order.
  Array run_derived(const Output &output, std::size_t input, const std::vector<double> &weights,
                    bool masked) {
    const DerivedBy &by = derived_.at({output.name, input});
    Derived &derived = *by.derived;
    const auto call = [&] {
      const Array g(output.dtype, output.shape);
      std::copy(weights.begin(), weights.end(), parts(g).begin());
      std::vector<NamedView> views = named_views();
      views.push_back({derived.cotangent, g});
      return derived.kernel->call(views);
    };
    if (masked) return call()[by.position].copy();
    if (!derived.unmasked) derived.unmasked = call();
    return (*derived.unmasked)[by.position].copy();
  }

  const GradientCheckOptions &options_;
  Draw draw_;
  LoopSpec wide_;
  spec::TypedSpec typed_; // of wide_
  Kernel reference_;
  std::vector<std::string> names_;
  std::vector<Array> arrays_;
  std::vector<Output> outputs_;
  std::map<std::pair<std::string, std::size_t>, DerivedBy> derived_; // by output and input
};

} // namespace

bool GradientCheck::passed() const {
  return std::none_of(slopes.begin(), slopes.end(),
                      [](const SlopeCheck &s) { return s.slope == Slope::Differs; });
}

const SlopeCheck &GradientCheck::worst() const {
  if (slopes.empty())
    support::fail("E0304", "the check has compared nothing", {},
                  "check a kernel with real or complex inputs and outputs");
  return *std::max_element(
      slopes.begin(), slopes.end(),
      [](const SlopeCheck &a, const SlopeCheck &b) { return share(a) < share(b); });
}

GradientCheck check_gradient(const LoopSpec &spec, std::span<const NamedView> inputs,
                             const GradientCheckOptions &options) try {
  const support::FloatWorld world;
  Checker checker(spec, inputs, options);
  GradientCheck check = checker.run();
  checker.excuse_corners(check);
  return check;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::string describe(const SlopeCheck &slope) {
  const support::FloatWorld world;
  const std::string pair = slope.output + " by " + slope.input;
  switch (slope.slope) {
  case Slope::Agrees:
  case Slope::Differs:
    return fmt::format("{} {}: derived {:.9g}, measured {:.9g} ({:.1e} apart, {:.1e} allowed){}",
                       pair, slope.slope == Slope::Agrees ? "agrees" : "differs", slope.derived,
                       slope.measured, slope.difference, slope.tolerance,
                       slope.left_out == 0
                           ? ""
                           : fmt::format("; not smooth at {} of {} elements", slope.left_out,
                                         slope.left_out + slope.compared));
  case Slope::NotSmooth: return pair + " is not smooth here: nothing to compare";
  case Slope::NoGradient: return pair + " has no gradient: " + slope.reason;
  }
  return pair;
}

} // namespace broadloom
