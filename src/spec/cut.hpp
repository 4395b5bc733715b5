// Kernels cut out of a kernel. Its expressions are one graph: a mark says which value is computed
// apart, and the array that stands in its place.
//
//   kernel k {                      kernel k_frozen {           kernel k {
//     in    x : f32[i, j]             param w : f32[j]            in    x : f32[i, j]
//     param w : f32[j]        =       out w_1[j] = exp(w)   +     param w_1 : f32[j]
//     out y = x * exp(w)            }                             out y = x * w_1
//   }                                                           }
//
// Inputs and lets of a piece follow from the graph: it has those that it reads.
#pragma once

#include "expr/exchange.hpp"
#include "spec/materialise.hpp"

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace broadloom::spec {

using Names = std::set<std::string>;

struct Apart {
  Expr value;
  std::shared_ptr<const InputDecl> array; // the output of `apart` has its name and its dtype
  std::vector<AxisRef> axes;              // that this output lists
  std::optional<std::size_t> output = {}; // the whole of this one, with its mode
  bool is_array = false; // a let that is an array: all that is read of it, along these axes
};

// `apart` computes all that is marked, of the inputs and lets that it reads. `rest` keeps all
// inputs, and loses the lets that only `apart` reads.
struct Pieces {
  SpecData apart, rest;
};
Pieces cut(const SpecData &whole, const std::vector<Apart> &marks, const std::string &suffix);

// A kernel with the settings of another and nothing in it.
SpecData emptied(SpecData whole, const std::string &suffix);
// The kernel with these outputs alone, about which a schedule says nothing.
SpecData with_outputs(SpecData whole, std::vector<OutputDecl> outputs);
// The kernel with a value in place of an input, which it has no more.
SpecData filled(const SpecData &whole, const std::string &input, const Expr &value);

// All names: of inputs, lets and outputs.
Names names_of(const SpecData &data);

// `read`: arrays and windows that values and extents read. `called`: those of like= and of=. An
// input that a kernel does not take may still lend it a label.
struct NamesRead {
  Names read, called;
  bool takes(const InputDecl &decl) const {
    return called.contains(decl.name) || (!decl.window && read.contains(decl.name));
  }
};
NamesRead names_read(const SpecData &data);
Names names_in(const InputDecl &read);

// The axes of an array as its positions.
template <class Axis> std::vector<AffineForm> along(const std::vector<Axis> &axes) {
  std::vector<AffineForm> own;
  for (const Axis &axis : axes)
    own.push_back({0, {{std::get<std::string>(AxisRef(axis).value()), 1}}, {}});
  return own;
}

// The array of a let as an input of its readers.
std::shared_ptr<InputDecl> array_of(const std::string &let, DType dtype, std::size_t rank,
                                    const Place &where);

// Gives the array in place of this one, an input or a let; empty: itself.
using Instead = std::function<Expr(const std::string &array)>;
bool reads_any(const InputDecl &read, const Instead &instead);
// The same read over such arrays; of something else; its positions and borders alone.
Expr read_over(const InputDecl &read, const Instead &instead, const Place &where);
Expr read_over(const Expr &of, const InputDecl &read, const Instead &instead, const Place &where);
Window over(const Window &window, const Instead &instead);
std::shared_ptr<const InputDecl> said_over(const std::shared_ptr<const InputDecl> &said,
                                           const Instead &instead);

// Inputs in place of lets, and the positions at which these are read as they are: none where they
// have axes without names.
struct LetArray {
  Expr array;
  std::vector<AffineForm> own;
};
using LetArrays = std::unordered_map<std::string, LetArray>;
// Gives what a node becomes, of which the exchange has the arguments; empty where it stays.
Expr over_arrays(const ExprNode &node, const LetArrays &arrays, const expr::Exchange &exchange);
Instead inputs_for(const LetArrays &arrays);

// The other way, where such inputs are lets again.
Expr over_lets(const ExprNode &node, const LetsByName &lets);
std::shared_ptr<const InputDecl> over_lets(const std::shared_ptr<const InputDecl> &decl,
                                           const LetsByName &lets);

} // namespace broadloom::spec
