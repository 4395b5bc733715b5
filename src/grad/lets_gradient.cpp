// See lets_gradient.hpp and through_lets.hpp.
#include "grad/lets_gradient.hpp"

#include "analysis/analyse.hpp"
#include "expr/exchange.hpp"
#include "expr/join.hpp"
#include "facts/facts.hpp"
#include "facts/substitute.hpp"
#include "facts/terms.hpp"
#include "grad/axis_order.hpp"
#include "grad/scans_first.hpp"
#include "grad/widen.hpp"
#include "spec/own_axis.hpp"
#include "support/fail.hpp"

namespace broadloom::grad {

namespace {

bool is_zero(const ExprNode &number) {
  return number.kind == ExprKind::Literal && number.number.integer == 0 && number.number.real == 0;
}

} // namespace

bool is_nothing(const Expr &value) {
  const ExprNode *node = value.node();
  while (!is_zero(*node)) {
    const bool is_sum = node->kind == ExprKind::Fold && node->args.size() == 1 &&
                        node->use->accumulator.fold() == Fold::Sum;
    if (!is_sum && node->kind != ExprKind::Cast && node->kind != ExprKind::Let) return false;
    if (node->args.size() != 1) return false; // a let that is a loop
    node = node->args[0].node();
  }
  return true;
}

Expr held_in(const Expr &array, const ExprNode &value, const ExprNode &node) {
  if (&node == &value) return array;
  // relu(v) > 0 where v > 0.
  const bool is_relu = value.kind == ExprKind::Op && value.op == ops::Op::Relu;
  const bool is_above = node.kind == ExprKind::Op && node.op == ops::Op::Gt;
  if (!is_relu || !is_above || node.args[0].node() != value.args[0].node() ||
      !is_zero(*node.args[1].node()))
    return {};
  return make_op(ops::Op::Gt, {array, node.args[1]}, node.where);
}

ThroughLets::ThroughLets(const SpecData &data, const spec::Split &split,
                         const std::vector<std::string> &wrt, const GradientOptions &options,
                         const GradientOf &gradient, const std::vector<std::string> &saved)
    : data_(data), split_(split), wrt_(wrt), options_(options), gradient_(gradient),
      lets_(spec::lets_by_name(data)), accumulators_(values_of(data)),
      taken_(spec::names_of(data)) {
  for (const auto &let : split.lets) array_names_.insert(let->data.outputs[0].name);
  name_starts();
  defined_ = lets_;
  for (const std::string &name : saved) take_as_input(name);
}

SpecData ThroughLets::run(bool are_some) {
  check_request();
  begin();
  for (std::size_t k = split_.lets.size(); k-- > 0;)
    if (const auto &loop = split_.lets[k]->recurrence; !loop)
      pull(*split_.lets[k]);
    else if (loop->first == k)
      pull_loop(k);
  add_zeros();
  for (const std::string &name : wrt_) add_output(name);
  if (options_.value)
    made_.outputs.insert(made_.outputs.begin(), data_.outputs.begin(), data_.outputs.end());
  if (are_some) read_saved_ones();
  list_lets();
  const auto is_there = [&](const InputDecl &window) {
    return std::ranges::all_of(spec::lets_read(window),
                               [&](const std::string &let) { return is_listed(let); });
  };
  std::erase_if(windows_, [&](const auto &window) { return !is_there(*window); });
  const spec::Names named = spec::names_read(made_).called;
  for (const auto &input : data_.inputs) { // an axis of one that nothing names would be counted
    const bool needed = input->window && named.contains(input->name) && is_there(*input);
    if (needed && declared_.insert(input->name).second) windows_.push_back(input);
  }
  made_.inputs.insert(made_.inputs.end(), windows_.begin(), windows_.end());
  say_axes();
  compute_scans_first(made_, {}, name_saved_ones());
  analysis::analyse(made_); // the types that a clause meets are known only now
  return std::move(made_);
}

void ThroughLets::check_request() const {
  for (const std::string &name : wrt_)
    if (array_names_.contains(name))
      support::fail("E0003",
                    "there is no input '" + name + "' to take the gradient by: it is a let",
                    data_.where, "name inputs of kernel '" + data_.name + "'");
}

void ThroughLets::take_as_input(const std::string &name) {
  const auto let = std::ranges::find_if(
      split_.lets, [&](const auto &one) { return one->data.outputs[0].name == name; });
  const spec::TypedOutput &made = (*let)->typed.outputs[0];
  const Place &where = (*let)->data.outputs[0].where;
  // Of whose name windows are called until all are there.
  lets_.at(name) = make_input(spec::array_of(name, made.dtype, made.axes.size(), where), where);
  saved_lets_.push_back(name);
}

std::vector<std::string> ThroughLets::read_by(const SpecData &kernel) const {
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  expr::Walker walker;
  const auto visit = [&](const ExprNode &node) {
    if (node.kind != ExprKind::Input) return;
    const InputDecl &whole = node.input->window ? *node.input->window->of : *node.input;
    const bool asked =
        whole.materialised || std::find(wrt_.begin(), wrt_.end(), whole.name) != wrt_.end();
    if (asked && is_continuous(whole.dtype) && seen.insert(whole.name).second)
      names.push_back(whole.name);
  };
  spec::for_each_value(kernel.outputs,
                       [&](const Expr &value) { walker.walk(value.node(), visit); });
  return names;
}

void ThroughLets::add_zeros() {
  for (const std::string &name : wrt_) {
    if (into_.contains(name)) continue;
    GradientOptions options = options_;
    options.value = options.add = false;
    const SpecData zero = gradient_(split_.rest, {name}, options);
    collect(zero, spec::declared_inputs(split_.rest), {name}, {},
            [](const ExprNode &) { return Expr(); });
  }
}

void ThroughLets::begin() {
  std::vector<std::string> names = read_by(split_.rest);
  for (const std::string &name :
       wrt_) // mistakes among them are told, and what no kernel reads has a gradient, too
    if (std::find(names.begin(), names.end(), name) == names.end() && !is_read_by_a_let(name))
      names.push_back(name);
  GradientOptions options = options_;
  options.value = options.add = false;
  made_ = gradient_(split_.rest, names, options);
  made_.axes = data_.axes; // by the extents of lets, where these say them
  if (!options_.value) keep_counted(made_, split_);
  const Decls bounds = spec::declared_inputs(split_.rest);
  stay_inside_one_by_one(bounds);
  const Names axes = names_of_cotangents(made_.inputs);
  collect(made_, bounds, names, axes, [](const ExprNode &) { return Expr(); });
  made_.outputs.clear();
  std::erase_if(made_.inputs,
                [](const auto &input) { return input->window || input->materialised; });
  for (auto &input : made_.inputs) {
    taken_.insert(input->name);
    for (const auto &whole : data_.inputs) // what the rest does not read, a let may
      if (input->is_idle && whole->name == input->name) input = whole;
    input = renamed(input, {axes, {}});
  }
}

void ThroughLets::pull(const spec::Materialised &let) {
  if (let.join) return pull_apart(let);
  const std::string &name = let.data.outputs[0].name;
  const std::vector<std::string> names = read_by(let.data);
  const auto flowed = into_.find(name);
  if (flowed == into_.end() || names.empty()) return;
  const Place &where = let.data.outputs[0].where;
  const Names axes = own_names(let);
  const std::vector<AffineForm> own = spec::own_positions(let.typed); // as it was called in the let
  if (own.size() < let.typed.outputs[0].axes.size())
    support::fail("E0607",
                  "let '" + name +
                      "' is read at positions and has an axis without a name, so nothing "
                      "can flow back through it",
                  shown(where),
                  "give the dims of its inputs labels, or read these at positions, too");
  std::vector<AxisRef> &listed = axes_into_[name];
  if (listed.empty())
    listed = axes_if_named(name, let.typed.outputs[0].axes.size(), flowed->second.value);
  const Expr cotangent = make_let(fresh("d_" + name), flowed->second.value, where, listed);
  cotangents_.push_back(cotangent);
  GradientOptions options = options_;
  options.value = options.add = false;
  options.of.clear();
  const SpecData pulled = gradient_(let.data, names, options);
  std::string seed; // the only input that the gradient has and the let has not
  for (const auto &input : pulled.inputs)
    if (!input->window &&
        std::find(let.data.inputs.begin(), let.data.inputs.end(), input) == let.data.inputs.end())
      seed = input->name;
  // Where the value of the let is asked for, the array has it.
  const Expr &array = lets_.at(name);
  const ExprNode *value = let.data.outputs[0].value.node();
  const bool holds = holds_once(let);
  const Expr whole = own.empty() ? array : make_window(array, own, where);
  collect(pulled, spec::declared_inputs(let.data), names, axes, [&](const ExprNode &node) {
    if (Expr held = holds ? held_in(whole, *value, node) : Expr(); held.node()) return held;
    if (node.kind != ExprKind::Input) return Expr();
    const InputDecl &decl = *node.input;
    if ((decl.window ? decl.window->of->name : decl.name) != seed) return Expr();
    return decl.window   ? spec::read_over_lets(cotangent, decl, lets_, node.where)
           : own.empty() ? cotangent
                         : make_window(cotangent, own, node.where);
  });
}

void ThroughLets::collect(const SpecData &gradient, const Decls &bounds,
                          const std::vector<std::string> &names, const Names &axes,
                          const std::function<Expr(const ExprNode &)> &seed) {
  std::vector<Expr> values;
  Decls windows = gradient.inputs;
  for (const OutputDecl &output : gradient.outputs) values.push_back(output.value);
  values = accumulators_.own(values);
  for (Expr &value : values) value = with_bounds(value, bounds, windows);
  values = facts::exchange(values, [&](const ExprNode &node) {
    if (const Expr value = seed(node); value.node()) return value;
    if (node.kind == ExprKind::Extent || node.kind == ExprKind::Iota) return of_windows(node);
    return spec::over_lets(node, lets_);
  });
  Renaming renaming{axes, named_};
  for (const auto &input : windows)
    if (input->window) renaming.windows.push_back(input);
  if (!axes.empty()) values = renamed(values, renaming);
  for (std::size_t k = 0; k < names.size(); ++k) {
    // Nothing flows on from such a let, whatever slopes are behind it.
    if (array_names_.contains(names[k]) && is_nothing(gradient.outputs[k].value)) continue;
    const auto [known, fresh] = into_.try_emplace(names[k], gradient.outputs[k]);
    if (fresh)
      known->second.value = values[k];
    else
      known->second.value = facts::Terms(known->second.where).add(known->second.value, values[k]);
  }
  Decls all = std::move(windows);
  all.insert(all.end(), named_.begin(), named_.end());
  for (const auto &declared : all) {
    if (!declared->window) continue;
    const auto input = axes.empty() ? declared : renamed(declared, renaming);
    if (!declared_.insert(input->name).second) continue;
    windows_.push_back(spec::over_lets(input, lets_));
  }
}

void ThroughLets::list_lets() {
  std::unordered_set<std::string> needed;
  std::unordered_map<std::string, std::set<std::string>> lets_of_window;
  std::vector<std::shared_ptr<const InputDecl>> windows = windows_;
  windows.insert(windows.end(), data_.inputs.begin(), data_.inputs.end());
  for (const auto &window : windows)
    if (std::set<std::string> read = spec::lets_read(*window); !read.empty())
      lets_of_window[window->name] = std::move(read);
  expr::Walker walker;
  const auto walk = [&](const Expr &root) {
    walker.walk(root.node(), [&](const ExprNode &node) {
      if (node.kind == ExprKind::Let) needed.insert(node.name);
      if (node.kind == ExprKind::Let && node.input) // `i < extent(h, 0)`
        for_each_extent(*node.input, [&](const AffineForm::Extent &extent) {
          needed.insert(name_of_array(extent.of));
        });
      if (reads_ahead(node) && node.input->window) needed.insert(node.input->window->of->name);
      const auto name = [&](const std::string &called) {
        const auto window = lets_of_window.find(called);
        if (window == lets_of_window.end())
          needed.insert(called);
        else
          for (const std::string &let : window->second)
            if (std::ranges::count(saved_lets_, let) == 0) needed.insert(let);
      };
      for (const std::string &of : node.of) name(of);
      if (node.use)
        for (const std::string &like : node.use->like) name(like);
    });
  };
  for (const OutputDecl &output : made_.outputs) walk(output.value);
  std::vector<Expr> all;
  for (const auto &let : split_.lets) all.push_back(defined_.at(let->data.outputs[0].name));
  all.insert(all.end(), cotangents_.begin(), cotangents_.end());
  std::vector<bool> listed(all.size());
  for (bool more = true; more;) {
    more = false;
    for (std::size_t k = all.size(); k-- > 0;) {
      if (listed[k] || !needed.contains(all[k].node()->name)) continue;
      more = listed[k] = true;
      walk(all[k]);
    }
  }
  for (std::size_t k = 0; k < all.size(); ++k)
    if (listed[k]) made_.lets.push_back(all[k]);
}

void ThroughLets::add_output(const std::string &name) {
  OutputDecl output = into_.at(name);
  for (const auto &input : data_.inputs)
    if (input->name == name && !input->labelled() && !output.has_axes)
      output.axes = axes_if_named(name, input->dims.size(), output.value);
  output.has_axes = output.has_axes || !output.axes.empty();
  output.name = fresh("d_" + name);
  output.add = options_.add;
  made_.outputs.push_back(std::move(output));
}

// From what has flowed into a join to its parts. That of the second of two begins where the first
// one ends:
//
//   let d_b = sum(d_z[b_0 + extent(a, 0)], like=b[b_0])
void ThroughLets::pull_apart(const spec::Materialised &let) {
  const std::string &name = let.data.outputs[0].name;
  const auto flowed = into_.find(name);
  if (flowed == into_.end()) return;
  const Place &where = let.data.outputs[0].where;
  const Expr cotangent =
      make_let(fresh("d_" + name), flowed->second.value, where,
               axes_if_named(name, let.typed.outputs[0].axes.size(), flowed->second.value));
  cotangents_.push_back(cotangent);
  AffineForm first; // of the part that comes next
  const auto &places = defined_.at(name).node()->args[0].node()->places;
  for (std::size_t k = 0; k < let.join->parts.size(); ++k) {
    const std::string &part_name = let.join->parts[k];
    const Expr &part = lets_.at(part_name);
    std::vector<AffineForm> own, forms;
    const std::size_t rank = let.typed.outputs[0].axes.size();
    for (std::size_t dim = 0; dim < rank && places; ++dim) {
      own.push_back({0, {{spec::own_axis(part_name, dim), 1}}, {}});
      AffineForm &form = forms.emplace_back(places->of_parts[k][dim]);
      form.terms[0].axis = own.back().terms[0].axis;
      exchange_extents(form, [&](const Expr &of) {
        return of.node()->kind == ExprKind::Let ? lets_.at(of.node()->name) : Expr();
      });
    }
    for (std::size_t dim = 0; dim < rank && !places; ++dim) {
      if (let.join->stacks && dim == let.join->dim) {
        forms.push_back(first);
        continue;
      }
      own.push_back({0, {{spec::own_axis(part_name, own.size()), 1}}, {}});
      forms.push_back(own.back());
      if (dim == let.join->dim) add_to(forms.back(), first, 1);
    }
    Expr value = make_window(cotangent, forms, where);
    if (let.join->stacks) {
      ++first.constant;
    } else {
      const Expr whole = make_window(part, own, where);
      if (declared_.insert(whole.node()->input->name).second)
        windows_.push_back(whole.node()->input);
      FoldUse use;
      use.like = {whole.node()->input->name};
      value = make_fold(use, {value}, {}, where);
      if (!places) first.extents.push_back({part, let.join->dim, 1});
    }
    OutputDecl into;
    into.where = where;
    into.value = value;
    const auto [known, is_fresh] = into_.try_emplace(part_name, into);
    if (!is_fresh) known->second.value = facts::Terms(where).add(known->second.value, value);
  }
}

// Twice where arrays are saved: only the first time shows which of them are read. What lends its
// shape alone stays a let, which nothing computes.
GradientThroughLets through_lets(const SpecData &data, const spec::Split &split,
                                 const std::vector<std::string> &wrt,
                                 const GradientOptions &options, const GradientOf &gradient,
                                 const ChooseSaved &choose) {
  GradientOptions of_parts = options;
  of_parts.policy = options.policy == Policy::save ? Policy::automatic : options.policy;
  const auto made = [&](const std::vector<std::string> &saved, bool are_some = false) {
    ThroughLets through(data, split, wrt, of_parts, gradient, saved);
    SpecData derived = through.run(are_some);
    return GradientThroughLets{std::move(derived), through.saved_ones_read()};
  };
  if (options.policy != Policy::save) return made({});
  const spec::LetsByName lets = spec::lets_by_name(data);
  std::vector<std::string> all; // but what loops begin with
  for (const auto &let : split.lets)
    if (const std::string &name = let->data.outputs[0].name; lets.contains(name))
      all.push_back(name);
  const std::vector<std::string> read = made(all).saved;
  return choose ? made(choose(read), true) : made(read);
}

} // namespace broadloom::grad
