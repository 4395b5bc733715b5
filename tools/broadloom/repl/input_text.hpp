// When is what has been typed complete? Line by line, in time linear in the text.
//
//   kernel k {            open: a brace
//     out z = x *         open: the operator wants more
//       2                 open: the brace
//   }                     complete
#pragma once

#include <string>
#include <string_view>

namespace broadloom::cli {

// `.run`, but not `.5`.
bool is_command(std::string_view line);

class InputText {
public:
  // Adds a line, without its end. A line that has no tokens (`1x`, a NUL) completes the text at
  // once, so that the error is seen where it was made.
  void add(std::string_view line);

  bool empty() const { return text_.empty(); } // nothing but blank lines so far
  bool complete() const { return !empty() && !open_; }
  const std::string &text() const { return text_; }
  void clear() { *this = {}; }

private:
  std::string text_;
  bool open_ = false;
  int braces_ = 0, brackets_ = 0; // those not closed; of ( and [
  bool header_ = false;           // of a kernel or an accumulator: `{` is still to come
};

} // namespace broadloom::cli
