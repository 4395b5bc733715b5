// See named_parts.hpp.
#include "grad/named_parts.hpp"

#include "analysis/analyse.hpp"
#include "expr/exchange.hpp"
#include "expr/window.hpp"
#include "facts/substitute.hpp"
#include "grad/batch.hpp"
#include "grad/recurrence.hpp"
#include "spec/own_axis.hpp"
#include "support/free_name.hpp"

#include <algorithm>
#include <set>

namespace broadloom::grad {
namespace {

class Parts {
public:
  Parts(const SpecData &data, const std::vector<std::string> &wrt) : data_(data), wrt_(wrt) {
    taken_ = spec::names_of(data);
    for (const OutputDecl &output : data.outputs) whole_.insert(output.value.node());
    for (const auto &[name, let] : spec::lets_by_name(data)) {
      is_split_ = is_split_ || !let.node()->axes.empty();
      if (!let.node()->axes.empty()) whole_.insert(let.node()->args[0].node());
    }
    for (const auto &input : data.inputs)
      if (input->window) windows_[input->name] = input.get();
  }

  std::optional<SpecData> run() {
    SpecData made = data_;
    spec::change_values(made, [&](const Expr &expr) {
      return exchange_.run(expr, [&](const ExprNode &node) {
        if (node.kind != ExprKind::Fold) return Expr();
        const Expr sum = named_sum(node);
        return sum.node() ? sum : by_rows_in_order(node);
      });
    });
    if (!any_ || !list_axes(made)) return std::nullopt;
    made.lets.insert(made.lets.begin(), made_.begin(), made_.end()); // which others read ahead
    return made;
  }

private:
  std::string fresh(const std::string &name) { return support::fresh_name(name, taken_); }

  // Modes keep the axes of the inputs of least rank, which an array may be now.
  bool list_axes(SpecData &made) const {
    const spec::TypedSpec typed = analysis::analyse(data_);
    for (std::size_t k = 0; k < made.outputs.size(); ++k) {
      OutputDecl &output = made.outputs[k];
      if (output.mode.kind == ModeKind::plain || output.has_axes || !output.mode.use.like.empty())
        continue;
      output.has_axes = true;
      for (const int axis : typed.outputs[k].axes) {
        if (!typed.axes[std::size_t(axis)].labelled) return false;
        output.axes.emplace_back(typed.axes[std::size_t(axis)].name);
      }
    }
    return true;
  }

  // ---- sums through gathers

  Expr named_sum(const ExprNode &node) {
    if (node.use->like.size() != 1 || whole_.contains(&node)) return {};
    const auto window = windows_.find(node.use->like[0]);
    if (window == windows_.end() || !window->second->window->is_gather()) return {};
    const InputDecl &of = *window->second->window->of;
    std::vector<std::string> axes;
    for (std::size_t d = 0; d < window->second->window->forms.size(); ++d)
      axes.push_back(of.labelled() ? of.dims[d].label : spec::own_axis(of.name, d));
    any_ = true;
    const Expr let = make_let(fresh(of.name + "_sum"), with_args(node, exchange_.args_of(node)),
                              node.where, {axes.begin(), axes.end()});
    return make_window(let, spec::along(axes), node.where);
  }

  // ---- folds in order

  facts::Facts &facts() {
    if (!facts_) {
      facts_.emplace(data_, wrt_);
      for (const OutputDecl &output : data_.outputs) facts_->add(output.value);
    }
    return *facts_;
  }

  // The labels of axes; none where one has none.
  std::optional<std::vector<std::string>> labels(expr::AxisSet axes) {
    std::vector<std::string> names;
    for (const AxisRef &axis : facts().axis_refs(axes)) {
      const auto *label = std::get_if<std::string>(&axis.value());
      if (label == nullptr) return std::nullopt;
      names.push_back(*label);
    }
    return names;
  }

  Expr by_rows_in_order(const ExprNode &node) {
    if (is_split_ || node.use->accumulator.fold() != Fold::User || !node.use->like.empty() ||
        !node.use->accumulator.definition()->combine.empty())
      return {};
    const Expr fold = with_args(node, node.args);
    facts().add(fold);
    const auto folded = labels(folded_axes(facts(), node)), kept = labels(facts().axes(fold));
    if (!folded || folded->size() != 2 || !kept) return {};
    const facts::Terms t(node.where);
    const Steps steps = steps_of(*node.use, t);
    const std::string name(spec::name_of(node.use->accumulator));
    const std::vector<Expr> args = exchange_.args_of(node);
    std::vector<Expr> elements, starts;
    for (std::size_t k = 0; k < args.size(); ++k) {
      const Expr wide = facts().is_continuous(node.args[k]) && !facts().is_complex(node.args[k])
                            ? make_cast(DType::F64, args[k], node.where)
                            : args[k];
      if (k < node.folded)
        elements.push_back(as_array(name, node.args[k], wide));
      else
        starts.push_back(wide);
    }
    for (std::size_t k = node.folded; k < node.args.size(); ++k)
      if (const auto own = labels(facts().axes(node.args[k]));
          !own || (!own->empty() && own != kept))
        return {};
    if (std::ranges::any_of(elements, [](const Expr &element) { return !element.node(); }))
      return {};

    std::vector<std::string> axes{folded->front()}, lets;
    axes.insert(axes.end(), kept->begin(), kept->end());
    for (const std::string &state : steps.states) lets.push_back(fresh(name + "_" + state));
    const auto read = [&](const Expr &let, std::int64_t constant, bool walks) {
      std::vector<AffineForm> forms = spec::along(axes);
      forms[0].constant = constant;
      if (!walks) forms[0].terms.clear();
      return make_window(let, std::move(forms), node.where);
    };
    FoldUse use;
    for (const std::string &let : lets)
      use.init.push_back(read(make_ahead(let, node.where), -1, true));
    Names last;
    for (std::size_t k = 0; k < lets.size(); ++k) {
      const std::string &state = steps.states[k];
      use.accumulator = facts().helper(name + "_to_" + state, [&](const std::string &free) {
        Accumulator made = accumulator(free, steps.states, steps.args);
        for (const std::string &s : steps.states)
          made = made.init(s, steps.init.at(s)).step(s, steps.step.at(s));
        return made.result(named(state));
      });
      LetLoop loop;
      loop.start = starts.empty() ? steps.init.at(state) : starts[k];
      const Expr row = make_fold(use, elements, {folded->back()}, node.where);
      made_.push_back(make_let(lets[k], row, node.where, {axes.begin(), axes.end()}, loop));
      last[state] = read(made_.back(), -1, false);
    }
    any_ = true;
    const Expr result = facts::substitute(steps.result, last);
    return make_cast(facts().dtype(fold), result, node.where);
  }

  // A step of a loop folds nothing along its own axis: what is computed is computed before.
  Expr as_array(const std::string &name, const Expr &given, const Expr &wide) {
    const auto axes = labels(facts().axes(given));
    if (!axes) return {};
    const bool is_plain = given.node()->kind == ExprKind::Input && !given.node()->input->window;
    if (axes->empty() || is_plain) return wide;
    const Expr let =
        make_let(fresh(name + "_of"), wide, given.node()->where, {axes->begin(), axes->end()});
    return make_window(let, spec::along(*axes), given.node()->where);
  }

  const SpecData &data_;
  const std::vector<std::string> &wrt_;
  std::set<std::string> taken_;
  std::unordered_set<const ExprNode *> whole_; // values of outputs and arrays
  std::unordered_map<std::string, const InputDecl *> windows_;
  std::optional<facts::Facts> facts_;
  std::vector<Expr> made_; // loops
  expr::Exchange exchange_;
  bool is_split_ = false, any_ = false;
};

} // namespace

std::optional<SpecData> name_parts(const SpecData &data, const std::vector<std::string> &wrt) {
  return Parts(data, wrt).run();
}

} // namespace broadloom::grad
