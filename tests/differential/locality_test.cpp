// Locality: what a kernel says of one output has no effect on another. Each random kernel is run
// alone and with an input more and outputs more, some of which read the same inputs: every bit of
// its own outputs stays, though loops, phases and the global order of axes change around them.
#include "random_data.hpp"
#include "random_spec.hpp"
#include "same_bits.hpp"

#include <doctest/doctest.h>

#include <sstream>

namespace broadloom::differential {
namespace {

// A kernel text taken apart: the head and declarations, then the outputs.
struct Parts {
  std::string declarations, outputs;
};

Parts parts_of(const std::string &text) {
  Parts parts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line == "}") continue;
    (line.find("  out ") == 0 ? parts.outputs : parts.declarations) += line + "\n";
  }
  return parts;
}

// The dims of an input as written: "i", "j=1", "j?", ":".
std::vector<std::string> dims_of(const std::string &text, const std::string &input) {
  std::vector<std::string> dims;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t open = line.find('[');
    if (line.find("  in " + input + " ") != 0 || open == std::string::npos) continue;
    std::string list = line.substr(open + 1, line.find(']') - open - 1);
    for (char &c : list)
      if (c == ',') c = ' ';
    std::istringstream words(list);
    for (std::string word; words >> word;) dims.push_back(word);
  }
  return dims;
}

bool is_label(const std::string &dim) { return dim[0] >= 'i' && dim[0] <= 'p'; }

class Pair {
public:
  explicit Pair(std::uint64_t seed) : spec_(random_spec(seed)), random_(seed + 77) {
    for (const RandomInput &in : spec_.inputs) {
      inputs_.emplace_back(random_, in.dtype, in.shape, false);
      inputs_.back().fill(random_, false);
      names_.push_back(in.name);
    }
    extended_ = extended();
  }

  void run(Engine engine) {
    INFO(extended_);
    const Options options{.threads = 2, .engine = engine};
    const Outcome alone = outcome(spec_.text, options, spec_.inputs.size());
    const Outcome together = outcome(extended_, options, inputs_.size());
    CHECK(alone.code == together.code);
    if (!alone.code.empty() || !together.code.empty()) return;
    for (std::size_t k = 0; k < alone.results->size(); ++k) {
      const std::string name = "o" + std::to_string(k);
      INFO(name);
      CHECK(same_bits((*alone.results)[name], (*together.results)[name]));
    }
  }

private:
  struct Outcome {
    std::string code;
    std::optional<Results> results;
  };

  Outcome outcome(const std::string &text, const Options &options, std::size_t inputs) {
    std::vector<NamedView> views;
    for (std::size_t k = 0; k < inputs; ++k) views.push_back({names_[k], inputs_[k].view()});
    try {
      return {"", compile(parse(text), options).call(views)};
    } catch (const InternalError &) {
      throw;
    } catch (const Error &error) {
      return {error.code(), {}};
    }
  }

  // The kernel with `in u` and outputs before and after its own. Labels mean one extent in the
  // whole kernel, so u takes those of x, and says no more of one that may be 1 than x does, as
  // windows may say the rest; unlabelled dims of u meet nobody and may have any extent.
  std::string extended() {
    Parts parts = parts_of(spec_.text);
    RandomInput u{"u", random_.pick<DType>({f32, f64, i32, f16}), {}};
    std::string dims;
    for (std::string dim : dims_of(spec_.text, "x")) {
      if (random_.chance(40)) continue;
      const std::string label = dim.substr(0, 1);
      dim = !is_label(dim) ? ":" : dim.size() > 1 ? label + "?" : label;
      dims += (dims.empty() ? "" : ", ") + dim;
      u.shape.push_back(dim == ":" ? random_.between(1, 9) : extent_of(label));
    }
    inputs_.emplace_back(random_, u.dtype, u.shape, false);
    inputs_.back().fill(random_, false);
    names_.push_back("u");
    parts.declarations +=
        "  in u : " + std::string(name(u.dtype)) + (dims.empty() ? "" : "[" + dims + "]") + "\n";
    const std::vector<std::string> more{
        "u + 1",     "exp(abs(x))",   "sum(x)",        "accumulate(sum) u * u",
        "x ? x : x", "reduce(any) x", "x - sum(u * u)"};
    return parts.declarations + "  out p = " + random_.pick(more) + "\n" + parts.outputs +
           "  out q = " + random_.pick(more) + "\n}\n";
  }

  // Of a label: where it is written `j=1`, another input says more.
  std::int64_t extent_of(const std::string &label) const {
    for (const RandomInput &in : spec_.inputs) {
      const std::vector<std::string> dims = dims_of(spec_.text, in.name);
      for (std::size_t d = 0; d < dims.size(); ++d)
        if (dims[d] == label || (dims[d] == label + "?" && in.shape[d] != 1)) return in.shape[d];
    }
    return 1;
  }

  RandomSpec spec_;
  Random random_;
  std::vector<Operand> inputs_;
  std::vector<std::string> names_;
  std::string extended_;
};

TEST_CASE("an unrelated input or output changes no bit of the others") {
  const std::uint64_t first = from_environment("BROADLOOM_SEED", 1);
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", default_count) / 6 + 1;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed);
    Pair pair(seed);
    pair.run(Engine::interpreter);
    pair.run(Engine::jit);
  }
}

} // namespace
} // namespace broadloom::differential
