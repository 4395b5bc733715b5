// See batcher.hpp: reductions that keep the new axis.
//
//   sum(x)                  sum(x, i)
//   sum(e, like=w)          the same where w has the axis; else sum(e, j), of labels that tell what w lacks
//   sum(e, like=x[i + u])   the same of x[b, i + u]; else of a let that lends the shape of all x of a batch
#include "grad/batcher.hpp"

#include "analysis/analyse.hpp"
#include "expr/join.hpp"
#include "facts/terms.hpp"
#include "spec/definition.hpp"

#include <algorithm>

namespace broadloom::grad {

Expr Batcher::fold(const ExprNode &node) {
  FoldUse use = *node.use;
  use.init.clear();
  std::vector<Expr> args;
  bool moves = false;
  for (std::size_t a = 0; a < node.args.size(); ++a) {
    (a < node.folded ? args : use.init).push_back(exchange_(node.args[a]));
    moves = moves || (a < node.folded && facts_.depends(node.args[a]));
  }
  if (!use.like.empty()) {
    const InputDecl *window = use.like.size() == 1 ? facts_.window_called(use.like[0]) : nullptr;
    if (window != nullptr) return fold_like_window(node, std::move(use), std::move(args), *window);
    const bool likes = std::ranges::any_of(
        use.like, [&](const std::string &name) { return facts_.depends(name); });
    if (moves && !likes) return fold_like_inputs(node, std::move(use), std::move(args));
    return make_fold(std::move(use), std::move(args), {}, node.where);
  }
  if (!node.axes.empty() || !moves) {
    std::vector<AxisRef> axes;
    for (const AxisRef &axis : node.axes) axes.push_back(moved(axis, node.where));
    return make_fold(std::move(use), std::move(args), std::move(axes), node.where);
  }
  AxisNames axes;
  for (std::size_t a = 0; a < node.folded; ++a)
    axes = joined(std::move(axes), facts_.axes(node.args[a]));
  return fold_over(node, std::move(use), std::move(args), axes);
}

// No text says a fold along no axis: of many accumulators that is the value itself, in the dtype of the fold.
Expr Batcher::fold_over(const ExprNode &node, FoldUse use, std::vector<Expr> args,
                        const AxisNames &axes) {
  if (!axes.empty()) return make_fold(std::move(use), std::move(args), refs(axes), node.where);
  FoldUse of_one = use;
  of_one.like.clear();
  if (args.size() != 1 || !spec::keeps_one_element(of_one))
    fail("a reduction folds a value without axes", node.where, "leave the reduction out");
  SpecData probe = data_;
  probe.lets.clear();
  probe.axes.clear();
  OutputDecl output;
  output.name = "probed_value";
  FoldUse plain = *node.use;
  plain.like.clear();
  plain.init.clear();
  output.value = make_fold(std::move(plain), {node.args[0]}, {}, node.where);
  probe.outputs = {std::move(output)};
  return make_cast(analysis::analyse(spec::expand_calls(probe)).outputs[0].dtype, args[0],
                   node.where);
}

// The axes that it folds follow from labels, where no dim may be 1.
Expr Batcher::fold_like_inputs(const ExprNode &node, FoldUse use, std::vector<Expr> args) {
  const std::vector<std::string> like = use.like;
  AxisNames wanted, has;
  for (const auto &decl : data_.inputs)
    if (std::ranges::count(like, decl->name) != 0)
      wanted = joined(std::move(wanted), facts_.axes_of_input(*decl));
  for (std::size_t a = 0; a < node.folded; ++a)
    has = joined(std::move(has), facts_.axes(node.args[a]));
  for (const std::string &axis : joined(wanted, has))
    if (!facts_.is_firm(axis))
      fail("a reduction is like '" + like[0] + "', which lacks the axis, and dims may be 1",
           node.where, "give that input the axis, too, or label the dims");
  use.like.clear();
  const Expr folded = fold_over(node, std::move(use), std::move(args), without(has, wanted));
  return repeated(folded, without(wanted, has), like, node.where);
}

// Along axes of inputs that it lacks: where(.., e, e).
Expr Batcher::repeated(const Expr &value, const AxisNames &axes,
                       const std::vector<std::string> &like, const Place &where) {
  const facts::Terms t(where);
  Expr made = value;
  for (const std::string &axis : axes)
    for (const auto &decl : data_.inputs) {
      if (std::ranges::count(like, decl->name) == 0) continue;
      const AxisNames own = facts_.axes_of_input(*decl);
      if (std::ranges::count(own, axis) == 0) continue;
      Number zero;
      const Expr behind =
          t.op(ops::Op::Ge, {make_iota(ref(axis), {decl->name}, where), make_literal(zero, where)});
      made = t.where(behind, made, made);
      break;
    }
  return made;
}

Expr Batcher::fold_like_window(const ExprNode &node, FoldUse use, std::vector<Expr> args,
                               const InputDecl &window) {
  const InputDecl &of = *window.window->of;
  bool moves = facts_.reads(window);
  for (std::size_t a = 0; a < node.folded; ++a) moves = moves || facts_.depends(node.args[a]);
  const auto plain = [&] {
    use.like = {named(window.name)};
    return make_fold(use, args, {}, node.where);
  };
  if (!moves) return plain();
  const bool has_axis = facts_.depends(of.name);
  if (has_axis && (!of.is_let || terms_of_lets_.contains(&node))) return plain();
  // A let of its own, of which the dims are called as those of the array.
  const AxisNames dims = facts_.axes_seen(window);
  if (has_axis) {
    use.like = {named(window.name)};
  } else {
    Window now = *window.window;
    for (AffineForm &form : now.forms) {
      extents_now(form, node.where);
      for (AffineForm::Index &index : form.indices)
        index.read = window_now(*index.read, {}, node.where).node()->input;
    }
    now.forms.insert(now.forms.begin(), own_form());
    for (DimPad &pad : now.pads) ++pad.dim;
    const Expr seen = make_window_like(lender_of(of, node.where), now, node.where);
    const auto &decl = seen.node()->input;
    if (declared_.insert(decl->name).second) windows_.push_back(decl);
    use.like = {decl->name};
  }
  const std::string name = fresh(of.name + "_sum");
  std::vector<AxisRef> listed{own_ref()};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (has_axis) // the names are those of dims that are one further now
      renamed_[dims[d]] = name + "_" + std::to_string(d + 1);
    listed.push_back(ref(dims[d]));
  }
  return add_let(make_let(name, make_fold(std::move(use), std::move(args), {}, node.where),
                          node.where, std::move(listed)));
}

// Nothing reads its elements.
Expr Batcher::lender_of(const InputDecl &of, const Place &where) {
  Expr &lender = lenders_[of.name];
  if (lender.node()) return lender;
  const std::string name = fresh(of.name + "_" + axis_);
  const Expr array = of.is_let ? array_now(facts_.lets().at(of.name), where)
                               : make_input(decls_.at(of.name), where);
  std::vector<SaidExtent> said{own_extent(where)};
  std::vector<AxisRef> axes{own_ref()};
  for (std::size_t d = 0; d < (of.is_let ? facts_.dims(of.name).size() : of.dims.size()); ++d) {
    AffineForm form;
    form.extents.push_back({array, d, 1});
    const std::string dim = name + "_d" + std::to_string(d);
    axes.emplace_back(dim);
    said.push_back({dim, std::move(form)});
  }
  LetLoop loop;
  loop.said = make_said(name, std::move(said), [&] { return where; });
  lender = add_let(make_let(name, facts::Terms(where).num(0), where, std::move(axes), loop));
  return lender;
}

} // namespace broadloom::grad
