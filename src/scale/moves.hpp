// Inside the stage that moves scales: what is to become of each value, found by two searches over
// one table.
//
// A *scale* is the constant s of a product y * s, or of a quotient y / s, whose other side y is
// data. It is moved by a set of values each of which is multiplied by a factor, so that the product
// itself has nothing left to do:
//
//   backward     every value from y back to some parameter becomes s times itself: sum(x * w, k) +
//                b is then sum(x * (w * s), k) + b * s
//   forward      every value from y * s on to some parameter becomes itself over s: relu(x * s) * w
//                is then relu(x) * (w * s)
//
// How a factor passes an operation is its `Scaling` (ops.hpp), the same for both. A value is in the
// set with all who read it, or they must not notice (y > 0 for s > 0): nothing is computed twice.
#pragma once

#include "scale/factor.hpp"
#include "support/reasons.hpp"

#include <optional>
#include <string>
#include <vector>

namespace broadloom::scale {

// Why a scale stays.
struct Refusal {
  support::Reason reason = support::Reason::ScaleData;
  std::string text;
};

// What is to become of the values. Of each in order: now = before * times.
struct Moves {
  explicit Moves(const Values &values)
      : times(values.size()), landed(values.size()), gone(values.size()) {}

  std::vector<Factor> times;  // the value becomes so many times itself
  std::vector<Factor> landed; // of a product or quotient with a constant: what the constant takes
  std::vector<bool> gone;     // of one of these: only the data are left

  // The factor that a product or quotient has now.
  Factor scale_of(const Values &values, Id id) const;
};

// Maximum of minimum, minimum of maximum, and so on: what f(s a) is s times of, where s < 0. Empty:
// there is none.
Expr mirrored(const ExprNode &node, std::vector<Expr> args);
bool has_mirror(const ExprNode &node);

class Mover {
public:
  // `may_leave`: the output is an array that other kernels read, which take what it is divided by.
  Mover(const Values &values, Moves &moves, bool may_leave = false);

  // Moves the scale of this product or quotient, or says why not. `into` gets the constants that
  // took it.
  std::optional<Refusal> backward(Id site, std::vector<Id> &into);
  std::optional<Refusal> forward(Id site, std::vector<Id> &into);

  // From now on this product takes no factor itself.
  void let_hand_on(Id product) { hands_on_[product] = true; }

  // Of the last search: which reads of an open array became more (Value::is_open), and by what the
  // output became less (`may_leave`).
  const std::vector<Id> &opened() const { return opened_; }
  const Factor &left() const { return left_; }

private:
  using Refused = std::optional<Refusal>;

  // May this value be multiplied by the factor without growing or changing its type?
  Refused check_value(Id id, const Factor &factor) const;
  bool may_land(Id constant, const Factor &factor) const;
  std::string what(Id id) const; // "'maximum'", "the scan of 'sum'"
  Refused operation(Id id) const;
  Refused sign(Id id, const Factor &factor) const;

  Refused backward_once(Id site, std::vector<Id> &into);
  Refused forward_once(Id site, std::vector<Id> &into);
  // Searches again as long as a product that took the factor turns out to have to hand it on: 0.1 *
  // y where y changes, too.
  template <class Search> Refused repeated(Search search);
  bool is_over() { return ++steps_ > most_steps_; }

  // backward.cpp: which arguments of the value are to be multiplied.
  struct Taken {
    std::vector<std::size_t> args;
    bool lands = false;
  };
  Refused take(Id id, const Factor &factor, Taken &taken) const;
  Refused check_users(Id id, Id site, const Factor &factor, std::vector<Id> &invariants);
  Refused check_invariant(Id id, const Factor &factor) const;

  // forward.cpp: what the value is divided by, given what its arguments are.
  struct Gain {
    Factor result;
    bool lands = false;
  };
  Refused gain(Id id, Gain &made);
  Refused common(Id id, std::size_t first, Factor &made);
  Refused gain_of_fold(Id id, ops::Scaling scaling, Gain &made);

  const Values &values_;
  Moves &moves_;
  const bool may_leave_;
  std::vector<bool>
      leads_; // does a factor of this value reach a constant, by its operations alone?
  // Of the search that is under way:
  std::vector<bool> inside_;
  std::vector<std::size_t> scaled_; // of each inside: which of its arguments are, as bits
  std::map<Id, Factor> gains_;
  std::vector<Id> opened_;
  Factor left_;
  std::vector<bool> hands_on_; // a product that takes no factor in this search
  std::optional<Id> clash_;    // one that should have been so
  std::size_t steps_ = 0,
              most_steps_ = 0; // of all searches: graphs that are made to be slow are left alone
};

template <class Search> std::optional<Refusal> Mover::repeated(Search search) {
  std::vector<Id> handing_on;
  while (true) {
    clash_.reset();
    Refused refused = search();
    if (refused && clash_ && handing_on.size() < 16) {
      hands_on_[*clash_] = true;
      handing_on.push_back(*clash_);
      continue;
    }
    for (const Id id : handing_on) hands_on_[id] = false;
    return refused;
  }
}

} // namespace broadloom::scale
