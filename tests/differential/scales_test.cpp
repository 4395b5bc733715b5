// Random networks, whose scales fold, against the reference, which computes them as written.
//
// Layers of random kinds (dense, convolution, depthwise) with random scales, shifts,
// normalisations, activations and pools before and behind them. By scales that are powers of 4,
// where no shift moves, the bits must be equal; else the results must be within 1e-5.
#include "tests/scale_runs.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>

namespace broadloom {
namespace {

struct Network {
  std::string text;
  tests::Shapes shapes;
  bool rounds = false; // even by powers of 4: normalisations divide by roots of sums
};

class Networks {
public:
  explicit Networks(std::uint64_t seed) : random_(seed) {}

  Network draw() {
    network_ = {};
    inputs_.clear();
    lets_.clear();
    before_.clear();
    next_ = 0;
    type_ = chance(2) ? "f32" : "f64";
    std::string value = first_layer();
    for (int layer = int(random_() % 3); layer > 0; --layer)
      value = spatial_ && chance(2) ? padded(around(value)) : dense(around(value));
    value = around(value);
    network_.text =
        "kernel network {\n  set scales = fold\n" + inputs_ + lets_ + "  out y = " + value + "\n" +
        (chance(3) ? "  out z = " + (before_.empty() ? last_ : before_) + " + 1\n" : "") + "}\n";
    return std::move(network_);
  }

private:
  bool chance(int of) { return random_() % std::uint64_t(of) == 0; }
  std::string fresh(const char *word) { return word + std::to_string(next_++); }

  std::string parameter(const char *word, const std::string &dims, std::vector<std::int64_t> shape,
                        const std::string &fact = "") {
    const std::string name = fresh(word);
    inputs_ +=
        "  param " + name + " : " + type_ + (dims.empty() ? "" : "[" + dims + "]") + fact + "\n";
    network_.shapes[name] = std::move(shape);
    return name;
  }
  std::string let(const std::string &value) {
    const std::string name = fresh("t");
    lets_ += "  let " + name + " = " + value + "\n";
    before_ = last_;
    return last_ = name;
  }

  std::string first_layer() {
    const int kind = int(random_() % 3);
    std::string read = kind == 0 ? "x" : "x[n, i + u, c]";
    channel_ = "c", channels_ = 3;
    const char *rows = chance(2) ? "[n, p=2, c]\n" : "[n, p, c]\n";
    inputs_ += "  in x : " + type_ + (kind == 0 ? rows : "[:, :, :]\n");
    network_.shapes["x"] = {3, kind == 0 ? 2 : 5, 3};
    pools_ = kind == 0 ? "p" : "";
    spatial_ = kind != 0;
    if (chance(2)) read = around(read);
    if (kind == 0) return dense(read);
    const std::string w =
        kind == 1 ? parameter("w", "u=2, c, o", {2, 3, 4}) : parameter("w", "u=2, c", {2, 3});
    if (kind == 1) channel_ = "o", channels_ = 4;
    return let("sum(" + read + " * " + w + (kind == 1 ? ", u, c)" : ", u)"));
  }

  // An array with borders, which a depthwise convolution, a pool or both read: of channels that may
  // have another name there.
  std::string padded(const std::string &value) {
    const std::string h = fresh("h");
    lets_ += "  let " + h + "[n, i, " + channel_ + "] = " + value + "\n";
    const char *borders[] = {"", "", "", ", edge", ", 1.", ", -inf"};
    const std::string border = borders[random_() % 6];
    if (chance(3)) channel_ = fresh("k");
    const auto read = [&](const std::string &along) {
      return "pad(" + h + ", 1: (1, 1)" + border + ")[n, i + " + along + ", " + channel_ + "]";
    };
    const std::string pool = "max(" + read("f") + ", f < 3)", along = fresh("at");
    if (border == ", -inf" || chance(4)) return let(pool);
    const std::string w = parameter("w", along + "=3, " + channel_, {3, channels_});
    const std::string sum = "sum(" + read(along) + " * " + w + ", " + along + ")";
    if (chance(4)) return let(sum + " + " + pool);
    return let(chance(4) ? sum + " + " + h + "[n, i, " + channel_ + "]" : sum);
  }

  std::string dense(const std::string &value) {
    const std::string to = fresh("k");
    const std::int64_t count = 2 + std::int64_t(random_() % 3);
    const std::string w =
        parameter("w", channel_ + ", " + to + "=" + std::to_string(count), {channels_, count});
    const std::string from = channel_;
    channel_ = to, channels_ = count;
    return let("sum(" + (chance(2) ? value + " * " + w : w + " * " + value) + ", " + from + ")");
  }

  // What may stand before and behind a layer.
  std::string around(std::string value) {
    for (int k = int(random_() % 4); k > 0; --k) value = let(one(value));
    return value;
  }

  std::string one(const std::string &value) {
    const std::vector<std::int64_t> shape{channels_};
    const char *facts[] = {"", " > 0", " > 0", " > 0", " < 0", " != 0"};
    const std::string fact = facts[random_() % 6];
    switch (random_() % 12) {
    case 0:
    case 1: return value + " * " + parameter("s", channel_, shape, fact);
    case 2: return parameter("s", channel_, shape, fact) + " * " + value;
    case 3: return value + " / " + parameter("s", channel_, shape, " > 0");
    case 4: return value + " * " + parameter("s", "", {}, fact);
    case 5: return value + " + " + parameter("b", channel_, shape);
    case 6: return value + " - " + parameter("b", channel_, shape);
    case 7: return "relu(" + value + ")";
    case 8: {
      const std::string name = let(value);
      return chance(2) ? "where(" + name + " > 0, " + name + ", 0.25 * " + name + ")"
                       : "maximum(" + name + ", 0.25 * " + name + ")";
    }
    case 9: {
      network_.rounds = true;
      const std::string mean = parameter("m", channel_, shape);
      const std::string var = parameter("v", channel_, shape, " >= 0");
      return "(" + value + " - " + mean + ") / sqrt(" + var + " + 0.01) * " +
             parameter("s", channel_, shape) + " + " + parameter("b", channel_, shape);
    }
    case 10: {
      if (pools_.empty()) return "abs(" + value + ")";
      const char *pools[] = {"max", "mean", "sum", "min", "prod", "norm", "var"};
      const std::string pool = pools[random_() % 7];
      network_.rounds = network_.rounds || pool == "norm" || pool == "var";
      return pool + "(" + value + ", " + std::exchange(pools_, "") + ")";
    }
    default: return chance(2) ? "square(" + value + ")" : value + " * 0.5";
    }
  }

  std::mt19937_64 random_;
  Network network_;
  std::string inputs_, lets_, channel_, pools_, type_, last_, before_;
  std::int64_t channels_ = 0;
  int next_ = 0;
  bool spatial_ = false; // is there an axis i, of positions?
};

int number_of(const char *variable, int otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

} // namespace

TEST_CASE("random networks give what they give without their scales folded") {
  const int count = number_of("BROADLOOM_SCALES", 400), first = number_of("BROADLOOM_SEED", 1);
  std::map<std::string, int> met;
  int through_arrays = 0;
  int exact = 0;
  for (int seed = first; seed < first + count; ++seed) {
    const Network network = Networks(std::uint64_t(seed)).draw();
    CAPTURE(seed);
    CAPTURE(network.text);
    const LoopSpec written = parse(network.text);
    std::vector<Decision> why;
    const LoopSpec folded = fold_scales(written, &why);
    bool shifts = false;
    for (const Decision &d : why) {
      ++met[d.code];
      through_arrays += d.text.find(" through let '") != std::string::npos;
      shifts = shifts || d.code.starts_with("shift-");
      // A weight that moves into a bias is no power of 4.
      const bool weight = d.subject.find('w') != std::string::npos && d.choice != "stays";
      shifts = shifts || (weight && (d.code == "scale-backward" || d.code == "scale-forward"));
    }
    REQUIRE(print(fold_scales(folded)) == print(folded));
    REQUIRE(print(parse(print(folded))) == print(folded));

    const bool powers = seed % 2 == 0, equal = powers && !shifts && !network.rounds;
    const tests::Filled data(compile(written, {.engine = Engine::reference}), network.shapes,
                             std::uint64_t(seed), powers);
    const tests::Values expected = data.run(written, Engine::reference);
    exact += equal;
    const tests::Values values = data.run(written, Engine::interpreter);
    REQUIRE(tests::distance(expected, values) <= 1e-5);
    if (equal) {
      const LoopSpec kept = LoopSpec(written).scales(Scales::keep);
      REQUIRE(tests::distance(data.run(kept, Engine::interpreter), values) == 0);
    }
    if (seed % 8 == 0) REQUIRE(tests::distance(values, data.run(written, Engine::jit)) == 0);
  }
  if (count < 400) return;
  CHECK(exact >= 20);
  CHECK(through_arrays >= 10);
  for (const char *code : {"scale-backward", "scale-forward", "shift-joined", "shift-taken-out",
                           "scale-sign", "scale-shared", "scale-operation"}) {
    INFO(std::string(code));
    CHECK(met[code] >= 3);
  }
}

} // namespace broadloom
