// Random kernels on random layouts: the engines against each other and against the reference.
//
// The interpreter and native code must give equal bits, for any number of threads and any instruction
// set; both must meet the reference as random_spec.hpp says. A shape error must be the same error
// everywhere. BROADLOOM_FUZZ is the number of kernels (default 1000, of which the tests beside this one
// take a share), BROADLOOM_SEED the first seed: a failure prints its seed, and
// `BROADLOOM_SEED=n BROADLOOM_FUZZ=1` runs it alone.
#include "random_data.hpp"
#include "random_spec.hpp"
#include "same_bits.hpp"

#include "ops/ops.hpp"
#include "reference/reference.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

namespace broadloom::differential {
namespace {

std::string shown(const Layout &layout) {
  std::ostringstream out;
  out << "[";
  for (int d = 0; d < layout.rank; ++d)
    out << (d ? ", " : "") << layout.extents[std::size_t(d)] << " by "
        << layout.strides[std::size_t(d)];
  out << "]";
  return out.str();
}

std::string shown(ops::Scalar value, DType dtype) {
  std::ostringstream out;
  if (is_complex(dtype)) {
    const DType real = real_dtype(dtype);
    out << shown(ops::Scalar{value.bits}, real) << " + " << shown(ops::Scalar{value.imag}, real)
        << "j";
  } else if (is_float(dtype)) {
    out.precision(17);
    out << ops::as_f64(ops::convert(value, dtype, DType::F64));
  } else {
    out << std::int64_t(value.bits);
  }
  return out.str();
}

double as_double(std::uint64_t part, DType dtype) {
  return ops::as_f64(ops::convert({part}, real_dtype(dtype), DType::F64));
}

// One kernel with its data.
class Case {
public:
  explicit Case(std::uint64_t seed) : spec_(random_spec(seed)), random_(~seed) {
    for (const RandomInput &in : spec_.inputs) {
      inputs_.emplace_back(random_, in.dtype, in.shape, false);
      inputs_.back().fill(random_, spec_.exact);
    }
    for (Operand &in : inputs_) input_views_.push_back(in.view());
  }

  // The places that agree with each other, all compared; the first difference is a test failure.
  void run(bool thorough) {
    INFO(description());
    const spec::TypedSpec typed = spec::analyse(parse(spec_.text).data());
    std::vector<Layout> layouts;
    for (const AnyView &view : input_views_) layouts.push_back(view.layout);
    std::vector<std::vector<std::int64_t>> shapes;
    try {
      shapes = reference::output_shapes(typed, layouts);
    } catch (const InternalError &) {
      throw;
    } catch (const Error &e) {
      expect_error(typed, e.code());
      return;
    }
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      initial_.emplace_back(random_, typed.outputs[k].dtype, shapes[k], true);
      initial_.back().fill(random_, spec_.exact);
    }
    std::vector<AnyView> initial_views;
    for (Operand &out : initial_) initial_views.push_back(out.view());
    const std::vector<Array> expected = reference::evaluate(typed, input_views_, initial_views);

    const std::vector<Operand> interpreted =
        run_engine({.threads = 1, .engine = Engine::Interpreter});
    compare(typed, "the interpreter", interpreted, expected);
    const std::vector<Operand> native = run_engine({.engine = Engine::Jit});
    compare_bits(typed, "native code", native, interpreted);
    if (!thorough) return;
    for (int threads : {1, 2, 3, 7}) {
      compare_bits(typed, std::to_string(threads) + " threads",
                   run_engine({.threads = threads, .engine = Engine::Jit}), interpreted);
    }
    compare_bits(typed, "x86-64-v3", run_engine({.target = "x86-64-v3", .engine = Engine::Jit}),
                 interpreted);
    const std::vector<Operand> truth = run_engine({.engine = Engine::Reference});
    for (std::size_t k = 0; k < truth.size(); ++k)
      for (std::int64_t e = 0; e < truth[k].count(); ++e)
        if (!same(truth[k].element(e), of_array(expected[k], e), expected[k].dtype()))
          FAIL("the reference engine is not the reference");
  }

  int comparisons() const { return comparisons_; }
  int bounds() const { return bounds_; }

private:
  std::string description() {
    std::ostringstream out;
    out << "seed " << spec_.seed << (spec_.exact ? ", exact" : ", general") << "\n" << spec_.text;
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      out << spec_.inputs[k].name << " " << shown(inputs_[k].layout()) << "\n";
    return out.str();
  }

  std::vector<Operand> run_engine(const Options &options) {
    std::vector<Operand> outputs = initial_;
    std::vector<AnyView> views;
    for (Operand &out : outputs) views.push_back(out.view());
    const Kernel kernel = compile(parse(spec_.text), options);
    kernel.run(std::span<const AnyView>(input_views_), std::span<const AnyView>(views));
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (!outputs[k].only_elements_changed(initial_[k])) FAIL("a write between the elements");
    return outputs;
  }

  // What the reference refuses, the kernels must refuse for the same reason.
  void expect_error(const spec::TypedSpec &typed, const std::string &code) {
    std::vector<Operand> outputs;
    std::vector<AnyView> views;
    for (const spec::TypedOutput &out : typed.outputs) {
      const std::vector<std::int64_t> shape(out.axes.size(), 1);
      outputs.emplace_back(random_, out.dtype, shape, true);
    }
    for (Operand &out : outputs) views.push_back(out.view());
    for (Engine engine : {Engine::Interpreter, Engine::Jit}) {
      std::string got = "no error";
      try {
        compile(parse(spec_.text), {.engine = engine})
            .run(std::span<const AnyView>(input_views_), std::span<const AnyView>(views));
      } catch (const InternalError &) {
        throw;
      } catch (const Error &e) {
        got = e.code();
      }
      CHECK(got == code);
    }
  }

  void compare_bits(const spec::TypedSpec &typed, const std::string &who,
                    const std::vector<Operand> &got, const std::vector<Operand> &expected) {
    for (std::size_t k = 0; k < got.size(); ++k) {
      for (std::int64_t e = 0; e < got[k].count(); ++e) {
        const ops::Scalar a = got[k].element(e), b = expected[k].element(e);
        if (!same(a, b, typed.outputs[k].dtype)) report(typed, who, k, e, a, "the interpreter", b);
      }
    }
  }

  void compare(const spec::TypedSpec &typed, const std::string &who,
               const std::vector<Operand> &got, const std::vector<Array> &expected) {
    std::vector<Array> absolute;
    if (!spec_.bound_text.empty())
      absolute = reference::evaluate(spec::analyse(parse(spec_.bound_text).data()), input_views_);
    for (std::size_t k = 0; k < got.size(); ++k) {
      const DType dtype = typed.outputs[k].dtype;
      const Agreement agreement = spec_.outputs[k].agreement;
      if (agreement == Agreement::None) continue;
      ++(agreement == Agreement::Bound ? bounds_ : comparisons_);
      for (std::int64_t e = 0; e < got[k].count(); ++e) {
        const ops::Scalar a = got[k].element(e), b = of_array(expected[k], e);
        if (same(a, b, dtype)) continue;
        if (agreement == Agreement::Bound && within_bound(a, b, dtype, absolute[k], e)) continue;
        report(typed, who, k, e, a, "the reference", b);
      }
    }
  }

  // 64 u sum|x| from the order of summation, and the last rounding of either side.
  static bool within_bound(ops::Scalar a, ops::Scalar b, DType dtype, const Array &absolute,
                           std::int64_t e) {
    const double sum = ops::as_f64(of_array(absolute, e));
    return part_within_bound(as_double(a.bits, dtype), as_double(b.bits, dtype), dtype, sum) &&
           part_within_bound(as_double(a.imag, dtype), as_double(b.imag, dtype), dtype, sum);
  }

  static bool part_within_bound(double x, double y, DType dtype, double sum) {
    const double largest = dtype == DType::F16 ? 65504 : std::numeric_limits<double>::max();
    if (!std::isfinite(sum) || !std::isfinite(x) || !std::isfinite(y))
      return !std::isfinite(sum) || sum >= largest / 4;
    return std::fabs(x - y) <= 64 * 0x1p-53 * sum + 2 * last_rounding(y, dtype);
  }

  static double last_rounding(double y, DType dtype) {
    switch (real_dtype(dtype)) {
    case DType::F16: return 0x1p-11 * std::fabs(y) + 0x1p-25;
    case DType::BF16: return 0x1p-8 * std::fabs(y) + 0x1p-134;
    case DType::F32: return 0x1p-24 * std::fabs(y) + 0x1p-149;
    default: return 0;
    }
  }

  static ops::Scalar of_array(const Array &array, std::int64_t e) {
    return ops::load(static_cast<const char *>(array.raw()) +
                         e * std::int64_t(size_of(array.dtype())),
                     array.dtype());
  }

  void report(const spec::TypedSpec &typed, const std::string &who, std::size_t output,
              std::int64_t element, ops::Scalar got, const std::string &other,
              ops::Scalar expected) const {
    const DType dtype = typed.outputs[output].dtype;
    const std::string where = "output " + typed.outputs[output].name + " " +
                              shown(initial_[output].layout()) + ", element " +
                              std::to_string(element) + " in C order: ";
    FAIL(where << who << " gives " << shown(got, dtype) << ", " << other << " "
               << shown(expected, dtype));
  }

  RandomSpec spec_;
  Random random_;
  std::vector<Operand> inputs_, initial_;
  std::vector<AnyView> input_views_;
  int comparisons_ = 0, bounds_ = 0;
};

TEST_CASE("interpreter, native code and reference agree on random kernels") {
  const std::uint64_t first = from_environment("BROADLOOM_SEED", 1);
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", default_count);
  int comparisons = 0, bounds = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed);
    Case c(seed);
    c.run(seed % 16 == 0 || count == 1);
    comparisons += c.comparisons();
    bounds += c.bounds();
  }
  MESSAGE(count << " kernels: " << comparisons << " outputs equal to the reference, " << bounds
                << " within the bound of a sum");
  if (count >= 100) { // the generator has not gone astray
    CHECK(comparisons > int(count) / 2);
    CHECK(bounds > 0);
  }
}

} // namespace
} // namespace broadloom::differential
