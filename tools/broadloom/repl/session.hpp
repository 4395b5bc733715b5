// The session behind the REPL: takes one complete input, knows kernels, data and settings, and
// writes to streams. It knows no terminal, so that tests need none.
#pragma once

#include "tools/broadloom/cli/commands.hpp"
#include "tools/broadloom/cli/outputs.hpp"
#include "tools/broadloom/cli/roofline.hpp"
#include "tools/broadloom/repl/apart.hpp"
#include "tools/broadloom/repl/library.hpp"
#include "tools/broadloom/repl/value_expression.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace broadloom::cli {

struct Settings {  // see `setting_table`
  int threads = 0; // 0: as the library decides
  Engine engine = Engine::automatic;
  Debug debug = Debug::none;
  bool plot = false;
  int digits = 0; // 0: as many as tell a number from others
};

// How the program around a session takes part in it.
struct SessionOptions {
  // Once the flag is true the command that runs is stopped and throws CancelledError or
  // Interrupted.
  CancelFlag cancel = nullptr;
  // Gives a new flag, when work that does not stop has been left behind with the old one.
  std::function<CancelFlag()> renew = nullptr;
  bool progress = false; // say on the error stream that something takes long, and take it back
  bool color = false;    // of stages that are shown
  // How wide the terminal is now; 0, or no function: as wide as it likes.
  std::function<int()> columns = nullptr;
};

// What an error names first: k of "'k' is not defined".
std::string name_in(const Error &error);

class Session {
public:
  Session(const Streams &streams, SessionOptions options);

  // A complete input: definitions, or one command. `file` and `line` name it in errors. Throws
  // Error, Interrupted, support::InternalError; the session is then as it was before, and goes on.
  void execute(const std::string &text, const std::string &file = "<input>", int line = 1);

  // Defines what a file defines. Throws UsageError E0402, and as `execute` does.
  void load(const std::string &path);

  bool done() const { return done_; }    // .quit
  Phase phase() const { return phase_; } // of the last input: whose fault its error is

  const Library &library() const { return library_; }
  const Values &values() const { return values_; }

  // Whether a line is a word by which other programs explain themselves or end: help, ?, exit,
  // quit.
  static bool is_word_of_shells(std::string_view line);

private:
  friend struct CommandTable;
  using Words = std::vector<std::string>;

  // A kernel with the arrays of a call.
  struct Call {
    std::shared_ptr<const DefinedKernel> defined;
    Kernel kernel;
    std::vector<InputInfo> infos; // of the inputs
    std::vector<Array> inputs;
    Outputs outputs;
    std::string made_up;  // " x=rand(3, 4)": inputs for which nothing was given
    Words words;          // NAME=SOURCE, as given
    std::string replaced; // what is said of files that were there
  };
  static constexpr std::int64_t small_points = 0; // data that is made up is to be read by people
  static constexpr std::int64_t many_points = 1 << 20; // or timed

  int columns() const { return options_.columns ? options_.columns() : 0; }
  Shown how_shown() const { return {columns(), settings_.digits, settings_.plot}; }
  void tell(std::string_view text); // sentences and tables, in lines that fit

  // session.cpp
  void define(const Chunk &text);
  void clear(const Words &words);
  void help(const Words &words);
  void list(const Words &words);
  void load_words(const Words &words);
  void quit(const Words &words);
  void set(const Words &words);
  std::string print_settings() const;

  // session_values.cpp
  bool answer(const std::string &text);
  bool is_expression(const std::string &text) const;
  Array evaluate(const std::string &text, std::optional<DType> cast = std::nullopt);
  Array array_of(const Source &source, const std::string &name) const;
  std::string help_at_prompt(const Error &error) const;
  Place where_typed(const Place &place, const ValueExpression &expression,
                    const std::string &text) const;
  void let(const Words &words);
  void save(const Words &words);
  void list_values() const;
  void forget_unfit(const std::string &kernel, const spec::TypedSpec *before);

  // session_show.cpp
  void show(const Words &words);
  void why(const Words &words);
  void show_stage(Stage stage, const Words &words);
  std::string shown(Stage stage, const Words &words,
                    const std::function<std::string(const Kernel &)> &show);
  void grad(const Words &words);
  void jvp(const Words &words);
  void jacobian(const Words &words);
  void hessian(const Words &words);
  void batch(const Words &words);
  void print_derived(const std::vector<LoopSpec> &made, const std::string &file);

  // session_run.cpp
  void run(const Words &words);
  void check(const Words &words);
  void time(const Words &words);
  void tune(const Words &words);
  // `points`: about how many positions, where data has to be made up.
  std::shared_ptr<Call> prepare(const Words &words, std::int64_t points, bool may_write);
  void apart(std::function<void()> work);
  static void run_once(const Call &call);
  static std::string report(const Call &call, const Measured &measured, const Work &work,
                            double compile_ms, std::optional<double> predicted_ns);
  void keep_sources(const Call &call);
  // A line for each file that is there.
  static std::string told_of_replaced(const std::set<std::string> &paths);
  // The kernel that the first word names, which is taken off, or the one used or defined last.
  std::shared_ptr<const DefinedKernel> choose(Words &words);
  Kernel compiled(const DefinedKernel &defined);
  std::vector<Array> make_inputs(std::shared_ptr<const DefinedKernel> defined, const Words &given,
                                 std::int64_t points, std::string &made_up);

  Streams streams_;
  SessionOptions options_;
  Settings settings_;
  Library library_;
  std::map<std::string, std::map<std::string, std::string>> given_; // [kernel][input]: SOURCE
  Values values_;                          // by .let, and "k.z" of the latest run of k
  std::map<std::string, Kernel> compiled_; // by name, for these settings
  std::shared_ptr<const Roof> roof_;       // for these settings
  Chunk input_;                            // the latest one, and where it stands
  std::string used_;                       // the kernel that it names
  Phase phase_ = Phase::Spec;
  bool done_ = false;
};

} // namespace broadloom::cli
