// In what two programs of one kernel differ, as far as a caller can see it: axes, operands, stores,
// phases.
#include "loop/loop.hpp"

#include "support/text.hpp"

namespace broadloom::loop {
namespace {

std::string axes_of(const Program &program) {
  return support::joined(program.axes, [](const Axis &axis) { return axis.name; });
}

std::string walks_of(const Program &program, const Buffer &buffer) {
  return "[" +
         support::joined(buffer.walks,
                         [&](const Walk &walk) {
                           return program[walk.axis].name + " " + std::string(name(walk.stride));
                         }) +
         "]";
}

std::string nest_of(const Program &program, const std::vector<Stmt> &body) {
  std::string text;
  for (const Stmt &s : body) {
    if (s.kind != StmtKind::Loop) continue;
    const Loop &loop = program[s.loop];
    text += "(" + std::string(loop.parallel ? "parallel " : "") + (loop.vector ? "vector " : "") +
            program[loop.axis].name +
            (loop.turns > 0 ? " of " + std::to_string(loop.turns) + " turns" : "") +
            nest_of(program, loop.body) + ")";
  }
  return text;
}

} // namespace

std::vector<std::string> differences(const Program &a, const Program &b) {
  std::vector<std::string> found;
  const auto note = [&](std::string text) { found.push_back(std::move(text)); };
  if (axes_of(a) != axes_of(b)) note("its axes are " + axes_of(b) + ", not " + axes_of(a));
  for (std::size_t k = 0; k < a.buffers.size() && k < b.buffers.size(); ++k) {
    const Buffer &x = a.buffers[k], &y = b.buffers[k];
    if (x.name != y.name) continue;
    if (walks_of(a, x) != walks_of(b, y))
      note("'" + x.name + "' is walked " + walks_of(b, y) + ", not " + walks_of(a, x));
    if (x.stream != y.stream)
      note("'" + x.name + "' is " + (y.stream ? "" : "not ") +
           (x.role == Role::Input ? "read ahead" : "stored around the caches"));
    if (x.reread != y.reread)
      note("'" + x.name + "' is " + (y.reread ? "" : "not ") + "read often");
    if (x.shift != y.shift)
      note("'" + x.name + "' has " + (y.shift ? "" : "no ") + "rows that another view has");
  }
  if (a.buffers.size() != b.buffers.size())
    note("it has " + std::to_string(b.buffers.size()) + " views of operands, not " +
         std::to_string(a.buffers.size()));
  if (a.phases.size() != b.phases.size())
    note("it has " + std::to_string(b.phases.size()) + " phases, not " +
         std::to_string(a.phases.size()));
  for (std::size_t p = 0; p < a.phases.size() && p < b.phases.size(); ++p)
    if (nest_of(a, a.phases[p].body) != nest_of(b, b.phases[p].body))
      note("phase " + std::to_string(p) + " has other loops");
  if (found.empty() && key(a) != key(b)) note("it computes other values on the way");
  return found;
}

} // namespace broadloom::loop
