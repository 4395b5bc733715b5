// Inside the gradient stage: what the kernel of the derivatives declares: the inputs of the kernel,
// and new ones for cotangents and saved values.
//
//   in x : f32[i, j]        in x : f32[i, j]
//   out z = x               in d_z : f32[i, j]        dims have labels where inputs with these
//                                                     labels give them their extents
#pragma once

#include "facts/facts.hpp"

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace broadloom::grad {

// An input for values along these axes, some of which may be 1 at a call.
struct NewInput {
  std::string name; // or one like it that is free
  DType dtype = DType::F32;
  std::vector<int> axes;
  std::vector<bool> may_be_one; // [axis]
  Expr like;                    // has the same extents
  Place where;
};

// Which dims of an output may be 1 in a call where others along the same axis are more.
std::vector<bool> may_be_one(const spec::TypedSpec &typed, std::size_t output);

class Declarations {
public:
  Declarations(const SpecData &data, const spec::TypedSpec &typed, facts::Facts &facts);

  // In declared order.
  const std::vector<std::shared_ptr<const InputDecl>> &inputs() const { return inputs_; }
  // A name that nothing has yet.
  std::string fresh(const std::string &name);
  std::shared_ptr<const InputDecl> declare(const NewInput &wanted);

private:
  bool has_label(const Expr &value, int axis);
  void place(InputDecl &decl) const;

  const SpecData &data_;
  const spec::TypedSpec &typed_;
  facts::Facts &facts_;
  std::vector<std::shared_ptr<const InputDecl>> inputs_;
  std::unordered_set<std::string> taken_; // names
};

} // namespace broadloom::grad
