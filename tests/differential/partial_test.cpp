// Random kernels whose data is folded block by block: the bits are those of one call.
#include "parts_of_arrays.hpp"
#include "random_data.hpp"
#include "random_spec.hpp"
#include "same_bits.hpp"

#include "spec/spec.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace broadloom::differential {
namespace {

// Positions begin to end along a dim.
// Some of the multiples of `unit` below `extent`.
std::vector<std::int64_t> cut_somewhere(Random &random, std::int64_t unit, std::int64_t extent) {
  std::set<std::int64_t> borders{0, extent};
  for (int k = 0; k < 4; ++k) {
    const std::int64_t border = unit * random.below(int(extent / unit) + 1);
    if (border < extent) borders.insert(border);
  }
  return {borders.begin(), borders.end()};
}

// The kernel with one of its outputs: most kernels keep any axis in some output.
LoopSpec with_output(const LoopSpec &spec, std::size_t output) {
  SpecData data = spec.data();
  data.outputs = {data.outputs[output]};
  data.pairings.clear();
  data.schedule = {};
  return LoopSpec(std::make_shared<const SpecData>(std::move(data)));
}

TEST_CASE("random kernels have the same bits block by block") {
  const std::uint64_t first = from_environment("BROADLOOM_SEED", 1);
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", default_count);
  std::uint64_t folded = 0, cut = 0, inexact = 0, in_rounds = 0, in_parts = 0, alone = 0,
                scanned = 0, misnamed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const RandomSpec random = random_spec(seed);
    Random source(seed);
    const LoopSpec spec = parse(random.text);
    const std::size_t outputs = spec.data().outputs.size();
    Kernel kernel;
    try {
      kernel = compile(with_output(spec, std::size_t(source.below(int(outputs)))),
                       {.threads = 1 + int(seed % 3),
                        .engine = seed % 4 == 0 ? Engine::automatic : Engine::interpreter});
    } catch (const ShapeError &error) {
      CHECK((error.code() == "E0104")); // it names an axis that another output has brought
      ++misnamed;
      continue;
    }
    const std::vector<InputInfo> infos = kernel.inputs();
    std::set<std::string> axes;
    for (const InputInfo &info : infos) axes.insert(info.axes.begin(), info.axes.end());
    for (const std::string &axis : axes) {
      // The axis is made long enough for several leaves.
      const std::int64_t length = std::vector<std::int64_t>{7, 1025, 4500, 12300}[source.below(4)];
      std::vector<Array> arrays;
      std::vector<int> dims; // along the axis
      double elements = 1;
      for (std::size_t i = 0; i < infos.size(); ++i) {
        REQUIRE(infos[i].name == random.inputs[i].name);
        std::vector<std::int64_t> shape = random.inputs[i].shape;
        int &dim = dims.emplace_back(-1);
        for (std::size_t d = 0; d < shape.size() && d < infos[i].axes.size(); ++d)
          if (infos[i].axes[d] == axis && shape[d] != 1) {
            if (infos[i].extents[d] < 0) shape[d] = length; // others may be as long by chance
            if (shape[d] == length) dim = int(d);
          }
        double size = 1;
        for (const std::int64_t extent : shape) size *= double(extent);
        elements = std::max(elements, size);
        if (elements > 1e6) break;
        Operand operand(source, random.inputs[i].dtype, shape, false);
        operand.fill(source, false);
        const AnyView view = operand.view();
        arrays.push_back(tests::dense_copy(view));
      }
      if (elements > 1e6 || std::ranges::count(dims, -1) == std::ptrdiff_t(dims.size())) continue;
      std::map<std::string, std::int64_t> extents; // outputs may have more axes than any input
      for (std::size_t i = 0; i < infos.size(); ++i)
        for (std::size_t d = 0; d < infos[i].axes.size(); ++d) {
          std::int64_t &extent = extents[infos[i].axes[d]];
          extent = std::max(extent, arrays[i].shape()[d]);
        }
      double points = 1;
      for (const auto &[name, extent] : extents) points *= double(extent);
      if (points > 1e7) continue;
      std::vector<NamedView> all, others;
      for (std::size_t i = 0; i < infos.size(); ++i) {
        all.push_back({infos[i].name, arrays[i]});
        if (std::ranges::count(infos[i].axes, axis) == 0) others.push_back(all.back());
      }
      INFO("seed " << seed << " along " << axis << " of " << length << "\n" << random.text);
      std::int64_t unit = 0;
      std::optional<Results> whole;
      try {
        unit = kernel.unit(axis, all);
        whole = kernel.call(all);
      } catch (const SpecError &error) {
        CHECK((error.code() == "E0060"));
        continue;
      } catch (const ShapeError
                   &) { // extents that do not fit, on purpose or as this one was made longer
        continue;
      } catch (const DataError &) {
        continue;
      }
      const std::vector<std::int64_t> borders = cut_somewhere(source, unit, length);
      std::vector<Array> copies;
      const auto inputs_of = [&](std::size_t b) {
        std::vector<NamedView> inputs;
        for (std::size_t i = 0; i < infos.size(); ++i) {
          AnyView view = arrays[i];
          if (dims[i] >= 0)
            view = tests::part_of(arrays[i], std::size_t(dims[i]), borders[b], borders[b + 1]);
          if (b % 2 == 1) view = copies.emplace_back(tests::dense_copy(view));
          inputs.push_back({infos[i].name, view});
        }
        return inputs;
      };
      const OutputInfo output = kernel.outputs()[0];
      const auto dim = std::ranges::find(output.axes, axis) - output.axes.begin();
      const bool maps = dim < std::ptrdiff_t(output.axes.size());
      const int rounds = kernel.rounds(axis);
      std::vector<Partial> blocks;
      try {
        for (int round = 0; round < rounds; ++round) {
          std::optional<Partial> before;
          if (round > 0) before = kernel.join(blocks);
          blocks.clear();
          for (std::size_t b = 0; b + 1 < borders.size(); ++b)
            blocks.push_back(before ? kernel.partial(*before, borders[b], inputs_of(b))
                                    : kernel.partial(axis, borders[b], inputs_of(b)));
        }
        std::ranges::reverse(blocks);
        for (std::size_t b = 0; b + 1 < borders.size() && (maps || b == 0); ++b) {
          const Results results = maps ? kernel.combine(blocks, borders[b], inputs_of(b))
                                       : kernel.combine(blocks, others);
          REQUIRE(results.size() == 1);
          Array want = (*whole)[0];
          // One element along the axis, as of inputs that are repeated along it, is the same in all
          // blocks.
          if (maps && want.shape()[std::size_t(dim)] != 1) {
            const AnyView here = tests::part_of(want, std::size_t(dim), borders[b], borders[b + 1]);
            want = tests::dense_copy(here);
          }
          INFO("block " << b << " of " << blocks.size());
          CHECK(std::ranges::equal(results[0].shape(), want.shape()));
          CHECK(same_bits(maps ? results[0].copy() : results[0], want));
        }
      } catch (const ShapeError &error) { // a position that is left alone
        INFO(std::string(error.what()));
        CHECK((error.code() == "E0150"));
        ++alone;
        continue;
      }
      in_parts += maps && blocks.size() > 1;
      ++folded;
      cut += blocks.size() > 1;
      inexact += blocks.size() > 1 && unit > 1;
      in_rounds += blocks.size() > 1 && rounds > 1;
      scanned +=
          blocks.size() > 1 && !blocks[0].pieces.empty() && !blocks[0].pieces[0].scans.empty();
    }
  }
  MESSAGE(folded << " folded, " << cut << " of them in several blocks, " << inexact
                 << " of these along leaves, " << in_rounds << " in several rounds, " << in_parts
                 << " with outputs in parts, " << scanned << " with scans; " << alone
                 << " refused");
  CHECK(misnamed <= count / 1000);
  CHECK(alone < folded);
  CHECK(cut > count / 20);
  CHECK(inexact > count / 100);
  CHECK((in_rounds > 0 || count < 1000));
}

} // namespace
} // namespace broadloom::differential
