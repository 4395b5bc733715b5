// Backward: from a product back to the parameters that what it multiplies is made of. See
// moves.hpp.
//
//   relu(sum(x * w, k) + b) * s       relu, +, sum and x * w become s times themselves, if s > 0: w
//                                     * s, b * s
//
// Values are taken from the latest on, so that all readers of a value have been decided before it
// is.
#include "scale/moves.hpp"

#include <algorithm>
#include <queue>

namespace broadloom::scale {

using ops::Scaling;
using support::Reason;

namespace {

// Up to which argument of a reduction: its value, then where it starts.
constexpr std::size_t most_args = 64;

} // namespace

Factor Moves::scale_of(const Values &values, Id id) const {
  const int side = values.constant_side(id);
  Factor own(values[id].args[std::size_t(side)], values[id].is(ops::Op::Div) ? -1 : 1);
  return own *= landed[id];
}

Mover::Mover(const Values &values, Moves &moves, bool may_leave)
    : values_(values), moves_(moves), may_leave_(may_leave), leads_(values.size()),
      inside_(values.size()), scaled_(values.size()), hands_on_(values.size()),
      most_steps_(100'000 + 64 * values.size()) {
  for (Id id = 0; id < values.size(); ++id) {
    const Value &value = values[id];
    const auto of = [&](std::size_t k) { return bool(leads_[value.args[k]]); };
    if (value.constant || value.is_open || values.constant_side(id) >= 0) {
      leads_[id] = true;
      continue;
    }
    switch (values.scaling(id)) {
    case Scaling::Bilinear: leads_[id] = of(0) || of(1); break;
    case Scaling::Linear:
    case Scaling::Quotient:
    case Scaling::Joint:
    case Scaling::Homogeneous: leads_[id] = of(0); break;
    case Scaling::Select: leads_[id] = of(1) && of(2); break;
    case Scaling::None:
    case Scaling::Invariant:
    case Scaling::Square:
    case Scaling::Root:
    case Scaling::Power: break;
    }
  }
}

bool has_mirror(const ExprNode &node) {
  if (node.kind == ExprKind::Fold || node.kind == ExprKind::Scan) {
    const Fold fold = node.use->accumulator.fold();
    return fold == Fold::Max || fold == Fold::Min;
  }
  switch (node.op) {
  case ops::Op::Maximum:
  case ops::Op::Minimum:
  case ops::Op::Fmax:
  case ops::Op::Fmin:
  case ops::Op::Relu:
  case ops::Op::Clip: return node.kind == ExprKind::Op;
  default: return false;
  }
}

Expr mirrored(const ExprNode &node, std::vector<Expr> args) {
  const auto op = [&](ops::Op other) { return make_op(other, std::move(args), node.where); };
  if (node.kind != ExprKind::Op) {
    FoldUse use = *node.use; // whose `init` stand behind the values, among `args`
    use.accumulator = use.accumulator.fold() == Fold::Max ? min : max;
    return with_use(node, std::move(use), std::move(args), node.axes);
  }
  switch (node.op) {
  case ops::Op::Maximum: return op(ops::Op::Minimum);
  case ops::Op::Minimum: return op(ops::Op::Maximum);
  case ops::Op::Fmax: return op(ops::Op::Fmin);
  case ops::Op::Fmin: return op(ops::Op::Fmax);
  case ops::Op::Relu: {
    args.push_back(make_literal(Number(), node.where));
    return op(ops::Op::Minimum);
  }
  case ops::Op::Clip: std::swap(args[1], args[2]); return op(ops::Op::Clip);
  default: return {};
  }
}

std::string Mover::what(Id id) const {
  const ExprNode &node = values_[id].node();
  switch (node.kind) {
  case ExprKind::Op: return "'" + std::string(ops::info(node.op).spelling) + "'";
  case ExprKind::Cast: return "the conversion to " + std::string(name(node.dtype));
  case ExprKind::Fold:
  case ExprKind::Scan: {
    const Fold fold = node.use->accumulator.fold();
    const std::string word = fold == Fold::User ? "an accumulator of your own"
                                                : "'" + std::string(ops::info(fold).name) + "'";
    return (node.kind == ExprKind::Scan ? "the scan of " : "") + word;
  }
  case ExprKind::Input: {
    const InputDecl &decl = node.input->window ? *node.input->window->of : *node.input;
    if (decl.is_let || decl.materialised) return "let '" + decl.name + "', an array,";
    return "input '" + values_.name_of(id) + "'";
  }
  case ExprKind::Literal:
  case ExprKind::Let:
  case ExprKind::Extent:
  case ExprKind::Iota:
  case ExprKind::Parameter:
  case ExprKind::Call:
  case ExprKind::Join: return "a number of the call";
  }
  return {};
}

std::optional<Refusal> Mover::operation(Id id) const {
  return Refusal{Reason::ScaleOperation, "a factor does not pass " + what(id)};
}

std::optional<Refusal> Mover::sign(Id id, const Factor &factor) const {
  if (factor.is_positive(values_)) return {};
  const bool below = factor.is_negative(values_);
  if (below && has_mirror(values_[id].node())) return {};
  return Refusal{Reason::ScaleSign, what(id) + " needs it above 0, " +
                                        (below                 ? "and it is below"
                                         : factor.is_counted() ? "and how often it is "
                                                                 "multiplied says a call"
                                                               : "which is not known")};
}

std::optional<Refusal> Mover::check_value(Id id, const Factor &factor) const {
  const Value &value = values_[id];
  if (!value.is_real() || !factor.fits(values_, value.dtype))
    return Refusal{Reason::ScaleType, what(id) + " is " + std::string(name(value.dtype)) +
                                          ": only values of f32 and f64, by factors of no wider "
                                          "type, are scaled"};
  if (!value.axes.contains(factor.axes(values_)))
    return Refusal{Reason::ScaleAxes, what(id) + " lacks an axis of it"};
  return {};
}

bool Mover::may_land(Id constant, const Factor &factor) const {
  const AxisSet axes = values_[constant].axes;
  return axes.empty() || axes.contains(factor.axes(values_));
}

std::optional<Refusal> Mover::take(Id id, const Factor &factor, Taken &taken) const {
  const Value &value = values_[id];
  const Scaling scaling = values_.scaling(id);
  const int side = values_.constant_side(id);
  switch (scaling) {
  case Scaling::Linear:
  case Scaling::Homogeneous:
  case Scaling::Joint:
    if (!(value.folded & factor.axes(values_)).empty())
      return Refusal{Reason::ScaleAxes, what(id) + " goes along an axis of it"};
    for (std::size_t k = 0; k < value.args.size(); ++k) taken.args.push_back(k);
    return scaling == Scaling::Homogeneous ? sign(id, factor) : std::nullopt;
  case Scaling::Select: taken.args = {1, 2}; return {};
  case Scaling::Bilinear:
  case Scaling::Quotient:
    if (side >= 0 && !moves_.gone[id] && !hands_on_[id] &&
        may_land(value.args[std::size_t(side)], factor)) {
      taken.lands = true;
      return {};
    }
    if (side >= 0)
      taken.args = {std::size_t(1 - side)};
    else
      taken.args = {scaling == Scaling::Bilinear && !leads_[value.args[0]] ? std::size_t(1)
                                                                           : std::size_t(0)};
    return {};
  case Scaling::Square:
  case Scaling::Root:
  case Scaling::Power:
    return Refusal{Reason::ScaleOperation, "a factor passes " + what(id) +
                                               " on its way forward only, as a power of itself"};
  case Scaling::None:
  case Scaling::Invariant: return operation(id);
  }
  return {};
}

// Every reader of a value that changes must change with it, or must not notice.
std::optional<Refusal> Mover::check_users(Id id, Id site, const Factor &factor,
                                          std::vector<Id> &invariants) {
  const Refusal shared{Reason::ScaleShared,
                       what(id) + " is read elsewhere without it, or is an output"};
  if (values_[id].output) return shared;
  for (const Id user : values_[id].users) {
    if (is_over())
      return Refusal{Reason::ScaleOperation, "the search for a place for it was given up"};
    if (user == site) continue;
    const std::vector<Id> &args = values_[user].args;
    if (inside_[user]) {
      for (std::size_t k = 0; k < args.size(); ++k)
        if (args[k] == id && (scaled_[user] >> std::min(k, most_args - 1) & 1) == 0) {
          if (values_.constant_side(user) >= 0) clash_ = user;
          return shared;
        }
      continue;
    }
    if (values_.scaling(user) != Scaling::Invariant || !factor.is_positive(values_)) return shared;
    invariants.push_back(user);
  }
  return {};
}

// All that it reads must have been multiplied by the same.
std::optional<Refusal> Mover::check_invariant(Id id, const Factor &factor) const {
  const Value &value = values_[id];
  for (const Id arg : value.args)
    if (!values_[arg].constant && !inside_[arg])
      return Refusal{Reason::ScaleShared, what(id) + " compares it with what is not scaled"};
  if (!(value.folded & factor.axes(values_)).empty())
    return Refusal{Reason::ScaleAxes, what(id) + " goes along an axis of it"};
  return {};
}

std::optional<Refusal> Mover::backward(Id site, std::vector<Id> &into) {
  return repeated([&] { return into.clear(), backward_once(site, into); });
}

std::optional<Refusal> Mover::backward_once(Id site, std::vector<Id> &into) {
  const Factor factor = moves_.scale_of(values_, site);
  const Id base = values_.data_of(site);
  if (!factor.is_finite(values_))
    return Refusal{Reason::ScaleNotFinite, "it may be infinite or no number"};

  opened_.clear();
  std::vector<Id> touched, landings, invariants;
  std::priority_queue<Id> pending;
  const auto enter = [&](Id id) {
    if (inside_[id]) return;
    inside_[id] = true;
    touched.push_back(id);
    pending.push(id);
  };
  Refused refused;
  enter(base);
  while (!pending.empty() && !refused) {
    const Id id = pending.top();
    pending.pop();
    if (values_[id].args.empty() && !values_[id].is_open) // whoever else reads it
      refused = Refusal{Reason::ScaleData, what(id) + " is no parameter"};
    if (refused || (refused = check_value(id, factor))) break;
    if ((refused = check_users(id, site, factor, invariants))) break;
    if (values_[id].is_open) {
      opened_.push_back(id);
      continue;
    }
    Taken taken;
    if ((refused = take(id, factor, taken))) break;
    scaled_[id] = 0;
    if (taken.lands) landings.push_back(id);
    for (const std::size_t k : taken.args) {
      scaled_[id] |= std::size_t(1) << std::min(k, most_args - 1);
      const Id arg = values_[id].args[k];
      if (!values_[arg].constant)
        enter(arg);
      else if (!values_.is_zero(arg))
        into.push_back(arg);
    }
  }
  for (std::size_t k = 0; k < invariants.size() && !refused; ++k)
    refused = check_invariant(invariants[k], factor);
  if (!refused) {
    for (const Id id : touched) moves_.times[id] *= factor;
    for (const Id id : landings) {
      moves_.landed[id] *= factor;
      into.push_back(values_[id].args[std::size_t(values_.constant_side(id))]);
    }
    moves_.gone[site] = true;
  }
  for (const Id id : touched) inside_[id] = false;
  return refused;
}

} // namespace broadloom::scale
