// Inside the gradient stage: the gradient of a kernel whose lets are arrays, in the making
// (through_lets.hpp).
#pragma once

#include "grad/accumulator_names.hpp"
#include "grad/bounds.hpp"
#include "grad/through_lets.hpp"
#include "spec/cut.hpp"
#include "spec/declared.hpp"
#include "support/free_name.hpp"
#include "support/text.hpp"

#include <set>
#include <unordered_map>
#include <unordered_set>

namespace broadloom::grad {

class ThroughLets {
public:
  ThroughLets(const SpecData &data, const spec::Split &split, const std::vector<std::string> &wrt,
              const GradientOptions &options, const GradientOf &gradient,
              const std::vector<std::string> &saved);

  // `are_some`: other lets than those that are saved are read, too.
  SpecData run(bool are_some);

  // Of the lets whose arrays are inputs (Policy::save) those of which elements are read.
  const std::vector<std::string> &saved_ones_read() const { return saved_read_; }

private:
  friend class ThroughLoop;
  using Names = std::unordered_map<std::string, std::string>;

  void pull_loop(std::size_t first);
  void pull_apart(const spec::Materialised &let);

  // What a let begins with is a let, too.
  void name_starts();

  Place shown(const Place &where) const { return support::with_text(where, data_.source.get()); }

  void check_request() const;

  // The array of this let, computed by the forward kernel.
  void take_as_input(const std::string &name);
  std::set<std::string> name_saved_ones();
  void read_saved_ones();

  std::string fresh(const std::string &name) { return support::fresh_name(name, taken_); }

  // The inputs asked about and the lets that a kernel reads, as far as something flows into them.
  std::vector<std::string> read_by(const SpecData &kernel) const;

  // Of inputs that only such lets read into which nothing flows: the rest does not read these, and
  // gives zeros.
  void add_zeros();

  // What the outputs send back, and what the whole takes from their gradient: its name and
  // settings, the cotangents of outputs.
  void begin();

  void stay_inside_one_by_one(const Decls &bounds);

  // The label of a cotangent would hold the axes of that name in all lets to its extent, where they
  // have their own: i in
  //
  //   let d = x[i + 1] - x[i]       one less than x
  //   out y = d[i + 1] - d[i]       two less, and so d_y : f64[i]
  //
  // Such an axis gets a name of its own, y_0.
  Names names_of_cotangents(const std::vector<std::shared_ptr<const InputDecl>> &inputs);

  // By a label that something reads: of those that no number counts only windows do.
  static bool is_walked(const spec::TypedSpec &kernel, const spec::Axis &axis);

  std::unordered_set<std::string> declared_labels() const;

  bool is_read_by_a_let(const std::string &name) const;

  // From what has flowed into a let to what it is made of.
  void pull(const spec::Materialised &let);

  // Whether the array of a let has each element of its value once, and so stands for it: along an
  // axis that is listed with an extent, and that the value lacks, it has copies.
  static bool holds_once(const spec::Materialised &let);

  // What the axes of a let are called in what flows back through it: those of the array by its
  // dims, h_0 and h_1 of h, and those that it folds by a name of their own where another kernel has
  // that, too, and it is no label of an input: u_h for u of h.
  Names own_names(const spec::Materialised &let);

  // `axis u < 2` holds for what u is called now, if that is walked in what is made.
  void say_as(const std::string &axis, const std::string &now, const Decls &of_let);
  void say_axes();

  std::string fresh_axis(const std::string &name);

  static void add_axes(const SpecData &kernel, std::unordered_set<std::string> &axes);

  // Adds what the outputs of the gradient of a kernel with these inputs are to what flows into the
  // inputs named, in order. Lets are lets again, and the cotangent of a let is what `seed` says.
  void collect(const SpecData &gradient, const Decls &bounds, const std::vector<std::string> &names,
               const Names &axes, const std::function<Expr(const ExprNode &)> &seed);

  // extent(h_0, of=h), of the kernel of a let, names a let here: extent(h_0, of=h[h_0, h_1]).
  Expr of_windows(const ExprNode &node);

  // The lets that are needed, in the order in which they are computed: also those of which like=
  // names a window, and nothing else.
  void list_lets();

  bool is_listed(const std::string &name) const {
    return std::any_of(made_.lets.begin(), made_.lets.end(),
                       [&](const Expr &let) { return let.node()->name == name; });
  }

  // The axes of an array, where what flows into it reads along some of them itself, as for an
  // extent: they would come in the order of that. Else none.
  std::vector<AxisRef> axes_if_named(const std::string &array, std::size_t rank,
                                     const Expr &value) const;

  void add_output(const std::string &name);

  const SpecData &data_;
  const spec::Split &split_;
  const std::vector<std::string> &wrt_;
  const GradientOptions &options_;
  const GradientOf &gradient_;
  spec::LetsByName lets_, defined_;     // arrays in what is made; those that are saved as they were
  std::vector<std::string> saved_lets_; // whose arrays are inputs
  std::vector<std::string> saved_read_;
  AccumulatorNames accumulators_;
  spec::Names taken_;
  std::unordered_set<std::string> array_names_, axes_;
  Decls said_;                                       // extents of axes that are called otherwise
  std::vector<Expr> cotangents_;                     // of lets, in order
  std::unordered_map<std::string, OutputDecl> into_; // what has flowed into an input or a let
  std::unordered_map<std::string, std::vector<AxisRef>>
      axes_into_; // of those whose axes have an order of their own
  std::unordered_set<std::string> declared_;
  std::vector<std::shared_ptr<const InputDecl>>
      named_; // windows of lets that loops name, as they are called in these
  std::vector<std::shared_ptr<const InputDecl>> windows_; // that like= and of= name
  SpecData made_;
};

} // namespace broadloom::grad
