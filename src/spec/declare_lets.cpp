// What the kernels of lets, and of the rest, are given: see splitter.hpp.
#include "spec/splitter.hpp"

namespace broadloom::spec {

// The inputs: those of the kernel, the lets that are read or named, and the windows that are
// named.
void Splitter::declare(SpecData &data) const {
  Names named, read;
  for_each_node(data, [&](const ExprNode &node) {
    named.insert(node.of.begin(), node.of.end());
    if (node.use) named.insert(node.use->like.begin(), node.use->like.end());
    if (node.kind != ExprKind::Input) return;
    read.insert(node.input->window ? node.input->window->of->name : node.input->name);
    read.merge(arrays_read(*node.input));
  });
  for (const OutputDecl &output : data.outputs) {
    named.insert(output.mode.use.like.begin(), output.mode.use.like.end());
    if (output.said) read.merge(arrays_read(*output.said));
  }
  for (const auto &axis : data.axes) read.merge(arrays_read(*axis));
  std::vector<std::shared_ptr<const InputDecl>> given, lent, windows;
  for (const auto &decl : data_.inputs) {
    if (decl->is_output) { // its shape is lent to the kernel that has this output
      for (const OutputDecl &output : data.outputs)
        if (output.name == decl->name) lent.push_back(decl);
      continue;
    }
    if (!decl->window) {
      const bool is_read = read.contains(decl->name) || named.contains(decl->name);
      given.push_back(is_read || decl->labelled() ? decl : idle(*decl));
      continue;
    }
    // Only where it is named: its axes have their extents by it. One that is read declares
    // itself.
    const Names lets = lets_read(*decl);
    if (!named.contains(decl->name) ||
        !std::ranges::all_of(lets, [&](const std::string &let) { return arrays_.contains(let); }))
      continue;
    read.insert(lets.begin(), lets.end());
    windows.push_back(lets.empty() ? decl : window_of(*decl, decl->where).node()->input);
  }
  for (const auto &decl : before_windows_)
    if (named.contains(decl->name)) {
      read.insert(decl->window->of->name);
      windows.push_back(decl);
    }
  for (const auto &materialised : split_.lets) {
    const std::string &name = materialised->data.outputs[0].name;
    if (read.contains(name) || named.contains(name)) given.push_back(arrays_.at(name).decl);
  }
  for (const auto &decl : before_) // of the loop that is being made
    if (read.contains(decl->name)) given.push_back(decl);
  data.inputs = std::move(given);
  data.inputs.insert(data.inputs.end(), lent.begin(), lent.end());
  data.inputs.insert(data.inputs.end(), windows.begin(), windows.end());
  // Axes come in the order in which windows are read, also where a later sum is like the second.
  const std::vector<std::shared_ptr<const InputDecl>> as_read = declared_inputs(data);
  std::erase_if(data.inputs,
                [](const auto &decl) { return decl->window && !decl->window->is_whole; });
  for (const auto &decl : as_read)
    if (decl->window && !decl->window->is_whole) data.inputs.push_back(decl);
}

std::shared_ptr<const InputDecl> Splitter::idle(const InputDecl &decl) {
  auto made = std::make_shared<InputDecl>(decl);
  made->is_idle = true;
  return made;
}

// The arrays that are inputs now and whose extents or elements stand in the positions of a
// window.
Names Splitter::arrays_read(const InputDecl &decl) {
  Names names;
  for (const AffineForm &form : decl.window ? decl.window->forms : std::vector<AffineForm>())
    for (const AffineForm::Index &index : form.indices) {
      names.insert(index.read->window->of->name);
      names.merge(arrays_read(*index.read));
    }
  for_each_extent(
      decl, [&](const AffineForm::Extent &extent) { names.insert(name_of_array(extent.of)); });
  return names;
}

// What is said, by extents of the lets so far as inputs.
std::shared_ptr<const InputDecl>
Splitter::of_arrays(const std::shared_ptr<const InputDecl> &said) const {
  return with_extents(said, [&](const Expr &of) {
    const auto array = arrays_.find(name_of_array(of));
    return array == arrays_.end() ? Expr() : make_input(array->second.decl, said->where);
  });
}

Expr Splitter::window_of(const InputDecl &decl, const Place &where) const {
  InputDecl window = decl;
  Window seen = *decl.window;
  for (AffineForm &form : seen.forms) {
    exchange_extents(form, [&](const Expr &of) {
      const auto array = arrays_.find(name_of_array(of));
      return array == arrays_.end() ? Expr() : make_input(array->second.decl, where);
    });
    exchange_elements(form, [&](const InputDecl &read) {
      return lets_read(read).empty() ? Expr() : window_of(read, read.where);
    });
  }
  window.window = std::make_shared<const Window>(std::move(seen));
  const auto array = decl.window->of->is_let ? arrays_.find(decl.window->of->name) : arrays_.end();
  if (array == arrays_.end())
    return decl.window->of->is_let
               ? make_input(std::make_shared<const InputDecl>(window), where)
               : make_window_like(make_input(decl.window->of, where), *window.window, where);
  check_pads(window, array->second.decl->dims.size());
  return make_window_like(make_input(array->second.decl, where), *window.window, where);
}

void Splitter::check_pads(const InputDecl &window, std::size_t rank) const {
  for (const DimPad &pad : window.window->pads)
    if (pad.dim >= rank)
      support::fail("E0104",
                    "let '" + window.window->of->name + "' has " +
                        support::count(std::int64_t(rank), "dim") + ", and dim " +
                        std::to_string(pad.dim) + " is to be padded",
                    support::with_text(window.where, data_.source.get()), "count its dims from 0");
}

// With the lets so far as inputs.
Expr Splitter::rewritten(const Expr &root) {
  return exchange_.run(root, [&](const ExprNode &node) { return as_array(node); });
}

Expr Splitter::as_array(const ExprNode &node) const {
  // One that is padded and not read at positions is a mistake, and told as one.
  if (node.kind == ExprKind::Input && !lets_read(*node.input).empty() &&
      !node.input->window->is_whole)
    return window_of(*node.input, node.where);
  const auto array = node.kind == ExprKind::Let ? arrays_.find(node.name) : arrays_.end();
  if (array == arrays_.end() || array->second.own.empty()) return Expr();
  return make_window(make_input(array->second.decl, node.where), array->second.own, node.where);
}

// The extents of axes that are said, by the lets so far. Of others only what comes behind them
// can speak.
std::vector<std::shared_ptr<const InputDecl>> Splitter::axes_of(const Expr &value) const {
  std::vector<std::shared_ptr<const InputDecl>> axes;
  for (const auto &axis : data_.axes) {
    axes.push_back(of_arrays(axis));
    const Names ahead = lets_read(*axes.back());
    if (ahead.empty()) continue;
    axes.pop_back();
    if (const std::string &label = axis->dims[0].label; walks(value, label))
      support::fail("E0033",
                    "the extent of '" + label + "' is that of let '" + *ahead.begin() +
                        "', which needs it itself",
                    support::with_text(axis->where, data_.source.get()),
                    "say it by an array that is there before");
  }
  add_said_of_outputs(value, axes);
  return axes;
}

// In `out y[i, u < 3] = x[(k[i] + u) % 7]` the positions are a let, which only the output says
// the extent of u to.
void Splitter::add_said_of_outputs(const Expr &value,
                                   std::vector<std::shared_ptr<const InputDecl>> &axes) const {
  Names indices, given; // labels that are asked for alone, and those that something has
  walk_kernel(value, [&](const ExprNode &node) {
    note_walked(node, node.kind == ExprKind::Input ? given : indices);
  });
  for (const auto &axis : axes) given.insert(axis->dims[0].label);
  for (const OutputDecl &output : data_.outputs) {
    const auto said = of_arrays(output.said);
    if (!said || !lets_read(*said).empty()) continue; // of lets that are still to come
    for (std::size_t d = 0; d < said->dims.size(); ++d)
      if (const std::string &label = said->dims[d].label;
          indices.contains(label) && given.insert(label).second)
        axes.push_back(make_said("axis", {{label, said->said->of[d]}}, [&] {
          return support::with_text(output.where, data_.source.get());
        }));
  }
}

} // namespace broadloom::spec
