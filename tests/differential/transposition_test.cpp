// Order c is order f seen from the other end: c(op)(x, y) == T(f(op)(Tx, Ty)), where T reverses all
// axes.
//
// Random kernels are written twice: in order c, and in order f with every axis a named as n - 1 - a
// and every list of axes reversed. The second runs on transposed views of the same memory, so its
// folds have the very same trees and the bits must be equal; and on dense copies, whose trees may
// differ, with data that every tree sums exactly.
#include "random.hpp"
#include "same_bits.hpp"

#include <doctest/doctest.h>

namespace broadloom::differential {
namespace {

const std::vector<std::string> folds{"sum", "prod", "min", "max", "any", "all", "mean"};

struct Input {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape; // in order c: dim k lies on axis k
  std::vector<int> dims;           // of `dims()`, if any
};

class Duo {
public:
  explicit Duo(std::uint64_t seed) : random_(seed) {
    rank_ = random_.between(1, 4);
    for (int a = 0; a < rank_; ++a)
      extents_.push_back(random_.pick<std::int64_t>({1, 2, 3, 5, 17, 40}));
    inputs_.push_back({"x", random_.pick<DType>({f32, f64, i32}), extents_, {}});
    for (const char *name : {"y", "w"}) add_input(name);
    for (int k = 0; k < 3; ++k) add_output();
  }

  void run(bool exact) {
    std::vector<Array> arrays;
    for (const Input &in : inputs_) arrays.push_back(filled(in, exact));
    INFO(text_of(true));
    const bool is_wrong = code_of(true) != "";
    CHECK(code_of(true) == code_of(false));
    if (is_wrong) return;
    for (const Engine engine : {Engine::interpreter, Engine::jit}) {
      const Results c = results(true, engine, [&](std::size_t k) { return arrays[k]; });
      const Results f =
          results(false, engine, [&](std::size_t k) { return arrays[k].transposed(); });
      for (std::size_t k = 0; k < c.size(); ++k) CHECK(same_bits(c[k], f[k].transposed()));
      if (!exact || rounds_anyway()) continue;
      const Results dense =
          results(false, engine, [&](std::size_t k) { return arrays[k].transposed().copy(); });
      for (std::size_t k = 0; k < c.size(); ++k) CHECK(same_bits(c[k], dense[k].transposed()));
    }
  }

private:
  // Products and means of small whole numbers are none.
  bool rounds_anyway() const {
    const std::string text = text_of(true);
    return text.find("prod") != std::string::npos || text.find("mean") != std::string::npos;
  }

  void add_input(const char *name) {
    Input in{name, random_.pick<DType>({f32, f64, i64, f16}), {}, {}};
    const int rank = random_.between(0, rank_);
    std::vector<int> axes;
    for (int a = 0; a < rank; ++a) axes.push_back(a);
    if (random_.chance(30)) {
      in.dims.clear();
      for (int a = 0; a < rank_; ++a)
        if (random_.chance(50)) in.dims.push_back(a);
      axes = in.dims;
    }
    for (const int a : axes) in.shape.push_back(random_.chance(15) ? 1 : extents_[std::size_t(a)]);
    inputs_.push_back(std::move(in));
  }

  // An axis, a list of axes: as they are named in order c and in order f.
  std::string axis(int a, bool c) const { return std::to_string(c ? a : rank_ - 1 - a); }
  std::string list(std::vector<int> axes, bool c) const {
    if (!c) axes = {axes.rbegin(), axes.rend()};
    std::string text;
    for (const int a : axes) text += (text.empty() ? "" : ", ") + axis(a, c);
    return text;
  }
  std::vector<int> some_axes(int percent) {
    std::vector<int> axes;
    for (int a = 0; a < rank_; ++a)
      if (random_.chance(percent)) axes.push_back(a);
    return axes;
  }

  void add_output() {
    // Always x, which has all axes: where no input has two axes both, storage says nothing of their
    // order, the order of the axes decides how a fold walks them, and that is what is reversed
    // here.
    const std::string a = "x", b = random_.pick(inputs_).name;
    const int along = random_.below(rank_);
    const std::string op = random_.pick<std::string>({" + ", " * ", " - "}),
                      fold = random_.pick(folds);
    const std::string inner = random_.pick(folds);
    const int shape = random_.below(4), mode = random_.below(5);
    const std::vector<int> kept = some_axes(50);
    const auto value = [=, this](bool c) -> std::string {
      if (shape == 0) return "maximum(" + a + ", " + b + ")" + op + "2";
      if (shape == 1) return "x" + op + inner + "(x, " + axis(along, c) + ")";
      if (shape == 2) return "where(x > iota(" + axis(along, c) + "), " + a + op + b + ", x)";
      return a + op + b;
    };
    const auto head = [=, this](bool c) -> std::string {
      if (mode == 0) return " = ";
      if (mode == 1) return " = broadcast ";
      if (mode == 2) return " = accumulate(" + fold + ") ";
      if (mode == 3) return " = reduce(" + fold + ") ";
      return "[" + list(kept, c) + "] = reduce(" + fold + ") ";
    };
    for (const bool c : {true, false})
      (c ? c_lines_ : f_lines_)
          .push_back("  out o" + std::to_string(c_lines_.size() - !c) + head(c) + value(c));
  }

  std::string text_of(bool c) const {
    std::string text = std::string("kernel k {\n  order ") + (c ? "c\n" : "f\n");
    for (const Input &in : inputs_) {
      text += "  in " + in.name + " : " + std::string(name(in.dtype));
      for (std::size_t d = 0; d < in.shape.size(); ++d) text += d == 0 ? "[:" : ", :";
      if (!in.shape.empty()) text += "]";
      if (!in.dims.empty()) text += " dims(" + list(in.dims, c) + ")";
      text += "\n";
    }
    for (const std::string &line : c ? c_lines_ : f_lines_) text += line + "\n";
    return text + "}\n";
  }

  std::string code_of(bool c) const {
    try {
      check(parse(text_of(c)));
      return "";
    } catch (const InternalError &) {
      throw;
    } catch (const Error &error) {
      return error.code();
    }
  }

  template <class Of> Results results(bool c, Engine engine, const Of &array_of) const {
    std::vector<Array> arrays;
    for (std::size_t k = 0; k < inputs_.size(); ++k) arrays.push_back(array_of(k));
    std::vector<NamedView> views;
    for (std::size_t k = 0; k < inputs_.size(); ++k) views.push_back({inputs_[k].name, arrays[k]});
    return compile(parse(text_of(c)), {.threads = 1, .engine = engine}).call(views);
  }

  Array filled(const Input &in, bool exact) {
    Array array(in.dtype, in.shape);
    for (std::int64_t k = 0; k < array.size(); ++k) {
      const double value = exact ? random_.pick<double>({0, 1, -1, 2}) : 10 * random_.unit() - 5;
      ops::store(static_cast<char *>(array.raw()) + k * std::int64_t(size_of(in.dtype)), in.dtype,
                 ops::convert(ops::scalar_from(value), DType::F64, in.dtype));
    }
    return array;
  }

  Random random_;
  int rank_ = 0;
  std::vector<std::int64_t> extents_;
  std::vector<Input> inputs_;
  std::vector<std::string> c_lines_, f_lines_;
};

TEST_CASE("order c is order f on transposed operands, for every mode and fold") {
  const std::uint64_t first = from_environment("BROADLOOM_SEED", 1);
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", default_count) / 6 + 1;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed);
    Duo duo(seed);
    duo.run(false);
    duo.run(true);
  }
}

} // namespace
} // namespace broadloom::differential
