// Kernels: the reference, the interpreter and native code on the same data.
//
// The text of one sound kernel is run with small made-up inputs; up to eight bytes are the seed of
// a random kernel of the differential suite; other bytes are turned down, so that the corpus holds
// kernels only. Cases of many points are left to that suite. Interpreter and native code must give
// equal bits. Both must meet the reference where nothing depends on the order of a float sum or
// product; the differential suite bounds those. What one refuses, all refuse with the same code.
#include "analysis/analyse.hpp"
#include "require.hpp"

#include "tests/differential/random_data.hpp"
#include "tests/differential/random_spec.hpp"

#include "ops/ops.hpp"
#include "reference/reference.hpp"
#include "spec/materialise.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>

namespace broadloom::fuzz {
namespace {

using differential::Operand;
using differential::Random;
using differential::same;

constexpr std::int64_t most_points = 2000;
constexpr const char *order_matters[] = {"sum", "prod", "mean"}; // folds whose last bits may differ

struct Case {
  std::string text;
  bool exact_data = false;
  std::vector<std::vector<std::int64_t>> shapes; // of the inputs
  std::vector<bool> equal;                       // [output]: must the reference be met exactly?
};

std::uint64_t hash(std::string_view bytes) { // FNV-1a
  std::uint64_t value = 0xcbf29ce484222325;
  for (char c : bytes) value = (value ^ std::uint8_t(c)) * 0x100000001b3;
  return value;
}

// At most so many points does any part of the kernel have: each axis at its greatest extent.
std::int64_t points(const spec::TypedSpec &typed,
                    const std::vector<std::vector<std::int64_t>> &shapes) {
  std::vector<std::int64_t> extents(typed.axes.size(), 1);
  std::int64_t longest = 1; // no dim of a let is longer
  for (const std::vector<std::int64_t> &shape : shapes)
    for (const std::int64_t extent : shape) longest = std::max(longest, extent);
  for (std::size_t i = 0; i < typed.inputs.size(); ++i) {
    const spec::TypedInput &input = typed.inputs[i];
    for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d) {
      std::int64_t &extent = extents[std::size_t(input.axis_of_dim[d])];
      extent = std::max(extent, i < shapes.size() ? shapes[i][d] : longest);
    }
  }
  const auto product = [](const std::vector<std::int64_t> &lengths) {
    std::int64_t points = 1;
    for (const std::int64_t length : lengths)
      points = length > most_points / points ? most_points + 1 : points * length;
    return points;
  };
  std::int64_t most = 1;
  for (const spec::TypedInput &window : typed.inputs) {
    if (!window.window) continue;
    // No axis of a window is longer than its array with what is added to it, and of that there is a
    // copy.
    std::vector<std::int64_t> lengths(window.window->forms.size(), longest);
    if (window.window->of < shapes.size()) lengths = shapes[window.window->of];
    for (std::size_t d = 0; d < lengths.size(); ++d)
      lengths[d] = std::max<std::int64_t>(window.window->padded(int(d), lengths[d]), 1);
    most = std::max(most, product(lengths));
    for (std::size_t d = 0; d < window.axis_of_dim.size(); ++d) {
      std::int64_t &extent = extents[std::size_t(window.axis_of_dim[d])];
      for (const std::int64_t length : lengths) extent = std::max(extent, length);
      extent = std::max(extent, window.extents[d]); // of a border
    }
  }
  for (const auto &let : typed.materialised) most = std::max(most, points(let->typed, shapes));
  return std::max(most, product(extents));
}

std::optional<Case> from_text(std::string_view text, Random &random) {
  Case result;
  try {
    result.text = print(parse(text));
    const spec::TypedSpec typed = analysis::analyse(parse(result.text).data());
    if (typed.lent_input() != nullptr) return {}; // shapes of outputs that it would choose
    std::vector<std::int64_t> extents;
    for (std::size_t a = 0; a < typed.axes.size(); ++a)
      extents.push_back(random.chance(1) ? 0 : random.pick<std::int64_t>({1, 2, 2, 3, 5, 8, 17}));
    for (const spec::TypedInput &input : typed.callers())
      for (std::size_t d = 0; d < input.extents.size(); ++d) {
        std::int64_t &extent = extents[std::size_t(input.axis_of_dim[d])];
        if (input.extents[d] > 1) extent = input.extents[d];
      }
    for (const spec::TypedInput &input : typed.callers()) {
      std::vector<std::int64_t> shape;
      for (std::size_t d = 0; d < input.extents.size(); ++d) {
        std::int64_t extent = input.extents[d];
        if (extent < 0) extent = extents[std::size_t(input.axis_of_dim[d])];
        if (input.extents[d] < 0 && random.chance(10)) extent = 1;
        shape.push_back(extent);
      }
      result.shapes.push_back(std::move(shape));
    }
    const bool sums =
        std::any_of(std::begin(order_matters), std::end(order_matters),
                    [&](const char *word) { return result.text.find(word) != std::string::npos; });
    result.equal.assign(typed.outputs.size(), !sums);
    return result;
  } catch (const InternalError &) {
    throw;
  } catch (const Error &) {
    return {};
  }
}

Case from_seed(std::uint64_t seed) {
  const differential::RandomSpec spec = differential::random_spec(seed);
  Case result{spec.text, spec.exact, {}, {}};
  for (const auto &input : spec.inputs) result.shapes.push_back(input.shape);
  for (const auto &output : spec.outputs)
    result.equal.push_back(output.agreement == differential::Agreement::Equal);
  return result;
}

class Run {
public:
  Run(const Case &c, const spec::TypedSpec &typed, Random &random) : case_(c), typed_(typed) {
    for (std::size_t i = 0; i < typed_.callers_inputs(); ++i) {
      inputs_.emplace_back(random, typed_.inputs[i].dtype, c.shapes[i], false);
      inputs_.back().fill(random, c.exact_data);
    }
    for (Operand &input : inputs_) input_views_.push_back(input.view());
  }

  void compare(Random &random) {
    std::string refused;
    std::vector<Array> expected;
    try {
      expected = reference(random);
    } catch (const InternalError &) {
      throw;
    } catch (const Error &error) {
      refused = error.code();
      if (outputs_.empty()) add_outputs(random, {});
    }
    std::vector<Operand> interpreted = outputs_, native = outputs_;
    if (!run(Engine::interpreter, interpreted, refused)) return;
    if (!run(Engine::jit, native, refused)) return;
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      const DType dtype = typed_.outputs[k].dtype;
      for (std::int64_t e = 0; e < outputs_[k].count(); ++e) {
        const ops::Scalar a = native[k].element(e), b = interpreted[k].element(e);
        require(same(a, b, dtype), "native code and the interpreter differ in output " +
                                       typed_.outputs[k].name + ":\n" + case_.text);
        const char *element =
            static_cast<const char *>(expected[k].raw()) + e * std::int64_t(size_of(dtype));
        require(!case_.equal[k] || same(b, ops::load(element, dtype), dtype),
                "the interpreter and the reference differ in output " + typed_.outputs[k].name +
                    ":\n" + case_.text);
      }
    }
  }

private:
  std::vector<Array> reference(Random &random) {
    std::vector<Layout> layouts;
    for (const AnyView &view : input_views_) layouts.push_back(view.layout);
    add_outputs(random, reference::output_shapes(typed_, layouts));
    std::vector<AnyView> views;
    for (Operand &output : outputs_) views.push_back(output.view());
    return reference::evaluate(typed_, input_views_, views);
  }

  // Without shapes, where there is no right one, all extents are 1.
  void add_outputs(Random &random, const std::vector<std::vector<std::int64_t>> &shapes) {
    for (std::size_t k = 0; k < typed_.outputs.size(); ++k) {
      const spec::TypedOutput &output = typed_.outputs[k];
      outputs_.emplace_back(
          random, output.dtype,
          shapes.empty() ? std::vector<std::int64_t>(output.axes.size(), 1) : shapes[k], true);
      outputs_.back().fill(random, case_.exact_data);
    }
  }

  // Whether there are results to compare: not where the run is refused (as `refused` says), nor
  // where a limit of the compiler is met.
  bool run(Engine engine, std::vector<Operand> &outputs, const std::string &refused) {
    std::vector<AnyView> views;
    for (Operand &output : outputs) views.push_back(output.view());
    std::string code;
    try {
      compile(parse(case_.text), {.engine = engine})
          .run(std::span<const AnyView>(input_views_), std::span<const AnyView>(views));
    } catch (const CompileError &) {
      return false;
    } catch (const InternalError &) {
      throw;
    } catch (const Error &error) {
      code = error.code();
    }
    require(code == refused,
            "the reference says '" + refused + "' and an engine '" + code + "':\n" + case_.text);
    for (std::size_t k = 0; k < outputs.size(); ++k)
      require(outputs[k].only_elements_changed(outputs_[k]), "a write between the elements");
    return code.empty();
  }

  const Case &case_;
  const spec::TypedSpec &typed_;
  std::vector<Operand> inputs_, outputs_;
  std::vector<AnyView> input_views_;
};

} // namespace
} // namespace broadloom::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace broadloom::fuzz;
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  const std::uint64_t seed = hash(bytes);
  Random random(seed);
  const std::optional<Case> written = from_text(bytes, random);
  if (!written && size > 8) return -1;
  const Case c = written ? *written : from_seed(seed);
  const broadloom::spec::TypedSpec typed =
      broadloom::analysis::analyse(broadloom::parse(c.text).data());
  if (points(typed, c.shapes) > most_points) return -1;
  Run(c, typed, random).compare(random);
  return 0;
}
