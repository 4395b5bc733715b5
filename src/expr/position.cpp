// The public face of reading at positions: at(), pad(), and what positions are made of.
#include "expr/held_lets.hpp"
#include "expr/position_value.hpp"
#include "expr/window.hpp"
#include "support/fail.hpp"

#include <algorithm>
#include <utility>

namespace broadloom {

AffineForm form_of(const Position &position) {
  AffineForm form;
  form.constant = position.constant();
  form.stays_inside = position.stays_inside();
  for (const Position::Term &term : position.terms()) form.terms.push_back({term.axis, term.times});
  for (const Position::Index &index : position.indices())
    form.indices.push_back({index.read.node()->input, index.times});
  for (const Position::Extent &extent : position.extents())
    form.extents.push_back({extent.of, extent.dim, extent.times});
  return form;
}

namespace {

Outside outside_of(const Position &position) {
  switch (position.outside()) {
  case Position::Outside::Fails: break;
  case Position::Outside::Clips: return Outside::Clips;
  case Position::Outside::Wraps: return Outside::Wraps;
  }
  return Outside::Fails;
}

} // namespace

Expr Expr::at(std::initializer_list<Position> positions, std::source_location where) const {
  return at(std::vector<Position>(positions), where);
}

Expr Expr::at(const std::vector<Position> &positions, std::source_location where) const {
  const bool is_input = node() && node()->kind == ExprKind::Input &&
                        (!node()->input->window || is_padded_whole(*this));
  if (!is_input && (!node() || node()->kind != ExprKind::Let))
    support::fail("E0023",
                  "at() reads an input or a let at positions, and this expression is neither",
                  place_of(where), "read what bl::input(), bl::let() or bl::pad() returned");
  std::vector<AffineForm> forms;
  for (const Position &position : positions) {
    // The least number has no text either.
    if (AffineForm form; position.valid() && add_to(form, form_of(position), 1))
      forms.push_back(std::move(form)), forms.back().outside = outside_of(position);
    else if (position.outside() != Position::Outside::Fails)
      support::fail("E0026", "something is added to a position that is clipped or wrapped",
                    place_of(where), "put clip() or wrap() around all of the position");
    else
      support::fail("E0006", "the numbers of this position leave the range of i64", place_of(where),
                    "use smaller numbers");
  }
  std::vector<Expr> lets;
  for (const Position &position : positions)
    for (const Position::Index &index : position.indices())
      lets.insert(lets.end(), index.read.node()->args.begin(), index.read.node()->args.end());
  return holding(make_window(*this, std::move(forms), place_of(where)), lets);
}

namespace {

Expr padded(const Expr &x, const std::vector<PaddedDim> &dims, const DimPad &filling,
            const Place &where) {
  const bool is_let = x.node() && x.node()->kind == ExprKind::Let;
  const bool is_input = x.node() && x.node()->kind == ExprKind::Input &&
                        (!x.node()->input->window || is_padded_whole(x));
  if (!is_input && !is_let)
    support::fail("E0023", "pad() takes an input or a let, and this expression is neither", where,
                  "pad what bl::input() or bl::let() returned, and read it at positions then");
  const auto decl = is_let ? declaration_of(x) : x.node()->input;
  const InputDecl &read = *decl;
  std::vector<DimPad> pads;
  if (read.window) pads = read.window->pads;
  for (const PaddedDim &dim : dims) {
    DimPad pad = filling;
    pad.before = dim.before;
    pad.after = dim.after;
    add_pad(pads, read.window ? *read.window->of : read, dim.dim, std::move(pad),
            [&] { return where; });
  }
  return make_padded(x, std::move(pads), where);
}

} // namespace

Expr pad(const Expr &x, const std::vector<PaddedDim> &dims, Pad mode, std::source_location where) {
  DimPad filling;
  switch (mode) {
  case Pad::zero: break;
  case Pad::edge: filling.mode = PadMode::Edge; break;
  case Pad::wrap: filling.mode = PadMode::Wrap; break;
  case Pad::reflect: filling.mode = PadMode::Reflect; break;
  }
  return padded(x, dims, filling, place_of(where));
}

Expr pad(const Expr &x, const std::vector<PaddedDim> &dims, const Operand &number,
         std::source_location where) {
  const ExprNode *node = number.expr().node();
  if (node == nullptr || node->kind != ExprKind::Literal ||
      node->number.kind == Number::Kind::Imaginary)
    support::fail("E0002", "pad() is filled with a real number, not with an expression",
                  place_of(where), "write the number itself");
  DimPad filling;
  filling.value = node->number;
  return padded(x, dims, filling, place_of(where));
}

Position Position::plus(const Position &other, std::int64_t times) const {
  AffineForm sum = form_of(*this);
  Position result(0);
  const bool whole = outside_ == Outside::Fails && other.outside_ == Outside::Fails;
  result.valid_ = valid_ && other.valid_ && whole && add_to(sum, form_of(other), times);
  result.outside_ = outside_ == Outside::Fails ? other.outside_ : outside_;
  result.constant_ = sum.constant;
  const bool adds_nothing = other.is_number() && other.constant_ == 0 && !terms_.empty();
  result.stays_inside_ = sum.stays_inside || adds_nothing;
  for (AffineForm::Term &term : sum.terms)
    result.terms_.push_back({std::move(term.axis), term.times});
  for (const AffineForm::Index &index : sum.indices)
    for (const Position *part : {this, &other}) {
      const auto read = std::ranges::find_if(part->indices_, [&](const Index &of) {
        return of.read.node()->input->name == index.read->name;
      });
      if (read == part->indices_.end()) continue;
      result.indices_.push_back({read->read, index.times});
      break;
    }
  for (const AffineForm::Extent &extent : sum.extents)
    result.extents_.push_back({extent.of, extent.dim, extent.times});
  return result;
}

Position extent_of(const Expr &array, const AxisRef &dim, std::source_location where) {
  const ExprNode *node = array.node();
  const bool is_array =
      node && (node->kind == ExprKind::Let ||
               (node->kind == ExprKind::Input && !node->input->window && !node->input->is_let));
  if (!is_array)
    support::fail("E0003", "extent_of() takes an input or a let, and this expression is neither",
                  place_of(where), "give it what bl::input() or bl::let() returned");
  Position position(0);
  for (const AffineForm::Extent &extent :
       extent_form(array, dim, [&] { return place_of(where); }).extents)
    position.extents_.push_back({extent.of, extent.dim, extent.times});
  return position;
}

Position index(const Expr &read, std::source_location where) {
  Expr at = read;
  if (!read.node())
    support::fail("E0002", "an empty bl::Expr is used as an operand", place_of(where),
                  "give it a value first: a default-constructed Expr has none");
  if (reads_ahead(*read.node()))
    support::fail("E0026", "index() takes an element of a let that is not there yet",
                  place_of(where), "compute the positions in a let before the loop");
  Position position(0);
  if (read.node()->kind != ExprKind::Input) {
    position.indices_.push_back(
        {element_of_value(name_of_value(read), read, [&] { return place_of(where); }), 1});
    return position;
  }
  if (is_padded_whole(read))
    support::fail("E0025", read.node()->input->name + " is read at positions, and none are given",
                  place_of(where), "write one position for each dim: pad(..).at({..})");
  if (!read.node()->input->window) {
    std::vector<Position> labels;
    for (const Dim &dim : read.node()->input->dims)
      if (!dim.label.empty()) labels.emplace_back(dim.label);
    at = read.at(labels, where);
  }
  position.indices_.push_back({at, 1});
  return position;
}

Position Position::limited(Position position, Outside outside, const std::source_location &where) {
  if (position.indices_.empty() || position.outside_ != Outside::Fails)
    support::fail("E0026", "clip() and wrap() are for positions with an index() in them",
                  place_of(where), "put one of them around all of the position");
  position.outside_ = outside;
  return position;
}

Position clip(Position position, std::source_location where) {
  return Position::limited(std::move(position), Position::Outside::Clips, where);
}

Position wrap(Position position, std::source_location where) {
  return Position::limited(std::move(position), Position::Outside::Wraps, where);
}

Position Position::times(const Position &number) const {
  Position product = Position(0).plus(*this, number.constant_);
  product.valid_ = product.valid_ && number.valid_;
  return product;
}

} // namespace broadloom
