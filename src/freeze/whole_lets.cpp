// See whole_lets.hpp.
#include "freeze/whole_lets.hpp"

#include "analysis/analyse.hpp"
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
        names_(names.begin(), names.end()), taken_(spec::names_of(data)) {}

  std::optional<WholeLets> run() {
    find();
    if (whole_.empty()) return std::nullopt;
    const std::vector<spec::Apart> apart = lets_read();
    if (apart.empty()) return std::nullopt;
    spec::Pieces pieces = spec::cut(data_, apart, "_lets");
    made_.computed = std::move(pieces.apart);
    made_.rest = std::move(pieces.rest);
    std::erase_if(made_.rest.lets,
                  [&](const Expr &let) { return whole_.contains(let.node()->name); });
    spec::keep_wishes(made_.rest, data_.lets);
    const spec::NamesRead read = spec::names_read(made_.rest);
    // Windows that nothing reads are there for those that name them.
    std::erase_if(made_.rest.inputs, [&](const Decl &decl) {
      return !is_array(*decl) && !read.called.contains(decl->name);
    });
    for (const spec::Apart &let : apart) made_.rest.inputs.push_back(let.array);
    made_.rest.inputs = spec::declared_inputs(made_.rest);
    const spec::TypedSpec before = analysis::analyse(data_);
    const SameAxes same(before);
    if (!same.of(made_.rest, whole_.size())) return std::nullopt;
    for (const Decl &decl : data_.inputs)
      if (is_array(*decl) && names_.contains(decl->name) && !drops(*decl, read, same))
        made_.left.push_back(decl->name);
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
  std::vector<spec::Apart> lets_read() {
    std::set<std::string> read;
    const auto enter = [&](const ExprNode &node) {
      if (node.kind != ExprKind::Let || !whole_.contains(node.name)) return true;
      read.insert(node.name);
      return false;
    };
    expr::Walker walker;
    const auto walk = [&](const Expr &root) {
      if (enter(*root.node())) walker.walk(root.node(), [](const ExprNode &) {}, enter);
    };
    for (const Expr &let : data_.lets)
      if (!whole_.contains(let.node()->name)) walk(let);
    spec::for_each_value(data_.outputs, walk);
    std::vector<spec::Apart> apart;
    for (const auto &let : split_.lets)
      if (const spec::TypedOutput &made = let->typed.outputs[0]; read.contains(made.name)) {
        std::vector<AxisRef> axes;
        for (const int axis : made.axes) axes.emplace_back(let->typed.axes[std::size_t(axis)].name);
        const Expr &array = lets_.at(made.name);
        auto decl = spec::array_of(support::fresh_name(made.name + "_1", taken_), made.dtype,
                                   axes.size(), array.node()->where);
        decl->role = InputRole::parameter;
        decl->materialised = false;
        made_.made.push_back(decl->name);
        apart.push_back({array, std::move(decl), std::move(axes), {}, true});
      }
    return apart;
  }

  // A parameter that only those lets read is no input any more, unless it gives axes their extents.
  bool drops(const InputDecl &parameter, const spec::NamesRead &read, const SameAxes &same) {
    SpecData without = made_.rest;
    std::erase_if(without.inputs, [&](const Decl &decl) { return decl->name == parameter.name; });
    if (read.takes(parameter) || !same.of(without, whole_.size())) return false;
    made_.rest = std::move(without);
    return true;
  }

  const SpecData &data_;
  const spec::Split &split_;
  const spec::LetsByName lets_;
  const Names names_;
  spec::Names taken_;
  std::unordered_map<std::string, const spec::Materialised *> whole_;
  WholeLets made_;
};

} // namespace

std::optional<WholeLets> take_whole_lets(const SpecData &data, const spec::Split &split,
                                         const std::vector<std::string> &names) {
  return WholeLetTaker(data, split, names).run();
}

} // namespace broadloom::freeze
