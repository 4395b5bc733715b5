// The windows of a call: strided views of the arrays that it is given.
//
//   x[2*i + u - 1, j] of x : f32[100, 8] with strides 8 and 1
//
// moves by 16 elements along i, 8 along u and 1 along j, from 8 elements before the start of x. Extents: an axis that is the label of a
// declared dim has that dim's; one that stands only alone, as j, has that of the dim at whose position it stands; any other
// takes the greatest extent for which every read is inside its array.
//
// A window of a padded input is a view of a copy with borders (borders.hpp), which all windows of this padding share.
//
// A derived window that may look outside of its array, or between two elements, is a view of a copy with zeros there (padding.hpp).
#pragma once

#include "kernel/operands.hpp"
#include "kernel/padding.hpp"
#include "spec/spec.hpp"

#include <vector>

namespace broadloom::kernel {

// The operands of a call with its windows behind the inputs: what the specialisations and engines of a kernel are about. The views of the
// windows live as long as this; the others are the caller's.
class WindowedOperands {
public:
  // `given` are the inputs that a call is given, then outputs, in declared order; dtypes and ranks of the inputs are as declared.
  // Throws ShapeError E0102 (extents that disagree), E0142 (a read outside of its array), E0143 (a border of nothing), E0112.
  WindowedOperands(const spec::TypedSpec &spec, Operands given);

  Operands all() const { return operands_; }
  // Brings the copies up to date where these operands are used for more than one call.
  void copy_again() const;

private:
  AnyView copy_of(const AnyView &view, const Padding &padding);

  struct Copy {
    Padding padding;
    AnyView of;
    Array elements;
  };
  std::vector<Copy> copies_;
  std::vector<AnyView> windows_;
  std::vector<const AnyView *> operands_;
};

// The same of layouts alone: adds those of the windows behind those of the inputs.
void add_windows(const spec::TypedSpec &spec, std::vector<Layout> &inputs);

} // namespace broadloom::kernel
