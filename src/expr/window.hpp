// A window of an input: each dim is read at an affine form of axes.
//
//   in x : f32[:, :]
//   x[2*i + u - 1, j]      the element of x in row 2*i + u - 1 and column j, for each i, u and j
//
// A window is an input of its own, over the axes of its forms: here over i, u and j. It is never copied: at a call it is a strided
// view of the array that it is a window of (kernel/windows.hpp), and so nothing after the analysis knows it from other inputs.
#pragma once

#include "expr/node.hpp"
#include "expr/pad.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace broadloom {

// The position along one dim: constant + the sum of the multiples of axes. No multiple is 0, no axis stands twice.
struct AffineForm {
  struct Term {
    std::string axis;
    std::int64_t times = 0;
    friend bool operator==(const Term &, const Term &) = default;
  };
  std::int64_t constant = 0;
  std::vector<Term> terms; // in the order written

  // An axis and nothing else, as a dim that has its label.
  bool is_axis() const { return constant == 0 && terms.size() == 1 && terms[0].times == 1; }
  // Whether it counts from the end of the dim, where position -1 is the last element: forms that no axis moves up, from a
  // negative constant on. x[-i], which begins with a constant of 0, is x[-1 - i].
  bool is_from_end() const;
  std::int64_t
  start() const; // the position where all axes are at 0; from the end where is_from_end()

  friend bool operator==(const AffineForm &, const AffineForm &) = default;
};

// Adds `times` times another form; false where a number leaves i64 or is its least.
bool add_to(AffineForm &sum, const AffineForm &form, std::int64_t times);

std::string print(const AffineForm &form); // "2*i + u - 1"

struct Window {
  std::shared_ptr<const InputDecl> of; // no window itself; or a let
  std::vector<AffineForm> forms;       // [dim of it], positions in the padded array
  std::vector<DimPad> pads = {};       // in the order in which they are filled
  bool is_whole = false; // pad(x, ..) that is not read at positions: no value yet, without forms
};

// A read of `of`, an Input node, a padded one or a Let, through a window: an Input node whose declaration has the axes of the forms as dims, in order of
// first appearance, and the text of the read as its name. The analysis looks at the number of forms.
Expr make_window(const Expr &of, std::vector<AffineForm> forms, Place where);

// The same read of something else: of `of` with those pads, at those positions.
Expr make_window_like(const Expr &of, const Window &window, Place where);

// What a window of a let is of.
std::shared_ptr<const InputDecl> declaration_of(const Expr &let);

} // namespace broadloom
