// The reads of earlier steps, and what a step sends back to each of them (through_loops.cpp).
#include "analysis/analyse.hpp"
#include "facts/facts.hpp"
#include "facts/substitute.hpp"
#include "facts/terms.hpp"
#include "grad/through_loop.hpp"
#include "grad/widen.hpp"
#include "support/fail.hpp"

#include <map>
#include <set>

namespace broadloom::grad {

void ThroughLoop::take_reads(std::size_t m) {
  const spec::TypedSpec &typed = let(m).typed;
  std::unordered_map<std::string, std::size_t> member_of; // by the name of its array
  for (const spec::Recurrence::Read &read : recurrence(m).reads)
    member_of.emplace(typed.inputs[read.input].name, read.let - first_);
  Member &member = members_[m];
  member.step = let(m).data;
  std::unordered_map<std::string, std::size_t> known; // reads by their text
  Expr &value = member.step.outputs[0].value;
  const auto read = [&](const ExprNode &node) { // empty where it is none of the loop
    if (node.kind != ExprKind::Input || !node.input->window) return Expr();
    const auto of = member_of.find(node.input->window->of->name);
    if (of == member_of.end()) return Expr();
    const auto [found, fresh] = known.try_emplace(node.input->name, reads_.size());
    if (fresh) reads_.push_back(read_of(m, of->second, node));
    return make_input(reads_[found->second].input, node.where);
  };
  value = facts::exchange(value, [&](const ExprNode &node) {
    std::vector<std::string> named = node.of; // of what is read, it is one of these inputs, too
    for (std::string &name : named)
      for (const auto &input : member.step.inputs) {
        const Expr seen =
            input->name == name ? read(*make_input(input, node.where).node()) : Expr();
        if (seen.node()) name = seen.node()->input->name;
      }
    if (named == node.of) return read(node);
    return with_of(node, node.axes[0], named);
  });
  std::erase_if(member.step.inputs, [&](const auto &input) {
    return member_of.contains(input->window ? input->window->of->name : input->name);
  });
  for (const Read &read : reads_)
    if (read.by == m) member.step.inputs.push_back(read.input);
  value = with_bounds(m, value);
}

Expr ThroughLoop::with_bounds(std::size_t m, const Expr &value) {
  struct Seen {
    std::set<std::string> forms, names;
    bool earlier = false; // in a window of another step
  };
  std::map<std::string, Seen> axes;
  std::set<std::string> known(members_[m].axes.begin(), members_[m].axes.end());
  const auto visit = [&](const ExprNode &node, auto take) {
    if (node.kind != ExprKind::Input) return;
    const Read *read = nullptr;
    for (const Read &one : reads_)
      if (one.input->name == node.input->name) read = &one;
    const Window *window = node.input->window.get();
    if (read != nullptr && read->window.node()) window = read->window.node()->input->window.get();
    Window plain;
    if (read != nullptr && window == nullptr) {
      plain.of = read->input;
      plain.forms = spec::along(read->axes);
      window = &plain;
    }
    for (std::size_t d = 0; window == nullptr && d < node.input->dims.size(); ++d)
      known.insert(node.input->dims[d].label);
    for (std::size_t d = 0; window != nullptr && d < window->forms.size(); ++d)
      for (const AffineForm::Term &term : window->forms[d].terms)
        take(term.axis, *window, d, read != nullptr && read->window.node());
  };
  expr::Walker().walk(value.node(), [&](const ExprNode &node) {
    visit(node, [&](const std::string &axis, const Window &window, std::size_t d, bool earlier) {
      Seen &seen = axes[axis];
      seen.forms.insert(bound_of(window, d));
      seen.names.insert(node.input->name);
      seen.earlier = seen.earlier || earlier;
    });
  });
  std::erase_if(axes, [&](const auto &one) {
    return known.contains(one.first) || one.second.forms.size() < 2 || !one.second.earlier;
  });
  if (axes.empty()) return value;
  return facts::exchange(value, [&](const ExprNode &node) {
    std::set<std::string> bounded;
    visit(node, [&](const std::string &axis, const Window &, std::size_t, bool) {
      if (axes.contains(axis)) bounded.insert(axis);
    });
    Expr read;
    for (const std::string &axis : bounded) {
      if (!read.node()) read = with_args(node, node.args);
      const std::set<std::string> &names = axes.at(axis).names;
      read = where_inside(read, axis, {names.begin(), names.end()}, false);
    }
    return read;
  });
}

ThroughLoop::Read ThroughLoop::read_of(std::size_t by, std::size_t of, const ExprNode &node) {
  const Window &window = *node.input->window;
  Read read;
  read.by = by;
  read.of = of;
  read.where = node.where;
  const std::int64_t moved = window.forms[time(of)].constant;
  read.lag = backwards() ? moved : recurrence(of).lag - moved;
  bool plain = window.pads.empty();
  for (std::size_t d = 0; d < window.forms.size(); ++d)
    plain = plain && (window.forms[d].is_bare() || d == time(of));
  for (const Dim &dim : node.input->dims) read.axes.push_back(dim.label);
  if (!plain || read.axes.size() != window.forms.size()) {
    Window here = window;
    here.forms[time(of)].constant = 0;
    const Expr &array = all_.lets_.at(members_[of].name);
    here = spec::with_lets(here, all_.lets_);
    read.window = make_window_like(array, here, node.where);
    const std::string &step = members_[of].axes[time(of)];
    for (std::size_t d = 0; d < here.forms.size(); ++d) {
      AffineForm &form = here.forms[d];
      const bool has = std::ranges::count(form.terms, step, &AffineForm::Term::axis) != 0;
      if (d == time(of) || !has || !form.extents.empty()) continue;
      read.at_steps.emplace_back(all_.fresh_axis(members_[of].axes[d] + "_" + step), form);
      form = {0, {{read.at_steps.back().first, 1}}, {}};
    }
    read.back = make_window_like(array, here, node.where);
  }
  auto decl = std::make_shared<InputDecl>();
  decl->name = all_.fresh(members_[of].name + "_read");
  decl->dtype = dtype(of);
  decl->where = node.where;
  decl->dims = node.input->dims;
  read.input = std::move(decl);
  return read;
}

void ThroughLoop::derive(std::size_t m) {
  Member &member = members_[m];
  member.names = all_.read_by(member.step);
  const std::size_t others = member.names.size();
  for (const Read &read : reads_)
    if (read.by == m && is_continuous(dtype(read.of))) member.names.push_back(read.input->name);
  if (member.names.empty()) return;
  GradientOptions options = all_.options_;
  options.value = options.add = false;
  options.of.clear();
  member.pulled = all_.gradient_(member.step, member.names, options);
  Decls bounds = spec::declared_inputs(member.step);
  std::erase_if(bounds, [&](const auto &input) {
    return is_positions(m, input->window ? input->window->of->name : input->name);
  });
  for (OutputDecl &output : member.pulled.outputs)
    output.value =
        grad::with_bounds(all_.accumulators_.own(output.value), bounds, member.pulled.inputs);
  const auto &inputs = member.step.inputs;
  for (const auto &input : member.pulled.inputs)
    if (!input->window && std::find(inputs.begin(), inputs.end(), input) == inputs.end())
      member.seed = input->name;
  for (std::size_t k = others; k < member.names.size(); ++k)
    for (Read &read : reads_)
      if (read.input->name == member.names[k]) read.sent = sent_to(read, member, k);
  join_windows(m);
  for (Read &read : reads_)
    if (read.by == m && read.sent.node())
      read.let =
          all_.fresh(members_[m].let + "_" + (read.of == m ? "" : members_[read.of].name + "_") +
                     std::to_string(read.lag));
  member.names.resize(others);
}

void ThroughLoop::join_windows(std::size_t m) {
  for (std::size_t k = 0; k < reads_.size(); ++k)
    for (std::size_t other = k + 1; other < reads_.size(); ++other) {
      Read &one = reads_[k], &more = reads_[other];
      const bool together = one.by == m && more.by == m && one.of == more.of &&
                            one.lag == more.lag && one.window.node() && more.window.node();
      if (!together || !one.sent.node() || !more.sent.node()) continue;
      one.sent = facts::Terms(more.where).add(one.sent, more.sent);
      more.sent = Expr();
    }
}

Expr ThroughLoop::sent_to(const Read &read, Member &member, std::size_t output) {
  const auto parts = sums_like(member.pulled.outputs[output].value, read.input->name);
  if (!parts) fail_both(read);
  return sent_parts(read, member, output, *parts);
}

std::optional<std::vector<Expr>> ThroughLoop::sums_like(const Expr &value,
                                                        const std::string &input) {
  std::vector<Expr> parts, open{value};
  while (!open.empty()) {
    const Expr expr = open.back();
    const ExprNode &node = *expr.node();
    open.pop_back();
    if (node.kind == ExprKind::Op && node.op == ops::Op::Add) {
      open.push_back(node.args[1]);
      open.push_back(node.args[0]);
    } else if (node.kind == ExprKind::Fold && node.use->like == std::vector{input}) {
      parts.push_back(node.args[0]);
    } else {
      return std::nullopt;
    }
  }
  return parts;
}

Expr ThroughLoop::sent_parts(const Read &read, Member &member, std::size_t output,
                             const std::vector<Expr> &parts) {
  Expr total;
  for (const Expr &part : parts)
    if (const Expr sent = sent_part(read, member, output, part); sent.node())
      total = facts::Terms(read.where).add(total, sent);
  return total;
}

void ThroughLoop::fail_both(const Read &read) const {
  support::fail("E0607",
                "let '" + members_[read.by].name + "' reads '" + members_[read.of].name +
                    "' of another step inside of a sum through a window, and what flows back "
                    "reads it through both",
                all_.shown(read.where), "let the sum be a let of its own");
}

Expr ThroughLoop::sent_part(const Read &read, Member &member, std::size_t output, Expr value) {
  OutputDecl plain = member.pulled.outputs[output];
  plain.value = value;
  plain.has_axes = false;
  plain.axes.clear();
  plain.dtype.reset();
  SpecData alone = spec::with_outputs(member.pulled, {std::move(plain)});
  alone.lets.clear();
  const spec::TypedSpec typed = analysis::analyse(alone);
  std::vector<AxisRef> folded;
  std::unordered_set<std::string> has;
  for (const int axis : typed.outputs[0].axes) {
    const std::string &name = typed.axes[std::size_t(axis)].name;
    has.insert(name);
    if (std::find(read.axes.begin(), read.axes.end(), name) == read.axes.end())
      folded.emplace_back(name);
  }
  if (has.empty()) return Expr();                                  // zero
  const bool elsewhere = read.window.node() && !holds_scan(value); // may be computed there
  if (!elsewhere) {
    if (!folded.empty()) value = make_fold({}, {value}, folded, read.where);
    value = with_extents(value, has, read.axes, read.input->name);
  }
  if (read.window.node()) {
    const auto fresh = [&] { return all_.fresh(member.let + "_part"); };
    const std::size_t known = member.parts.size();
    value = elsewhere ? take_costly_parts(value, member.axes, fresh, member.parts)
                      : add_part({value, part_input(fresh(), read.axes, read.where), read.axes},
                                 member.parts);
    for (std::size_t k = known; elsewhere && k < member.parts.size(); ++k) {
      const std::vector<std::string> &axes = member.parts[k].axes;
      member.parts[k].value =
          with_extents(member.parts[k].value, {axes.begin(), axes.end()}, axes, member.seed);
    }
    value = sent_at_steps(read, value);
    declare(read.back.node()->input);
    FoldUse use;
    use.like = {read.back.node()->input->name};
    value = make_fold(use, {value}, {}, read.where);
  }
  if (read.input->dtype != typed.outputs[0].dtype)
    value = make_cast(read.input->dtype, value, read.where);
  return value;
}

Expr ThroughLoop::sent_at_steps(const Read &read, Expr value) {
  const facts::Terms t(read.where);
  for (const auto &[axis, form] : read.at_steps) {
    const std::string here = named(read.window), there = named(read.back);
    Expr position = form.start() == 0 ? Expr() : t.num(double(form.start()));
    if (form.is_from_end())
      position = t.add(make_extent(AxisRef(axis), {there}, read.where), position);
    for (const AffineForm::Term &term : form.terms) {
      const Expr index = make_iota(AxisRef(term.axis), {here}, read.where);
      position = t.add(position, term.times == 1 ? index : t.mul(double(term.times), index));
    }
    const Expr index = make_iota(AxisRef(axis), {there}, read.where);
    value = t.where(t.op(ops::Op::Eq, {index, position}), value);
  }
  return value;
}

Expr ThroughLoop::with_extents(Expr value, const std::unordered_set<std::string> &has,
                               const std::vector<std::string> &axes, const std::string &of) const {
  std::unordered_set<std::string> given;
  expr::Walker().walk(value.node(), [&](const ExprNode &node) {
    if (node.kind != ExprKind::Input) return;
    const Window *window = node.input->window.get();
    for (const Read &read : reads_)
      if (read.input && read.input->name == node.input->name && read.window.node())
        window = read.window.node()->input->window.get();
    for (std::size_t d = 0; window == nullptr && d < node.input->dims.size(); ++d)
      given.insert(node.input->dims[d].label);
    for (std::size_t d = 0; window != nullptr && d < window->forms.size(); ++d) {
      const bool padded = std::ranges::count(window->pads, d, &DimPad::dim) != 0;
      if (window->forms[d].is_axis() && !padded) given.insert(window->forms[d].terms[0].axis);
    }
  });
  const facts::Terms t(value.node()->where);
  for (const std::string &axis : axes) {
    if (given.contains(axis) && has.contains(axis)) continue;
    const Expr index = make_iota(AxisRef(axis), {of}, value.node()->where);
    const Expr inside = t.op(ops::Op::Ge, {index, t.num(0)});
    value = t.where(inside, value);
  }
  return value;
}

bool ThroughLoop::holds_scan(const Expr &value) {
  bool holds = false;
  expr::Walker().walk(value.node(), [&](const ExprNode &node) {
    const bool is_like = node.kind == ExprKind::Fold && !node.use->like.empty();
    holds = holds || is_like || node.kind == ExprKind::Scan;
  });
  return holds;
}

} // namespace broadloom::grad
