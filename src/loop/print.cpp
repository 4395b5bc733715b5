// A loop program as the nest that a person would write.
//
//   parallel for i
//     init a0 : f64 = 0   # sum; 32 ways, leaves of 128 steps
//     vector for j
//       step a0 += f64(x[i, j])
//       next x
//     set z[i] = f32(a0) * y[i]
//     next x, y, z
//
// A value that is used once, in the body that computes it, is written where it is used, as long as
// the text stays short; any other gets a line `t0 : f32 = ...`. Texts are built in the order of the
// `let`s from finished texts of bounded length, so a chain of any depth prints without recursion.
#include "loop/grammar.hpp"
#include "loop/listing.hpp"
#include "support/number.hpp"
#include "support/text.hpp"

#include <cstdlib>
#include <span>

namespace broadloom::loop {

using support::joined;

namespace {

constexpr std::size_t longest_inline = 40;

struct Text {
  std::string words;
  int binding = atom;

  // The text where something that binds as tightly as `least` is wanted.
  std::string at(int least) const { return binding < least ? "(" + words + ")" : words; }
};

template <class T> Text number(T value) {
  std::string words = support::shortest(value);
  if (words == "-nan") words = "nan";
  return {words, words[0] == '-' ? prefix : atom};
}

Text literal(ops::Scalar s, DType dtype) {
  if (dtype == DType::Bool) return {s.bits != 0 ? "true" : "false", atom};
  if (is_narrow_float(dtype)) return literal(ops::convert(s, dtype, DType::F32), DType::F32);
  if (dtype == DType::F32) return number(ops::as_f32(s));
  if (dtype == DType::F64) return number(ops::as_f64(s));
  if (is_complex(dtype)) {
    const DType real = real_dtype(dtype);
    const std::string im = literal({s.imag}, real).words;
    return {literal({s.bits}, real).words + (im[0] == '-' ? "" : "+") + im + "j", sum};
  }
  return is_unsigned_integer(dtype) ? number(s.bits) : number(ops::as_i64(s));
}

class Printer {
public:
  explicit Printer(const Program &program)
      : p_(program), texts_(p_.values.size()), uses_(p_.values.size()), waiting_(p_.values.size()) {
  }

  Listing run() {
    header();
    for (std::size_t k = 0; k < p_.phases.size(); ++k) {
      line(0, "");
      line(0, "phase " + std::to_string(k) + ":");
      count_uses(p_.phases[k].body);
      std::vector<bool> touched(p_.buffers.size(), false);
      body(p_.phases[k].body, 1, touched);
    }
    return {std::move(out_), std::move(line_of_)};
  }

private:
  void line(int depth, const std::string &words) {
    ++line_;
    if (!words.empty()) out_.append(std::size_t(depth) * 2, ' ');
    out_ += words + "\n";
  }

  void header() {
    line(0, "program " + p_.name);
    if (p_.accuracy != Accuracy::high)
      line(1, p_.accuracy == Accuracy::exact ? "accuracy exact" : "accuracy fast");
    std::vector<std::string> axes;
    for (const Axis &a : p_.axes)
      axes.push_back(a.name + (a.chunks_of ? " (chunks of " + p_[*a.chunks_of].name + ")" : "") +
                     asked_of(a));
    if (!axes.empty()) line(1, "axes " + joined(axes));
    for (const Buffer &b : p_.buffers) {
      std::vector<std::string> walks;
      for (const Walk &w : b.walks)
        walks.push_back(p_[w.axis].name + " " + std::string(name(w.stride)));
      std::string text = b.role == Role::Input    ? "in "
                         : b.role == Role::Output ? "out "
                         : b.role == Role::Row    ? "row "
                                                  : "scratch ";
      text += b.name + " : " + std::string(name(b.dtype));
      if (!walks.empty()) text += "[" + joined(walks) + "]";
      if (b.stream) text += b.role == Role::Input ? ", read ahead" : ", streamed";
      if (b.reread) text += ", read often";
      if (b.shift)
        text += ", like " + p_[b.shift->of].name + " at " + p_[b.shift->axis].name +
                (b.shift->by < 0 ? " - " : " + ") + std::to_string(std::abs(b.shift->by));
      line(1, text + "   # operand " + std::to_string(b.operand));
    }
    for (std::size_t k = 0; k < p_.recipes.size(); ++k)
      if (!ops::only_op(p_.recipes[k])) recipe(k);
  }

  // What an accumulator of several states or operations does: the code, a line for each operation.
  void recipe(std::size_t index) {
    const ops::Recipe &r = p_.recipes[index];
    std::vector<std::string> inputs, others;
    for (std::size_t k = 0; k < r.states.size(); ++k) {
      inputs.push_back("s" + std::to_string(k));
      others.push_back(inputs.back() + "_other");
    }
    std::vector<std::string> combined = inputs;
    combined.insert(combined.end(), others.begin(), others.end());
    for (std::size_t k = 0; k < r.args.size(); ++k) inputs.push_back("x" + std::to_string(k));
    line(1, "accumulator r" + std::to_string(index) + "   # " + r.name);
    code("step", r.step, inputs);
    if (r.has_combine()) code("combine", r.combine, combined);
  }

  void code(const std::string &title, const ops::Code &code, std::vector<std::string> names) {
    line(2, title);
    for (std::size_t k = 0; k < code.lines.size(); ++k) {
      const ops::Code::Line &l = code.lines[k];
      if (l.kind == ops::Code::Line::Kind::Literal) {
        names.push_back(literal(l.literal, l.dtype).words);
        continue;
      }
      std::string text(l.kind == ops::Code::Line::Kind::Cast ? name(l.dtype)
                                                             : ops::info(l.op).spelling);
      text += "(";
      for (int a = 0; a < l.arg_count; ++a) text += (a == 0 ? "" : ", ") + names[l.args[a]];
      names.push_back("u" + std::to_string(k));
      line(3, names.back() + " : " + std::string(name(l.dtype)) + " = " + text + ")");
    }
    for (std::size_t k = 0; k < code.results.size(); ++k)
      line(3, "s" + std::to_string(k) + " = " + names[code.results[k]]);
  }

  // ---- which values are written where they are used
  // ------------------------------------------------

  struct Uses {
    int count = 0;
    const void *computed = nullptr, *used = nullptr; // the bodies
  };

  void count_uses(const std::vector<Stmt> &statements) {
    auto use = [&](ValueId id) {
      ++uses_[id.index].count;
      uses_[id.index].used = &statements;
    };
    for (const Stmt &s : statements) {
      switch (s.kind) {
      case StmtKind::Let:
        uses_[s.value.index].computed = &statements;
        for (int i = 0; i < p_[s.value].arg_count; ++i) use(p_[s.value].args[i]);
        break;
      case StmtKind::Set: use(s.value); break;
      case StmtKind::Step:
        for (ValueId arg : s.args) use(arg);
        break;
      case StmtKind::Loop:
        for (AccId a : p_[s.loop].accs)
          for (ValueId start : p_[a].start) use(start);
        count_uses(p_[s.loop].body);
        break;
      }
    }
  }

  bool goes_inline(ValueId id, const Text &text) const {
    const ValueKind kind = p_[id].kind;
    if (kind == ValueKind::Literal || kind == ValueKind::Result) return true;
    if (kind == ValueKind::Extent || kind == ValueKind::Index) return true;
    const Uses &u = uses_[id.index];
    return u.count == 1 && u.computed == u.used && text.words.size() <= longest_inline;
  }

  // ---- expressions
  // ---------------------------------------------------------------------------------

  Text text_of(ValueId id) const {
    if (p_[id].kind == ValueKind::Literal) return literal(p_[id].literal, p_[id].dtype);
    return texts_[id.index];
  }

  Text call(std::string_view function, const Value &v) const {
    std::vector<std::string> args;
    for (int i = 0; i < v.arg_count; ++i) args.push_back(text_of(v.args[i]).words);
    return {std::string(function) + "(" + joined(args) + ")", atom};
  }

  Text expression(ValueId id) const {
    const Value &v = p_[id];
    switch (v.kind) {
    case ValueKind::Literal: return text_of(id);
    case ValueKind::Cast: return call(name(v.dtype), v);
    case ValueKind::Load: return {element(v.buffer), atom};
    case ValueKind::Result: return {state(v), atom};
    case ValueKind::Running: return {"running " + state(v), any};
    case ValueKind::Extent: return {"extent(" + p_[v.axis].name + ")", atom};
    case ValueKind::Index: return {p_[v.axis].name, atom};
    case ValueKind::Op: return operation(v);
    }
    return {};
  }

  Text operation(const Value &v) const {
    const ops::OpInfo &info = ops::info(v.op);
    const std::string sign(info.spelling);
    switch (info.form) {
    case ops::Form::Call:
    case ops::Form::Ternary: return call(sign, v);
    case ops::Form::Prefix: return {sign + text_of(v.args[0]).at(power), prefix};
    case ops::Form::Infix: break;
    }
    const int mine = binding_of(v.op);
    // Left to right, save power, whose right side may also be a prefix; comparisons do not chain.
    int left = mine, right = mine + 1;
    if (mine == power) left = atom, right = prefix;
    if (mine == comparison) left = mine + 1;
    return {text_of(v.args[0]).at(left) + " " + sign + " " + text_of(v.args[1]).at(right), mine};
  }

  std::string element(BufferId id) const {
    const Buffer &b = p_[id];
    std::vector<std::string> places;
    for (const Walk &w : b.walks) places.push_back(p_[w.axis].name);
    // The name of a window is the read itself: x[i + u, j].
    if (places.empty() || b.name.ends_with(']')) return b.name;
    return b.name + "[" + joined(places) + "]";
  }

  // "a0", or "a0.1" where the accumulator has several states.
  std::string state(const Value &v) const {
    const bool several = p_.recipe(v.acc).states.size() > 1;
    return accumulator(v.acc) + (several ? "." + std::to_string(v.state) : "");
  }

  static std::string accumulator(AccId id) { return "a" + std::to_string(id.index); }

  // ---- lines
  // ---------------------------------------------------------------------------------------

  // The line just written is that of this statement, and of the values that are written in it.
  void place(const Stmt &s, std::span<const ValueId> values) {
    line_of_[&s] = line_;
    for (const ValueId value : values) place_inline(value);
  }

  void place_inline(ValueId value) {
    std::vector<ValueId> work{value};
    while (!work.empty()) {
      const Value &v = p_[work.back()];
      const Stmt *&stmt = waiting_[work.back().index];
      work.pop_back();
      if (stmt == nullptr) continue;
      line_of_[stmt] = line_;
      stmt = nullptr;
      work.insert(work.end(), v.args, v.args + v.arg_count);
    }
  }

  // ---- statements
  // ----------------------------------------------------------------------------------

  // `touched` gathers the buffers that the statements read or write.
  void body(const std::vector<Stmt> &statements, int depth, std::vector<bool> &touched) {
    for (const Stmt &s : statements) {
      switch (s.kind) {
      case StmtKind::Let: let(s, depth, touched); break;
      case StmtKind::Set:
        touched[s.buffer.index] = true;
        line(depth, "set " + element(s.buffer) + " = " + text_of(s.value).words);
        place(s, {&s.value, 1});
        break;
      case StmtKind::Step:
        line(depth, "step " + step(s));
        place(s, s.args);
        break;
      case StmtKind::Loop: loop(s, depth, touched); break;
      }
    }
  }

  void let(const Stmt &s, int depth, std::vector<bool> &touched) {
    const ValueId id = s.value;
    const Value &v = p_[id];
    if (v.kind == ValueKind::Load) touched[v.buffer.index] = true;
    Text text = expression(id);
    if (!goes_inline(id, text)) {
      const std::string name = "t" + std::to_string(names_++);
      line(depth, name + " : " + std::string(broadloom::name(v.dtype)) + " = " + text.words);
      place(s, {v.args, std::size_t(v.arg_count)});
      text = {name, atom};
    } else {
      waiting_[id.index] = &s;
    }
    texts_[id.index] = std::move(text);
  }

  std::string step(const Stmt &s) const {
    const std::string acc = accumulator(s.acc);
    std::vector<std::string> args;
    for (ValueId arg : s.args) args.push_back(text_of(arg).words);
    const std::optional<ops::Op> op = ops::only_op(p_.recipe(s.acc));
    if (!op) return acc + " with " + joined(args);
    if (*op == ops::Op::Add) return acc + " += " + args[0];
    if (*op == ops::Op::Mul) return acc + " *= " + args[0];
    return acc + " = " + p_.recipe(s.acc).name + "(" + acc + ", " + args[0] + ")";
  }

  void loop(const Stmt &s, int depth, std::vector<bool> &touched) {
    const Loop &l = p_[s.loop];
    for (AccId id : l.accs) {
      const ops::Recipe &r = p_.recipe(id);
      std::string how = r.name;
      if (!ops::only_op(r)) how += " (r" + std::to_string(p_[id].recipe) + ")";
      if (!r.has_combine()) how += "; in order";
      if (l.ways > 1) how += "; " + std::to_string(l.ways) + " ways";
      if (l.leaf > 0) {
        how += (l.ways > 1 ? ", " : "; ") + std::string(l.scan ? "blocks of " : "leaves of ") +
               std::to_string(l.leaf / l.ways) + (l.leaf / l.ways == 1 ? " step" : " steps");
      }
      std::vector<std::string> types, starts;
      for (std::size_t k = 0; k < r.states.size(); ++k) {
        types.emplace_back(name(r.states[k]));
        starts.push_back(p_[id].start.empty() ? literal(r.start[k], r.states[k]).words
                                              : text_of(p_[id].start[k]).words);
      }
      line(depth, "init " + accumulator(id) + " : " + joined(types) + " = " + joined(starts) +
                      "   # " + how);
    }
    line(depth, std::string(l.parallel ? "parallel " : "") + (l.vector ? "vector " : "") +
                    (l.scan ? "scan " : "") + (l.reverse ? "reverse " : "") + "for " +
                    p_[l.axis].name + (l.within ? " within " + p_[*l.within].name : "") +
                    (l.turns > 0 ? ", " + std::to_string(l.turns) + " turns" : ""));
    place(s, {});
    if (!l.handed.empty()) {
      std::vector<std::string> names;
      for (const BufferId id : l.handed) names.push_back(p_[id].name);
      line(depth + 1, "# from box to box in " + joined(names));
    }
    std::vector<bool> inside(p_.buffers.size(), false);
    body(l.body, depth + 1, inside);
    next(l, depth + 1, inside);
    for (std::size_t b = 0; b < inside.size(); ++b)
      if (inside[b]) touched[b] = true;
  }

  // The buffers that move on at the end of a turn.
  void next(const Loop &l, int depth, const std::vector<bool> &inside) {
    std::vector<std::string> moving;
    for (std::size_t b = 0; b < inside.size(); ++b)
      for (const Walk &w : p_.buffers[b].walks)
        if (inside[b] && w.axis == l.axis) moving.push_back(p_.buffers[b].name);
    if (!moving.empty()) line(depth, "next " + joined(moving));
  }

  const Program &p_;
  std::vector<Text> texts_; // [value]: how it is written at its uses
  std::vector<Uses> uses_;  // [value]
  // [value]: its `let`, until the line is written in which it stands
  std::vector<const Stmt *> waiting_;
  std::unordered_map<const Stmt *, int> line_of_;
  int line_ = 0;
  int names_ = 0;
  std::string out_;
};

} // namespace

std::string print(const Program &program) { return Printer(program).run().text; }

Listing list(const Program &program) { return Printer(program).run(); }

} // namespace broadloom::loop
