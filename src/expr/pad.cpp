// See pad.hpp.
#include "expr/pad.hpp"

#include "support/fail.hpp"
#include "support/number.hpp"
#include "support/text.hpp"

#include <broadloom/array.hpp>

#include <cmath>

namespace broadloom {
namespace {

std::string print_number(const Number &number) {
  switch (number.kind) {
  case Number::Kind::Bool: return number.integer != 0 ? "true" : "false";
  case Number::Kind::Int:
    return number.too_large ? "9999999999999999999" : std::to_string(number.integer);
  case Number::Kind::Float:
  case Number::Kind::Imaginary: break; // which is no filling
  }
  if (std::isnan(number.real)) return "nan";
  if (std::isinf(number.real)) return number.real > 0 ? "inf" : "-inf";
  std::string text = support::shortest(number.real);
  if (text.find_first_of(".e") == text.npos) text += ".";
  return text;
}

// The dim of that label or number; -1 for none.
int find_dim(const InputDecl &of, const AxisRef &dim) {
  const int rank = int(of.dims.size());
  if (const int *number = std::get_if<int>(&dim.value())) {
    const int at = *number < 0 ? *number + rank : *number;
    return at >= 0 && at < rank ? at : -1;
  }
  for (int d = 0; d < rank; ++d)
    if (!of.dims[std::size_t(d)].label.empty() &&
        of.dims[std::size_t(d)].label == std::get<std::string>(dim.value()))
      return d;
  return -1;
}

std::string shown_dim(const AxisRef &dim) {
  if (const int *number = std::get_if<int>(&dim.value())) return std::to_string(*number);
  return "'" + std::get<std::string>(dim.value()) + "'";
}

} // namespace

std::string print_filling(const DimPad &pad) {
  switch (pad.mode) {
  case PadMode::Constant: break;
  case PadMode::Edge: return "edge";
  case PadMode::Wrap: return "wrap";
  case PadMode::Reflect: return "reflect";
  }
  const bool zero = pad.value.kind == Number::Kind::Int && pad.value.integer == 0;
  return zero && !pad.value.too_large ? "" : print_number(pad.value);
}

std::string print_pads(const InputDecl &of, const std::vector<DimPad> &pads) {
  std::string text = of.name;
  for (std::size_t k = 0; k < pads.size();) {
    const std::string filling = print_filling(pads[k]);
    text = "pad(" + text;
    for (const std::size_t first = k;
         k < pads.size() && (k == first || print_filling(pads[k]) == filling); ++k) {
      // The dims of a let have no labels: it is known in the analysis only how many there are.
      const bool is_array = of.is_let || of.materialised;
      const std::string label = is_array ? "" : of.dims[pads[k].dim].label;
      text += ", " + (label.empty() ? std::to_string(pads[k].dim) : label) + ": (" +
              std::to_string(pads[k].before) + ", " + std::to_string(pads[k].after) + ")";
    }
    text += (filling.empty() ? "" : ", " + filling) + ")";
  }
  return text;
}

std::size_t dim_of(const InputDecl &of, const AxisRef &dim, const std::string &purpose,
                   const PlaceOf &shown) {
  const int *number = std::get_if<int>(&dim.value());
  const bool is_counted = of.is_let && number != nullptr && *number >= 0 && *number < max_rank;
  const int found = is_counted ? *number : find_dim(of, dim);
  if (found < 0 && of.is_let)
    support::fail("E0104", "let '" + of.name + "' has no dim " + shown_dim(dim) + " " + purpose,
                  shown(), "number the dims of a let from 0 on");
  if (found < 0) {
    std::vector<std::string> labels;
    for (const Dim &d : of.dims)
      if (!d.label.empty()) labels.push_back(d.label);
    support::fail("E0104",
                  "'" + of.name + "', which has " +
                      support::count(std::int64_t(of.dims.size()), "dim") + ", has no dim " +
                      shown_dim(dim) + " " + purpose,
                  shown(),
                  !labels.empty()   ? "its labels are " + support::quoted_list(labels)
                  : of.dims.empty() ? "a scalar has none"
                                    : "name dims without labels by number, from 0 on");
  }
  return std::size_t(found);
}

void add_pad(std::vector<DimPad> &pads, const InputDecl &of, const AxisRef &dim, DimPad pad,
             const PlaceOf &shown) {
  const std::size_t found = dim_of(of, dim, "to pad", shown);
  for (const DimPad &other : pads)
    if (other.dim == found)
      support::fail("E0024", "dim " + shown_dim(dim) + " of '" + of.name + "' is padded twice",
                    shown(), "pad each dim once");
  for (const std::int64_t amount : {pad.before, pad.after}) {
    if (amount < 0)
      support::fail("E0024",
                    "dim " + shown_dim(dim) + " is padded by " + support::count(amount, "element"),
                    shown(), "0 or more: what is left away is not read, as by x[i + 1]");
    if (amount > most_padding)
      support::fail("E0006",
                    "dim " + shown_dim(dim) + " is padded by " + support::count(amount, "element"),
                    shown(), "2^40 are the limit");
  }
  pad.dim = found;
  pads.push_back(std::move(pad));
}

} // namespace broadloom
