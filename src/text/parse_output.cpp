// Outputs with dims: which axes they list, how long these are, and which part of an output a
// statement writes.
//
//   axes = "axis" NAME "<" form { "," NAME "<" form }
//   dims = axis [ "<" form ] { "," axis [ "<" form ] }
//   out  = "out" NAME "[" form [ "<" form ] { "," form [ "<" form ] } "]" [ ":" DTYPE ]
//             "=" expression
//       a part of NAME
#include "text/parser.hpp"

#include "support/fail.hpp"
#include "support/text.hpp"

namespace broadloom::text {

// The condition is read behind the let, of which it may read the step.
static void skip_until(Cursor &cursor, ListedDims &listed, const std::string &owner) {
  const Token word = cursor.next();
  if (listed.until)
    cursor.fail("E0028", "'" + owner + "' goes along two axes until a condition holds", word,
                "it goes step by step along one: join the conditions with ||");
  listed.until = {listed.axes.size() - 1, cursor.at(), 0};
  for (int open = 0; !cursor.is(Tok::End) && !cursor.is(Tok::Break); cursor.next()) {
    if (open == 0 && (cursor.is(Tok::Comma) || cursor.is(Tok::RightBracket))) break;
    open += cursor.is(Tok::LeftParen) || cursor.is(Tok::LeftBracket);
    open -= cursor.is(Tok::RightParen) || cursor.is(Tok::RightBracket);
  }
  listed.until->end = cursor.at();
  if (listed.until->end == listed.until->begin) cursor.unexpected("a condition");
}

ListedDims parse_listed_dims(Cursor &cursor, const Symbols &symbols, const std::string &owner) {
  ListedDims listed;
  std::vector<SaidExtent> said;
  const Token first = cursor.peek();
  do {
    const Token axis = cursor.peek();
    listed.axes.push_back(parse_axis(cursor));
    if (cursor.is(Tok::Less)) {
      const auto *label = std::get_if<std::string>(&listed.axes.back().value());
      if (label == nullptr)
        cursor.fail("E0033", "an extent is said of an axis that has a name", axis, cursor.peek(),
                    "write such as " + owner + "[i < 3]");
      cursor.next();
      said.push_back({*label, parse_form(cursor, symbols)});
    }
    if (cursor.is_word("until")) skip_until(cursor, listed, owner);
  } while (cursor.accept(Tok::Comma));
  const Place where = cursor.source().place(first, cursor.previous());
  cursor.expect(Tok::RightBracket, "',' or ']'");
  if (!said.empty())
    listed.said = make_said(owner, std::move(said),
                            [&] { return support::with_text(where, cursor.source().text.get()); });
  return listed;
}

// The same axis may be said again where several folds go along it.
void say_axis(Cursor &cursor, const Symbols &symbols, std::shared_ptr<const InputDecl> said,
              const Token &first) {
  for (const auto &known : symbols.axes) {
    if (known->dims[0].label != said->dims[0].label) continue;
    if (known->name == said->name) return;
    cursor.fail("E0033",
                "the extent of '" + said->dims[0].label + "' is said twice: " + known->name +
                    " and " + said->name,
                first, cursor.previous(), "say it once");
  }
  symbols.axes.push_back(std::move(said));
}

void parse_said_axis(Cursor &cursor, const Symbols &symbols, const AxisRef &axis,
                     const Token &first) {
  const auto *label = std::get_if<std::string>(&axis.value());
  if (label == nullptr)
    cursor.fail("E0033", "an extent is said of an axis that has a name", first, cursor.peek(),
                "write such as sum(e, u < 2)");
  cursor.next();
  const AffineForm extent = parse_form(cursor, symbols);
  const Place where = support::with_text(cursor.source().place(first, cursor.previous()),
                                         cursor.source().text.get());
  say_axis(cursor, symbols, make_said("axis", {{*label, extent}}, [&] { return where; }), first);
}

void parse_axes(Cursor &cursor, const Symbols &symbols) {
  do {
    cursor.next();
    const Token first = cursor.peek();
    const AxisRef axis = parse_axis(cursor);
    if (!cursor.is(Tok::Less)) cursor.unexpected("'<' and the extent of the axis");
    parse_said_axis(cursor, symbols, axis, first);
  } while (cursor.is(Tok::Comma));
}

bool OutputParts::is_next(const Cursor &cursor) {
  if (!cursor.is(Tok::LeftBracket)) return false;
  std::size_t at = 1;
  while (true) {
    const bool minus = cursor.peek(at).kind == Tok::Minus;
    const Tok kind = cursor.peek(at + minus).kind;
    if (kind != Tok::Int && kind != Tok::Name) return false; // no position either
    at += minus + 1u;
    if (cursor.peek(at).kind == Tok::Less) { // an extent, up to a comma outside of brackets
      int open = 0;
      for (++at;; ++at) {
        const Tok in = cursor.peek(at).kind;
        if (in == Tok::End || in == Tok::Break) return false;
        if (open == 0 && (in == Tok::Comma || in == Tok::RightBracket)) break;
        open += (in == Tok::LeftParen || in == Tok::LeftBracket) -
                (in == Tok::RightParen || in == Tok::RightBracket);
      }
    }
    if (cursor.peek(at).kind == Tok::RightBracket) return false;
    if (cursor.peek(at).kind != Tok::Comma) return true;
    ++at;
  }
}

bool OutputParts::has(const std::string &name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

// The output of that name with its parts so far: what was an output of its own becomes its first
// part.
OutputParts::Parted &OutputParts::parted(Cursor &cursor, const Token &name, SpecData &data) {
  const std::string word(cursor.word(name));
  const auto known = std::find(names_.begin(), names_.end(), word);
  if (known != names_.end()) return all_[std::size_t(known - names_.begin())];
  names_.push_back(word);
  Parted &made = all_.emplace_back();
  const auto first = std::find_if(data.outputs.begin(), data.outputs.end(),
                                  [&](const auto &output) { return output.name == word; });
  made.output = std::size_t(first - data.outputs.begin());
  if (first == data.outputs.end()) {
    data.outputs.emplace_back().name = word;
    return made;
  }
  Part part{{{}, first->said}, first->value};
  for (const AxisRef &axis : first->axes)
    if (const auto *label = std::get_if<std::string>(&axis.value()))
      part.place.positions.push_back({0, {{*label, 1}}, {}});
  const bool is_part = part.place.positions.size() == first->axes.size() && first->has_axes &&
                       !first->add && !first->at && first->mode.kind == ModeKind::plain;
  if (!is_part)
    cursor.fail(
        "E0034",
        "'" + word +
            "' is written above, and not as a part: it lists no named axes, or has a mode or +=",
        name, "write both as parts: out " + word + "[i < 3] = ..; out " + word + "[i + 3] = ..");
  made.parts.push_back(std::move(part));
  return made;
}

void OutputParts::add(Cursor &cursor, Symbols &symbols, const Definitions &definitions,
                      const Token &name, SpecData &data) {
  const std::string word(cursor.word(name));
  Parted &whole = parted(cursor, name, data);
  Part part;
  part.place = parse_place_of_part(cursor, symbols, word);
  OutputDecl &output = data.outputs[whole.output];
  if (whole.parts.empty()) output.where = cursor.source().place(name, cursor.previous());
  if (const Token colon = cursor.peek(); cursor.accept(Tok::Colon)) {
    const DType dtype = parse_dtype(cursor);
    if (output.dtype.value_or(dtype) != dtype)
      cursor.fail("E0034", "the parts of '" + word + "' are of two types", colon, cursor.previous(),
                  "say one of them, once");
    output.dtype = dtype;
  }
  if (!whole.parts.empty() && whole.parts[0].place.positions.size() != part.place.positions.size())
    cursor.fail("E0034",
                "this part of '" + word + "' lies at " +
                    support::count(std::int64_t(part.place.positions.size()), "position") +
                    ", the first one at " + std::to_string(whole.parts[0].place.positions.size()),
                name, "give each part one position for each dim of the whole");
  if (cursor.is(Tok::AddAssign) ||
      (cursor.is(Tok::Assign) && cursor.peek(1).kind == Tok::Name &&
       (cursor.word(cursor.peek(1)) == "broadcast" || cursor.word(cursor.peek(1)) == "accumulate" ||
        cursor.word(cursor.peek(1)) == "reduce")))
    cursor.fail("E0034", "a part of an output is set, and has no mode", cursor.peek(),
                "write = and a plain value; folds are values too, as in sum(x, j)");
  cursor.expect(Tok::Assign, "'='");
  part.value = parse_expression(cursor, symbols, definitions);
  whole.parts.push_back(std::move(part));
  symbols[word] = {Symbol::Kind::Output, {}};
}

void OutputParts::lose(const std::string &name) {
  const auto known = std::find(names_.begin(), names_.end(), name);
  if (known != names_.end()) all_[std::size_t(known - names_.begin())].lost = true;
}

void OutputParts::finish(Symbols &symbols, SpecData &data) {
  for (Parted &whole : all_) {
    if (whole.lost) continue;
    OutputDecl &output = data.outputs[whole.output];
    std::vector<Expr> values;
    JoinPositions positions;
    for (Part &part : whole.parts) {
      const Place &where = part.value.node()->where;
      values.push_back(output.dtype ? make_cast(*output.dtype, part.value, where) : part.value);
      positions.of_parts.push_back(std::move(part.place.positions));
      positions.said.push_back(std::move(part.place.said));
    }
    std::vector<AxisRef> dims;
    for (std::size_t dim = 0; dim < positions.of_parts[0].size(); ++dim)
      dims.emplace_back(output.name + "_" + std::to_string(dim));
    const Expr join = make_join_at(std::move(values), std::move(positions), output.where);
    const Expr let = lay_into(
        symbols, {name_of_whole(output, symbols), std::move(dims), output.where, data.lets}, join);
    output.said.reset();
    output.dtype.reset();
    store_whole(output, let, symbols, data.lets);
  }
  if (std::ranges::none_of(all_, &Parted::lost)) return clear();
  std::erase_if(data.outputs, [&](const OutputDecl &output) {
    const auto known = std::find(names_.begin(), names_.end(), output.name);
    return known != names_.end() && all_[std::size_t(known - names_.begin())].lost;
  });
  clear();
}

std::string name_of_whole(const OutputDecl &output, const Symbols &symbols) {
  std::string name = output.name + "_whole";
  while (symbols.contains(name)) name += "_";
  return name;
}

void store_whole(OutputDecl &output, const Expr &let, Symbols &symbols, std::vector<Expr> &lets) {
  lets.push_back(let);
  symbols[let.node()->name] = {Symbol::Kind::Let, let};
  std::vector<AffineForm> forms;
  output.axes.clear();
  output.has_axes = true;
  for (std::size_t dim = 0; dim < let.node()->axes.size(); ++dim) {
    const std::string axis = output.name + "_" + std::to_string(dim);
    output.axes.emplace_back(axis);
    AffineForm &form = forms.emplace_back();
    form.terms.push_back({axis, 1});
  }
  output.value = make_window(let, std::move(forms), output.where);
}

} // namespace broadloom::text
