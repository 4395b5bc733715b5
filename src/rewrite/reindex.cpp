// See reindex.hpp.
#include "rewrite/reindex.hpp"

#include "rewrite/scatters.hpp"
#include "support/check.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace broadloom::rewrite {

using expr::AxisSet;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;

namespace {

// Is this axis nothing but renamed?
bool renames(const Instead &instead) {
  return instead.inside && !instead.part && instead.at.axis() >= 0;
}

spec::TypedWindow::Form form_of(const Position &position) {
  spec::TypedWindow::Form form;
  form.start = position.constant;
  form.divisor = position.divisor;
  for (const bool minus : {false, true}) // p - u, not -u + p
    for (const auto &[axis, times] : position.axes)
      if ((times < 0) == minus) form.terms.push_back({axis, times});
  for (const auto &[dim, times] : position.counts)
    form.counts.push_back({dim.first, dim.second, times});
  return form;
}

// From where a dim of a read has its extent.
spec::TypedWindow::ExtentOf extent_of_dim(const spec::TypedSpec &spec, std::uint32_t input,
                                          std::size_t dim) {
  const spec::TypedInput &read = spec.inputs[input];
  if (!read.window) return {-1, input, int(dim)};
  return read.window->derived ? read.window->extents[dim]
                              : spec::TypedWindow::ExtentOf{read.axis_of_dim[dim], 0, 0};
}

} // namespace

NodeId Reindexer::run(NodeId root, const Substitution &by) {
  all_.assign(1, by);
  inner_.clear();
  done_.clear();
  std::vector<Key> work{{root.index, 0}};
  while (!work.empty()) {
    const auto [index, sub] = work.back();
    const NodeId id{index};
    if (done_.contains({index, sub})) {
      work.pop_back();
      continue;
    }
    if (stays(id, sub)) {
      done_[{index, sub}] = id;
      continue;
    }
    const std::size_t within = inner(id, sub), before = work.size();
    for (NodeId arg : spec_.graph.args(id))
      if (!done_.contains({arg.index, within})) work.push_back({arg.index, within});
    if (work.size() > before) continue;
    work.pop_back();
    done_[{index, sub}] = made(id, sub);
  }
  return done_.at({root.index, 0});
}

bool Reindexer::stays(NodeId id, std::size_t by) const {
  bool changes = false;
  for (const auto &[axis, instead] : all_[by].axes)
    changes = changes || spec_.graph[id].axes.has(axis);
  return !changes;
}

AxisSet Reindexer::images(const Substitution &by, AxisSet of) const {
  AxisSet axes;
  for (const auto &[axis, instead] : by.axes)
    for (const auto &[image, times] : instead.at.axes)
      if (of.has(axis)) axes = axes | AxisSet::of(image);
  return axes;
}

// Of a fold: the axes that it folds stand for themselves, and have another name where theirs now
// means something else.
std::size_t Reindexer::inner(NodeId id, std::size_t by) {
  const Node node = spec_.graph[id];
  if (node.kind != NodeKind::Fold) return by;
  if (const auto known = inner_.find({id.index, by}); known != inner_.end()) return known->second;
  AxisSet has;
  for (NodeId arg : spec_.graph.args(id)) has = has | spec_.graph[arg].axes;
  const AxisSet bound = node.folded & has, taken = images(all_[by], node.axes) & bound;
  Substitution within;
  within.extents = all_[by].extents;
  within.lenders = all_[by].lenders;
  for (const auto &[axis, instead] : all_[by].axes)
    if (node.axes.has(axis)) within.axes.emplace(axis, instead);
  // Without a combine positions are taken in the order of the axes, which must stay as it is.
  const bool in_order = !spec_.graph.recipe(id).has_combine();
  const AxisSet renamed = taken.empty() || !in_order ? taken : bound;
  // What keeps its name is an axis of the fold all the same: it has no extent of one outside that
  // is called as it is.
  for (const int axis : bound - renamed) {
    within.extents.erase(axis);
    within.lenders.erase(axis);
  }
  for (const int axis : renamed)
    within.axes[axis] = {Position::of_axis(fresh_axis(axis, spec_.where(id))), true};
  all_.push_back(std::move(within));
  return inner_[{id.index, by}] = all_.size() - 1;
}

NodeId Reindexer::made(NodeId id, std::size_t by) {
  Node node = spec_.graph[id];
  const Place where = spec_.graph.where(id);
  const std::size_t within = inner(id, by);
  std::vector<NodeId> args;
  AxisSet axes;
  for (NodeId arg : spec_.graph.args(id)) {
    args.push_back(done_.at({arg.index, within}));
    axes = axes | spec_.graph[args.back()].axes;
  }
  const Substitution &sub = all_[within];
  switch (node.kind) {
  case NodeKind::Input: return input(derived(node.payload, sub, where), where);
  case NodeKind::Literal:
  case NodeKind::Extent: return id;
  case NodeKind::Index: return made_index(id, by, args);
  case NodeKind::Op:
  case NodeKind::Cast:
  case NodeKind::Expand: node.axes = axes; break;
  case NodeKind::Fold: {
    AxisSet folded;
    for (const int axis : node.folded) {
      const auto renamed = sub.axes.find(axis);
      folded = folded | AxisSet::of(renamed == sub.axes.end() ? axis : renamed->second.at.axis());
    }
    node.folded = folded;
    node.axes = axes - folded;
    if (!node.like.given()) break;
    if (is_scatter(spec_, node)) fail_scan(id);
    // It may fold along each axis of `like`, which is known at a call only.
    const AxisSet open = spec_.axes_of(spec_.graph.like(node));
    for (const auto &[axis, instead] : sub.axes)
      if (open.has(axis) && !renames(instead)) fail_scan(id);
    if (!(images(sub, node.axes - open) & open).empty()) fail_scan(id);
    const auto like = spec_.graph.like(node);
    std::vector<std::uint32_t> now{like.begin(), like.end()};
    for (std::uint32_t &input : now) input = derived(input, sub, where);
    node.like = spec_.graph.add_like(std::move(now));
    break;
  }
  case NodeKind::Scan: {
    const int along = std::countr_zero(node.folded.bits());
    int now = along;
    if (const auto found = sub.axes.find(along); found != sub.axes.end()) {
      if (!renames(found->second)) fail_scan(id);
      now = found->second.at.axis();
    }
    if (images(sub, spec_.graph[id].axes - node.folded).has(now)) fail_scan(id);
    node.folded = AxisSet::of(now);
    node.axes = axes;
    break;
  }
  }
  return add(node, args, where);
}

NodeId Reindexer::made_index(NodeId id, std::size_t by, const std::vector<NodeId> &args) {
  const Place where = spec_.graph.where(id);
  Node node = spec_.graph[id];
  const Instead &instead = all_[by].axes.at(std::countr_zero(node.axes.bits()));
  // What is read at the position lacks the axes that cancel out there: x[i + u] at i := p - u is
  // x[p].
  const auto lender = [&](int axis) {
    const auto &lenders = all_[by].lenders;
    const auto found = lenders.find(axis);
    return found == lenders.end() ? args[0] : input(found->second, where);
  };
  if (renames(instead)) {
    const int axis = instead.at.axis();
    node.axes = AxisSet::of(axis);
    const NodeId lent[] = {spec_.graph[args[0]].axes.has(axis) ? args[0] : lender(axis)};
    return add(node, lent, where);
  }
  const NodeId value = value_of(instead.at, lender, where);
  if (instead.at.divisor == 1) return value;
  return op(ops::Op::FloorDiv, DType::I64, {value, number(instead.at.divisor, where)}, where);
}

void Reindexer::fail_scan(NodeId id) const {
  const Node &node = spec_.graph[id];
  const bool scan = node.kind == NodeKind::Scan, scatter = is_scatter(spec_, node);
  support::fail("E0605",
                fmt::format("what is summed through a window holds {} along an axis of the window",
                            scan      ? "a scan"
                            : scatter ? "a sum through a gather"
                                      : "a reduction like an input that may be 1"),
                spec_.where(id),
                scan || scatter ? "store it as an output of one kernel and read it in another"
                                : "label the dims of the input that it is like");
}

std::uint32_t Reindexer::derived(std::uint32_t index, const Substitution &by, const Place &where) {
  const spec::TypedInput read = spec_.inputs[index]; // the inputs grow
  const bool changes = std::any_of(read.axis_of_dim.begin(), read.axis_of_dim.end(),
                                   [&](int axis) { return by.axes.contains(axis); });
  if (!changes) return index;
  spec::TypedWindow window;
  window.derived = true;
  window.of = read.window ? read.window->of : index;
  window.derived_from = read.window && read.window->derived ? read.window->derived_from : index;
  if (read.window) {
    window.pads = read.window->pads;
    window.seen = read.window->seen;
  }
  const spec::TypedInput base = spec_.inputs[window.of];
  AxisSet in_sums;
  std::vector<int> axes;
  for (std::size_t d = 0; d < base.axis_of_dim.size(); ++d) {
    const Position old =
        read.window ? position_of(*read.window, d) : Position::of_axis(read.axis_of_dim[d]);
    const Position now = Positions(where).substitute(old, [&](int axis) {
      const auto found = by.axes.find(axis);
      return found == by.axes.end() ? nullptr : &found->second.at;
    });
    spec::TypedWindow::Form &form = window.forms.emplace_back(form_of(now));
    form.stretches = read.window ? read.window->forms[d].stretches : base.may_stretch[d];
    form.may_leave = read.window && read.window->forms[d].may_leave;
    for (const auto &[axis, times] : old.axes)
      if (const auto found = by.axes.find(axis); found != by.axes.end())
        form.may_leave = form.may_leave || !found->second.inside;
    const auto add_axis = [&](int axis) {
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
    };
    if (read.window) {
      form.outside = read.window->forms[d].outside;
      for (const spec::TypedWindow::Index &element : read.window->forms[d].indices) {
        form.indices.push_back({derived(element.input, by, where), element.times});
        for (const int axis : spec_.inputs[form.indices.back().input].axis_of_dim) add_axis(axis);
      }
    }
    for (const spec::TypedWindow::Term &term : form.terms) {
      add_axis(term.axis);
      if (!form.is_axis() && form.indices.empty()) in_sums = in_sums | AxisSet::of(term.axis);
    }
  }
  if (axes.size() > std::size_t(max_rank))
    support::fail(
        "E0013",
        fmt::format("{} is read along {} axes to sum through a window, and {} is the limit",
                    read.name, axes.size(), max_rank),
        read.where, "split the kernel");

  spec::TypedInput made;
  made.dtype = read.dtype;
  made.where = read.where;
  made.axis_of_dim = axes;
  for (const int axis : axes) {
    std::optional<spec::TypedWindow::ExtentOf>
        own; // of the dim that this one is, under another name or the same
    for (std::size_t k = 0; k < read.axis_of_dim.size() && !own; ++k) {
      const auto found = by.axes.find(read.axis_of_dim[k]);
      const bool same = found == by.axes.end()
                            ? read.axis_of_dim[k] == axis
                            : renames(found->second) && found->second.at.axis() == axis;
      if (same) own = extent_of_dim(spec_, index, k);
    }
    const auto given = by.extents.find(axis);
    // In a sum of axes it must have all its positions, also where the read repeats a dim of 1 along
    // it.
    if (given != by.extents.end() && (!own || in_sums.has(axis))) own = given->second;
    support::check(own.has_value(), "reindex: an axis without extent");
    window.extents.push_back(*own);
    const bool of_dim = own->axis < 0 && own->number < 0;
    made.may_stretch.push_back(of_dim &&
                               spec_.inputs[own->input].may_stretch[std::size_t(own->dim)]);
    made.extents.push_back(of_dim ? spec_.inputs[own->input].extents[std::size_t(own->dim)]
                                  : own->number);
  }
  for (std::size_t d = 0; d < window.forms.size(); ++d) { // the index of a dim is inside of it
    spec::TypedWindow::Form &form = window.forms[d];
    if (!form.is_axis()) continue;
    const auto k = std::find(axes.begin(), axes.end(), form.terms[0].axis) - axes.begin();
    const spec::TypedWindow::ExtentOf &extent = window.extents[std::size_t(k)];
    if (extent.axis < 0 && extent.number < 0 && extent.input == window.of && extent.dim == int(d))
      form.may_leave = false;
  }
  made.window = std::move(window);
  return added(std::move(made));
}

std::uint32_t Reindexer::added(spec::TypedInput made) {
  const spec::TypedWindow &window = *made.window;
  made.name = (window.seen.empty() ? spec_.inputs[window.of].name : window.seen) + text_of(window);
  std::string key = made.name;
  for (const spec::TypedWindow::ExtentOf &e : window.extents)
    key += fmt::format(" {}.{}.{}.{}", e.axis, e.input, e.dim, e.number);
  for (const spec::TypedWindow::Form &form : window.forms) key += form.may_leave ? " z" : " -";
  const auto [known, fresh] = derived_.try_emplace(key, std::uint32_t(spec_.inputs.size()));
  if (fresh) spec_.inputs.push_back(std::move(made));
  return known->second;
}

std::uint32_t Reindexer::counting(std::uint32_t input, int dim, int axis, std::int64_t extent,
                                  const Place &where) {
  spec::TypedWindow window;
  window.derived = true;
  window.of = input;
  const spec::TypedInput &base = spec_.inputs[input];
  for (std::size_t d = 0; d < base.axis_of_dim.size(); ++d) {
    spec::TypedWindow::Form &form = window.forms.emplace_back();
    form.may_leave = true;
    if (int(d) == dim) form.terms.push_back({axis, 1});
  }
  window.extents.push_back({-1, 0, 0, extent});
  spec::TypedInput made;
  made.dtype = base.dtype;
  made.where = where;
  made.axis_of_dim = {axis};
  made.extents = {extent};
  made.may_stretch = {false};
  made.window = std::move(window);
  return added(std::move(made));
}

std::string Reindexer::text_of(const spec::TypedWindow &window) const {
  std::string text = "[";
  for (std::size_t d = 0; d < window.forms.size(); ++d) {
    const spec::TypedWindow::Form &form = window.forms[d];
    std::string sum;
    for (const spec::TypedWindow::Index &element : form.indices)
      support::add_term(sum, element.times, spec_.inputs[element.input].name);
    for (const spec::TypedWindow::Term &term : form.terms)
      support::add_term(sum, term.times, spec_.axes[std::size_t(term.axis)].name);
    for (const spec::TypedWindow::Count &count : form.counts)
      support::add_term(
          sum, count.times,
          fmt::format("extent({}, of={})", count.dim, spec_.inputs[count.input].name));
    if (form.start != 0 || sum.empty()) support::add_term(sum, form.start);
    if (form.divisor != 1) sum = fmt::format("({}) / {}", sum, form.divisor);
    switch (form.outside) {
    case Outside::Fails: break;
    case Outside::Clips: sum = "clip(" + sum + ")"; break;
    case Outside::Wraps: sum = "wrap(" + sum + ")"; break;
    }
    text += (d == 0 ? "" : ", ") + sum;
  }
  return text + "]";
}

int Reindexer::fresh_axis(int like, const Place &where) {
  if (spec_.axes.size() == expr::max_axes)
    support::fail("E0013",
                  fmt::format("a kernel has at most {} axes, and sums through windows need some",
                              expr::max_axes),
                  support::with_text(where, spec_.source.get()), "split the kernel");
  const spec::Axis &axis = spec_.axes[std::size_t(like)];
  std::string name;
  const auto taken = [&] {
    return std::any_of(spec_.axes.begin(), spec_.axes.end(),
                       [&](const spec::Axis &a) { return a.name == name; });
  };
  for (int k = 2; name.empty() || taken(); ++k)
    name = fmt::format("{}{}_{}", axis.labelled ? "" : "i", axis.name, k);
  spec_.axes.push_back({name, axis.labelled});
  return int(spec_.axes.size()) - 1;
}

NodeId Reindexer::add(Node node, std::span<const NodeId> args, const Place &where) {
  if (spec_.graph.size() >= expr::max_nodes)
    support::fail(
        "E0013",
        fmt::format(
            "the kernel is too large: with its sums through windows written out it has more "
            "than {} operations",
            expr::max_nodes),
        support::with_text(where, spec_.source.get()), "split the kernel");
  return spec_.graph.add(node, args, where);
}

NodeId Reindexer::number(std::int64_t value, const Place &where) {
  return add({.dtype = DType::I64, .literal = ops::scalar_from(value)}, {}, where);
}

NodeId Reindexer::op(ops::Op op, DType result, std::initializer_list<NodeId> args,
                     const Place &where) {
  Node node{.kind = NodeKind::Op, .op = op, .dtype = result};
  for (NodeId arg : args) node.axes = node.axes | spec_.graph[arg].axes;
  return add(node, std::span(args.begin(), args.size()), where);
}

NodeId Reindexer::input(std::uint32_t input, const Place &where) {
  const spec::TypedInput &read = spec_.inputs[input];
  return add({.kind = NodeKind::Input, .dtype = read.dtype, .axes = read.axes(), .payload = input},
             {}, where);
}

NodeId Reindexer::extent(NodeId of, int axis, const Place &where) {
  return add({.kind = NodeKind::Extent, .dtype = DType::I64, .folded = AxisSet::of(axis)},
             std::span(&of, 1), where);
}

NodeId Reindexer::index(NodeId lender, int axis, const Place &where) {
  return add({.kind = NodeKind::Index, .dtype = DType::I64, .axes = AxisSet::of(axis)},
             std::span(&lender, 1), where);
}

} // namespace broadloom::rewrite
