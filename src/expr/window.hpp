// A window of an input: each dim is read at an affine form of axes.
//
//   in x : f32[:, :]
//   x[2*i + u - 1, j]      the element of x in row 2*i + u - 1 and column j, for each i, u and j
//
// A window is an input of its own, over the axes of its forms: here over i, u and j. It is never
// copied: at a call it is a strided view of the array that it is a window of (kernel/windows.hpp),
// and so nothing after the analysis knows it from other inputs.
//
//   in k : i32[:]
//   x[k[i] + 1, j]         the element of x in row k[i] + 1 and column j: a *gather*
//
// A position may also hold multiples of extents, `x[i + extent(y, 0)]`: numbers that a call knows.
//
// A gather is a window one of whose positions holds elements of other inputs, each read through a
// window of its own. A call copies what it reads (kernel/gather.hpp).
#pragma once

#include "expr/node.hpp"
#include "expr/pad.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace broadloom {

// What becomes of a position outside of the array that the elements of another input say.
enum class Outside : std::uint8_t {
  Fails,
  Clips, // the nearest position that is inside
  Wraps, // modulo the extent
};

// The position along one dim: constant + the sum of the multiples of axes, and of elements. No
// multiple is 0, no axis stands twice.
struct AffineForm {
  struct Term {
    std::string axis;
    std::int64_t times = 0;
    friend bool operator==(const Term &, const Term &) = default;
  };
  struct Index {
    std::shared_ptr<const InputDecl> read; // a window
    std::int64_t times = 0;
    friend bool operator==(const Index &, const Index &);
  };
  struct Extent { // of a dim of an input or a let
    Expr of;
    std::size_t dim = 0;
    std::int64_t times = 0;
    friend bool operator==(const Extent &, const Extent &);
  };
  std::int64_t constant = 0;
  std::vector<Term> terms;          // in the order written
  std::vector<Index> indices;       // the same; printed before the terms
  std::vector<Extent> extents = {}; // the same; printed behind them
  Outside outside = Outside::Fails;
  // `i + 0`: an axis alone that is to stay inside of the dim, and need not be as long as it.
  bool stays_inside = false;

  // An axis and nothing else, as a dim that has its label.
  bool is_axis() const { return is_bare() && !stays_inside; }
  bool is_bare() const {
    return constant == 0 && terms.size() == 1 && terms[0].times == 1 && indices.empty() &&
           extents.empty();
  }
  // Whether it counts from the end of the dim, where position -1 is the last element: forms that no
  // axis moves up, from a negative constant on. x[-i], which begins with a constant of 0, is x[-1 -
  // i]. What an index or an extent says counts from the start.
  bool is_from_end() const;
  std::int64_t
  start() const; // the position where all axes are at 0; from the end where is_from_end()

  friend bool operator==(const AffineForm &, const AffineForm &) = default;
};

AffineForm form_of(const Position &position);

// Adds `times` times another form, which is not clipped or wrapped; false where a number leaves i64
// or is its least.
bool add_to(AffineForm &sum, const AffineForm &form, std::int64_t times);

std::string print(const AffineForm &form); // "2*i + u - 1"

struct Window {
  std::shared_ptr<const InputDecl> of; // no window itself; or a let
  std::vector<AffineForm> forms;       // [dim of it], positions in the padded array
  std::vector<DimPad> pads = {};       // in the order in which they are filled
  bool is_whole = false; // pad(x, ..) that is not read at positions: no value yet, without forms
  int depth = 1;         // windows in the positions of each other, this one counted
  static constexpr int deepest = 64;

  bool is_gather() const {
    return std::any_of(forms.begin(), forms.end(),
                       [](const AffineForm &form) { return !form.indices.empty(); });
  }
};

// Of `out y[i < 3, j < 2*extent(x, 0)]`: 3 and 2*extent(x, 0), numbers and extents alone.
struct SaidExtents {
  std::vector<AffineForm> of; // [dim]
};

// The declaration of a said extent, or of several, whose dims have the labels: what like= would
// name, if it could be. `owner` is the output or the let. Throws SpecError E0033 for an extent
// below 0, or one that holds an axis or an element; `shown` has its source line.
struct SaidExtent {
  std::string axis;
  AffineForm extent;
};
std::shared_ptr<const InputDecl> make_said(const std::string &owner, std::vector<SaidExtent> dims,
                                           const PlaceOf &shown);

// The extents of other arrays that stand in the positions of a window, or in those that are said:
// visit(extent).
template <class Visit> void for_each_extent(const InputDecl &decl, Visit visit) {
  const std::vector<AffineForm> *forms = decl.window ? &decl.window->forms
                                         : decl.said ? &decl.said->of
                                                     : nullptr;
  for (std::size_t d = 0; forms != nullptr && d < forms->size(); ++d)
    for (const AffineForm::Extent &extent : (*forms)[d].extents) visit(extent);
}

// The name of an input or a let.
const std::string &name_of_array(const Expr &array);

// Calls visit(decl) with the inputs whose extents stand in the positions of this one, with the
// windows that stand in the positions of this input, with what they are of, and so on, and then
// with the input that it is of itself.
template <class Visit> void for_each_read_by(const InputDecl &input, Visit visit) {
  for_each_extent(input, [&](const AffineForm::Extent &extent) {
    if (extent.of.node()->kind == ExprKind::Input) visit(extent.of.node()->input);
  });
  if (!input.window) return;
  for (const AffineForm &form : input.window->forms) {
    for (const AffineForm::Index &index : form.indices) {
      for_each_read_by(*index.read, visit);
      visit(index.read);
    }
  }
  visit(input.window->of);
}

// A read of `of`, an Input node, a padded one or a Let, through a window: an Input node whose
// declaration has the axes of the forms as dims, in order of first appearance, and the text of the
// read as its name. The analysis looks at the number of forms.
Expr make_window(const Expr &of, std::vector<AffineForm> forms, Place where);

// The padded input, which is no value before it is read at positions: an Input node whose window
// has no forms.
Expr make_padded(const Expr &of, std::vector<DimPad> pads, Place where);
bool is_padded_whole(const Expr &expr);

// The same read of something else: of `of` with those pads, at those positions.
Expr make_window_like(const Expr &of, const Window &window, Place where);

// extent(x, 0): of a dim of an input or a let, by label or number. Throws ShapeError E0104; `shown`
// has its source line.
AffineForm extent_form(const Expr &array, const AxisRef &dim, const PlaceOf &shown);

// With other arrays in place of those whose extents stand in it: `now(array)`, or the same where
// that is empty.
template <class Now> void exchange_extents(AffineForm &form, Now now) {
  for (AffineForm::Extent &extent : form.extents)
    if (Expr array = now(extent.of); array.node()) extent.of = std::move(array);
}

// The same of what is said, in a declaration of its own.
template <class Now>
std::shared_ptr<const InputDecl> with_extents(const std::shared_ptr<const InputDecl> &said,
                                              Now now) {
  if (!said) return said;
  auto made = std::make_shared<InputDecl>(*said);
  auto extents = std::make_shared<SaidExtents>(*said->said);
  for (AffineForm &form : extents->of) exchange_extents(form, now);
  made->said = std::move(extents);
  return made;
}

// What a window of a let is of.
std::shared_ptr<const InputDecl> declaration_of(const Expr &let);

// The let that a node is a window of; empty where it is none, or reads the let ahead.
Expr let_seen(const ExprNode &node);

// A let before it is there: in its own definition, or in that of one before it. It is read at
// positions.
Expr make_ahead(std::string name, Place where);
bool reads_ahead(const ExprNode &node); // such a read, or what is not read at positions yet

} // namespace broadloom
