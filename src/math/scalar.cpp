// The one-lane instantiations and the table of all functions. Compiled with -ffp-contract=off: a
// contracted product would break the equality of bits with the vector forms.
#include "math/scalar.hpp"

#include "math/functions.hpp"
#include "math/functions/huge_angle.hpp"
#include "math/functions/sum_near_one.hpp"
#include "math/libm.hpp"

namespace broadloom::math {

#define BL_UNARY(name)                                                                             \
  float name(float x) { return lanes::name<float, 1>(x); }                                         \
  double name(double x) { return lanes::name<double, 1>(x); }
#define BL_BINARY(name)                                                                            \
  float name(float x, float y) { return lanes::name<float, 1>(x, y); }                             \
  double name(double x, double y) { return lanes::name<double, 1>(x, y); }
#include "math/functions.def"
#undef BL_UNARY
#undef BL_BINARY

#define BL_EXACT_UNARY(name)                                                                       \
  float exact::name(float x) { return lanes::exact::name<float, 1>(x); }
#define BL_EXACT_BINARY(name)                                                                      \
  float exact::name(float x, float y) { return lanes::exact::name<float, 1>(x, y); }
#define BL_FAST_UNARY(name)                                                                        \
  float fast::name(float x) { return lanes::fast::name<float, 1>(x); }
#define BL_FAST_BINARY(name)                                                                       \
  float fast::name(float x, float y) { return lanes::fast::name<float, 1>(x, y); }
#include "math/modes.def"
#undef BL_EXACT_UNARY
#undef BL_EXACT_BINARY
#undef BL_FAST_UNARY
#undef BL_FAST_BINARY

namespace {

constexpr ScalarFunction unary(std::string_view name, float (*f32)(float), double (*f64)(double)) {
  return {name, 1, f32, f64, nullptr, nullptr};
}
constexpr ScalarFunction binary(std::string_view name, float (*f32)(float, float),
                                double (*f64)(double, double)) {
  return {name, 2, nullptr, nullptr, f32, f64};
}

#define BL_UNARY(name) unary(#name, math::name, math::name),
#define BL_BINARY(name) binary(#name, math::name, math::name),
constexpr ScalarFunction our_functions[] = {
#include "math/functions.def"
};
#undef BL_UNARY
#undef BL_BINARY

#define BL_UNARY(name) unary(#name, bl_libm_##name##_f32, bl_libm_##name##_f64),
#define BL_BINARY(name) binary(#name, bl_libm_##name##_f32, bl_libm_##name##_f64),
constexpr ScalarFunction libm_functions[] = {
#include "math/libm.def"
};
#undef BL_UNARY
#undef BL_BINARY

constexpr ModeForm form_of(std::string_view name, Accuracy accuracy, float (*unary)(float)) {
  return {name, accuracy, unary, nullptr};
}
constexpr ModeForm form_of(std::string_view name, Accuracy accuracy,
                           float (*binary)(float, float)) {
  return {name, accuracy, nullptr, binary};
}

#define BL_EXACT_UNARY(name) form_of(#name, Accuracy::exact, exact::name),
#define BL_EXACT_BINARY(name) form_of(#name, Accuracy::exact, exact::name),
#define BL_FAST_UNARY(name) form_of(#name, Accuracy::fast, fast::name),
#define BL_FAST_BINARY(name) form_of(#name, Accuracy::fast, fast::name),
constexpr ModeForm mode_forms[] = {
#include "math/modes.def"
    {{}, Accuracy::high}}; // no row, so that the list is never empty
#undef BL_EXACT_UNARY
#undef BL_EXACT_BINARY
#undef BL_FAST_UNARY
#undef BL_FAST_BINARY

const ScalarFunction *find_in(std::span<const ScalarFunction> functions, std::string_view name) {
  for (const ScalarFunction &f : functions)
    if (f.name == name) return &f;
  return nullptr;
}

} // namespace

std::span<const ScalarFunction> vector_functions() { return our_functions; }
std::span<const ScalarFunction> single_functions() { return libm_functions; }

std::span<const ColdSymbol> cold_symbols() {
  static const ColdSymbol symbols[] = {
      {"bl_huge_angle", reinterpret_cast<void *>(lanes::bl_huge_angle)},
      {"bl_log_near_one", reinterpret_cast<void *>(lanes::bl_log_near_one)}};
  return symbols;
}

const ScalarFunction *find_function(std::string_view name) {
  const ScalarFunction *ours = find_in(our_functions, name);
  return ours ? ours : find_in(libm_functions, name);
}

const ModeForm *find_form(std::string_view name, Accuracy accuracy) {
  for (const ModeForm &form : mode_forms)
    if (form.accuracy == accuracy && form.name == name) return &form;
  return nullptr;
}

bool is_vectorised(std::string_view name) { return find_in(our_functions, name) != nullptr; }

} // namespace broadloom::math
