// Warnings of what a text means where its writer may have meant another thing. `x[k]` walks an axis
// k, also where an input is called k: who meant its elements is told to write `x[k[i]]`. `out s =
// reduce(sum) x` keeps all axes of x: who meant one number is told to write `s[]`.
#include "expr/node.hpp"
#include "expr/walk.hpp"
#include "support/log.hpp"
#include "text/parser.hpp"

namespace broadloom::text {
namespace {

// How an element of an input is read: k[i, j], k[]
std::string element(const InputDecl &decl) {
  std::string axes;
  char letter = 'i';
  for (const Dim &dim : decl.dims) {
    if (decl.name == std::string(1, letter)) ++letter;
    const std::string label = decl.labelled() ? dim.label : std::string(1, letter++);
    axes += (axes.empty() ? "" : ", ") + label;
  }
  return decl.name + "[" + axes + "]";
}

std::string advice(const InputDecl &decl) {
  if (decl.dtype == DType::Bool) return "a mask chooses as in where(" + decl.name + ", x, 0)";
  return "its elements say positions as in x[" + element(decl) + "]";
}

// Without brackets an output keeps the axes of the input of least rank, which are all where there
// is only one.
void warn_of_empty_fold(const OutputDecl &out) {
  const bool folds = out.mode.kind == ModeKind::reduce || out.mode.kind == ModeKind::accumulate;
  if (!folds || out.has_axes || out.update || !out.mode.use.like.empty()) return;
  const InputDecl *only = nullptr;
  bool several = false;
  expr::Walker().walk(out.value.node(), [&](const ExprNode &node) {
    if (node.kind != ExprKind::Input) return;
    several = several || (only && only != node.input.get());
    only = node.input.get();
  });
  if (several || !only || only->dims.empty()) return;
  support::log().warn("{}:{}:{}: output '{}' keeps all axes of '{}', so nothing is folded: list "
                      "those to keep, {}[] for one number",
                      out.where.file, out.where.line, out.where.column, out.name, only->name,
                      out.name);
}

} // namespace

void warn_of_misread_names(const Cursor &cursor, const Symbols &symbols, const SpecData &data) {
  for (const OutputDecl &out : data.outputs) warn_of_empty_fold(out);
  if (symbols.walked.empty()) return;
  const auto warn = [&](const std::string &name, const char *what, const std::string &advice) {
    const auto walked = symbols.walked.find(name);
    if (walked == symbols.walked.end() || symbols.read.count(name) != 0) return;
    const Place at = cursor.source().place(walked->second);
    support::log().warn(
        "{}:{}:{}: '{}' is an axis here, and the {} of that name is read nowhere: {}", at.file,
        at.line, at.column, name, what, advice);
  };
  for (const auto &decl : data.inputs)
    if (decl->dtype == DType::Bool || is_integer(decl->dtype))
      warn(decl->name, "input", advice(*decl));
  for (const Expr &let : data.lets)
    warn(let.node()->name, "let",
         "its elements say positions as in x[" + let.node()->name + "[i]]");
}

} // namespace broadloom::text
