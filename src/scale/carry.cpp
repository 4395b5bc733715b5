// See carry.hpp.
#include "scale/carry.hpp"

#include "expr/exchange.hpp"
#include "expr/stretch.hpp"
#include "expr/window.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace broadloom::scale {

Labels labels_of_read(const InputDecl &read) {
  Labels labels;
  if (!read.window) {
    for (const Dim &dim : read.dims) labels.push_back(dim.label);
    return labels;
  }
  for (const AffineForm &form : read.window->forms)
    labels.push_back(form.is_axis() ? form.terms[0].axis : "");
  for (const DimPad &pad : read.window->pads) labels[pad.dim].clear();
  return labels;
}

Labels labels_of_output(const spec::TypedSpec &let) {
  Labels labels;
  for (const int axis : let.outputs[0].axes) {
    const spec::Axis &known = let.axes[std::size_t(axis)];
    labels.push_back(known.labelled ? known.name : "");
  }
  return labels;
}

std::string border_in_the_way(const InputDecl &read, bool positive) {
  if (!read.window) return {};
  for (const DimPad &pad : read.window->pads) {
    if (pad.mode != PadMode::Constant) continue; // elements of the array
    const Known border = known_of(pad.value);
    const bool is_zero = !border.negative && !border.positive && border.finite;
    const bool is_infinite =
        pad.value.kind == Number::Kind::Float && std::isinf(pad.value.real) && positive;
    if (!is_zero && !is_infinite)
      return "'" + read.window->of->name + "' has a border of " + print_filling(pad) + " there";
  }
  return {};
}

namespace {

class Carrier {
public:
  Carrier(const std::map<std::string, std::string> &labels, const std::set<std::string> &taken)
      : labels_(labels), taken_(taken) {}

  std::optional<Carried> run(const Expr &factor) {
    expr::Exchange exchange;
    const Expr made = exchange.run(factor, [&](const ExprNode &node) { return now(node); });
    if (fails_) return {};
    // Lets are names of this kernel alone: what they name stands there.
    expr::Exchange plain;
    const auto strip = [&](const ExprNode &node) {
      if (node.kind != ExprKind::Let) return Expr();
      const Expr &value = node.args[0];
      return plain.has(value.node()) ? plain(value) : value;
    };
    Expr bare = plain.run(made, strip);
    return Carried{bare, key_of(bare), std::move(parameters_)};
  }

private:
  // Empty: the same over its arguments.
  Expr now(const ExprNode &node) {
    switch (node.kind) {
    case ExprKind::Input: return read(node);
    case ExprKind::Literal:
    case ExprKind::Op:
    case ExprKind::Cast:
    case ExprKind::Let: break;
    case ExprKind::Fold: // its own axes have other extents there
    case ExprKind::Scan:
    case ExprKind::Extent:
    case ExprKind::Iota:
    case ExprKind::Parameter:
    case ExprKind::Call:
    case ExprKind::Join: fails_ = true;
    }
    return {};
  }

  Expr read(const ExprNode &node) {
    const InputDecl &decl = *node.input;
    const InputDecl &whole = decl.window ? *decl.window->of : decl;
    parameters_.insert(whole.name);
    if (whole.dims.empty()) return {};
    std::vector<AffineForm> forms;
    bool changes = false;
    if (!decl.window) {
      if (!decl.labelled()) return fails_ = true, Expr();
      for (const Dim &dim : decl.dims) forms.push_back({0, {{dim.label, 1}}, {}});
    } else {
      forms = decl.window->forms;
    }
    for (AffineForm &form : forms) {
      if (!form.indices.empty() || !form.extents.empty()) return fails_ = true, Expr();
      for (AffineForm::Term &term : form.terms) {
        const auto label = labels_.find(term.axis);
        if (label == labels_.end()) return fails_ = true, Expr();
        changes = changes || label->second != term.axis;
        term.axis = label->second;
      }
    }
    if (!changes && !decl.window) return {};
    // A label of the parameter itself is an axis there too.
    for (const Dim &dim : whole.dims)
      if (!dim.label.empty() && taken_.contains(dim.label) &&
          (!labels_.contains(dim.label) || labels_.at(dim.label) != dim.label))
        return fails_ = true, Expr();
    if (!changes) return {};
    if (std::ranges::any_of(whole.dims, expr::is_one_of_more))
      return fails_ = true, Expr(); // and repeated
    const Expr array = make_input(decl.window ? decl.window->of : node.input, node.where);
    const std::vector<DimPad> pads = decl.window ? decl.window->pads : std::vector<DimPad>{};
    return make_window(pads.empty() ? array : make_padded(array, pads, node.where),
                       std::move(forms), node.where);
  }

  static std::string key_of(const Expr &expr) {
    std::map<std::string, std::size_t> known;
    std::map<const ExprNode *, std::size_t> numbers;
    std::size_t last = 0;
    expr::Walker walker;
    walker.walk(expr.node(), [&](const ExprNode &node) {
      std::string key = std::to_string(int(node.kind)) + ":";
      if (node.kind == ExprKind::Input) key += node.input->name;
      if (node.kind == ExprKind::Op) key += std::to_string(int(node.op));
      if (node.kind == ExprKind::Cast) key += name(node.dtype);
      if (node.kind == ExprKind::Literal)
        key += std::to_string(int(node.number.kind)) + "," + std::to_string(node.number.integer) +
               "," + std::to_string(std::bit_cast<std::uint64_t>(node.number.real));
      for (const Expr &arg : node.args) key += "," + std::to_string(numbers.at(arg.node()));
      last = numbers[&node] = known.try_emplace(key, known.size()).first->second;
    });
    std::vector<std::string> lines(known.size());
    for (const auto &[key, number] : known) lines[number] = key;
    std::string text = std::to_string(last);
    for (const std::string &line : lines) text += ";" + line;
    return text;
  }

  const std::map<std::string, std::string> &labels_;
  const std::set<std::string> &taken_;
  std::set<std::string> parameters_;
  bool fails_ = false;
};

} // namespace

std::optional<Carried> carry(const Expr &factor, const std::set<std::string> &axes,
                             const Labels &from, const Labels &to,
                             const std::set<std::string> &taken) {
  std::map<std::string, std::string> labels;
  for (std::size_t d = 0; d < from.size() && d < to.size(); ++d)
    if (!from[d].empty() && !to[d].empty()) labels.try_emplace(from[d], to[d]);
  for (const std::string &axis : axes)
    if (axis.empty() || !labels.contains(axis)) return {};
  return Carrier(labels, taken).run(factor);
}

} // namespace broadloom::scale
