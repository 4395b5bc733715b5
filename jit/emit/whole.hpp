// A value of LLVM's that is destroyed where its scope ends, but not where an exception comes by.
//
// LLVM is built without exceptions: where an allocation fails inside it, it leaves what it was
// making half made, and its destructors take that for whole. So it stays as it is: some memory is
// lost, and the process is not.
// Example: Whole<llvm::LLVMContext> context;   make_loop(*context);
#pragma once

#include <exception>
#include <memory>
#include <utility>

namespace broadloom::jit {

template <class T> class Whole {
public:
  template <class... Arguments>
  explicit Whole(Arguments &&...arguments)
      : value_(std::make_unique<T>(std::forward<Arguments>(arguments)...)) {}
  Whole(Whole &&) = default;
  ~Whole() {
    if (std::uncaught_exceptions() > before_) (void)value_.release();
  }

  T &operator*() const { return *value_; }
  T *operator->() const { return value_.get(); }

private:
  std::unique_ptr<T> value_;
  int before_ = std::uncaught_exceptions();
};

} // namespace broadloom::jit
