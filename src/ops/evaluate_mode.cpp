// Functions of f32 in other accuracy modes than high: the forms of math/modes.def.
#include "math/scalar.hpp"
#include "ops/evaluate_kinds.hpp"

#include <array>
#include <vector>

namespace broadloom::ops {
namespace {

using Forms = std::vector<const math::ModeForm *>; // of each operation, or null

Forms forms_of(Accuracy accuracy) {
  Forms forms;
  for (int k = 0; k < op_count(); ++k) {
    const std::string_view spelling = info(Op(k)).spelling;
    forms.push_back(math::find_form(Op(k) == Op::Pow ? "pow" : spelling, accuracy));
  }
  return forms;
}

} // namespace

float evaluate_in_mode(Op op, Accuracy accuracy, float x, float y) {
  // Looked up by number: the interpreter comes here for each element.
  static const std::array<Forms, 2> modes = {forms_of(Accuracy::exact), forms_of(Accuracy::fast)};
  if (accuracy != Accuracy::high) {
    const math::ModeForm *form = modes[accuracy == Accuracy::fast][std::size_t(op)];
    if (form) return form->unary ? form->unary(x) : form->binary(x, y);
  }
  return evaluate_math<float>(op, x, y);
}

} // namespace broadloom::ops
