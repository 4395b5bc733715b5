// Inside the gradient stage: back through lets that read themselves, in the making
// (through_loops.cpp).
#pragma once

#include "grad/costly_parts.hpp"
#include "grad/earlier_steps.hpp"
#include "grad/lets_gradient.hpp"
#include "support/check.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace broadloom::grad {

class ThroughLoop {
public:
  ThroughLoop(ThroughLets &all, std::size_t first);

  void run();

private:
  struct Member {
    std::string name;
    const ExprNode *node = nullptr;
    std::vector<std::string> axes;    // [dim]
    std::vector<std::string> dims;    // [dim], other names of them
    SpecData step;                    // with inputs in place of its reads
    SpecData pulled;                  // its gradient
    std::vector<std::string> names;   // that the gradient is by
    std::string seed;                 // its cotangent there
    std::vector<CostlyPart> parts;    // of what it sends through windows
    std::vector<Expr> part_lets;      // [part]
    bool reached = false;             // by something that flows back
    std::string let;                  // its cotangent here
    Expr sum;                         // the let of that name
    std::optional<Expr> from_readers; // an array, too
    Expr to_one_step;                 // and what is none
  };
  // A read of member `of` in the value of member `by`.
  struct Read {
    std::size_t by = 0, of = 0;
    std::int64_t lag = 0;
    std::shared_ptr<const InputDecl> input; // in its place
    std::vector<std::string> axes;          // [dim of it]
    Expr window;                            // of the array, at t; empty where each dim is an axis
    Expr
        back; // what it sends to: at axes of their own where the other is at a position of the step
    std::vector<std::pair<std::string, AffineForm>> at_steps; // these axes, and the positions
    Expr sent;                                                // what a step sends back to it
    std::string let;                                          // of that
    Place where;
  };

  const spec::Materialised &let(std::size_t m) const { return *all_.split_.lets[first_ + m]; }
  const spec::Recurrence &recurrence(std::size_t m) const { return *let(m).recurrence; }
  bool backwards() const { return recurrence(0).backwards; }
  std::size_t time(std::size_t m) const { return recurrence(m).dim; }
  DType dtype(std::size_t m) const { return let(m).typed.outputs[0].dtype; }

  static std::vector<AxisRef> listed(const std::vector<std::string> &axes) {
    return {axes.begin(), axes.end()};
  }

  // The kernel of a step with an input of its own for each read of a member, which has the axes of
  // the read.
  void take_reads(std::size_t m);

  // An axis that stands in windows alone is as long as all of them let it be, and what flows back
  // may read only some. So where one is read, all are named.
  Expr with_bounds(std::size_t m, const Expr &value);

  Read read_of(std::size_t by, std::size_t of, const ExprNode &node);

  void derive(std::size_t m);

  // What is sent through windows to one step of a member goes there together.
  void join_windows(std::size_t m);

  // The output is sum(e, like=read), or a few of them: e, summed over what the read lacks, or
  // through the window. Empty where nothing flows.
  Expr sent_to(const Read &read, Member &member, std::size_t output);
  [[noreturn]] void fail_both(const Read &read) const;

  // What is summed in each part of the value; none where a part is no sum like the input.
  static std::optional<std::vector<Expr>> sums_like(const Expr &value, const std::string &input);
  Expr sent_parts(const Read &read, Member &member, std::size_t output,
                  const std::vector<Expr> &parts);
  Expr sent_part(const Read &read, Member &member, std::size_t output, Expr value);

  // s[t - 1, i, t] sends to s[t, i, j], where j is t.
  Expr sent_at_steps(const Read &read, Expr value);

  // A value that is an array of its own, along these axes: each has the extent that it has in the
  // input `of`. Where nothing that is read says so, its positions do. The value has the axes `has`,
  // and is the same along the others.
  Expr with_extents(Expr value, const std::unordered_set<std::string> &has,
                    const std::vector<std::string> &axes, const std::string &of) const;

  // A value with a scan is computed where it stands (E0605).
  static bool holds_scan(const Expr &value);

  // What the readers send to a member: as an array, or to a step that is known.
  void make_sums(std::size_t m);
  Expr at_one_step(std::size_t m, const Expr &sent) const;

  // Whether what flows into one member flows on into the other.
  bool flows(std::size_t from, std::size_t into) const;

  void make_lets(std::size_t m);

  // Names for the dims of what comes back through a window: its axes stand in the sum.
  const std::vector<std::string> &dims_of(std::size_t m);

  void collect(std::size_t m);

  // Of the inputs that are no arrays of steps (carried_sums.cpp).
  std::shared_ptr<const InputDecl> carried_input(std::size_t m, const std::string &name) const;
  bool carry(std::size_t m, std::size_t output);

  // A value of the gradient of a step: arrays are lets again.
  Expr in_this_kernel(std::size_t m, const Expr &value);
  void declare(const std::shared_ptr<const InputDecl> &window) {
    if (all_.declared_.insert(window->name).second) all_.windows_.push_back(window);
  }

  bool is_positions(std::size_t m, const std::string &name) const {
    const auto &positions = recurrence(m).positions;
    return positions && let(m).typed.inputs[*positions].name == name;
  }

  // What stands here for a node of the gradient of a step; empty where it stays or is an array of
  // this kernel.
  Expr mapped_in(std::size_t m, const ExprNode &node);

  // The let as it is.
  Expr own(std::size_t m, const Place &where) {
    return make_window(all_.lets_.at(members_[m].name), spec::along(members_[m].axes), where);
  }
  // A name of it for of=.
  std::string named(std::size_t m, const std::vector<std::string> &axes, const Place &where) {
    return named(make_window(all_.lets_.at(members_[m].name), spec::along(axes), where));
  }
  std::string named(const Expr &window);

  Expr of_arrays(std::size_t m, const ExprNode &node);

  // The number of a step, or of the last.
  Expr position(std::size_t m, const InputDecl &window, const Place &where);

  // h[t - c, k] for all t, or the window of it.
  Expr earlier(const Read &read, const InputDecl &decl, const Place &where);

  // The read `at`, where what has its axes is read at positions itself.
  Window seen_through(const Window &outer, Window at, const Read &read) const;

  // The name of the array that it begins with, if it is one.
  const std::string *start_array(std::size_t m) const;

  // What the first steps send to what a let begins with.
  void into_start(std::size_t m);

  // What a step sends, so many behind the first, where there may be fewer.
  Expr sent_by(const Read &read, AffineForm step, const std::vector<std::string> &axes);
  // Of many steps: they are folded.
  Expr sent_by_all(const Read &read, const std::vector<std::string> &axes);
  // In place of steps that are not there.
  Expr with_zeros(const Expr &let, const Read &read) const;
  static constexpr std::int64_t most_first_steps = 16;

  const Expr &find_let(const std::string &name) const;

  ThroughLets &all_;
  const std::size_t first_, count_;
  std::vector<Member> members_;
  std::vector<Read> reads_;
  EarlierSteps earlier_;
};

} // namespace broadloom::grad
