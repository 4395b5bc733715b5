// Kernels with parameters on random data, as written and with their scales folded.
#pragma once

#include <broadloom/broadloom.hpp>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace broadloom::tests {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;
using Values = std::vector<std::vector<double>>; // of each output

// The inputs of a kernel: between -1 and 1 (data not below 0 where `not_negative`), of the sign
// that is declared. Parameters whose names begin with s are scales: powers of 4 where `powers`, so
// that factors of them, their squares and their roots round nothing.
class Filled {
public:
  Filled(const Kernel &kernel, const Shapes &shapes, std::uint64_t seed, bool powers)
      : random_(seed), infos_(kernel.inputs()) {
    for (const InputInfo &info : infos_) {
      Array array(info.dtype, std::span<const std::int64_t>(shapes.at(info.name)));
      std::int64_t count = 1;
      for (const std::int64_t extent : array.shape()) count *= extent;
      for (std::int64_t k = 0; k < count; ++k) {
        const double value = element(info, powers);
        if (info.dtype == DType::F32)
          array.data<float>()[k] = float(value);
        else
          array.data<double>()[k] = value;
      }
      arrays_.push_back(std::move(array));
    }
  }

  Values run(const LoopSpec &spec, Engine engine) const {
    std::vector<NamedView> views;
    for (std::size_t k = 0; k < infos_.size(); ++k) views.push_back({infos_[k].name, arrays_[k]});
    const Kernel kernel = compile(spec, {.threads = 2, .engine = engine});
    Values values;
    for (const auto &[name, array] : kernel.call(views)) {
      std::int64_t count = 1;
      for (const std::int64_t extent : array.shape()) count *= extent;
      std::vector<double> &out = values.emplace_back();
      for (std::int64_t k = 0; k < count; ++k)
        out.push_back(array.dtype() == DType::F32 ? double(array.template data<float>()[k])
                      : array.dtype() == DType::F64
                          ? array.template data<double>()[k]
                          : double(array.template data<std::int64_t>()[k]));
    }
    return values;
  }

private:
  double element(const InputInfo &info, bool powers) {
    const bool scale = info.role == InputRole::parameter && info.name[0] == 's';
    double value = std::uniform_real_distribution<double>(-1, 1)(random_);
    if (scale && powers) value = (value < 0 ? -1 : 1) * std::pow(4, int(random_() % 3) - 1);
    if (info.role != InputRole::parameter) return value;
    switch (info.sign) {
    case Sign::any:
    case Sign::nonzero: return value;
    case Sign::positive:
    case Sign::nonnegative: return std::fabs(value);
    case Sign::negative:
    case Sign::nonpositive: return -std::fabs(value);
    }
    return value;
  }

  std::mt19937_64 random_;
  std::vector<InputInfo> infos_;
  std::vector<Array> arrays_;
};

// The greatest distance of two results, over the greatest value of their output; NaN meets NaN.
inline double distance(const Values &a, const Values &b) {
  double worst = a.size() == b.size() ? 0 : HUGE_VAL;
  for (std::size_t o = 0; o < a.size() && o < b.size(); ++o) {
    double greatest = 0, difference = a[o].size() == b[o].size() ? 0 : HUGE_VAL;
    for (std::size_t k = 0; k < a[o].size() && k < b[o].size(); ++k) {
      if (std::isnan(a[o][k]) && std::isnan(b[o][k])) continue;
      greatest = std::fmax(greatest, std::fabs(a[o][k]));
      const double off = std::fabs(a[o][k] - b[o][k]);
      difference = std::isnan(off) ? HUGE_VAL : std::fmax(difference, off);
    }
    worst = std::fmax(worst, difference / (greatest > 0 ? greatest : 1));
  }
  return worst;
}

} // namespace broadloom::tests
