// A kernel with fixed extents: the labels of its declarations get them, and all that reads these
// reads the new ones.
#include "expr/stretch.hpp"
#include "spec/declared.hpp"
#include "spec/redeclare.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"

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
  spec::Decls changed;
  data.inputs = spec::declared_inputs(data);
  for (const Decl &decl : data.inputs)
    if (!decl->window)
      if (const auto made = fixed(data, *decl, extents, used)) changed[decl->name] = made;
  for (std::size_t k = 0; k < extents.size(); ++k)
    if (!used[k])
      fail("E0046", "no declaration has the label '" + extents[k].axis + "'", data.where,
           "fix the extents of labels, such as i in x : f32[i, j]");

  return LoopSpec(std::make_shared<const SpecData>(spec::redeclared(data, changed)));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
