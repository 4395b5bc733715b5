// Kernels that are built ahead of time: those of the golden files give the bits of the JIT, for
// AVX2 and AVX-512, and compile nothing.
#include "golden_files.hpp"
#include "tests/file_cases.hpp"

#include <broadloom/broadloom.hpp>
#include <broadloom/build.hpp>

#include "analysis/analyse.hpp"
#include "jit/native/target.hpp"
#include "kernel/layouts.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <optional>

namespace fs = std::filesystem;
namespace bl = broadloom;

namespace {

constexpr std::int64_t most_elements = 2'000'000;

bl::LoopSpec kernel_of(const fs::path &file) {
  return bl::parse_all(bl::golden::read(file), file.filename().string()).back();
}

// Of kernels whose axes hang together by windows.
const std::map<std::string, const char *> listed{
    {"rest", "#@ padded 3 6 7 3\n#@ x 3 4 5 4\n#@ w2 3 3 3 3\n#@ w3 3 4\n"},
    {"hdiff", "#@ x 8 9 3\n#@ coeff 4 5 3\n"},
    {"channel_flow", "#@ u0 6 7\n#@ v0 6 7\n#@ q0 4 7\n"},
};

// Those that the file gives, else small ones, all of one extent where axes hang together.
std::vector<bl::Layout> layouts_of(const std::string &text, const bl::Kernel &kernel) {
  const auto typed = bl::analysis::analyse(kernel.spec().data());
  const auto known = listed.find(kernel.spec().data().name);
  const auto given = bl::golden::layouts_in(known != listed.end() ? known->second : text);
  std::vector<bl::Layout> layouts = bl::kernel::typical_inputs(typed);
  layouts.resize(typed.callers().size());
  std::size_t i = 0;
  for (const auto &input : typed.callers()) {
    if (const auto found = given.find(input.name); found != given.end()) layouts[i] = found->second;
    ++i;
  }
  std::vector<bl::AnyView> views;
  for (i = 0; i < layouts.size(); ++i)
    views.push_back({typed.inputs[i].dtype, nullptr, false, layouts[i]});
  try {
    kernel.infer(views);
  } catch (const bl::ShapeError &) {
    for (i = 0; i < layouts.size(); ++i) {
      std::vector<std::int64_t> shape = typed.inputs[i].extents;
      for (std::int64_t &extent : shape) extent = extent < 0 ? 12 : extent;
      layouts[i] = bl::contiguous_layout(shape);
    }
  }
  return layouts;
}

// Small numbers above 0, which are positions of most arrays, too.
bl::Array filled(bl::DType dtype, const bl::Layout &layout) {
  std::vector<std::int64_t> shape(layout.shape().begin(), layout.shape().end());
  bl::Array ints(bl::i64, bl::ExtentList(shape));
  for (std::int64_t k = 0; k < ints.size(); ++k) ints.data<std::int64_t>()[k] = (k * 7 + 1) % 5 % 3;
  bl::Array floats(bl::f64, bl::ExtentList(shape));
  for (std::int64_t k = 0; k < floats.size(); ++k)
    floats.data<double>()[k] = double((k * 37 + 11) % 61 + 1) / 16;
  const bool whole = bl::is_integer(dtype) || dtype == bl::DType::Bool;
  const std::string name(bl::name(dtype));
  const bl::LoopSpec cast = bl::parse(fmt::format(
      "kernel cast {{ in x : {}{}; out y = {}(x) }}", whole ? "i64" : "f64",
      layout.rank == 0
          ? ""
          : "[" +
                fmt::format("{}", fmt::join(std::vector<std::string>(std::size_t(layout.rank), ":"),
                                            ", ")) +
                "]",
      name));
  static std::map<std::string, bl::Kernel> kernels;
  auto &kernel = kernels
                     .try_emplace(fmt::format("{}{}", name, layout.rank),
                                  bl::compile(cast, {.engine = bl::Engine::interpreter}))
                     .first->second;
  return kernel({{"x", whole ? ints : floats}})["y"];
}

// The same elements, where the layout has them.
bl::Array laid_out(const bl::Array &from, const bl::Layout &layout) {
  std::int64_t low = 0, high = 0;
  for (int d = 0; d < layout.rank; ++d) {
    const std::int64_t reach = std::max<std::int64_t>(layout.extents[d] - 1, 0) * layout.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const std::size_t size = bl::size_of(from.dtype());
  const auto memory = std::make_shared<std::vector<char>>(std::size_t(high - low + 1) * size + 64);
  char *first = memory->data() + std::size_t(-low) * size;
  first += (64 - reinterpret_cast<std::uintptr_t>(first) % 64) % 64;
  const bl::Array made(std::shared_ptr<void>(memory, memory->data()), from.dtype(), first, layout);
  std::vector<std::int64_t> index(std::size_t(layout.rank));
  for (std::int64_t k = 0; k < from.size(); ++k) {
    std::int64_t at = 0;
    for (int d = 0; d < layout.rank; ++d) at += index[std::size_t(d)] * layout.strides[d];
    std::memcpy(first + at * std::int64_t(size),
                static_cast<const char *>(from.raw()) + k * std::int64_t(size), size);
    for (int d = layout.rank; d-- > 0;) {
      if (++index[std::size_t(d)] < layout.extents[d]) break;
      index[std::size_t(d)] = 0;
    }
  }
  return made;
}

struct Outcome {
  std::string error; // its code; else empty
  std::vector<std::string> bytes;
};

Outcome outcome_of(const bl::Kernel &kernel, const std::vector<bl::NamedView> &inputs) {
  Outcome outcome;
  try {
    for (const auto &[name, array] : kernel.call(inputs)) {
      const bl::Array dense = array.copy();
      outcome.bytes.emplace_back(static_cast<const char *>(dense.raw()),
                                 std::size_t(dense.size()) * bl::size_of(dense.dtype()));
    }
  } catch (const bl::Error &error) {
    outcome.error = error.code();
  }
  return outcome;
}

void check_built(const fs::path &file) {
  const bl::LoopSpec spec = kernel_of(file);
  const bl::Kernel jit = bl::compile(spec, {.threads = 2});
  const std::vector<bl::Layout> layouts = layouts_of(bl::golden::read(file), jit);
  std::string line;
  std::vector<bl::Array> arrays;
  std::int64_t elements = 0;
  for (const bl::Layout &layout : layouts) elements += bl::element_count(layout);
  const bool is_run = elements <= most_elements; // else it is planned, without data
  const std::vector<bl::InputInfo> infos = jit.inputs();
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    line += fmt::format("{}=({})/({}) ", infos[i].name, fmt::join(layouts[i].shape(), ", "),
                        fmt::join(layouts[i].steps(), ", "));
    if (is_run) arrays.push_back(laid_out(filled(infos[i].dtype, layouts[i]), layouts[i]));
  }
  CAPTURE(line);
  const bl::BuiltKernel built = bl::build(spec, {.layouts = line});
  std::vector<bl::NamedView> inputs;
  for (std::size_t i = 0; i < layouts.size(); ++i)
    inputs.emplace_back(infos[i].name,
                        is_run ? bl::AnyView(arrays[i])
                               : bl::AnyView{infos[i].dtype, nullptr, false, layouts[i]});
  std::optional<Outcome> wanted; // after the first that was built, which finds no code of the JIT
  for (const std::string &target : broadloom::jit::targets_here()) {
    CAPTURE(target);
    const bl::Kernel loaded =
        bl::load(built.data, {.threads = 2,
                              .target = target,
                              .engine = is_run ? bl::Engine::automatic : bl::Engine::jit});
    if (!is_run) {
      CHECK_NOTHROW(loaded.prepare_named(inputs));
      CHECK(loaded.counters().compiles == 0);
      continue;
    }
    const Outcome found = outcome_of(loaded, inputs);
    if (!wanted) wanted = outcome_of(jit, inputs);
    CHECK(found.error == wanted->error);
    CHECK(found.bytes == wanted->bytes);
    CHECK(loaded.counters().compiles == 0);
    CHECK(loaded.counters().interpreted == jit.counters().interpreted);
  }
}

const std::vector<fs::path> all = [] {
  std::vector<fs::path> files;
  for (const char *folder : {"golden", "calls", "decisions", "programs"})
    for (fs::path &file : bl::golden::looms_in(folder)) files.push_back(std::move(file));
  return files;
}();
const bool added = bl::tests::add_cases(all, "what is built has the JIT's bits: ", check_built);

} // namespace

TEST_CASE("there are golden kernels to be built") {
  CHECK(added);
  CHECK(all.size() >= 100);
}
