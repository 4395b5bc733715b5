// The code of a kernel that was built ahead of time (docs/ship.md): images, each by the loop
// program that it was made of.
//
// Problem: a program is to run a kernel without a compiler, on machines that nobody knows when it
// is built.
// Method: the text of the kernel and the images of its code are one block of bytes, which lies in
// an object file. The run-time library reads the text, plans a call as ever, and finds the image of
// each loop program by its key, as in the disk cache. What plans depend on of a machine, beside its
// threads, is fixed when the kernel is built.
// Example: auto built = BuiltCode::read(bytes);          const auto image =
//                                                        built->find(target.vector_bits(),
//                                                        loop::key(program));
#pragma once

#include "jit/runtime/machine.hpp"
#include "support/undivided.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace broadloom::jit {

class BuiltCode {
public:
  // Of a kernel of this text, of which images are taken as its code is made.
  BuiltCode(std::string text, runtime::Caches caches);
  // What `bytes` has said, which must stay. Throws CompileError E0504 for what is none, and for one
  // of another version.
  static std::shared_ptr<BuiltCode> read(std::string_view bytes);

  std::string bytes() const; // the same for the same code, in whichever order it was made
  const std::string &text() const { return text_; }
  runtime::Caches caches() const { return caches_; } // that plans go by
  bool is_being_built() const { return is_being_built_; }
  // While it is built: whether calls are planned for the sake of their generic programs.
  bool wants_generic() const { return wants_generic_; }
  void want_generic() { wants_generic_ = true; }

  // All are thread-safe.
  std::optional<std::string_view> find(int vector_bits, std::string_view program_key) const;
  bool has(int vector_bits, std::string_view program_key) const {
    return find(vector_bits, program_key).has_value();
  }
  void add(int vector_bits, std::string_view program_key, std::string image);
  std::size_t count(int vector_bits) const; // of programs

private:
  BuiltCode() = default;

  std::string text_;
  runtime::Caches caches_;
  bool is_being_built_ = false, wants_generic_ = false;
  mutable support::Mutex mutex_;                                        // guards all below
  std::map<std::pair<int, std::string_view>, std::string_view> images_; // by vector bits and key
  std::deque<std::string> made_; // what these point at while it is built
};

} // namespace broadloom::jit
