// Errors as values that a person can act on: what, where, how large, what to do.
//
// Every mistake of a user is thrown as a bl::Error. `code()` is stable ("E0102") and listed in
// docs/errors.md; `where()` is a place in a .loom text or in the user's own C++ source.
#pragma once

#include <stdexcept>
#include <string>

namespace broadloom {

// A place in a source text. `line` and `column` count from 1; 0 means unknown. `length` is the
// number of columns to underline and `text` the whole source line where it is known (C++ places
// have none).
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  int length = 1;
  std::string text;

  bool known() const { return line > 0; }
};

class Error : public std::runtime_error {
public:
  Error(std::string code, std::string message, Place where, std::string help);

  const std::string &code() const { return code_; }       // "E0102"
  const std::string &message() const { return message_; } // one line, no code, no place
  const Place &where() const { return where_; }
  const std::string &help() const { return help_; } // what to do; never empty

  // About a mistake in a call: the kernel, and the line that called it. Else "" and unknown.
  const std::string &kernel() const { return kernel_; }
  const Place &called() const { return called_; }

  // All of it but the line of the text:
  //   E0102: kernel 'demo': axis 0 of 'x' has 5 elements, ... (demo.loom:4:23, called
  //          at main.cpp:17)
  //   help: ...
  const char *what() const noexcept override { return what_.c_str(); }

  // For what calls kernels: notes which, where no kernel is noted yet.
  void note_call(std::string kernel, Place called);

  // The form of the command line:
  //   demo.loom:4:23: error[E0102]: axis 0 of 'x' has 5 elements, ...
  //       out z = broadcast x * y
  //                         ^~~~~
  //   help: ...
  // Without a place the first line begins with `broadloom:`. `color` adds ANSI escapes.
  std::string render(bool color = false) const;

private:
  std::string text() const;

  std::string code_, message_;
  Place where_;
  std::string help_;
  std::string kernel_;
  Place called_;
  std::string what_;
};

struct SpecError : Error { // the text or the expression is wrong
  using Error::Error;
};
struct ShapeError : Error { // ranks, extents, strides, overlap
  using Error::Error;
};
struct DTypeError : Error { // element types
  using Error::Error;
};
struct DataError : Error { // files, pointers, empty folds
  using Error::Error;
};
struct CompileError : Error { // a limit was reached, or code could not be made
  using Error::Error;
};
struct CancelledError : Error { // the caller's own wish: Options::cancel
  using Error::Error;
};
// E0901, a bug in Broadloom. Compiling with Engine::automatic reports it and goes on with a slower
// engine. The error is thrown if another engine was asked for, if BROADLOOM_STRICT is 1, or if
// nothing else is left.
class InternalError : public Error {
public:
  // `ir` is the text of what was being compiled: of any number of lines, maybe empty.
  InternalError(std::string message, std::string ir);
  const std::string &ir() const { return ir_; }
  const char *what() const noexcept override { return what_.c_str(); } // with the IR

private:
  std::string ir_, what_;
};

} // namespace broadloom
