// `call dense(x, w=w1) -> h[n, o]`: another kernel of the text, as lets of this one.
#include "text/parser.hpp"

#include "analysis/inline_kernel.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace broadloom::text {
namespace {

class CallParser {
public:
  CallParser(Cursor &cursor, const Symbols &symbols, const Definitions &definitions,
             const Kernels &kernels)
      : cursor_(cursor), symbols_(symbols), definitions_(definitions), kernels_(kernels) {}

  analysis::Inlined run() {
    const Token first = cursor_.next();
    callee_ = kernel();
    analysis::check_callable(*callee_, since(first));
    arguments();
    cursor_.expect(Tok::Minus, "'->' and the names of the results");
    cursor_.expect(Tok::Greater, "'>' of '->'");
    std::vector<analysis::CallResult> results;
    do results.push_back(result());
    while (cursor_.accept(Tok::Comma));
    if (results.size() != callee_->outputs.size())
      cursor_.fail("E0051",
                   "'" + callee_->name + "' has " +
                       support::count(std::int64_t(callee_->outputs.size()), "output") +
                       ", and the call names " +
                       support::count(std::int64_t(results.size()), "result"),
                   first, cursor_.previous(), "its outputs are " + outputs());
    return analysis::inline_kernel(*callee_, values_, results, since(first));
  }

private:
  Place since(const Token &first) const {
    return support::with_text(cursor_.source().place(first, cursor_.previous()),
                              cursor_.source().text.get());
  }

  const SpecData *kernel() {
    const Token &token = cursor_.expect(Tok::Name, "a kernel of this text");
    const std::string name(cursor_.word(token));
    if (const auto known = kernels_.index.find(name); known != kernels_.index.end())
      return &kernels_.all[known->second].data();
    std::vector<std::string> names;
    for (const LoopSpec &known : kernels_.all) names.push_back(known.data().name);
    cursor_.fail("E0050", "there is no kernel '" + name + "' before this one", token,
                 names.empty() ? "a kernel is called after its definition"
                               : "those before it are " + support::quoted_list(names));
  }

  std::string outputs() const {
    std::vector<std::string> names;
    for (const OutputDecl &output : callee_->outputs) names.push_back(output.name);
    return support::quoted_list(names);
  }

  void arguments() {
    std::vector<std::string> inputs;
    for (const auto &input : callee_->inputs)
      if (!input->window && !input->is_output) inputs.push_back(input->name);
    values_.resize(inputs.size());
    const std::string help = "its inputs are " + support::quoted_list(inputs);
    const Token open = cursor_.expect(Tok::LeftParen, "'(' and the arguments");
    for (std::size_t next = 0; !cursor_.accept(Tok::RightParen); ++next) {
      const Token token = cursor_.peek();
      std::size_t place = next;
      if (cursor_.is(Tok::Name) && cursor_.peek(1).kind == Tok::Assign) {
        const std::string name(cursor_.word(cursor_.next()));
        cursor_.next();
        place = std::size_t(std::ranges::find(inputs, name) - inputs.begin());
        if (place == inputs.size())
          cursor_.fail("E0051", "'" + callee_->name + "' has no input '" + name + "'", token, help);
      }
      if (place >= inputs.size())
        cursor_.fail("E0051",
                     "'" + callee_->name + "' has " +
                         support::count(std::int64_t(inputs.size()), "input") +
                         ", and here is one more",
                     token, help);
      if (values_[place].node())
        cursor_.fail("E0051", "'" + inputs[place] + "' is given twice", token, help);
      values_[place] = parse_expression(cursor_, symbols_, definitions_);
      if (!cursor_.is(Tok::RightParen)) cursor_.expect(Tok::Comma, "',' or ')'");
    }
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (!values_[k].node())
        cursor_.fail("E0051", "'" + inputs[k] + "' of '" + callee_->name + "' is not given", open,
                     cursor_.previous(), help);
  }

  analysis::CallResult result() {
    const Token name = expect_new_value(cursor_, symbols_, "a result");
    analysis::CallResult made;
    made.name = cursor_.word(name);
    if (cursor_.accept(Tok::LeftBracket)) {
      made.axes.emplace();
      do made.axes->push_back(std::string(cursor_.word(cursor_.expect_new_name("an axis"))));
      while (cursor_.accept(Tok::Comma));
      cursor_.expect(Tok::RightBracket, "',' or ']'");
    }
    made.where = since(name);
    return made;
  }

  Cursor &cursor_;
  const Symbols &symbols_;
  const Definitions &definitions_;
  const Kernels &kernels_;
  const SpecData *callee_ = nullptr;
  std::vector<Expr> values_; // [input of the callee]
};

} // namespace

void parse_call(Cursor &cursor, Symbols &symbols, const Definitions &definitions,
                const Kernels &kernels, SpecData &data) {
  const Token first = cursor.peek();
  const analysis::Inlined made = CallParser(cursor, symbols, definitions, kernels).run();
  for (const Expr &let : made.lets) {
    const std::string &name = let.node()->name;
    if (symbols.count(name))
      cursor.fail("E0004", "the call makes a let '" + name + "', and there is one already",
                  cursor.previous(), "give the result another name");
    data.lets.push_back(let);
    symbols[name] = {Symbol::Kind::Let, let};
  }
  for (const auto &said : made.axes) say_axis(cursor, symbols, said, first);
  for (const auto &window : made.named)
    if (std::ranges::none_of(symbols.windows,
                             [&](const auto &known) { return known->name == window->name; }))
      symbols.windows.push_back(window);
}

} // namespace broadloom::text
