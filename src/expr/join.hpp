// Arrays side by side: what `let z[i, j] = concat(i, x, y)` and `let z[k, i] = stack(k, x, y)` say.
//
// Each part is an array of its own, a let with the dims of the whole: its axes mean what they mean there, so that i is as long as x in the
// one part and as long as y in the other. It is computed where it lies in the whole (kernel/join.hpp).
#pragma once

#include "expr/node.hpp"
#include "expr/pad.hpp"

#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

namespace broadloom {

// The whole value of a let with dims. `axis` is one of them; `stacks`: along which the parts have no dim, and one position each.
Expr make_join(AxisRef axis, std::vector<Expr> parts, bool stacks, Place where);
bool is_join(const Expr &expr);

// The dim of the whole along which its parts lie. Throws ShapeError E0104 where the let lists no such dim; `shown` has its source line.
std::size_t dim_of_join(const std::string &let, const ExprNode &join,
                        const std::vector<AxisRef> &dims, const PlaceOf &shown);

// The let of a join with each part as a let of its own: NAME_part0, .. if `is_free(name)`, else another such name. A part that is
// an array with these dims stays what it is, but for those that are `taken`. `made` is called with each new let.
Expr let_of_join(const std::string &name, const std::vector<AxisRef> &dims, const Expr &join,
                 Place where, const std::function<bool(const std::string &)> &is_free,
                 const std::function<void(const Expr &)> &made,
                 std::unordered_set<const ExprNode *> taken = {});

} // namespace broadloom
