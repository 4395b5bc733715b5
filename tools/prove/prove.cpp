// See prove.hpp.
#include "tools/prove/prove.hpp"

#include "tools/prove/reference.hpp"
#include "tools/prove/samples.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <mutex>
#include <thread>

namespace broadloom::prove {
namespace {

using jit::ArrayForm;
using Clock = std::chrono::steady_clock;

constexpr std::size_t block_size = 1 << 12;
constexpr double wrong = std::numeric_limits<double>::infinity();
constexpr int mpfr_bits = 256;

template <class T> using Wider = std::conditional_t<sizeof(T) == 4, double, long double>;

// |result - exact| in ulps of the exact value. Overflow is a step beyond the greatest finite value.
template <class T, class W> double ulps(T result, W exact, double scale) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(result) || std::isnan(exact)) return wrong;
  if (result == 0 && exact == 0) return wrong; // signs differ, or the caller would not ask
  if (std::isinf(exact)) return wrong;
  const W limit = std::ldexp(W(1), Limits::max_exponent);
  const W from = std::clamp(exact, -limit, limit);
  const W measure = std::max(std::fabs(from), W(scale));
  const int exponent = std::clamp(measure == 0 ? Limits::min_exponent - 1 : std::ilogb(measure),
                                  Limits::min_exponent - 1, Limits::max_exponent - 1);
  const W ulp = std::ldexp(W(1), exponent - Limits::digits + 1);
  return double(std::fabs(std::clamp(W(result), -limit, limit) - from) / ulp);
}

// MPFR's value of one function, kept for one argument.
template <class T> class Exactly {
public:
  explicit Exactly(const Reference &reference) : reference_(reference) {
    for (mpfr_ptr v : {x_, y_, value_, rest_}) mpfr_init2(v, mpfr_bits);
  }
  ~Exactly() {
    for (mpfr_ptr v : {x_, y_, value_, rest_}) mpfr_clear(v);
  }
  Exactly(const Exactly &) = delete;
  Exactly &operator=(const Exactly &) = delete;

  void at(T x, T y) {
    mpfr_set_d(x_, x, MPFR_RNDN);
    mpfr_set_d(y_, y, MPFR_RNDN);
    reference_.exact(value_, x_, y_);
    scale_ = reference_.scale_at(x, y);
    ++count;
  }
  T rounded() {
    if constexpr (sizeof(T) == 4) return mpfr_get_flt(value_, MPFR_RNDN);
    return T(mpfr_get_d(value_, MPFR_RNDN));
  }
  // The same as above. The difference may need all digits of MPFR, its size does not.
  double ulps_of(T result) {
    if (mpfr_nan_p(value_) || mpfr_inf_p(value_) || std::isnan(result)) return wrong;
    if (result == 0 && mpfr_zero_p(value_)) return wrong;
    const long double near = mpfr_get_ld(value_, MPFR_RNDN);
    if (std::isinf(result) || std::isinf(T(near)))
      return ulps<T, long double>(result, near, scale_);
    mpfr_sub_d(rest_, value_, double(result), MPFR_RNDN);
    const long double off = mpfr_get_ld(rest_, MPFR_RNDN);
    const double unit = ulps<T, long double>(0, near, scale_); // |near| in its ulps
    return unit == wrong || near == 0
               ? double(std::fabs(off)) / double(std::numeric_limits<T>::denorm_min())
               : double(std::fabs(off / near)) * unit;
  }

  std::uint64_t count = 0;

private:
  const Reference &reference_;
  mpfr_t x_, y_, value_, rest_;
  double scale_ = 0;
};

// The exact value lies between low and high.
template <class W> struct Near {
  W value, low, high;
  double doubt; // in ulps of the result
};

template <class T> Wider<T> wider_value(const Reference &reference, T x, T y) {
  if constexpr (sizeof(T) == 4)
    return reference.in_double(x, y);
  else
    return reference.in_long_double(x, y);
}

// Arguments of a function with `halves` below this are next to a tie.
template <class T> constexpr T tiny = T(0x1p-70);
// What the wider value may be off: 2^12 ulps of double, 8 of long double.
template <class T> constexpr Wider<T> margin = sizeof(T) == 4 ? 0x1p-40 : 0x1p-60;

template <class T> Near<Wider<T>> near_to(const Reference &reference, T x, T y, Wider<T> value) {
  using W = Wider<T>;
  const W rounding =
      W(std::fabs(reference.summand_at(x, y))) * 8 * std::numeric_limits<W>::epsilon();
  double doubt = sizeof(T) == 4 ? 0x1p-11 : 0.01 + reference.doubt_at(x, y);
  if (rounding > 0)
    doubt += double(rounding / (std::fabs(value) * std::numeric_limits<T>::epsilon() / 2));
  if (reference.halves && std::fabs(x) < tiny<T>) {
    const W low = std::nextafter(W(x) / 2, std::numeric_limits<W>::infinity());
    return {value, x == 0 ? W(x) / 2 : low, x == 0 ? W(x) / 2 : std::nextafter(low, W(1)), doubt};
  }
  const W off = std::fabs(value) * (margin<T> + W(reference.doubt_at(x, y)) * W(0x1p-52)) +
                W(reference.scale_at(x, y)) * margin<T> * W(0x1p-3) + rounding;
  if (!std::isfinite(value)) return {value, value, value, doubt};
  return {value, value - off, value + off, doubt};
}

template <class T> class Prover {
public:
  Prover(std::string_view name, std::span<const ArrayForm<T>> forms, const Options &options)
      : options_(options), reference_(*reference_of(name)) {
    proof_.name = name;
    for (const ArrayForm<T> &form : forms) {
      if (form.name != name) continue;
      forms_.push_back(&form);
      proof_.arity = form.arity;
      proof_.findings.push_back({});
      proof_.findings.back().accuracy = form.accuracy;
    }
    if (enumerates()) {
      proof_.inputs = ((std::uint64_t{1} << 32) + options.stride - 1) / options.stride;
      proof_.all = options.stride == 1;
    } else {
      proof_.inputs = options.samples + edge_count<T>();
    }
  }

  Proof<T> run() {
    const Clock::time_point start = Clock::now();
    const unsigned count =
        options_.threads ? options_.threads : std::max(1u, std::thread::hardware_concurrency());
    {
      std::vector<std::jthread> threads;
      for (unsigned i = 1; i < count; ++i) threads.emplace_back([this] { work(false); });
      work(true);
    }
    proof_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return proof_;
  }

private:
  using W = Wider<T>;
  using Findings = std::vector<Finding<T>>;
  struct Arguments {
    T x[block_size], y[block_size];
    std::size_t count;
  };
  // The results of all forms for one block.
  struct Results {
    T scalar[block_size], v3[block_size], v4[block_size];
  };

  bool enumerates() const { return sizeof(T) == 4 && proof_.arity == 1; }

  void fill(std::uint64_t block, Arguments &args) const {
    const std::uint64_t first = block * block_size;
    args.count = std::size_t(std::min<std::uint64_t>(block_size, proof_.inputs - first));
    for (std::size_t i = 0; i < args.count; ++i) {
      args.y[i] = 0;
      if (enumerates()) {
        args.x[i] = T(std::bit_cast<float>(std::uint32_t((first + i) * options_.stride)));
      } else if (proof_.arity == 1) {
        args.x[i] = sample<T>(first + i);
      } else {
        const bool near_one = reference_.summand != nullptr && (first + i) % 4 == 3;
        const auto [x, y] = near_one ? sample_near_one<T>(first + i) : sample_pair<T>(first + i);
        args.x[i] = x;
        args.y[i] = y;
      }
    }
  }

  void work(bool speaks) {
    Arguments args;
    std::vector<Results> results(forms_.size());
    // Not those of proof_, to which a quicker thread may have added its own by now.
    Findings found(forms_.size());
    Exactly<T> exactly(reference_);
    const std::uint64_t blocks = (proof_.inputs + block_size - 1) / block_size;
    Clock::time_point spoke = Clock::now();
    for (std::uint64_t block; (block = next_++) < blocks;) {
      fill(block, args);
      const bool scalar = !has_v3_ || block % options_.scalar_every == 0;
      for (std::size_t f = 0; f < forms_.size(); ++f)
        compute(*forms_[f], args, scalar, results[f], found[f]);
      judge(args, results, found, exactly);
      if (speaks && Clock::now() - spoke > std::chrono::seconds(2)) {
        spoke = Clock::now();
        std::fprintf(stderr, "\r%-10s %s %5.1f %%", std::string(proof_.name).c_str(),
                     sizeof(T) == 4 ? "f32" : "f64", 100.0 * double(block) / double(blocks));
      }
    }
    if (speaks) std::fprintf(stderr, "\r%40s\r", "");
    const std::lock_guard lock(mutex_);
    proof_.by_mpfr += exactly.count;
    for (std::size_t f = 0; f < found.size(); ++f) add(found[f], proof_.findings[f]);
    mpfr_free_cache();
  }

  static void add(const Finding<T> &part, Finding<T> &whole) {
    if (part.worst > whole.worst) {
      whole.worst = part.worst;
      whole.worst_x = part.worst_x;
      whole.worst_y = part.worst_y;
    }
    for (const auto &example : part.examples)
      if (whole.examples.size() < most_examples) whole.examples.push_back(example);
    whole.misrounded += part.misrounded;
    if (part.unequal) {
      whole.unequal_x = part.unequal_x;
      whole.unequal_y = part.unequal_y;
    }
    whole.unequal += part.unequal;
    whole.hash += part.hash;
  }

  // The result that is judged is the widest form's; the others must have its bits.
  const T *judged(const Results &r) const { return has_v4_ ? r.v4 : has_v3_ ? r.v3 : r.scalar; }

  void compute(const ArrayForm<T> &form, const Arguments &args, bool scalar, Results &r,
               Finding<T> &found) {
    if (scalar) form.scalar(args.count, args.x, args.y, r.scalar);
    if (has_v3_) form.v3(args.count, args.x, args.y, r.v3);
    if (has_v4_) form.v4(args.count, args.x, args.y, r.v4);
    const T *result = judged(r);
    for (std::size_t i = 0; i < args.count; ++i) {
      found.hash += fingerprint(args.x[i], args.y[i], result[i]);
      if ((!scalar || same_bits(result[i], r.scalar[i])) &&
          (!has_v3_ || same_bits(result[i], r.v3[i]))) {
        continue;
      }
      ++found.unequal;
      found.unequal_x = args.x[i];
      found.unequal_y = args.y[i];
    }
  }

  // Marks the arguments of which a quick look does not show that all forms round correctly. These
  // loops see every argument, so they are written for the compiler to vectorise.
  void find_open(const Arguments &args, const std::vector<Results> &results, const W *values,
                 unsigned char *open) const {
    if (reference_.scale != nullptr || reference_.doubt != nullptr ||
        reference_.summand != nullptr) {
      std::fill(open, open + args.count, 1);
      return;
    }
    T correct[block_size];
    for (std::size_t i = 0; i < args.count; ++i) {
      correct[i] = T(values[i] * (1 - margin<T>));
      const T high = T(values[i] * (1 + margin<T>));
      const bool doubtful = (correct[i] != high) & (correct[i] == correct[i]);
      open[i] = doubtful | (reference_.halves & (std::fabs(args.x[i]) < tiny<T>));
    }
    for (const Results &form : results) {
      const T *result = judged(form);
      for (std::size_t i = 0; i < args.count; ++i) {
        const auto here = std::bit_cast<BitsOf<T>>(result[i]);
        const auto right = std::bit_cast<BitsOf<T>>(correct[i]);
        open[i] |= (here != right) & !((result[i] != result[i]) & (correct[i] != correct[i]));
      }
    }
  }

  void judge(const Arguments &args, const std::vector<Results> &results, Findings &found,
             Exactly<T> &exactly) {
    W values[block_size];
    unsigned char open[block_size];
    for (std::size_t i = 0; i < args.count; ++i)
      values[i] = wider_value<T>(reference_, args.x[i], args.y[i]);
    find_open(args, results, values, open);
    for (std::size_t i = 0; i < args.count; ++i) {
      if (!open[i]) continue;
      const T x = args.x[i], y = args.y[i];
      const Near<W> near = near_to<T>(reference_, x, y, values[i]);
      T correct = T(near.low);
      bool asked = false; // MPFR
      const auto ask = [&] {
        if (!asked) exactly.at(x, y);
        asked = true;
      };
      if (!same_bits(correct, T(near.high))) {
        ask();
        correct = exactly.rounded();
      }
      for (std::size_t f = 0; f < found.size(); ++f) {
        const T result = judged(results[f])[i];
        if (same_bits(result, correct)) continue;
        Finding<T> &here = found[f];
        // Right but for the sign of a zero that only an absolute error bounds.
        const double scale = reference_.scale_at(x, y);
        if (result == correct && scale > 0) continue;
        ++here.misrounded;
        if (here.examples.size() < most_examples) here.examples.push_back({x, y});
        if (ulps<T, W>(result, near.value, scale) + near.doubt <= here.worst) continue;
        ask();
        const double error = exactly.ulps_of(result);
        if (error > here.worst) {
          here.worst = error;
          here.worst_x = x;
          here.worst_y = y;
        }
      }
    }
  }

  const Options &options_;
  const Reference &reference_;
  const bool has_v3_ = jit::has_v3(), has_v4_ = jit::has_v4();
  std::vector<const ArrayForm<T> *> forms_;
  Proof<T> proof_;
  std::atomic<std::uint64_t> next_ = 0;
  std::mutex mutex_;
};

} // namespace

template <class T>
Proof<T> prove(std::string_view name, std::span<const ArrayForm<T>> forms, const Options &options) {
  return Prover<T>(name, forms, options).run();
}
template Proof<float> prove(std::string_view, std::span<const ArrayForm<float>>, const Options &);
template Proof<double> prove(std::string_view, std::span<const ArrayForm<double>>, const Options &);

template <class T> Proof<T> prove(std::string_view name, const Options &options) {
  return prove<T>(name, jit::array_forms<T>(), options);
}
template Proof<float> prove(std::string_view, const Options &);
template Proof<double> prove(std::string_view, const Options &);

} // namespace broadloom::prove
