// See fold.hpp. Rounds of three steps, each of which makes a new kernel: shifts, backward, forward;
// until none has anything to do.
#include "scale/fold.hpp"

#include "scale/build.hpp"
#include "scale/rebuild.hpp"
#include "scale/shifts.hpp"
#include "spec/expand.hpp"
#include "spec/materialise.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace broadloom::scale {

using ops::Op;
using ops::Scaling;
using support::Reason;

namespace {

constexpr int most_rounds =
    200; // of networks of so many layers that hand scales on to each other one by one

std::string names(const Values &values, std::vector<Id> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  const auto name = [&](Id id) { return values.name_of(id); };
  return ids.empty() ? "nothing, as nothing notices it" : support::joined(ids, name, "; ");
}

class Folder {
public:
  Folder(const SpecData &data, std::vector<Decision> &notes, const KnownParameters &parameters)
      : before_(data), data_(data), notes_(notes), parameters_(parameters) {}

  SpecData run() {
    if (const char *why = in_the_way(before_)) {
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
    if (!values[id].is_real()) {
      const DType type = values[id].dtype;
      if (is_float(type) || is_complex(type)) // f16 and bf16 have too few digits
        refusals[id] = {Reason::ScaleType, "the product is " + std::string(name(type)) +
                                               ": only values of f32 and f64 are scaled"};
      return false;
    }
    const Factor factor = moves.scale_of(values, id);
    std::vector<Id> into;
    const Id base = values.data_of(id);
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
    for (const auto &[base, halves] : factor.halves())
      number = number && values[base.constant].weak;
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

const char *in_the_way(const SpecData &data) {
  facts::Facts facts(data, {});
  const auto scoped = [&](const Expr &expr) {
    facts.add(expr);
    return facts.is_scoped(expr);
  };
  for (const Expr &let : data.lets)
    if (scoped(let)) return "an extent or an index does not say of which inputs (of=)";
  for (const OutputDecl &output : data.outputs) {
    if (output.mode.kind == ModeKind::accumulate)
      return "the mode accumulate folds operands, not values";
    bool any = scoped(output.value);
    for (const Expr &init : output.mode.use.init) any = any || scoped(init);
    if (any) return "an extent or an index does not say of which inputs (of=)";
  }
  return nullptr;
}

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
