// See batch.hpp: reductions that keep the new axis.
//
//   sum(x)                  sum(x, i)
//   sum(e, like=w)          the same where w has the axis; else sum(e, j), of labels that tell what
//                           w lacks
//   sum(e, like=x[i + u])   the same of x[b, i + u]; else of a let that lends the shape of all x of
//                           a batch
#include "grad/batch.hpp"

#include "analysis/analyse.hpp"
#include "expr/join.hpp"
#include "expr/stretch.hpp"
#include "facts/terms.hpp"
#include "spec/definition.hpp"
#include "spec/own_axis.hpp"

#include <algorithm>
#include <optional>

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

// No text says a fold along no axis: of many accumulators that is the value itself, in the dtype of
// the fold.
Expr Batcher::fold_over(const ExprNode &node, FoldUse use, std::vector<Expr> args,
                        const AxisNames &axes) {
  if (!axes.empty()) return make_fold(std::move(use), std::move(args), refs(axes), node.where);
  FoldUse of_one = use;
  of_one.like.clear();
  if (args.size() != 1 || !spec::keeps_one_element(of_one))
    fail("a reduction folds a value without axes", node.where, "leave the reduction out");
  OutputDecl output;
  output.name = fresh("probed_value");
  FoldUse plain = *node.use;
  plain.like.clear();
  plain.init.clear();
  output.value = make_fold(std::move(plain), {node.args[0]}, {}, node.where);
  const SpecData probe = spec::expand_calls(spec::with_outputs(data_, {std::move(output)}));
  return make_cast(analysis::analyse(probe).outputs[0].dtype, args[0], node.where);
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

// accumulate(A) e as an expression, each input in A(x, ..): where a reduction folds all that is
// left of an input, or the output has other axes than those that are kept, the axes that it lists
// say too little.
void Batcher::write_out_accumulate(OutputDecl &output, const AxisNames &axes) {
  const auto is_input = [&](const ExprNode &node) {
    return node.kind == ExprKind::Input ||
           (node.kind == ExprKind::Let && facts_.is_array(node.name));
  };
  const auto each = [&](auto visit) {
    const auto enter = [&](const ExprNode &node) { return !is_input(node); };
    expr::Walker walker;
    if (!is_input(*output.value.node())) walker.walk(output.value.node(), visit, enter);
  };
  std::optional<AxisNames> kept; // those of an input of the least rank
  bool folds_all = false;
  const auto look_at = [&](const Expr &read) {
    const AxisNames own = facts_.axes(read);
    if (!kept || own.size() < kept->size()) kept = own;
  };
  if (is_input(*output.value.node())) look_at(output.value);
  each([&](const ExprNode &node) {
    folds_all = folds_all || (node.kind == ExprKind::Fold && node.axes.empty());
    for (const Expr &arg : node.args)
      if (is_input(*arg.node())) look_at(arg);
  });
  if (output.has_axes || !kept) kept = axes;
  if (!folds_all && without(*kept, axes).empty() && without(axes, *kept).empty()) return;
  std::unordered_map<const ExprNode *, Expr> made;
  const auto folded = [&](const Expr &arg) {
    if (const auto known = made.find(arg.node()); known != made.end()) return known->second;
    if (!is_input(*arg.node())) return arg;
    std::vector<AxisRef> extra;
    for (const std::string &axis : without(facts_.axes(arg), *kept))
      extra.push_back(axis[0] == '#' ? AxisRef(std::stoi(axis.substr(1))) : AxisRef(axis));
    return made[arg.node()] =
               extra.empty() ? arg : make_fold(output.mode.use, {arg}, extra, arg.node()->where);
  };
  each([&](const ExprNode &node) {
    std::vector<Expr> args;
    bool has_changed = false;
    for (const Expr &arg : node.args) {
      args.push_back(folded(arg));
      has_changed = has_changed || args.back().node() != arg.node();
    }
    if (!has_changed) return;
    made[&node] = node.kind == ExprKind::Let ? args[0] : with_args(node, std::move(args));
  });
  output.value = folded(output.value);
  output.mode = {};
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

namespace {

bool is_added(const ExprNode &node) {
  return node.kind == ExprKind::Cast || (node.kind == ExprKind::Op && node.op == ops::Op::Add);
}

} // namespace

// A let that is a sum of sums back through windows lists dims of any names, and an output has those
// of the array that the windows see.
void Batcher::find_terms() {
  std::unordered_map<const ExprNode *, int> uses;
  spec::for_each_node(data_, [&](const ExprNode &node) {
    for (const Expr &arg : node.args) ++uses[arg.node()];
  });
  for (const OutputDecl &output : data_.outputs) ++uses[output.value.node()];
  const auto terms_of = [&](const Expr &value, bool alone) {
    std::vector<const ExprNode *> open{value.node()}, terms;
    while (!open.empty()) {
      const ExprNode &node = *open.back();
      open.pop_back();
      const bool is_let = node.kind == ExprKind::Let && !facts_.is_array(node.name) && alone;
      if ((alone && uses[&node] != 1) || (!is_added(node) && !is_let)) {
        terms.push_back(&node);
        continue;
      }
      for (const Expr &arg : node.args) open.push_back(arg.node());
    }
    return terms;
  };
  // The array that all of them see.
  const auto array_of = [&](const std::vector<const ExprNode *> &terms) {
    std::set<std::string> arrays;
    for (const ExprNode *term : terms) {
      const bool is_sum = term->kind == ExprKind::Fold && term->use->like.size() == 1;
      const InputDecl *window = is_sum ? facts_.window_called(term->use->like[0]) : nullptr;
      arrays.insert(window == nullptr ? "" : window->window->of->name);
    }
    return arrays.size() == 1 ? *arrays.begin() : "";
  };
  for (const auto &[name, let] : facts_.lets()) {
    if (!facts_.is_array(name) || !facts_.depends(name)) continue;
    const std::vector<const ExprNode *> terms = terms_of(let.node()->args[0], false);
    if (!array_of(terms).empty()) terms_of_lets_.insert(terms.begin(), terms.end());
  }
  for (std::size_t k = 0; k < data_.outputs.size(); ++k) {
    const OutputDecl &output = data_.outputs[k];
    const std::vector<const ExprNode *> terms = terms_of(output.value, true);
    const std::string array = array_of(terms);
    if (array.empty() || output.said || output.mode.kind != ModeKind::plain ||
        !facts_.depends(output.value) || (facts_.depends(array) && is_labelled(array)) ||
        std::ranges::any_of(terms, [&](const ExprNode *term) { return uses[term] != 1; }))
      continue;
    for (const ExprNode *term : terms) terms_of_outputs_.emplace(term, k);
  }
}

bool Batcher::is_labelled(const std::string &array) const {
  const auto decl = decls_.find(array);
  return decl != decls_.end() && decl->second->labelled();
}

// Such an output.
void Batcher::list_dims_of(OutputDecl &output, const AxisNames &axes,
                           const std::string &array) const {
  const AxisNames &seen = seen_by_.at(array);
  output.has_axes = true;
  output.axes = {spec::own_axis(array, 0)};
  for (const std::string &axis : axes)
    output.axes.emplace_back(
        spec::own_axis(array, std::size_t(std::ranges::find(seen, axis) - seen.begin()) + 1));
}

Expr Batcher::fold_like_window(const ExprNode &node, FoldUse use, std::vector<Expr> args,
                               const InputDecl &window) {
  const InputDecl &of = *window.window->of;
  const auto output = terms_of_outputs_.find(&node);
  const bool is_of_output = output != terms_of_outputs_.end();
  const bool is_term = is_of_output || terms_of_lets_.contains(&node);
  bool moves = is_term || facts_.reads(window);
  for (std::size_t a = 0; a < node.folded; ++a) moves = moves || facts_.depends(node.args[a]);
  const bool has_axis = facts_.depends(of.name);
  std::string array = of.name;
  if (has_axis || !moves)
    use.like = {named(window.name)};
  else
    array = like_lender(use, window, node.where);
  if (is_of_output) {
    dims_of_outputs_[output->second] = array;
    seen_by_[array] = facts_.axes_seen(window);
  }
  const bool has_own_dims = !has_axis || !is_labelled(of.name);
  const Expr made = make_fold(std::move(use), std::move(args), {}, node.where);
  if (!moves || !has_own_dims || is_term) return made;
  check_own_extents(node);
  // A let of its own, of which the dims are called as those of the array.
  const AxisNames dims = facts_.axes_seen(window);
  const std::string name = fresh(of.name + "_sum");
  std::vector<AxisRef> listed{own_ref()};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (has_axis) // the names are those of dims that are one further now
      renamed_[dims[d]] = name + "_" + std::to_string(d + 1);
    listed.push_back(ref(dims[d]));
  }
  return add_let(make_let(name, made, node.where, std::move(listed)));
}

// In a kernel of its own an axis of windows is as long as the reads there allow, whatever else is
// read along it here.
void Batcher::check_own_extents(const ExprNode &fold) {
  std::set<std::string> here, elsewhere;
  const auto add = [](std::set<std::string> &axes, const InputDecl *window) {
    if (window != nullptr && window->window)
      for (const Dim &dim : window->dims) axes.insert(dim.label);
  };
  const auto look_at = [&](std::set<std::string> &axes, const ExprNode &node) {
    if (node.kind == ExprKind::Input) add(axes, node.input.get());
    for (const std::string &name : node.of) add(axes, facts_.window_called(name));
    if (node.use)
      for (const std::string &name : node.use->like) add(axes, facts_.window_called(name));
  };
  expr::Walker inside, outside;
  inside.walk(&fold, [&](const ExprNode &node) { look_at(here, node); });
  spec::for_each_root(data_, [&](const Expr &root) {
    outside.walk(
        root.node(), [&](const ExprNode &node) { look_at(elsewhere, node); },
        [&](const ExprNode &node) { return &node != &fold; });
  });
  for (const auto &decl : data_.inputs)
    if (!decl->window)
      for (const Dim &dim : decl->dims)
        if (!expr::is_one_of_more(dim)) here.erase(dim.label);
  for (const std::string &axis : here)
    if (elsewhere.contains(axis))
      fail("a sum like a window is a part of another value, and both go along '" + axis + "'",
           fold.where, "make the sum a let that is an array");
}

// The window of all arrays of a batch that have the shape of this one; the name of the lender.
std::string Batcher::like_lender(FoldUse &use, const InputDecl &window, const Place &where) {
  Window now = *window.window;
  for (AffineForm &form : now.forms) {
    extents_now(form, where);
    for (AffineForm::Index &index : form.indices)
      index.read = window_now(*index.read, {}, where).node()->input;
  }
  now.forms.insert(now.forms.begin(), own_form());
  for (DimPad &pad : now.pads) ++pad.dim;
  const Expr lender = lender_of(*now.of, where);
  const auto decl = make_window_like(lender, now, where).node()->input;
  if (declared_.insert(decl->name).second) windows_.push_back(decl);
  use.like = {decl->name};
  return lender.node()->name;
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
  const DType dtype = of.is_let ? facts_.array(of.name).typed.outputs[0].dtype : of.dtype;
  const Expr nothing = make_cast(dtype, facts::Terms(where).num(0), where);
  lender = add_let(make_let(name, nothing, where, std::move(axes), loop));
  return lender;
}

} // namespace broadloom::grad
