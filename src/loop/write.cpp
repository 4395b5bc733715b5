// A loop program as a text that holds all of it: what `parse` reads.
//
//   phase 0, cost 4:
//     parallel for i
//       init a0 : r0
//       vector for j, 32 ways, leaves of 4096
//         v0 : f32 = x[i, j]
//         v1 : f64 = f64(v0)
//         step a0 with v1
//       v2 : f64 = a0
//
// Each value has a line of its own, with its place in the table and its type, so that nothing hangs
// on how expressions are put together. Names that are not unique get an @ and their place: x@0,
// x@3.
#include "loop/grammar.hpp"
#include "loop/loop.hpp"
#include "loop/nest_text.hpp"
#include "support/number.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace broadloom::loop {

using support::joined;
using support::shortest;

namespace {

std::string hexadecimal(std::uint64_t bits) {
  char digits[16];
  return "0x" + std::string(digits, std::to_chars(digits, digits + 16, bits, 16).ptr);
}

// A NaN has a sign and digits of its own, which the word does not tell.
bool is_odd_nan(std::uint64_t bits, DType dtype) {
  const ops::Scalar nan =
      ops::convert(ops::scalar_from(std::numeric_limits<float>::quiet_NaN()), DType::F32, dtype);
  return std::isnan(ops::as_f64(ops::convert({bits}, dtype, DType::F64))) && bits != nan.bits;
}

std::string real_text(std::uint64_t bits, DType dtype) {
  if (dtype == DType::Bool) return bits != 0 ? "true" : "false";
  if (dtype == DType::F64) return shortest(ops::as_f64({bits}));
  if (is_float(dtype)) return shortest(ops::as_f32(ops::convert({bits}, dtype, DType::F32)));
  return is_unsigned_integer(dtype) ? shortest(bits) : shortest(ops::as_i64({bits}));
}

std::string literal_text(ops::Scalar s, DType dtype) {
  const DType real = real_dtype(dtype);
  const bool odd = is_float(real) &&
                   (is_odd_nan(s.bits, real) || (is_complex(dtype) && is_odd_nan(s.imag, real)));
  if (odd)
    return "bits(" + hexadecimal(s.bits) + (is_complex(dtype) ? ", " + hexadecimal(s.imag) : "") +
           ")";
  if (!is_complex(dtype)) return real_text(s.bits, dtype);
  return "complex(" + real_text(s.bits, real) + ", " + real_text(s.imag, real) + ")";
}

std::string operation(ops::Op op, const std::vector<std::string> &args) {
  const ops::OpInfo &info = ops::info(op);
  const std::string sign(info.spelling);
  if (info.form == ops::Form::Infix) return args[0] + " " + sign + " " + args[1];
  if (info.form == ops::Form::Prefix) return sign + args[0];
  return sign + "(" + joined(args) + ")";
}

class ProgramWriter {
public:
  explicit ProgramWriter(const Program &program) : p_(program) {
    name_all(p_.axes, axes_);
    name_all(p_.buffers, buffers_);
    for (const Phase &phase : p_.phases) look_at(phase.body);
  }

  std::string run() {
    head();
    for (std::size_t k = 0; k < p_.phases.size(); ++k) {
      line(0, "");
      line(0, "phase " + std::to_string(k) + ", cost " + shortest(p_.phases[k].cost) + ":");
      body(p_.phases[k].body, 1);
    }
    return std::move(out_);
  }

private:
  template <class Row>
  static void name_all(const std::vector<Row> &rows, std::vector<std::string> &names) {
    std::map<std::string, int> count;
    for (const Row &row : rows) ++count[row.name];
    for (std::size_t k = 0; k < rows.size(); ++k)
      names.push_back(quoted(rows[k].name) +
                      (count[rows[k].name] > 1 ? "@" + std::to_string(k) : ""));
  }

  // Which values have a `let`, and whether the loops stand in the order of their table.
  void look_at(const std::vector<Stmt> &statements) {
    for (const Stmt &s : statements) {
      if (s.kind == StmtKind::Let) is_let_.resize(p_.values.size()), is_let_[s.value.index] = true;
      if (s.kind != StmtKind::Loop) continue;
      loops_in_order_ = loops_in_order_ && s.loop.index == loops_seen_;
      ++loops_seen_;
      look_at(p_[s.loop].body);
    }
  }

  void line(int depth, const std::string &words) {
    if (!words.empty()) out_.append(std::size_t(depth) * 2, ' ');
    out_ += words + "\n";
  }

  const std::string &of(AxisId id) const { return axes_[id.index]; }
  const std::string &of(BufferId id) const { return buffers_[id.index]; }
  static std::string of(ValueId id) { return "v" + std::to_string(id.index); }
  static std::string of(AccId id) { return "a" + std::to_string(id.index); }

  // ---- head
  // -------------------------------------------------------------------------------------------

  void head() {
    line(0, "program " + quoted(p_.name));
    if (p_.accuracy != Accuracy::high)
      line(1, p_.accuracy == Accuracy::exact ? "accuracy exact" : "accuracy fast");
    if (!p_.axes.empty()) {
      std::size_t k = 0;
      line(1, "axes " + joined(p_.axes, [&](const Axis &axis) {
                return axes_[k++] +
                       (axis.chunks_of ? " (chunks of " + of(*axis.chunks_of) + ")" : "") +
                       asked_of(axis);
              }));
    }
    std::uint32_t scratch = 0;
    for (std::size_t k = 0; k < p_.buffers.size(); ++k) {
      buffer(k);
      if (p_.buffers[k].role == Role::Scratch)
        scratch = std::max(scratch, p_.buffers[k].operand + 1);
    }
    if (scratch != p_.scratch_count) line(1, "scratch count " + std::to_string(p_.scratch_count));
    for (std::size_t k = 0; k < p_.recipes.size(); ++k) recipe(k);
    is_let_.resize(p_.values.size());
    for (std::uint32_t k = 0; k < p_.values.size(); ++k)
      if (!is_let_[k] && p_.values[k].kind == ValueKind::Literal)
        line(1, "literal " + of(ValueId{k}) + " : " + computed(p_.values[k]));
  }

  void buffer(std::size_t k) {
    constexpr const char *roles[] = {"in ", "out ", "scratch ", "row "};
    const Buffer &b = p_.buffers[k];
    std::string text = roles[int(b.role)] + buffers_[k] + " : " + std::string(name(b.dtype));
    if (!b.walks.empty())
      text += "[" +
              joined(b.walks,
                     [&](const Walk &walk) {
                       return of(walk.axis) + " " + std::string(name(walk.stride));
                     }) +
              "]";
    text += ", operand " + std::to_string(b.operand);
    if (b.stream) text += b.role == Role::Input ? ", read ahead" : ", streamed";
    if (b.reread) text += ", read often";
    line(1, text);
  }

  void recipe(std::size_t index) {
    const ops::Recipe &r = p_.recipes[index];
    const std::string me = "accumulator r" + std::to_string(index);
    if (const std::optional<Fold> fold = built_in(r)) {
      line(1, me + " : " + r.name + " " + std::string(name(r.states[0])));
      return;
    }
    line(1, me + " " + quoted(r.name) + (r.exact ? ", exact" : "") +
                (r.commutes ? ", commutes" : "") + (r.needs_value ? ", needs a value" : ""));
    std::size_t k = 0;
    line(2, "states " + joined(r.states, [&](DType dtype) {
              return std::string(name(dtype)) + " = " + literal_text(r.start[k++], dtype);
            }));
    if (!r.args.empty())
      line(2, "takes " + joined(r.args, [](DType dtype) { return name(dtype); }));
    std::vector<std::string> states, others, args;
    for (std::size_t s = 0; s < r.states.size(); ++s) {
      states.push_back("s" + std::to_string(s));
      others.push_back(states.back() + "_other");
    }
    for (std::size_t x = 0; x < r.args.size(); ++x) args.push_back("x" + std::to_string(x));
    code("step", r.step, states, args);
    if (r.has_combine()) code("combine", r.combine, states, others);
  }

  static std::optional<Fold> built_in(const ops::Recipe &r) {
    const std::optional<Fold> fold = ops::find_fold(r.name);
    if (!fold || ops::info(*fold).kind != ops::FoldKind::Operation || r.states.size() != 1)
      return std::nullopt;
    return ops::same(r, ops::recipe_of(*fold, r.states[0])) ? fold : std::nullopt;
  }

  void code(const char *title, const ops::Code &code, std::vector<std::string> names,
            const std::vector<std::string> &more) {
    using Kind = ops::Code::Line::Kind;
    names.insert(names.end(), more.begin(), more.end());
    line(2, title);
    for (std::size_t k = 0; k < code.lines.size(); ++k) {
      const ops::Code::Line &l = code.lines[k];
      std::vector<std::string> args;
      for (int a = 0; a < l.arg_count; ++a) args.push_back(names[l.args[a]]);
      const std::string dtype(name(l.dtype));
      const std::string text = l.kind == Kind::Literal ? literal_text(l.literal, l.dtype)
                               : l.kind == Kind::Cast  ? dtype + "(" + args[0] + ")"
                                                       : operation(l.op, args);
      names.push_back("u" + std::to_string(k));
      line(3, names.back() + " : " + dtype + " = " + text);
    }
    line(3, "results " + joined(code.results, [&](std::uint32_t result) { return names[result]; }));
  }

  // ---- nests
  // ------------------------------------------------------------------------------------------

  // What stands behind `v3 : `.
  std::string computed(const Value &v) const {
    std::vector<std::string> args;
    for (int a = 0; a < v.arg_count; ++a) args.push_back(of(v.args[a]));
    return std::string(name(v.dtype)) + " = " + expression(v, args);
  }

  std::string expression(const Value &v, const std::vector<std::string> &args) const {
    switch (v.kind) {
    case ValueKind::Literal: return literal_text(v.literal, v.dtype);
    case ValueKind::Op: return operation(v.op, args);
    case ValueKind::Cast: return std::string(name(v.dtype)) + "(" + args[0] + ")";
    case ValueKind::Load: return element(v.buffer);
    case ValueKind::Result: return state(v);
    case ValueKind::Running: return "running " + state(v);
    case ValueKind::Extent: return "extent(" + of(v.axis) + ")";
    case ValueKind::Index: return "index(" + of(v.axis) + ")";
    }
    return {};
  }

  std::string element(BufferId id) const {
    return of(id) + "[" + joined(p_[id].walks, [&](const Walk &walk) { return of(walk.axis); }) +
           "]";
  }

  std::string state(const Value &v) const {
    const bool several = p_.recipe(v.acc).states.size() > 1;
    return of(v.acc) + (several ? "." + std::to_string(v.state) : "");
  }

  void body(const std::vector<Stmt> &statements, int depth) {
    const auto value = [](ValueId id) { return of(id); };
    for (const Stmt &s : statements) {
      switch (s.kind) {
      case StmtKind::Let: line(depth, of(s.value) + " : " + computed(p_[s.value])); break;
      case StmtKind::Set: line(depth, "set " + element(s.buffer) + " = " + of(s.value)); break;
      case StmtKind::Step:
        line(depth, "step " + of(s.acc) + (s.args.empty() ? "" : " with " + joined(s.args, value)));
        break;
      case StmtKind::Loop:
        for (const AccId id : p_[s.loop].accs) {
          const std::string start = joined(p_[id].start, value);
          line(depth, "init " + of(id) + " : r" + std::to_string(p_[id].recipe) +
                          (start.empty() ? "" : " = " + start));
        }
        line(depth, header(s.loop));
        body(p_[s.loop].body, depth + 1);
        break;
      }
    }
  }

  std::string header(LoopId id) const {
    const Loop &l = p_[id];
    std::string text = std::string(l.parallel ? "parallel " : "") + (l.vector ? "vector " : "") +
                       (l.scan ? "scan " : "") + (l.reverse ? "reverse " : "") + "for " +
                       of(l.axis) + (l.within ? " within " + of(*l.within) : "");
    if (l.turns > 0) text += ", " + std::to_string(l.turns) + " turns";
    if (l.ways > 1) text += ", " + std::to_string(l.ways) + " ways";
    if (l.leaf > 0) text += (l.scan ? ", blocks of " : ", leaves of ") + std::to_string(l.leaf);
    if (!l.handed.empty())
      text += ", from box to box in (" +
              joined(l.handed, [&](BufferId buffer) { return of(buffer); }) + ")";
    return text + (loops_in_order_ ? "" : ", loop " + std::to_string(id.index));
  }

  const Program &p_;
  std::vector<std::string> axes_, buffers_; // as they are written
  std::vector<bool> is_let_;                // [value]
  bool loops_in_order_ = true;
  std::uint32_t loops_seen_ = 0;
  std::string out_;
};

} // namespace

std::string write(const Program &program) { return ProgramWriter(program).run(); }

} // namespace broadloom::loop
