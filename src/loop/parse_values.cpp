// See parse_values.hpp.
#include "loop/parse_values.hpp"

#include "support/number.hpp"

#include <algorithm>

namespace broadloom::loop {
namespace {

Value along(ValueKind kind, AxisId axis) {
  Value v;
  v.kind = kind;
  v.dtype = DType::I64;
  v.axis = axis;
  return v;
}

} // namespace

std::uint32_t NestValues::literal(DType dtype, ops::Scalar literal) {
  Value v;
  v.dtype = dtype;
  v.literal = literal;
  return add(v);
}

std::uint32_t NestValues::cast(DType to, std::uint32_t value) {
  Value v;
  v.kind = ValueKind::Cast;
  v.dtype = to;
  v.compute = dtype_of(value);
  v.args[v.arg_count++] = {value};
  return add(v);
}

std::uint32_t NestValues::operation(ops::Op op, DType compute, DType dtype,
                                    std::span<const std::uint32_t> args) {
  Value v;
  v.kind = ValueKind::Op;
  v.op = op;
  v.compute = compute;
  v.dtype = dtype;
  for (const std::uint32_t arg : args) v.args[v.arg_count++] = {arg};
  return add(v);
}

std::uint32_t NestValues::named(Cursor &cursor) {
  const Token first = cursor.peek();
  const Token &second = cursor.peek(1);
  const bool sign = second.kind == Tok::Sign;
  if (sign && (second.text == "[" || second.text == "@")) return add(load(cursor));
  if (sign && second.text == "(" && (cursor.is("extent") || cursor.is("index"))) {
    const ValueKind kind = cursor.is("index") ? ValueKind::Index : ValueKind::Extent;
    cursor.next();
    cursor.next();
    const AxisId axis = read_axis(cursor, names_);
    cursor.expect(")");
    return add(along(kind, axis));
  }
  if (cursor.accept("running")) return add(state(cursor, ValueKind::Running));
  if (const auto found = names_.values.find(std::string(first.text));
      first.kind == Tok::Word && found != names_.values.end()) {
    cursor.next();
    return found->second;
  }
  if (first.kind == Tok::Word && accs_.count(accumulator_of(cursor, first)) > 0)
    return add(state(cursor, ValueKind::Result));
  const Cursor::Name name = cursor.name("a value");
  const auto axis = names_.axes.find(name.key);
  if (axis == names_.axes.end())
    cursor.fail(name.token, "there is no value '" + name.name + "' here",
                "elements have brackets: x[i, j], or x[] for a single one");
  return add(along(ValueKind::Index, axis->second));
}

// A new value, which the statement that is read computes before it does anything else.
std::uint32_t NestValues::add(const Value &value) {
  const auto id = std::uint32_t(p_.values.size());
  p_.values.push_back(value);
  numbers_.emplace_back();
  if (body_ != nullptr && value.kind != ValueKind::Literal) push(Stmt::let({id}));
  return id;
}

void NestValues::push(Stmt statement) {
  body_->push_back(std::move(statement));
  line_of_statement_.push_back(line_);
}

Value NestValues::load(Cursor &cursor) {
  Value v;
  v.kind = ValueKind::Load;
  v.buffer = element(cursor);
  v.dtype = p_[v.buffer].dtype;
  return v;
}

BufferId NestValues::element(Cursor &cursor) {
  const Token at = cursor.peek();
  const BufferId id = read_buffer(cursor, names_);
  std::vector<AxisId> axes;
  cursor.expect("[");
  if (!cursor.is("]")) do
      axes.push_back(read_axis(cursor, names_));
    while (cursor.accept(","));
  cursor.expect("]");
  const std::vector<Walk> &walks = p_[id].walks;
  if (!std::equal(axes.begin(), axes.end(), walks.begin(), walks.end(),
                  [](AxisId axis, const Walk &walk) { return axis == walk.axis; }))
    cursor.fail(at, "'" + p_[id].name + "' walks other axes than that",
                "write the axes of its declaration");
  return id;
}

std::int64_t NestValues::accumulator_of(const Cursor &cursor, const Token &token) {
  Token head = token;
  head.text = token.text.substr(0, token.text.find('.'));
  const auto number = number_behind(cursor, head, 'a');
  return number ? std::int64_t(*number) : -1;
}

Value NestValues::state(Cursor &cursor, ValueKind kind) {
  const Token &token = cursor.word("an accumulator like a0");
  const auto found = accs_.find(accumulator_of(cursor, token));
  if (found == accs_.end())
    cursor.fail(token, "there is no accumulator '" + std::string(token.text) + "' so far",
                "`init a0 : ..` before a loop makes one");
  Value v;
  v.kind = kind;
  v.acc = {std::uint32_t(found->first)};
  const std::vector<DType> &states = p_.recipes[found->second.recipe].states;
  const std::size_t dot = token.text.find('.');
  if (dot != token.text.npos)
    v.state = support::number_of<std::uint32_t>(token.text.substr(dot + 1)).value_or(UINT32_MAX);
  if (v.state >= states.size())
    cursor.fail(token, "the accumulator has no such state",
                "the states of a0 are a0.0, a0.1, ..; a0 alone is the first");
  v.dtype = states[v.state];
  return v;
}

void NestValues::computed(Cursor &cursor, std::vector<Stmt> *body) {
  body_ = body;
  const Token &name = cursor.word("a statement");
  cursor.expect(":");
  const DType dtype = read_dtype(cursor);
  cursor.expect("=");
  const std::size_t before = p_.values.size();
  const bool is_number = begins_number(cursor);
  const std::uint32_t value = read_value(cursor, *this, dtype);
  cursor.expect_end();
  if (dtype_of(value) != dtype)
    cursor.fail(name,
                "a value of " + std::string(broadloom::name(dtype_of(value))) + " and not " +
                    std::string(broadloom::name(dtype)),
                "cast it: f64(x)");
  if (value < before) cursor.fail(name, "a second name of one value", "use the first");
  if (body == nullptr &&
      (!is_number || value + 1 != p_.values.size() || p_.values[value].kind != ValueKind::Literal))
    cursor.fail(name, "a literal that is no number", "only numbers stand before the phases");
  if (body != nullptr && p_.values[value].kind == ValueKind::Literal) push(Stmt::let({value}));
  give_name(cursor, name, before, value);
}

void NestValues::give_name(Cursor &cursor, const Token &name, std::size_t before,
                           std::uint32_t value) {
  if (accumulator_of(cursor, name) >= 0)
    cursor.fail(name, "'" + std::string(name.text) + "' is the name of an accumulator",
                "take another: t0");
  const auto number = number_behind(cursor, name, 'v');
  const auto [known, fresh] = names_.values.emplace(std::string(name.text), value);
  if (fresh) {
    numbers_[value] = number;
    if (number) numbered_ = true;
    return;
  }
  // The same value may be computed in several places.
  const std::uint32_t first = known->second;
  if (!number || value != before || value + 1 != p_.values.size() ||
      p_.values[first] != p_.values[value])
    cursor.fail(name, "'" + std::string(name.text) + "' is another value already",
                "take another name");
  p_.values.pop_back();
  numbers_.pop_back();
  if (body_ != nullptr) body_->back().value = {first};
}

} // namespace broadloom::loop
