// A kernel with fixed extents: the labels of its declarations get them, and all that reads these reads the new ones.
#include "expr/exchange.hpp"
#include "expr/held_lets.hpp"
#include "expr/stretch.hpp"
#include "spec/declared.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>

namespace broadloom {

namespace {

using support::fail;
using Decl = std::shared_ptr<const InputDecl>;

// The declaration with these extents, or null where none of them is its.
std::shared_ptr<InputDecl> fixed(const SpecData &data, const InputDecl &decl,
                                 const std::vector<AxisExtent> &extents, std::vector<bool> &used) {
  auto made = std::make_shared<InputDecl>(decl);
  bool changed = false;
  for (std::size_t k = 0; k < extents.size(); ++k)
    for (Dim &dim : made->dims) {
      if (dim.label != extents[k].axis || dim.label.empty()) continue;
      used[k] = true;
      if (dim.extent == extents[k].extent) continue;
      if (expr::is_one_of_more(dim)) continue; // it is repeated along the axis
      if (dim.extent >= 0)
        fail("E0046",
             "'" + dim.label + "' of '" + decl.name + "' has " +
                 support::count(dim.extent, "element") + " already, not " +
                 std::to_string(extents[k].extent),
             support::with_text(decl.where, data.source.get()),
             "fix the extents of other axes, or change the declaration");
      dim.extent = extents[k].extent;
      changed = true;
    }
  return changed ? made : nullptr;
}

} // namespace

LoopSpec specialise(const LoopSpec &spec, const std::vector<AxisExtent> &extents) try {
  const support::FloatWorld world;
  SpecData data = spec.data();
  for (const AxisExtent &axis : extents)
    if (axis.extent < 0 || axis.extent == 1)
      fail(
          "E0046",
          "'" + axis.axis + "' cannot be fixed to " + support::count(axis.extent, "element"),
          data.where,
          "an extent of 1 would be repeated where others are more; fix extents of 0 or 2 and more");
  std::vector<bool> used(extents.size());
  std::unordered_map<std::string, std::shared_ptr<const InputDecl>> changed;
  data.inputs = spec::declared_inputs(data);
  for (Decl &decl : data.inputs)
    if (!decl->window)
      if (const auto made = fixed(data, *decl, extents, used)) changed[decl->name] = decl = made;
  for (std::size_t k = 0; k < extents.size(); ++k)
    if (!used[k])
      fail("E0046", "no declaration has the label '" + extents[k].axis + "'", data.where,
           "fix the extents of labels, such as i in x : f32[i, j]");

  // All that reads them, itself or through a window.
  expr::Exchange exchange;
  std::unordered_map<std::string, Expr> reads;
  // Nothing where it stays.
  using Lets = std::vector<Expr>; // that a read holds
  const std::function<Expr(const InputDecl &, const Place &, const Lets &)> read =
      [&](const InputDecl &old, const Place &where, const Lets &lets) {
        const InputDecl &whole = old.window ? *old.window->of : old;
        const auto found = changed.find(whole.name);
        if (!old.window) return found == changed.end() ? Expr() : make_input(found->second, where);
        const auto known = reads.find(old.name);
        if (known != reads.end()) return known->second;
        bool any = found != changed.end();
        Window window = *old.window;
        for (AffineForm &form : window.forms) {
          exchange_extents(form, [&](const Expr &array) {
            const auto declared = changed.find(name_of_array(array));
            any = any || declared != changed.end();
            return declared == changed.end() ? Expr() : make_input(declared->second, where);
          });
          for (AffineForm::Index &index : form.indices)
            if (const Expr now = read(*index.read, where, lets); now.node()) {
              index.read = now.node()->input;
              any = true;
            }
        }
        const auto let = std::ranges::find_if(
            lets, [&](const Expr &one) { return one.node()->name == whole.name; });
        if (!any || (whole.is_let && let == lets.end())) return Expr();
        const Expr of = whole.is_let
                            ? *let
                            : make_input(found != changed.end() ? found->second : window.of, where);
        std::vector<Expr> held;
        for (const std::string &name : lets_in_positions(window))
          for (const Expr &one : lets)
            if (one.node()->name == name) held.push_back(one);
        return reads[old.name] = holding(make_window_like(of, window, where), held);
      };
  expr::Walker walker;
  const auto put = [&](const ExprNode &node) {
    if (node.kind != ExprKind::Input) return;
    Lets lets;
    for (const Expr &let : node.args) lets.push_back(exchange(let));
    if (Expr now = read(*node.input, node.where, lets); now.node())
      exchange.put(&node, std::move(now));
  };
  const SpecData &before = spec.data();
  for (const Expr &let : before.lets) walker.walk(let.node(), put);
  for (const OutputDecl &output : before.outputs) {
    walker.walk(output.value.node(), put);
    for (const Expr &init : output.mode.use.init) walker.walk(init.node(), put);
  }
  for (Expr &let : data.lets) let = exchange(let);
  for (OutputDecl &output : data.outputs) {
    output.value = exchange(output.value);
    for (Expr &init : output.mode.use.init) init = exchange(init);
  }
  for (Decl &decl : data.inputs)
    if (decl->window)
      if (const Expr now = read(*decl, decl->where, {}); now.node()) decl = now.node()->input;
  return LoopSpec(std::make_shared<const SpecData>(std::move(data)));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
