// The schedule as data: what is chosen can be read and changed before anything is built of it.
#include "analysis/analyse.hpp"
#include "plan/schedule.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace broadloom::plan {
namespace {

using Shapes = std::vector<std::vector<std::int64_t>>;

struct Asked {
  spec::TypedSpec typed;
  Request request;

  Asked(const std::string &body, const Shapes &shapes)
      : typed(analysis::analyse(parse("kernel k {\n" + body + "\n}").data())),
        request{typed, {}, {}, std::vector<bool>(typed.outputs.size(), true)} {
    std::vector<Layout> inputs, outputs;
    for (const auto &shape : shapes) inputs.push_back(contiguous_layout(shape));
    request.resolved = resolve(typed, inputs, request.wanted);
    for (const auto &shape : request.resolved.output_shapes)
      outputs.push_back(contiguous_layout(shape));
    request.walks = walks_of(typed, request.resolved, inputs, outputs);
  }
};

// The kind of the chunks of each group, with their size.
std::vector<std::pair<ChunkKind, std::int64_t>> chunks_of(const Schedule &schedule) {
  std::vector<std::pair<ChunkKind, std::int64_t>> found;
  for (const auto &[group, chunks] : schedule.ways.cuts.chunks)
    found.emplace_back(chunks.kind, schedule.chunk_sizes.at(group));
  return found;
}

TEST_CASE("a group of axes has chunks of one kind") {
  struct Row {
    std::string body;
    Shapes shapes;
    std::vector<std::pair<ChunkKind, std::int64_t>> chunks;
  };
  const std::vector<Row> rows{
      {"in x : f32[i]; out s = sum(x)", {{1'000'000}}, {{ChunkKind::Leaves, 32768}}},
      {"in x : f32[i]; out s = scan(sum, x, i)", {{1'000'000}}, {{ChunkKind::ScanBlock, 4096}}},
      {"in x : f32[i, j]; out s[j] = reduce(sum) x", {{2000, 1000}}, {{ChunkKind::SweptLeaf, 128}}},
      {"in x : f32[i, j]; in y : f32[j, i]; out z[i, j] = x + y",
       {{500, 700}, {700, 500}},
       {{ChunkKind::TileSide, 64}, {ChunkKind::TileSide, 64}}},
      {"in x : f32[i, j]; out z = x * 2", {{500, 700}}, {}},
      {"in x : f64[n, i]; in y : f64[n, j]; out c = sum(x * y, n)",
       {{20'000, 30}, {20'000, 34}},
       {{ChunkKind::Leaves, 1024}}},
      {"in x : f32[i, n]; in y : f32[j, n]; out c = sum(x * y, n)",
       {{30, 20'000}, {34, 20'000}},
       {{ChunkKind::Leaves, 4096}}},
      {"in x : f64[n, i]; in y : f64[n, j]; out c = sum(x * y, n)", {{2000, 30}, {2000, 34}}, {}},
  };
  for (const Row &row : rows) {
    CAPTURE(row.body);
    const Asked asked(row.body, row.shapes);
    CHECK((chunks_of(choose(asked.request, {.threads = 2})) == row.chunks));
  }
}

TEST_CASE("all results of a product with a long fold go through each chunk of its operands") {
  const std::string product = "in x : f64[n, i]; in y : f64[n, j]; out c = sum(x * y, n)";
  const auto goes_by_chunks = [](const std::string &body, const Shapes &shapes) {
    const Asked asked(body, shapes);
    const Plan plan = build(asked.request, choose(asked.request, {.threads = 2}));
    loop::verify(plan.program);
    loop::verify_numbers(plan.program, plan.binding.numbers());
    const std::string text = loop::print(plan.program);
    return text.find("  parallel for n.chunk\n    parallel for i\n") != std::string::npos &&
           text.find("[n.chunk other, i other, j unit]") != std::string::npos;
  };
  CHECK(goes_by_chunks(product, {{20'000, 30}, {20'000, 34}}));
  CHECK(goes_by_chunks(product, {{1'000'000, 3}, {1'000'000, 4}}));
  CHECK(!goes_by_chunks(product, {{20'000, 300}, {20'000, 340}})); // panels
  CHECK(!goes_by_chunks(product + "; out s = scan(sum, x, n)", {{20'000, 30}, {20'000, 34}}));
  CHECK(!goes_by_chunks(product + "; in z : f64[n, j, i]; out w = sum(y * z, n)",
                        {{20'000, 30}, {20'000, 34}, {20'000, 34, 30}}));
}

TEST_CASE("what is chosen goes by the machine") {
  const Asked map("in x : f32[i, j]; out z = x * 2", {{500, 700}});
  CHECK(!choose(map.request, {}).stores[0].streamed);
  CHECK(choose(map.request, {.kept_output = 1 << 16}).stores[0].streamed);
  const Asked columns("in x : f32[i, j]; out s[j] = reduce(sum) x", {{2000, 1000}});
  CHECK(choose(columns.request, {.threads = 2}).ways.sweeps.size() == 1);
  CHECK(choose(columns.request, {.threads = 64}).ways.sweeps.empty());
}

TEST_CASE(
    "an output is stored plainly while half of it stays in the cache behind all that is read") {
  const auto is_streamed = [](const std::string &body, const Shapes &shapes,
                              const Machine &machine = {.own_caches = 1 << 20,
                                                        .last_level_cache = 32 << 20,
                                                        .kept_output = 6 << 20}) {
    const Asked asked(body, shapes);
    return choose(asked.request, machine).stores[0].streamed;
  };
  const std::string one = "in x : f32[i]; out z = x * 2";
  const std::string three = "in x : f32[i]; in y : f32[i]; in w : f32[i]; out z = x * y + w";
  constexpr std::int64_t many = 1 << 20;
  CHECK(!is_streamed(one, {{many}}));
  CHECK(is_streamed(one, {{many * 2}}));
  CHECK(!is_streamed(three, {{many / 2}, {many / 2}, {many / 2}}));
  CHECK(is_streamed(three, {{many}, {many}, {many}}));
  // It fits into the caches that all cores have of their own.
  CHECK(!is_streamed(three, {{many}, {many}, {many}},
                     {.own_caches = 1 << 20, .kept_output = 6 << 20, .threads = 4}));
  CHECK(!is_streamed("in x : f32[i, j]; out s = sum(x, j)", {{100'000, 64}}));
  // Windows of one array are read once.
  CHECK(!is_streamed("in x : f32[:]; out z = x[i] + x[i + 1] + x[i + 2]",
                     {{many + 2}, {many}, {many}, {many}}));
}

TEST_CASE("lines are asked for ahead where all operands together leave a core's own caches") {
  const auto asks = [](const std::string &body, const Shapes &shapes) {
    const Asked asked(body, shapes);
    std::vector<bool> ahead;
    for (const Reading &reading : choose(asked.request, {}).reads)
      ahead.push_back(!reading.stays_near);
    return ahead;
  };
  using Ahead = std::vector<bool>;
  constexpr std::int64_t many = 1 << 20;
  CHECK(asks("in x : f32[i]; out z = x * 2", {{many / 4}}) == Ahead{false});
  CHECK(asks("in x : f32[i]; out z = x * 2", {{many}}) == Ahead{true});
  CHECK(asks("in x : f32[i]; out s = sum(x)", {{many - 1024}}) == Ahead{false});
  CHECK(asks("in x : f32[i, j]; in y : f32[j]; out z = x * y", {{1024, 1024}, {1024}}) ==
        Ahead{true, false});
}

TEST_CASE("another schedule is built as it is") {
  const Asked asked("in x : f32[i]; out s = sum(x); out z = x * 2", {{1'000'000}});
  Schedule schedule = choose(asked.request, {.threads = 2});
  schedule.stores[1].streamed = true;
  for (auto &[group, positions] : schedule.chunk_sizes) positions *= 2;
  const Plan plan = build(asked.request, schedule);
  loop::verify(plan.program);
  loop::verify_numbers(plan.program, plan.binding.numbers());
  CHECK(std::ranges::max(plan.binding.chunks) == 65536);
  bool streamed = false;
  for (const loop::Buffer &buffer : plan.program.buffers)
    streamed = streamed || (buffer.name == "z" && buffer.stream);
  CHECK(streamed);
}

} // namespace
} // namespace broadloom::plan
