// Back through lets that read themselves at earlier positions of an axis (spec/recurrence.hpp).
//
//   let h[t, i] = tanh(x + sum(h[t - 1, k] * v, k))
//
// A step sends something to each read of an earlier one: the derivative of its value, with the axes
// of the read. What flows into h[t] comes from its readers and from the steps after t, so both are
// lets that read each other at later positions and run backwards:
//
//   let d_h[t, i]   = g_h[t, i] + d_h_1[t + 1, i]
//       g_h: from the readers, as into any let
//   let d_h_1[t, k] = sum(d_h * (1 - h[t, i]^2) * v, i)        what step t sends to h[t - 1, k]
//
// What a step sends through a window is summed in the dims of the let that it comes from
// (rewrite/transpose_windows.hpp):
//
//   let u[t, i] = sum(pad(u, 1: (1, 1))[t - 1, i + k] * w, k)
//   let d_u[t, i] = g_u[t, i] + d_u_1[t + 1, i]
//   let d_u_1[t, i_u] = sum(d_u[t, i] * w, like=pad(u, 1: (1, 1))[t, i + k])
//
// All else that a step reads gets its share from all t at once: the kernel of all steps is derived
// as that of any let, with arrays in place of the reads of earlier steps.
#include "grad/through_loop.hpp"

#include "facts/substitute.hpp"
#include "facts/terms.hpp"
#include "support/fail.hpp"

namespace broadloom::grad {

ThroughLoop::ThroughLoop(ThroughLets &all, std::size_t first)
    : all_(all), first_(first), count_(recurrence(0).count), members_(count_),
      earlier_({[this](const std::string &name) { return all_.fresh(name); },
                [this](const Expr &window) { return named(window); },
                [this](const SteppedLet &, const Expr &let) { all_.cotangents_.push_back(let); }}) {
  for (std::size_t m = 0; m < count_; ++m) {
    Member &member = members_[m];
    member.name = let(m).data.outputs[0].name;
    member.node = all_.defined_.at(member.name).node();
    for (const AxisRef &axis : member.node->axes)
      member.axes.push_back(std::get<std::string>(axis.value()));
  }
  for (std::size_t m = 0; m < count_; ++m) take_reads(m);
}

void ThroughLoop::run() {
  std::vector<std::size_t> open;
  for (std::size_t m = 0; m < count_; ++m)
    if (all_.into_.contains(members_[m].name)) open.push_back(m);
  // What flows somewhere, through the reads of the members that it flows into.
  while (!open.empty()) {
    const std::size_t m = open.back();
    open.pop_back();
    if (std::exchange(members_[m].reached, true)) continue;
    members_[m].let = all_.fresh("d_" + members_[m].name);
    derive(m);
    for (const Read &read : reads_)
      if (read.by == m && read.sent.node()) open.push_back(read.of);
  }
  for (std::size_t m = 0; m < count_; ++m)
    if (members_[m].reached) make_sums(m);
  for (std::size_t m = 0; m < count_; ++m)
    if (members_[m].reached) make_lets(m);
  for (std::size_t m = 0; m < count_; ++m)
    if (members_[m].reached) collect(m);
  for (std::size_t m = 0; m < count_; ++m) into_start(m);
}

bool ThroughLoop::flows(std::size_t from, std::size_t into) const {
  std::vector<bool> seen(count_);
  std::vector<std::size_t> open{from};
  while (!open.empty()) {
    const std::size_t m = open.back();
    open.pop_back();
    if (m == into) return true;
    if (seen[m]) continue;
    seen[m] = true;
    for (const Read &read : reads_)
      if (read.by == m && read.sent.node()) open.push_back(read.of);
  }
  return false;
}

void ThroughLoop::make_lets(std::size_t m) {
  Member &member = members_[m];
  const facts::Terms t(member.node->where);
  Expr sum;
  if (member.from_readers)
    sum = make_window(*member.from_readers, spec::along(member.axes), member.node->where);
  sum = t.add(sum, member.to_one_step);
  for (const Read &read : reads_) {
    if (read.of != m || !read.sent.node() || !members_[read.by].reached) continue;
    std::vector<AffineForm> forms = spec::along(member.axes);
    const bool together = flows(m, read.by); // else it has no step behind the last one
    if (together || !backwards()) forms[time(m)].constant = backwards() ? -read.lag : read.lag;
    const Expr ahead = make_ahead(read.let, read.where);
    const Expr later = make_window(together ? ahead : with_zeros(ahead, read), std::move(forms),
                                   member.node->where);
    sum = t.add(sum, later);
  }
  if (dtype(m) != DType::F64 && dtype(m) != DType::C128)
    sum = make_cast(dtype(m), sum, member.node->where);
  LetLoop loop;
  if (member.to_one_step.node()) { // nothing else may say how many steps there are
    loop.count = recurrence(m).steps;
    loop.counted_dim = time(m);
    // Where nothing flows in from other steps it is no loop, and says an extent.
    loop.said = make_said(member.let, {{member.axes[time(m)], {loop.count, {}, {}}}},
                          [&] { return member.node->where; });
  }
  member.sum = make_let(member.let, sum, member.node->where, member.node->axes, loop);
  std::vector<Expr> lets{member.sum};
  for (const CostlyPart &part : member.parts) {
    const Expr value = in_this_kernel(m, part.value);
    member.part_lets.push_back(
        make_let(part.input->name, value, part.value.node()->where, listed(part.axes)));
  }
  lets.insert(lets.end(), member.part_lets.begin(), member.part_lets.end());
  for (const Read &read : reads_)
    if (read.by == m && read.sent.node()) {
      const Expr value = in_this_kernel(m, read.sent);
      lets.push_back(make_let(read.let, value, read.where,
                              listed(read.window.node() ? dims_of(read.of) : read.axes)));
    }
  all_.cotangents_.insert(all_.cotangents_.end(), lets.begin(), lets.end());
}

const std::vector<std::string> &ThroughLoop::dims_of(std::size_t m) {
  Member &member = members_[m];
  for (std::size_t d = member.dims.size(); d < member.axes.size(); ++d)
    member.dims.push_back(d == time(m) ? member.axes[d]
                                       : all_.fresh_axis(member.axes[d] + "_" + member.name));
  return member.dims;
}

void ThroughLoop::collect(std::size_t m) {
  const Member &member = members_[m];
  SpecData pulled = member.pulled;
  pulled.outputs.resize(member.names.size());
  std::vector<std::string> names;
  std::vector<OutputDecl> outputs;
  for (std::size_t k = 0; k < member.names.size(); ++k) {
    if (all_.options_.carry && carry(m, k)) continue;
    names.push_back(member.names[k]);
    outputs.push_back(pulled.outputs[k]);
  }
  pulled.outputs = std::move(outputs);
  std::erase_if(pulled.inputs, [&](const auto &input) {
    return is_positions(m, input->window ? input->window->of->name : input->name);
  });
  const auto mapped = [&](const ExprNode &node) { return mapped_in(m, node); };
  all_.collect(pulled, {}, names, all_.own_names(let(m)), mapped);
}

Expr ThroughLoop::in_this_kernel(std::size_t m, const Expr &value) {
  for (const auto &declared : members_[m].pulled.inputs)
    if (spec::reads_arrays(*declared) && !is_positions(m, declared->window->of->name))
      declare(spec::over_lets(declared, all_.lets_));
  return facts::exchange(value, [&](const ExprNode &node) {
    if (const Expr known = mapped_in(m, node); known.node()) return known;
    return spec::over_lets(node, all_.lets_);
  });
}

Expr ThroughLoop::mapped_in(std::size_t m, const ExprNode &node) {
  const Member &member = members_[m];
  if (&node == member.step.outputs[0].value.node() && all_.holds_once(let(m)))
    return own(m, node.where);
  if (node.kind == ExprKind::Extent || node.kind == ExprKind::Iota) {
    const Expr of_loop = of_arrays(m, node);
    const Expr of_lets = all_.of_windows(of_loop.node() ? *of_loop.node() : node);
    return of_lets.node() ? of_lets : of_loop;
  }
  if (node.kind == ExprKind::Fold && node.use)
    for (const Read &read : reads_)
      if (std::ranges::count(node.use->like, read.input->name) != 0)
        support::fail("E0607",
                      "nothing can flow back through let '" + member.name +
                          "', as its dims of 1 may be repeated",
                      all_.shown(node.where), "label the dims of its inputs");
  if (node.kind != ExprKind::Input) return Expr();
  const InputDecl &decl = *node.input;
  const std::string &name = decl.window ? decl.window->of->name : decl.name;
  if (name == member.seed)
    return decl.window ? spec::read_over_lets(member.sum, decl, all_.lets_, node.where)
                       : make_window(member.sum, spec::along(member.axes), node.where);
  for (std::size_t k = 0; k < member.part_lets.size(); ++k)
    if (member.parts[k].input->name == name)
      return make_window(member.part_lets[k], spec::along(member.parts[k].axes), node.where);
  if (is_positions(m, name)) return position(m, decl, node.where);
  for (const Read &read : reads_)
    if (read.input->name == name) return earlier(read, decl, node.where);
  return Expr();
}

std::string ThroughLoop::named(const Expr &window) {
  if (std::ranges::count(all_.named_, window.node()->input->name, &InputDecl::name) == 0)
    all_.named_.push_back(window.node()->input);
  declare(window.node()->input);
  return window.node()->input->name;
}

Expr ThroughLoop::of_arrays(std::size_t m, const ExprNode &node) {
  std::vector<std::string> of = node.of;
  bool changed = false;
  for (std::string &name : of) {
    if (name == members_[m].seed) {
      name = named(m, members_[m].axes, node.where);
      changed = true;
    }
    for (const Read &read : reads_)
      if (read.input->name == name) {
        name = read.window.node() ? named(read.window) : named(read.of, read.axes, node.where);
        changed = true;
      }
  }
  if (!changed) return Expr();
  return with_of(node, node.axes[0], of);
}

Expr ThroughLoop::position(std::size_t m, const InputDecl &window, const Place &where) {
  const std::string of = named(m, members_[m].axes, where);
  const AxisRef axis(members_[m].axes[time(m)]);
  if (!window.window->forms[0].terms.empty()) return make_iota(axis, {of}, where);
  const Expr steps = make_extent(axis, {of}, where);
  const facts::Terms t(where);
  return t.sub(steps, t.num(1));
}

Expr ThroughLoop::earlier(const Read &read, const InputDecl &decl, const Place &where) {
  Window at;
  if (read.window.node())
    at = *read.window.node()->input->window;
  else
    at.forms = spec::along(read.axes);
  if (decl.window) at = seen_through(*decl.window, at, read);
  const Member &of = members_[read.of];
  SteppedLet let{all_.lets_.at(of.name),        of.axes, time(read.of), backwards(), Expr(),
                 recurrence(read.of).start_dims};
  if (const std::string *start = start_array(read.of))
    let.start = all_.lets_.at(*start);
  else if (of.node->args.size() > 1)
    let.start = of.node->args[1];
  let.counts_steps = true; // so that what was read is rows of the loop (spec/earlier_rows.hpp)
  return earlier_.read(let, read.lag, std::move(at), where);
}

Window ThroughLoop::seen_through(const Window &outer, Window at, const Read &read) const {
  bool fits = outer.pads.empty();
  for (AffineForm &form : at.forms) {
    AffineForm made;
    made.constant = form.constant;
    made.extents = form.extents;
    for (const AffineForm::Term &term : form.terms) {
      const auto d = std::ranges::find(read.axes, term.axis) - read.axes.begin();
      const AffineForm &position = outer.forms[std::size_t(d)];
      fits = fits && position.outside == Outside::Fails &&
             position.is_from_end() == form.is_from_end() && add_to(made, position, term.times);
    }
    form = std::move(made);
  }
  if (!fits) fail_both(read);
  return at;
}

const std::string *ThroughLoop::start_array(std::size_t m) const {
  const std::vector<Expr> &args = members_[m].node->args;
  if (args.size() < 2 || number_of(args[1])) return nullptr;
  return &all_.split_.lets[*recurrence(m).start]->data.outputs[0].name;
}

void ThroughLoop::into_start(std::size_t m) {
  const std::string *name = start_array(m);
  if (name == nullptr) return;
  const auto names = all_.own_names(let(m));
  std::vector<std::string> axes = members_[m].axes;
  for (std::string &axis : axes)
    if (const auto known = names.find(axis); known != names.end()) axis = known->second;
  Expr sum;
  Place where;
  for (const Read &read : reads_) {
    if (read.of != m || !read.sent.node() || !members_[read.by].reached) continue;
    where = read.where;
    if (read.lag > most_first_steps) sum = facts::Terms(where).add(sum, sent_by_all(read, axes));
    for (std::int64_t c = 0; c < read.lag && read.lag <= most_first_steps; ++c)
      sum = facts::Terms(where).add(sum, sent_by(read, {c, {}, {}}, axes));
  }
  if (!sum.node()) return;
  std::vector<AxisRef> left;
  for (const std::size_t dim : recurrence(m).start_dims) left.emplace_back(axes[dim]);
  if (left.empty() && axes.size() > 1) {
    std::vector<AxisRef> folded;
    for (std::size_t d = 0; d < axes.size(); ++d)
      if (d != time(m)) folded.emplace_back(axes[d]);
    sum = make_fold({}, {sum}, folded, where);
  }
  OutputDecl into;
  into.name = *name;
  into.where = where;
  into.value = sum;
  all_.axes_into_[*name] = std::move(left);
  support::check(all_.into_.emplace(*name, std::move(into)).second, "only its let begins with it");
}

Expr ThroughLoop::sent_by(const Read &read, AffineForm step, const std::vector<std::string> &axes) {
  const Expr let = find_let(read.let);
  std::vector<AffineForm> forms = spec::along(axes);
  if (backwards()) {
    step.constant = -1 - step.constant;
    for (AffineForm::Term &term : step.terms) term.times = -term.times;
  }
  forms[time(read.of)] = std::move(step);
  return make_window(read.lag == 1 ? let : with_zeros(let, read), std::move(forms), read.where);
}

Expr ThroughLoop::sent_by_all(const Read &read, const std::vector<std::string> &axes) {
  const std::string step = all_.fresh_axis(axes[time(read.of)] + "_" + members_[read.of].name);
  all_.said_.push_back(make_said("axis", {{step, {read.lag, {}, {}}}}, [&] { return read.where; }));
  AffineForm position{0, {{step, 1}}, {}};
  position.stays_inside = true;
  return make_fold({}, {sent_by(read, std::move(position), axes)}, {AxisRef(step)}, read.where);
}

Expr ThroughLoop::with_zeros(const Expr &let, const Read &read) const {
  if (read.lag == 0) return let;
  DimPad pad;
  pad.dim = time(read.of);
  (backwards() ? pad.before : pad.after) = read.lag;
  return make_padded(let, {pad}, read.where);
}

const Expr &ThroughLoop::find_let(const std::string &name) const {
  for (const Expr &let : all_.cotangents_)
    if (let.node()->name == name) return let;
  support::bug("through_loops: no let of that name");
}

void ThroughLets::pull_loop(std::size_t first) { ThroughLoop(*this, first).run(); }

} // namespace broadloom::grad
