// broadloom-prove: holds the vector math to its promises, over all 2^32 arguments of f32.
//
// For each function: the worst error in each mode, how many results are not correctly rounded, and
// whether the scalar, AVX2 and AVX-512 forms give the same bits. high may be off by 1 ulp, exact
// (f32) by a correct rounding, fast by 4 ulp; the exit status is 1 if one of them is more.
#include "jit/math/array_table.hpp"
#include "tools/prove/complex.hpp"
#include "tools/prove/prove.hpp"
#include "tools/prove/reference.hpp"
#include "tools/prove/report.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>

namespace broadloom::prove {
namespace {

struct Settings {
  std::vector<std::string> functions, modes, types;
  std::string report;
  bool complex = false;
  Options options;
};

bool chosen(const std::vector<std::string> &list, std::string_view word) {
  return list.empty() || std::find(list.begin(), list.end(), word) != list.end();
}

template <class T> constexpr const char *dtype = sizeof(T) == 4 ? "f32" : "f64";

std::string text(const char *format, auto... values) {
  char buffer[200];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

// 9 and 17 digits tell all values apart; hexadecimal ones can be pasted into a test.
template <class T> std::string argument(int arity, T x, T y) {
  std::string result = text("%a", double(x));
  if (arity == 2) result += text(", %a", double(y));
  return result;
}

std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (int i = int(digits.size()) - 3; i > 0; i -= 3) digits.insert(std::size_t(i), ",");
  return digits;
}

class Report {
public:
  explicit Report(const Settings &settings) : settings_(settings) {}

  template <class T> void prove_all(std::string_view name) {
    const auto forms = jit::array_forms<T>();
    const bool known = std::any_of(forms.begin(), forms.end(),
                                   [&](const jit::ArrayForm<T> &f) { return f.name == name; });
    if (!known || !chosen(settings_.types, dtype<T>)) return;
    const Proof<T> proof = prove<T>(name, settings_.options);
    seconds_ += proof.seconds;
    add(proof, proof.findings.front(), Accuracy::high);
    if (sizeof(T) == 8) return; // one form, one mode
    for (const Accuracy mode : {Accuracy::exact, Accuracy::fast}) {
      const auto own = std::find_if(proof.findings.begin(), proof.findings.end(),
                                    [&](const Finding<T> &f) { return f.accuracy == mode; });
      if (own != proof.findings.end())
        add(proof, *own, mode);
      else if (mode == Accuracy::exact) // the high form serves
        add(proof, proof.findings.front(), mode);
    }
  }

  // Two ulps of distance in the plane are allowed.
  void prove_all_complex() {
    for (const std::string_view name : complex_functions()) {
      if (!chosen(settings_.functions, name)) continue;
      for (const DType type : {DType::C64, DType::C128}) {
        const ComplexProof proof = prove_complex(name, type, settings_.options.samples / 100);
        const bool too_far = !(proof.worst <= 2);
        std::string at = text("%a%+aj", proof.x.real(), proof.x.imag());
        if (name == "pow") at += text(", %a%+aj", proof.y.real(), proof.y.imag());
        const std::string dtype(broadloom::name(type)), worst = text("%.4g", proof.worst);
        std::printf("%-10s %-5s %8s %13s  worst at %s%s\n", std::string(name).c_str(),
                    dtype.c_str(), worst.c_str(), grouped(proof.inputs).c_str(), at.c_str(),
                    too_far ? "  BROKEN" : "");
        std::fflush(stdout);
        // Powers of c128 promise less: docs/math.md.
        broken_ += too_far && !(name == "pow" && type == DType::C128);
        rows_.push_back(
            {std::string(name), dtype, "", worst, '`' + at + '`', "", grouped(proof.inputs)});
      }
    }
  }

  int finish() {
    std::printf("%zu rows, %d of them broken, in %.0f s\n", rows_.size(), broken_, seconds_);
    if (!settings_.report.empty()) {
      const char *table = settings_.complex ? "complex" : "accuracy";
      update_table(settings_.report, table, rows_, names());
    }
    return broken_ ? 1 : 0;
  }

  static std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const auto &form : jit::array_forms<double>()) names.emplace_back(form.name);
    return names;
  }

private:
  template <class T> void add(const Proof<T> &proof, const Finding<T> &found, Accuracy mode) {
    const std::string word(jit::word_for(mode));
    if (!chosen(settings_.modes, word)) return;
    const double bound = mode == Accuracy::fast ? 4.0 : 1.0;
    const bool too_far = mode == Accuracy::exact ? found.misrounded > 0 : !(found.worst <= bound);
    const std::string name(proof.name),
        worst = text("%.4f", found.worst),
        at = found.worst > 0.5 ? argument(proof.arity, found.worst_x, found.worst_y) : "";
    if (rows_.empty()) {
      std::printf("%-10s %-5s %-5s %8s %13s %13s  %-18s %7s\n", "function", "dtype", "mode",
                  "max ulp", "misrounded", "inputs", "hash", "seconds");
    }
    std::printf("%-10s %-5s %-5s %8s %13s %13s  %016llx   %7.1f  %s\n", name.c_str(), dtype<T>,
                word.c_str(), worst.c_str(), grouped(found.misrounded).c_str(),
                grouped(proof.inputs).c_str(), (unsigned long long)found.hash, proof.seconds,
                at.empty() ? "" : ("worst at " + at).c_str());
    if (too_far) {
      std::printf("  BROKEN: %s is %s", word.c_str(),
                  mode == Accuracy::exact ? "to be correctly rounded"
                                          : "off by more than its bound");
      if (mode == Accuracy::exact)
        for (const auto &[x, y] : found.examples)
          std::printf("%s%s", &x == &found.examples[0].first ? ", as at " : " and ",
                      argument(proof.arity, x, y).c_str());
      std::printf("\n");
    }
    if (found.unequal) {
      std::printf("  BROKEN: the forms differ at %s arguments, as at %s\n",
                  grouped(found.unequal).c_str(),
                  argument(proof.arity, found.unequal_x, found.unequal_y).c_str());
    }
    broken_ += too_far || found.unequal;
    std::fflush(stdout);
    rows_.push_back({name, dtype<T>, word, worst, at.empty() ? "" : '`' + at + '`',
                     grouped(found.misrounded), proof.all ? "all 2^32" : grouped(proof.inputs)});
  }

  const Settings &settings_;
  std::vector<Row> rows_;
  int broken_ = 0;
  double seconds_ = 0;
};

int run(int argc, char **argv) {
  CLI::App app{"Holds every math function to the error bounds of its accuracy modes.", "prove"};
  Settings settings;
  app.add_option("function", settings.functions, "only these functions");
  app.add_option("--mode", settings.modes, "only these modes: high, exact, fast");
  app.add_option("--dtype", settings.types, "only these types: f32, f64");
  app.add_option("--stride", settings.options.stride, "every Nth f32 instead of all 2^32")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32));
  app.add_option("--samples", settings.options.samples,
                 "arguments of f64 and of functions of two arguments (10000000)");
  app.add_option("--threads", settings.options.threads, "instead of as many as there are cores");
  app.add_option("--scalar-every", settings.options.scalar_every,
                 "the scalar form, the slowest, sees one in N blocks of 4096 arguments (16)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32));
  app.add_flag("--complex", settings.complex, "the functions of complex numbers instead");
  app.add_option("--report", settings.report,
                 "rewrite the rows of the accuracy table in this file");
  CLI11_PARSE(app, argc, argv);

  Report report(settings);
  if (settings.complex) {
    report.prove_all_complex();
    return report.finish();
  }
  const std::vector<std::string> names = Report::names();
  for (const std::string &function : settings.functions) {
    if (!chosen(names, function)) {
      std::fprintf(stderr, "prove: there is no function '%s'\n", function.c_str());
      return 2;
    }
  }
  for (const bool here : {jit::has_v3(), jit::has_v4()})
    if (!here) std::fprintf(stderr, "prove: this machine cannot run all vector forms\n");
  int missing = 0;
  for (const std::string &name : names) {
    if (!chosen(settings.functions, name)) continue;
    if (!reference_of(name)) {
      std::fprintf(stderr, "prove: %s has no row in tools/prove/reference.cpp\n", name.c_str());
      ++missing;
      continue;
    }
    report.prove_all<float>(name);
    report.prove_all<double>(name);
  }
  return std::max(report.finish(), missing ? 1 : 0);
}

} // namespace
} // namespace broadloom::prove

int main(int argc, char **argv) {
  try {
    return broadloom::prove::run(argc, argv);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "prove: %s\n", error.what());
    return 2;
  }
}
