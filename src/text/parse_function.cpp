// Functions of the text:
//
//   def NAME(a, b) = expr
//     derivative a = expr          over a, b and the cotangent g
//
// A clause may follow on the same line or on the next ones.
#include "expr/function.hpp"
#include "spec/words.hpp"
#include "text/parser.hpp"

namespace broadloom::text {

namespace {

class FunctionParser {
public:
  FunctionParser(Cursor &cursor, Definitions &definitions)
      : cursor_(cursor), definitions_(definitions) {}

  void run() {
    cursor_.next();
    const Token name = cursor_.expect(Tok::Name, "the name of a function");
    function_ = std::make_shared<FunctionDecl>();
    function_->name = cursor_.word(name);
    function_->where = cursor_.source().place(name);
    const spec::NameCheck found = spec::check_callable_name(function_->name, "a function");
    if (!found.code.empty()) cursor_.fail(found.code.c_str(), found.message, name, found.help);
    if (definitions_.defined(function_->name))
      cursor_.fail("E0004", "'" + function_->name + "' is defined twice", name,
                   "functions and accumulators share one set of names; choose another");
    params();
    cursor_.expect(Tok::Assign, "'='");
    definitions_.being_defined = function_->name;
    function_->body = parse_expression(cursor_, symbols_, definitions_);
    while (at_clause()) derivative();
    definitions_.being_defined.clear();
    definitions_.said.emplace(function_->name, std::move(symbols_.axes));
    definitions_.functions.emplace(function_->name, std::move(function_));
  }

private:
  void params() {
    cursor_.expect(Tok::LeftParen, "'(' and an argument");
    do {
      const Token &token = cursor_.expect_new_name("an argument");
      const std::string word(cursor_.word(token));
      Expr param = make_parameter(word, cursor_.source().place(token));
      if (!symbols_.emplace(word, Symbol{Symbol::Kind::Parameter, param}).second)
        cursor_.fail("E0004", "argument '" + word + "' is defined twice", token,
                     "give it another name");
      function_->params.push_back(std::move(param));
    } while (cursor_.accept(Tok::Comma));
    cursor_.expect(Tok::RightParen, "',' or ')'");
    function_->cotangent = make_parameter(cotangent_name, function_->where);
  }

  // Is the next word, maybe on a later line, `derivative`? Then the cursor is left on it.
  bool at_clause() {
    std::size_t ahead = 0;
    while (cursor_.peek(ahead).kind == Tok::Break) ++ahead;
    const Token &token = cursor_.peek(ahead);
    if (token.kind != Tok::Name || cursor_.word(token) != "derivative") return false;
    for (; ahead > 0; --ahead) cursor_.next();
    return true;
  }

  void derivative() {
    const Token word = cursor_.next();
    const Token name = cursor_.expect(Tok::Name, "an argument");
    const std::string param(cursor_.word(name));
    std::size_t index = 0;
    while (index < function_->params.size() && function_->params[index].node()->name != param)
      ++index;
    if (index == function_->params.size())
      cursor_.fail("E0003", "'" + function_->name + "' has no argument '" + param + "'", name,
                   "name one of its arguments");
    for (const FunctionDecl::Derivative &other : function_->derivatives)
      if (other.param == index)
        cursor_.fail("E0004", "the derivative by '" + param + "' is given twice", name,
                     "give it once");
    if (function_->derivatives.empty() &&
        !symbols_.emplace(cotangent_name, Symbol{Symbol::Kind::Parameter, function_->cotangent})
             .second)
      cursor_.fail("E0004", "'g' is an argument, and the cotangent of a derivative", word,
                   "give the argument another name");
    cursor_.expect(Tok::Assign, "'='");
    Expr value = parse_expression(cursor_, symbols_, definitions_);
    function_->derivatives.push_back({index, std::move(value), cursor_.source().place(word, name)});
  }

  Cursor &cursor_;
  Definitions &definitions_;
  Symbols symbols_;
  std::shared_ptr<FunctionDecl> function_;
};

} // namespace

void parse_function(Cursor &cursor, Definitions &definitions) {
  FunctionParser(cursor, definitions).run();
}

} // namespace broadloom::text
