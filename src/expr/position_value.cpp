// See position_value.hpp.
#include "expr/position_value.hpp"

#include "expr/definition.hpp"
#include "expr/exchange.hpp"
#include "expr/function.hpp"
#include "expr/walk.hpp"
#include "expr/window.hpp"
#include "support/fail.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace broadloom {
namespace {

// An axis of a value, or all axes of an argument of a function but some.
struct Piece {
  std::string axis;
  std::size_t argument = 0;
  std::optional<std::vector<std::string>> but = {}; // of an argument
};
using Pieces = std::vector<Piece>; // in the order in which they are first read
using Known = std::unordered_map<const ExprNode *, std::optional<Pieces>>;
using Results = std::unordered_map<const FunctionDecl *, std::optional<Pieces>>;

// What is folded of an argument in one place may be read whole in another.
void add(Pieces &pieces, const Piece &piece) {
  for (Piece &known : pieces) {
    if (known.axis != piece.axis || known.argument != piece.argument || !known.but != !piece.but)
      continue;
    if (piece.but)
      std::erase_if(*known.but,
                    [&](const auto &axis) { return !std::ranges::count(*piece.but, axis); });
    return;
  }
  pieces.push_back(piece);
}

void erase(Pieces &pieces, const std::string &axis) {
  std::erase_if(pieces, [&](const Piece &piece) { return !piece.but && piece.axis == axis; });
  for (Piece &piece : pieces)
    if (piece.but) piece.but->push_back(axis);
}

// Labels as axes; none where one of them is a number.
std::optional<Pieces> labels(const std::vector<AxisRef> &axes) {
  Pieces pieces;
  for (const AxisRef &axis : axes) {
    const auto *label = std::get_if<std::string>(&axis.value());
    if (label == nullptr) return std::nullopt;
    add(pieces, {*label});
  }
  return pieces;
}

// What a call has of what its function has.
std::optional<Pieces> called(const ExprNode &call, const Known &known, const Results &results) {
  const std::optional<Pieces> &result = results.at(call.function.get());
  if (!result) return std::nullopt;
  Pieces pieces;
  for (const Piece &piece : *result) {
    if (!piece.but) {
      add(pieces, piece);
      continue;
    }
    const auto argument = known.find(call.args[piece.argument].node());
    if (argument == known.end() || !argument->second) return std::nullopt;
    Pieces left = *argument->second;
    for (const std::string &axis : *piece.but) erase(left, axis);
    for (const Piece &one : left) add(pieces, one);
  }
  return pieces;
}

// Of a node over arguments that have these.
std::optional<Pieces> pieces_of(const ExprNode &node, const Pieces &of_arguments) {
  switch (node.kind) {
  case ExprKind::Input: {
    std::vector<AxisRef> dims;
    for (const Dim &dim : node.input->dims) {
      if (dim.label.empty()) return std::nullopt;
      dims.emplace_back(dim.label);
    }
    if (node.input->is_let || (node.input->window && node.input->window->is_whole))
      return std::nullopt;
    return labels(dims);
  }
  case ExprKind::Let: return node.axes.empty() ? of_arguments : labels(node.axes);
  case ExprKind::Fold: {
    if (!node.use->like.empty()) return std::nullopt;
    if (node.axes.empty()) return Pieces();
    const std::optional<Pieces> folded = labels(node.axes);
    if (!folded) return std::nullopt;
    Pieces pieces = of_arguments;
    for (const Piece &axis : *folded) erase(pieces, axis.axis);
    return pieces;
  }
  case ExprKind::Iota: return labels(node.axes);
  case ExprKind::Extent: return Pieces();
  case ExprKind::Join:
  case ExprKind::Parameter:
  case ExprKind::Call: return std::nullopt;
  case ExprKind::Literal:
  case ExprKind::Op:
  case ExprKind::Cast:
  case ExprKind::Scan: break;
  }
  return of_arguments;
}

std::optional<Pieces> pieces_of(const Expr &value, Known known, const Results &results) {
  // The arguments of an array are its own business.
  const auto enter = [](const ExprNode &node) {
    return node.kind != ExprKind::Join && (node.kind != ExprKind::Let || node.axes.empty());
  };
  const auto visit = [&](const ExprNode &node) {
    if (node.kind == ExprKind::Parameter && known.contains(&node)) return;
    if (node.kind == ExprKind::Call) {
      known[&node] = called(node, known, results);
      return;
    }
    std::optional<Pieces> pieces = Pieces();
    const bool looks = node.kind != ExprKind::Input && enter(node);
    for (const Expr &arg : looks ? node.args : std::vector<Expr>()) {
      const std::optional<Pieces> &own = known[arg.node()];
      if (!own) pieces.reset();
      for (const Piece &piece : pieces ? *own : Pieces()) add(*pieces, piece);
    }
    known[&node] = pieces ? pieces_of(node, *pieces) : std::nullopt;
  };
  expr::Walker().walk(value.node(), visit, enter);
  return known[value.node()];
}

} // namespace

std::optional<std::vector<std::string>> named_axes(const Expr &value) {
  Results results;
  for (const auto &function : functions_called({value})) {
    Known arguments;
    for (std::size_t k = 0; k < function->params.size(); ++k)
      arguments[function->params[k].node()] = Pieces{{"", k, std::vector<std::string>()}};
    results[function.get()] = pieces_of(function->body, std::move(arguments), results);
  }
  const std::optional<Pieces> pieces = pieces_of(value, {}, results);
  if (!pieces) return std::nullopt;
  std::vector<std::string> axes;
  for (const Piece &piece : *pieces) axes.push_back(piece.axis);
  return axes;
}

Expr with_lengths(
    const Expr &value,
    const std::function<std::optional<std::string>(const std::string &label)> &lender) {
  const auto is_let = [](const ExprNode &node) { return node.kind == ExprKind::Let; };
  if (is_let(*value.node())) return value;
  std::unordered_set<std::string> walked;
  expr::Exchange exchange;
  const auto visit = [&](const ExprNode &node) {
    if (node.kind == ExprKind::Input)
      for (const Dim &dim : node.input->dims) walked.insert(dim.label);
    for (const Expr &arg : node.args) {
      if (!is_let(*arg.node())) continue;
      exchange.put(arg.node(), arg); // it stays as it is
      for (const std::string &axis : named_axes(arg).value_or(std::vector<std::string>()))
        walked.insert(axis);
    }
  };
  expr::Walker().walk(value.node(), visit, [&](const ExprNode &node) { return !is_let(node); });
  return exchange.run(value, [&](const ExprNode &node) {
    if (node.kind != ExprKind::Iota || !node.of.empty()) return Expr();
    const auto *label = std::get_if<std::string>(&node.axes[0].value());
    if (label == nullptr || walked.contains(*label)) return Expr();
    const std::optional<std::string> input = lender(*label);
    return input ? make_iota(*label, {*input}, node.where) : Expr();
  });
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
  const std::optional<std::vector<std::string>> axes = named_axes(value);
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
