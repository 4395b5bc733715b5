// See random_transposed.hpp.
#include "random_transposed.hpp"

#include <cstdlib>

namespace broadloom::differential {
namespace {

class Maker {
public:
  Maker(Random &random, DType dtype, bool large) : random_(random), large_(large) {
    for (RandomInput *input : {&x_, &d_, &k_}) input->dtype = dtype;
  }

  RandomTransposed run() {
    const int dims = random_.chance(60) ? 1 : 2;
    for (int d = 0; d < dims; ++d) add_dim(d, dims);
    if (random_.chance(40)) add_channels();
    const std::string read = padded_ + "[" + at_ + "]";
    std::string value = random_.chance(70) ? "rd * rk" : "where(rd > 0, rd * rk, 0)";
    if (random_.chance(15)) value = "rd * rk * " + read;
    // The index of an axis that is folded, of one that the positions give, or of one in the second
    // sum. Drawn from what is drawn.
    const std::int64_t kind = (d_.shape[0] + 3 * k_.shape[0]) % 8;
    if (kind == 1) value = "where(iota(b0, of=" + read + ") >= 1, " + value + ", 0)";
    if (kind == 2) value = "where(iota(a0, of=" + read + ") % 2 == 1, " + value + ", 0)";
    const std::string more =
        kind == 3 ? " + sum(where(iota(b0, of=" + read + ") >= 1, rd, 0), like=" + read + ")" : "";
    RandomTransposed made;
    made.lines = {line(x_, dims_of_x_), line(d_, dims_of_d_), line(k_, dims_of_k_)};
    made.inputs = {x_, d_, k_};
    made.value = "sum(" + value + ", like=" + read + ")" + more;
    return made;
  }

private:
  static std::string line(const RandomInput &input, const std::string &dims) {
    return "in " + input.name + " : " + std::string(name(input.dtype)) + "[" + dims + "]";
  }

  static void list(std::string &text, const std::string &item) {
    text += (text.empty() ? "" : ", ") + item;
  }

  void add_dim(int d, int dims) {
    const std::string number = std::to_string(d), a = "a" + number, b = "b" + number;
    const int step = random_.pick<int>({1, 1, 2, 2, 2, 3, -2}),
              dilation = random_.pick<int>({1, 1, 1, 2, 3, -1});
    const std::int64_t taps = random_.between(1, 5);
    const std::int64_t count = !large_     ? random_.between(1, dims == 1 ? 60 : 14)
                               : dims == 1 ? random_.between(2000, 40000)
                                           : random_.between(30, 150);
    const std::int64_t far = std::abs(step) * (count - 1), wide = std::abs(dilation) * (taps - 1);
    std::int64_t extent = far + wide + 1 + random_.below(3);
    const std::int64_t start =
        random_.below(int(extent - far - wide)) + (step < 0 ? far : 0) + (dilation < 0 ? wide : 0);
    if (random_.chance(30)) {
      const std::int64_t before = random_.below(3), after = random_.below(3);
      const std::string mode = random_.pick<std::string>({"zero", "edge", "wrap", "reflect", "2"});
      padded_ = "pad(" + padded_ + ", " + number + ": (" + std::to_string(before) + ", " +
                std::to_string(after) + "), " + mode + ")";
      extent = std::max<std::int64_t>(extent - before - after, 1);
    }
    x_.shape.push_back(extent);
    d_.shape.push_back(count);
    k_.shape.push_back(taps);
    list(dims_of_x_, ":");
    list(dims_of_d_, a);
    list(dims_of_k_, b);
    const auto times = [](int n, const std::string &axis) {
      return (n < 0 ? " - " : " + ") + (std::abs(n) == 1 ? "" : std::to_string(std::abs(n)) + "*") +
             axis;
    };
    list(at_, std::to_string(start) + times(step, a) + times(dilation, b));
  }

  void add_channels() {
    const std::int64_t in = random_.between(1, 20), out = random_.between(1, 20);
    list(dims_of_x_, ":");
    list(at_, "cc");
    x_.shape.push_back(in);
    list(dims_of_k_, "cc, oo");
    k_.shape.push_back(in);
    k_.shape.push_back(out);
    list(dims_of_d_, "oo");
    d_.shape.push_back(out);
  }

  Random &random_;
  const bool large_;
  RandomInput x_{"rx", DType::F32, {}}, d_{"rd", DType::F32, {}}, k_{"rk", DType::F32, {}};
  std::string dims_of_x_, dims_of_d_, dims_of_k_, at_, padded_ = "rx";
};

} // namespace

RandomTransposed random_transposed(Random &random, DType dtype, bool large) {
  return Maker(random, dtype, large).run();
}

} // namespace broadloom::differential
