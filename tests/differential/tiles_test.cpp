// Random chains of lets that read each other by rows, of small and of large arrays: in tiles of any
// number of rows, on any threads, in both engines, they have the bits of whole arrays.
//
//   let l0[r0, c0] = x[r0, c0 + 1] * 2 + x[r0 + 3, c0]
//   let l1[r1, c1] = maximum(l0[r1 + 1, c1], x[r1, c1]) + sum(l0[r1 + u, c1], u < 3)
//   out y[i, j] = l1[2*i, j] - l0[2*i + 1, j + 1]
//
// Arrays lie between pages that nobody may touch, in random layouts.
#include "random_data.hpp"
#include "same_bits.hpp"
#include "tests/interpreted_call.hpp"

#include "jit/native/target.hpp"
#include "jit/runtime/paths.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

namespace broadloom::differential {
namespace {

class Chain {
public:
  explicit Chain(std::uint64_t seed) : random_(seed) {}

  std::string draw() {
    arrays_ = {"x"};
    if (random_.chance(40)) arrays_.push_back("z");
    std::string text = "kernel chain {\n";
    for (const std::string &name : arrays_) text += "  in  " + name + " : f32[:, :]\n";
    const int lets = random_.between(1, 4);
    for (int k = 0; k < lets; ++k) {
      const std::string row = "r" + std::to_string(k), column = "c" + std::to_string(k),
                        name = "l" + std::to_string(k);
      text += "  let " + name + "[" + row + ", " + column + "] = " + value(row, column, 1) + "\n";
      arrays_.push_back(name);
    }
    const int times = random_.chance(30) ? random_.between(2, 3) : 1;
    text += "  out y[i, j] = " + value("i", "j", times) + "\n";
    if (random_.chance(25)) text += "  out w[i, j] = " + value("i", "j", times) + "\n";
    return text + "}\n";
  }

private:
  // The latest array, so that all of the chain is read, and another one.
  std::string value(const std::string &row, const std::string &column, int times) {
    const std::string a = read(row, column, times, true), b = read(row, column, times, false);
    switch (random_.below(7)) {
    case 0: return "maximum(" + a + ", " + b + ")";
    case 1: return a + " * 0.5 + exp(-abs(" + b + "))";
    case 2: return a + " - " + b + " * " + read(row, column, times, false);
    case 3: return a + " + sum(" + read(row + " + u", column, 1, false) + ", u < 3)";
    case 4: {
      const std::string k = "k" + std::to_string(labels_++); // from row to row, and along it
      return a + " - 0.01 * sum(" + random_.pick(arrays_) + "[" + row + " + u, " + k +
             "], u < 3, " + k + ")";
    }
    case 5: return "where(" + a + " > " + b + ", " + a + ", iota(" + row + "))";
    default: return a + " + " + b;
    }
  }

  std::string read(const std::string &row, const std::string &column, int times, bool latest) {
    const std::string &array = latest ? arrays_.back() : random_.pick(arrays_);
    const std::string at = times == 1 ? row : std::to_string(times) + "*" + row;
    const bool is_padded = random_.chance(array.starts_with("l") ? 30 : 10);
    return (is_padded ? padded(array) : array) + "[" + at + " + " +
           std::to_string(random_.below(4)) + ", " + column + " + " +
           std::to_string(random_.below(3)) + "]";
  }

  // Mostly one padding for an array, so that it may lie in a copy with that border.
  std::string padded(const std::string &array) {
    std::string &known = padded_[array];
    if (!known.empty() && random_.chance(85)) return known;
    const auto border = [&](int dim) {
      return std::to_string(dim) + ": (" + std::to_string(random_.below(4)) + ", " +
             std::to_string(random_.below(4)) + ")";
    };
    const auto mode = [&] { return random_.pick<std::string>({"", ", edge", ", reflect", ", 7"}); };
    switch (random_.below(4)) {
    case 0: known = "pad(" + array + ", " + border(0) + mode() + ")"; break;
    case 1: known = "pad(" + array + ", " + border(1) + mode() + ")"; break;
    case 2:
      known = "pad(pad(" + array + ", " + border(0) + mode() + "), " + border(1) + ", wrap)";
      break;
    default: known = "pad(" + array + ", " + border(0) + ", " + border(1) + mode() + ")";
    }
    return known;
  }

  Random random_;
  int labels_ = 0;
  std::vector<std::string> arrays_;
  std::map<std::string, std::string> padded_;
};

// Calls in tiles that were gone through by calls::interpret.
std::int64_t interpreted_tiles = 0;

// What the text of the kernel's latest call gives.
std::vector<std::vector<unsigned char>>
interpreted(const std::shared_ptr<const detail::KernelImpl> &kernel,
            const std::vector<NamedView> &inputs, const std::vector<NamedView> &outputs) {
  std::map<std::string, AnyView, std::less<>> arrays;
  std::vector<const AnyView *> operands;
  for (const std::vector<NamedView> *views : {&inputs, &outputs})
    for (const NamedView &view : *views) {
      arrays[std::string(view.name)] = view.view;
      operands.push_back(&view.view);
    }
  const std::string text = Kernel(kernel).show(Stage::call);
  interpreted_tiles += text.find(" tile ") != text.npos;
  const std::map<std::string, Array> made = tests::interpreted(*kernel, text, operands, arrays);
  std::vector<std::vector<unsigned char>> bytes;
  for (const NamedView &view : outputs) bytes.push_back(bytes_of(made.at(std::string(view.name))));
  return bytes;
}

// The outputs of one way to call it, each in the layout of `outputs`.
std::vector<std::vector<unsigned char>>
outputs_of(const LoopSpec &spec, const Options &options, const std::vector<NamedView> &inputs,
           const std::vector<NamedView> &shapes, std::span<const Layout> layouts, bool interprets) {
  const auto impl = detail::make_kernel(spec, options, {});
  const Kernel kernel(impl);
  std::vector<std::unique_ptr<Operand>> outputs;
  std::vector<NamedView> views;
  for (std::size_t o = 0; o < shapes.size(); ++o) {
    outputs.push_back(
        std::make_unique<Operand>(shapes[o].view.dtype, layouts[o], o % 2 == 0, true, 0x5a));
    views.push_back({shapes[o].name, outputs.back()->view()});
  }
  kernel.run_named(inputs, views);
  std::vector<std::vector<unsigned char>> made;
  for (const auto &output : outputs) made.push_back(output->dense());
  if (interprets && interpreted(impl, inputs, views) != made)
    throw std::runtime_error("other bits where the call is interpreted:\n" +
                             kernel.show(Stage::call));
  return made;
}

std::optional<std::string> find_changed_bit(std::uint64_t seed) {
  const std::string text = Chain(seed).draw();
  const LoopSpec spec = parse(text);
  Random random(seed + 1);
  const bool large = random.chance(20);
  std::vector<std::unique_ptr<Operand>> operands;
  std::vector<NamedView> inputs;
  const std::int64_t shape[] = {large ? random.between(200, 900) : random.between(14, 60),
                                large ? random.between(16, 600) : random.between(14, 40)};
  const Kernel kernel = compile(spec, {.threads = 1, .engine = Engine::interpreter});
  const std::vector<InputInfo> declared = kernel.inputs();
  for (const InputInfo &input : declared) {
    operands.push_back(std::make_unique<Operand>(random, input.dtype, shape, false));
    operands.back()->fill_smooth(random);
    inputs.push_back({input.name, operands.back()->view()});
  }
  std::vector<NamedView> shapes;
  std::vector<Layout> layouts;
  Results whole;
  try {
    whole = kernel.call(inputs);
  } catch (const ShapeError &) { // too few rows for all that is read
    return std::nullopt;
  }
  std::vector<std::vector<unsigned char>> truth;
  for (const auto &[name, array] : whole) {
    bool at_end = false;
    shapes.push_back({name, array});
    layouts.push_back(random.chance(60) ? contiguous_layout(array.shape())
                                        : random_layout(random, array.shape(), true, at_end));
    truth.push_back(bytes_of(array));
  }
  for (int draw = 0; draw < 4; ++draw) {
    const std::string rows = std::to_string(random.pick<int>({1, 2, 3, 5, 8, 17, 64}));
    const bool is_interpreted = draw == 3 && !large;
    Options options{.threads = random.pick<int>({1, 2, 3, 7}),
                    .engine = is_interpreted ? Engine::interpreter : Engine::jit,
                    .profile = is_interpreted ? Profile::none : Profile::paths};
    if (random.chance(30)) options.target = jit::targets_here().front();
    const bool verifies = random.chance(20);
    const std::string spare = std::to_string(random.pick<int>({0, 1, 2, 7, 40}));
    setenv("BROADLOOM_TILE_ROWS", rows.c_str(), 1);
    setenv("BROADLOOM_TILE_SPARE", spare.c_str(), 1);
    if (verifies) setenv("BROADLOOM_VERIFY", "1", 1);
    const auto made = outputs_of(spec, options, inputs, shapes, layouts, draw == 0 && !large);
    unsetenv("BROADLOOM_TILE_ROWS");
    unsetenv("BROADLOOM_TILE_SPARE");
    if (verifies) unsetenv("BROADLOOM_VERIFY");
    if (made != truth)
      return "other bits in tiles of " + rows + " rows with room for " + spare + " more on " +
             std::to_string(options.threads) + " threads\n" + text;
  }
  return std::nullopt;
}

} // namespace

TEST_CASE("random chains of lets have the bits of whole arrays in tiles of any rows") {
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", default_count) / 4 + 1,
                      first = from_environment("BROADLOOM_SEED", 70000);
  const auto count_of = [](jit::Path path) { return jit::path_counts()[std::size_t(path)]; };
  const auto in_tiles = [&] { return count_of(jit::Path::LetInTiles); };
  const std::uint64_t before = in_tiles(), before_padded = count_of(jit::Path::TilesPadded);
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    if (const auto changed = find_changed_bit(seed))
      FAIL_CHECK("seed " << seed << ": " << *changed);
  MESSAGE(count << " chains, " << in_tiles() - before << " calls in tiles, " << interpreted_tiles
                << " of them interpreted");
  CHECK(interpreted_tiles > std::int64_t(count) / 4);
  CHECK(in_tiles() - before > count);
  CHECK(count_of(jit::Path::TilesPadded) - before_padded > count / 10);
}

} // namespace broadloom::differential
