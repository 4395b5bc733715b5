// A long straight run of code, cut into functions of bounded size.
//
// Problem: the code generator's time grows with the square of a block's length and more.
// Method: while code is made, each level of it (the statements of a body, the lines of an
// accumulator's code) is cut after some weight, by beginning a new basic block. When a function is
// complete, what lies between two cuts becomes a function of its own. Values that are made in one
// function and used in another lie in a frame on the stack, whose address is the one argument of
// all pieces: they are stored where they are made, and loaded in each block that uses them. Values
// that are alive in turn share their places. No operation changes, so no bit does.
// Example: of 20,000 additions some 80 pieces are made, with one or two values between each and the
// next.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <vector>

namespace broadloom::jit {

class Pieces {
public:
  Pieces(llvm::IRBuilder<> &ir, bool wanted) : ir_(ir), wanted_(wanted) {}

  // What is made from here on until the end of this object's life, on one level; `total` is its
  // weight.
  class Level {
  public:
    Level(Pieces &pieces, std::int64_t total);
    Level(const Level &) = delete;
    Level &operator=(const Level &) = delete;
    ~Level();
    void made(std::int64_t weight); // a part of it, after which there may be a cut

  private:
    Pieces &pieces_;
    bool cuts_;
    std::size_t number_ = 0, cut_ = 0; // of the level, and of the pieces so far
    std::int64_t weight_ = 0;
    llvm::BasicBlock *first_ = nullptr; // of the piece that is being made
    void begin();
    void end();
  };

  // Makes the pieces functions; the function is complete but for that. `made` is told of each new
  // one. Returns the bytes of the frame.
  std::uint64_t move_out(llvm::Function &function, llvm::function_ref<void(llvm::Function &)> made);

private:
  struct Piece {
    llvm::BasicBlock *first, *after;
    std::size_t level;
    std::size_t place; // within its level
  };

  llvm::IRBuilder<> &ir_;
  bool wanted_;
  std::vector<Piece> pieces_; // those inside of others first
  std::size_t levels_ = 0;
};

} // namespace broadloom::jit
