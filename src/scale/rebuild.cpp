// See rebuild.hpp.
#include "scale/rebuild.hpp"

#include "expr/window.hpp"
#include "facts/substitute.hpp"
#include "spec/cut.hpp"
#include "spec/declared.hpp"

#include <cstdlib>

namespace broadloom::scale {

using ops::Op;

namespace {

constexpr int most_factors = 4; // s * s * s * s, and s ^ 5

Expr whole_number(std::int64_t value, const Place &where) {
  Number number;
  number.integer = value;
  return make_literal(number, where);
}

bool is_one(const ExprNode &node) {
  return node.kind == ExprKind::Literal && node.number.kind == Number::Kind::Int &&
         !node.number.too_large && node.number.integer == 1;
}

std::set<std::string> names_needed(const SpecData &data) {
  std::set<std::string> names;
  for (const ScheduleClause &clause : data.schedule.clauses())
    names.insert(clause.names.begin(), clause.names.end());
  for (const Pairing &pairing : data.pairings) names.insert({pairing.a, pairing.b});
  return names;
}

} // namespace

Expr Constants::op(Op op, const Expr &a, const Expr &b) {
  Expr &made = ops_[{op, a.node(), b.node()}];
  if (!made.node()) made = make_op(op, {a, b}, a.node()->where);
  return made;
}

// In f64, which has all counts: -1 to an odd one is -1.
Expr Constants::power(const Factor::Base &of, int halves, const Place &where) {
  if (of.counted != Factor::once) {
    Expr &made = counted_[{of, halves}];
    if (made.node()) return made;
    const Expr once = power({of.constant}, halves, where);
    const DType dtype = of.dtype(values_);
    const bool is_wide = dtype == DType::F64 && !values_[of.constant].weak;
    made = make_op(Op::Pow,
                   {is_wide ? once : make_cast(DType::F64, once, where), values_.count(of.counted)},
                   where);
    if (dtype != DType::F64) made = make_cast(dtype, made, where);
    return made;
  }
  const Expr &base = built_[of.constant];
  Expr made;
  if (halves / 2 > most_factors)
    made = op(Op::Pow, base, whole_number(halves / 2, where));
  else
    for (int k = 0; k < halves / 2; ++k) made = made.node() ? op(Op::Mul, made, base) : base;
  if (halves % 2 == 0) return made;
  const Expr root = make_op(Op::Sqrt, {base}, where);
  return made.node() ? op(Op::Mul, made, root) : root;
}

std::pair<Expr, Expr> Constants::parts(const Factor &factor, const Place &where) {
  Expr up, down;
  for (const auto &[base, halves] : factor.halves()) {
    Expr &part = halves > 0 ? up : down;
    const Expr power = this->power(base, std::abs(halves), where);
    part = part.node() ? op(Op::Mul, part, power) : power;
  }
  if (up.node() && down.node()) {
    std::vector<std::pair<Factor::Base, int>> key(factor.halves().begin(), factor.halves().end());
    Expr &made = factors_[key];
    if (!made.node()) made = make_op(Op::Div, {up, down}, where);
    return {made, {}};
  }
  return {up, down};
}

Expr Constants::product(Id constant, const Factor &factor) {
  const Expr &base = built_[constant];
  if (factor.is_one() || values_.is_zero(constant)) return base;
  const auto [up, down] = parts(factor, base.node()->where);
  if (!up.node()) return op(Op::Div, base, down);
  return is_one(*base.node()) ? up : op(Op::Mul, base, up);
}

Expr Constants::alone(const Factor &factor) {
  const Place &where = values_[factor.halves().begin()->first.constant].node().where;
  const auto [up, down] = parts(factor, where);
  return up.node() ? up : make_op(Op::Div, {whole_number(1, where), down}, where);
}

Expr Constants::product(const Expr &data, const Factor &factor, Place where) {
  const auto [up, down] = parts(factor, where);
  if (!up.node() && !down.node()) return data;
  return make_op(up.node() ? Op::Mul : Op::Div, {data, up.node() ? up : down}, std::move(where));
}

SpecData rebuild(const SpecData &data, const Values &values, std::vector<Expr> &built,
                 const Made &made) {
  const std::set<std::string> needed = names_needed(data);
  std::multimap<Id, std::string> names;
  for (const auto &[name, id] : values.lets()) names.emplace(id, name);
  std::map<std::string, Expr> lets;
  built.assign(values.size(), {});
  std::vector<Id> order; // constants first: a value may be multiplied by one that was written later
  for (const bool constant : {true, false})
    for (Id id = 0; id < values.size(); ++id)
      if ((values[id].constant || values[id].is_count) == constant) order.push_back(id);
  for (const Id id : order) {
    const Value &value = values[id];
    std::vector<Expr> args;
    for (const Id arg : value.args) args.push_back(built[arg]);
    Expr now = made(id, args);
    if (!now.node()) now = args.empty() ? value.written : with_args(value.node(), std::move(args));
    const auto [first, last] = names.equal_range(id);
    for (auto name = first; name != last; ++name) {
      const ExprKind kind = now.node()->kind;
      const bool says_nothing =
          kind == ExprKind::Let || kind == ExprKind::Input || kind == ExprKind::Literal;
      if (says_nothing && !needed.contains(name->second)) continue;
      now = make_let(name->second, now, now.node()->where);
      lets[name->second] = now;
    }
    built[id] = std::move(now);
  }

  SpecData result = data;
  expr::Walker read;
  const auto built_of = [&](const Expr &expr) {
    const Expr now = built[values.id_of(expr)];
    read.walk(now.node(), [](const ExprNode &) {});
    return now;
  };
  for (OutputDecl &output : result.outputs) {
    output.value = built_of(output.value);
    for (Expr &init : output.mode.use.init) init = built_of(init);
  }
  result.lets.clear();
  for (const auto &[name, id] : values.lets()) {
    const auto let = lets.find(name);
    if (let != lets.end() && (read.seen(let->second.node()) || needed.contains(name)))
      result.lets.push_back(let->second);
  }
  return result;
}

namespace {

using Decls = std::vector<std::shared_ptr<const InputDecl>>;

std::vector<std::string> labels_of(const Decls &decls) {
  std::vector<std::string> labels;
  std::set<std::string> seen;
  for (const auto &decl : decls)
    for (const Dim &dim : decl->dims)
      if (!dim.label.empty() && seen.insert(dim.label).second) labels.push_back(dim.label);
  return labels;
}

} // namespace

void keep_axis_order(const SpecData &before, SpecData &data) {
  const Decls old = spec::declared_inputs(before);
  data.inputs.clear(); // all that there were, in their order
  for (const auto &decl : old)
    if (!decl->window) data.inputs.push_back(decl);
  for (const auto &decl : before.inputs)
    if (decl->window) data.inputs.push_back(decl);
  if (labels_of(spec::declared_inputs(data)) == labels_of(old)) return;

  spec::Names taken = spec::names_of(data);
  std::map<std::string, Expr> windows;
  std::vector<Expr> lets;
  int next = 0;
  for (const auto &decl : old) {
    if (!decl->window) continue;
    std::string name;
    do {
      name = "window" + std::to_string(next++);
    } while (!taken.insert(name).second);
    lets.push_back(make_let(name, make_input(decl, decl->where), decl->where));
    windows[decl->name] = lets.back();
  }
  expr::Exchange exchange;
  const auto named = [&](const ExprNode &node) {
    const bool is_window = node.kind == ExprKind::Input && windows.contains(node.input->name);
    return is_window ? windows.at(node.input->name) : Expr();
  };
  spec::change_values(data, [&](const Expr &expr) { return exchange.run(expr, named); });
  lets.insert(lets.end(), data.lets.begin(), data.lets.end());
  data.lets = std::move(lets);
}

} // namespace broadloom::scale
