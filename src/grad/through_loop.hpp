// Inside the gradient stage: back through lets that read themselves, in the making
// (through_loops.cpp).
#pragma once

#include "grad/costly_parts.hpp"
#include "grad/earlier_steps.hpp"
#include "grad/lets_gradient.hpp"
#include "support/check.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace broadloom::grad {

class ThroughLoop {
public:
  ThroughLoop(ThroughLets &all, std::size_t first)
      : all_(all), first_(first), count_(recurrence(0).count), members_(count_),
        earlier_(
            {[this](const std::string &name) { return all_.fresh(name); },
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

  void run() {
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

private:
  struct Member {
    std::string name;
    const ExprNode *node = nullptr;
    std::vector<std::string> axes;    // [dim]
    std::vector<std::string> dims;    // [dim], other names of them
    SpecData step;                    // with inputs in place of its reads
    SpecData pulled;                  // its gradient
    std::vector<std::string> names;   // that the gradient is by
    std::string seed;                 // its cotangent there
    std::vector<CostlyPart> parts;    // of what it sends through windows
    std::vector<Expr> part_lets;      // [part]
    bool reached = false;             // by something that flows back
    std::string let;                  // its cotangent here
    Expr sum;                         // the let of that name
    std::optional<Expr> from_readers; // an array, too
    Expr to_one_step;                 // and what is none
  };
  // A read of member `of` in the value of member `by`.
  struct Read {
    std::size_t by = 0, of = 0;
    std::int64_t lag = 0;
    std::shared_ptr<const InputDecl> input; // in its place
    std::vector<std::string> axes;          // [dim of it]
    Expr window;                            // of the array, at t; empty where each dim is an axis
    Expr
        back; // what it sends to: at axes of their own where the other is at a position of the step
    std::vector<std::pair<std::string, AffineForm>> at_steps; // these axes, and the positions
    Expr sent;                                                // what a step sends back to it
    std::string let;                                          // of that
    Place where;
  };

  const spec::Materialised &let(std::size_t m) const { return *all_.split_.lets[first_ + m]; }
  const spec::Recurrence &recurrence(std::size_t m) const { return *let(m).recurrence; }
  bool backwards() const { return recurrence(0).backwards; }
  std::size_t time(std::size_t m) const { return recurrence(m).dim; }
  DType dtype(std::size_t m) const { return let(m).typed.outputs[0].dtype; }

  static std::vector<AxisRef> listed(const std::vector<std::string> &axes) {
    return {axes.begin(), axes.end()};
  }

  // The kernel of a step with an input of its own for each read of a member, which has the axes of
  // the read.
  void take_reads(std::size_t m);

  // An axis that stands in windows alone is as long as all of them let it be, and what flows back
  // may read only some. So where one is read, all are named.
  Expr with_bounds(std::size_t m, const Expr &value);

  Read read_of(std::size_t by, std::size_t of, const ExprNode &node);

  void derive(std::size_t m);

  // What is sent through windows to one step of a member goes there together.
  void join_windows(std::size_t m);

  // The output is sum(e, like=read), or a few of them: e, summed over what the read lacks, or
  // through the window. Empty where nothing flows.
  Expr sent_to(const Read &read, Member &member, std::size_t output);
  [[noreturn]] void fail_both(const Read &read) const;

  // What is summed in each part of the value; none where a part is no sum like the input.
  static std::optional<std::vector<Expr>> sums_like(const Expr &value, const std::string &input);
  Expr sent_parts(const Read &read, Member &member, std::size_t output,
                  const std::vector<Expr> &parts);
  Expr sent_part(const Read &read, Member &member, std::size_t output, Expr value);

  // s[t - 1, i, t] sends to s[t, i, j], where j is t.
  Expr sent_at_steps(const Read &read, Expr value);

  // A value that is an array of its own, along these axes: each has the extent that it has in the
  // input `of`. Where nothing that is read says so, its positions do. The value has the axes `has`,
  // and is the same along the others.
  Expr with_extents(Expr value, const std::unordered_set<std::string> &has,
                    const std::vector<std::string> &axes, const std::string &of) const;

  // A value with a scan is computed where it stands (E0605).
  static bool holds_scan(const Expr &value);

  // What the readers send to a member: as an array, or to a step that is known.
  void make_sums(std::size_t m);
  Expr at_one_step(std::size_t m, const Expr &sent) const;

  // Whether what flows into one member flows on into the other.
  bool flows(std::size_t from, std::size_t into) const {
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

  void make_lets(std::size_t m) {
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

  // Names for the dims of what comes back through a window: its axes stand in the sum.
  const std::vector<std::string> &dims_of(std::size_t m) {
    Member &member = members_[m];
    for (std::size_t d = member.dims.size(); d < member.axes.size(); ++d)
      member.dims.push_back(d == time(m) ? member.axes[d]
                                         : all_.fresh_axis(member.axes[d] + "_" + member.name));
    return member.dims;
  }

  void collect(std::size_t m) {
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

  // Of the inputs that are no arrays of steps (carried_sums.cpp).
  std::shared_ptr<const InputDecl> carried_input(std::size_t m, const std::string &name) const;
  bool carry(std::size_t m, std::size_t output);

  // A value of the gradient of a step: arrays are lets again.
  Expr in_this_kernel(std::size_t m, const Expr &value) {
    for (const auto &declared : members_[m].pulled.inputs)
      if (spec::reads_arrays(*declared) && !is_positions(m, declared->window->of->name))
        declare(spec::over_lets(declared, all_.lets_));
    return facts::exchange(value, [&](const ExprNode &node) {
      if (const Expr known = mapped_in(m, node); known.node()) return known;
      return spec::over_lets(node, all_.lets_);
    });
  }
  void declare(const std::shared_ptr<const InputDecl> &window) {
    if (all_.declared_.insert(window->name).second) all_.windows_.push_back(window);
  }

  bool is_positions(std::size_t m, const std::string &name) const {
    const auto &positions = recurrence(m).positions;
    return positions && let(m).typed.inputs[*positions].name == name;
  }

  // What stands here for a node of the gradient of a step; empty where it stays or is an array of
  // this kernel.
  Expr mapped_in(std::size_t m, const ExprNode &node) {
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

  // The let as it is.
  Expr own(std::size_t m, const Place &where) {
    return make_window(all_.lets_.at(members_[m].name), spec::along(members_[m].axes), where);
  }
  // A name of it for of=.
  std::string named(std::size_t m, const std::vector<std::string> &axes, const Place &where) {
    return named(make_window(all_.lets_.at(members_[m].name), spec::along(axes), where));
  }
  std::string named(const Expr &window) {
    if (std::ranges::count(all_.named_, window.node()->input->name, &InputDecl::name) == 0)
      all_.named_.push_back(window.node()->input);
    declare(window.node()->input);
    return window.node()->input->name;
  }

  Expr of_arrays(std::size_t m, const ExprNode &node) {
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

  // The number of a step, or of the last.
  Expr position(std::size_t m, const InputDecl &window, const Place &where) {
    const std::string of = named(m, members_[m].axes, where);
    const AxisRef axis(members_[m].axes[time(m)]);
    if (!window.window->forms[0].terms.empty()) return make_iota(axis, {of}, where);
    const Expr steps = make_extent(axis, {of}, where);
    const facts::Terms t(where);
    return t.sub(steps, t.num(1));
  }

  // h[t - c, k] for all t, or the window of it.
  Expr earlier(const Read &read, const InputDecl &decl, const Place &where) {
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

  // The read `at`, where what has its axes is read at positions itself.
  Window seen_through(const Window &outer, Window at, const Read &read) const {
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

  // The name of the array that it begins with, if it is one.
  const std::string *start_array(std::size_t m) const {
    const std::vector<Expr> &args = members_[m].node->args;
    if (args.size() < 2 || number_of(args[1])) return nullptr;
    return &all_.split_.lets[*recurrence(m).start]->data.outputs[0].name;
  }

  // What the first steps send to what a let begins with.
  void into_start(std::size_t m) {
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
    support::check(all_.into_.emplace(*name, std::move(into)).second,
                   "only its let begins with it");
  }

  // What a step sends, so many behind the first, where there may be fewer.
  Expr sent_by(const Read &read, AffineForm step, const std::vector<std::string> &axes) {
    const Expr let = find_let(read.let);
    std::vector<AffineForm> forms = spec::along(axes);
    if (backwards()) {
      step.constant = -1 - step.constant;
      for (AffineForm::Term &term : step.terms) term.times = -term.times;
    }
    forms[time(read.of)] = std::move(step);
    return make_window(read.lag == 1 ? let : with_zeros(let, read), std::move(forms), read.where);
  }
  // Of many steps: they are folded.
  Expr sent_by_all(const Read &read, const std::vector<std::string> &axes) {
    const std::string step = all_.fresh_axis(axes[time(read.of)] + "_" + members_[read.of].name);
    all_.said_.push_back(
        make_said("axis", {{step, {read.lag, {}, {}}}}, [&] { return read.where; }));
    AffineForm position{0, {{step, 1}}, {}};
    position.stays_inside = true;
    return make_fold({}, {sent_by(read, std::move(position), axes)}, {AxisRef(step)}, read.where);
  }
  // In place of steps that are not there.
  Expr with_zeros(const Expr &let, const Read &read) const {
    if (read.lag == 0) return let;
    DimPad pad;
    pad.dim = time(read.of);
    (backwards() ? pad.before : pad.after) = read.lag;
    return make_padded(let, {pad}, read.where);
  }
  static constexpr std::int64_t most_first_steps = 16;

  const Expr &find_let(const std::string &name) const {
    for (const Expr &let : all_.cotangents_)
      if (let.node()->name == name) return let;
    support::bug("through_loops: no let of that name");
  }

  ThroughLets &all_;
  const std::size_t first_, count_;
  std::vector<Member> members_;
  std::vector<Read> reads_;
  EarlierSteps earlier_;
};

} // namespace broadloom::grad
