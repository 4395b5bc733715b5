// Choosing non-temporal stores and prefetches: see choose.hpp.
#include "plan/choose.hpp"

#include "plan/thresholds.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace broadloom::plan {

using support::Reason;

// The processor looks less far ahead the more there is to compute for a line: the steps of a fold
// wait for each other, and a map of 60 operations fills it with seven lines. Its own prefetcher
// ends at each page. One that stays in a core's own caches comes faster than it could be asked for
// ahead, and so do parts of one that is read again and again, as in a product of matrices. In a
// tile, the lines that come next are those of the next row, which is what the tile is there for; in
// a view with gaps, no part of it.
Reason Reading::reason(double turns) const {
  return stays_near ? Reason::InputStaysNear : is_often(turns) ? Reason::InputReadOften : otherwise;
}

namespace {

// Between runs so short that a good part of what is asked for would lie there.
bool has_gaps(const Request &request, Steps steps, std::int64_t size) {
  std::sort(steps.begin(), steps.end(),
            [](const Step &a, const Step &b) { return std::abs(a.stride) < std::abs(b.stride); });
  std::int64_t run = 1; // elements
  for (const Step &step : steps) {
    if (run * size >= long_run) return false;
    if (std::abs(step.stride) > run + run / least_run_of_gap) return true;
    run = std::max(run, std::abs(step.stride) * request.resolved[step.cls].extent);
  }
  return false;
}

// Of windows of one array that differ by constants alone, the one that goes first, row by row: what
// it has read the others find in the caches. One of another plane reads other elements.
//
//   x[i, j + 1], x[i + 1, j], x[i + 2, j + 1]: the last one;  x[0, i, j], x[1, i, j]: both
bool follows_another(const Request &request, std::size_t input) {
  const auto &window = request.spec.inputs[input].window;
  if (!window || window->is_gather() || window->derived || window->sum) return false;
  const auto starts = [](const spec::TypedWindow &of) {
    std::vector<std::int64_t> list;
    for (const spec::TypedWindow::Form &form : of.forms) list.push_back(form.start);
    return list;
  };
  const auto is_same_but_for_starts = [&](const spec::TypedWindow &other) {
    const auto same = [](const spec::TypedWindow::Form &a, const spec::TypedWindow::Form &b) {
      return (a.start == b.start || !a.terms.empty()) && are_same_but_for_start(a, b);
    };
    return other.of == window->of && other.pads == window->pads && !other.is_gather() &&
           std::ranges::equal(other.forms, window->forms, same);
  };
  for (std::size_t i = 0; i < request.spec.inputs.size(); ++i) {
    const auto &other = request.spec.inputs[i].window;
    if (i != input && other && !other->derived && !other->sum && is_same_but_for_starts(*other) &&
        starts(*other) > starts(*window))
      return true;
  }
  return false;
}

// A window reads the same elements again along the axes of a sum.
struct Read {
  double elements = 1, reach = 1;
  double bytes = 0;
};
Read read_of(const Request &request, std::size_t input) {
  Read read;
  for (const Step &step : request.walks.own_steps(input)) {
    read.elements *= double(request.resolved[step.cls].extent);
    read.reach += double(request.resolved[step.cls].extent - 1) * std::abs(double(step.stride));
  }
  read.bytes = std::min(read.elements, std::max(read.reach, 1.)) *
               double(size_of(request.spec.inputs[input].dtype));
  return read;
}

std::int64_t bytes_of_output(const Request &request, std::size_t output) {
  if (request.is_near(request.spec.inputs.size() + output)) return 0;
  std::int64_t bytes = std::int64_t(size_of(request.spec.outputs[output].dtype));
  for (std::int64_t n : request.resolved.output_shapes[output]) bytes *= n;
  return bytes;
}

// What goes through the caches: each array once, however many windows it has.
double traffic_of(const Request &request) {
  std::map<std::size_t, double> arrays; // [the input that the windows are of]
  for (std::size_t input = 0; input < request.spec.inputs.size(); ++input) {
    if (request.is_near(input)) continue;
    const auto &window = request.spec.inputs[input].window;
    double &most = arrays[window ? std::size_t(window->of) : input];
    most = std::max(most, read_of(request, input).bytes);
  }
  double bytes = 0;
  for (const auto &[array, read] : arrays) bytes += read;
  for (std::size_t output = 0; output < request.spec.outputs.size(); ++output)
    bytes += double(bytes_of_output(request, output));
  return bytes;
}

// Whether the last-level cache has at least half of an output when the call ends. What goes through
// it last is what stays: of three inputs and an output the fourth part is the output's. Where all
// cores have room for the output in caches of their own, it is there.
bool is_kept(const Request &request, double bytes, const Machine &machine) {
  const auto kept = double(machine.kept_output);
  const double own = double(machine.own_caches) * machine.threads;
  return bytes <= kept && (bytes <= own || traffic_of(request) <= 2 * kept);
}

// Of the folds in a loop, for one of its positions.
double folded_steps(const Request &request, const Nests &nests, TreeId loop) {
  double most = 1;
  for (const Entry &entry : nests[loop].body) {
    if (entry.kind != Entry::Kind::Loop) continue;
    const TreeNode &inner = nests[entry.loop];
    const double steps =
        inner.folds.empty() ? 1 : double(group_extent(request.resolved, inner.key.group));
    most = std::max(most, steps * folded_steps(request, nests, entry.loop));
  }
  return most;
}

// An output of which the last-level cache keeps little is stored around the caches: it would only
// push out what is still to be read, and a normal store reads each line first. Behind long folds
// the stores are of no matter, and several groups of lanes are: the steps of one wait for each
// other.
Storing storing(const Request &request, const Nests &nests, const Item &item,
                const Machine &machine) {
  const LoopKey &loop = nests[item.place->body].key;
  const spec::TypedOutput &output = request.spec.outputs[item.output];
  const std::int64_t bytes = bytes_of_output(request, item.output);
  const bool unit =
      !loop.group.empty() && stride_along(request.walks.outputs[item.output], loop.group) == 1;
  Storing chosen;
  chosen.bytes = double(bytes);
  chosen.reason =
      output.add                                ? Reason::AddsIntoOutput
      : is_kept(request, chosen.bytes, machine) ? Reason::OutputFitsCache
      : !unit || !loop.vector                   ? Reason::StoreNotUnitStride
      : group_extent(request.resolved, loop.group) * std::int64_t(size_of(output.dtype)) <
              shortest_streamed_row
          ? Reason::ShortStreamedRows
      : folded_steps(request, nests, item.place->body) >= fewest_steps_of_plain_stores
          ? Reason::StoreEndsFold
          : Reason::OutputExceedsCache;
  switch (request.spec.wishes.stores[item.output]) {
  case spec::Stores::AsItFits: chosen.streamed = chosen.reason == Reason::OutputExceedsCache; break;
  case spec::Stores::Streamed: chosen.streamed = !output.add && unit && loop.vector; break;
  case spec::Stores::Cached: chosen.streamed = false; break;
  }
  return chosen;
}

} // namespace

std::vector<Storing> choose_stores(const Request &request, const Nests &nests,
                                   const Machine &machine) {
  std::vector<Storing> stores(request.spec.outputs.size());
  for (const Item &item : nests.items)
    if (item.kind == ItemKind::Store) stores[item.output] = storing(request, nests, item, machine);
  return stores;
}

std::vector<Reading> choose_reads(const Request &request, const Cuts &cuts,
                                  const Machine &machine) {
  const bool tiled = std::ranges::any_of(
      cuts.chunks, [](const auto &cut) { return cut.second.kind == ChunkKind::TileSide; });
  const auto near = double(machine.last_level_cache / far_inputs);
  const bool all_near = traffic_of(request) <= near;
  std::vector<Reading> reads;
  for (std::size_t input = 0; input < request.spec.inputs.size(); ++input) {
    const Read read = read_of(request, input);
    Reading reading;
    reading.bytes = read.bytes;
    // One of many that are large together finds none of its elements there, unless it is small.
    reading.stays_near = request.is_near(input) || all_near ||
                         read.bytes <= std::min(near, double(machine.own_caches));
    reading.exceeds_nearest_cache = reading.bytes > double(machine.nearest_cache);
    reading.gains_by_tiles = reading.exceeds_nearest_cache;
    reading.most_turns = most_reads * read.elements;
    const auto size = std::int64_t(size_of(request.spec.inputs[input].dtype));
    reading.otherwise = tiled ? Reason::InputReadInTiles
                        : has_gaps(request, request.walks.own_steps(input), size)
                            ? Reason::InputHasGaps
                        : read.elements > 4 * read.reach  ? Reason::InputReadOften
                        : follows_another(request, input) ? Reason::InputReadBefore
                                                          : Reason::InputReadAhead;
    reads.push_back(reading);
  }
  return reads;
}

} // namespace broadloom::plan
