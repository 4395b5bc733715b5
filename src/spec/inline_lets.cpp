// See inline_lets.hpp.
#include "spec/inline_lets.hpp"

#include "expr/exchange.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace broadloom::spec {
namespace {

using expr::NodeId;
using expr::NodeKind;

const Materialised *array_called(const TypedSpec &typed, const std::string &name) {
  for (const auto &let : typed.materialised)
    if (let->typed.outputs[0].name == name) return let.get();
  return nullptr;
}

// Does a fold or a scan that rounds read an element of this let?
const TypedInput *folded_read(const TypedSpec &reader, const std::string &let) {
  std::vector<const TypedInput *> reads(reader.graph.size()); // [node]: one that it is made of
  for (std::uint32_t n = 0; n < reader.graph.size(); ++n) {
    const expr::Node &node = reader.graph[NodeId{n}];
    if (node.kind == NodeKind::Input) {
      const TypedInput &input = reader.inputs[node.payload];
      const TypedInput &array = reader.inputs[reader.array_of(node.payload)];
      if (array.materialised && array.name == let) reads[n] = &input;
    }
    for (const NodeId arg : reader.graph.operands(NodeId{n}))
      if (reads[n] == nullptr) reads[n] = reads[arg.index];
    const bool folds = node.kind == NodeKind::Fold || node.kind == NodeKind::Scan;
    if (folds && reads[n] != nullptr && !reader.graph.recipe(NodeId{n}).exact) return reads[n];
  }
  return nullptr;
}

std::string why_not_read_so(const TypedInput &read) {
  const TypedWindow &window = *read.window;
  if (!window.pads.empty()) return read.name + " reads borders that are added to it";
  if (window.is_gather()) return read.name + " takes its positions from elements of an array";
  for (const TypedWindow::Form &form : window.forms) {
    if (form.from_end || !form.counts.empty()) return read.name + " counts by its extents";
    if (window.derived || form.divisor != 1) return read.name + " is summed through";
  }
  return {};
}

// Of several dims along which an axis goes from end to end, one: they must be as long as each
// other.
const TypedInput *one_of_several(const TypedSpec &typed, int axis) {
  const TypedInput *first = nullptr;
  std::pair<std::uint32_t, std::size_t> dim;
  bool several = false;
  for (const TypedInput &input : typed.inputs) {
    if (!input.window || !input.axes().has(axis)) continue;
    for (std::size_t d = 0; d < input.window->forms.size(); ++d) {
      const TypedWindow::Form &form = input.window->forms[d];
      if (std::ranges::count(form.terms, axis, &TypedWindow::Term::axis) == 0) continue;
      // Such an axis only has to stay inside.
      if (!form.is_axis() || typed.inputs[input.window->of].materialised) return nullptr;
      const std::pair<std::uint32_t, std::size_t> now{input.window->of, d};
      several = several || (first != nullptr && now != dim);
      first = &input;
      dim = now;
    }
  }
  return several ? first : nullptr;
}

// Of the let itself: what it is made of.
std::string why_no_value(const Materialised &let) {
  const TypedSpec &typed = let.typed;
  if (!typed.wishes.empty() || !typed.pairings.empty())
    return fmt::format("'schedule {}' speaks of the loops that compute it", typed.outputs[0].name);
  for (std::uint32_t n = 0; n < typed.graph.size(); ++n) switch (typed.graph[NodeId{n}].kind) {
    case NodeKind::Fold:
    case NodeKind::Scan: return "it folds or scans, which would be done again for each read";
    case NodeKind::Index:
    case NodeKind::Extent: return "it asks for positions or extents of its own";
    default: break;
    }
  const DType dtype = typed.outputs[0].dtype;
  if (dtype == DType::F16 || dtype == DType::BF16)
    return fmt::format("its values are rounded to {} where they are stored", name(dtype));
  if (typed.relaxed) return "relaxed arithmetic would go across it";
  if (!typed.outputs[0].axes.empty() && own_positions(typed).empty())
    return "its axes have no names";
  for (const int axis : typed.outputs[0].axes) {
    const std::string &label = typed.axes[std::size_t(axis)].name;
    bool is_whole = false, is_given = false;
    for (const expr::Node &node : typed.graph.nodes())
      if (node.kind == NodeKind::Input && !typed.inputs[node.payload].window)
        is_whole = is_whole || typed.inputs[node.payload].axes().has(axis);
    for (const TypedInput &input : typed.inputs) {
      if (!input.axes().has(axis) || input.window) continue;
      if (input.is_lent()) return fmt::format("its extent along {} is said", label);
      is_given = true;
      for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d)
        if (input.axis_of_dim[d] == axis && (input.may_stretch[d] || input.extents[d] == 1))
          return fmt::format("{} may be repeated along {}", input.name, label);
    }
    if (is_given && !is_whole)
      return fmt::format("its extent along {} is that of an input that it does not read", label);
    if (const TypedInput *one = is_whole ? nullptr : one_of_several(typed, axis))
      return fmt::format("{} and others say how long {} is", one->name, label);
  }
  for (const expr::Node &node : typed.graph.nodes()) {
    if (node.kind != NodeKind::Input) continue;
    const TypedInput &input = typed.inputs[node.payload];
    if (!input.window && !input.axes().empty() && !input.labelled && !input.materialised)
      return fmt::format("the dims of {} have no labels", input.name);
    if (!input.window) continue;
    if (const std::string why = why_not_read_so(input); !why.empty() && input.window->pads.empty())
      return why;
    for (const TypedWindow::Form &form : input.window->forms)
      if (form.from_end || form.stays_inside) return input.name + " counts by an extent";
  }
  return {};
}

// One let, in the kernel that it is a let of.
class Inliner {
public:
  Inliner(const SpecData &data, const TypedSpec &typed, const Materialised &let)
      : data_(data), typed_(typed), name_(let.typed.outputs[0].name),
        own_(own_positions(let.typed)), dtype_(let.typed.outputs[0].dtype),
        lets_(lets_by_name(data)) {}

  std::optional<SpecData> run() {
    if (!lets_.contains(name_) || is_named()) return std::nullopt;
    SpecData made = data_;
    std::erase_if(made.lets, [&](const Expr &let) { return let.node()->name == name_; });
    change_values(made, [&](const Expr &root) {
      return exchange_.run(root, [&](const ExprNode &node) {
        if (node.kind == ExprKind::Let && node.name == name_) return at(own_, node.where);
        if (!is_read(node)) return Expr();
        return at(node.input->window->forms, node.where);
      });
    });
    std::erase_if(made.inputs, [&](const auto &decl) { return is_window(*decl); });
    if (!fits_) return std::nullopt;
    return made;
  }

private:
  bool is_window(const InputDecl &decl) const {
    return decl.window && decl.window->of->is_let && decl.window->of->name == name_;
  }
  bool is_read(const ExprNode &node) const {
    return node.kind == ExprKind::Input && is_window(*node.input);
  }

  // By of=, like= or extent(h, 0), which only an array has.
  bool is_named() const {
    bool named = false;
    std::set<std::string> names{name_};
    for (const auto &decl : data_.inputs)
      if (is_window(*decl)) names.insert(decl->name);
    const auto note = [&](const std::vector<std::string> &some) {
      for (const std::string &one : some) named = named || names.contains(one);
    };
    for_each_node(data_, [&](const ExprNode &node) {
      note(node.of);
      if (node.use) note(node.use->like);
      if (node.kind != ExprKind::Input) return;
      if (node.input->window && node.input->window->is_gather()) named = true;
      for_each_extent(*node.input, [&](const AffineForm::Extent &extent) {
        named = named || name_of_array(extent.of) == name_;
      });
    });
    for (const OutputDecl &output : data_.outputs) {
      note(output.mode.use.like);
      named = named || output.at;
      if (output.said) named = named || lets_read(*output.said).contains(name_);
    }
    return named;
  }

  // A form over the axes of the let, where these are at such positions.
  AffineForm composed(const AffineForm &form, const std::vector<AffineForm> &at) {
    AffineForm made;
    made.constant = form.constant;
    made.extents = form.extents;
    for (const AffineForm::Term &term : form.terms) {
      bool found = false;
      for (std::size_t d = 0; d < own_.size() && d < at.size(); ++d)
        if (own_[d].terms[0].axis == term.axis) {
          fits_ = fits_ && add_to(made, at[d], term.times);
          found = true;
        }
      fits_ = fits_ && found;
    }
    made.stays_inside = made.is_bare(); // as a position of a let does not say how long an axis is
    fits_ = fits_ && !made.is_from_end();
    return made;
  }
  std::vector<AffineForm> composed(const std::vector<AffineForm> &forms,
                                   const std::vector<AffineForm> &at) {
    std::vector<AffineForm> made;
    for (const AffineForm &form : forms) made.push_back(composed(form, at));
    return made;
  }

  // An element of the let, as the value that it is.
  Expr at(const std::vector<AffineForm> &forms, const Place &where) {
    expr::Exchange exchange;
    const Expr value =
        exchange.run(lets_.at(name_).node()->args[0], [&](const ExprNode &node) -> Expr {
          if (node.kind == ExprKind::Let) {
            const Materialised *array = array_called(typed_, node.name);
            if (array == nullptr) return {};
            return make_window(lets_.at(node.name), composed(own_positions(array->typed), forms),
                               node.where);
          }
          if (node.kind != ExprKind::Input) return {};
          const InputDecl &decl = *node.input;
          if (decl.window) {
            Window window = *decl.window;
            window.forms = composed(window.forms, forms);
            return make_window_like(
                decl.window->of->is_let ? let_seen(node) : make_input(decl.window->of, node.where),
                window, node.where);
          }
          if (decl.dims.empty()) return {};
          std::vector<AffineForm> dims;
          for (const Dim &dim : decl.dims) dims.push_back({0, {{dim.label, 1}}, {}});
          return make_window(make_input(node.input, node.where), composed(dims, forms), node.where);
        });
    return make_let(name_, make_cast(dtype_, value, where), where);
  }

  const SpecData &data_;
  const TypedSpec &typed_;
  const std::string name_;
  const std::vector<AffineForm> own_; // its axes
  const DType dtype_;
  const LetsByName lets_;
  expr::Exchange exchange_;
  bool fits_ = true;
};

// Whether what people and numbers of axes go by is as it was.
bool is_alike(const TypedSpec &before, const TypedSpec &after) {
  const auto axes_of = [](const TypedSpec &typed, const TypedSpec &other) {
    std::vector<std::string> names;
    for (const Axis &axis : typed.axes)
      if (std::ranges::any_of(other.axes, [&](const Axis &a) { return a.name == axis.name; }))
        names.push_back(axis.name);
    return names;
  };
  const auto outputs_of = [](const TypedSpec &typed) {
    std::vector<std::string> outputs;
    for (const TypedOutput &output : typed.outputs) {
      outputs.push_back(output.name + std::string(name(output.dtype)));
      for (const int axis : output.axes) outputs.back() += " " + typed.axes[std::size_t(axis)].name;
    }
    return outputs;
  };
  return outputs_of(before) == outputs_of(after) &&
         axes_of(before, after) == axes_of(after, before) &&
         std::ranges::none_of(before.axes,
                              [](const Axis &axis) { return !axis.labelled && !axis.implied; });
}

} // namespace

std::string why_array(const TypedSpec &typed, const std::string &name) {
  const Materialised *let = array_called(typed, name);
  if (let == nullptr) return "another let reads it, too";
  if (let->recurrence) return "it goes step by step, each of which needs the one before";
  if (let->join) return "it is made up of parts that lie in it";
  if (std::string why = why_no_value(*let); !why.empty()) return why;
  std::set<std::string> made_of_it{name}; // arrays, which lie as what they are made of
  std::vector<const TypedSpec *> kernels;
  for (const auto &other : typed.materialised) kernels.push_back(&other->typed);
  kernels.push_back(&typed);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const TypedSpec &reader = *kernels[k];
    const Materialised *of = k < typed.materialised.size() ? typed.materialised[k].get() : nullptr;
    const std::string &made = reader.outputs[0].name;
    bool is_read = false;
    for (const TypedInput &input : reader.inputs) {
      if (!input.materialised || input.window) continue;
      is_read = is_read || input.name == name;
      if (of != nullptr && made_of_it.contains(input.name)) made_of_it.insert(made);
    }
    for (std::size_t part = 0; of != nullptr && of->join && part < of->join->parts.size(); ++part) {
      if (of->join->parts[part] == name) return fmt::format("it is a part of let '{}'", made);
      if (made_of_it.contains(of->join->parts[part])) made_of_it.insert(made);
    }
    for (const std::string &array : made_of_it)
      if (const TypedInput *read = folded_read(reader, array))
        return fmt::format("a fold reads {}, and its order goes by how that lies", read->name);
    if (of != nullptr && of->recurrence && is_read)
      return fmt::format("a step of let '{}' reads it", made);
    for (const TypedInput &input : reader.inputs)
      if (input.window && reader.inputs[input.window->of].name == name &&
          reader.inputs[input.window->of].materialised)
        if (std::string why = why_not_read_so(input); !why.empty()) return why;
  }
  return {};
}

std::optional<SpecData>
with_inlined_lets(const SpecData &data, const TypedSpec &typed,
                  const std::function<TypedSpec(const SpecData &)> &analyse) {
  using Kind = ScheduleClause::Kind;
  std::optional<SpecData> made;
  for (const Wishes::Let &wish : typed.wishes.lets) {
    const std::string &name = wish.clause.names[0];
    if (wish.clause.kind != Kind::Inline && wish.clause.kind != Kind::Recompute) continue;
    const TypedSpec now = made ? analyse(*made) : typed;
    if (!now.is_array(name) || !why_array(now, name).empty()) continue;
    std::optional<SpecData> next =
        Inliner(made ? *made : data, now, *array_called(now, name)).run();
    try {
      if (next && is_alike(now, analyse(*next))) made = std::move(next);
    } catch (const InternalError &) {
      throw;
    } catch (const Error &) { // it is no value where it is read, whatever it is: it stays an array
    }
  }
  return made;
}

} // namespace broadloom::spec
