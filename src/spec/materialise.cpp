// See materialise.hpp.
#include "spec/materialise.hpp"

#include "expr/array_named.hpp"
#include "spec/cut.hpp"
#include "support/log.hpp"
#include "support/warning.hpp"

#include <algorithm>
#include <tuple>

namespace broadloom::spec {
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

std::vector<AffineForm> own_positions(const TypedSpec &let) {
  std::vector<AffineForm> own;
  for (const int axis : let.outputs[0].axes) {
    const Axis &known = let.axes[std::size_t(axis)];
    if (!known.labelled) return {};
    own.push_back({0, {{known.name, 1}}, {}});
  }
  return own;
}

Expr let_of_start(const TypedSpec &start, const std::string &name, const Expr &value,
                  const Place &where) {
  const std::vector<int> &axes = start.outputs[0].axes;
  std::vector<AxisRef> dims;
  for (const int axis : axes) {
    const Axis &known = start.axes[std::size_t(axis)];
    dims.push_back(known.labelled ? AxisRef(known.name) : AxisRef(axis));
  }
  const std::vector<AxisRef> listed = dims_listed(value);
  const auto is_same = [](const AxisRef &a, const AxisRef &b) { return a.value() == b.value(); };
  const bool has_them =
      listed.empty() ? std::ranges::is_sorted(axes) : std::ranges::equal(listed, dims, is_same);
  if (names_array(value) && has_them) dims.clear();
  return make_let(name, value, where, std::move(dims));
}

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

LetsByName lets_by_name(const SpecData &data) {
  LetsByName lets;
  const auto note = [&](const Expr &let) {
    if (let.node() && let.node()->kind == ExprKind::Let) lets.try_emplace(let.node()->name, let);
  };
  expr::Walker walker;
  for_each_root(data, [&](const Expr &root) {
    walker.walk(root.node(), [&](const ExprNode &node) {
      for (const Expr &arg : node.args) note(arg);
    });
    note(root);
  });
  for (const auto &axis : data.axes)
    for_each_extent(*axis, [&](const AffineForm::Extent &extent) { note(extent.of); });
  return lets;
}

SpecData joined(const SpecData &data, const Split &split) { return Joiner(data, split).run(); }

bool TypedSpec::is_array(const std::string &let) const {
  const auto is_it = [&](const TypedInput &input) { // of the kernel of a let, too
    return input.materialised && !input.window && input.name == let;
  };
  return std::ranges::any_of(inputs, is_it) ||
         std::ranges::any_of(materialised, [&](const std::shared_ptr<const Materialised> &array) {
           return array->typed.outputs[0].name == let;
         });
}

std::vector<SpecError> all_faults(const TypedSpec &spec) {
  std::vector<SpecError> faults;
  const auto add = [&](const std::vector<SpecError> &more) {
    for (const SpecError &fault : more) {
      const auto is_it = [&](const SpecError &other) {
        return std::tuple(other.where().file, other.where().line, other.where().column) ==
               std::tuple(fault.where().file, fault.where().line, fault.where().column);
      };
      if (std::ranges::none_of(faults, is_it)) faults.push_back(fault);
    }
  };
  add(spec.faults);
  for (const auto &let : spec.materialised) add(let->typed.faults);
  return faults;
}

void warn_of_faults(const TypedSpec &spec) {
  for (const SpecError &fault : all_faults(spec))
    support::log().warn("{}", support::as_warning(fault));
}

} // namespace broadloom::spec
