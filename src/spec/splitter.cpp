// See splitter.hpp and, for split_lets, materialise.hpp.
#include "spec/splitter.hpp"

namespace broadloom::spec {

std::optional<Split> Splitter::run() {
  find();
  if (is_scheduled_) check_scheduled();
  if (wanted_.empty()) return std::nullopt;
  for (const std::vector<std::string> &together : in_order())
    together.size() == 1 && !loops_.contains(together[0]) ? materialise(together[0])
                                                          : materialise_loop(together);
  split_.rest = data_;
  split_.rest.lets.clear();
  for (auto &axis : split_.rest.axes) axis = of_arrays(axis);
  const Names elsewhere = lets_of_arrays_alone();
  for (const Expr &let : data_.lets)
    if (!wanted_.contains(let.node()->name) && !elsewhere.contains(let.node()->name) &&
        !reads_a_loop(let))
      split_.rest.lets.push_back(rewritten(let));
  for (OutputDecl &output : split_.rest.outputs) {
    output.value = rewritten(output.value);
    for (Expr &init : output.mode.use.init) init = rewritten(init);
    output.said = of_arrays(output.said);
  }
  declare(split_.rest);
  if (!is_scheduled_) keep_wishes(split_.rest, data_.lets); // it has no lets that are arrays
  return std::move(split_);
}

// Which lets are read at positions, have their dims listed, or are parts of others.
void Splitter::find() {
  for (const auto &decl : data_.inputs)
    if (const Names lets = lets_read(*decl); !lets.empty()) {
      wanted_.insert(lets.begin(), lets.end());
      lets_of_window_[decl->name] = lets;
    }
  for (const auto &[name, let] : lets_)
    if (!let.node()->axes.empty()) wanted_.insert(name);
  for_each_node(data_, [&](const ExprNode &node) {
    for (const Expr &arg : node.args)
      if (node.kind == ExprKind::Join && arg.node()->kind == ExprKind::Let)
        wanted_.insert(arg.node()->name);
    for_each_extent_of_places(node, [&](const Expr &of) {
      if (of.node()->kind == ExprKind::Let) wanted_.insert(of.node()->name);
    });
    if (node.kind != ExprKind::Input) return;
    if (reads_ahead(node)) check_ahead(node);
    wanted_.merge(lets_read(*node.input));
  });
  for (const OutputDecl &output : data_.outputs)
    if (output.said) wanted_.merge(lets_read(*output.said));
  for (const auto &axis : data_.axes) wanted_.merge(lets_read(*axis));
  for (const auto &[name, let] : lets_)
    if (let.node()->input) wanted_.merge(lets_read(*let.node()->input));
  std::erase_if(wanted_, [&](const std::string &name) { return !lets_.contains(name); });
  for (const auto &[name, let] : lets_)
    if (!wanted_.contains(name) && let.node()->args.size() > 1) fail_no_loop(name);
}

void Splitter::check_scheduled() const {
  for (const ScheduleClause &of : lets_of(data_.schedule))
    if (!wanted_.contains(of.names[0]))
      support::fail("E0017",
                    "let '" + of.names[0] +
                        "' is no array: it is computed in the loops of what reads it",
                    support::with_text(of.where, data_.source.get()),
                    "list its dims, as in `let " + of.names[0] +
                        "[i, j] = ..`, to have it computed first, or say it in `schedule { .. }`");
}

void Splitter::check_ahead(const ExprNode &node) const {
  const std::string &name = let_called(node);
  const Place where = support::with_text(node.where, data_.source.get());
  if (!lets_.contains(name))
    support::fail("E0003", "there is no let '" + name + "'", where,
                  "what is read ahead by that name is to be among the lets of the kernel");
  if (!node.input->window)
    support::fail("E0028", "let '" + name + "' is read without positions before it is there", where,
                  "read it at an earlier position of one of its dims");
}

void Splitter::fail_no_loop(const std::string &name) const {
  const ExprNode &node = *lets_.at(name).node();
  support::fail("E0030", "let '" + name + "' does not read itself, and has a start",
                support::with_text(node.where, data_.source.get()),
                "leave `from` out, or list its dims and read it at an earlier position");
}

// The kernel of a let of that value.
SpecData Splitter::kernel_of(const std::string &name, Expr value, const Place &where,
                             const std::vector<AxisRef> &axes,
                             std::shared_ptr<const InputDecl> said, Order store) const {
  SpecData data = emptied(data_, "_" + name); // wishes are for the kernel itself
  data.axes = axes_of(value);
  OutputDecl output;
  output.name = name;
  output.value = std::move(value);
  output.where = where;
  output.axes = axes;
  output.has_axes = !axes.empty();
  output.said = std::move(said);
  output.store = store;
  data.outputs.push_back(std::move(output));
  declare(data);
  return data;
}

// The inputs: those of the kernel, the lets that are read or named, and the windows that are
// named.
void Splitter::declare(SpecData &data) const {
  NamesRead names = names_read(data);
  std::vector<std::shared_ptr<const InputDecl>> given, lent, windows;
  for (const auto &decl : data_.inputs) {
    if (decl->is_output) { // its shape is lent to the kernel that has this output
      for (const OutputDecl &output : data.outputs)
        if (output.name == decl->name) lent.push_back(decl);
      continue;
    }
    if (!decl->window) {
      given.push_back(names.takes(*decl) || decl->labelled() ? decl : idle(*decl));
      continue;
    }
    // Only where it is named: its axes have their extents by it. One that is read declares
    // itself.
    Names lets = lets_read(*decl);
    if (!names.called.contains(decl->name) ||
        !std::ranges::all_of(lets, [&](const std::string &let) { return arrays_.contains(let); }))
      continue;
    check_pads(*decl);
    windows.push_back(
        lets.empty() ? decl : read_over(*decl, inputs_for(arrays_), decl->where).node()->input);
    names.read.merge(lets);
  }
  for (const auto &decl : before_windows_)
    if (names.called.contains(decl->name)) {
      names.read.insert(decl->window->of->name);
      windows.push_back(decl);
    }
  for (const auto &materialised : split_.lets) {
    const auto &array = arrays_.at(materialised->data.outputs[0].name).array.node()->input;
    if (names.takes(*array)) given.push_back(array);
  }
  for (const auto &decl : before_) // of the loop that is being made
    if (names.read.contains(decl->name)) given.push_back(decl);
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

void Splitter::check_pads(const InputDecl &read) const {
  if (const auto array = read.window ? arrays_.find(read.window->of->name) : arrays_.end();
      array != arrays_.end())
    check_pads(read, array->second.array.node()->input->dims.size());
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
  if (node.kind == ExprKind::Input && (!node.input->window || !node.input->window->is_whole))
    check_pads(*node.input);
  return over_arrays(node, arrays_, exchange_);
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

void Splitter::materialise(const std::string &name) {
  const ExprNode &let = *lets_.at(name).node();
  std::optional<Join> join;
  const Expr &value = let.args[0];
  std::vector<AxisRef> axes = axes_listed(let);
  if (is_join(value)) join = join_of(let);
  if (join && join->stacks) axes.erase(axes.begin() + std::ptrdiff_t(join->dim));
  const bool has_positions = join && !join->positions.empty();
  if (has_positions) axes = value.node()->args[0].node()->axes; // those of its first part
  SpecData data = kernel_of(name, rewritten(join ? value.node()->args[0] : value), let.where, axes,
                            of_arrays(let.input), let.store);
  TypedSpec typed = join ? analyse_(data) : analyse_(scheduled(data, name));
  if (!join) check_dims(let, typed);
  if (join && asks_for(name))
    typed.notes.push_back(support::decide(
        support::Reason::WishNotMet, "schedule " + name, "no loops",
        "the schedule speaks of the loops of let '" + name +
            "', and it has none: it is made up of " + support::quoted_list(join->parts) +
            ", each computed by loops of its own"));
  if (join && join->stacks) add_axis(typed, value.node()->axes[0], join->dim);
  if (has_positions) typed.outputs[0].axes.clear();
  for (std::size_t dim = 0; has_positions && dim < let.axes.size(); ++dim)
    add_axis(typed, let.axes[dim], dim);
  add_array(name, typed, let.where);
  split_.lets.push_back(std::make_shared<const Materialised>(
      Materialised{std::move(data), std::move(typed), {}, join}));
}

// The dim along which arrays are stacked, which none of them has.
void Splitter::add_axis(TypedSpec &typed, const AxisRef &axis, std::size_t dim) {
  const auto *label = std::get_if<std::string>(&axis.value());
  typed.outputs[0].axes.insert(typed.outputs[0].axes.begin() + std::ptrdiff_t(dim),
                               int(typed.axes.size()));
  typed.axes.push_back({label ? *label : "", label != nullptr});
}

void Splitter::add_array(const std::string &name, const TypedSpec &typed, const Place &where) {
  const TypedOutput &made = typed.outputs[0];
  LetArray array{make_input(array_of(name, made.dtype, made.axes.size(), where), where),
                 own_positions(typed)};
  if (const auto let = lets_.find(name); let != lets_.end() && names_its_dims(*let->second.node()))
    array.own = along(let->second.node()->axes);
  arrays_.emplace(name, std::move(array));
}

bool Splitter::names_its_dims(const ExprNode &let) const {
  const auto window_called = [&](const std::string &name) -> const InputDecl * {
    for (const auto &input : data_.inputs)
      if (input->window && input->name == name) return input.get();
    return nullptr;
  };
  const auto has_own_name = [&](const InputDecl &of) { // let s[x_0, x_1]
    return let.axes[0].value() == AxisRef(of.name + "_0").value();
  };
  if (let.axes.empty() || !std::ranges::all_of(let.axes, [](const AxisRef &axis) {
        return std::holds_alternative<std::string>(axis.value());
      }))
    return false;
  std::vector<const ExprNode *> open{let.args[0].node()};
  while (!open.empty()) {
    const ExprNode &node = *open.back();
    open.pop_back();
    if (node.kind == ExprKind::Cast || (node.kind == ExprKind::Op && node.op == ops::Op::Add)) {
      for (const Expr &arg : node.args) open.push_back(arg.node());
      continue;
    }
    const InputDecl *window = node.kind == ExprKind::Fold && node.use->like.size() == 1
                                  ? window_called(node.use->like[0])
                                  : nullptr;
    if (window == nullptr || window->window->of->labelled() || has_own_name(*window->window->of))
      return false;
  }
  return true;
}

void Splitter::check_dims(const ExprNode &let, const TypedSpec &typed) const {
  const std::size_t rank = typed.outputs[0].axes.size();
  if (rank == let.axes.size() || !names_its_dims(let)) return;
  support::fail(
      "E0106",
      "let '" + let.name + "' lists " + support::count(std::int64_t(let.axes.size()), "dim") +
          ", and its value has " + std::to_string(rank),
      support::with_text(let.where, data_.source.get()), "name each dim of what the sum is like");
}

std::optional<Split> split_lets(const SpecData &data,
                                const std::function<TypedSpec(const SpecData &)> &analyse) {
  return Splitter(data, analyse, false).run();
}

std::optional<Split> split_scheduled(const SpecData &data,
                                     const std::function<TypedSpec(const SpecData &)> &analyse) {
  return Splitter(data, analyse, true).run();
}

} // namespace broadloom::spec
