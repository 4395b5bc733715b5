// Arrays side by side: what `let z[i, j] = concat(i, x, y)` and `let z[k, i] = stack(k, x, y)` say.
//
// Each part is an array of its own, a let with the dims of the whole: its axes mean what they mean
// there, so that i is as long as x in the one part and as long as y in the other. It is computed
// where it lies in the whole (kernel/join.hpp).
#pragma once

#include "expr/node.hpp"
#include "expr/pad.hpp"
#include "expr/window.hpp"

#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

namespace broadloom {

// The whole value of a let with dims. `axis` is one of them; `stacks`: along which the parts have
// no dim, and one position each.
Expr make_join(AxisRef axis, std::vector<Expr> parts, bool stacks, Place where);
bool is_join(const Expr &expr);

// `parts(x at [2*r], y at [2*r + 1])`: each part lies at positions of the whole, of which each has
// one axis of the part, times a number from 1 on.
struct JoinPositions {
  std::vector<std::vector<AffineForm>> of_parts; // [part][dim of the whole]
  std::vector<std::shared_ptr<const InputDecl>> said =
      {}; // [part]: the extents of its axes, where they are said, or null
};
Expr make_join_at(std::vector<Expr> parts, JoinPositions positions, Place where);

// The arrays whose extents stand in the positions of a join: visit(array).
template <class Visit> void for_each_extent_of_places(const ExprNode &node, Visit visit) {
  if (node.places)
    for (const std::vector<AffineForm> &positions : node.places->of_parts)
      for (const AffineForm &form : positions)
        for (const AffineForm::Extent &extent : form.extents) visit(extent.of);
}

// Throws SpecError E0034 for positions that are no such; `whole` is a name, `shown` has the source
// line.
void check_positions_of_part(const std::string &whole, const std::vector<AffineForm> &positions,
                             const PlaceOf &shown);

// The dim of the whole along which its parts lie. Throws ShapeError E0104 where the let lists no
// such dim; `shown` has its source line.
std::size_t dim_of_join(const std::string &let, const ExprNode &join,
                        const std::vector<AxisRef> &dims, const PlaceOf &shown);

// The let of a join with each part as a let of its own: NAME_part0, .. if `is_free(name)`, else
// another such name. A part that is an array with these dims stays what it is, but for those that
// are `taken`. `made` is called with each new let.
Expr let_of_join(const std::string &name, const std::vector<AxisRef> &dims, const Expr &join,
                 Place where, const std::function<bool(const std::string &)> &is_free,
                 const std::function<void(const Expr &)> &made,
                 std::unordered_set<const ExprNode *> taken = {});

} // namespace broadloom
