// Forward mode: from a kernel to the kernel of its directional derivatives.
//
//   modes become expressions     as for gradients (whole.cpp)
//   each input asked about       moves by an input of its own: in t_x, like x
//   one forward sweep            tangents.cpp, tangent_folds.cpp, dual.cpp; the slopes of
//                                operations: rules.cpp
//   each output                  out t_z = what it moves by
#include "grad/jvp.hpp"

#include "analysis/analyse.hpp"
#include "expr/window.hpp"
#include "facts/substitute.hpp"
#include "grad/axis_order.hpp"
#include "grad/bounds.hpp"
#include "grad/declarations.hpp"
#include "grad/request.hpp"
#include "grad/shape.hpp"
#include "grad/share.hpp"
#include "grad/sweep.hpp"
#include "grad/tangents.hpp"
#include "grad/through_lets.hpp"
#include "grad/tidy.hpp"
#include "grad/whole.hpp"
#include "grad/widen.hpp"
#include "scale/fold.hpp"
#include "spec/declared.hpp"
#include "spec/expand.hpp"
#include "spec/materialise.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/free_name.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"

#include <broadloom/gradient.hpp>

#include <algorithm>
#include <set>

namespace broadloom {

namespace grad {

std::shared_ptr<const InputDecl> tangent_of(const InputDecl &input, const std::string &name) {
  auto made = std::make_shared<InputDecl>(input);
  made->name = name;
  made->role = InputRole::plain;
  made->sign = Sign::any;
  made->created = 0;
  return made;
}

namespace {

using support::fail;

class Jvp {
public:
  Jvp(const SpecData &data, const JvpRequest &request)
      : data_(scale::unfolded(spec::expand_calls(data, spec::Calls::WithoutDerivatives))),
        scales_(data.scales), request_(request), typed_(analysis::analyse(data_)),
        facts_(data_, request.wrt), declarations_(data_, typed_, facts_),
        tangents_(facts_, [this](const ExprNode &input) { return read(input); }),
        tidier_(facts_, Tidier::Reads::Same) {}

  SpecData run() {
    check_request(facts_, data_, typed_, declarations_.inputs(), {request_.wrt, request_.of},
                  {"that could move", "to take the tangent of", "tangent"});
    made_ = spec::emptied(data_, "_jvp");
    made_.scales = scales_;
    declare_inputs();
    std::vector<std::size_t> asked;
    std::vector<Expr> values;
    for (std::size_t k = 0; k < data_.outputs.size(); ++k)
      if (is_asked(k)) {
        asked.push_back(k);
        values.push_back(whole_output(facts_, typed_, data_.outputs[k], k));
      }
    tangents_.run(values);
    for (const Expr &value : values) tidier_.leave(value);
    for (std::size_t n = 0; n < asked.size(); ++n) add_output(asked[n], values[n]);
    if (request_.value)
      made_.outputs.insert(made_.outputs.begin(), data_.outputs.begin(), data_.outputs.end());
    declare_windows(made_, declarations_.inputs());
    if (facts_.calls().used())
      analysis::analyse(made_); // the types that a clause meets are known only now
    return std::move(made_);
  }

private:
  bool is_asked(std::size_t k) const {
    const OutputDecl &output = data_.outputs[k];
    if (output.update) return false; // a state of the next call
    const bool asked = request_.of.empty()
                           ? is_continuous(typed_.outputs[k].dtype)
                           : std::count(request_.of.begin(), request_.of.end(), output.name) > 0;
    if (asked && output.at)
      fail("E0601", "output '" + output.name + "' is written at positions", output.where,
           "write out " + output.name +
               " += sum(.., like=x[..]), where an input x lends the shape");
    return asked;
  }

  void declare_inputs() {
    for (const auto &input : declarations_.inputs())
      if (!input->window) made_.inputs.push_back(input);
    for (const auto &input : declarations_.inputs()) {
      if (input->window || std::count(request_.wrt.begin(), request_.wrt.end(), input->name) == 0)
        continue;
      const auto made = tangent_of(*input, request_.names.at(input->name));
      facts_.declare_like(made->name, input->name);
      moving_.emplace(input->name, made);
      made_.inputs.push_back(made);
    }
  }

  // A window of the tangent where the input is read through one; numbers around it do not move.
  Expr read(const ExprNode &node) {
    const InputDecl &decl = *node.input;
    const auto found = moving_.find(decl.window ? decl.window->of->name : decl.name);
    if (found == moving_.end()) return {};
    const Expr whole = make_input(found->second, node.where);
    tangent_names_[decl.name] = found->second->name;
    if (!decl.window) return whole;
    Window window = *decl.window;
    for (DimPad &pad : window.pads) pad.value = {};
    const Expr made = make_window_like(whole, window, node.where);
    facts_.declare_like(made.node()->input->name, decl.name);
    tangent_names_[decl.name] = made.node()->input->name;
    return made;
  }

  void add_output(std::size_t k, const Expr &value) {
    const OutputDecl &old = data_.outputs[k];
    const facts::Terms t(old.where);
    OutputDecl output;
    output.name = request_.names.at(old.name);
    output.add = old.add;
    output.where = old.where;
    output.said = old.said;
    output.store = old.store;
    output.dtype = typed_.outputs[k].dtype;
    const std::vector<int> &axes = typed_.outputs[k].axes;
    output.has_axes = old.has_axes || !std::is_sorted(axes.begin(), axes.end());
    if (output.has_axes)
      for (const int axis : axes) output.axes.push_back(facts_.axis_ref(axis));
    Expr moved = tangents_.at(value);
    if (!moved.node()) moved = make_cast(*output.dtype, t.num(0), old.where);
    if (old.mode.kind == ModeKind::broadcast) {
      output.mode = old.mode;
      // Like= gives axes without a read.
      const bool has_all =
          reads_all_of(value, moved, false) && (facts_.axes(value) - axes_read(moved)).empty();
      output.value = has_all ? moved : repeated_like(value, moved, t);
    } else {
      // The spread of one element is a 0 without axes.
      const Expr &shaped =
          (expr::AxisSet::of(axes) - facts_.axes(value)).empty() ? value : old.value;
      output.value = in_shape_of(shaped, moved, output);
    }
    output.value = tidier_.run(facts_.calls().restored(output.value));
    made_.outputs.push_back(std::move(output));
  }

  // Does the tangent read each input that the value reads, or the tangent of that? `broadcast` has
  // the axes of all inputs that its expression reads, and windows tell each other's extents.
  bool reads_all_of(const Expr &value, const Expr &moved, bool only_windows) {
    std::unordered_set<std::string> read;
    expr::Walker().walk(moved.node(), [&](const ExprNode &node) {
      if (node.kind == ExprKind::Input) read.insert(node.input->name);
    });
    return std::ranges::all_of(facts_.inputs(value), [&](std::size_t i) {
      const spec::TypedInput &input = typed_.inputs[i];
      const auto tangent = tangent_names_.find(input.name);
      return (only_windows && !input.window) || read.contains(input.name) ||
             (tangent != tangent_names_.end() && read.contains(tangent->second));
    });
  }

  // Also those that it folds, which `broadcast` keeps.
  expr::AxisSet axes_read(const Expr &expr) {
    expr::AxisSet axes;
    expr::Walker().walk(expr.node(), [&](const ExprNode &node) {
      if (node.kind != ExprKind::Input) return;
      axes = axes | expr::AxisSet::of(facts_.dims(*node.input));
    });
    return axes;
  }

  // As an input that has the axes, else as the value itself.
  Expr in_shape_of(const Expr &value, const Expr &moved, OutputDecl &output) {
    if (!reads_all_of(value, moved, true))
      return repeated_like(value, moved, facts::Terms(output.where));
    const Expr whole = tangents_.repeated(value, moved, true);
    if (whole.node() == moved.node()) return moved;
    if (!request_.plain && !output.has_axes && facts_.is_firm(facts_.axes(value)))
      for (const spec::TypedInput &input : typed_.inputs)
        if (!input.window && !input.is_lent() && !input.materialised &&
            input.axes() == facts_.axes(value) && facts_.axes(value).contains(axes_read(moved))) {
          output.mode = broadcast_like(input.name);
          return moved;
        }
    return whole;
  }

  const SpecData data_;
  const std::optional<Scales> scales_; // derivatives are those of the kernel as it is written
  const JvpRequest &request_;
  spec::TypedSpec typed_;
  facts::Facts facts_;
  Declarations declarations_;
  Tangents tangents_;
  Tidier tidier_;
  std::unordered_map<std::string, std::shared_ptr<const InputDecl>> moving_; // by the input
  std::unordered_map<std::string, std::string>
      tangent_names_; // of inputs and windows that are read
  SpecData made_;
};

} // namespace

SpecData directional(const SpecData &data, const JvpRequest &request) {
  return Jvp(data, request).run();
}

namespace {

// ---- lets that are arrays: each is a kernel, which has its directional derivatives as any kernel
// has

class NewNames {
public:
  explicit NewNames(const SpecData &data) : taken_(spec::names_of(data)) {}
  void take(const std::string &name) { taken_.insert(name); } // one that is there without a text
  void add(const std::string &name) {
    if (names_.contains(name)) return;
    names_.emplace(name, fresh("t_" + name));
  }
  const std::unordered_map<std::string, std::string> &all() const { return names_; }
  std::string fresh(const std::string &name) { return support::fresh_name(name, taken_); }

private:
  spec::Names taken_;
  std::unordered_map<std::string, std::string> names_;
};

} // namespace

bool reads_any(const SpecData &data, const std::vector<std::string> &names) {
  bool reads = false;
  expr::Walker walker;
  const auto visit = [&](const ExprNode &node) {
    if (node.kind != ExprKind::Input) return;
    const InputDecl &whole = node.input->window ? *node.input->window->of : *node.input;
    reads = reads || std::count(names.begin(), names.end(), whole.name) > 0;
  };
  spec::for_each_value(data.outputs, [&](const Expr &value) { walker.walk(value.node(), visit); });
  return reads;
}

namespace {

// The array as the let itself reads it; empty where its axes have no names.
Expr read_of(const spec::Materialised &let) {
  const spec::TypedOutput &made = let.typed.outputs[0];
  std::vector<AffineForm> own = spec::own_positions(let.typed);
  if (own.empty()) return {};
  const auto array = spec::array_of(made.name, made.dtype, made.axes.size(), made.where);
  return make_window(make_input(array, made.where), std::move(own), made.where);
}

// Those with tangents: what reads what moves, joins of such, and then all parts of these.
std::set<std::string> moving_lets(const spec::Split &split, std::vector<std::string> moving) {
  std::set<std::string> found;
  for (const auto &let : split.lets) {
    const std::string &name = let->data.outputs[0].name;
    if (let->recurrence) {
      const auto first = std::size_t(&let - split.lets.data());
      if (let->recurrence->first != first) continue;
      for (const std::string &member : moving_members(split, first, moving)) {
        found.insert(member);
        moving.push_back(member);
      }
      continue;
    }
    const bool moves =
        let->join ? std::ranges::any_of(let->join->parts,
                                        [&](const auto &part) { return found.contains(part); })
                  : is_continuous(let->typed.outputs[0].dtype) && reads_any(let->data, moving);
    if (!moves) continue;
    found.insert(name);
    moving.push_back(name);
  }
  for (std::size_t k = split.lets.size(); k-- > 0;)
    if (const spec::Materialised &let = *split.lets[k];
        let.join && found.contains(let.data.outputs[0].name))
      found.insert(let.join->parts.begin(), let.join->parts.end());
  return found;
}

// The join of the tangents of its parts.
spec::Materialised tangent_of_join(const spec::Materialised &let,
                                   const std::unordered_map<std::string, std::string> &names) {
  spec::Materialised made{let.data, {}, {}, let.join};
  made.data.outputs[0].name = names.at(made.data.outputs[0].name);
  for (std::string &part : made.join->parts) part = names.at(part);
  return made;
}

// A let whose value stands as it is to be, over other lets: as those that read themselves are
// joined again.
std::shared_ptr<const spec::Materialised> as_written(const TangentLet &tangent) {
  SpecData data;
  OutputDecl output;
  output.name = tangent.let.node()->name;
  output.value = tangent.let;
  data.outputs.push_back(std::move(output));
  data.inputs = tangent.named;
  return std::make_shared<const spec::Materialised>(
      spec::Materialised{std::move(data), spec::TypedSpec(), spec::Recurrence(), {}});
}

// let h = exp(x)      let h = exp(x)
//                     let t_h = t_x * h
SpecData with_lets(const SpecData &data, const spec::Split &split, JvpRequest request,
                   NewNames &free) {
  SpecData names = data; // and the tangents as lets and inputs
  for (const auto &input : data.inputs)
    if (!input->window && std::count(request.wrt.begin(), request.wrt.end(), input->name) > 0)
      names.inputs.push_back(tangent_of(*input, request.names.at(input->name)));
  std::unordered_map<std::string, Expr> lets = spec::lets_by_name(data);
  std::unordered_map<std::string, Expr> starts; // tangents of what lets begin with
  const std::set<std::string> moving = moving_lets(split, request.wrt);
  AccumulatorNames accumulators(values_of(data));
  SameExtents same;
  for (const std::string &let : moving) same.emplace(request.names.at(let), let);
  for (const std::string &input : request.wrt) same.emplace(request.names.at(input), input);
  spec::Split made;
  for (std::size_t k = 0; k < split.lets.size(); ++k) {
    const auto &let = split.lets[k];
    made.lets.push_back(let);
    const std::string &name = let->data.outputs[0].name;
    const DType dtype = let->typed.outputs[0].dtype;
    if (let->recurrence) {
      if (let->recurrence->first + let->recurrence->count != k + 1) continue; // until all are there
      const LoopToMove loop{split,
                            let->recurrence->first,
                            moving,
                            request,
                            lets,
                            starts,
                            [&](const std::string &like) { return free.fresh(like); },
                            accumulators};
      for (const TangentLet &tangent : tangents_of_loop(loop)) {
        lets.insert_or_assign(tangent.let.node()->name, tangent.let);
        names.lets.push_back(tangent.let);
        made.lets.push_back(as_written(tangent));
      }
      for (std::size_t m = let->recurrence->first; m <= k; ++m)
        if (const std::string &member = split.lets[m]->data.outputs[0].name;
            moving.contains(member))
          request.wrt.push_back(member);
      continue;
    }
    if (!moving.contains(name)) continue;
    const bool begins = !lets.contains(name); // the start of one, which has no text of its own
    const ExprNode &old = begins ? *let->data.outputs[0].value.node() : *lets.at(name).node();
    if (let->join) {
      made.lets.push_back(
          std::make_shared<const spec::Materialised>(tangent_of_join(*let, request.names)));
      names.lets.push_back(make_let(request.names.at(name), old.args[0], old.where, old.axes));
      lets.emplace(request.names.at(name), names.lets.back());
      request.wrt.push_back(name);
      continue;
    }
    JvpRequest of_let = request;
    of_let.of = {name};
    of_let.value = false;
    of_let.plain = true;
    std::erase_if(of_let.wrt, [&](const std::string &moved) { // other lets that it does not read
      return std::ranges::none_of(let->data.inputs,
                                  [&](const auto &input) { return input->name == moved; });
    });
    SpecData part = directional(let->data, of_let);
    OutputDecl &output = part.outputs[0];
    output.value = with_bounds(accumulators.own(output.value), spec::declared_inputs(let->data),
                               part.inputs, same);
    output.dtype.reset();
    if (analysis::analyse(part).outputs[0].dtype != dtype)
      output.value = make_cast(dtype, output.value, output.where);
    if (const Expr array = begins ? Expr() : read_of(*let); array.node()) {
      const ExprNode &value = *let->data.outputs[0].value.node();
      output.value = facts::exchange(
          output.value, [&](const ExprNode &node) { return held_in(array, value, node); });
    }
    if (begins) {
      starts.emplace(name, facts::exchange(output.value, [&](const ExprNode &node) {
                       return spec::over_lets(node, lets);
                     }));
      continue;
    }
    names.lets.push_back(
        make_let(output.name, old.args[0], old.where, old.axes, {{}, -1, 0, old.input}));
    lets.emplace(output.name, names.lets.back());
    made.lets.push_back(std::make_shared<const spec::Materialised>(
        spec::Materialised{std::move(part), spec::TypedSpec(), {}, {}}));
    request.wrt.push_back(name);
  }
  std::erase_if(request.wrt, [&](const std::string &name) { // those that the rest does not read
    return lets.contains(name) && std::ranges::none_of(split.rest.inputs, [&](const auto &input) {
             return input->name == name;
           });
  });
  made.rest = directional(split.rest, request);
  for (OutputDecl &output : made.rest.outputs) output.value = accumulators.own(output.value);
  keep_bounds(made.rest, spec::declared_inputs(split.rest), same);
  SpecData joined = spec::joined(names, made);
  analysis::analyse(joined);
  return joined;
}

} // namespace
} // namespace grad

LoopSpec jvp(const LoopSpec &spec, const std::vector<std::string> &wrt,
             const JvpOptions &options) try {
  const support::FloatWorld world;
  grad::require_once(spec.data(), {wrt, options.of});
  SpecData data = spec::expand_calls(spec.data(), spec::Calls::WithoutDerivatives);
  data.inputs = spec::declared_inputs(data);
  grad::NewNames names(data);
  grad::JvpRequest request;
  request.wrt = wrt;
  request.of = options.of;
  request.value = options.value;
  for (const std::string &name : request.wrt) names.add(name);
  const auto split = spec::split_lets(data, analysis::analyse);
  if (split) {
    for (const auto &let : split->lets) names.take(let->data.outputs[0].name);
    for (const auto &let : split->lets) names.add(let->data.outputs[0].name);
  }
  for (const OutputDecl &output : data.outputs) names.add(output.name);
  request.names = names.all();
  SpecData made =
      split ? grad::with_lets(data, *split, request, names) : grad::directional(data, request);
  if (!split) grad::keep_bounds(made, data.inputs);
  if (!split) grad::share(made);
  grad::keep_axis_order(made, data, request.names);
  grad::keep_said(made, data, request.names);
  return LoopSpec(std::make_shared<const SpecData>(std::move(made)));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
