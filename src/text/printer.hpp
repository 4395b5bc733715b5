// The printer of a kernel (print.cpp): its names and lets (print_names.cpp), statements (print.cpp)
// and expressions (print_expression.cpp).
#pragma once

#include "spec/spec.hpp"
#include "text/printed.hpp"
#include "text/used_definitions.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace broadloom::text {

class Printer {
public:
  explicit Printer(const SpecData &data) : data_(data) {}
  Printed run();

private:
  // What is still to be written, the next piece on top: a node in a place that takes forms of at
  // least `level`, or plain text.
  struct Piece {
    const ExprNode *node = nullptr;
    int level = 0;
    std::string text;
  };
  using Decls = std::vector<std::shared_ptr<const InputDecl>>;

  void collect();
  void take_names(const InputDecl &decl);
  void collect_definitions();
  static std::vector<std::string> labels_of(const Decls &decls);
  std::vector<std::string> labels_as_printed() const;
  void name_windows(const std::vector<const ExprNode *> &order);
  const ExprNode *other_name_of(const std::vector<const ExprNode *> &windows) const;
  std::string fresh_name();

  void define(const AccumulatorDef &definition);
  void define(const PrintedDefinition &function);
  void settings();
  void said_axes(bool by_lets);
  void input(const InputDecl &decl);
  void let(const ExprNode *node);
  void list(const std::vector<AxisRef> &axes, const LetLoop &loop);
  void store(Order order);
  void output(const OutputDecl &decl);

  void expression(const ExprNode *root, const ExprNode *self);
  void node(const ExprNode &node, int level, std::vector<Piece> &work);
  static void arguments(const ExprNode &node, std::size_t first, std::size_t last,
                        std::vector<Piece> &pieces);
  static void call(std::string_view callee, const ExprNode &node, std::vector<Piece> &pieces);
  static void join(const ExprNode &node, std::vector<Piece> &pieces);
  static void fold(const ExprNode &node, std::vector<Piece> &pieces);
  static int operation(const ExprNode &node, std::vector<Piece> &pieces);
  std::string number(const Number &number, int &level) const;
  std::string special(const char *word, const char *quotient, int &level,
                      const char *sign = "") const;

  const SpecData &data_;
  std::string text_;
  UsedDefinitions definitions_;
  Decls inputs_;
  std::vector<const ExprNode *> lets_;
  std::unordered_map<const ExprNode *, std::string> names_; // of what is being printed
  std::unordered_map<const ExprNode *, std::string> let_names_;
  std::unordered_set<std::string> taken_;
  int next_name_ = 0;
};

// As a list of axes and an option have them.
std::string axis_text(const AxisRef &axis);
std::string options_text(const FoldUse &use);

} // namespace broadloom::text
