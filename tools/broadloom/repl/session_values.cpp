// Values: arrays that .let names or a run has left, and expressions of them.
#include "tools/broadloom/repl/session.hpp"

#include "spec/words.hpp"
#include "support/text.hpp"
#include "text/lexer.hpp"
#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/data/files.hpp"
#include "tools/broadloom/data/paths.hpp"
#include "tools/broadloom/help/functions.hpp"
#include "tools/broadloom/repl/command_table.hpp"
#include "tools/broadloom/repl/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <ostream>

namespace broadloom::cli {

namespace {

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n"),
                    last = text.find_last_not_of(" \t\r\n");
  return first == text.npos ? "" : std::string(text.substr(first, last - first + 1));
}

std::string dims_of(const Array &array) {
  return array.rank() > 0 ? fmt::format("[{}]", fmt::join(array.shape(), ", ")) : "";
}

// Of "?sum", "help sum" and "help(sum)" what help is wanted about; nothing of all else.
std::string topic_of(std::string_view line) {
  std::string word = trimmed(line);
  if (word.starts_with("help(") && word.ends_with(')'))
    word = word.substr(5, word.size() - 6);
  else if (word.starts_with('?'))
    word.erase(0, 1);
  else if (word.starts_with("help "))
    word.erase(0, 5);
  else
    return "";
  word = trimmed(word);
  const auto in_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; };
  return std::ranges::all_of(word, in_word) ? word : "";
}

// `let x = [1, 2]`, `let x = rand(3)`: a statement of a kernel has an expression there.
bool names_data(std::string_view left, std::string_view right) {
  const std::string_view generator = right.substr(0, right.find('('));
  return left.starts_with("let ") && left.find('[') == left.npos &&
         (right.starts_with('[') || std::ranges::count(generator_words(), generator) != 0);
}

// `f(a, b) = ..`
bool names_function(std::string_view left) {
  const std::size_t open = left.find('(');
  return open != left.npos && left.ends_with(')') && left.find('=') == left.npos &&
         spec::check_name(trimmed(left.substr(0, open)), "").code.empty();
}

} // namespace

bool Session::is_word_of_shells(std::string_view line) {
  constexpr std::string_view words[] = {"help", "?", "exit", "exit()", "quit", "quit()", "help()"};
  return std::ranges::find(words, trimmed(line)) != std::end(words) || !topic_of(line).empty();
}

// `help`, `?`, `exit` and `x = ..` as they are elsewhere; values and expressions of them are
// printed. False for all else.
bool Session::answer(const std::string &text) {
  const std::string word = trimmed(text);
  if (const std::string topic = topic_of(word); !topic.empty()) {
    help({topic});
    return true;
  }
  if (is_word_of_shells(word)) {
    if (word[0] == 'h' || word[0] == '?')
      help({});
    else
      quit({});
    return true;
  }
  const std::size_t equals = word.find('=');
  if (equals != word.npos && word.find("==") != equals &&
      spec::check_name(trimmed(word.substr(0, equals)), "").code.empty()) {
    let({word});
    return true;
  }
  if (equals != word.npos && names_data(word.substr(0, equals), trimmed(word.substr(equals + 1))))
    throw UsageError("E0401", "data is given a name by .let", fmt::format("write .{}", word));
  if (equals != word.npos && names_function(trimmed(word.substr(0, equals))))
    throw UsageError("E0401", "a function is defined by def", fmt::format("write def {}", word));
  if (!is_expression(text)) return false;
  streams_.out << print_shown(evaluate(word), how_shown());
  return true;
}

// What begins as no definition and no statement, and has nothing of either.
bool Session::is_expression(const std::string &text) const {
  constexpr std::array<std::string_view, 4> definitions{"kernel", "def", "accumulator",
                                                        "derivative"};
  if (Library::is_statement(text)) return false;
  try {
    const std::string begin = trimmed(text);
    if (holds(definitions, begin.substr(0, begin.find_first_of(" \t\r\n{(")))) return false;
    // As the lexer knows no `k.z`.
    const text::Source source = text::lex(parse_value_expression(text, values_).text, "");
    if (source.tokens[0].kind == text::Tok::End) return false;
    int open = 0; // of parentheses, in which `=` stands before an option
    for (const text::Token &token : source.tokens) {
      open += (token.kind == text::Tok::LeftParen) - (token.kind == text::Tok::RightParen);
      if (token.kind == text::Tok::LeftBrace || token.kind == text::Tok::RightBrace ||
          (token.kind == text::Tok::Assign && open == 0))
        return false;
    }
    return true;
  } catch (const SpecError &) {
    return false; // `define` says what is wrong
  }
}

// In the dtype that it has by itself.
Array Session::array_of(const Source &source, const std::string &name) const {
  if (const auto *value = std::get_if<NameSource>(&source.base))
    return read_source(source, {name, values_.at(value->name).array.dtype(), {}, &values_});
  const std::optional<DType> own = dtype_of(source);
  return own ? read_source(source, {name, *own, {}, &values_}) : array_of_file(source);
}

std::string name_in(const Error &error) {
  const std::string &message = error.message();
  const std::size_t first = message.find('\'') + 1,
                    last = std::min(message.find('\'', first), message.size());
  return message.substr(first, last - first);
}

// What to do about a name that is none of a value: the language's own help speaks of declarations.
std::string Session::help_at_prompt(const Error &error) const {
  if (error.code() == "E0140") return "write one position for each dim, `:` for all of it: x[0, :]";
  if (error.code() != "E0003" && error.code() != "E0008") return error.help();
  const std::string name = name_in(error);
  if (const auto kernel = library_.kernels().find(name); kernel != library_.kernels().end()) {
    std::string inputs;
    for (const spec::TypedInput &input : kernel->second->typed.callers())
      inputs += fmt::format(" {}=SOURCE", input.name);
    return fmt::format("'{}' is a kernel: run it by .run {}{}, see its text by .show spec {}", name,
                       name, inputs, name);
  }
  if (!error.help().starts_with("declare it first")) return error.help();
  if (!function_help(name).empty())
    return fmt::format("'{0}' is a function, whose arguments stand in parentheses: {0}(..); "
                       ".help {0} says more",
                       name);
  for (const Command &command : command_table())
    if (command.name.substr(1) == name) return fmt::format("commands begin with a dot: .{}", name);
  return fmt::format("give it a value: .let {} = rand(3, 4); .list shows what there is", name);
}

// A place in the text of an expression, as one in what was typed last; in `text` alone where that
// does not hold it.
Place Session::where_typed(const Place &place, const ValueExpression &expression,
                           const std::string &text) const {
  std::size_t offset = 0; // of the place, whose lines count from 1
  for (int line = 1; line < place.line; ++line)
    offset = std::min(expression.text.find('\n', offset), expression.text.size() - 1) + 1;
  offset += std::size_t(std::max(place.column, 1) - 1);
  auto [first, end] = expression.typed_at(offset, std::size_t(place.length));
  const std::size_t at = input_.text.find(text);
  const std::string &whole = at == input_.text.npos ? text : input_.text;
  if (at != input_.text.npos) first += at, end += at;
  const std::size_t start = first == 0 ? 0 : whole.rfind('\n', first - 1) + 1,
                    stop = std::min(whole.find('\n', first), whole.size());
  const auto lines = std::count(whole.begin(), whole.begin() + std::ptrdiff_t(start), '\n');
  return {input_.file, input_.line + int(lines), int(first - start) + 1,
          std::max(1, int(std::min(end, stop) - first)), whole.substr(start, stop - start)};
}

// By a kernel with unlabelled dims, which align as NumPy's do.
Array Session::evaluate(const std::string &text, std::optional<DType> cast) {
  const ValueExpression expression = parse_value_expression(text, values_);
  std::map<std::string, Array> read;
  for (const auto &[name, value] : expression.values) read.emplace(name, value->array);
  phase_ = Phase::Data;
  for (const auto &[name, source] : expression.sources) read.emplace(name, array_of(source, name));
  phase_ = Phase::Spec;
  std::string kernel = "kernel value {";
  std::vector<NamedView> inputs;
  for (const auto &[name, array] : read) {
    std::vector<std::string> dims(std::size_t(array.rank()), ":");
    kernel += fmt::format(" in {} : {}{};", name, broadloom::name(array.dtype()),
                          dims.empty() ? "" : fmt::format("[{}]", fmt::join(dims, ", ")));
    inputs.emplace_back(name, array);
  }
  std::string output = "value";
  while (read.count(output) != 0) output += '_';
  kernel +=
      fmt::format(" out {} = {}", output, cast ? fmt::format("{}(", broadloom::name(*cast)) : "");
  // A mistake has a place in the kernel, which nobody has written.
  const auto as_typed = [&](auto work) {
    try {
      work();
    } catch (const Error &error) {
      Place place = error.where();
      if (!place.known() || place.file != "<expression>") throw;
      if (place.line == 1) place.column -= int(kernel.size());
      std::string message = expression.in_typed_words(error.message());
      const std::size_t ours = message.find("found '}'"); // which ends that kernel
      if (ours != message.npos && expression.text.find('}') == expression.text.npos)
        message.replace(ours, std::string_view("found '}'").size(), "found the end");
      // Of NumPy's order nobody speaks here.
      if (const std::size_t order = message.find(" (order f)"); order != message.npos)
        message.erase(order, std::string_view(" (order f)").size());
      support::fail(error.code(), message, where_typed(place, expression, text),
                    expression.in_typed_words(help_at_prompt(error)));
    }
  };
  Library library = library_; // with its functions and accumulators
  as_typed([&] {
    // A comment goes on to the end of its line.
    const std::string end = expression.text.find('#') != expression.text.npos ? "\n" : "";
    library.define({"<expression>", 1, kernel + expression.text + end + (cast ? ") }" : " }")});
  });
  Options options;
  options.threads = settings_.threads;
  options.engine = settings_.engine;
  options.debug = settings_.debug;
  options.cancel = options_.cancel;
  const auto defined = library.kernels().at("value");
  const auto result = std::make_shared<Array>();
  phase_ = Phase::Data;
  as_typed([&] {
    apart([defined, options, inputs, result] {
      with_places(defined->text,
                  [&] { *result = compile(defined->spec, options).call(inputs, Order::c)[0]; });
    });
  });
  return *result;
}

// NAME [: DTYPE] = SOURCE or an expression
void Session::let(const Words &words) {
  const std::string line = fmt::format("{}", fmt::join(words, " "));
  const std::size_t equals = line.find('=');
  const std::string form =
      "write .let a = rand(3, 4), .let b : f32 = [1, 2, 3] or .let c = a * 2 + k.z";
  if (equals == line.npos) throw UsageError("E0401", ".let gives a value a name", form);
  std::string name = trimmed(line.substr(0, equals)), given = trimmed(line.substr(equals + 1));
  std::optional<DType> dtype;
  if (const std::size_t colon = name.find(':'); colon != name.npos) {
    dtype = dtype_from_name(trimmed(name.substr(colon + 1)));
    if (!dtype)
      throw UsageError("E0401", fmt::format("'{}' is no dtype", trimmed(name.substr(colon + 1))),
                       form);
    name = trimmed(name.substr(0, colon));
  }
  const spec::NameCheck check = spec::check_name(name, "a value");
  if (!check.code.empty()) throw UsageError("E0401", check.message, check.help);
  if (given.empty())
    throw UsageError("E0401", fmt::format("nothing is said of what '{}' is", name), form);
  Value value;
  std::optional<Source> source;
  try {
    source = parse_source(given, name, &values_);
  } catch (const UsageError &) {
    if (!is_expression(given)) throw;
  }
  if (source) {
    phase_ = Phase::Data;
    const auto *of = std::get_if<NameSource>(&source->base);
    value.is_weak = !dtype && (of ? values_.at(of->name).is_weak : dtype_of(*source).has_value());
    value.array =
        dtype ? read_source(*source, {name, *dtype, {}, &values_}) : array_of(*source, name);
  } else {
    value.array = evaluate(given, dtype);
  }
  streams_.out << fmt::format("{}: {}{}\n", name, broadloom::name(value.array.dtype()),
                              dims_of(value.array));
  values_[name] = std::move(value);
}

// NAME .. PATH
void Session::save(const Words &words) {
  const std::string form = "write .save k.z z.npy, .save a a.csv or .save a k.z all.npz";
  if (words.size() < 2) throw UsageError("E0401", ".save takes values and a file", form);
  NamedArrays arrays;
  std::vector<std::string> names;
  for (const auto &[name, value] : values_) names.push_back(name);
  for (std::size_t w = 0; w + 1 < words.size(); ++w) {
    const auto value = values_.find(words[w]);
    if (value == values_.end())
      throw UsageError("E0401", fmt::format("there is no value '{}'", words[w]),
                       names.empty() ? "make one by .let, or run a kernel"
                                     : "the values are " + support::quoted_list(names));
    arrays.emplace_back(words[w], value->second.array);
  }
  const std::string path = with_home(words.back());
  if (!is_written(path))
    throw UsageError("E0401", fmt::format("'{}' is no {} file", path, written_kinds), form);
  if (!is_archive(path) && arrays.size() > 1)
    throw UsageError("E0401", "only a .npz file holds several arrays", form);
  phase_ = Phase::Data;
  const std::string replaced = told_of_replaced({path});
  pending_file(path, arrays).commit();
  streams_.out << replaced;
}

void Session::list_values() const {
  for (const auto &[name, value] : values_)
    streams_.out << fmt::format("{} : {}{}\n", name, broadloom::name(value.array.dtype()),
                                dims_of(value.array));
}

// Sources that a kernel was given and that its new definition has no such input for.
void Session::forget_unfit(const std::string &kernel, const spec::TypedSpec *before) {
  const auto given = given_.find(kernel);
  if (given == given_.end() || before == nullptr) return;
  const auto named = [](const spec::TypedSpec &spec, const std::string &input) {
    const auto all = spec.callers();
    const auto it = std::ranges::find(all, input, &spec::TypedInput::name);
    return it == all.end() ? nullptr : &*it;
  };
  const spec::TypedSpec &now = library_.kernels().at(kernel)->typed;
  std::erase_if(given->second, [&](const auto &source) {
    const spec::TypedInput *is = named(now, source.first), *was = named(*before, source.first);
    const bool fits = is && was && is->dtype == was->dtype && is->extents == was->extents;
    if (!fits)
      streams_.out << fmt::format("forgot {}={}: {}\n", source.first, source.second,
                                  is ? "the input is another one now"
                                     : "there is no such input now");
    return !fits;
  });
}

} // namespace broadloom::cli
