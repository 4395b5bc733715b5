// The rows of command_table.hpp, and the members of the session that they call.
#include "tools/broadloom/repl/command_table.hpp"
#include "tools/broadloom/repl/session.hpp"

#include <array>

namespace broadloom::cli {

struct CommandTable { // the session's friend: each row calls one of its members
  template <void (Session::*member)(const std::vector<std::string> &)>
  static void call(Session &session, const std::vector<std::string> &words) {
    (session.*member)(words);
  }

  static constexpr std::array rows{
      Command{
          ".run", "[K] x=SOURCE .. -> z=PATH ..", "run a kernel and print its outputs",
          "SOURCE is a.npy, a.csv, a.png, a.npz:NAME, a number, [1, 2, 3], rand(3,4), randn(..), "
          "zeros(..), "
          "ones(..), arange(2, 10),\nfull(3, value=2), eye(3), linspace(0, 1, 5), with , "
          "seed=7, or a "
          "value: what .let named, or k.z of a run; then\nviews: [::2, -1], .T. An input that "
          "is not given keeps its last "
          "SOURCE; one never given is made up.\nWith -> outputs are written to .npy, .npz, .csv or "
          ".png files, "
          "and "
          "only those named are computed.",
          ".run k x=rand(3, 4) y=a.npy[::2] -> z=z.npy", Argument::Kernel, &call<&Session::run>},
      Command{".let", "NAME [: DTYPE] = SOURCE or expression", "give data a name",
              "An expression reads values, k.z of the latest run of k too; dims align as NumPy's "
              "do. An "
              "expression alone is printed.",
              ".let b = a * 2 + k.z", Argument::None, &call<&Session::let>},
      Command{".save", "NAME .. FILE", "write values to a .npy, .npz, .csv or .png file",
              "A .png file holds u8, [h, w] or [h, w, c].", ".save k.z z.npy", Argument::None,
              &call<&Session::save>},
      Command{
          ".grad", "[K] [x,y] [of=z] [policy=save|recompute] [value] [carry]",
          "print the kernel of the derivatives, and define it",
          "By the inputs named, else by all real and complex ones. `value` adds the kernel's own "
          "outputs.",
          ".grad k x,y", Argument::Kernel, &call<&Session::grad>},
      Command{".jvp", "[K] [x,y] [of=z] [value]",
              "print the kernel of the directional derivatives, and define it",
              "The inputs named move, each x by an input t_x, else all real and complex ones. "
              "`value` adds the kernel's own\noutputs.",
              ".jvp k x,y", Argument::Kernel, &call<&Session::jvp>},
      Command{".jacobian", "[K] x of=z",
              "print the kernel of the Jacobian of z by x, and define it", "", ".jacobian k x of=z",
              Argument::Kernel, &call<&Session::jacobian>},
      Command{".hessian", "[K] x of=z", "print the kernel of the Hessian of z by x, and define it",
              "", ".hessian k x of=z", Argument::Kernel, &call<&Session::hessian>},
      Command{".batch", "[K] [x,y] [axis=b]",
              "print the kernel over one more axis of its inputs, and define it",
              "Of the inputs named, else of all that have dims.", ".batch k x axis=b",
              Argument::Kernel, &call<&Session::batch>},
      Command{
          ".show", "STAGE [K] [x=SOURCE ..]", "print a stage of the compiler",
          "The stages are spec, folded, axes, graph, call, plan, loop, block, llvm, asm and why.",
          ".show loop k", Argument::Stage, &call<&Session::show>},
      Command{".why", "[K] [all] [x=SOURCE ..]", "print what was decided, and for what reason",
              "What is predicted to cost most stands first, then what few kernels get. With `all` "
              "everything, in the order\nin which it is decided.",
              ".why k", Argument::Kernel, &call<&Session::why>},
      Command{
          ".time", "[K] [x=SOURCE ..]",
          "time calls, and compare with what the machine can do at most",
          "The bound is the longer of two times: to move the bytes of all inputs and outputs once, "
          "and to do the\noperations, at rates that are measured in turns with the kernel.",
          ".time k x=rand(1000, 1000)", Argument::Kernel, &call<&Session::time>},
      Command{".tune", "[K] [x=SOURCE ..]",
              "find the clauses of a schedule that make the kernel faster",
              "`broadloom tune` looks longer.", ".tune k x=rand(1000, 1000)", Argument::Kernel,
              &call<&Session::tune>},
      Command{".check", "[K] [x=SOURCE ..]",
              "hold outputs against the reference, the gradient against slopes", "",
              ".check k x=rand(3, 4)", Argument::Kernel, &call<&Session::check>},
      Command{".set", "[NAME VALUE]", "change a setting, or print all", "", ".set threads 2",
              Argument::Setting, &call<&Session::set>},
      Command{".load", "FILE", "define what a .loom file defines", "", ".load samples/softmax.loom",
              Argument::File, &call<&Session::load_words>},
      Command{".list", "", "what is defined, and the data given so far", "", ".list",
              Argument::None, &call<&Session::list>},
      Command{".clear", "", "forget the statements that make up the kernel 'scratch'", "", ".clear",
              Argument::None, &call<&Session::clear>},
      Command{".help", "[COMMAND|FUNCTION|CODE]",
              "this, or all about a command, a function or the code of an error",
              "`?exp` and `help exp` say the same as `.help exp`.", ".help exp", Argument::Command,
              &call<&Session::help>},
      Command{".quit", "", "leave; so does Ctrl-D", "", ".quit", Argument::None,
              &call<&Session::quit>},
  };
};

namespace {

constexpr std::array settings{
    Setting{"threads", "N", "threads to use; 0: as many as the machine gives"},
    Setting{"engine", "auto|jit|interpreter|reference|tiered", "what runs a kernel"},
    Setting{"debug", "off|all|interpreter|reference|nan|infinity|memory",
            "what is checked of each call before its outputs are written; several with commas "
            "between"},
    Setting{"plot", "on|off", "show small results as blocks, too"},
    Setting{"digits", "all|N", "how many digits of floats are printed; all: what tells them apart"},
};

} // namespace

std::span<const Command> command_table() { return CommandTable::rows; }
std::span<const Setting> setting_table() { return settings; }

} // namespace broadloom::cli
