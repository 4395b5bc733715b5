// See why.hpp.
#include "jit/show/why.hpp"

#include "jit/nest/explain_program.hpp"
#include "jit/show/shown.hpp"
#include "ops/complex.hpp"
#include "plan/explain.hpp"
#include "plan/tasks.hpp"
#include "spec/early_end.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace broadloom::jit {

using support::decide;
using support::Reason;

namespace {

void append(std::vector<Decision> &all, const std::vector<Decision> &more) {
  all.insert(all.end(), more.begin(), more.end());
}

void add_libm(const loop::Program &program, std::vector<Decision> &result) {
  std::set<ops::Op> seen;
  const auto add = [&](ops::Op op) {
    if (ops::info(op).math == ops::Math::Libm && seen.insert(op).second)
      result.push_back(decide(Reason::LaneAtATime, std::string(ops::info(op).spelling),
                              "one lane at a time",
                              fmt::format("{} runs one lane at a time", ops::info(op).spelling)));
  };
  for (const loop::Value &value : program.values) {
    if (value.kind != loop::ValueKind::Op) continue;
    if (is_complex(value.compute))
      for (const ops::Op op : ops::complex::made_of(value.op)) add(op);
    else
      add(value.op);
  }
}

// What runs the program.
Decision explain_engine(const Nest &nest, const Shown &shown) {
  const Setup &setup = nest.setup();
  if (shown.engine == Engine::reference) {
    const std::string reason =
        shown.failure.empty() ? "the interpreter failed by a bug of ours" : shown.failure;
    return decide(Reason::NoPlan, "", "reference",
                  "reference, for want of a program that runs: " + reason,
                  {{"native code", reason}, {"interpreter", reason}});
  }
  if (!setup.target) {
    const bool asked = setup.engine == Engine::interpreter;
    return decide(asked ? Reason::InterpreterAsked : Reason::NoNativeTarget, "", "interpreter",
                  std::string(name(setup.engine)) + ": the loop IR, one point at a time");
  }
  const std::string native =
      fmt::format("native code for {} ({}, {}-bit vectors)", setup.target->isa->name,
                  setup.target->cpu, setup.target->vector_bits());
  if (shown.special && shown.special->beside)
    return decide(Reason::Tiered, "", "interpreter",
                  "interpreter, while code is made: calls that it does soon begin there",
                  {{"native code", "made by another thread from the second call on"}});
  if (shown.engine == Engine::interpreter)
    return decide(Reason::NoNativeCode, "", "interpreter",
                  "interpreter, for want of native code: " + shown.pattern->no_code,
                  {{"native code", shown.pattern->no_code}});
  return decide(Reason::NativeCode, "", "native code", native,
                {{"interpreter", "the same bits, far slower"}});
}

void explain_classes(const Nest &nest, std::vector<Decision> &why) {
  const spec::TypedSpec &typed = nest.typed();
  for (const kernel::ByParts &group : nest.setup().by_parts) {
    if (group.residues.empty()) continue;
    std::string axes, counts;
    for (std::size_t axis = 0; axis < typed.axes.size(); ++axis) {
      if (!group.axes.has(int(axis)) || group.steps[axis] == 1) continue;
      axes += (axes.empty() ? "" : ", ") + typed.axes[axis].name;
      counts += fmt::format("{}{}", counts.empty() ? "" : " x ", group.steps[axis]);
    }
    why.push_back(
        decide(Reason::ResidueClasses, axes, counts + " classes",
               fmt::format("{} in {} classes, of positions that meet the same elements of "
                           "what flows back; shown is the last",
                           axes, counts),
               {{"all positions at once", "most of what is added up would be nothing"}}));
  }
}

void explain_padding(const Nest &nest, std::vector<Decision> &why) {
  const spec::TypedSpec &typed = nest.typed();
  if (!nest.setup().has_windows) return; // a part of a call is told of with the whole
  const std::vector<bool> read = kernel::elements_read(typed);
  std::string padded;
  for (std::size_t i = 0; i < typed.inputs.size(); ++i)
    if (const auto &window = typed.inputs[i].window;
        window && read[i] && kernel::is_guarded(*window))
      padded = typed.inputs[window->of].name;
  const auto latest = nest.latest_windows();
  const std::size_t parts = latest && latest->split ? latest->parts.size() : 0;
  if (padded.empty()) return;
  if (parts == 1)
    why.push_back(decide(Reason::PaddingSplit, padded, "the array itself",
                         fmt::format("nothing that is read lies in a border: '{}' is read where it "
                                     "lies",
                                     padded),
                         {{"a padded copy", "takes more memory traffic"}}));
  else if (parts > 1)
    why.push_back(decide(Reason::PaddingSplit, padded, "interior and borders",
                         fmt::format("the interior reads '{}' itself, {} around it copies of what "
                                     "they read; shown is the interior",
                                     padded, support::count(std::int64_t(parts) - 1, "part")),
                         {{"a padded copy", "takes more memory traffic"}}));
  else
    why.push_back(decide(Reason::PaddingCopied, padded, "a padded copy",
                         fmt::format("a call copies '{}' with its borders, once for all that is "
                                     "padded alike",
                                     padded),
                         {{"the interior without a copy",
                           "for arrays of 512 KiB and more, where each axis along a border is one "
                           "of the output, and nothing folds, scans or counts along it"}}));
}

std::vector<Decision> why_own(const Nest &nest, const Counters &counters) {
  std::vector<Decision> result = nest.typed().notes;
  Shown shown = what_to_show(nest);
  find_engine(nest, shown);
  if (shown.engine == Engine::reference) {
    result.push_back(explain_engine(nest, shown));
    return result;
  }
  append(result, shown.why);
  append(result, plan::explain_program(nest.typed(), shown.program, shown.binding));
  if (!shown.failure.empty())
    result.push_back(decide(Reason::PlanFailed, "", "a plan for one thread",
                            "a plan for one thread: " + shown.failure,
                            {{"a plan for several threads", shown.failure}}));
  result.push_back(explain_engine(nest, shown));
  if (shown.engine == Engine::jit) {
    const block::Program &blocks = shown.pattern->code->blocks();
    const loop::Numbers numbers = shown.binding.numbers();
    append(result, block::explain(shown.program, blocks, &numbers));
    append(result, explain_weights(blocks.weights));
    add_libm(shown.program, result);
  }
  if (!shown.special) return result;
  result.push_back(shown.special->found);
  if (shown.pattern->code) {
    result.push_back(
        decide(Reason::CodeSize, "", fmt::format("{} bytes", shown.pattern->code->code_bytes()),
               fmt::format("{} bytes; {} compiled by this kernel in {:.2f} ms in all",
                           shown.pattern->code->code_bytes(),
                           support::count(counters.compiles, "pattern"), counters.compile_ms)));
  }
  if (shown.layouts.near == 0) // else `let-in-tiles` says what threads take
    append(result,
           explain_threads(shown.program, shown.binding, nest.setup().machine(shown.threads)));
  return result;
}

// What is said of loops, where there are none.
void add_unmet(const spec::TypedSpec &typed, const std::string &because,
               std::vector<Decision> &why) {
  if (typed.wishes.empty() && typed.pairings.empty()) return;
  const std::string &name = typed.outputs[0].name;
  why.push_back(decide(
      Reason::WishNotMet, "schedule " + name, "no loops",
      fmt::format("the schedule speaks of the loops of '{}', and it has none: {}", name, because)));
}

// Of one nest, with the counters that it tells; what computes the values of sums through gathers
// comes first.
std::vector<Decision> why_one(const Nest &nest, const Counters &counters) {
  const spec::TypedSpec &typed = nest.typed();
  std::vector<Decision> result;
  if (const Nest *before = nest.before()) append(result, why_one(*before, before->counters()));
  if (nest.setup().engine == Engine::reference) {
    append(result, typed.notes);
    result.push_back(decide(Reason::ReferenceAsked, "", "reference",
                            "reference: point by point from the definition"));
    return result;
  }
  if (fills_output(nest)) {
    append(result, typed.notes);
    const std::string &name = typed.outputs[0].name;
    result.push_back(
        decide(Reason::GatherFillsOutput, name, "a gather",
               fmt::format("a gather fills '{}': no loop is run, and no code compiled", name),
               {{"native code", "it would move each element once more"}}));
    add_unmet(typed, "a gather fills it", result);
    return result;
  }
  for (const Nest *part : latest_nests(nest))
    append(result, part == &nest ? why_own(nest, counters) : why_one(*part, part->counters()));
  explain_classes(nest, result);
  explain_padding(nest, result);
  return result;
}

// A read, or a sum through one, at positions that elements of the let say; empty where there is
// none.
std::string takes_positions_from(const KernelImpl &kernel, const std::string &let) {
  std::vector<const spec::TypedSpec *> readers;
  for (const auto &other : kernel.nests().lets.specs()) readers.push_back(&other->typed);
  readers.push_back(&kernel.typed());
  for (const spec::TypedSpec *reader : readers)
    for (const spec::TypedInput &input : reader->inputs)
      for (std::size_t dim = 0; input.window && dim < input.window->forms.size(); ++dim)
        for (const spec::TypedWindow::Index &index : input.window->forms[dim].indices)
          if (const spec::TypedInput &array = reader->inputs[reader->array_of(index.input)];
              array.materialised && array.name == let)
            return input.name;
  return {};
}

// Of the latest call; none: the let was an array of all its rows.
std::optional<Decision> in_tiles(const KernelImpl &kernel, const std::string &let) {
  const std::shared_ptr<const CallPlan> call = kernel.plans().latest();
  if (!call) return std::nullopt;
  for (const Tiles &tiles : call->tiles)
    for (const Tiles::Array &array : tiles.arrays)
      if (array.name == let)
        return decide(
            Reason::LetInTiles, let, "in tiles",
            fmt::format(
                "let '{}' is computed just before its rows are read: {} of {} rows are kept, in {} "
                "bytes that have room for {}, for each of {} that threads take",
                let, array.kept, array.rows, array.room * array.row_bytes, array.room,
                support::count(std::int64_t(tiles.tasks.size()), "task")),
            {{"an array", fmt::format("{} bytes would be written and read once more",
                                      array.rows * array.row_bytes)}});
  return std::nullopt;
}

// Whether the loop that begins with this let stops where a condition is true.
Decision explain_end(const Lets &lets, const std::string &let, const spec::EarlyEnd &end) {
  const auto named = [&](std::size_t k) { return lets.specs()[k]->typed.outputs[0].name; };
  const std::string done = named(end.done);
  if (end.moves)
    return decide(
        Reason::LoopRunsOn, let, "all steps",
        fmt::format("let '{}' goes on changing where '{}' is true", named(*end.moves), done),
        {{"until " + done, "a row behind it may be another"}});
  std::string text =
      fmt::format("behind the step at which '{}' is true all rows repeat its row", done);
  if (end.more != 0) text += fmt::format(", {} later", support::count(end.more, "step"));
  return decide(Reason::LoopEnds, let, "until " + done, std::move(text),
                {{"all steps", "their rows are copies"}});
}

} // namespace

// What was decided about let k, and by its kernel.
std::vector<Decision> explain_let(const KernelImpl &kernel, std::size_t k) {
  const Lets &lets = kernel.nests().lets;
  std::vector<Decision> why;
  const spec::Materialised &spec = *lets.specs()[k];
  const std::string &name = spec.typed.outputs[0].name;
  if (spec.join) {
    why = {decide(Reason::LetIsArray, name, "an array",
                  fmt::format("let '{}' is made up of {}: each is computed where it lies in it",
                              name, support::quoted_list(spec.join->parts)),
                  {{"copied together", "that would read and write all of it once more"}})};
    std::ranges::copy_if(spec.typed.notes, std::back_inserter(why),
                         [](const Decision &note) { return note.topic == "schedule"; });
    return why;
  }
  if (const auto &rows = lets.rows_of_loop(k)) {
    const std::string &loop = lets.specs()[rows->loop]->typed.outputs[0].name;
    why = {
        decide(Reason::LetIsRows, name, "rows of " + loop,
               fmt::format("let '{}' is '{}' {} before, which lies there with what it begins with",
                           name, loop, support::count(rows->back, "step")),
               {{"an array", "that would write and read all of it once more"}})};
    add_unmet(spec.typed, "its rows are those of '" + loop + "'", why);
    return why;
  }
  if (lets.is_shape(k)) {
    why = {decide(Reason::LetIsArray, name, "a shape",
                  fmt::format("let '{}' is not computed: only its shape is read", name),
                  {{"computed first", "nothing reads its elements"}})};
    add_unmet(spec.typed, "only its shape is read", why);
    return why;
  }
  const Nest &let = *lets.nests()[k];
  const std::string reader = takes_positions_from(kernel, name);
  const std::optional<Decision> tiles = in_tiles(kernel, name);
  if (tiles) {
    why.push_back(*tiles);
  } else {
    why.push_back(decide(
        Reason::LetIsArray, name, "an array",
        fmt::format("let '{}' {}: it is computed first, into an array of {}", name,
                    reader.empty() ? "is read at positions" : "holds the positions of " + reader,
                    broadloom::name(let.typed().outputs[0].dtype)),
        {{"computed where it is read",
          reader.empty() ? "only a whole array has positions"
                         : "all positions are looked at before anything is read"}}));
    const std::shared_ptr<const CallPlan> call = kernel.plans().latest();
    if (call && k < call->not_in_tiles.size() && !call->not_in_tiles[k].empty())
      why.back().alternatives.push_back({"in tiles", call->not_in_tiles[k]});
  }
  if (const std::optional<int> time = let.typed().time) {
    const std::string &axis = let.typed().axes[std::size_t(*time)].name;
    why.push_back(decide(Reason::LetGoesByStep, name, "step by step along " + axis,
                         fmt::format("let '{}' reads itself at other positions of '{}': a kernel "
                                     "of one step is run for one after the other",
                                     name, axis),
                         {{"all at once", "each step waits for the one before it"}}));
  }
  if (spec.recurrence && spec.recurrence->first == k)
    if (const auto end = spec::early_end(lets.specs(), k))
      why.push_back(explain_end(lets, name, *end));
  if (const auto layouts = lets.latest(); layouts && spec.recurrence && spec.recurrence->first == k)
    if (const auto rest = lets.rest_of(k, *layouts)) {
      const std::string &says = lets.specs()[rest->says]->typed.outputs[0].name;
      why.push_back(decide(Reason::LoopRests, name, "where " + says + " is true",
                           fmt::format("behind {} in a row at which '{}' is true, further ones "
                                       "bring the rows of the step before",
                                       support::count(rest->after, "step"), says),
                           {{"all steps", "their rows are copies"}}));
    }
  if (const std::int64_t rows = spec.recurrence ? spec.recurrence->lag + 1 : 0;
      lets.keeps_last_rows(k))
    why.push_back(
        decide(Reason::LetKeepsRows, name, fmt::format("{} rows", rows),
               fmt::format("only the last position of let '{}' is read: {} {} kept, "
                           "which a step reads and writes",
                           name, support::count(rows, "position"), rows == 1 ? "is" : "are"),
               {{"all positions", "none but the last is read"}}));
  if (const auto layouts = lets.latest()) {
    if (std::ranges::count(layouts->reordered, k) != 0)
      why.push_back(
          decide(Reason::LetOrder, name,
                 fmt::format("strides {}", fmt::join(layouts->lets[k].steps(), ", ")),
                 fmt::format("let '{}' lies as what reads it goes through it: {:.3g} bytes "
                             "in all, {:.3g} in the order of what it reads",
                             name, layouts->traffic, layouts->traffic_before),
                 {{"the order of what it reads", "more lines are read across"}}));
    if (layouts->segment(k) > 0 && !lets.keeps_last_rows(k)) {
      const Segments &segments = layouts->segments[k];
      const std::int64_t steps = layouts->lets[k].extents[spec.recurrence->dim];
      const std::int64_t run =
          steps + segments.steps * segments_again(segments.count(steps), segments.places);
      why.push_back(
          decide(Reason::LetCheckpoints, name,
                 fmt::format("{} of {}, {}", support::count(segments.places, "segment"),
                             segments.count(steps), support::count(run, "step")),
                 fmt::format("of let '{}' {} are kept at once, and what {} of {} begin with: "
                             "the others are computed again for what goes back along it, in {} "
                             "in place of {}",
                             name, support::count(layouts->kept_rows[k], "position"),
                             segments.places, support::count(segments.count(steps), "segment"),
                             support::count(run, "step"), steps),
                 {{"all positions", "they take more than BROADLOOM_LOOP_BYTES"}}));
    }
  }
  append(why, why_one(let, let.counters()));
  return why;
}

std::vector<Decision> explain_rest(const KernelImpl &kernel) {
  const Lets &lets = kernel.nests().lets;
  std::vector<Decision> why;
  const std::shared_ptr<const CallPlan> call = kernel.plans().latest();
  // Lets in tiles lie elsewhere.
  if (const auto layouts = call && call->lets ? call->lets : lets.latest()) {
    std::int64_t apart = 0;
    for (const std::int64_t bytes : layouts->bytes) apart += bytes;
    why.push_back(decide(Reason::LetsShareMemory, "",
                         fmt::format("{} bytes", layouts->places.bytes),
                         fmt::format("the arrays of lets take {} bytes at once, {} if none shared "
                                     "memory with another",
                                     layouts->places.bytes, apart),
                         {}, {.bytes = double(layouts->places.bytes)}));
  }
  append(why, why_one(kernel.nests().rest, kernel.counters()));
  return why;
}

// Text and JSON have them in the same order.
std::vector<Decision> why(const KernelImpl &kernel) try {
  const support::FloatWorld world;
  std::vector<Decision> result;
  for (std::size_t k = 0; k < kernel.nests().lets.specs().size(); ++k)
    append(result, explain_let(kernel, k));
  append(result, explain_rest(kernel));
  return result;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom::jit
