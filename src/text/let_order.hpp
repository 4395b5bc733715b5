// The order in which the lets of a kernel are printed, where windows are lets of their own so that
// their axes come in theirs.
//
//   let t1 = h0[i]          behind h0, which it reads, and before what reads it
//   let d = sum(e, like=t1) behind the array of t1, too
#pragma once

#include "expr/node.hpp"

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace broadloom::text {

class LetOrder {
public:
  // `windows`: a node of each that is read, in the order of their labels; `lets`: all else that
  // becomes a let, each after those that it needs; `names`: of all nodes that are lets.
  LetOrder(const std::vector<const ExprNode *> &windows, const std::vector<const ExprNode *> &lets,
           const std::vector<std::shared_ptr<const InputDecl>> &inputs,
           const std::unordered_map<const ExprNode *, std::string> &names);

  // Windows first, each let behind what it is made of. Iterative.
  std::vector<const ExprNode *> run();

private:
  struct Open { // a let that is about to be placed
    const ExprNode *node;
    std::vector<const ExprNode *> before, parts; // what stands before its parts, and these
    std::size_t next = 0;
  };

  void place(const ExprNode *node);
  Open opened(const ExprNode *node) const;
  void add(const ExprNode *node) {
    if (known_.insert(node).second) placed_.push_back(node);
  }

  const std::vector<const ExprNode *> &windows_, &lets_;
  const std::unordered_map<const ExprNode *, std::string> &names_;
  std::unordered_map<std::string, std::size_t> window_called_;   // by the name of what is read
  std::unordered_map<std::string, std::size_t> array_of_window_; // the let that a window is of
  std::unordered_set<const ExprNode *> begun_, known_;
  std::vector<const ExprNode *> placed_;
};

} // namespace broadloom::text
