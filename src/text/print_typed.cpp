// The texts of `--stage axes`, but for the table of strides (axis_table.cpp), and `--stage graph`,
// but for its drawings (draw_graph.cpp).
#include "text/print_typed.hpp"

#include "spec/words.hpp"
#include "support/check.hpp"
#include "support/number.hpp"

#include <cctype>

namespace broadloom::text {

namespace {

using expr::AxisSet;
using expr::NodeId;
using expr::NodeKind;

std::string names(const spec::TypedSpec &spec, const std::vector<int> &axes, const char *between) {
  std::string text;
  for (std::size_t i = 0; i < axes.size(); ++i)
    text += (i == 0 ? "" : between) + spec.axes[std::size_t(axes[i])].name;
  return text;
}

std::string names(const spec::TypedSpec &spec, AxisSet set) {
  return "{" + names(spec, set.list(), " ") + "}";
}

// A literal as its type reads it.
std::string literal(const ops::Scalar &value, DType dtype) {
  using support::shortest;
  if (dtype == DType::Bool) return value.bits != 0 ? "true" : "false";
  if (dtype == DType::F64) return shortest(ops::as_f64(value));
  if (dtype == DType::F32) return shortest(ops::as_f32(value));
  if (is_narrow_float(dtype)) return shortest(ops::as_f32(ops::convert(value, dtype, DType::F32)));
  if (is_complex(dtype)) {
    const auto part = [&](std::uint64_t bits) {
      return shortest(ops::as_f64(ops::convert({bits}, real_dtype(dtype), DType::F64)));
    };
    const std::string im = part(value.imag);
    return part(value.bits) + (im[0] == '-' ? "" : "+") + im + "j";
  }
  if (is_unsigned_integer(dtype)) return shortest(value.bits);
  return shortest(ops::as_i64(value));
}

std::string lower_case(std::string_view enumerator) {
  std::string word;
  for (char c : enumerator) word += char(std::tolower(c));
  return word;
}

// One clause of a recipe, a line for each value: inputs s0 s1 .. (states), x0 x1 .. (arguments, or
// the states of the later block), then v0 v1 ..
std::string code(const char *word, const ops::Code &code, std::size_t states) {
  auto value = [&](std::uint32_t k) {
    if (k < states) return "s" + std::to_string(k);
    if (k < std::uint32_t(code.inputs)) return "x" + std::to_string(k - states);
    return "v" + std::to_string(k - std::uint32_t(code.inputs));
  };
  std::string text = std::string("  ") + word + "\n";
  for (std::uint32_t k = 0; k < code.lines.size(); ++k) {
    const ops::Code::Line &line = code.lines[k];
    text += "    " + value(std::uint32_t(code.inputs) + k) + " = ";
    switch (line.kind) {
    case ops::Code::Line::Kind::Literal:
      text += "literal " + literal(line.literal, line.dtype);
      break;
    case ops::Code::Line::Kind::Cast: text += "cast"; break;
    case ops::Code::Line::Kind::Op: text += lower_case(ops::info(line.op).enumerator); break;
    }
    for (int a = 0; a < line.arg_count; ++a) text += " " + value(line.args[a]);
    text += " : " + std::string(name(line.dtype)) + "\n";
  }
  for (std::size_t k = 0; k < states; ++k)
    text += "    s" + std::to_string(k) + " <- " + value(code.results[k]) + "\n";
  return text;
}

// Those that are more than one operation.
std::string print_recipes(const spec::TypedSpec &spec) {
  std::vector<bool> shown;
  std::string text;
  for (std::uint32_t n = 0; n < spec.graph.size(); ++n) {
    const expr::Node &node = spec.graph[NodeId{n}];
    if (node.kind != NodeKind::Fold && node.kind != NodeKind::Scan) continue;
    const ops::Recipe &recipe = spec.graph.recipe(node.recipe);
    shown.resize(std::max(shown.size(), std::size_t(node.recipe.index) + 1));
    if (shown[node.recipe.index] || ops::only_op(recipe)) continue;
    shown[node.recipe.index] = true;
    text += "accumulator " + recipe.name + "\n  init\n";
    for (std::size_t k = 0; k < recipe.states.size(); ++k)
      text += "    s" + std::to_string(k) + " = " + literal(recipe.start[k], recipe.states[k]) +
              " : " + std::string(name(recipe.states[k])) + "\n";
    text += code("step", recipe.step, recipe.states.size());
    if (recipe.has_combine()) text += code("combine", recipe.combine, recipe.states.size());
  }
  return text;
}

std::string describe(const spec::TypedSpec &spec, NodeId id, bool with_args) {
  const expr::Node &node = spec.graph[id];
  std::string args;
  for (NodeId arg : spec.graph.args(id))
    if (with_args) args += " n" + std::to_string(arg.index);
  switch (node.kind) {
  case NodeKind::Input:
    return "input " + std::to_string(node.payload) + " " + spec.inputs[node.payload].name;
  case NodeKind::Literal: return "literal " + literal(node.literal, node.dtype);
  case NodeKind::Op: return lower_case(ops::info(node.op).enumerator) + args;
  case NodeKind::Cast: return "cast" + args;
  case NodeKind::Fold:
  case NodeKind::Scan: {
    const ops::Recipe &recipe = spec.graph.recipe(id);
    std::string text = node.kind == NodeKind::Scan ? "scan " : "fold ";
    text += recipe.name + args + (node.exclusive ? " exclusive" : "") +
            (node.reverse ? " reverse" : "") + (node.total ? " total" : "") +
            (node.kind == NodeKind::Scan ? " along " : " over ") + names(spec, node.folded);
    if (recipe.states.size() > 1) text += " state " + std::to_string(node.payload);
    if (node.like.given()) text += " like " + spec.names_of(spec.graph.like(node));
    return text;
  }
  case NodeKind::Expand: return "expand" + args;
  case NodeKind::Extent: {
    std::string text = "extent" + args + " over " + names(spec, node.folded);
    if (node.like.given()) text += " like " + spec.names_of(spec.graph.like(node));
    return text;
  }
  case NodeKind::Index: return "index" + args;
  }
  support::bug("print_graph: unknown node");
}

const char *order_word(Order order) {
  switch (order) {
  case Order::c: return "c";
  case Order::f: return "f";
  case Order::none: return "none";
  }
  return "";
}

} // namespace

std::string print_axes(const spec::TypedSpec &spec) {
  const expr::AxisSet shown = spec.shown_axes();
  std::string text = "kernel " + spec.name + ": " + std::to_string(shown.size()) +
                     (shown.size() == 1 ? " axis" : " axes") + ", order " + order_word(spec.order) +
                     "\n";
  for (std::size_t i = 0; i < spec.axes.size(); ++i) {
    const spec::Axis &axis = spec.axes[i];
    if (!shown.has(int(i))) continue;
    text += "  axis " + std::to_string(i);
    if (axis.labelled) text += " = " + axis.name;
    text += "\n";
  }
  for (const spec::TypedInput &x : spec.inputs) {
    if (!x.said.empty()) {
      text += "  says " + x.name + "\n";
      continue;
    }
    text += (x.window                     ? "  window "
             : x.role == InputRole::plain ? "  in  "
                                          : "  " + std::string(spec::word_of(x.role)) + " ") +
            x.name + " : " + std::string(name(x.dtype)) + "[";
    for (std::size_t dim = 0; dim < x.axis_of_dim.size(); ++dim) {
      text += dim == 0 ? "" : ", ";
      if (x.in_windows_only) {
        text += x.extents[dim] >= 0 ? std::to_string(x.extents[dim]) : ":";
        continue;
      }
      text += spec.axes[std::size_t(x.axis_of_dim[dim])].name;
      if (x.extents[dim] >= 0)
        text += "=" + std::to_string(x.extents[dim]);
      else if (x.may_stretch[dim])
        text += "?"; // may be 1 and stretch
    }
    text += x.sign == Sign::any ? "]\n" : "] " + std::string(relation(x.sign)) + "\n";
  }
  for (const spec::TypedOutput &out : spec.outputs)
    text += (out.update ? "  update " : "  out ") + out.name + " : " +
            std::string(name(out.dtype)) + "[" + names(spec, out.axes, ", ") + "]" +
            (out.add ? " +=" : "") + "\n";
  return text;
}

std::string node_label(const spec::TypedSpec &spec, NodeId id) { return describe(spec, id, false); }

std::string node_type(const spec::TypedSpec &spec, NodeId id) {
  const expr::Node &node = spec.graph[id];
  return std::string(name(node.dtype)) + " " + names(spec, node.axes);
}

std::string print_graph(const spec::TypedSpec &spec) {
  std::string text = print_recipes(spec);
  for (const NodeId id : spec.graph.ids()) {
    text += "n" + std::to_string(id.index) + " = " + describe(spec, id, true) + " : " +
            node_type(spec, id) + "\n";
  }
  for (const spec::Mark &mark : spec.marks)
    text += (mark.keep ? "keep n" : "recompute n") + std::to_string(mark.value.index) + "\n";
  for (const spec::TypedOutput &out : spec.outputs) {
    text += (out.update ? "update " : "out ") + out.name + "[" + names(spec, out.axes, ", ") +
            "] : " + std::string(name(out.dtype)) + (out.add ? " += n" : " = n") +
            std::to_string(out.add ? out.addend.index : out.value.index) + "\n";
  }
  return text;
}

} // namespace broadloom::text
