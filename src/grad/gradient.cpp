// The gradient of a kernel, from outputs to inputs.
//
//   modes become expressions     accumulate(sum) x * y   ->  sum(x, j) * y
//       reduce(sum) e  ->  sum(e, j)
//   each output is seeded        d_z flows into its expression
//   one backward sweep           sweep.cpp, folds.cpp; the rules of operations: rules.cpp
//   inputs collect               out d_x = sum(what flowed into x, like=x)
//   sums become modes            out d_x = reduce(sum, like=x) what flowed into x: modes.cpp
//
// sum(.., like=x) folds over all that x lacks or has as 1 and repeats what x has more of: it undoes
// every broadcast, also one that is known at run time only.
#include "analysis/analyse.hpp"
#include "expr/window.hpp"
#include "facts/substitute.hpp"
#include "grad/bounds.hpp"
#include "grad/choose_saved.hpp"
#include "grad/declarations.hpp"
#include "grad/folds.hpp"
#include "grad/forward.hpp"
#include "grad/labels.hpp"
#include "grad/modes.hpp"
#include "grad/named_parts.hpp"
#include "grad/named_starts.hpp"
#include "grad/placed.hpp"
#include "grad/request.hpp"
#include "grad/scans_first.hpp"
#include "grad/share.hpp"
#include "grad/sweep.hpp"
#include "grad/through_lets.hpp"
#include "grad/tidy.hpp"
#include "grad/weights.hpp"
#include "grad/whole.hpp"
#include "grad/widen.hpp"
#include "scale/fold.hpp"
#include "spec/declared.hpp"
#include "spec/expand.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"

#include <broadloom/gradient.hpp>

#include <algorithm>

namespace broadloom {

namespace grad {
namespace {

using support::fail;

class Gradient {
public:
  Gradient(const SpecData &data, const std::vector<std::string> &wrt,
           const GradientOptions &options, const SaveWithin *within = nullptr)
      : data_(scale::unfolded(spec::expand_calls(data, spec::Calls::WithoutDerivatives))),
        wrt_(wrt), scales_(data.scales), options_(options), within_(within),
        typed_(analysis::analyse(data_)), facts_(data_, wrt), declarations_(data_, typed_, facts_),
        forward_(facts_), tidier_(facts_, Tidier::Reads::Fewer) {}

  struct Made {
    SpecData backward, forward;
    bool to_check; // analyse() may find something wrong with it
    Saved saved = {};
  };
  Made run() {
    for (const OutputDecl &output : data_.outputs)
      if (output.at)
        fail("E0601", "output '" + output.name + "' is written at positions", output.where,
             "write out " + output.name +
                 " += sum(.., like=x[..]), where an input x lends the shape");
    check_request(facts_, data_, typed_, declarations_.inputs(), {wrt_, options_.of},
                  {"to take the gradient by", "to take the gradient of", "gradient"});
    begin();
    Sweep sweep(facts_);
    for (std::size_t k = 0; k < data_.outputs.size(); ++k)
      if (asked(k)) seed(sweep, k);
    sweep.run();
    for (const std::string &name : wrt_) add_output(sweep, name);
    for (OutputDecl &output : made_.outputs) output.value = tidier_.run(output.value);
    SpecData forward = data_;
    forward.name += "_forward";
    forward.scales = scales_;
    come_by_forward_values(forward);
    if (options_.value)
      made_.outputs.insert(made_.outputs.begin(), data_.outputs.begin(), data_.outputs.end());
    declare_windows(made_, declarations_.inputs());
    // The types that a clause meets are known only now.
    return {std::move(made_), std::move(forward), facts_.calls().used() || sums_through_windows_,
            saved_};
  }

private:
  bool asked(std::size_t output) const {
    if (data_.outputs[output].update) return false; // a state of the next call
    if (options_.of.empty()) return is_continuous(typed_.outputs[output].dtype);
    return std::count(options_.of.begin(), options_.of.end(), data_.outputs[output].name) > 0;
  }

  void begin() {
    made_ = spec::emptied(data_, "_grad");
    made_.scales = scales_;
    for (const auto &input : declarations_.inputs())
      if (!input->window) made_.inputs.push_back(input);
  }

  // ---- seeds

  void seed(Sweep &sweep, std::size_t k) {
    const Expr value = whole_output(facts_, typed_, data_.outputs[k], k);
    forward_.add(value);
    tidier_.leave(value);
    const spec::TypedOutput &output = typed_.outputs[k];
    Expr g = new_input({"d_" + output.name, output.dtype, output.axes, may_be_one(typed_, k), value,
                        data_.outputs[k].where});
    facts_.declare(g.node()->input->name, output.axes);
    facts_.declare_shape(g.node()->input->name, value);
    const facts::Terms t(data_.outputs[k].where);
    if (is_complex(output.dtype) && !facts_.is_complex(value)) g = t.op(ops::Op::Real, {g});
    sweep.seed(value, g);
  }

  Expr new_input(const NewInput &wanted) {
    made_.inputs.push_back(declarations_.declare(wanted));
    return make_input(made_.inputs.back(), wanted.where);
  }

  // ---- results

  void add_output(Sweep &sweep, const std::string &input) {
    const InputDecl &decl =
        **std::find_if(declarations_.inputs().begin(), declarations_.inputs().end(),
                       [&](const auto &d) { return d->name == input; });
    const facts::Terms t(decl.where);
    const std::vector<int> &axes = typed_.inputs[facts_.space().index_of(decl)].axis_of_dim;
    Expr total = come_together(sweep, decl, decl.where);
    std::string like = input; // of nothing
    for (const auto &window : declarations_.inputs())
      if (window->window && window->window->of->name == input) {
        total = t.add(total, come_together(sweep, *window, decl.where));
        sums_through_windows_ = true;
        like = window->name;
      }
    if (!total.node()) {
      FoldUse use;
      use.like = {like};
      total = make_fold(use, {make_cast(decl.dtype, t.num(0), decl.where)}, {}, decl.where);
    }
    OutputDecl output;
    output.name = declarations_.fresh("d_" + input);
    output.add = options_.add;
    output.dtype = decl.dtype;
    output.where = decl.where;
    output.value = facts_.calls().restored(total);
    // In the order of the input's dims.
    if (!std::is_sorted(axes.begin(), axes.end())) {
      output.has_axes = true;
      for (int axis : axes) output.axes.push_back(facts_.axis_ref(axis));
    }
    made_.outputs.push_back(std::move(output));
  }

  // All that has flowed into an input or a window, in the shape of the input; empty where nothing
  // has. One sum for all that is folded over the same positions; along a dim of this input that may
  // have been repeated, too, for one of them and not for another.
  Expr come_together(Sweep &sweep, const InputDecl &decl, const Place &where) {
    const spec::TypedInput &typed = typed_.inputs[facts_.space().index_of(decl)];
    const facts::Terms t(where);
    const bool may_be_repeated =
        std::any_of(typed.axis_of_dim.begin(), typed.axis_of_dim.end(),
                    [&](int axis) { return facts_.may_be_repeated(std::vector{decl.name}, axis); });
    std::vector<Expr> parts;
    for (const Expr &flowed : sweep.into_input(decl.name)) {
      Expr *met = nullptr;
      for (Expr &part : parts)
        if (are_alike(part, flowed, may_be_repeated ? expr::AxisSet() : typed.axes())) met = &part;
      if (met)
        *met = t.add(*met, flowed);
      else
        parts.push_back(flowed);
    }
    FoldUse like = sweep.sum_into_input(decl);
    like.like = {decl.name};
    Expr total;
    for (const Expr &part : parts) total = t.add(total, make_fold(like, {part}, {}, where));
    return total;
  }

  // Do two values have the same positions along all axes that are not among these? x[k=1] beside
  // z[k] has not.
  bool are_alike(const Expr &a, const Expr &b, expr::AxisSet but) {
    const expr::AxisSet axes = facts_.axes(a) - but;
    if (axes != facts_.axes(b) - but) return false;
    for (const int axis : axes) {
      const bool firm = facts_.is_firm(expr::AxisSet::of(axis));
      if (firm && typed_.axes[std::size_t(axis)].labelled) continue;
      const std::vector<std::string> of_a = facts_.lenders(a, axis), of_b = facts_.lenders(b, axis);
      // Without a label an axis of one output may be longer than that of another, where nothing
      // stretches, too.
      const bool meet = std::ranges::any_of(
          of_a, [&](const std::string &name) { return std::ranges::count(of_b, name) != 0; });
      if (firm ? !meet : of_a != of_b) return false;
    }
    return true;
  }

  // ---- forward values

  void come_by_forward_values(SpecData &forward) {
    std::vector<Expr> roots;
    for (const OutputDecl &output : made_.outputs) roots.push_back(output.value);
    std::unordered_map<const ExprNode *, Expr> instead;
    std::unordered_map<std::uint32_t, Expr> saved; // equal values once
    const auto save_once = [&](const Expr &value) {
      Expr &input = saved[facts_.node(value).index];
      if (!input.node()) input = save("saved_" + std::to_string(saved.size() - 1), value, forward);
      instead[value.node()] = input;
    };
    if (within_ != nullptr)
      for (const Expr &value :
           choose_values(typed_, facts_, forward_, forward_.read_by(roots, Policy::automatic),
                         *within_, saved_))
        save_once(value);
    for (const ReadValue &read : forward_.read_by(roots, options_.policy)) {
      if (within_ != nullptr) break;
      const facts::Terms t(read.value.node()->where);
      Expr &now = instead[read.value.node()];
      if (options_.policy == Policy::save)
        save_once(read.value);
      else if (read.kept)
        now = t.op(ops::Op::Keep, {read.value});
      else if (read.recomputed || (options_.policy == Policy::recompute && !read.is_reduction()))
        now = t.op(ops::Op::Recompute, {read.value});
    }
    const std::vector<Expr> changed = facts::exchange(roots, [&](const ExprNode &node) {
      auto found = instead.find(&node);
      if (found == instead.end() &&
          is_another_name(node)) // one mark is enough, an input needs none
        found = instead.find(value_of(node.args[0]).node());
      return found == instead.end() ? Expr() : found->second;
    });
    for (std::size_t k = 0; k < changed.size(); ++k) made_.outputs[k].value = changed[k];
  }

  Expr save(const std::string &name, const Expr &value, SpecData &forward) {
    const std::vector<int> axes = facts_.axes(value).list();
    std::vector<bool> may_be_one;
    for (const int axis : axes) may_be_one.push_back(facts_.may_be_one(value, axis));
    const Place where = value.node()->where;
    const Expr input = new_input({name, facts_.dtype(value), axes, may_be_one, value, where});
    OutputDecl output;
    output.name = made_.inputs.back()->name;
    output.dtype = facts_.dtype(value);
    output.where = where;
    output.value = value;
    forward.outputs.push_back(std::move(output));
    return input;
  }

  const SpecData data_;
  const std::vector<std::string> &wrt_;
  const std::optional<Scales> scales_; // derivatives are those of the kernel as it is written
  const GradientOptions &options_;
  const SaveWithin *const within_; // null: all is saved, or nothing
  Saved saved_;
  spec::TypedSpec typed_;
  facts::Facts facts_;
  Declarations declarations_;
  ForwardValues forward_;
  Tidier tidier_;
  SpecData made_;
  bool sums_through_windows_ = false;
};

} // namespace
} // namespace grad

namespace {
LoopSpec spec_of(SpecData data) {
  return LoopSpec(std::make_shared<const SpecData>(std::move(data)));
}
} // namespace

// A kernel and, where forward values are saved, the one that gives them.
struct Derived {
  LoopSpec backward, forward;
  grad::Saved saved = {};
};

// `kernel` has calls, or parts of it became arrays.
static Derived derived_of(const SpecData &kernel, const std::vector<std::string> &wrt,
                          const GradientOptions &options, const SaveWithin *within) {
  const auto of_part = [](const SpecData &data, const std::vector<std::string> &names,
                          const GradientOptions &how) {
    return grad::Gradient(data, names, how).run().backward;
  };
  SpecData expanded = spec::expand_calls(kernel, spec::Calls::WithoutDerivatives);
  grad::Saved told;
  const auto finished = [&](SpecData made, SpecData forward, bool has_arrays) {
    has_arrays = grad::lay_weights(made) || has_arrays;
    grad::write_as_modes(made, made.outputs.size() - wrt.size(), has_arrays);
    return Derived{spec_of(std::move(made)), spec_of(std::move(forward)), told};
  };
  if (auto split = spec::split_lets(expanded, analysis::analyse)) {
    if (auto named = grad::name_starts(expanded, *split)) {
      expanded = std::move(*named);
      split = spec::split_lets(expanded, analysis::analyse);
    }
    grad::ChooseSaved choose;
    if (within != nullptr)
      choose = [&](const std::vector<std::string> &read) {
        return grad::choose_lets(expanded, *split, *within, read, told);
      };
    auto [made, saved] = grad::through_lets(expanded, *split, wrt, options, of_part, choose);
    grad::save_lets(expanded, *split, saved);
    expanded.name += "_forward";
    return finished(std::move(made), std::move(expanded), true);
  }
  auto [made, forward, to_check, saved] = grad::Gradient(kernel, wrt, options, within).run();
  told = saved;
  const grad::Decls bounds = spec::declared_inputs(expanded);
  grad::keep_bounds(made, bounds);
  grad::share(made);
  if (to_check) {
    grad::compute_scans_first(made, bounds);
    analysis::analyse(made);
  }
  const bool has_arrays =
      std::ranges::any_of(made.lets, [](const Expr &let) { return !let.node()->axes.empty(); });
  return finished(std::move(made), std::move(forward), has_arrays);
}

// Unlabelled dims and numbers of axes lie where the labels of a kernel put them, of which the
// derived one may have more or fewer. Where that would move one, the kernel is taken with a label
// for each axis.
static Derived derived_in_place(const SpecData &kernel, const std::vector<std::string> &wrt,
                                const GradientOptions &options, const SaveWithin *within) {
  const SpecData expanded = spec::expand_calls(kernel, spec::Calls::WithoutDerivatives);
  if (grad::has_labels_alone(expanded)) return derived_of(kernel, wrt, options, within);
  std::exception_ptr refused;
  try {
    Derived made = derived_of(kernel, wrt, options, within);
    const SpecData backward =
        spec::expand_calls(made.backward.data(), spec::Calls::WithoutDerivatives);
    if (grad::lies_as_before(expanded, backward)) return made;
  } catch (const Error &error) {
    if (!grad::is_of_places(error.code())) throw;
    refused = std::current_exception();
  }
  if (const auto labelled = grad::labelled(expanded, grad::Stretch::Kept))
    return derived_of(*labelled, wrt, options, within);
  if (refused) std::rethrow_exception(refused);
  support::fail("E0607",
                "an input without labels lies elsewhere in what flows back than in the kernel",
                support::with_text(kernel.where, kernel.source.get()),
                "label the dims of all inputs, and name axes by their labels");
}

// Parts of a kernel become arrays, which cost memory, only where there is no other way.
static Derived derived(const SpecData &kernel, const std::vector<std::string> &wrt,
                       const GradientOptions &options, const SaveWithin *within = nullptr) {
  grad::require_once(kernel, {wrt, options.of});
  try {
    return derived_in_place(kernel, wrt, options, within);
  } catch (const SpecError &error) {
    if (error.code() != "E0601") throw;
    const auto named =
        grad::name_parts(spec::expand_calls(kernel, spec::Calls::WithoutDerivatives), wrt);
    if (!named) throw;
    return derived_in_place(*named, wrt, options, within);
  }
}

LoopSpec gradient(const LoopSpec &spec, const std::vector<std::string> &wrt,
                  const GradientOptions &options) try {
  const support::FloatWorld world;
  return derived(spec.data(), wrt, options).backward;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

LoopSpec saving_forward(const LoopSpec &spec, const std::vector<std::string> &wrt,
                        const GradientOptions &options) try {
  const support::FloatWorld world;
  GradientOptions saving = options;
  saving.policy = Policy::save;
  return derived(spec.data(), wrt, saving).forward;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

SavingGradient gradient_within(const LoopSpec &spec, const std::vector<std::string> &wrt,
                               const SaveWithin &within, const GradientOptions &options) try {
  const support::FloatWorld world;
  GradientOptions saving = options;
  saving.policy = Policy::save;
  Derived made = derived(spec.data(), wrt, saving, &within);
  return {std::move(made.forward), std::move(made.backward), made.saved.bytes, made.saved.saved,
          made.saved.wanted};
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
