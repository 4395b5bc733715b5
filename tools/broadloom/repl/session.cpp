// Definitions, settings, files and help: what needs no data.
#include "tools/broadloom/repl/session.hpp"

#include "support/number.hpp"
#include "support/text.hpp"
#include "tools/broadloom/cli/debug_words.hpp"
#include "tools/broadloom/cli/explain.hpp"
#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/data/paths.hpp"
#include "tools/broadloom/help/functions.hpp"
#include "tools/broadloom/repl/command_table.hpp"
#include "tools/broadloom/repl/fit.hpp"
#include "tools/broadloom/repl/input_text.hpp"
#include "tools/broadloom/repl/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ostream>

namespace broadloom::cli {

namespace {

constexpr std::array<std::pair<std::string_view, Engine>, 5> engines{
    {{"auto", Engine::automatic},
     {"jit", Engine::jit},
     {"interpreter", Engine::interpreter},
     {"reference", Engine::reference},
     {"tiered", Engine::tiered}}};

std::string dims_of(const spec::TypedSpec &spec, const std::vector<int> &axes) {
  std::vector<std::string> names;
  for (const int axis : axes) names.push_back(spec.axes[std::size_t(axis)].name);
  return axes.empty() ? "" : fmt::format("[{}]", fmt::join(names, ", "));
}

// "k(x: f32[i, j], y: f32[i]) -> z: f32[i, j]"
std::string signature(const spec::TypedSpec &spec) {
  std::vector<std::string> inputs, outputs;
  for (const spec::TypedInput &input : spec.callers()) {
    std::string dims = dims_of(spec, input.axis_of_dim);
    if (input.in_windows_only)
      dims = fmt::format("[{}]",
                         fmt::join(std::vector<std::string>(input.axis_of_dim.size(), ":"), ", "));
    inputs.push_back(fmt::format("{}: {}{}", input.name, name(input.dtype), dims));
  }
  for (const spec::TypedOutput &output : spec.outputs)
    outputs.push_back(
        fmt::format("{}: {}{}", output.name, name(output.dtype), dims_of(spec, output.axes)));
  return fmt::format("{}({}) -> {}", spec.name, fmt::join(inputs, ", "), fmt::join(outputs, ", "));
}

// About what is typed and no command.
std::string_view definition_help(std::string_view word) {
  if (word == "kernel" || word == "in" || word == "out")
    return "kernel k { in x : f32[i, j]; let e = exp(x); out s[i] = sum(e, j) }\n"
           "has inputs, values with names and outputs, one on a line or with ; between them. The "
           "labels i and j name the dims: inputs meet where they have the same ones, and a fold "
           "takes them away. docs/language.md has all of it.\n";
  if (word == "def")
    return "def f(x, y) = x * y + 1\nis a function of values, for kernels and expressions. "
           "derivative x = g * y behind it says what flows back.\n";
  if (word == "accumulator")
    return "accumulator total(s; x) { init s = 0; step s = s + x; combine s = s + s_other }\n"
           "is a fold of your own: total(x, i). docs/language.md has more of them.\n";
  return {};
}

// E0102
bool is_error_code(std::string_view word) {
  return word.size() == 5 && (word[0] == 'E' || word[0] == 'e') &&
         word.find_first_not_of("0123456789", 1) == word.npos;
}

} // namespace

Session::Session(const Streams &streams, SessionOptions options)
    : streams_(streams), options_(std::move(options)) {}

void Session::execute(const std::string &text, const std::string &file, int line) {
  phase_ = Phase::Spec;
  input_ = {file, line, text};
  if (!is_command(text)) {
    if (!answer(text)) define(input_);
    return;
  }
  const std::size_t start = text.find_first_not_of(" \t");
  const std::size_t end = std::min(text.find_first_of(" \t\r\n", start), text.size());
  const Command &command = find_command(text.substr(start, end - start));
  used_.clear();
  command.run(*this, words_of(std::string_view(text).substr(end)));
  if (!used_.empty()) library_.set_latest(used_);
}

void Session::tell(std::string_view text) { streams_.out << wrapped(text, columns()); }

void Session::define(const Chunk &text) {
  const std::size_t first = text.text.find_first_not_of(" \t\r\n");
  if (first != text.text.npos && text.text.compare(first, 10, "derivative") == 0 &&
      library_.extend_function(text))
    return;
  const bool statement = Library::is_statement(text.text);
  const auto before = library_.kernels();
  const auto defined_by = [&] {
    try {
      return statement ? library_.state(text) : library_.define(text);
    } catch (const SpecError &error) {
      const std::string name = name_in(error);
      if (error.code() != "E0003" || values_.count(name) == 0) throw;
      const Array &data = values_.at(name).array;
      std::string dims;
      for (int d = 0; d < data.rank(); ++d) dims += d == 0 ? "[:" : ", :";
      support::fail(error.code(), error.message(), error.where(),
                    fmt::format("'{0}' is data: {0} + 1 alone reads it, and a kernel is given it, "
                                "in {0} : {1}{2}",
                                name, broadloom::name(data.dtype()),
                                dims.empty() ? dims : dims + "]"));
    }
  };
  for (const Library::Name &defined : defined_by()) {
    if (defined.kind != Library::Kind::Kernel) continue;
    compiled_.erase(defined.name);
    const auto kernel = library_.kernels().find(defined.name);
    streams_.out << signature(kernel->second->typed) << '\n';
    const auto old = before.find(defined.name);
    forget_unfit(defined.name, old == before.end() ? nullptr : &old->second->typed);
  }
}

void Session::load_words(const Words &words) {
  if (words.size() != 1)
    throw UsageError("E0401", ".load takes one file", "write .load samples/softmax.loom");
  load(words[0]);
}

void Session::load(const std::string &path) {
  phase_ = Phase::Spec;
  const std::string file = with_home(path);
  define({file, 1, read_text_file(file)});
}

void Session::list(const Words &) {
  if (library_.kernels().empty() && library_.definitions().empty() && values_.empty())
    streams_.out << "nothing is defined yet: write kernel k { in x : f32[:]; out z = x + 1 }\n";
  for (const auto &[name, definition] : library_.definitions()) {
    const bool function = definition.kind == Library::Kind::Function;
    streams_.out << (function ? "def " : "accumulator ") << name << '\n';
  }
  for (const auto &[name, kernel] : library_.kernels()) {
    streams_.out << "kernel " << signature(kernel->typed) << '\n';
    const auto given = given_.find(name);
    if (given == given_.end()) continue;
    for (const auto &[input, source] : given->second)
      streams_.out << fmt::format("  {} = {}\n", input, source);
  }
  list_values();
}

void Session::clear(const Words &) { library_.forget_statements(); }

void Session::quit(const Words &) { done_ = true; }

void Session::help(const Words &words) {
  if (!words.empty() && is_error_code(words[0])) {
    tell(explanation(words[0]));
    return;
  }
  if (!words.empty()) {
    if (const std::string text = function_help(words[0]); !text.empty()) {
      tell(text);
      return;
    }
    if (const std::string_view text = definition_help(words[0]); !text.empty()) {
      tell(text);
      return;
    }
    if (commands_like(words[0]).empty()) {
      const std::string near = nearest(words[0], function_names());
      if (!near.empty())
        throw UsageError("E0401", fmt::format("there is no command and no function '{}'", words[0]),
                         fmt::format("did you mean {}? .help lists the commands", near));
    }
    const Command &command = find_command(words[0]);
    tell(fmt::format("{} {}\n{}\n", command.name, command.arguments, command.help));
    if (!command.more.empty()) tell(fmt::format("{}\n", command.more));
    for (const Setting &setting : setting_table())
      if (command.first == Argument::Setting)
        tell(fmt::format("  {} {}: {}\n", setting.name, setting.values, setting.help));
    tell(fmt::format("for example:  {}\n", command.example));
    return;
  }
  tell("Type a kernel, a def or an accumulator, over as many lines as it takes:\n"
       "  kernel k { in x : f32[i, j]; out s[i] = reduce(sum) exp(x) }\n"
       "its statements alone, which make up the kernel 'scratch', or a command. K is a kernel, the "
       "one used or defined last where it is left out. A command may be cut short, as .sh for "
       ".show, where it stays the "
       "only one.\n");
  // A table, where there is room for its second column.
  constexpr int least_for_table = 90;
  const bool narrow = columns() > 0 && columns() < least_for_table;
  const std::size_t column = narrow ? 4 : 38;
  const std::string below = "\n" + std::string(column + 2, ' ');
  for (const Command &command : command_table()) {
    const std::string form = fmt::format("{} {}", command.name, command.arguments);
    tell(fmt::format("  {:<{}}{}{}{}e.g. {}\n", form, column, form.size() < column ? "" : below,
                     command.help, below, command.example));
  }
}

std::string Session::print_settings() const {
  std::string_view engine;
  for (const auto &[word, value] : engines)
    if (value == settings_.engine) engine = word;
  return fmt::format("threads {}\nengine {}\ndebug {}\nplot {}\ndigits {}\n", settings_.threads,
                     engine, debug_text(settings_.debug), settings_.plot ? "on" : "off",
                     settings_.digits == 0 ? "all" : std::to_string(settings_.digits));
}

void Session::set(const Words &given) {
  Words words;
  for (const std::string &word : given) { // `threads 2` and `threads=2`
    const std::size_t equals = word.find('=');
    words.push_back(word.substr(0, equals));
    if (equals != word.npos) words.push_back(word.substr(equals + 1));
  }
  if (words.empty()) {
    streams_.out << print_settings();
    return;
  }
  std::vector<std::string> names;
  const Setting *found = nullptr;
  for (const Setting &setting : setting_table()) {
    names.emplace_back(setting.name);
    if (setting.name == words[0]) found = &setting;
  }
  if (found == nullptr) {
    const std::string near = nearest(words[0], names);
    throw UsageError("E0401", fmt::format("there is no setting '{}'", words[0]),
                     near.empty() ? "the settings are " + support::quoted_list(names)
                                  : fmt::format("did you mean '{}'?", near));
  }
  const std::string value = words.size() == 2 ? words[1] : "";
  Settings next = settings_;
  bool good = false;
  const auto number = [&](int &into, int most) {
    into = support::number_of<int>(value).value_or(-1);
    return into >= 0 && into <= most;
  };
  if (found->name == "threads") {
    good = number(next.threads, 4096);
  } else if (found->name == "digits") {
    next.digits = 0;
    good = value == "all" || (number(next.digits, 17) && next.digits > 0);
  } else if (found->name == "engine") {
    for (const auto &[word, engine] : engines) {
      if (word != value) continue;
      next.engine = engine;
      good = true;
    }
  } else if (found->name == "debug") {
    next.debug =
        debug_in(fmt::format("{}", fmt::join(words.begin() + 1, words.end(), ",")), "debug");
    good = true;
  } else {
    next.plot = value == "on";
    good = value == "on" || value == "off";
  }
  if (!good)
    throw UsageError("E0401", fmt::format("'{}' is no value of {}", value, found->name),
                     fmt::format("write .set {} {}", found->name, found->values));
  if (next.threads != settings_.threads) roof_.reset();
  settings_ = next;
  compiled_.clear();
}

} // namespace broadloom::cli
