// Inside the stage that moves scales: from the table of moves to a kernel.
#pragma once

#include "scale/moves.hpp"
#include "scale/rebuild.hpp"

namespace broadloom::scale {

using ops::Op;
using ops::Scaling;

// Each value by its row of the table in moves.hpp: now = before * times.
class Build {
public:
  Build(const SpecData &data, const Values &values, const Moves &moves)
      : data_(data), values_(values), moves_(moves), constants_(values, built_) {}

  SpecData run() {
    return rebuild(data_, values_, built_,
                   [&](Id id, const std::vector<Expr> &args) { return made(id, args); });
  }
  // The factor as an expression of the kernel that `run` gave.
  Expr written(const Factor &factor) { return constants_.alone(factor); }

private:
  Expr made(Id id, const std::vector<Expr> &args) {
    const Value &value = values_[id];
    if (value.constant) return {};
    const int side = values_.constant_side(id);
    if (side >= 0) return product(id, std::size_t(side), args);
    switch (values_.scaling(id)) {
    case Scaling::Homogeneous:
      if (moves_.times[id].is_negative(values_))
        return mirrored(value.node(), over_args(id, 0, moves_.times[id], args));
      [[fallthrough]];
    case Scaling::Joint:
    case Scaling::Linear: return over(id, 0, moves_.times[id], args);
    case Scaling::Select: return over(id, 1, moves_.times[id], args);
    case Scaling::Invariant:
      for (const Id arg : value.args)
        if (!values_[arg].constant) return over(id, 0, moves_.times[arg], args);
      return {};
    case Scaling::Quotient: {
      Factor factor = moves_.times[id];
      factor *= moves_.times[value.args[1]];
      return values_[value.args[0]].constant ? over(id, 0, factor, args) : Expr();
    }
    case Scaling::None:
    case Scaling::Bilinear:
    case Scaling::Square:
    case Scaling::Root:
    case Scaling::Power: return {};
    }
    return {};
  }

  // The same, with the constants among its arguments times the factor.
  Expr over(Id id, std::size_t first, const Factor &factor, std::vector<Expr> args) {
    if (factor.is_one()) return {};
    return with_args(values_[id].node(), over_args(id, first, factor, std::move(args)));
  }
  std::vector<Expr> over_args(Id id, std::size_t first, const Factor &factor,
                              std::vector<Expr> args) {
    for (std::size_t k = first; k < args.size(); ++k)
      if (values_[values_[id].args[k]].constant)
        args[k] = constants_.product(values_[id].args[k], factor);
    return args;
  }

  Expr product(Id id, std::size_t side, std::vector<Expr> args) {
    if (moves_.gone[id]) return args[1 - side];
    const Factor &landed = moves_.landed[id];
    if (landed.is_one()) return {};
    const Value &value = values_[id];
    if (value.is(Op::Div))
      return constants_.product(args[0], moves_.scale_of(values_, id), value.node().where);
    args[side] = constants_.product(value.args[side], landed);
    return with_args(value.node(), std::move(args));
  }

  const SpecData &data_;
  const Values &values_;
  const Moves &moves_;
  std::vector<Expr> built_;
  Constants constants_;
};

} // namespace broadloom::scale
