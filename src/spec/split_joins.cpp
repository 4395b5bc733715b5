// Splits off joins of lets: see splitter.hpp.
#include "spec/splitter.hpp"

namespace broadloom::spec {

Join Splitter::join_of(const ExprNode &let) {
  const ExprNode &node = *let.args[0].node();
  const PlaceOf shown = [&] { return support::with_text(node.where, data_.source.get()); };
  Join join{{}, dim_of_join(let.name, node, let.axes, shown), node.stacks};
  const std::size_t rank = let.axes.size() - (join.stacks ? 1 : 0);
  check_label(let, join, shown);
  for (const Expr &arg : node.args) {
    const std::string &part = arg.node()->name;
    const auto array = arrays_.find(part);
    if (arg.node()->kind != ExprKind::Let || array == arrays_.end())
      support::fail("E0029", "a part of '" + let.name + "' is no let", shown(),
                    "make parts by bl::let(NAME, DIMS, bl::concat(..))");
    if (loops_.contains(part))
      support::fail("E0029", "'" + part + "' is computed step by step, and lies in no other let",
                    shown(), "write a let of its own for the part");
    if (!joined_.emplace(part, let.name).second)
      support::fail("E0029",
                    "'" + part + "' is a part of '" + joined_[part] + "' and of '" + let.name +
                        "', and it lies in one of them",
                    shown(), "write a let of its own for the other one");
    const InputDecl &decl = *array->second.decl,
                    &first = *arrays_.at(node.args[0].node()->name).decl;
    if (decl.dims.size() != rank)
      support::fail("E0101",
                    "'" + part + "' has " + support::count(std::int64_t(decl.dims.size()), "dim") +
                        ", and a part of '" + let.name + "' has " +
                        support::count(std::int64_t(rank), "dim"),
                    shown(), "give each part the dims of the whole");
    if (decl.dtype != first.dtype)
      support::fail(
          "E0201",
          "the parts '" + first.name + "' and '" + part + "' are " +
              std::string(broadloom::name(first.dtype)) + " and " +
              std::string(broadloom::name(decl.dtype)),
          shown(), "cast one of them, as by " + std::string(broadloom::name(first.dtype)) + "(..)");
    join.parts.push_back(part);
  }
  return join;
}

// As it is, the whole would be read as far as the label goes.
void Splitter::check_label(const ExprNode &let, const Join &join, const PlaceOf &shown) const {
  const auto *label = std::get_if<std::string>(&let.axes[join.dim].value());
  for (const auto &input : data_.inputs)
    for (const Dim &dim : input->dims)
      if (!join.stacks && !input->window && label != nullptr && dim.label == *label)
        support::fail("E0029",
                      "'" + let.name + "' lies along '" + *label + "', which is the extent of '" +
                          input->name + "'",
                      shown(),
                      "give the dim another label: let " + let.name + "[r] = concat(r, " +
                          input->name + "[r], ..)");
}

} // namespace broadloom::spec
