// What a kernel becomes: the stages of the compiler, the reasons, the gradient.
#include "tools/broadloom/repl/session.hpp"

#include "support/text.hpp"
#include "tools/broadloom/cli/progress.hpp"
#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/repl/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ostream>

namespace broadloom::cli {

namespace {

constexpr std::array<std::pair<std::string_view, Stage>, 10> stages{{{"spec", Stage::spec},
                                                                     {"folded", Stage::folded},
                                                                     {"axes", Stage::axes},
                                                                     {"graph", Stage::graph},
                                                                     {"plan", Stage::plan},
                                                                     {"loop", Stage::loop},
                                                                     {"block", Stage::block},
                                                                     {"llvm", Stage::llvm},
                                                                     {"asm", Stage::assembly},
                                                                     {"why", Stage::why}}};

Stage stage_of(const std::string &word) {
  std::vector<std::string> names;
  for (const auto &[name, stage] : stages) {
    if (name == word) return stage;
    names.emplace_back(name);
  }
  const std::string near = nearest(word, names);
  throw UsageError(
      "E0401", word.empty() ? "a stage is missing" : fmt::format("there is no stage '{}'", word),
      (near.empty() ? "" : fmt::format("did you mean '{}'? ", near)) + "the stages are " +
          support::quoted_list(names));
}

// A name of the words that the kernel does not have is a mistake of use.
void require_known(const std::string &name, const std::vector<std::string> &known,
                   const std::string &kernel, const std::string &what, const char *code) {
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

void Session::why(const Words &words) { show_stage(Stage::why, words); }

void Session::show_stage(Stage stage, const Words &given) {
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
    return kernel.show(stage);
  });
  streams_.out << text << (text.ends_with('\n') ? "" : "\n");
}

void Session::grad(const Words &given) {
  Words words = given;
  // The inputs may stand alone; a kernel of that name comes first.
  const auto defined = choose(words);
  std::vector<std::string> inputs, outputs, wrt;
  for (const spec::TypedInput &input : defined->typed.callers()) {
    inputs.push_back(input.name);
    if (is_float(input.dtype) || is_complex(input.dtype)) wrt.push_back(input.name);
  }
  for (const spec::TypedOutput &output : defined->typed.outputs) outputs.push_back(output.name);
  GradientOptions request;
  std::vector<std::string> asked;
  for (const std::string &word : words) {
    const std::string value = word.substr(std::min(word.find('='), word.size() - 1) + 1);
    if (word == "value") {
      request.value = true;
    } else if (word.starts_with("of=")) {
      require_known(value, outputs, defined->typed.name, "output", "E0405");
      request.of.push_back(value);
    } else if (word == "policy=save" || word == "policy=recompute" || word == "policy=auto") {
      request.policy = value == "save"        ? Policy::save
                       : value == "recompute" ? Policy::recompute
                                              : Policy::automatic;
    } else {
      require_known(word, inputs, defined->typed.name, "input", "E0404");
      asked.push_back(word);
    }
  }
  if (!asked.empty()) wrt = asked;
  std::vector<LoopSpec> made;
  with_places(defined->text, [&] {
    if (request.policy == Policy::save) made.push_back(saving_forward(defined->spec, wrt, request));
    made.push_back(gradient(defined->spec, wrt, request));
  });
  const std::string text = print(made);
  const std::string latest = library_.latest();
  library_.define({"<gradient>", 1, text});
  library_.set_latest(latest); // what was typed last
  for (const LoopSpec &kernel : made) compiled_.erase(kernel.data().name);
  streams_.out << text;
}

} // namespace broadloom::cli
