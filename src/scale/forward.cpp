// Forward: from a product on to the parameters that its result meets. See moves.hpp.
//
//   sum(relu(x * s) * w, k)       x * s and relu become themselves over s, if s > 0; then w takes
//                                 it: relu(x) * (w * s)
//
// Values are taken from the earliest on, so that all arguments of a value have been decided before
// it is.
#include "scale/moves.hpp"

#include <functional>
#include <queue>

namespace broadloom::scale {

using ops::Scaling;
using support::Reason;

// What the arguments from `first` on have in common: data must have it, constants are divided by
// it.
std::optional<Refusal> Mover::common(Id id, std::size_t first, Factor &made) {
  const Value &value = values_[id];
  const Factor *seen = nullptr;
  static const Factor one;
  bool divides = false;
  for (std::size_t k = first; k < value.args.size(); ++k) {
    const Id arg = value.args[k];
    if (values_[arg].constant) {
      divides = divides || !values_.is_zero(arg);
      continue;
    }
    const auto found = gains_.find(arg);
    const Factor &gain = found == gains_.end() ? one : found->second;
    if (gain.is_one() && values_.constant_side(arg) >= 0 && !hands_on_[arg] &&
        gains_.contains(values_.data_of(arg)))
      clash_ = arg; // it has taken the factor
    if (seen && !(*seen == gain))
      return Refusal{Reason::ScaleShared, what(id) + " takes it together with what is not scaled"};
    seen = &gain;
  }
  made = seen ? *seen : one;
  const Scaling scaling = values_.scaling(id);
  if ((scaling == Scaling::Homogeneous || scaling == Scaling::Invariant) && !made.is_one())
    if (Refused refused = sign(id, made)) return refused;
  if (divides && !made.is_not_zero(values_))
    return Refusal{Reason::ScaleNotFinite,
                   "a parameter at " + what(id) + " would be divided by it, and it may be 0"};
  return {};
}

std::optional<Refusal> Mover::gain_of_fold(Id id, Scaling scaling, Gain &made) {
  if (Refused refused = common(id, 0, made.result)) return refused;
  if (!(values_[id].folded & made.result.axes(values_)).empty())
    return Refusal{Reason::ScaleAxes, what(id) + " goes along an axis of it"};
  const std::int64_t count = scaling == Scaling::Power ? values_.folded_count(id) : 1;
  if (count < 0 && !values_.count(id).node())
    return Refusal{Reason::ScaleOperation,
                   what(id) + " takes its power by the number of elements, which no input says"};
  const std::optional<Factor> raised =
      count < 0 ? made.result.to_count(id)
                : made.result.to_power(scaling == Scaling::Square ? 2 : count);
  if (!raised) return operation(id);
  made.result = scaling == Scaling::Invariant ? Factor() : *raised;
  return {};
}

// By what the value is more than it will be, as its arguments are more by `gains_`.
std::optional<Refusal> Mover::gain(Id id, Gain &made) {
  const Value &value = values_[id];
  const ExprNode &node = value.node();
  const Scaling scaling = values_.scaling(id);
  const auto of = [&](std::size_t k) {
    const auto found = gains_.find(value.args[k]);
    return found == gains_.end() ? Factor() : found->second;
  };
  if (scaling == Scaling::None) return operation(id);
  if (node.kind == ExprKind::Fold || node.kind == ExprKind::Scan)
    return gain_of_fold(id, scaling, made);
  switch (scaling) {
  case Scaling::Linear:
  case Scaling::Joint:
  case Scaling::Homogeneous: return common(id, 0, made.result);
  case Scaling::Invariant: {
    Factor same;
    return common(id, 0, same);
  }
  case Scaling::Select:
    if (!of(0).is_one()) return operation(id);
    return common(id, 1, made.result);
  case Scaling::Bilinear:
  case Scaling::Quotient: {
    const int side = values_.constant_side(id);
    if (side >= 0) {
      const Factor gain = of(std::size_t(1 - side));
      made.lands =
          !moves_.gone[id] && !hands_on_[id] && may_land(value.args[std::size_t(side)], gain);
      if (!made.lands) made.result = gain;
      return {};
    }
    if (scaling == Scaling::Quotient && !of(1).is_one()) {
      if (values_[value.args[0]].constant) return operation(id);
      if (!of(1).is_not_zero(values_))
        return Refusal{Reason::ScaleNotFinite, "'/' divides by it, and it may be 0"};
    }
    made.result = of(0);
    made.result *= scaling == Scaling::Bilinear ? of(1) : of(1).inverse();
    return {};
  }
  case Scaling::Square:
    made.result = of(0);
    made.result *= of(0);
    return {};
  case Scaling::Root: {
    const std::optional<Factor> root = of(0).root();
    if (!root) return operation(id);
    made.result = *root;
    return sign(id, of(0));
  }
  case Scaling::Power: {
    const ExprNode &exponent = values_[value.args[1]].node();
    const bool whole = exponent.kind == ExprKind::Literal &&
                       exponent.number.kind == Number::Kind::Int && !exponent.number.too_large &&
                       exponent.number.integer > 0;
    const std::optional<Factor> power =
        whole ? of(0).to_power(exponent.number.integer) : std::nullopt;
    if (!power) return operation(id);
    made.result = *power;
    return {};
  }
  case Scaling::None: break;
  }
  return operation(id);
}

std::optional<Refusal> Mover::forward(Id site, std::vector<Id> &into) {
  return repeated([&] { return into.clear(), forward_once(site, into); });
}

std::optional<Refusal> Mover::forward_once(Id site, std::vector<Id> &into) {
  const Factor factor = moves_.scale_of(values_, site);
  if (!factor.is_finite(values_))
    return Refusal{Reason::ScaleNotFinite, "it may be infinite or no number"};

  std::vector<Id> seeds, landings;
  std::map<Id, bool> entered; // and is it still to be looked at?
  std::priority_queue<Id, std::vector<Id>, std::greater<>> pending;
  const auto enter = [&](Id id) {
    if (entered.try_emplace(id, true).second) pending.push(id);
  };
  const auto is_like = [&](Id id) { // another product by the same
    return values_.constant_side(id) >= 0 && !moves_.gone[id] && !entered.contains(id) &&
           moves_.scale_of(values_, id) == factor;
  };
  gains_.clear();
  Refused refused;
  const auto seed = [&](Id id) {
    seeds.push_back(id);
    entered[id] = false;
    gains_[id] = factor;
    for (const Id user : values_[id].users) {
      const auto seen = entered.find(user);
      if (seen != entered.end() && !seen->second)
        refused = Refusal{Reason::ScaleShared, what(user) + " takes it in two ways"};
      enter(user);
    }
  };
  const auto check = [&](Id id) -> Refused {
    const Id base = values_.data_of(id);
    if (values_[base].dtype != values_[id].dtype || !values_[base].axes.contains(values_[id].axes))
      return Refusal{Reason::ScaleType, what(id) + " gives its result another type or shape"};
    if (values_[id].output && !may_leave_)
      return Refusal{Reason::ScaleOutput, "it reaches an output"};
    return check_value(id, factor);
  };
  if (!(refused = check(site))) seed(site);
  while (!pending.empty() && !refused) {
    const Id id = pending.top();
    // Another product by the same that it is added to goes along; what it reaches is looked at
    // anew.
    bool waits = false;
    if (values_.scaling(id) == Scaling::Joint || values_.scaling(id) == Scaling::Homogeneous)
      for (const Id arg : values_[id].args)
        if (!values_[arg].constant && !gains_.contains(arg) && is_like(arg) && !check(arg))
          seed(arg), waits = true;
    if (waits) continue;
    pending.pop();
    entered[id] = false;
    if (is_over())
      refused = Refusal{Reason::ScaleOperation, "the search for a place for it was given up"};
    if (refused) break;
    Gain made;
    if ((refused = gain(id, made))) break;
    if (made.lands) {
      landings.push_back(id);
      continue;
    }
    if (made.result.is_one()) continue;
    if ((refused = check_value(id, made.result))) break;
    if (values_[id].output && !may_leave_) {
      refused = Refusal{Reason::ScaleOutput, "it reaches an output"};
      break;
    }
    gains_[id] = made.result;
    for (const Id user : values_[id].users) enter(user);
  }
  if (refused) return refused;
  for (const Id id : landings) {
    moves_.landed[id] *= gains_.at(values_.data_of(id));
    into.push_back(values_[id].args[std::size_t(values_.constant_side(id))]);
  }
  left_ = Factor();
  for (const auto &[id, gain] : gains_) {
    moves_.times[id] *= gain.inverse();
    if (values_[id].output) left_ = gain;
  }
  for (const Id id : seeds) moves_.gone[id] = true;
  return refused;
}

} // namespace broadloom::scale
