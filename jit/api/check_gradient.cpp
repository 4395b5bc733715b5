// See <broadloom/check_gradient.hpp>. The measured slopes are the reference's, on the widened
// kernel; the derived ones are those of its gradient, which runs like any kernel.
#include "analysis/analyse.hpp"
#include "checked/corners.hpp"
#include "grad/direction.hpp"
#include "grad/slope.hpp"
#include "grad/widen.hpp"
#include "jit/api/derived_slopes.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"

#include <broadloom/check_gradient.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace broadloom {
namespace {

using grad::Direction;

constexpr int single_elements = 6; // tried where a random direction meets corners

struct Output { // a real or complex one
  std::string name;
  std::size_t position = 0;    // among all outputs
  std::size_t first = 0;       // of its parts among those of all real and complex ones
  std::vector<double> weights; // of its parts
  std::vector<std::int64_t> shape;
  DType dtype = DType::F64;
  jit::DerivedSlopes derived;
};

// How much of what is allowed; none where nothing was compared.
double share(const SlopeCheck &slope) {
  if (slope.slope == Slope::not_smooth || slope.slope == Slope::no_gradient) return -1;
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
        typed_(analysis::analyse(wide_.data())),
        reference_(compile(wide_, {.engine = Engine::reference, .cancel = options.cancel})) {
    check_names(spec);
    // What is wrong with the arguments is found on the kernel as it was written.
    const Results results = compile(spec, {.engine = Engine::reference, .cancel = options.cancel})
                                .call(inputs, Order::none, Kernel::Line());
    for (const spec::TypedInput &input : typed_.inputs)
      for (const NamedView &given : inputs)
        if (given.name == input.name) {
          names_.push_back(input.name);
          arrays_.push_back(grad::widened(given.view));
        }
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (grad::is_continuous(arrays_[i].dtype()) && asked(options_.wrt, names_[i]))
        wrt_.push_back(i);
    corners_.resize(wrt_.size());
    for (std::size_t o = 0; o < typed_.outputs.size(); ++o) add_output(o, results);
  }

  GradientCheck run() {
    std::vector<std::vector<SlopeCheck>> by_input;
    for (std::size_t w = 0; w < wrt_.size(); ++w) by_input.push_back(check_input(w));
    GradientCheck check;
    for (std::size_t o = 0; o < outputs_.size(); ++o)
      for (auto &slopes : by_input) check.slopes.push_back(std::move(slopes[o]));
    return check;
  }

private:
  static bool asked(const std::vector<std::string> &names, const std::string &name) {
    return names.empty() || std::count(names.begin(), names.end(), name) > 0;
  }

  void check_names(const LoopSpec &spec) const {
    try {
      gradient(spec, options_.wrt, {.of = options_.of});
    } catch (const SpecError &error) {
      // That there is no derivative will be said of each output and input on its own.
      if (error.code() == "E0003" || error.code() == "E0603" || error.code() == "E0608") throw;
    }
  }

  void add_output(std::size_t position, const Results &results) {
    const spec::TypedOutput &output = typed_.outputs[position];
    if (output.update) return; // a state of the next call
    if (!grad::is_continuous(output.dtype) || !asked(options_.of, output.name)) return;
    std::vector<std::string> names;
    for (const std::size_t i : wrt_) names.push_back(names_[i]);
    Output made{output.name,
                position,
                0,
                {},
                {results[output.name].shape().begin(), results[output.name].shape().end()},
                output.dtype,
                {wide_, output.name, names, options_}};
    if (!outputs_.empty()) made.first = outputs_.back().first + outputs_.back().weights.size();
    const Array like(output.dtype, made.shape);
    for (std::size_t k = 0; k < grad::parts(like).size(); ++k)
      made.weights.push_back(draw_.weight());
    outputs_.push_back(std::move(made));
  }

  // ---- one input, by its place among those that are checked

  std::vector<SlopeCheck> check_input(std::size_t wrt) {
    std::vector<SlopeCheck> slopes(outputs_.size());
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      slopes[o].output = outputs_[o].name;
      slopes[o].input = names_[wrt_[wrt]];
      slopes[o].reason = outputs_[o].derived.reason(wrt);
      if (!slopes[o].reason.empty()) slopes[o].slope = Slope::no_gradient;
    }
    const Direction scale = grad::scales(arrays_[wrt_[wrt]]);
    for (int d = 0; d < options_.directions; ++d) {
      Direction direction;
      for (const double s : scale) direction.push_back(s * draw_.weight());
      compare(slopes, wrt, direction);
    }
    const bool all_smooth = std::all_of(slopes.begin(), slopes.end(),
                                        [](const SlopeCheck &s) { return s.left_out == 0; });
    if (all_smooth) return slopes;
    // Corners at some elements of the input must not hide what happens at the others.
    const std::size_t singles = std::min<std::size_t>(scale.size(), single_elements);
    for (std::size_t k = 0; k < singles; ++k) {
      const std::size_t element = singles == scale.size() ? k : draw_.below(scale.size());
      Direction direction(scale.size(), 0);
      direction[element] = scale[element] * draw_.weight();
      compare(slopes, wrt, direction);
    }
    return slopes;
  }

  std::vector<double> values(std::size_t input, const Direction &direction, double t) {
    const Array moved = grad::moved(arrays_[input], direction, t);
    std::vector<NamedView> views = named_views();
    views[input].view = moved;
    const Results results = reference_.call(views, Order::none, Kernel::Line());
    std::vector<double> all;
    for (const Output &output : outputs_) {
      const Array dense = results[output.name].copy();
      const std::span<const double> of_output = grad::parts(dense);
      all.insert(all.end(), of_output.begin(), of_output.end());
    }
    return all;
  }

  std::vector<NamedView> named_views() const {
    std::vector<NamedView> views;
    for (std::size_t i = 0; i < arrays_.size(); ++i) views.push_back({names_[i], arrays_[i]});
    return views;
  }

  const checked::Corners &corners(std::size_t wrt) {
    if (!corners_[wrt])
      corners_[wrt] =
          checked::find_corners(typed_, std::vector<AnyView>(arrays_.begin(), arrays_.end()),
                                wrt_[wrt], options_.cancel.get());
    return *corners_[wrt];
  }

  // ---- one direction

  void compare(std::vector<SlopeCheck> &slopes, std::size_t wrt, const Direction &direction) {
    const std::vector<grad::Measured> all =
        grad::measure([&](double t) { return values(wrt_[wrt], direction, t); });
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      if (slopes[o].slope == Slope::no_gradient) continue;
      const auto first = all.begin() + std::ptrdiff_t(outputs_[o].first);
      std::vector<grad::Measured> measured(first,
                                           first + std::ptrdiff_t(outputs_[o].weights.size()));
      SlopeCheck now = compared(outputs_[o], wrt, direction, measured);
      if (now.slope == Slope::differs && leave_out_corners(outputs_[o], wrt, measured, now))
        now = compared(outputs_[o], wrt, direction, measured);
      add(slopes[o], now);
    }
  }

  SlopeCheck compared(Output &output, std::size_t wrt, const Direction &direction,
                      const std::vector<grad::Measured> &measured) {
    SlopeCheck now;
    const Array weights(output.dtype, output.shape);
    const std::span<double> weight = grad::parts(weights);
    double size = 0, errors = 0;
    std::int64_t at_rest = 0;
    for (std::size_t k = 0; k < weight.size(); ++k) {
      if (!measured[k].smooth) {
        ++now.left_out;
        continue;
      }
      weight[k] = output.weights[k];
      ++now.compared;
      at_rest += measured[k].slope == 0;
      now.measured += weight[k] * measured[k].slope;
      size += std::fabs(weight[k] * measured[k].slope);
      errors += std::fabs(weight[k]) * measured[k].error;
      // What is derived as the difference of equal terms is seldom 0 to the last bit.
      if (measured[k].slope == 0) errors += 1e-12 * std::fabs(weight[k]);
    }
    const Array d_x = now.left_out > 0 ? output.derived.call(wrt, named_views(), weights)
                                       : output.derived.call_once(wrt, named_views(), weights);
    const std::span<const double> d = grad::parts(d_x);
    for (std::size_t k = 0; k < d.size(); ++k) {
      if (direction[k] == 0) continue;
      now.derived += direction[k] * d[k];
      size += 1e-3 * std::fabs(direction[k] * d[k]); // it has rounding errors, too
    }
    // Where some elements are left out, what flows back through what made them is 0 times an
    // infinite slope or a NaN. And that elements stay at rest which do not read what moves says
    // nothing.
    const bool says_nothing = now.left_out > 0 && (!std::isfinite(now.derived) ||
                                                   (now.derived == 0 && at_rest == now.compared));
    if (says_nothing) {
      now.left_out += now.compared;
      now.compared = 0;
      return now;
    }
    now.difference = std::fabs(now.derived - now.measured);
    now.tolerance = options_.tolerance * size + 4 * errors;
    now.slope = now.difference <= now.tolerance ? Slope::agrees : Slope::differs; // of NaN: Differs
    return now;
  }

  // Elements that are smooth, but made of what is not, do not count either: what flows back through
  // a corner is shared. Returns whether there are any.
  bool leave_out_corners(const Output &output, std::size_t wrt,
                         std::vector<grad::Measured> &measured, const SlopeCheck &now) {
    const checked::Corners &corners = this->corners(wrt);
    const std::vector<bool> &behind = corners.behind[output.position];
    const bool overflows = !std::isfinite(now.derived) && corners.may_overflow;
    const std::size_t group = is_complex(output.dtype) ? 2 : 1;
    bool any = false;
    for (std::size_t k = 0; k < measured.size(); ++k) {
      const bool left_out = measured[k].smooth && (overflows || behind[k / group]);
      if (left_out) measured[k].smooth = false;
      any = any || left_out;
    }
    return any;
  }

  // The direction in which the two are farthest apart stands for all.
  static void add(SlopeCheck &slope, SlopeCheck now) {
    now.compared += slope.compared;
    now.left_out += slope.left_out;
    if (share(now) <= share(slope)) {
      slope.compared = now.compared, slope.left_out = now.left_out;
      return;
    }
    now.output = slope.output, now.input = slope.input;
    slope = now;
  }

  const GradientCheckOptions &options_;
  grad::Draw draw_;
  LoopSpec wide_;
  spec::TypedSpec typed_; // of wide_
  Kernel reference_;
  std::vector<std::string> names_;
  std::vector<Array> arrays_;
  std::vector<std::size_t> wrt_;                         // the inputs that are checked
  std::vector<std::optional<checked::Corners>> corners_; // by wrt_; of those that needed them
  std::vector<Output> outputs_;
};

} // namespace

bool GradientCheck::passed() const {
  return std::none_of(slopes.begin(), slopes.end(),
                      [](const SlopeCheck &s) { return s.slope == Slope::differs; });
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
  return Checker(spec, inputs, options).run();
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::string describe(const SlopeCheck &slope) {
  const support::FloatWorld world;
  const std::string pair = slope.output + " by " + slope.input;
  switch (slope.slope) {
  case Slope::agrees:
  case Slope::differs:
    return fmt::format("{} {}: derived {:.9g}, measured {:.9g} ({:.1e} apart, {:.1e} allowed){}",
                       pair, slope.slope == Slope::agrees ? "agrees" : "differs", slope.derived,
                       slope.measured, slope.difference, slope.tolerance,
                       slope.left_out == 0
                           ? ""
                           : fmt::format("; not smooth at {} of {} elements", slope.left_out,
                                         slope.left_out + slope.compared));
  case Slope::not_smooth: return pair + " is not smooth here: nothing to compare";
  case Slope::no_gradient: return pair + " has no gradient: " + slope.reason;
  }
  return pair;
}

} // namespace broadloom
