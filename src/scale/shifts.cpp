// See shifts.hpp.
#include "scale/shifts.hpp"

#include "support/reasons.hpp"

namespace broadloom::scale {

using ops::Op;
using support::Reason;

namespace {

// data + constant, constant + data, or data - constant.
struct Shift {
  Id data = 0, constant = 0;
  bool minus = false;
};

std::optional<Shift> shift_of(const Values &values, Id id) {
  const Value &value = values[id];
  if (value.constant || !value.is_real() || !(value.is(Op::Add) || value.is(Op::Sub))) return {};
  const Id a = value.args[0], b = value.args[1];
  Shift shift{a, b, value.is(Op::Sub)};
  if (values[a].constant && !values[b].constant && value.is(Op::Add))
    shift = {b, a, false};
  else if (!values[b].constant)
    return {};
  // Neither may the rest be smaller than the sum or of another type.
  const Value &data = values[shift.data], &constant = values[shift.constant];
  const bool fits = constant.weak || promote(constant.dtype, value.dtype) == value.dtype;
  if (!fits || data.dtype != value.dtype || data.axes != value.axes) return {};
  return shift;
}

bool nested(AxisSet a, AxisSet b) { return a.contains(b) || b.contains(a); }

// sum((z + q) * w): the shift, and the side of the product on which it stands.
struct Contraction {
  Shift shift;
  std::size_t side = 0;
};

std::optional<Contraction> contraction_of(const Values &values, Id id) {
  const Value &value = values[id];
  const ExprNode &node = value.node();
  if (value.constant || node.kind != ExprKind::Fold || node.args.size() != 1 ||
      node.use->accumulator.fold() != Fold::Sum || !node.use->like.empty() || !value.is_real())
    return {};
  const Id product = value.args[0];
  if (!values[product].is(Op::Mul) || values[product].users.size() != 1 || values[product].output)
    return {};
  for (const std::size_t side : {0, 1}) {
    const Id sum = values[product].args[side], weight = values[product].args[1 - side];
    const std::optional<Shift> shift = shift_of(values, sum);
    if (!shift || !values[weight].constant || values[sum].output) continue;
    const AxisSet data = values[shift->data].axes | values[weight].axes;
    const AxisSet constant = values[shift->constant].axes | values[weight].axes;
    if (data.contains(value.folded) && constant.contains(value.folded) &&
        values.is_firm(value.folded))
      return Contraction{*shift, side};
  }
  return {};
}

class Shifts {
public:
  Shifts(const SpecData &data, const Values &values, std::vector<Decision> &notes)
      : data_(data), values_(values), notes_(notes), constants_(values, built_) {}

  std::optional<SpecData> run() {
    find();
    if (!any_) return {};
    return rebuild(data_, values_, built_, [&](Id id, const std::vector<Expr> &args) {
      if (out_.contains(id)) return taken_out(id, args);
      return joined_.contains(id) ? joined(id) : Expr();
    });
  }

private:
  void find() {
    std::vector<bool> taken(values_.size()); // by another
    for (Id id = values_.size(); id-- > 0;) {
      const std::optional<Shift> outer = shift_of(values_, id);
      if (!outer || taken[id]) continue;
      const Value &inner = values_[outer->data];
      const std::optional<Shift> shift = shift_of(values_, outer->data);
      if (!shift || inner.users.size() != 1 || inner.output ||
          !nested(values_[shift->constant].axes, values_[outer->constant].axes))
        continue;
      joined_.emplace(id, std::pair{*outer, *shift});
      taken[outer->data] = true;
      note(Reason::ShiftJoined, shift->constant, "joined with " + values_.name_of(outer->constant));
    }
    // A sum that two contractions read goes only where both take it out.
    std::map<Id, Contraction> found;
    for (Id id = 0; id < values_.size(); ++id)
      if (const std::optional<Contraction> contraction = contraction_of(values_, id))
        found.emplace(id, *contraction);
    for (const auto &[id, contraction] : found) {
      const Id sum = values_[values_[id].args[0]].args[contraction.side];
      bool all = !taken[sum] && !joined_.contains(sum);
      for (const Id product : values_[sum].users) {
        all = all && !values_[product].output;
        for (const Id user : values_[product].users) all = all && found.contains(user);
      }
      if (!all) continue;
      out_.emplace(id, contraction);
      note(Reason::ShiftTakenOut, contraction.shift.constant,
           "taken out of a sum, times " +
               values_.name_of(values_[values_[id].args[0]].args[1 - contraction.side]));
    }
  }

  void note(Reason reason, Id constant, const std::string &text) {
    any_ = true;
    const std::string name = values_.name_of(constant);
    notes_.push_back(support::decide(reason, name, "moved", name + ": " + text));
  }

  // (z - a) + b as z + (b - a); -(a + b) as a difference.
  Expr joined(Id id) {
    const auto &[outer, inner] = joined_.at(id);
    const Expr &z = built_[inner.data], &a = built_[inner.constant], &b = built_[outer.constant];
    const Place &where = values_[id].node().where;
    if (inner.minus && outer.minus)
      return make_op(Op::Sub, {z, constants_.op(Op::Add, a, b)}, where);
    const Expr both = inner.minus   ? constants_.op(Op::Sub, b, a)
                      : outer.minus ? constants_.op(Op::Sub, a, b)
                                    : constants_.op(Op::Add, a, b);
    return make_op(Op::Add, {z, both}, where);
  }

  Expr taken_out(Id id, const std::vector<Expr> &) {
    const Contraction &contraction = out_.at(id);
    const Value &product = values_[values_[id].args[0]];
    const ExprNode &fold = values_[id].node();
    const auto sum = [&](Id of) {
      std::vector<Expr> factors(2);
      factors[contraction.side] = built_[of];
      factors[1 - contraction.side] = built_[product.args[1 - contraction.side]];
      // Without a list, all axes: those of a part may be fewer, and it would fold the same.
      return with_args(fold, {make_op(Op::Mul, std::move(factors), product.node().where)});
    };
    return make_op(contraction.shift.minus ? Op::Sub : Op::Add,
                   {sum(contraction.shift.data), sum(contraction.shift.constant)}, fold.where);
  }

  const SpecData &data_;
  const Values &values_;
  std::vector<Decision> &notes_;
  std::vector<Expr> built_;
  Constants constants_;
  std::map<Id, std::pair<Shift, Shift>> joined_; // (outer, inner)
  std::map<Id, Contraction> out_;
  bool any_ = false;
};

} // namespace

std::optional<SpecData> move_shifts(const SpecData &data, const Values &values,
                                    std::vector<Decision> &notes) {
  return Shifts(data, values, notes).run();
}

} // namespace broadloom::scale
