// See hints.hpp.
#include "text/hints.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <string>

namespace broadloom::text {
namespace {

struct Hint {
  std::string_view word, help;
};

std::string find(std::span<const Hint> hints, std::string_view word) {
  const auto it = std::ranges::find(hints, word, &Hint::word);
  return it == hints.end() ? "" : std::string(it->help);
}

constexpr std::string_view no_sorting =
    "kernels do not sort: sort an array before the call, or the result after it";
constexpr std::string_view no_reshaping =
    "an array of another shape is a view: give that to the call";
constexpr std::string_view product = "write sum(x * y, j), where x is on i, j and y is on j, k";
constexpr std::string_view number_itself = "write the number: it has the axes of what it meets";
constexpr std::string_view no_randomness = "kernels draw no numbers: pass them as an input";
constexpr std::string_view shape = "extent(i) is the number of elements along axis i";
constexpr std::string_view positions = "iota(i) is the index along axis i";

constexpr Hint functions[] = {
    {"absolute", "write abs(x)"},
    {"fabs", "write abs(x)"},
    {"ln", "write log(x)"},
    {"power", "write x ^ y"},
    {"arcsin", "write asin(x)"},
    {"arccos", "write acos(x)"},
    {"arctan", "write atan(x)"},
    {"arctan2", "write atan2(y, x)"},
    {"arcsinh", "write asinh(x)"},
    {"arccosh", "write acosh(x)"},
    {"arctanh", "write atanh(x)"},
    {"amax", "write max(x, i)"},
    {"amin", "write min(x, i)"},
    {"average", "write mean(x, i)"},
    {"cumsum", "write scan(sum, x, i)"},
    {"cumprod", "write scan(prod, x, i)"},
    {"cummax", "write scan(max, x, i)"},
    {"cummin", "write scan(min, x, i)"},
    {"diff", "write x[i + 1] - x[i]"},
    {"softmax", "write exp(x - logsumexp(x, i))"},
    {"log_softmax", "write x - logsumexp(x, i)"},
    {"layer_norm", "write (x - mean(x, i)) / sqrt(var(x, i) + 1e-5)"},
    {"layernorm", "write (x - mean(x, i)) / sqrt(var(x, i) + 1e-5)"},
    {"conv", "write sum(x[i + u] * w, u), where w is on u"},
    {"convolve", "write sum(x[i + u] * w, u), where w is on u"},
    {"dot", "write sum(x * y, i), where both are on i"},
    {"inner", "write sum(x * y, i), where both are on i"},
    {"outer", "write x * y, where x is on i and y on j"},
    {"matmul", product},
    {"einsum", product},
    {"tensordot", product},
    {"sort", no_sorting},
    {"argsort", no_sorting},
    {"median", no_sorting},
    {"quantile", no_sorting},
    {"percentile", no_sorting},
    {"unique", no_sorting},
    {"transpose", "list the axes of the output in another order: out z[j, i] = x"},
    {"reshape", no_reshaping},
    {"flatten", no_reshaping},
    {"ravel", no_reshaping},
    {"squeeze", no_reshaping},
    {"expand_dims", "labels say where dims are, and what lacks an axis repeats along it"},
    {"broadcast_to", "write sum(x, like=y)"},
    {"len", shape},
    {"size", shape},
    {"shape", shape},
    {"arange", positions},
    {"range", positions},
    {"linspace", positions},
    {"zeros", number_itself},
    {"ones", number_itself},
    {"full", number_itself},
    {"zeros_like", "write 0 * x, or the number: it has the axes of what it meets"},
    {"ones_like", "write 0 * x + 1, or the number: it has the axes of what it meets"},
    {"take", "write x[k[i]], where k is an input of integers"},
    {"gather", "write x[k[i]], where k is an input of integers"},
    {"concatenate", "write let z[i] = concat(i, x, y)"},
    {"hstack", "write let z[i] = concat(i, x, y)"},
    {"vstack", "write let z[i] = concat(i, x, y)"},
    {"roll", "write pad(x, i: (1, 0), wrap)[i]"},
    {"logical_and", "write x && y"},
    {"logical_or", "write x || y"},
    {"logical_not", "write !x"},
    {"mod", "write x % y, or fmod(x, y) for C's"},
    {"rand", no_randomness},
    {"random", no_randomness},
    {"dropout", no_randomness},
    {"not", "write !(x), or x == 0"},
    {"print", "a result is an output; at the prompt an expression alone is printed"},
    {"astype", "a cast is called like the dtype: f32(x)"},
    {"asarray", "a cast is called like the dtype: f32(x)"},
};

constexpr Hint operators[] = {
    {"and", "write && for 'and'"},
    {"or", "write || for 'or'"},
    {"not", "write ! for 'not'"},
    {"xor", "write xor(x, y) of integers, x != y of bools"},
    {"mod", "write x % y"},
    {"is", "write =="},
    {"if", "write c ? x : y, or where(c, x, y)"},
    {"else", "write c ? x : y, or where(c, x, y)"},
    {"for", "loops follow from the axes: write the value of one element"},
    {"lambda", "write def NAME(a) = .. before the kernel"},
    {"+=", "write x = x + e for x += e"},
};

constexpr Hint values[] = {
    {"True", "write true"},
    {"False", "write false"},
    {"None", "there is no None; a float may be nan"},
    {"NaN", "write nan"},
    {"NAN", "write nan"},
    {"Inf", "write inf"},
    {"INFINITY", "write inf"},
    {"infinity", "write inf"},
    {"PI", "write pi"},
    {"M_PI", "write pi"},
};

constexpr std::string_view let = "write let NAME = .., or out NAME = .. for a result";
constexpr Hint statements[] = {
    {"return", "a result is an output: write out NAME = .."},
    {"yield", "a result is an output: write out NAME = .."},
    {"var", let},
    {"val", let},
    {"const", let},
    {"auto", let},
    {"def", "functions stand before the kernels"},
    {"accumulator", "accumulators stand before the kernels"},
    {"for", "loops follow from the axes: write the value of one element"},
    {"while", "loops follow from the axes: write the value of one element"},
    {"if", "a choice is a value: out z = c ? x : y"},
    {"import", "a text has all that it uses"},
    {"input", "write in NAME : f32[i]"},
    {"output", "write out NAME = .."},
};

constexpr Hint options[] = {
    {"axis", "axes follow the value, by label or number: sum(x, i)"},
    {"dim", "axes follow the value, by label or number: sum(x, i)"},
    {"keepdims", "leave it out: what lacks an axis repeats along it by itself"},
    {"keepdim", "leave it out: what lacks an axis repeats along it by itself"},
    {"dtype", "write acc= for the dtype in which is accumulated, or cast the result: f64(..)"},
    {"ddof", "write correction="},
    {"initial", "write init="},
    {"where", "fold a choice: sum(where(c, x, 0), i)"},
};

struct Renamed {
  std::string_view word, dtype;
};
constexpr Renamed dtypes[] = {
    {"float", "f32"},    {"double", "f64"},   {"half", "f16"},      {"bfloat16", "bf16"},
    {"float16", "f16"},  {"float32", "f32"},  {"float64", "f64"},   {"int", "i32"},
    {"long", "i64"},     {"int8", "i8"},      {"int16", "i16"},     {"int32", "i32"},
    {"int64", "i64"},    {"uint", "u32"},     {"uint8", "u8"},      {"uint16", "u16"},
    {"uint32", "u32"},   {"uint64", "u64"},   {"byte", "u8"},       {"char", "i8"},
    {"boolean", "bool"}, {"complex", "c128"}, {"complex64", "c64"}, {"complex128", "c128"},
    {"int32_t", "i32"},  {"int64_t", "i64"},  {"uint8_t", "u8"},    {"size_t", "u64"},
};

} // namespace

std::string hint_for_function(std::string_view word) {
  const std::string dtype = hint_for_dtype(word);
  return dtype.empty() ? find(functions, word) : dtype;
}
std::string hint_for_operator(std::string_view word) { return find(operators, word); }
std::string hint_for_value(std::string_view word) {
  const std::string help = find(operators, word);
  return help.empty() ? find(values, word) : help;
}
std::string hint_for_statement(std::string_view word) { return find(statements, word); }
std::string hint_for_option(std::string_view word) { return find(options, word); }
std::string hint_for_dtype(std::string_view word) {
  const auto *it = std::ranges::find(dtypes, word, &Renamed::word);
  return it == std::end(dtypes) ? "" : "write " + std::string(it->dtype);
}

std::string hint_for_place(std::string_view expected, std::string_view found) {
  constexpr std::string_view statements_of_kernels[] = {"in",  "param", "state", "let",   "out",
                                                        "set", "order", "axis",  "update"};
  if (expected == "the end of the statement" && std::ranges::count(statements_of_kernels, found))
    return "a line has several statements if ; stands between them";
  if (expected == "'{'" && found == "(")
    return "inputs stand inside: kernel k { in x : f32[i]; out z = 2 * x }";
  if (expected.starts_with("'kernel', ")) return "write kernel k { in x : f32[:]; out z = x + 1 }";
  if (expected.starts_with("':' and a dtype")) return "write such as in x : f32[i]";
  return "";
}

// What digits of another base stand for; nothing where they are none, or too many.
static std::string decimal_of(std::string_view digits, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value, base);
  return error == std::errc() && end == digits.end() ? std::to_string(value) : "";
}

std::string hint_for_number(std::string_view word) {
  std::string plain;
  std::ranges::copy_if(word, std::back_inserter(plain), [](char c) { return c != '_'; });
  const char kind = plain.size() > 2 && plain[0] == '0' ? char(plain[1] | 0x20) : '\0';
  if (const int base = kind == 'x' ? 16 : kind == 'b' ? 2 : kind == 'o' ? 8 : 0; base != 0) {
    const std::string decimal = decimal_of(std::string_view(plain).substr(2), base);
    return decimal.empty() ? "" : "write " + decimal + ": numbers are decimal";
  }
  constexpr std::string_view digits = "0123456789.";
  if (plain != word && plain.find_first_not_of(digits) == plain.npos)
    return "write " + plain + ", without '_'";
  const std::size_t end = plain.find_first_not_of(digits);
  if (end == plain.npos) return "";
  for (const std::string_view suffix : {"f", "F", "u", "U", "l", "L", "ul", "UL", "ll", "LL"})
    if (plain.substr(end) == suffix)
      return "write " + plain.substr(0, end) + ": a number takes the dtype of what it meets";
  return "";
}

} // namespace broadloom::text
