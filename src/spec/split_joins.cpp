// Splits off joins of lets: see splitter.hpp.
#include "spec/splitter.hpp"

#include "support/check.hpp"

namespace broadloom::spec {

Join Splitter::join_of(const ExprNode &let) {
  const ExprNode &node = *let.args[0].node();
  const PlaceOf shown = [&] { return support::with_text(node.where, data_.source.get()); };
  Join join;
  join.stacks = node.stacks;
  if (!node.places) join.dim = dim_of_join(let.name, node, let.axes, shown);
  const std::size_t rank = let.axes.size() - (join.stacks ? 1 : 0);
  for (std::size_t dim = 0; dim < let.axes.size(); ++dim)
    if (node.places || dim == join.dim) check_label(let, dim, shown);
  for (std::size_t k = 0; node.places && k < node.places->of_parts.size(); ++k)
    join.positions.push_back(positions_of(node.places->of_parts[k]));
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
    const InputDecl &decl = *array->second.array.node()->input,
                    &first = *arrays_.at(node.args[0].node()->name).array.node()->input;
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

// Of one part: the dims of a part are in the order of its positions.
std::vector<Join::Position> Splitter::positions_of(const std::vector<AffineForm> &forms) const {
  std::vector<Join::Position> positions;
  for (const AffineForm &form : forms) {
    Join::Position &at = positions.emplace_back();
    at.start = form.constant;
    at.times = form.terms[0].times;
    at.own = positions.size() - 1;
    for (const AffineForm::Extent &extent : form.extents)
      at.counts.push_back({number_of(name_of_array(extent.of)), int(extent.dim), extent.times});
  }
  return positions;
}

// Of an input of a call, or of a let behind them.
std::uint32_t Splitter::number_of(const std::string &array) const {
  std::uint32_t number = 0;
  for (const auto &decl : data_.inputs) {
    if (decl->window || decl->is_output) continue;
    if (decl->name == array) return number;
    ++number;
  }
  for (const auto &let : split_.lets) {
    if (let->data.outputs[0].name == array) return number;
    ++number;
  }
  support::bug("an extent of '" + array + "', which is not there before the join");
}

// As it is, the whole would be read as far as the label goes.
void Splitter::check_label(const ExprNode &let, std::size_t joined, const PlaceOf &shown) const {
  const auto *label = std::get_if<std::string>(&let.axes[joined].value());
  const bool stacks = let.args[0].node()->stacks;
  for (const auto &input : data_.inputs)
    for (const Dim &dim : input->dims)
      if (!stacks && !input->window && label != nullptr && dim.label == *label)
        support::fail("E0029",
                      "'" + let.name + "' lies along '" + *label + "', which is the extent of '" +
                          input->name + "'",
                      shown(),
                      "give the dim another label: let " + let.name + "[r] = concat(r, " +
                          input->name + "[r], ..)");
}

} // namespace broadloom::spec
