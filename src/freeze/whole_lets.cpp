// See whole_lets.hpp.
#include "freeze/whole_lets.hpp"

#include "analysis/analyse.hpp"
#include "expr/exchange.hpp"
#include "expr/held_lets.hpp"
#include "freeze/freezing.hpp"
#include "spec/declared.hpp"
#include "spec/wishes.hpp"
#include "support/free_name.hpp"

#include <algorithm>

namespace broadloom::freeze {
namespace {

class WholeLetTaker {
public:
  WholeLetTaker(const SpecData &data, const spec::Split &split,
                const std::vector<std::string> &names)
      : data_(data), split_(split), lets_(spec::lets_by_name(data)),
        names_(names.begin(), names.end()) {
    for (const Decl &decl : data.inputs) taken_.insert(decl->name);
    for (const OutputDecl &output : data.outputs) taken_.insert(output.name);
    for (const auto &[name, let] : lets_) taken_.insert(name);
  }

  std::optional<WholeLets> run() {
    find();
    if (whole_.empty()) return std::nullopt;
    made_.rest = data_;
    made_.computed = emptied(data_, "_lets");
    exchange();
    if (made_.made.empty()) return std::nullopt;
    spec::keep_wishes(made_.rest, data_.lets);
    made_.rest.inputs = inputs_of_rest();
    const spec::TypedSpec before = analysis::analyse(data_);
    const SameAxes same(before);
    if (!same.of(made_.rest, whole_.size())) return std::nullopt;
    for (const std::string &name : names_in_order()) drop_idle(name, same);
    return std::move(made_);
  }

private:
  static bool is_array(const InputDecl &decl) { return !decl.window; }

  // Lets whose elements, positions and extents hang on frozen parameters and on such lets alone.
  void find() {
    Names bound; // parts of joins, and what loops begin with
    for (const auto &let : split_.lets) {
      if (let->join) bound.insert(let->join->parts.begin(), let->join->parts.end());
      if (let->recurrence && let->recurrence->start)
        bound.insert(split_.lets[*let->recurrence->start]->data.outputs[0].name);
    }
    for (const auto &let : split_.lets) {
      const std::string &name = let->data.outputs[0].name;
      if (!let->join && !let->recurrence && !bound.contains(name) && lets_.contains(name) &&
          !spec::own_positions(let->typed).empty() && is_frozen(*let) && owns_axes(let->typed))
        whole_.emplace(name, let.get());
    }
    spec::for_each_root(data_, [&](const Expr &root) { keep_named(root); });
    for (const OutputDecl &output : data_.outputs)
      if (output.said)
        for_each_extent(*output.said,
                        [&](const auto &extent) { keep_all(name_of_array(extent.of)); });
  }

  bool is_constant(const InputDecl &array) const {
    return array.materialised ? whole_.contains(array.name)
                              : names_.contains(array.name) && array.labelled();
  }

  bool is_frozen(const spec::Materialised &let) const {
    bool frozen = true, reads = false;
    expr::Walker().walk(let.data.outputs[0].value.node(), [&](const ExprNode &node) {
      const bool asks = node.kind == ExprKind::Extent || node.kind == ExprKind::Iota;
      const bool is_like = node.use && !node.use->like.empty();
      if (asks || is_like || (node.kind == ExprKind::Let && node.input)) frozen = false;
      if (node.kind != ExprKind::Input) return;
      reads = true;
      const auto take = [&](const Decl &decl) {
        if (is_array(*decl)) frozen = frozen && is_constant(*decl);
      };
      take(node.input);
      for_each_read_by(*node.input, take);
    });
    return frozen && reads;
  }

  // Whether what else the kernel is given says nothing of their extents.
  bool owns_axes(const spec::TypedSpec &let) const {
    expr::AxisSet given, read, others;
    read = read | expr::AxisSet::of(let.outputs[0].axes);
    for (std::uint32_t n = 0; n < let.graph.size(); ++n) {
      const expr::Node &node = let.graph[{n}];
      if (node.kind != expr::NodeKind::Input) continue;
      const spec::TypedInput &input = let.inputs[node.payload];
      read = read | input.axes();
      if (!input.window && !input.materialised) given = given | input.axes();
      for (std::size_t d = 0; input.window && d < input.window->forms.size(); ++d)
        if (const auto &form = input.window->forms[d];
            form.is_axis() && input.window->pad_of(int(d)) == nullptr)
          given = given | expr::AxisSet::of(form.terms[0].axis);
    }
    for (const spec::TypedInput &input : let.inputs)
      if (!input.window && input.labelled && !names_.contains(input.name))
        others = others | input.axes();
    return ((read & others) - given).empty();
  }

  // A let stays that like= or of= names through a window, whose elements are positions, or whose
  // extents are said to be those of another array.
  void keep_named(const Expr &root) {
    const auto keep = [&](const std::string &name) {
      for (const Decl &decl : data_.inputs)
        if (decl->name == name && decl->window) keep_all(decl->window->of->name);
    };
    const auto keep_of = [&](const Decl &decl) { keep_all(decl->name); };
    expr::Walker().walk(root.node(), [&](const ExprNode &node) {
      for (const std::string &name : node.of) keep(name);
      if (node.use)
        for (const std::string &name : node.use->like) keep(name);
      if (node.kind == ExprKind::Let && node.input)
        for_each_extent(*node.input,
                        [&](const auto &extent) { keep_all(name_of_array(extent.of)); });
      if (node.kind != ExprKind::Input || !node.input->window) return;
      for (const AffineForm &form : node.input->window->forms)
        for (const AffineForm::Index &index : form.indices) for_each_read_by(*index.read, keep_of);
    });
  }
  // And with it those that read it.
  void keep_all(const std::string &name) {
    if (whole_.erase(name) == 0) return;
    for (const auto &let : split_.lets) {
      const std::string &reader = let->data.outputs[0].name;
      if (whole_.contains(reader) && !is_frozen(*let)) keep_all(reader);
    }
  }

  // A parameter in place of each let that is read by what is left.
  void exchange() {
    for (const Decl &decl : data_.inputs)
      if (is_array(*decl) && names_.contains(decl->name)) made_.computed.inputs.push_back(decl);
    for (OutputDecl &output : made_.rest.outputs) {
      output.value = exchanged(output.value);
      for (Expr &init : output.mode.use.init) init = exchanged(init);
    }
    made_.rest.lets.clear();
    for (const Expr &let : data_.lets)
      if (whole_.contains(let.node()->name))
        made_.computed.lets.push_back(let);
      else
        made_.rest.lets.push_back(exchanged(let));
  }

  Expr exchanged(const Expr &root) {
    return exchange_.run(root, [&](const ExprNode &node) {
      if (node.kind == ExprKind::Let && whole_.contains(node.name))
        return make_window(instead(node.name), spec::own_positions(whole_.at(node.name)->typed),
                           node.where);
      if (node.kind != ExprKind::Input || !node.input->window || node.input->window->is_whole)
        return Expr();
      const Window &window = *node.input->window;
      const bool sees = window.of->is_let && whole_.contains(window.of->name);
      if (!sees && !asks_extents(window)) return Expr();
      Window now = window;
      for (AffineForm &form : now.forms)
        exchange_extents(form, [&](const Expr &array) {
          return is_whole(array) ? instead(array.node()->name) : Expr();
        });
      const Expr made = make_window_like(sees                ? instead(window.of->name)
                                         : window.of->is_let ? node.args[0]
                                                             : make_input(window.of, node.where),
                                         now, node.where);
      return holding(made, lets_held(node, [&](const Expr &let) { return exchange_(let); }));
    });
  }
  bool is_whole(const Expr &array) const {
    return array.node()->kind == ExprKind::Let && whole_.contains(array.node()->name);
  }
  bool asks_extents(const Window &window) const {
    return std::ranges::any_of(window.forms, [&](const AffineForm &form) {
      return std::ranges::any_of(form.extents,
                                 [&](const auto &extent) { return is_whole(extent.of); });
    });
  }

  Expr instead(const std::string &let) {
    Expr &known = instead_[let];
    if (known.node()) return known;
    const spec::TypedSpec &typed = whole_.at(let)->typed;
    const Expr &array = lets_.at(let);
    auto decl = std::make_shared<InputDecl>();
    decl->name = support::fresh_name(let + "_1", taken_);
    decl->dtype = typed.outputs[0].dtype;
    decl->dims.assign(typed.outputs[0].axes.size(), Dim(":"));
    decl->role = InputRole::parameter;
    decl->where = array.node()->where;
    OutputDecl output;
    output.name = decl->name;
    output.dtype = decl->dtype;
    output.has_axes = true;
    for (const int axis : typed.outputs[0].axes)
      output.axes.emplace_back(typed.axes[std::size_t(axis)].name);
    output.value = make_window(array, spec::own_positions(typed), array.node()->where);
    output.where = array.node()->where;
    made_.computed.outputs.push_back(std::move(output));
    made_.made.push_back(decl->name);
    parameters_.push_back(decl);
    known = make_input(decl, decl->where);
    return known;
  }

  // Windows that nothing reads are there for those that name them.
  std::vector<Decl> inputs_of_rest() {
    Names named;
    spec::for_each_node(made_.rest, [&](const ExprNode &node) {
      named.insert(node.of.begin(), node.of.end());
      if (node.use) named.insert(node.use->like.begin(), node.use->like.end());
    });
    for (const OutputDecl &output : made_.rest.outputs)
      named.insert(output.mode.use.like.begin(), output.mode.use.like.end());
    SpecData rest = made_.rest;
    rest.inputs.clear();
    for (const Decl &decl : data_.inputs)
      if (is_array(*decl) || named.contains(decl->name)) rest.inputs.push_back(decl);
    rest.inputs.insert(rest.inputs.end(), parameters_.begin(), parameters_.end());
    return spec::declared_inputs(rest);
  }

  std::vector<std::string> names_in_order() const {
    std::vector<std::string> names;
    for (const Decl &decl : data_.inputs)
      if (is_array(*decl) && names_.contains(decl->name)) names.push_back(decl->name);
    return names;
  }

  // A parameter that only those lets read is no input any more, unless it gives axes their extents.
  void drop_idle(const std::string &name, const SameAxes &same) {
    bool is_read = false;
    const auto note = [&](const Decl &decl) { is_read = is_read || decl->name == name; };
    spec::for_each_node(made_.rest, [&](const ExprNode &node) {
      is_read = is_read || std::ranges::count(node.of, name) != 0 ||
                (node.use && std::ranges::count(node.use->like, name) != 0);
      if (node.kind != ExprKind::Input) return;
      note(node.input);
      for_each_read_by(*node.input, note);
    });
    for (const OutputDecl &output : made_.rest.outputs)
      is_read = is_read || std::ranges::count(output.mode.use.like, name) != 0;
    SpecData without = made_.rest;
    std::erase_if(without.inputs, [&](const Decl &decl) { return decl->name == name; });
    if (!is_read && same.of(without, whole_.size()))
      made_.rest = std::move(without);
    else
      made_.left.push_back(name);
  }

  const SpecData &data_;
  const spec::Split &split_;
  const spec::LetsByName lets_;
  const Names names_;
  Names taken_;
  std::unordered_map<std::string, const spec::Materialised *> whole_;
  std::unordered_map<std::string, Expr> instead_;
  std::vector<Decl> parameters_;
  expr::Exchange exchange_;
  WholeLets made_;
};

} // namespace

std::optional<WholeLets> take_whole_lets(const SpecData &data, const spec::Split &split,
                                         const std::vector<std::string> &names) {
  return WholeLetTaker(data, split, names).run();
}

} // namespace broadloom::freeze
