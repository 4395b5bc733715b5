// See cut.hpp; and, for what is joined again, materialise.hpp.
#include "spec/cut.hpp"

#include "expr/held_lets.hpp"

#include <algorithm>

namespace broadloom::spec {
namespace {

// Calls visit(array) with the declaration of what a read is of, and of the arrays whose elements or
// extents stand in its positions.
template <class Visit> void for_each_array(const InputDecl &read, Visit visit) {
  for_each_extent(read, [&](const AffineForm::Extent &extent) {
    const ExprNode &of = *extent.of.node();
    visit(of.kind == ExprKind::Let ? *declaration_of(extent.of) : *of.input);
  });
  if (!read.window) return;
  visit(*read.window->of);
  for (const AffineForm &form : read.window->forms)
    for (const AffineForm::Index &index : form.indices) for_each_array(*index.read, visit);
}

Names lets_of(const std::vector<OutputDecl> &outputs, const std::vector<Expr> &lets = {}) {
  Names names;
  expr::Walker walker;
  const auto walk = [&](const Expr &root) {
    walker.walk(root.node(), [&](const ExprNode &node) {
      if (node.kind == ExprKind::Let) names.insert(node.name);
    });
  };
  for_each_value(outputs, walk);
  std::ranges::for_each(lets, walk);
  return names;
}

OutputDecl output_of(const SpecData &whole, const Apart &mark) {
  OutputDecl output;
  if (mark.output) {
    output = whole.outputs[*mark.output];
  } else {
    output.where = mark.value.node()->where;
    output.value =
        mark.is_array ? make_window(mark.value, along(mark.axes), output.where) : mark.value;
    output.axes = mark.axes;
    output.has_axes = true;
  }
  output.name = mark.array->name;
  output.dtype = mark.array->dtype;
  return output;
}

} // namespace

Pieces cut(const SpecData &whole, const std::vector<Apart> &marks, const std::string &suffix) {
  Pieces made{emptied(whole, suffix), whole};
  SpecData &apart = made.apart, &rest = made.rest;
  expr::Exchange exchange;
  LetArrays arrays;
  for (const Apart &mark : marks) {
    apart.outputs.push_back(output_of(whole, mark));
    const Expr array = make_input(mark.array, apart.outputs.back().where);
    if (mark.output) {
      rest.outputs[*mark.output].mode = {};
      rest.outputs[*mark.output].value = array;
    } else if (mark.is_array) {
      arrays[mark.value.node()->name] = {array, along(mark.axes)};
    } else {
      exchange.put(mark.value.node(), array);
    }
  }
  const auto now = [&](const ExprNode &node) { return over_arrays(node, arrays, exchange); };
  std::erase_if(rest.lets, [&](const Expr &let) { return arrays.contains(let.node()->name); });
  change_values(rest, [&](const Expr &expr) { return exchange.run(expr, now); });
  const auto say = [&](std::shared_ptr<const InputDecl> &said) {
    if (said && reads_any(*said, inputs_for(arrays))) said = said_over(said, inputs_for(arrays));
  };
  for (OutputDecl &output : rest.outputs) say(output.said);
  std::ranges::for_each(rest.axes, say);

  const Names taken = lets_of(apart.outputs);
  std::vector<Expr> others;
  const auto is_taken = [&](const Expr &let) { return taken.contains(let.node()->name); };
  std::ranges::copy_if(whole.lets, std::back_inserter(apart.lets), is_taken);
  std::ranges::remove_copy_if(rest.lets, std::back_inserter(others), is_taken);
  const Names left = lets_of(rest.outputs, others);
  std::erase_if(rest.lets, [&](const Expr &let) {
    return let.node()->kind != ExprKind::Let || // marked itself
           (is_taken(let) && !left.contains(let.node()->name));
  });
  const NamesRead names = names_read(apart);
  std::ranges::copy_if(whole.inputs, std::back_inserter(apart.inputs),
                       [&](const auto &decl) { return names.takes(*decl); });
  return made;
}

SpecData emptied(SpecData whole, const std::string &suffix) {
  whole.name += suffix;
  whole.inputs.clear();
  whole.lets.clear();
  whole.step_axis.clear();
  return with_outputs(std::move(whole), {});
}

SpecData with_outputs(SpecData whole, std::vector<OutputDecl> outputs) {
  whole.outputs = std::move(outputs);
  whole.schedule = {};
  whole.pairings.clear();
  return whole;
}

SpecData filled(const SpecData &whole, const std::string &input, const Expr &value) {
  SpecData made = whole;
  expr::Exchange exchange;
  const auto now = [&](const ExprNode &node) {
    return node.kind == ExprKind::Input && node.input->name == input ? value : Expr();
  };
  change_values(made, [&](const Expr &expr) { return exchange.run(expr, now); });
  std::erase_if(made.lets, [](const Expr &let) { return let.node()->kind != ExprKind::Let; });
  std::erase_if(made.inputs, [&](const auto &decl) { return decl->name == input; });
  return made;
}

Names names_of(const SpecData &data) {
  Names names;
  for (const auto &input : data.inputs) names.insert(input->name);
  for (const OutputDecl &output : data.outputs) names.insert(output.name);
  for (const auto &[name, let] : lets_by_name(data)) names.insert(name);
  return names;
}

NamesRead names_read(const SpecData &data) {
  NamesRead names;
  for_each_node(data, [&](const ExprNode &node) {
    names.called.insert(node.of.begin(), node.of.end());
    if (node.use) names.called.insert(node.use->like.begin(), node.use->like.end());
    if (node.input) names.read.merge(names_in(*node.input)); // of a let: what it says of extents
  });
  for (const OutputDecl &output : data.outputs) {
    names.called.insert(output.mode.use.like.begin(), output.mode.use.like.end());
    if (output.said) names.read.merge(names_in(*output.said));
  }
  for (const auto &axis : data.axes) names.read.merge(names_in(*axis));
  return names;
}

Names names_in(const InputDecl &read) {
  Names names;
  if (!read.said) names.insert(read.name);
  for_each_array(read, [&](const InputDecl &of) { names.insert(of.name); });
  return names;
}

std::set<std::string> lets_read(const InputDecl &decl) {
  Names names;
  for_each_array(decl, [&](const InputDecl &of) {
    if (of.is_let) names.insert(of.name);
  });
  return names;
}

bool reads_arrays(const InputDecl &window) {
  bool found = false;
  if (window.window)
    for_each_array(window, [&](const InputDecl &of) { found = found || of.materialised; });
  return found;
}

std::shared_ptr<InputDecl> array_of(const std::string &let, DType dtype, std::size_t rank,
                                    const Place &where) {
  auto decl = std::make_shared<InputDecl>();
  decl->name = let;
  decl->dtype = dtype;
  decl->where = where;
  decl->dims.assign(rank, Dim(":"));
  decl->materialised = true;
  return decl;
}

bool reads_any(const InputDecl &read, const Instead &instead) {
  bool any = false;
  for_each_array(read, [&](const InputDecl &of) { any = any || instead(of.name).node(); });
  return any;
}

Expr read_over(const InputDecl &read, const Instead &instead, const Place &where) {
  const Expr of = instead(read.window->of->name);
  return read_over(of.node() ? of : make_input(read.window->of, where), read, instead, where);
}

Expr read_over(const Expr &of, const InputDecl &read, const Instead &instead, const Place &where) {
  std::vector<Expr> held;
  for (const std::string &name : lets_in_positions(*read.window))
    if (const Expr let = instead(name); let.node() && let.node()->kind == ExprKind::Let)
      held.push_back(let);
  return holding(make_window_like(of, over(*read.window, instead), where), held);
}

Window over(const Window &window, const Instead &instead) {
  Window now = window;
  for (AffineForm &form : now.forms) {
    exchange_extents(form, [&](const Expr &of) { return instead(name_of_array(of)); });
    exchange_elements(form, [&](const InputDecl &read) {
      return reads_any(read, instead) ? read_over(read, instead, read.where) : Expr();
    });
  }
  return now;
}

std::shared_ptr<const InputDecl> said_over(const std::shared_ptr<const InputDecl> &said,
                                           const Instead &instead) {
  return with_extents(said, [&](const Expr &of) { return instead(name_of_array(of)); });
}

Instead inputs_for(const LetArrays &arrays) {
  return [&arrays](const std::string &let) {
    const auto found = arrays.find(let);
    return found == arrays.end() ? Expr() : found->second.array;
  };
}

Expr over_arrays(const ExprNode &node, const LetArrays &arrays, const expr::Exchange &exchange) {
  const Instead instead = inputs_for(arrays);
  if (node.kind == ExprKind::Let) {
    const auto let = arrays.find(node.name);
    if (let == arrays.end() || let->second.own.empty()) return {};
    return make_window(let->second.array, let->second.own, node.where);
  }
  // One that is padded and not read at positions is a mistake, and told as one.
  const bool reads = node.kind == ExprKind::Input && node.input->window &&
                     !node.input->window->is_whole && reads_any(*node.input, instead);
  if (!reads) return {};
  const InputDecl &of = *node.input->window->of;
  const bool stays = of.is_let && !arrays.contains(of.name) && !node.args.empty();
  std::vector<Expr> held = lets_held(node, [&](const Expr &let) { return exchange.now(let); });
  std::erase_if(held, [&](const Expr &let) {
    return let.node()->kind != ExprKind::Let || arrays.contains(let.node()->name);
  });
  return holding(stays ? read_over(exchange.now(node.args[0]), *node.input, instead, node.where)
                       : read_over(*node.input, instead, node.where),
                 held);
}

Expr over_lets(const ExprNode &node, const LetsByName &lets) {
  const bool reads = node.kind == ExprKind::Input && reads_arrays(*node.input);
  return reads ? window_of_lets(*node.input, lets) : Expr();
}

std::shared_ptr<const InputDecl> over_lets(const std::shared_ptr<const InputDecl> &decl,
                                           const LetsByName &lets) {
  return reads_arrays(*decl) ? window_of_lets(*decl, lets).node()->input : decl;
}

namespace {

Instead lets_for(const LetsByName &lets) {
  return [&lets](const std::string &array) {
    const auto let = lets.find(array);
    return let == lets.end() ? Expr() : let->second;
  };
}

// From the parts to one kernel.
class Joiner {
public:
  Joiner(const SpecData &data, const Split &split)
      : data_(data), split_(split), lets_(lets_by_name(data)) {
    const auto note = [&](const SpecData &part) {
      for (const auto &[name, let] : lets_by_name(part)) parts_.try_emplace(name, let);
    };
    for (const auto &let : split.lets)
      if (!let->recurrence) note(let->data); // a step has arrays of its own
    note(split.rest);
  }

  SpecData run() {
    SpecData made = split_.rest;
    made.inputs.clear();
    made.lets.clear();
    for (const auto &input : data_.inputs)
      if (!input->window) made.inputs.push_back(input);
    for (const auto &let : split_.lets) {
      const OutputDecl &output = let->data.outputs[0];
      const auto known = lets_.find(output.name);
      if (known == lets_.end()) continue; // the start of one, which stands behind it
      if (let->recurrence) {
        const ExprNode &old = *known->second.node();
        LetLoop loop = said_of(old);
        if (loop.start.node()) loop.start = relinked(loop.start);
        Expr value = relinked(old.args[0]);
        lets_[output.name] = make_let(output.name, std::move(value), old.where, old.axes, loop);
        made.lets.push_back(lets_[output.name]);
        declare(let->data);
        for (const auto &input : data_.inputs) // which of= may name in a step of the loop
          if (input->window && input->window->of->name == output.name &&
              declared_.insert(input->name).second)
            windows_.push_back(input);
        continue;
      }
      const ExprNode &old = *known->second.node();
      const Expr value = let->join ? joined(*let->join, *old.args[0].node()) : again(output.value);
      lets_[output.name] = make_let(output.name, value, old.where, old.axes, said_of(old));
      made.lets.push_back(lets_[output.name]);
      declare(let->data);
    }
    for (const Expr &let : split_.rest.lets) made.lets.push_back(again(let));
    for (OutputDecl &output : made.outputs) {
      output.value = again(output.value);
      for (Expr &init : output.mode.use.init) init = again(init);
      output.said = of_lets(output.said);
    }
    for (auto &axis : made.axes) axis = of_lets(axis);
    declare(split_.rest);
    made.inputs.insert(made.inputs.end(), windows_.begin(), windows_.end());
    return made;
  }

private:
  // The extents that it says, of the lets as they are now.
  LetLoop said_of(const ExprNode &let) const {
    LetLoop loop = loop_of(let);
    loop.said = of_lets(loop.said);
    return loop;
  }
  std::shared_ptr<const InputDecl> of_lets(const std::shared_ptr<const InputDecl> &said) const {
    return said_over(said, lets_for(lets_));
  }

  Expr joined(const Join &join, const ExprNode &old) const {
    std::vector<Expr> parts;
    for (const std::string &part : join.parts) parts.push_back(lets_.at(part));
    return with_args(old, std::move(parts));
  }

  void declare(const SpecData &part) {
    for (const auto &input : part.inputs)
      if (input->window && is_whole(*input->window->of) && declared_.insert(input->name).second)
        windows_.push_back(over_lets(input, lets_));
  }

  // What a step reads of its own loop is no let.
  bool is_whole(const InputDecl &of) const { return !of.materialised || lets_.contains(of.name); }

  // What was not split stands for the lets as they are now.
  Expr relinked(const Expr &root) {
    return links_.run(root, [&](const ExprNode &node) {
      if (node.kind == ExprKind::Let) return let_now(node.name);
      const bool of_let = let_seen(node).node() && !node.input->window->is_whole;
      const Expr let = of_let ? let_now(node.input->window->of->name) : Expr();
      return let.node() ? make_window_like(let, *node.input->window, node.input->where) : Expr();
    });
  }
  // An array, or a let that is none: as the parts have it, so that it is one let. Empty: the same
  // over what it reads now.
  Expr let_now(const std::string &name) {
    const bool is_array = std::ranges::any_of(
        split_.lets, [&](const auto &let) { return let->data.outputs[0].name == name; });
    if (is_array) return lets_.at(name);
    const auto part = parts_.find(name);
    return part == parts_.end() ? Expr() : again(part->second);
  }

  // The arrays are lets again.
  Expr again(const Expr &root) {
    return exchange_.run(root, [&](const ExprNode &node) { return over_lets(node, lets_); });
  }

  const SpecData &data_;
  const Split &split_;
  LetsByName lets_;
  LetsByName parts_; // lets that are no arrays, in the kernels of those that are
  std::set<std::string> declared_;
  std::vector<std::shared_ptr<const InputDecl>> windows_;
  expr::Exchange exchange_, links_;
};

} // namespace

SpecData joined(const SpecData &data, const Split &split) { return Joiner(data, split).run(); }

Window with_lets(const Window &window, const LetsByName &lets) {
  return over(window, lets_for(lets));
}

Expr read_over_lets(const Expr &of, const InputDecl &window, const LetsByName &lets,
                    const Place &where) {
  return read_over(of, window, lets_for(lets), where);
}

Expr window_of_lets(const InputDecl &window, const LetsByName &lets) {
  return read_over(window, lets_for(lets), window.where);
}

} // namespace broadloom::spec
