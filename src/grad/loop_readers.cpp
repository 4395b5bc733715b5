// What the readers of a loop send back to it (through_loops.cpp).
#include "facts/terms.hpp"
#include "grad/through_loop.hpp"

#include <algorithm>

namespace broadloom::grad {
namespace {

// a, b and c of a + b + c, in order.
std::vector<Expr> addends(const Expr &sum) {
  std::vector<Expr> open{sum}, result;
  while (!open.empty()) {
    const Expr one = open.back();
    open.pop_back();
    const ExprNode &node = *one.node();
    if (node.kind == ExprKind::Op && node.op == ops::Op::Add)
      open.insert(open.end(), {node.args[1], node.args[0]});
    else
      result.push_back(one);
  }
  return result;
}

// Whether it has these axes at most: all its inputs say theirs.
bool has_only(const Expr &value, const std::vector<std::string> &axes) {
  bool fits = true;
  const auto take = [&](const std::string &axis) {
    fits = fits && std::ranges::count(axes, axis) != 0;
  };
  const auto take_window = [&](const Window &window) {
    fits = fits && !window.is_gather();
    for (const AffineForm &form : window.forms) {
      fits = fits && form.extents.empty();
      for (const AffineForm::Term &term : form.terms) take(term.axis);
    }
  };
  expr::Walker().walk(value.node(), [&](const ExprNode &node) {
    const bool has_scope = node.kind == ExprKind::Fold || node.kind == ExprKind::Scan ||
                           node.kind == ExprKind::Iota || node.kind == ExprKind::Extent ||
                           node.kind == ExprKind::Let;
    if (has_scope) fits = false;
    if (node.kind != ExprKind::Input) return;
    if (node.input->window) return take_window(*node.input->window);
    for (const Dim &dim : node.input->dims) take(dim.label);
  });
  return fits;
}

} // namespace

// What reads one step alone sends to that step,
//
//   out y[i] = u[-1, i]             let d_u[t < 500, i] = where(iota(t) == 499, d_y[i], 0) + ..
//
// and no array of all steps, which are zeros but for one. Empty where it is not so.
Expr ThroughLoop::at_one_step(std::size_t m, const Expr &sent) const {
  const ExprNode &node = *sent.node();
  const std::int64_t steps = recurrence(m).steps;
  if (steps < 0 || node.kind != ExprKind::Fold || node.use->like.size() != 1 ||
      node.use->accumulator.fold() != Fold::Sum || node.use->acc || node.args.size() != 1)
    return Expr();
  const auto like = std::ranges::find(all_.windows_, node.use->like[0], &InputDecl::name);
  if (like == all_.windows_.end() || !(*like)->window) return Expr();
  const Window &window = *(*like)->window;
  if (window.of->name != members_[m].name || !window.pads.empty()) return Expr();
  std::vector<std::string> axes;
  for (std::size_t d = 0; d < window.forms.size(); ++d) {
    if (d == time(m)) continue;
    const AffineForm &form = window.forms[d];
    if (!form.is_axis() || form.terms[0].axis != members_[m].axes[d]) return Expr();
    axes.push_back(members_[m].axes[d]);
  }
  const AffineForm &form = window.forms[time(m)];
  if (!form.terms.empty() || !form.indices.empty() || !form.extents.empty()) return Expr();
  const std::int64_t step = form.start() + (form.is_from_end() ? steps : 0);
  if (step < 0 || step >= steps || !has_only(node.args[0], axes)) return Expr();
  const facts::Terms t(node.where);
  const Expr number = make_iota(AxisRef(members_[m].axes[time(m)]), {}, node.where);
  const Expr is_step = t.op(ops::Op::Eq, {number, t.num(double(step))});
  return t.where(is_step, node.args[0]);
}

void ThroughLoop::make_sums(std::size_t m) {
  Member &member = members_[m];
  const auto flowed = all_.into_.find(member.name);
  if (flowed == all_.into_.end()) return;
  const facts::Terms t(member.node->where);
  Expr to_all;
  for (const Expr &sent : addends(flowed->second.value))
    if (const Expr to_one = at_one_step(m, sent); to_one.node())
      member.to_one_step = t.add(member.to_one_step, to_one);
    else
      to_all = t.add(to_all, sent);
  if (!to_all.node()) return;
  if (!member.to_one_step.node()) to_all = flowed->second.value;
  member.from_readers = make_let(all_.fresh("g_" + member.name), to_all, member.node->where);
  all_.cotangents_.push_back(*member.from_readers);
}

} // namespace broadloom::grad
