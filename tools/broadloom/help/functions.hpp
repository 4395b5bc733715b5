// What the REPL tells of a function of the language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace broadloom::cli {

// Of docs/functions.md, in its order.
std::vector<std::string> function_names();

// Its row of that page, the dtypes that it takes and gives, its error by docs/math.md, its
// derivative; "" of what is no function.
//
//   exp(x): e to the power of x
//     NumPy     np.exp
//     dtypes    f16, bf16, f32, f64, c64, c128 stay; bool, i8, u8 -> f16; ..
//     accuracy  f32 0.7636 ulp, f64 0.7523 ulp
//     gradient  d_x = d_z * exp(x)
//     example   exp(1) gives 2.718281828459045
std::string function_help(std::string_view name);

} // namespace broadloom::cli
