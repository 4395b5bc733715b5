// Batches of random kernels: each element has the bits of a call with that element alone. And
// Jacobians of random kernels: each column is the directional derivative along one element.
#include "grad/widen.hpp"
#include "random_data.hpp"
#include "random_spec.hpp"
#include "same_bits.hpp"

#include "spec/spec.hpp"

#include <broadloom/jacobian.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace broadloom::differential {
namespace {

// One position of the first dim, without that dim.
AnyView element_of(const AnyView &batch, std::int64_t b) {
  AnyView view = batch;
  --view.layout.rank;
  for (int d = 0; d < view.layout.rank; ++d) {
    view.layout.extents[std::size_t(d)] = batch.layout.extents[std::size_t(d) + 1];
    view.layout.strides[std::size_t(d)] = batch.layout.strides[std::size_t(d) + 1];
  }
  view.data = static_cast<char *>(batch.data) +
              b * batch.layout.strides[0] * std::int64_t(size_of(batch.dtype));
  return view;
}

// Element behind element: a fold whose innermost axis is that of the batch has a tree of its own.
Layout layout_of_batch(const Layout &element, std::int64_t count) {
  Layout layout;
  layout.rank = element.rank + 1;
  layout.extents[0] = count;
  layout.strides[0] = 1;
  for (std::size_t d = 0; d < std::size_t(element.rank); ++d) {
    layout.extents[d + 1] = element.extents[d];
    layout.strides[d + 1] = element.strides[d];
    layout.strides[0] +=
        std::abs(element.strides[d]) * std::max<std::int64_t>(element.extents[d] - 1, 0);
  }
  return layout;
}

Array dense(const AnyView &view) {
  return Array(std::shared_ptr<void>(), view.dtype, view.data, view.layout).copy();
}

Engine engine_of(std::uint64_t seed) {
  return seed % 5 == 0 ? Engine::jit : seed % 5 == 1 ? Engine::reference : Engine::interpreter;
}

// To some digits, of what rounds.
bool is_near(const Array &a, const Array &b) {
  const std::vector<ops::Scalar> x = elements(a), y = elements(b);
  const DType part = real_dtype(a.dtype());
  const auto number = [&](std::uint64_t bits) {
    return ops::as_f64(ops::convert({bits}, part, f64));
  };
  const double allowed = part == f64 ? 1e-10 : part == f32 ? 1e-5 : 1e-2;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double p = number(x[k].bits), q = number(y[k].bits);
    if (!same(x[k], y[k], a.dtype()) && !(std::fabs(p - q) <= allowed * (1 + std::fabs(q))))
      return false;
  }
  return true;
}

class Batches {
public:
  explicit Batches(std::uint64_t seed) : made_(random_spec(seed)), random_(~seed) {
    const bool all = random_.chance(40);
    for (const RandomInput &input : made_.inputs)
      if (all ? !input.shape.empty() : random_.chance(50)) chosen_.insert(input.name);
    if (!all) named_.assign(chosen_.begin(), chosen_.end());
  }

  // Whether there was something to compare.
  bool check() {
    if (chosen_.empty()) return false;
    const LoopSpec spec = parse(made_.text);
    const LoopSpec batched = parse(print(batch(spec, "b_", named_)));
    INFO("seed " << made_.seed << "\n" << made_.text << print(batched));
    CHECK(print(parse(print(batched))) == print(batched));
    const std::int64_t count = 1 + random_.below(3);
    std::vector<differential::Operand> operands;
    for (const RandomInput &input : made_.inputs) {
      bool at_end = false;
      Layout layout = random_layout(random_, input.shape, false, at_end);
      if (chosen_.contains(input.name)) layout = layout_of_batch(layout, count);
      operands.emplace_back(input.dtype, layout, at_end, false);
      operands.back().fill(random_, false);
    }
    std::vector<NamedView> views;
    for (std::size_t i = 0; i < operands.size(); ++i)
      views.push_back({made_.inputs[i].name, operands[i].view()});
    const Options options{.threads = 2, .engine = engine_of(made_.seed)};
    const Kernel one = compile(spec, options), many = compile(batched, options);
    std::vector<Results> single;
    bool fails = false;
    for (std::int64_t b = 0; b < count && !fails; ++b) {
      std::vector<NamedView> element = views;
      for (std::size_t i = 0; i < views.size(); ++i)
        if (chosen_.contains(made_.inputs[i].name))
          element[i].view = element_of(operands[i].view(), b);
      try {
        single.push_back(one.call(element));
      } catch (const InternalError &) {
        throw;
      } catch (const Error &) { // extents that do not fit, and positions outside
        fails = true;
      }
    }
    if (fails) {
      CHECK_THROWS_AS(many.call(views), Error);
      return false;
    }
    const Results results = many.call(views);
    for (const auto &[output, array] : results)
      for (std::int64_t b = 0; b < count; ++b) {
        const Array want = single[std::size_t(b)][output].copy();
        const Array got =
            array.rank() > want.rank() ? dense(element_of(AnyView(array), b)) : array.copy();
        const bool is_same = same_bits(got, want);
        CHECK_MESSAGE((is_same || (sums_back() && is_near(got, want))),
                      "output " << output << ", element " << b);
        is_apart_ = is_apart_ || !is_same;
      }
    return true;
  }

  bool is_apart() const { return is_apart_; }

private:
  // A sum back through a window may have another tree: its dims are those of an array with one
  // more.
  bool sums_back() const {
    const std::size_t at = made_.text.find("like=");
    return at != std::string::npos && made_.text.find('[', at) != std::string::npos;
  }

  RandomSpec made_;
  Random random_;
  bool is_apart_ = false;
  std::set<std::string> chosen_;
  std::vector<std::string> named_;
};

TEST_CASE("each element of a batch of a random kernel has the bits of a call of its own") {
  const std::uint64_t first = from_environment("BROADLOOM_SEED", 1);
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", default_count) / 2 + 1;
  std::uint64_t compared = 0, refused = 0, apart = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    try {
      Batches batches(seed);
      compared += batches.check();
      apart += batches.is_apart();
    } catch (const CompileError &) { // too large for native code
    } catch (const Error &error) {
      const bool has_no_form =
          error.code() == "E0061" || error.code() == "E0013" || error.code() == "E0605";
      if (!has_no_form)
        FAIL_CHECK("seed " << seed << ": " << error.render() << random_spec(seed).text);
      ++refused;
    }
  }
  MESSAGE(compared << " of " << count << " batches compared, " << refused << " refused, " << apart
                   << " with other last bits of sums back through windows");
  CHECK(refused <= count / 10 + 2);
  CHECK(apart <= count / 100 + 1);
  if (count >= 100) CHECK(compared > count / 2);
}

// Of one output by one input, along each of its elements.
bool check_columns(std::uint64_t seed) {
  const RandomSpec made = random_spec(seed, Style::Smooth);
  Random random(~seed);
  const LoopSpec spec(std::make_shared<const SpecData>(grad::widened(parse(made.text).data())));
  std::vector<std::string> inputs, outputs;
  std::vector<Array> arrays;
  std::vector<NamedView> given;
  for (const RandomInput &input : made.inputs) {
    differential::Operand operand(random, input.dtype, input.shape, false);
    operand.fill_smooth(random);
    arrays.push_back(grad::widened(operand.view()));
    if (is_float(input.dtype)) inputs.push_back(input.name);
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) given.push_back({made.inputs[i].name, arrays[i]});
  const Kernel value = compile(spec, {.engine = Engine::reference});
  try {
    value.call(given);
  } catch (const InternalError &) {
    throw;
  } catch (const Error &) {
    return false;
  }
  for (const OutputInfo &output : value.outputs())
    if (is_float(output.dtype)) outputs.push_back(output.name);
  if (inputs.empty() || outputs.empty()) return false;
  const std::string wrt = inputs[std::size_t(random.below(int(inputs.size())))],
                    of = outputs[std::size_t(random.below(int(outputs.size())))];
  const LoopSpec columns = jacobian(spec, of, wrt), along = jvp(spec, {wrt}, {.of = {of}});
  INFO("seed " << seed << ", " << of << " by " << wrt << "\n"
               << print(spec) << print(columns) << print(along));
  CHECK(print(parse(print(columns))) == print(columns));
  const Options options{.threads = 2, .engine = engine_of(seed)};
  std::optional<Array> called;
  try {
    called = compile(columns, options).call(given)[0].copy();
  } catch (
      const ShapeError &error) { // labels have one extent throughout, where axes met by position
    if (error.code() != "E0102") throw;
    return false;
  }
  const Array &all = *called;
  const Kernel kernel = compile(along, options);
  const std::size_t i =
      std::size_t(std::ranges::find(made.inputs, wrt, &RandomInput::name) - made.inputs.begin());
  Array tangent(f64, {arrays[i].shape().begin(), arrays[i].shape().end()});
  std::vector<NamedView> moved = given;
  const std::string name = kernel.inputs().back().name;
  moved.push_back({name, tangent});
  const std::size_t elements = std::size_t(tangent.size());
  for (std::size_t k = 0; k < elements; ++k) {
    std::fill_n(tangent.data<double>(), elements, 0.0);
    tangent.data<double>()[k] = 1;
    const Array column = kernel.call(moved)[0].copy();
    REQUIRE(std::size_t(all.size()) == std::size_t(column.size()) * elements);
    for (std::size_t n = 0; n < std::size_t(column.size()); ++n) {
      const double want = column.data<double>()[n], got = all.data<double>()[n * elements + k];
      const bool is_close = got == want || (std::isnan(got) && std::isnan(want)) ||
                            std::fabs(got - want) <= 1e-9 * (std::fabs(want) + 1);
      CHECK_MESSAGE(is_close,
                    "element " << n << ", column " << k << ": " << got << ", not " << want);
      if (!is_close) return true;
    }
  }
  return elements > 0;
}

TEST_CASE("each column of the Jacobian of a random kernel is a directional derivative") {
  const std::uint64_t first = from_environment("BROADLOOM_SEED", 1);
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", default_count) / 4 + 1;
  std::uint64_t compared = 0, unlabelled = 0, refused = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    try {
      compared += check_columns(seed);
    } catch (const CompileError &) {
    } catch (const Error &error) {
      const std::string &code = error.code();
      const bool has_no_form = code == "E0061" || code == "E0013" || code == "E0601" ||
                               code == "E0605" || code == "E0607" || code == "E0609";
      if (!has_no_form)
        FAIL_CHECK("seed " << seed << ": " << error.render()
                           << random_spec(seed, Style::Smooth).text);
      ++(code == "E0609" ? unlabelled : refused);
    }
  }
  MESSAGE(compared << " of " << count << " Jacobians compared, " << unlabelled
                   << " without labels, " << refused << " refused");
  CHECK(refused <= count / 10 + 2);
  CHECK(unlabelled <= count / 25 + 2); // of functions that count axes, and of lets that differ
  if (count >= 100) CHECK(compared > count / 5);
}

} // namespace
} // namespace broadloom::differential
