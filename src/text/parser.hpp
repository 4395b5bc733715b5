// Tokens to SpecData. Statements are flat; expressions are read with explicit stacks, so that their
// depth is bounded by memory and the limit on nodes only.
#pragma once

#include "expr/definition.hpp"
#include "expr/join.hpp"
#include "expr/window.hpp"
#include "spec/spec.hpp"
#include "text/lexer.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace broadloom::text {

// What a name means inside a kernel or a definition.
struct Symbol {
  enum class Kind { Input, Let, Output, Parameter } kind = Kind::Input;
  Expr expr; // what a use of the name stands for; null for an Output
};

// In a definition states and arguments stand where lets do, and are none.
inline bool is_let_of_kernel(const Symbol &symbol) {
  return symbol.expr.node() != nullptr && symbol.expr.node()->kind == ExprKind::Let;
}

// A place in the token list, the helpers to move on it, and the names known so far.
class Cursor {
public:
  explicit Cursor(const Source &source) : source_(source) {}

  const Token &peek(std::size_t ahead = 0) const {
    return source_.tokens[std::min(at_ + ahead, source_.tokens.size() - 1)];
  }
  const Token &next() {
    const Token &token = peek();
    if (at_ + 1 < source_.tokens.size()) ++at_;
    return token;
  }
  bool is(Tok kind) const { return peek().kind == kind; }
  bool is_word(std::string_view word) const {
    return is(Tok::Name) && source_.word(peek()) == word;
  }
  bool accept(Tok kind) {
    if (!is(kind)) return false;
    next();
    return true;
  }
  const Token &expect(Tok kind, const char *what) {
    if (!is(kind)) unexpected(what);
    return next();
  }
  std::string_view word(const Token &token) const { return source_.word(token); }
  const Source &source() const { return source_; }
  const Token &previous() const { return source_.tokens[at_ - 1]; }
  const Token &before_previous() const { return source_.tokens[at_ > 1 ? at_ - 2 : 0]; }
  std::size_t at() const { return at_; }
  void go_to(std::size_t at) { at_ = at; }

  // A new name: an identifier that is not reserved.
  const Token &expect_new_name(const char *what);
  // An integer that may have a sign, within int.
  int expect_int(const char *what);

  // "expected an axis, found ')'"
  [[noreturn]] void unexpected(const std::string &expected) const;
  [[noreturn]] void fail(const char *code, std::string message, const Token &first,
                         const Token &last, std::string help) const;
  [[noreturn]] void fail(const char *code, std::string message, const Token &token,
                         std::string help) const {
    fail(code, std::move(message), token, token, std::move(help));
  }

  std::string shown(const Token &token) const; // "'x'", "the end of the line"

private:
  const Source &source_;
  std::size_t at_ = 0;
};

struct Definitions;

// The names that are known. The windows that like= and of= name are collected here: they are
// declared, as nothing else may read them.
struct Symbols : std::unordered_map<std::string, Symbol> {
  mutable std::vector<std::shared_ptr<const InputDecl>> windows;
  mutable std::vector<std::shared_ptr<const InputDecl>> axes; // extents that are said of axes
  // The lets that are not defined yet, and whether their dims are listed: the values of lets may
  // read these at positions.
  std::unordered_map<std::string, bool> ahead;
  std::string in_let; // whose value is read now
  // Of positions that are values, x[(k[i] + 1) % 7]: the lets that hold them, how many such stand
  // in each other now, and the words of the text, which no such let is called. A name that nothing
  // has is an axis there. parse_window.cpp.
  mutable std::vector<Expr> lets;
  mutable int in_position = 0;
  mutable std::unordered_set<std::string> words;
  const Definitions *definitions = nullptr;
  bool may_read_ahead(const std::string &name) const {
    const auto found = ahead.find(name);
    return !in_let.empty() && found != ahead.end() && found->second;
  }
  std::unordered_set<const ExprNode *> parts; // lets that are parts of a join
  std::unordered_map<std::string, std::string>
      ends; // of a let that goes until a condition: the let that says whether it holds
  // Inputs and lets whose values or extents something reads, and axes that positions walk, where
  // they first do: see misread_names.cpp.
  mutable std::unordered_set<std::string> read;
  mutable std::unordered_map<std::string, Token> walked;
  // What a name stands for where its value or its extents are read.
  const_iterator look_up(const std::string &name) const {
    read.insert(name);
    return find(name);
  }
};

// The callables that the text has defined so far.
struct Definitions {
  std::unordered_map<std::string, Accumulator> accumulators;
  std::string unknown_name = "declare it first, with `in` or `let`"; // what to do about one
  std::unordered_map<std::string, std::shared_ptr<const FunctionDecl>> functions;
  // The extents of axes that functions say, by their names.
  std::unordered_map<std::string, std::vector<std::shared_ptr<const InputDecl>>> said;
  std::string being_defined; // the function whose body is read now

  bool defined(const std::string &name) const {
    return functions.count(name) != 0 || accumulators.count(name) != 0;
  }
};

// Reads one expression and leaves the cursor behind it.
Expr parse_expression(Cursor &cursor, const Symbols &symbols, const Definitions &definitions);
// The same of what binds tighter than `+`, or than any operator.
enum class Precedence { Term, Primary };
Expr parse_within(Cursor &cursor, const Symbols &symbols, const Definitions &definitions,
                  Precedence least);
// `in`, `param` or `state`, the cursor on the word: parse_input.cpp.
void parse_input(Cursor &cursor, Symbols &symbols, SpecData &data, InputRole role);
// `set NAME = VALUE`, and `fuse A, B` or `separate A, B`, the cursor on the first word:
// parse_setting.cpp.
void parse_set(Cursor &cursor, SpecData &data);
void parse_pairing(Cursor &cursor, SpecData &data);
// `schedule { .. }`, the cursor on the first word: parse_schedule.cpp.
void parse_schedule(Cursor &cursor, SpecData &data);

// A new name that no input, let or output of the kernel has.
const Token &expect_new_value(Cursor &cursor, const Symbols &symbols, const char *what);

// The kernels of a text, so far.
struct Kernels {
  std::vector<LoopSpec> all;
  std::unordered_map<std::string, std::size_t> index; // by name

  // Whether its name is new.
  bool add(LoopSpec kernel) {
    all.push_back(std::move(kernel));
    return index.emplace(all.back().data().name, all.size() - 1).second;
  }
};

// `call NAME(..) -> h[i, j]`, the cursor on the first word: the lets that come of it, of kernels
// before this one. parse_call.cpp.
void parse_call(Cursor &cursor, Symbols &symbols, const Definitions &definitions,
                const Kernels &kernels, SpecData &data);

// `def NAME(..) = ..` with its derivatives, the cursor on the first word: parse_function.cpp.
void parse_function(Cursor &cursor, Definitions &definitions);

// The same, or several in parentheses: `(a, b)`.
std::vector<Expr> parse_tuple(Cursor &cursor, const Symbols &symbols,
                              const Definitions &definitions);

// The value of a number as written. Throws E0006 for one beyond f64.
Number read_number(const Cursor &cursor, const Token &token);
// A number where no expression may stand: with a sign, inf, nan, true or false too.
Expr parse_number(Cursor &cursor);

DType parse_dtype(Cursor &cursor);

// ------------------------------------------------------------- accumulators: parse_accumulator.cpp

// `accumulator NAME(..) { .. }`, with the cursor on the first word. Form only: see
// check_definition.
AccumulatorDef parse_accumulator(Cursor &cursor, Definitions &definitions);

// The accumulator that a word names: a built-in one or one of the text.
std::optional<Accumulator> find_accumulator(std::string_view word, const Definitions &definitions);
// An accumulator by name, in a mode or a scan.
Accumulator parse_accumulator_name(Cursor &cursor, const Definitions &definitions);

// A reduction or a scan, once its arguments are read.
struct FoldCall {
  FoldUse use;
  bool is_scan = false, has_options = false, has_init = false;
  std::vector<AxisRef> axes;
};
// What follows the arguments, from a comma: axes and options. True where the value of `init=` comes
// next; after it, this is called again.
bool parse_fold_rest(Cursor &cursor, const Symbols &symbols, FoldCall &call);

// One option of a mode.
void parse_mode_option(Cursor &cursor, const Symbols &symbols, const Definitions &definitions,
                       Mode &mode);

// -------------------------------------------------------------------------------------------------

// like=NAME or of=NAME, after the word and `=` are known to come: the name of a declared input, or
// as the print of a window.
std::string parse_input_option(Cursor &cursor, const Symbols &symbols);
std::vector<std::string> parse_inputs_option(Cursor &cursor, const Symbols &symbols); // or (x, y)

// `[k[i], j]` after the name of an output: the window of its array that it is written at.
std::shared_ptr<const InputDecl> parse_positions_of_output(Cursor &cursor, const Symbols &symbols,
                                                           const Token &name);

// An axis: a name or a position.
AxisRef parse_axis(Cursor &cursor);
// After an axis, `< 2` or `< extent(w, 0)`, which holds in the whole kernel, or in each that calls
// the function. parse_output.cpp.
void parse_said_axis(Cursor &cursor, const Symbols &symbols, const AxisRef &axis,
                     const Token &first);
// What is said of an axis elsewhere, from `first` on: in a function or a kernel that is called.
void say_axis(Cursor &cursor, const Symbols &symbols, std::shared_ptr<const InputDecl> said,
              const Token &first);
// `axis u < 2, v < 3`, the cursor on the first word.
void parse_axes(Cursor &cursor, const Symbols &symbols);

// Whether `concat(`, `stack(` or `parts(` comes next: the whole value of a let or an output.
// parse_join.cpp.
bool at_join(const Cursor &cursor);
struct Joined { // what it is the value of
  std::string name;
  std::vector<AxisRef> axes;
  Place where;
  std::vector<Expr> &lets; // those of its parts are added
};
Expr parse_join(Cursor &cursor, Symbols &symbols, const Definitions &definitions,
                const Joined &into);
// The let of that name that a join makes, whose parts are lets too.
Expr lay_into(Symbols &symbols, const Joined &into, const Expr &join);
// `[i + 3, j < 4]`, where a part lies in a whole of that name.
struct PartPlace {
  std::vector<AffineForm> positions;
  std::shared_ptr<const InputDecl> said; // the extents that are said, or null
};
PartPlace parse_place_of_part(Cursor &cursor, const Symbols &symbols, const std::string &whole);

// The dims of an output or a let, from behind the bracket: `i, j < 4]`. parse_output.cpp.
struct ListedDims {
  std::vector<AxisRef> axes;
  std::shared_ptr<const InputDecl> said; // null: none
  struct Until {                         // `t < 100 until c`: the tokens of the condition
    std::size_t dim = 0, begin = 0, end = 0;
  };
  std::optional<Until> until = {};
};
ListedDims parse_listed_dims(Cursor &cursor, const Symbols &symbols, const std::string &owner);

// Lets that go step by step until a condition holds. parse_until.cpp:
//
//   let u[t < 9 until c, i] = f from u0      let u[t < 9, i] = where(u_done[t - 1], u[t - 1, i], f)
//                                                             from u0
//                                            let u_done[t] = u_done[t - 1] || c
//
// All lets that read each other hold still together. Which these are is known once a kernel was
// read without all that, so it is read twice.
class Untils {
public:
  static std::string name_of_end(const std::string &let) { return let + "_done"; }
  // `u_done`, with the value c; the cursor behind the let, whose dims are `listed`.
  Expr end_of(const Cursor &cursor, Symbols &symbols, const Definitions &definitions,
              const Token &name, const ListedDims &listed);
  // The value of a let, or what it is while it holds still.
  Expr held(const std::string &let, const std::vector<AxisRef> &axes, Expr value) const;
  // Behind the first reading: whether there is another one.
  bool read_again(const SpecData &data, const Cursor &cursor);

private:
  struct Ended {
    std::string let, axis;
    Token name;
  };
  struct Held {
    std::string done, axis;
    std::int64_t before = -1; // where the step before is, from the position of a step
  };
  std::vector<Ended> ended_;
  std::unordered_map<std::string, Held> held_;
  bool is_second_ = false;
};

// Outputs that several statements write parts of: `out z[i < 3] = ..; out z[i + 3] = ..`. Each is
// what `parts(..)` makes of them. parse_output.cpp.
class OutputParts {
public:
  // Whether the brackets that come next hold more than axes: positions of a part.
  static bool is_next(const Cursor &cursor);
  // Whether this output, which is there, may be one part of several.
  bool has(const std::string &name) const;
  // What the statement says, the cursor behind the name.
  void add(Cursor &cursor, Symbols &symbols, const Definitions &definitions, const Token &name,
           SpecData &data);
  // A statement that writes a part of it has a mistake: `finish` takes the output away.
  void lose(const std::string &name);
  // At the end of the kernel.
  void finish(Symbols &symbols, SpecData &data);

private:
  struct Part {
    PartPlace place;
    Expr value;
  };
  struct Parted {
    std::size_t output = 0; // its place among the outputs of the kernel
    std::vector<Part> parts;
    bool lost = false;
  };
  Parted &parted(Cursor &cursor, const Token &name, SpecData &data);
  void clear() {
    all_.clear();
    names_.clear();
  }
  std::vector<Parted> all_;
  std::vector<std::string> names_; // of them
};
// The name of the let that an output made up of parts stores.
std::string name_of_whole(const OutputDecl &output, const Symbols &symbols);
// Puts the let behind `lets`, and stores it in the output: out z[z_0] = z_whole[z_0]. The dims of
// the output are as long as they are, whatever others call so.
void store_whole(OutputDecl &output, const Expr &let, Symbols &symbols, std::vector<Expr> &lets);

// At the end of a kernel: warns of inputs and lets in whose place an axis is walked, and of modes
// that fold nothing.
// misread_names.cpp.
void warn_of_misread_names(const Cursor &cursor, const Symbols &symbols, const SpecData &data);

// `[2*i + u - 1, j]` after the name of an input: parse_window.cpp.
std::vector<AffineForm> parse_window(Cursor &cursor, const Symbols &symbols);
// What is read there of an input or a let, the name of which begins at `name`.
Expr parse_read(const Expr &of, Cursor &cursor, const Symbols &symbols, const Token &name);

// One such position, as of an extent that is said.
AffineForm parse_form(Cursor &cursor, const Symbols &symbols);

// `pad(x, i: (1, 2), edge)`, from the word to the parenthesis: a padded input, which is no value
// before positions follow. parse_pad.cpp.
bool at_pad(const Cursor &cursor);
Expr parse_pad(Cursor &cursor, const Symbols &symbols);

} // namespace broadloom::text
