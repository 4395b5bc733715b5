// See fold.hpp. Rounds of three steps, each of which makes a new kernel: shifts, backward, forward; until none has anything to do.
#include "scale/fold.hpp"

#include "scale/moves.hpp"
#include "scale/rebuild.hpp"
#include "scale/shifts.hpp"
#include "spec/expand.hpp"
#include "spec/materialise.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"

#include <algorithm>

namespace broadloom::scale {

using ops::Op;
using ops::Scaling;
using support::Reason;

namespace {

constexpr int most_rounds =
    200; // of networks of so many layers that hand scales on to each other one by one

// Each value by its row of the table in moves.hpp: now = before * times.
class Build {
public:
  Build(const SpecData &data, const Values &values, const Moves &moves)
      : data_(data), values_(values), moves_(moves), constants_(values, built_) {}

  SpecData run() {
    return rebuild(data_, values_, built_,
                   [&](Id id, const std::vector<Expr> &args) { return made(id, args); });
  }

private:
  Expr made(Id id, const std::vector<Expr> &args) {
    const Value &value = values_[id];
    if (value.constant) return {};
    const int side = values_.constant_side(id);
    if (side >= 0) return product(id, std::size_t(side), args);
    switch (values_.scaling(id)) {
    case Scaling::Joint:
    case Scaling::Homogeneous:
    case Scaling::Linear: return over(id, 0, moves_.times[id], args);
    case Scaling::Select: return over(id, 1, moves_.times[id], args);
    case Scaling::Invariant:
      for (const Id arg : value.args)
        if (!values_[arg].constant) return over(id, 0, moves_.times[arg], args);
      return {};
    case Scaling::Quotient: {
      Factor factor = moves_.times[id];
      factor *= moves_.times[value.args[1]];
      return values_[value.args[0]].constant ? over(id, 0, factor, args) : Expr();
    }
    case Scaling::None:
    case Scaling::Bilinear:
    case Scaling::Square:
    case Scaling::Root:
    case Scaling::Power: return {};
    }
    return {};
  }

  // The same, with the constants among its arguments times the factor.
  Expr over(Id id, std::size_t first, const Factor &factor, std::vector<Expr> args) {
    if (factor.is_one()) return {};
    for (std::size_t k = first; k < args.size(); ++k)
      if (values_[values_[id].args[k]].constant)
        args[k] = constants_.product(values_[id].args[k], factor);
    return with_args(values_[id].node(), std::move(args));
  }

  Expr product(Id id, std::size_t side, std::vector<Expr> args) {
    if (moves_.gone[id]) return args[1 - side];
    const Factor &landed = moves_.landed[id];
    if (landed.is_one()) return {};
    const Value &value = values_[id];
    if (value.is(Op::Div))
      return constants_.product(args[0], moves_.scale_of(values_, id), value.node().where);
    args[side] = constants_.product(value.args[side], landed);
    return with_args(value.node(), std::move(args));
  }

  const SpecData &data_;
  const Values &values_;
  const Moves &moves_;
  std::vector<Expr> built_;
  Constants constants_;
};

std::string names(const Values &values, std::vector<Id> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::string text;
  for (const Id id : ids) text += (text.empty() ? "" : "; ") + values.name_of(id);
  return text.empty() ? "nothing, as nothing notices it" : text;
}

class Folder {
public:
  Folder(const SpecData &data, std::vector<Decision> &notes, const KnownParameters &parameters)
      : before_(data), data_(data), notes_(notes), parameters_(parameters) {}

  SpecData run() {
    if (const char *why = in_the_way()) {
      notes_.push_back(support::decide(Reason::ScaleKernel, "", "kept", why));
      return before_;
    }
    bool moved = false;
    for (int round = 0; round < most_rounds && step(); ++round) moved = true;
    notes_.insert(notes_.end(), stays_.begin(), stays_.end());
    if (!moved) return before_;
    keep_axis_order(before_, data_);
    return data_;
  }

private:
  // What means another thing in another place: an operand that a mode folds, an extent of what stands around it.
  const char *in_the_way() {
    facts::Facts facts(data_, {});
    const auto scoped = [&](const Expr &expr) {
      facts.add(expr);
      return facts.is_scoped(expr);
    };
    for (const Expr &let : data_.lets)
      if (scoped(let)) return "an extent or an index does not say of which inputs (of=)";
    for (const OutputDecl &output : data_.outputs) {
      if (output.mode.kind == ModeKind::accumulate)
        return "the mode accumulate folds operands, not values";
      bool any = scoped(output.value);
      for (const Expr &init : output.mode.use.init) any = any || scoped(init);
      if (any) return "an extent or an index does not say of which inputs (of=)";
    }
    return nullptr;
  }

  // One step that changes something; false where there is none, and `stays_` says why.
  bool step() {
    facts::Facts facts(data_, {});
    const Values values(data_, facts, parameters_);
    if (std::optional<SpecData> shifted = move_shifts(data_, values, notes_)) {
      data_ = std::move(*shifted);
      return true;
    }
    stays_.clear();
    std::map<Id, Refusal> refusals;
    bool any = false;
    {
      Moves moves(values);
      Mover mover(values, moves);
      for (Id id = values.size(); id-- > 0;)
        if (values.constant_side(id) >= 0) any = tried(values, moves, mover, id, refusals) || any;
      if (any) data_ = Build(data_, values, moves).run();
    }
    if (any) return true;
    Moves moves(values);
    Mover mover(values, moves);
    for (Id id = 0; id < values.size(); ++id)
      if (refusals.contains(id) && !moves.gone[id])
        any = tried_forward(values, moves, mover, id, refusals.at(id)) || any;
    if (any) data_ = Build(data_, values, moves).run();
    return any;
  }

  bool tried(const Values &values, const Moves &moves, Mover &mover, Id id,
             std::map<Id, Refusal> &refusals) {
    if (!values[id].is_real()) return false;
    const Factor factor = moves.scale_of(values, id);
    std::vector<Id> into;
    const Id base = values[id].args[1 - std::size_t(values.constant_side(id))];
    std::optional<Refusal> refused;
    if (values[base].dtype != values[id].dtype)
      refused = Refusal{Reason::ScaleType, "the product has another type than what is scaled"};
    else
      refused = mover.backward(id, into);
    if (refused)
      refusals[id] = *refused;
    else
      moved(Reason::ScaleBackward, "back into ", values, factor, into);
    return !refused;
  }

  bool tried_forward(const Values &values, const Moves &moves, Mover &mover, Id id,
                     const Refusal &back) {
    const Factor factor = moves.scale_of(values, id);
    std::vector<Id> into;
    if (const std::optional<Refusal> refused = mover.forward(id, into)) {
      stays(values, id, factor, back, *refused);
      return false;
    }
    moved(Reason::ScaleForward, "on into ", values, factor, into);
    return true;
  }

  void moved(Reason reason, const std::string &way, const Values &values, const Factor &factor,
             const std::vector<Id> &into) {
    const std::string name = factor.name(values), where = names(values, into);
    notes_.push_back(support::decide(reason, name, where, name + ": " + way + where));
  }

  // A factor along what is summed is no scale, but the weight itself.
  void stays(const Values &values, Id id, const Factor &factor, const Refusal &back,
             const Refusal &on) {
    for (const Id user : values[id].users) {
      const Value &fold = values[user];
      if (fold.node().kind == ExprKind::Fold && values.scaling(user) == Scaling::Linear &&
          !(fold.folded & factor.axes(values)).empty())
        return;
    }
    for (const OutputDecl &output : data_.outputs)
      if (output.mode.kind == ModeKind::reduce && values.id_of(output.value) == id) return;
    Refusal why = back.reason == Reason::ScaleData ? on : back;
    if (back.reason == Reason::ScaleData && on.reason == Reason::ScaleOutput)
      why = {back.reason, back.text + ", and " + on.text};
    // Nor is the slope of a leaky relu.
    bool number = true;
    for (const auto &[constant, halves] : factor.halves()) number = number && values[constant].weak;
    if (number && (why.reason == Reason::ScaleShared || why.reason == Reason::ScaleData)) return;
    const std::string name = factor.name(values);
    stays_.push_back(support::decide(why.reason, name, "stays", name + ": stays; " + why.text,
                                     {{"back", back.text}, {"on", on.text}}));
  }

  const SpecData &before_;
  SpecData data_;
  std::vector<Decision> &notes_;
  std::vector<Decision> stays_;
  const KnownParameters &parameters_;
};

bool has_parameters(const SpecData &data) {
  expr::Walker walker;
  bool any = false;
  const auto visit = [&](const ExprNode &node) {
    any = any || (node.kind == ExprKind::Input && node.input->role == InputRole::parameter);
  };
  for (const OutputDecl &output : data.outputs) walker.walk(output.value.node(), visit);
  return any;
}

} // namespace

bool is_wanted(const SpecData &data) {
  return data.scales ? *data.scales == Scales::fold : data.relaxed;
}

SpecData fold_scales(const SpecData &data, std::vector<Decision> &notes,
                     const KnownParameters &parameters) {
  if (!has_parameters(data)) return data;
  return Folder(data, notes, parameters).run();
}

SpecData unfolded(SpecData data) {
  data.scales = Scales::keep;
  return data;
}

} // namespace broadloom::scale
