// See position_value.hpp.
#include "expr/position_value.hpp"

#include "expr/definition.hpp"
#include "expr/function.hpp"
#include "expr/walk.hpp"
#include "expr/window.hpp"
#include "support/fail.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace broadloom {
namespace {

using Axes = std::vector<std::string>;

void add(Axes &axes, const std::string &axis) {
  if (std::ranges::find(axes, axis) == axes.end()) axes.push_back(axis);
}

// Of a node over arguments with these axes.
std::optional<Axes> axes_of(const ExprNode &node, const Axes &of_arguments) {
  const auto label = [](const AxisRef &axis) { return std::get_if<std::string>(&axis.value()); };
  switch (node.kind) {
  case ExprKind::Input: {
    Axes axes;
    for (const Dim &dim : node.input->dims) {
      if (dim.label.empty()) return std::nullopt;
      add(axes, dim.label);
    }
    if (node.input->is_let || (node.input->window && node.input->window->is_whole))
      return std::nullopt;
    return axes;
  }
  case ExprKind::Let: {
    if (node.axes.empty()) return of_arguments;
    Axes axes;
    for (const AxisRef &axis : node.axes) {
      if (label(axis) == nullptr) return std::nullopt;
      axes.push_back(*label(axis));
    }
    return axes;
  }
  case ExprKind::Fold: {
    if (!node.use->like.empty()) return std::nullopt;
    if (node.axes.empty()) return Axes();
    Axes axes = of_arguments;
    for (const AxisRef &axis : node.axes) {
      if (label(axis) == nullptr) return std::nullopt;
      std::erase(axes, *label(axis));
    }
    return axes;
  }
  case ExprKind::Iota:
    if (label(node.axes[0]) == nullptr) return std::nullopt;
    return Axes{*label(node.axes[0])};
  case ExprKind::Extent: return Axes();
  case ExprKind::Join:
  case ExprKind::Parameter: return std::nullopt;
  case ExprKind::Literal:
  case ExprKind::Op:
  case ExprKind::Cast:
  case ExprKind::Scan:
  case ExprKind::Call: break;
  }
  return of_arguments;
}

} // namespace

std::optional<std::vector<std::string>> named_axes(const Expr &value) {
  std::unordered_map<const ExprNode *, std::optional<Axes>> known;
  // The arguments of an array are its own business.
  const auto enter = [](const ExprNode &node) {
    return node.kind != ExprKind::Join && (node.kind != ExprKind::Let || node.axes.empty());
  };
  expr::Walker walker;
  const auto visit = [&](const ExprNode &node) {
    std::optional<Axes> axes = Axes();
    const bool looks = node.kind != ExprKind::Input && node.kind != ExprKind::Join &&
                       (node.kind != ExprKind::Let || node.axes.empty());
    for (const Expr &arg : looks ? node.args : std::vector<Expr>()) {
      const std::optional<Axes> &own = known[arg.node()];
      if (!own) axes.reset();
      for (const std::string &axis : axes ? *own : Axes()) add(*axes, axis);
    }
    known[&node] = axes ? axes_of(node, *axes) : std::nullopt;
  };
  walker.walk(value.node(), visit, enter);
  return known[value.node()];
}

std::string name_of_value(const Expr &value) {
  std::unordered_map<const ExprNode *, std::uint64_t> known;
  expr::Walker().walk(value.node(), [&](const ExprNode &node) {
    std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    const auto mix = [&](std::uint64_t number) { hash = (hash ^ number) * 0x100000001b3; };
    const auto word = [&](const std::string &text) {
      for (const char letter : text) mix(std::uint8_t(letter));
      mix(256);
    };
    mix(std::uint64_t(node.kind));
    mix(std::uint64_t(node.op));
    mix(std::uint64_t(node.dtype));
    mix(std::uint64_t(node.number.kind));
    mix(std::uint64_t(node.number.integer));
    mix(std::bit_cast<std::uint64_t>(node.number.real));
    word(node.kind == ExprKind::Input ? node.input->name : node.name);
    for (const AxisRef &axis : node.axes) {
      const auto *label = std::get_if<std::string>(&axis.value());
      word(label != nullptr ? *label : std::to_string(std::get<int>(axis.value())));
    }
    for (const std::string &of : node.of) word(of);
    if (node.use) {
      mix(std::uint64_t(node.use->accumulator.fold()));
      if (const auto &definition = node.use->accumulator.definition()) word(definition->name);
      mix(node.use->acc ? 1 + std::uint64_t(*node.use->acc) : 0);
      mix(std::bit_cast<std::uint64_t>(node.use->correction.value_or(-1)));
      mix(node.use->exclusive + 2u * node.use->reverse);
      word(node.use->state);
      for (const std::string &like : node.use->like) word(like);
    }
    if (node.function) word(node.function->name);
    for (const Expr &arg : node.args) mix(known[arg.node()]);
    known[&node] = hash;
  });
  constexpr std::string_view digits = "0123456789abcdef";
  std::string name = "at_";
  for (int shift = 60; shift >= 0; shift -= 4) name += digits[(known[value.node()] >> shift) & 15];
  return name;
}

Expr element_of_value(const std::string &name, const Expr &value, const PlaceOf &shown) {
  const std::optional<Axes> axes = named_axes(value);
  if (!axes)
    support::fail("E0026", "a position is computed from a value whose axes have no names", shown(),
                  "read its inputs at positions, as in k[i] + 1, or give their dims labels");
  std::vector<AffineForm> forms;
  std::vector<AxisRef> dims;
  for (const std::string &axis : *axes) {
    dims.emplace_back(axis);
    forms.push_back({0, {{axis, 1}}, {}});
  }
  const ExprNode &node = *value.node();
  const bool is_array = node.kind == ExprKind::Let && (!node.axes.empty() || axes->size() < 2);
  const Expr let = is_array ? value : make_let(name, value, shown(), std::move(dims));
  return make_window(let, std::move(forms), shown());
}

} // namespace broadloom
