// What a kernel becomes: the stages of the compiler, the reasons, the gradient.
#include "tools/broadloom/repl/session.hpp"

#include "support/reasons.hpp"
#include "support/size_text.hpp"
#include "support/text.hpp"
#include "tools/broadloom/cli/progress.hpp"
#include "tools/broadloom/cli/stage_words.hpp"
#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/repl/paint_stage.hpp"
#include "tools/broadloom/repl/words.hpp"

#include <broadloom/jacobian.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <sstream>
#include <tuple>

namespace broadloom::cli {

namespace {

Stage stage_of(const std::string &word) {
  std::vector<std::string> names;
  for (const auto &[name, stage] : stage_words) {
    if (name == word) return stage;
    names.emplace_back(name);
  }
  const std::string near = nearest(word, names);
  throw UsageError(
      "E0401", word.empty() ? "a stage is missing" : fmt::format("there is no stage '{}'", word),
      (near.empty() ? "" : fmt::format("did you mean '{}'? ", near)) + "the stages are " +
          support::quoted_list(names));
}

// The last of the names is a mistake of use where the kernel does not have it, or where it was
// given before.
void require_new(const std::vector<std::string> &names, const std::vector<std::string> &known,
                 const std::string &kernel, const std::string &what, const char *code) {
  const std::string &name = names.back();
  if (std::ranges::count(names, name) > 1)
    throw UsageError(code, fmt::format("{} '{}' is given twice", what, name),
                     "leave one of them out");
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  const std::string near = nearest(name, known);
  throw UsageError(code, fmt::format("kernel '{}' has no {} '{}'", kernel, what, name),
                   near.empty() ? fmt::format("its {}s are {}", what, support::quoted_list(known))
                                : fmt::format("did you mean '{}'?", near));
}

} // namespace

void Session::show(const Words &words) {
  const Stage stage = stage_of(words.empty() ? "" : words[0]);
  show_stage(stage, {words.begin() + 1, words.end()});
}

namespace {

// Rough cycles of one core: of the operations, or of the bytes, four of which take one.
double cycles_of(const Cost &cost) {
  return std::max(cost.cycles.value_or(0), cost.bytes.value_or(0) / 4);
}

std::string cost_text(const Cost &cost, const std::string &text) {
  std::vector<std::string> parts;
  if (text.find("cycles") != text.npos) return "";
  if (cost.bytes) parts.push_back(support::size_text(*cost.bytes));
  if (cost.cycles) parts.push_back(fmt::format("{:.3g} cycles", *cost.cycles));
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

// A line for each decision that takes time, the dearest first, and for those that few kernels get.
std::string ranked(const Kernel &kernel) {
  constexpr std::size_t most = 10;
  const std::vector<Decision> all = kernel.why();
  // `--stage why` says which let a line is about.
  std::vector<std::string> of;
  std::istringstream lines(kernel.show(Stage::why));
  std::string let;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("# let "))
      let = line.substr(2) + ": ";
    else if (line.starts_with("# kernel "))
      let.clear();
    else if (!line.empty())
      of.push_back(let);
  of.resize(all.size());
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (all[k].cost.cycles || !support::is_usual(all[k])) order.push_back(k);
  std::ranges::sort(order, {}, [&](std::size_t k) {
    return std::tuple(-cycles_of(all[k].cost), support::is_usual(all[k]), k);
  });
  order.resize(std::min(order.size(), most));
  std::string text;
  for (const std::size_t k : order)
    text += fmt::format("{}{}: {}{}\n", of[k], all[k].topic, all[k].text,
                        cost_text(all[k].cost, all[k].text));
  if (order.size() == all.size()) return text;
  return text + fmt::format("{} more: .why all\n", all.size() - order.size());
}

} // namespace

void Session::why(const Words &given) {
  Words words = given;
  const bool is_short = std::erase(words, "all") == 0;
  tell(shown(Stage::why, words, [&](const Kernel &kernel) {
    return is_short ? ranked(kernel) : kernel.show(Stage::why);
  }));
}

void Session::show_stage(Stage stage, const Words &words) {
  const std::string text =
      shown(stage, words, [&](const Kernel &kernel) { return kernel.show(stage); });
  if (stage == Stage::why)
    tell(text);
  else
    streams_.out << (options_.color ? painted_stage(text, stage, library_) : text);
}

// What `show` makes of a kernel, for the data that there is.
std::string Session::shown(Stage stage, const Words &given,
                           const std::function<std::string(const Kernel &)> &show) {
  Words words = given;
  const auto defined = choose(words);
  const Kernel kernel = compiled(*defined);
  const std::string text = with_places(defined->text, [&] {
    const Progress progress(streams_.err, options_.progress, "compiling");
    std::string made_up;
    const bool has_data = !words.empty() || given_.count(defined->typed.name) > 0;
    // Machine code is there only for layouts that have been asked for.
    const bool code = stage == Stage::block || stage == Stage::llvm || stage == Stage::assembly;
    if (has_data || code) {
      const std::vector<Array> inputs = make_inputs(defined, words, small_points, made_up);
      apart([defined, kernel, inputs] {
        kernel.prepare(std::vector<AnyView>(inputs.begin(), inputs.end()));
      });
    }
    return show(kernel);
  });
  return text + (text.ends_with('\n') ? "" : "\n");
}

namespace {

// Inputs, `value` and of=OUTPUT; what else an option may say is left to `other`.
struct Asked {
  std::vector<std::string> wrt, of;
  bool value = false;
};

template <class Other>
Asked asked_of(const DefinedKernel &defined, const std::vector<std::string> &words, Other other) {
  std::vector<std::string> inputs, outputs, all;
  for (const spec::TypedInput &input : defined.typed.callers()) {
    inputs.push_back(input.name);
    if (is_float(input.dtype) || is_complex(input.dtype)) all.push_back(input.name);
  }
  for (const spec::TypedOutput &output : defined.typed.outputs) outputs.push_back(output.name);
  Asked asked;
  for (const std::string &word : words) {
    if (word == "value") {
      asked.value = true;
    } else if (word.starts_with("of=")) {
      asked.of.push_back(word.substr(3));
      require_new(asked.of, outputs, defined.typed.name, "output", "E0405");
    } else if (!other(word)) {
      asked.wrt.push_back(word);
      require_new(asked.wrt, inputs, defined.typed.name, "input", "E0404");
    }
  }
  if (asked.wrt.empty()) asked.wrt = all; // all that have derivatives
  return asked;
}

} // namespace

void Session::grad(const Words &given) {
  Words words = given;
  // The inputs may stand alone; a kernel of that name comes first.
  const auto defined = choose(words);
  GradientOptions request;
  const Asked asked = asked_of(*defined, words, [&](const std::string &word) {
    const bool is_policy =
        word == "policy=save" || word == "policy=recompute" || word == "policy=auto";
    if (is_policy)
      request.policy = word == "policy=save"        ? Policy::save
                       : word == "policy=recompute" ? Policy::recompute
                                                    : Policy::automatic;
    if (word == "carry") request.carry = true;
    return is_policy || word == "carry";
  });
  request.of = asked.of;
  request.value = asked.value;
  std::vector<LoopSpec> made;
  with_places(defined->text, [&] {
    if (request.policy == Policy::save)
      made.push_back(saving_forward(defined->spec, asked.wrt, request));
    made.push_back(gradient(defined->spec, asked.wrt, request));
  });
  print_derived(made, "<gradient>");
}

void Session::jvp(const Words &given) {
  Words words = given;
  const auto defined = choose(words);
  const Asked asked = asked_of(*defined, words, [](const std::string &) { return false; });
  const auto jvp = [&] {
    return broadloom::jvp(defined->spec, asked.wrt, {.of = asked.of, .value = asked.value});
  };
  print_derived({with_places(defined->text, jvp)}, "<jvp>");
}

namespace {

// One output by one input.
Asked asked_of_one(const DefinedKernel &defined, const std::vector<std::string> &words) {
  const Asked asked = asked_of(defined, words, [](const std::string &) { return false; });
  if (asked.wrt.size() != 1 || asked.of.size() != 1 || asked.value)
    throw UsageError("E0401", "one output and one input are to be named", "as in .jacobian x of=z");
  return asked;
}

} // namespace

void Session::jacobian(const Words &given) {
  Words words = given;
  const auto defined = choose(words);
  const Asked asked = asked_of_one(*defined, words);
  const auto jacobian = [&] {
    return broadloom::jacobian(defined->spec, asked.of[0], asked.wrt[0]);
  };
  print_derived({with_places(defined->text, jacobian)}, "<jacobian>");
}

void Session::hessian(const Words &given) {
  Words words = given;
  const auto defined = choose(words);
  const Asked asked = asked_of_one(*defined, words);
  const auto hessian = [&] { return broadloom::hessian(defined->spec, asked.of[0], asked.wrt[0]); };
  print_derived({with_places(defined->text, hessian)}, "<hessian>");
}

void Session::batch(const Words &given) {
  Words words = given;
  const auto defined = choose(words);
  std::string axis = "b";
  bool has_inputs = false;
  const Asked asked = asked_of(*defined, words, [&](const std::string &word) {
    const bool is_axis = word.starts_with("axis=");
    if (is_axis) axis = word.substr(5);
    has_inputs = has_inputs || !is_axis;
    return is_axis;
  });
  const auto batch = [&] {
    return broadloom::batch(defined->spec, axis,
                            has_inputs ? asked.wrt : std::vector<std::string>());
  };
  print_derived({with_places(defined->text, batch)}, "<batch>");
}

// And defines it, beside what was typed last.
void Session::print_derived(const std::vector<LoopSpec> &made, const std::string &file) {
  const std::string text = print(made);
  const std::string latest = library_.latest();
  library_.define({file, 1, text});
  library_.set_latest(latest);
  for (const LoopSpec &kernel : made) compiled_.erase(kernel.data().name);
  streams_.out << text;
}

} // namespace broadloom::cli
