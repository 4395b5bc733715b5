// run, show and check. Each reads from top to bottom: the spec, the options that name its parts,
// the data, the work, and last of all whatever can be seen from outside.
#include "tools/broadloom/cli/commands.hpp"

#include "analysis/analyse.hpp"
#include "array/copy.hpp"
#include "array/pending.hpp"
#include "spec/materialise.hpp"
#include "text/graph_layout.hpp"
#include "tools/broadloom/cli/outputs.hpp"
#include "tools/broadloom/cli/programs.hpp"
#include "tools/broadloom/cli/report.hpp"
#include "tools/broadloom/cli/states.hpp"
#include "tools/broadloom/cli/tune.hpp"
#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/cli/verify.hpp"
#include "tools/broadloom/cli/workspace.hpp"

#include <broadloom/build.hpp>
#include <broadloom/gradient_within.hpp>
#include <broadloom/jacobian.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <ostream>

namespace broadloom::cli {

namespace {

// "x, y": names with commas between.
std::vector<std::string> names_in(const std::string &list) {
  std::vector<std::string> names;
  std::string name;
  for (const char c : list + ",") {
    if (c == ',') {
      if (!name.empty()) names.push_back(std::move(name));
      name.clear();
    } else if (c != ' ') {
      name += c;
    }
  }
  return names;
}

// The kernel with these parameters built in; the other inputs are left in the lists.
Kernel frozen(const Kernel &kernel, const std::string &parameters, std::vector<InputInfo> &infos,
              std::vector<Array> &inputs) {
  std::vector<NamedView> values;
  const std::vector<std::string> names = names_in(parameters);
  for (const std::string &name : names) {
    const auto info = std::ranges::find(infos, name, &InputInfo::name);
    // Of what is no parameter any array will do: `freeze` says what is wrong.
    values.push_back(
        {name, info == infos.end() ? AnyView() : inputs[std::size_t(info - infos.begin())]});
  }
  Kernel made = kernel.freeze(values);
  const auto is_frozen = [&](const InputInfo &info) {
    return std::ranges::find(values, info.name, &NamedView::name) != values.end();
  };
  for (std::size_t i = infos.size(); i-- > 0;)
    if (is_frozen(infos[i])) {
      infos.erase(infos.begin() + std::ptrdiff_t(i));
      inputs.erase(inputs.begin() + std::ptrdiff_t(i));
    }
  return made;
}

// The layouts of a call, as a line of the file that `build --layouts` reads.
std::string layouts_of(const std::vector<InputInfo> &infos, const std::vector<Array> &inputs,
                       const Kernel &kernel, const std::vector<std::string> &wanted) {
  std::string line;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const Layout &layout = inputs[i].layout();
    line += fmt::format("{}=({})", infos[i].name, fmt::join(layout.shape(), ", "));
    if (!std::ranges::equal(layout.steps(), contiguous_layout(layout.shape()).steps()))
      line += fmt::format("/({})", fmt::join(layout.steps(), ", "));
    line += ' ';
  }
  for (const OutputInfo &output : kernel.outputs())
    if (std::ranges::find(wanted, output.name) == wanted.end()) line += output.name + "=none ";
  if (!line.empty()) line.back() = '\n';
  return line;
}

// Adds the line to the file, unless it is there.
void record(const std::string &path, const std::string &line) {
  std::string text = std::filesystem::exists(path) ? read_text_file(path) : "";
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  if (("\n" + text).find("\n" + line) != std::string::npos) return;
  text += line;
  array::PendingFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

} // namespace

// The arrays of a call on a device, and how long their way there and back takes.
class OnDevice {
public:
  OnDevice(const std::string &name, const std::vector<InputInfo> &infos,
           const std::vector<Array> &inputs)
      : device_(name), infos_(infos) {
    in_ms_ = timed([&] {
      for (const Array &input : inputs) inputs_.push_back(device_.to_device(input));
    });
  }

  // What a call adds to, or goes on from, is there before it.
  void load(const Outputs &outputs) {
    outputs_.clear();
    for (const Array &output : outputs.arrays()) outputs_.push_back(device_.to_device(output));
  }
  void run(const Kernel &kernel, const Outputs &outputs) const {
    std::vector<NamedView> views;
    for (std::size_t o = 0; o < outputs_.size(); ++o)
      views.push_back({outputs.names()[o], outputs_[o]});
    kernel.run_named(named_views(infos_, inputs_), views);
    device_.wait();
  }
  void fetch(const Outputs &outputs) {
    out_ms_ = timed([&] {
      for (std::size_t o = 0; o < outputs_.size(); ++o)
        array::copy_elements(device_.to_host(outputs_[o]), outputs.arrays()[o].raw(),
                             outputs.arrays()[o].layout());
    });
  }
  std::string times() const {
    return fmt::format("{}: copied there in {:.3g} ms, and back in {:.3g} ms",
                       device_.description(), in_ms_, out_ms_);
  }

private:
  static double timed(const std::function<void()> &work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
  }

  const Device device_;
  const std::vector<InputInfo> &infos_;
  std::vector<Array> inputs_, outputs_;
  double in_ms_ = 0, out_ms_ = 0;
};

void run(const RunOptions &options, const Streams &streams, Phase &phase) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<LoopSpec> kernels = read_kernels(options.text, streams);
  const auto parsed = std::chrono::steady_clock::now();
  const LoopSpec &chosen = choose_kernel(kernels, options.text.kernel);
  Options compile_options;
  compile_options.threads = options.threads;
  compile_options.engine = options.engine;
  compile_options.profile = options.profile;
  compile_options.debug = options.debug;
  compile_options.device = options.device;
  Kernel kernel = compile(chosen, compile_options);
  const std::string &name = chosen.data().name;
  std::vector<InputInfo> infos = kernel.inputs();
  const std::vector<InputInfo> all_infos = infos;
  const NamedArrays states = load_states(options.load_state, infos, options.inputs);
  const std::vector<InputInfo> asked = without(infos, states);
  const std::vector<Source> sources =
      match_inputs(name, asked, options.inputs, options.text.file == "-");
  std::vector<Destination> destinations = match_outputs(kernel.outputs(), options.outputs);
  if (!options.save_state.empty())
    destinations = with_updates(std::move(destinations), infos, kernel.outputs());

  phase = Phase::Data;
  const std::vector<Array> all_inputs =
      with_states(infos, read_inputs(asked, sources, &streams.in), states);
  std::vector<Array> inputs = all_inputs;
  if (!options.freeze.empty()) kernel = frozen(kernel, options.freeze, infos, inputs);
  const std::vector<AnyView> input_views(inputs.begin(), inputs.end());
  const std::vector<NamedView> named_inputs = named_views(infos, inputs);
  Outputs outputs(kernel, std::move(destinations), kernel.infer(input_views));
  const std::vector<NamedView> named_outputs = outputs.views();
  const std::vector<AnyView> output_views(outputs.arrays().begin(), outputs.arrays().end());

  const bool all = output_views.size() == kernel.outputs().size();
  std::optional<OnDevice> on_device;
  if (!options.device.empty()) on_device.emplace(options.device, infos, inputs).load(outputs);
  const auto call = [&] {
    if (on_device)
      on_device->run(kernel, outputs);
    else if (all)
      kernel.run(input_views, output_views); // by position: the fast way
    else
      kernel.run_named(named_inputs, named_outputs);
  };

  // The first call compiles and touches the outputs' memory; it is timed by nobody.
  const bool timed = options.json || options.repeat > 0;
  if (timed || options.check) outputs.remember();
  call();
  RunReport report;
  for (int i = 0; timed && i < std::max(options.repeat, 1); ++i) {
    outputs.restore();
    if (on_device) on_device->load(outputs);
    const auto start = std::chrono::steady_clock::now();
    call();
    const auto stop = std::chrono::steady_clock::now();
    report.run_ns.push_back(std::chrono::nanoseconds(stop - start).count());
  }
  if (on_device) on_device->fetch(outputs);
  std::optional<RunCheck> checked;
  if (options.check)
    checked = check_run(chosen, all_inputs, outputs.names(), outputs.arrays(), outputs.before(),
                        options.engine);
  if (!checked || checked->passed()) {
    outputs.write();
    if (!options.record.empty())
      record(options.record, layouts_of(infos, inputs, kernel, outputs.names()));
    if (!options.save_state.empty())
      save_states(options.save_state, all_infos, all_inputs, outputs);
  }

  if (timed) {
    const Counters counters = kernel.counters();
    report.kernel = name;
    report.outputs = outputs.report();
    report.parse_ms = std::chrono::duration<double, std::milli>(parsed - begin).count();
    report.compile_ms = counters.compile_ms;
    report.steps = counters.steps;
    report.cache = counters.compiles > 0 ? "miss" : counters.loaded > 0 ? "disk" : "memory";
    report.threads = kernel.threads();
    report.engine = kernel.engine();
    for (const Array &array : inputs) report.bytes += std::int64_t(byte_count(array));
    for (const Array &array : outputs.arrays()) report.bytes += std::int64_t(byte_count(array));
  }
  if (options.json) {
    if (checked) report.check = to_json(*checked);
    streams.out << to_json(report) << '\n';
  } else {
    outputs.print(streams.out);
    if (timed) streams.err << to_text(report) << '\n';
    if (timed && on_device) streams.err << on_device->times() << '\n';
    if (checked) streams.out << to_text(*checked);
  }
  if (checked) require_passed(chosen, *checked);
}

// A page's layout; nothing where there is no Graphviz, or where it takes too long.
static std::string by_graphviz(const std::string &dot) {
  constexpr std::chrono::seconds patience(5);
  const std::optional<std::string> program = find_program("dot");
  return program ? answer_of({*program, "-Tplain", "-Tdot"}, dot, patience).value_or("") : "";
}

void show(const ShowOptions &options, const Streams &streams, Phase &phase) {
  const LoopSpec chosen = read_kernel(options.text, streams);
  Kernel kernel = compile(chosen, {.target = options.target});
  if (!options.inputs.empty() || !options.freeze.empty()) {
    std::vector<InputInfo> infos = kernel.inputs();
    const std::vector<Source> sources =
        match_inputs(chosen.data().name, infos, options.inputs, options.text.file == "-");
    phase = Phase::Data;
    std::vector<Array> inputs = read_inputs(infos, sources, &streams.in);
    if (!options.freeze.empty()) kernel = frozen(kernel, options.freeze, infos, inputs);
    kernel.prepare(std::vector<AnyView>(inputs.begin(), inputs.end()));
  }
  const text::LayoutBy layout(by_graphviz);
  std::string text = kernel.show(options.stage, options.format);
  if (!text.ends_with('\n')) text += '\n';
  streams.out << text;
}

namespace {

// A name of the command line that the kernel does not have, or that is there twice, is a mistake of
// use.
void require_known(const std::vector<std::string> &names, const std::vector<std::string> &known,
                   const std::string &kernel, const std::string &what) {
  for (const std::string &name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw UsageError("E0404", fmt::format("kernel '{}' has no {} '{}'", kernel, what, name),
                       fmt::format("its {}s are {}", what, fmt::join(known, ", ")));
    if (std::ranges::count(names, name) > 1)
      throw UsageError("E0404", fmt::format("{} '{}' is given twice", what, name),
                       "leave one of them out");
  }
}

// What a derivative is asked for, by names that the kernel has.
struct Asked {
  std::vector<std::string> wrt, of;
};

Asked asked_of(const LoopSpec &kernel, const std::string &wrt, const std::string &of) {
  const spec::TypedSpec typed = analysis::analyse(kernel.data());
  std::vector<std::string> inputs, outputs;
  for (const spec::TypedInput &input : typed.callers()) inputs.push_back(input.name);
  for (const spec::TypedOutput &output : typed.outputs) outputs.push_back(output.name);
  Asked asked{names_in(wrt), names_in(of)};
  require_known(asked.wrt, inputs, typed.name, "input");
  require_known(asked.of, outputs, typed.name, "output");
  return asked;
}

// One output by one input.
Asked asked_of_one(const LoopSpec &kernel, const JacobianWords &words) {
  Asked asked = asked_of(kernel, words.wrt, words.of);
  if (asked.wrt.size() != 1 || asked.of.size() != 1)
    throw UsageError("E0401", "--of takes one output, and --wrt one input",
                     "ask once for each pair of them");
  return asked;
}

} // namespace

namespace {

void grad_within(const GradOptions &options, const LoopSpec &chosen, const Asked &asked,
                 const GradientOptions &request, const Streams &streams, Phase &phase) {
  const std::vector<InputInfo> infos = compile(chosen, {.engine = Engine::reference}).inputs();
  std::vector<Array> arrays;
  SaveWithin within{*options.memory};
  if (!options.inputs.empty()) {
    const std::vector<Source> sources =
        match_inputs(chosen.data().name, infos, options.inputs, options.text.file == "-");
    phase = Phase::Data;
    arrays = read_inputs(infos, sources, &streams.in);
    within.inputs = named_views(infos, arrays);
  }
  const SavingGradient made = gradient_within(chosen, asked.wrt, within, request);
  streams.out << fmt::format("# saves {} of {} values, {} of {} bytes\n", made.saved, made.wanted,
                             made.bytes, *options.memory)
              << print(std::vector{made.forward, made.backward});
}

} // namespace

void grad(const GradOptions &options, const Streams &streams, Phase &phase) {
  const LoopSpec chosen = read_kernel(options.text, streams);
  const Asked asked = asked_of(chosen, options.wrt, options.of);
  GradientOptions request;
  request.of = asked.of;
  request.value = options.value;
  request.add = options.add;
  request.carry = options.carry;
  if (options.memory) return grad_within(options, chosen, asked, request, streams, phase);
  std::vector<LoopSpec> made;
  request.policy = options.policy;
  if (request.policy == Policy::save) made.push_back(saving_forward(chosen, asked.wrt, request));
  made.push_back(gradient(chosen, asked.wrt, request));
  streams.out << print(made);
}

void jvp(const JvpWords &options, const Streams &streams) {
  const LoopSpec chosen = read_kernel(options.text, streams);
  const Asked asked = asked_of(chosen, options.wrt, options.of);
  streams.out << print(jvp(chosen, asked.wrt, {.of = asked.of, .value = options.value}));
}

void jacobian(const JacobianWords &options, const Streams &streams) {
  const LoopSpec chosen = read_kernel(options.text, streams);
  const Asked asked = asked_of_one(chosen, options);
  streams.out << print(jacobian(chosen, asked.of[0], asked.wrt[0]));
}

void hessian(const JacobianWords &options, const Streams &streams) {
  const LoopSpec chosen = read_kernel(options.text, streams);
  const Asked asked = asked_of_one(chosen, options);
  streams.out << print(hessian(chosen, asked.of[0], asked.wrt[0]));
}

void batch(const BatchWords &options, const Streams &streams) {
  const LoopSpec chosen = read_kernel(options.text, streams);
  const Asked asked = asked_of(chosen, options.inputs, "");
  streams.out << print(batch(chosen, options.axis, asked.wrt));
}

void tune(const TuneOptions &options, const Streams &streams, Phase &phase) {
  const LoopSpec chosen = read_kernel(options.text, streams);
  Options compile_options;
  compile_options.threads = options.threads;
  const Kernel kernel = compile(chosen, compile_options);
  const std::vector<InputInfo> infos = kernel.inputs();
  const std::vector<Source> sources =
      match_inputs(chosen.data().name, infos, options.inputs, options.text.file == "-");
  phase = Phase::Data;
  const std::vector<Array> inputs = read_inputs(infos, sources, &streams.in);
  const std::vector<AnyView> views(inputs.begin(), inputs.end());
  const Outputs outputs(kernel, match_outputs(kernel.outputs(), {}), kernel.infer(views));
  streams.out << to_text(tune(chosen, compile_options, views,
                              {outputs.arrays().begin(), outputs.arrays().end()}, options.seconds));
}

void build(const BuildWords &options, const Streams &streams) {
  const LoopSpec chosen = read_kernel(options.text, streams);
  BuildOptions request;
  request.name = options.output.substr(options.output.rfind('/') + 1);
  if (!options.layouts.empty()) {
    request.layouts = read_text_file(options.layouts);
    request.layouts_file = options.layouts;
  }
  request.targets = options.targets;
  const BuiltKernel built = build(chosen, request);
  write(built, options.output);
  streams.out << fmt::format("{0}.o, {0}.h, {0}.pc: code for {1}\n", options.output,
                             fmt::join(built.targets, " and "));
}

void check_text(const TextOptions &options, const Streams &streams) {
  const Text text = read_text(options, streams);
  if (std::vector<Error> mistakes = find_mistakes(text.text, text.name); !mistakes.empty())
    throw Mistakes{std::move(mistakes)};
  for (const LoopSpec &kernel : parse_all(text.text, text.name)) {
    spec::warn_of_faults(analysis::analyse(kernel.data()));
    streams.out << kernel.data().name << ": ok\n";
  }
}

} // namespace broadloom::cli
