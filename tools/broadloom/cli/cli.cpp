// Reading the command line (CLI11), and turning what goes wrong into an exit status.
#include "tools/broadloom/cli/cli.hpp"

#include "jit/native/target.hpp"
#include "support/text.hpp"
#include "tools/broadloom/cli/commands.hpp"
#include "tools/broadloom/cli/debug_words.hpp"
#include "tools/broadloom/cli/explain.hpp"
#include "tools/broadloom/cli/failure.hpp"
#include "tools/broadloom/cli/interrupt.hpp"
#include "tools/broadloom/cli/stage_words.hpp"
#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/help/help.hpp"
#include "tools/broadloom/repl/repl.hpp"
#include "tools/broadloom/repl/words.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <istream>
#include <map>
#include <ostream>

namespace broadloom::cli {

namespace {

const std::map<std::string, Engine> engines{{"jit", Engine::jit},
                                            {"interpreter", Engine::interpreter},
                                            {"reference", Engine::reference},
                                            {"tiered", Engine::tiered}};

const std::map<std::string, Profile> profiles{
    {"perf", Profile::perf}, {"jitdump", Profile::jitdump}, {"gdb", Profile::gdb}};

const std::map<std::string, Policy> policies{
    {"auto", Policy::automatic}, {"save", Policy::save}, {"recompute", Policy::recompute}};

const std::map<std::string, Stage> stages(stage_words.begin(), stage_words.end());

const std::map<std::string, ShowFormat::Graph> graph_formats{{"text", ShowFormat::Graph::text},
                                                             {"dot", ShowFormat::Graph::dot},
                                                             {"html", ShowFormat::Graph::html}};

constexpr const char *source_help = "SOURCE is a.npy, a.csv, a.png, - (standard input), a number, "
                                    "rand(3,4), randn(..), zeros(..), ones(..) or arange(n), with "
                                    ", seed=7; then views: [::2, -1], .T";

// The options of one command that name the text, as CLI11 fills them in.
struct TextWords {
  CLI::Option *file = nullptr, *text = nullptr;

  void add(CLI::App &command, TextOptions &options, bool one_kernel) {
    file = command.add_option("FILE", options.file, "a .loom file, or - for standard input")
               ->type_name("");
    text = command.add_option("-e", options.text, "the text itself")->type_name("TEXT");
    if (one_kernel) {
      command.add_option("--kernel", options.kernel, "which kernel, where the text has several")
          ->type_name("NAME");
    }
  }

  void require_one() const {
    if (file->count() + text->count() == 1) return;
    throw UsageError("E0401",
                     file->count() > 0 ? "a FILE and -e TEXT are given" : "no kernel is given",
                     "name a .loom file, - for standard input, or write -e TEXT");
  }
};

void add_inputs(CLI::App &command, std::vector<std::string> &inputs) {
  command.add_option("--in", inputs, std::string("data of an input; ") + source_help)
      ->type_name("NAME=SOURCE")
      ->allow_extra_args(false);
}

void add_freeze(CLI::App &command, std::string &parameters) {
  command
      .add_option("--freeze", parameters,
                  "parameters to build in, so that what depends on them only is computed once")
      ->type_name("NAME,..");
}

// An option that takes one of some words: "jit|interpreter|reference".
template <class Into>
CLI::Option *add_choice(CLI::App &command, const char *option, Into &into, const char *words,
                        const char *help) {
  const auto check = [words](const std::string &word) {
    std::vector<std::string> known = CLI::detail::split(words, '|');
    if (std::ranges::find(known, word) != known.end()) return std::string();
    const std::string near = nearest(word, known);
    return fmt::format("'{}' is none of {}{}", word, support::quoted_list(known),
                       near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
  };
  return command.add_option(option, into, help)->type_name(words)->check(check);
}

class CommandLine {
public:
  explicit CommandLine(bool color) {
    repl_options_.color = color;
    app_.set_version_flag("--version", version_text,
                          "Print versions, and what is used of this machine");
    app_.add_option("--generate", generate_) // at build time: see packaging/
        ->check(CLI::IsMember({"man", "bash", "zsh", "fish", "words"}))
        ->group("");
    app_.add_option("-i", repl_options_.file,
                    "read FILE, then start the REPL, as without a command")
        ->type_name("FILE");
    app_.add_option("-c", lines_, "run these lines, as the REPL would, and leave")
        ->type_name("TEXT");
    app_.add_option("FILE", file_,
                    "on a terminal, start the REPL with what FILE defines; else check FILE")
        ->type_name("");
    app_.require_subcommand(0, 1);
    add_run();
    add_show();
    add_check();
    add_grad();
    add_jvp();
    add_jacobian();
    add_batch();
    add_tune();
    add_build();
    add_cache();
    add_explain();
    app_.footer(help_footer()); // after the commands, which would take it over
  }

  void execute(std::vector<std::string> words, const Streams &streams, Phase &phase) {
    for (std::string &word : words) // alone it takes no word that follows, as a FILE may
      if (word == "--debug") word = "--debug=all";
    std::reverse(words.begin(), words.end()); // as CLI11 wants them
    try {
      app_.parse(words);
    } catch (const CLI::Success &request) { // --help, --version
      app_.exit(request, streams.out, streams.err);
      return;
    } catch (const CLI::ExtrasError &) {
      if (app_.get_subcommands().empty() && !file_.empty()) require_file_or_command();
      refuse_extras();
    } catch (const CLI::ParseError &error) {
      throw UsageError("E0401", error.what(), help_hint());
    }
    for (const char *option : {"FILE", "-c", "-i"})
      if (!app_.get_subcommands().empty() && app_.count(option) > 0)
        throw UsageError("E0401",
                         std::string(option) + " stands before the command '" +
                             app_.get_subcommands()[0]->get_name() + "'",
                         "what is the command's stands behind it; " + help_hint());
    if (!generate_.empty()) {
      streams.out << generated(app_, generate_);
    } else if (run_->parsed()) {
      run_text_.require_one();
      if (!engine_.empty()) run_options_.engine = engines.at(engine_);
      for (const std::string &tool : profile_)
        run_options_.profile = run_options_.profile | profiles.at(tool);
      if (!debug_.empty()) run_options_.debug = debug_in(debug_, "--debug");
      run(run_options_, streams, phase);
    } else if (show_->parsed()) {
      show_text_.require_one();
      show_options_.stage = stages.at(stage_);
      show_options_.format.graph = graph_formats.at(format_);
      require_fitting_stage();
      show(show_options_, streams, phase);
    } else if (check_->parsed()) {
      check_words_.require_one();
      check_text(check_options_, streams);
    } else if (grad_->parsed()) {
      grad_text_.require_one();
      grad_options_.policy = policies.at(policy_);
      require_fitting_policy();
      grad(grad_options_, streams, phase);
    } else if (jvp_->parsed()) {
      jvp_text_.require_one();
      jvp(jvp_options_, streams);
    } else if (jacobian_->parsed() || hessian_->parsed()) {
      (jacobian_->parsed() ? jacobian_text_ : hessian_text_).require_one();
      jacobian_->parsed() ? jacobian(jacobian_options_, streams)
                          : hessian(jacobian_options_, streams);
    } else if (batch_->parsed()) {
      batch_text_.require_one();
      batch(batch_options_, streams);
    } else if (tune_->parsed()) {
      tune_text_.require_one();
      tune(tune_options_, streams, phase);
    } else if (build_->parsed()) {
      build_text_.require_one();
      build(build_options_, streams);
    } else if (cache_->parsed()) {
      cache(cache_options_, streams);
    } else if (explain_->parsed()) {
      explain(code_, streams);
    } else {
      open(streams, phase);
    }
  }

private:
  void add_run() {
    run_ = app_.add_subcommand("run", "run a kernel on data");
    run_text_.add(*run_, run_options_.text, true);
    add_inputs(*run_, run_options_.inputs);
    run_->add_option("--record", run_options_.record,
                     "add a line with the layouts of the call to a file, for build --layouts")
        ->type_name("FILE");
    add_freeze(*run_, run_options_.freeze);
    run_->add_option("--out", run_options_.outputs,
                     "write an output to a .npy, .npz, .csv or .png file, and compute only outputs "
                     "so named; without any, all outputs are printed")
        ->type_name("NAME=PATH")
        ->allow_extra_args(false);
    run_->add_option("--load-state", run_options_.load_state,
                     "the states that no --in gives, from a file that --save-state has written")
        ->type_name("PATH.npz");
    run_->add_option(
            "--save-state", run_options_.save_state,
            "write what the states are after the call; updates without --out are not printed")
        ->type_name("PATH.npz");
    run_->add_option("--threads", run_options_.threads, "threads to use")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
    run_->add_option("--repeat", run_options_.repeat, "time N calls after a first one")
        ->type_name("N")
        ->check(CLI::Range(1, 1000000000));
    run_->add_flag("--json", run_options_.json, "print one JSON object instead of the outputs");
    run_->add_flag("--check", run_options_.check,
                   "compare with the reference, and the gradient with measured slopes");
    run_->add_option("--debug", debug_,
                     "check each call before outputs are written: all where nothing is said, else "
                     "these after =, with commas between")
        ->type_name("all|interpreter|reference|nan|infinity|memory")
        ->allow_extra_args(false);
    add_choice(*run_, "--engine", engine_, "jit|interpreter|reference|tiered",
               "what runs the kernel");
    run_->add_option(
            "--device", run_options_.device,
            "the GPU that runs the kernel: cuda, cuda:1 ..; arrays are copied there and back")
        ->type_name("NAME");
    add_choice(*run_, "--profile", profile_, "perf|jitdump|gdb",
               "tools that are to see the kernel by name; several with commas between")
        ->delimiter(',')
        ->allow_extra_args(false);
  }

  void add_show() {
    show_ = app_.add_subcommand("show", "print a stage of the compiler");
    show_text_.add(*show_, show_options_.text, true);
    add_choice(*show_, "--stage", stage_,
               "spec|folded|axes|graph|call|plan|loop|block|llvm|asm|why", "which stage")
        ->required();
    add_choice(*show_, "--format", format_, "text|dot|html",
               "of --stage graph: lines, Graphviz's language, or a page");
    show_->add_flag("--all", show_options_.format.whole,
                    "with --stage asm, all code and not only the hot loop");
    show_->add_flag("--json", show_options_.format.json,
                    "with --stage why, the decisions as a JSON array");
    show_
        ->add_option("--target", show_options_.target,
                     "whose code is shown: of a GPU, too, which need not be here")
        ->type_name("x86-64-v3|x86-64-v4|aarch64|sm_70|sm_80|sm_90");
    add_inputs(*show_, show_options_.inputs);
    add_freeze(*show_, show_options_.freeze);
  }

  void add_grad() {
    grad_ = app_.add_subcommand("grad", "print the kernel of the gradient");
    grad_text_.add(*grad_, grad_options_.text, true);
    grad_->add_option("--wrt", grad_options_.wrt, "the inputs to take the gradient by")
        ->type_name("NAME,..")
        ->required();
    grad_
        ->add_option("--of", grad_options_.of,
                     "the outputs to take it of; else all real or complex")
        ->type_name("NAME,..");
    grad_->add_flag("--add", grad_options_.add, "add to the outputs: d_x += ..");
    grad_->add_flag("--value", grad_options_.value, "compute the kernel's own outputs, too");
    grad_->add_flag("--carry", grad_options_.carry,
                    "back through a loop over time, add up what its steps send to an input as it "
                    "goes, and keep little of it");
    add_choice(*grad_, "--policy", policy_, "auto|save|recompute",
               "how the backward pass comes by forward values: auto (what is cheaper), recompute, "
               "or save: prints a forward kernel that saves them, too");
    grad_
        ->add_option("--memory", grad_options_.memory,
                     "as --policy save, but save at most so many bytes, 64M, for the shapes of "
                     "--in: what costs most to compute again")
        ->type_name("BYTES")
        ->transform(CLI::AsSizeValue(false).description(""))
        ->check(CLI::NonNegativeNumber.description(""));
    add_inputs(*grad_, grad_options_.inputs);
  }

  void require_fitting_policy() const {
    if (grad_options_.memory && policy_ == "recompute")
      throw UsageError("E0401", "--policy recompute saves nothing, and --memory is given",
                       "leave one of them out");
    if (!grad_options_.memory && !grad_options_.inputs.empty())
      throw UsageError("E0401", "--in says nothing to a gradient without --memory",
                       "leave it out, or say how many bytes may be saved");
  }

  void add_jvp() {
    jvp_ = app_.add_subcommand("jvp", "print the kernel of directional derivatives");
    jvp_text_.add(*jvp_, jvp_options_.text, true);
    jvp_->add_option("--wrt", jvp_options_.wrt, "the inputs that move, each x by an input t_x")
        ->type_name("NAME,..")
        ->required();
    jvp_->add_option("--of", jvp_options_.of,
                     "the outputs of which to tell how they move; else all real or complex")
        ->type_name("NAME,..");
    jvp_->add_flag("--value", jvp_options_.value, "compute the kernel's own outputs, too");
  }

  // Two commands of the same words.
  void add_jacobian() {
    jacobian_ = app_.add_subcommand("jacobian", "print the kernel of a Jacobian");
    hessian_ = app_.add_subcommand("hessian", "print the kernel of a Hessian");
    for (CLI::App *command : {jacobian_, hessian_}) {
      TextWords &text = command == jacobian_ ? jacobian_text_ : hessian_text_;
      text.add(*command, jacobian_options_.text, true);
      command->add_option("--of", jacobian_options_.of, "the output of which to take it")
          ->type_name("NAME")
          ->required();
      command->add_option("--wrt", jacobian_options_.wrt, "the input to take it by")
          ->type_name("NAME")
          ->required();
    }
  }

  void add_batch() {
    batch_ = app_.add_subcommand("batch", "print the kernel over one more axis of its inputs");
    batch_text_.add(*batch_, batch_options_.text, true);
    batch_->add_option("--axis", batch_options_.axis, "what the axis is called; else b")
        ->type_name("NAME");
    batch_
        ->add_option("--inputs", batch_options_.inputs,
                     "the inputs that get the axis; else all that have dims")
        ->type_name("NAME,..");
  }

  void add_tune() {
    tune_ = app_.add_subcommand("tune", "find the clauses of a schedule that make a kernel faster");
    tune_text_.add(*tune_, tune_options_.text, true);
    add_inputs(*tune_, tune_options_.inputs);
    tune_->add_option("--threads", tune_options_.threads, "threads to use")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
    tune_->add_option("--seconds", tune_options_.seconds, "for about how long each clause is tried")
        ->type_name("S")
        ->check(CLI::Range(0.001, 3600.0));
  }

  void add_build() {
    build_ = app_.add_subcommand(
        "build", "write an object file with a kernel's machine code, and a header for C");
    build_text_.add(*build_, build_options_.text, true);
    build_->add_option("-o", build_options_.output, "the files to write: PATH.o, PATH.h, PATH.pc")
        ->type_name("PATH")
        ->required();
    build_
        ->add_option("--layouts", build_options_.layouts,
                     "what calls look like, one a line: x=(1024, *) w=(64)/f; else in C order")
        ->type_name("FILE");
    build_
        ->add_option("--target", build_options_.targets,
                     "the processors to build for, of one architecture; else all of this one")
        ->type_name(fmt::format("{}", fmt::join(jit::targets_to_build(true), "|")))
        ->allow_extra_args(false);
  }

  void add_cache() {
    cache_ = app_.add_subcommand("cache", "the disk cache of native code: what is in it");
    add_choice(*cache_, "WHAT", cache_options_.what, "info|list|verify|clear",
               "info: where, how many, how large; list: each entry; verify: remove what is broken; "
               "clear: remove all");
  }

  void add_explain() {
    explain_ = app_.add_subcommand("explain", "say what the code of an error means");
    explain_->add_option("CODE", code_, "E0102, say; without one, all of them")->type_name("");
  }

  // A file, -c, -i, or nothing: what is no command.
  void open(const Streams &streams, Phase &phase) {
    if (app_.count("-c") > 0) repl_options_.text = lines_;
    if (app_.count("FILE") > 0) {
      if (!repl_options_.file.empty())
        throw UsageError("E0401", "a FILE and -i FILE are given", "leave one of them out");
      require_file_or_command();
      if (!repl_options_.text && !is_person(streams)) {
        TextOptions text;
        text.file = file_;
        check_text(text, streams);
        return;
      }
      repl_options_.file = file_;
    }
    repl(repl_options_, streams, phase);
  }

  // What no option and no argument has taken, in the order in which it stands.
  [[noreturn]] void refuse_extras() const {
    const std::vector<std::string> extras = app_.remaining(true);
    const CLI::App *command =
        app_.get_subcommands().empty() ? &app_ : app_.get_subcommands().front();
    std::vector<std::string> options;
    for (const CLI::Option *option : command->get_options())
      for (const std::string &name : option->get_lnames()) options.push_back("--" + name);
    std::string near;
    for (const std::string &word : extras)
      if (near.empty() && word.starts_with("--")) near = nearest(word, options);
    throw UsageError("E0401",
                     fmt::format("{} {} not expected", support::quoted_list(extras),
                                 extras.size() == 1 ? "was" : "were"),
                     near.empty() ? help_hint()
                                  : fmt::format("did you mean '{}'? {}", near, help_hint()));
  }

  // A word that names no file was perhaps to be a command.
  void require_file_or_command() const {
    std::error_code unknown;
    if (std::filesystem::exists(file_, unknown)) return;
    std::vector<std::string> names;
    for (const CLI::App *command : app_.get_subcommands([](const CLI::App *) { return true; }))
      names.push_back(command->get_name());
    const std::string near = nearest(file_, names);
    throw UsageError("E0401", "there is neither a command nor a file '" + file_ + "'",
                     near.empty() ? help_hint() : "did you mean '" + near + "'? " + help_hint());
  }

  void add_check() {
    check_ = app_.add_subcommand("check", "find what is wrong with a text without any data");
    check_words_.add(*check_, check_options_, false);
  }

  // An option that the stage would ignore is a mistake.
  void require_fitting_stage() const {
    const auto only_with = [&](bool given, const char *option, Stage stage, const char *name) {
      if (given && show_options_.stage != stage)
        throw UsageError("E0401", std::string(option) + " says nothing to --stage " + stage_,
                         std::string(option) + " goes with --stage " + name);
    };
    only_with(show_->count("--format") > 0, "--format", Stage::graph, "graph");
    only_with(show_options_.format.whole, "--all", Stage::assembly, "asm");
    only_with(show_options_.format.json, "--json", Stage::why, "why");
  }

  std::string help_hint() const {
    for (const CLI::App *command : app_.get_subcommands())
      return "broadloom " + command->get_name() + " --help lists the options";
    return "broadloom --help lists the commands";
  }

  CLI::App app_{"Broadloom: a run-time compiler for loops over n-d arrays.", "broadloom"};
  CLI::App *run_ = nullptr, *show_ = nullptr, *check_ = nullptr, *grad_ = nullptr, *jvp_ = nullptr,
           *jacobian_ = nullptr, *hessian_ = nullptr, *batch_ = nullptr, *tune_ = nullptr,
           *build_ = nullptr, *cache_ = nullptr, *explain_ = nullptr;
  ReplOptions repl_options_;
  std::string engine_, stage_, policy_ = "auto", format_ = "text"; // words of the tables above
  std::vector<std::string> profile_;                               // and these
  std::string debug_;                                              // a list of such words
  std::string generate_, file_, lines_, code_;
  TextWords run_text_, show_text_, grad_text_, jvp_text_, jacobian_text_, hessian_text_,
      batch_text_, tune_text_, build_text_, check_words_;
  RunOptions run_options_;
  ShowOptions show_options_;
  GradOptions grad_options_;
  JvpWords jvp_options_;
  JacobianWords jacobian_options_;
  BatchWords batch_options_;
  TuneOptions tune_options_;
  BuildWords build_options_;
  CacheOptions cache_options_;
  TextOptions check_options_;
};

} // namespace

int run_cli(const std::vector<std::string> &args, std::istream &in, std::ostream &out,
            std::ostream &err, bool color) {
  const auto fail = [&](const std::string &text, int status) {
    out.flush();
    err << text << (text.empty() || text.ends_with('\n') ? "" : "\n") << std::flush;
    return status;
  };
  Phase phase = Phase::Spec;
  try {
    CommandLine(color).execute(args, {in, out, err}, phase);
    out.flush();
    if (!out) {
      throw DataError("E0303", "cannot write to standard output", {},
                      "check where the output goes and that there is room");
    }
    return Fine;
  } catch (...) { // `describe` throws on what is no error of ours
    const Failure failure = describe(std::current_exception(), phase, color);
    return fail(failure.text, failure.status);
  }
}

} // namespace broadloom::cli
