// What runs a kernel: .run, .check and .time, and the data that they run on.
#include "tools/broadloom/repl/session.hpp"

#include "kernel/layouts.hpp"
#include "support/size_text.hpp"
#include "support/text.hpp"
#include "tools/broadloom/cli/interrupt.hpp"
#include "tools/broadloom/cli/progress.hpp"
#include "tools/broadloom/cli/tune.hpp"
#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/cli/verify.hpp"
#include "tools/broadloom/data/paths.hpp"
#include "tools/broadloom/repl/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ostream>

namespace broadloom::cli {

namespace {

// Extents of data that is made up: small ones that differ, or so many that there are about as many
// positions as asked for.
std::int64_t made_up_extent(std::size_t axis, std::size_t axes, std::int64_t points) {
  constexpr std::int64_t small[] = {4, 5, 3};
  if (points == 0) return axis < std::size(small) ? small[axis] : 2;
  return std::max<std::int64_t>(
      2, std::int64_t(std::round(std::pow(double(points), 1.0 / double(axes)))));
}

std::string made_up_source(const spec::TypedSpec &spec, std::size_t index,
                           const std::vector<std::int64_t> &extents) {
  const spec::TypedInput &input = spec.inputs[index];
  if (input.axis_of_dim.empty()) return is_float(input.dtype) ? "0.5" : "1";
  std::vector<std::int64_t> shape;
  for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d) {
    const std::int64_t walked = extents[std::size_t(input.axis_of_dim[d])];
    shape.push_back(input.extents[d] >= 0
                        ? input.extents[d]
                        : std::max(input.in_windows_only ? 1 : walked,
                                   kernel::room_for_windows(spec, index, d, extents)));
  }
  return fmt::format("rand({})", fmt::join(shape, ", "));
}

// NAME=SOURCE by input. Throws UsageError E0401, E0404, E0406.
std::map<std::string, std::string> sources_in(const std::vector<std::string> &words,
                                              const DefinedKernel &defined,
                                              const Library &library) {
  std::vector<std::string> inputs, kernels;
  for (const spec::TypedInput &input : defined.typed.callers()) inputs.push_back(input.name);
  for (const auto &[name, kernel] : library.kernels()) kernels.push_back(name);
  const auto hint = [](const std::string &word, const std::vector<std::string> &known,
                       const std::string &what) {
    const std::string near = nearest(word, known);
    if (!near.empty()) return fmt::format("did you mean '{}'?", near);
    return known.empty() ? "it has no " + what
                         : fmt::format("the {} are {}", what, support::quoted_list(known));
  };
  std::map<std::string, std::string> sources;
  for (const std::string &word : words) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos)
      throw UsageError("E0406", fmt::format("there is no kernel '{}'", word),
                       hint(word, kernels, "kernels") + "; data is given as NAME=SOURCE");
    const std::string name = word.substr(0, equals);
    if (std::find(inputs.begin(), inputs.end(), name) == inputs.end())
      throw UsageError("E0404",
                       fmt::format("kernel '{}' has no input '{}'", defined.typed.name, name),
                       hint(name, inputs, "inputs"));
    if (!sources.emplace(name, word.substr(equals + 1)).second)
      throw UsageError("E0404", fmt::format("input '{}' is given twice", name),
                       "leave one of them out");
  }
  return sources;
}

struct Made {
  std::vector<Array> arrays;
  std::string made_up; // " x=rand(3, 4)" for each input without a source
};

// What is given first: its extents are those of what is made up.
Made read_or_make_up(const spec::TypedSpec &typed,
                     const std::vector<std::optional<Source>> &sources, std::int64_t points,
                     const Values &values) {
  Made made;
  made.arrays.resize(sources.size());
  const std::size_t axes = typed.axes.size();
  std::vector<std::int64_t> extents;
  for (std::size_t a = 0; a < axes; ++a) extents.push_back(made_up_extent(a, axes, points));
  const auto learn = [&](std::size_t i, std::span<const std::int64_t> shape) {
    const std::vector<int> &axis = typed.inputs[i].axis_of_dim;
    for (std::size_t d = 0; d < std::min(axis.size(), shape.size()); ++d)
      if (shape[d] >= 0 && shape[d] != 1) extents[std::size_t(axis[d])] = shape[d];
  };
  const auto read = [&](std::size_t i, const Source &source) {
    const spec::TypedInput &input = typed.inputs[i];
    made.arrays[i] = read_source(source, {input.name, input.dtype, input.where, &values});
  };
  for (std::size_t i = 0; i < sources.size(); ++i) learn(i, typed.inputs[i].extents);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i]) continue;
    read(i, *sources[i]);
    learn(i, made.arrays[i].shape());
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i]) continue;
    const std::string source = made_up_source(typed, i, extents);
    made.made_up += fmt::format(" {}={}", typed.inputs[i].name, source);
    read(i, parse_source(source, typed.inputs[i].name));
  }
  return made;
}

// 1 byte or operation per ns is 1 G of them per second.
std::string rate(double per_ns, const char *unit) {
  return fmt::format("{:.3g} G{}/s", per_ns, unit);
}

using support::time_text;

} // namespace

void Session::run_once(const Call &call) {
  with_places(call.defined->text, [&] {
    call.kernel.run_named(named_views(call.infos, call.inputs), call.outputs.views());
  });
}

// k: 521 us a call, 502 to 560 us for most of 367 calls on 2 threads; compiled in 60.2 ms
//   480 us predicted, 0.92 of that
//   0.521 ns per element, 1000000 elements
//   15.4 GB/s, 8.01 MB of operands
//   5.76 GFLOP/s, 3 operations per element
//   43 % of the roofline, 41 to 44 % in most rounds: 226 us at 35.4 GB/s by memory, 58.2 us at 51.5
//   GFLOP/s by arithmetic
std::string Session::report(const Call &call, const Measured &measured, const Work &work,
                            double compile_ms, std::optional<double> predicted_ns) {
  const double elements = std::max(work.points, 1.0), median = measured.ns.median;
  std::string text =
      fmt::format("{}: {} a call, {} to {} for most of {} calls on {} threads{}\n",
                  call.defined->typed.name, time_text(median), time_text(measured.ns.low),
                  time_text(measured.ns.high), measured.calls, call.kernel.threads(),
                  compile_ms > 0 ? fmt::format("; compiled in {:.1f} ms", compile_ms) : "");
  if (predicted_ns)
    text += fmt::format("  {} predicted, {:.2f} of that\n", time_text(*predicted_ns),
                        *predicted_ns / median);
  text += fmt::format("  {:.3g} ns per element, {:.0f} elements\n", median / elements, elements);
  text += fmt::format("  {}, {:.3g} MB of operands\n", rate(work.bytes / median, "B"),
                      work.bytes * 1e-6);
  text += fmt::format("  {}, {:.3g} operations per element\n",
                      rate(work.operations / median, "FLOP"), work.operations / elements);
  text += fmt::format(
      "  {:.0f} % of the roofline, {:.0f} to {:.0f} % in most rounds: {} at {} by memory",
      100 * measured.share.median, 100 * measured.share.low, 100 * measured.share.high,
      time_text(measured.memory_ns), rate(work.bytes / measured.memory_ns, "B"));
  if (measured.arithmetic_ns > 0)
    text += fmt::format(", {} at {} by arithmetic", time_text(measured.arithmetic_ns),
                        rate(work.operations / measured.arithmetic_ns, "FLOP"));
  text += '\n';
  if (measured.unrest > most_quiet)
    text +=
        fmt::format("  the machine was busy: slow rounds took {:.1f} times as long as fast ones\n",
                    measured.unrest);
  return text;
}

std::shared_ptr<const DefinedKernel> Session::choose(Words &words) {
  if (library_.kernels().empty())
    throw UsageError("E0406", "there is no kernel yet",
                     "write kernel k { in x : f32[:]; out z = x + 1 }, or .load FILE");
  if (!words.empty()) {
    const auto found = library_.kernels().find(words[0]);
    if (found != library_.kernels().end()) {
      words.erase(words.begin());
      used_ = found->first;
      return found->second;
    }
  }
  return library_.kernels().at(library_.latest());
}

Kernel Session::compiled(const DefinedKernel &defined) {
  const std::string &name = defined.typed.name;
  const auto found = compiled_.find(name);
  if (found != compiled_.end()) return found->second;
  Options options;
  options.threads = settings_.threads;
  options.engine = settings_.engine;
  options.debug = settings_.debug;
  options.cancel = options_.cancel;
  return compiled_.emplace(name, compile(defined.spec, options)).first->second;
}

std::vector<Array> Session::make_inputs(std::shared_ptr<const DefinedKernel> defined,
                                        const Words &words, std::int64_t points,
                                        std::string &made_up) {
  const spec::TypedSpec &typed = defined->typed;
  const auto given = sources_in(words, *defined, library_);
  const auto &kept = given_[typed.name];
  std::vector<std::optional<Source>> sources;
  for (const spec::TypedInput &input : typed.callers()) {
    const auto now = given.find(input.name), before = kept.find(input.name);
    sources.emplace_back();
    if (now != given.end() || before != kept.end())
      sources.back() =
          parse_source(now != given.end() ? now->second : before->second, input.name, &values_);
  }
  phase_ = Phase::Data;
  const auto made = std::make_shared<Made>();
  apart([defined, sources, points, made, values = values_] {
    *made = read_or_make_up(defined->typed, sources, points, values);
  });
  made_up = made->made_up;
  return made->arrays;
}

std::shared_ptr<Session::Call> Session::prepare(const Words &given, std::int64_t points,
                                                bool may_write) {
  Words words = given;
  const auto arrow = std::find(words.begin(), words.end(), "->");
  Words destinations(arrow == words.end() ? arrow : arrow + 1, words.end());
  for (std::string &word : destinations)
    if (const std::size_t equals = word.find('='); equals != word.npos)
      word = word.substr(0, equals + 1) + with_home(word.substr(equals + 1));
  if (arrow != words.end() && (destinations.empty() || !may_write))
    throw UsageError("E0401", may_write ? "nothing stands behind ->" : "only .run writes files",
                     "write .run K x=SOURCE -> z=z.npy");
  words.erase(arrow, words.end());
  auto defined = choose(words);
  return with_places(defined->text, [&] {
    const Kernel kernel = compiled(*defined);
    std::vector<Destination> wanted = match_outputs(kernel.outputs(), destinations);
    std::string made_up;
    std::vector<Array> inputs = make_inputs(defined, words, points, made_up);
    const std::vector<Signature> signatures =
        kernel.infer(std::vector<AnyView>(inputs.begin(), inputs.end()));
    Outputs outputs(kernel, std::move(wanted), signatures);
    std::set<std::string> replaced; // by outputs that do not add to what they find
    for (const std::string &word : destinations)
      for (const OutputInfo &output : kernel.outputs())
        if (!output.add && word.starts_with(output.name + "="))
          replaced.insert(word.substr(output.name.size() + 1));
    return std::make_shared<Call>(Call{defined, kernel, kernel.inputs(), std::move(inputs),
                                       std::move(outputs), std::move(made_up), words,
                                       told_of_replaced(replaced)});
  });
}

std::string Session::told_of_replaced(const std::set<std::string> &paths) {
  std::string told;
  for (const std::string &path : paths) {
    std::error_code unknown;
    const auto bytes = std::filesystem::file_size(path, unknown);
    if (!unknown) told += fmt::format("replaced {}, a file of {} bytes\n", path, bytes);
  }
  return told;
}

// Work that may take long. It owns what it uses, and touches nothing of the session.
void Session::apart(std::function<void()> work) {
  if (run_apart(std::move(work), options_.cancel)) return;
  options_.cancel = options_.renew();
  compiled_.clear(); // they look at the old flag
  roof_.reset();
  throw Interrupted{};
}

// The sources of a command that went well are those of the next one.
void Session::keep_sources(const Call &call) {
  for (const auto &[input, source] : sources_in(call.words, *call.defined, library_))
    given_[call.defined->typed.name][input] = source;
  if (!call.made_up.empty()) tell("made up:" + call.made_up + "\n");
}

void Session::run(const Words &words) {
  std::shared_ptr<Call> call;
  {
    const Progress progress(streams_.err, options_.progress, "running");
    call = prepare(words, small_points, true);
    apart([call] { run_once(*call); });
    call->outputs.write();
  }
  keep_sources(*call);
  const std::vector<std::string> names = call->outputs.names();
  for (std::size_t o = 0; o < names.size(); ++o)
    values_[call->defined->typed.name + "." + names[o]] = {call->outputs.arrays()[o], false};
  call->outputs.print(streams_.out, how_shown());
  streams_.out << call->replaced;
}

void Session::check(const Words &words) {
  std::shared_ptr<Call> call;
  const auto result = std::make_shared<RunCheck>();
  {
    const Progress progress(streams_.err, options_.progress, "checking");
    call = prepare(words, small_points, false);
    apart([call, result, engine = settings_.engine, cancel = options_.cancel] {
      call->outputs.remember();
      run_once(*call);
      with_places(call->defined->text, [&] {
        *result = check_run(call->defined->spec, call->inputs, call->outputs.names(),
                            call->outputs.arrays(), call->outputs.before(), engine, cancel);
      });
    });
  }
  keep_sources(*call);
  tell(to_text(*result));
  with_places(call->defined->text, [&] { require_passed(call->defined->spec, *result); });
}

// Each clause for a fifth of the time that the command line takes: somebody waits.
void Session::tune(const Words &words) {
  constexpr double seconds = 0.1;
  std::shared_ptr<Call> call;
  const auto tuned = std::make_shared<Tuned>();
  {
    const Progress progress(streams_.err, options_.progress, "tuning");
    call = prepare(words, many_points, false);
    Options options;
    options.threads = settings_.threads;
    options.engine = settings_.engine;
    options.cancel = options_.cancel;
    apart([call, tuned, options] {
      with_places(call->defined->text, [&] {
        *tuned = cli::tune(call->defined->spec, options, {call->inputs.begin(), call->inputs.end()},
                           {call->outputs.arrays().begin(), call->outputs.arrays().end()}, seconds);
      });
    });
  }
  keep_sources(*call);
  tell(to_text(*tuned));
}

void Session::time(const Words &words) {
  constexpr double seconds = 0.8; // of which the kernel has a fourth or more
  std::shared_ptr<Call> call;
  const auto measured = std::make_shared<Measured>();
  const auto work = std::make_shared<Work>();
  double compile_ms = 0;
  {
    const Progress progress(streams_.err, options_.progress, "timing");
    call = prepare(words, many_points, false);
    const Counters before = call->kernel.counters();
    apart([call] { run_once(*call); }); // compiles, and touches the outputs' memory
    const Counters after = call->kernel.counters();
    if (after.compiles > before.compiles) compile_ms = after.compile_ms;
    if (!roof_) {
      Options options;
      options.threads = settings_.threads;
      options.cancel = options_.cancel;
      const auto made = std::make_shared<std::shared_ptr<const Roof>>();
      apart([made, options] { *made = std::make_shared<const Roof>(options); });
      roof_ = *made;
    }
    apart([call, measured, work, roof = roof_] {
      const std::vector<AnyView> in(call->inputs.begin(), call->inputs.end());
      const std::vector<AnyView> out(call->outputs.arrays().begin(), call->outputs.arrays().end());
      *work = work_of(call->defined->typed, call->inputs, call->outputs.arrays());
      *measured = roof->measure(*work, [&] { call->kernel.run(in, out); }, seconds);
    });
  }
  const auto predicted = std::make_shared<std::optional<double>>();
  if (call->kernel.engine() == Engine::jit)
    apart([call, predicted] { *predicted = call->kernel.predict().seconds * 1e9; });
  keep_sources(*call);
  tell(report(*call, *measured, *work, compile_ms, *predicted));
}

} // namespace broadloom::cli
