// See tune.hpp.
#include "tools/broadloom/cli/tune.hpp"

#include "analysis/analyse.hpp"
#include "spec/materialise.hpp"
#include "spec/spec.hpp"
#include "tools/bench/paired.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <utility>

namespace broadloom::cli {

namespace {

using Kind = ScheduleClause::Kind;

LoopSpec with(const LoopSpec &spec, const Possible &more) {
  const Schedule &old = spec.data().schedule;
  if (more.let.empty()) return LoopSpec(spec).schedule(Schedule(old).add(more.clause));
  Schedule made = spec::part_of(old);
  bool is_there = false;
  for (const ScheduleClause &let : spec::lets_of(old)) {
    Schedule part = spec::part_of(old, let.names[0]);
    if (let.names[0] == more.let) part.add(more.clause);
    is_there = is_there || let.names[0] == more.let;
    made.of(let.names[0], part, let.where);
  }
  if (!is_there) made.of(more.let, Schedule().add(more.clause));
  return LoopSpec(spec).schedule(std::move(made));
}

bool is_legal(const LoopSpec &spec) {
  try {
    check(spec);
    return true;
  } catch (const SpecError &) { // it contradicts a clause that is there
    return false;
  } catch (const ShapeError &) { // the axis has no name, nor a position that counts
    return false;
  }
}

// What runs, in which order, and how it is shared out. The order tells of lets in tiles.
std::string what_runs(const Kernel &kernel) {
  std::string text = kernel.show(Stage::call) + kernel.show(Stage::block);
  for (const Decision &decision : kernel.why())
    if (decision.topic == "threads") text += decision.subject + ": " + decision.choice + "\n";
  return text;
}

class Tuner {
public:
  Tuner(const LoopSpec &spec, const Options &options, const std::vector<AnyView> &inputs,
        const std::vector<AnyView> &outputs, double seconds)
      : spec_(spec), options_(options), inputs_(inputs), outputs_(outputs), seconds_(seconds),
        plain_(compiled(spec)) {}

  Tuned run() {
    tuned_.kernel = spec_.data().name;
    tuned_.together = spec_.data().schedule;
    find_rounds();
    tuned_.noise = std::max(least_noise, 2 * std::abs(1 - measured(compiled(spec_))));
    const std::string usual = what_runs(plain_);
    for (const Possible &clause : possible_clauses(spec_)) {
      ++tuned_.clauses;
      const Kernel kernel = compiled(with(spec_, clause));
      if (what_runs(kernel) == usual) continue;
      ++tuned_.tried;
      if (const double ratio = believed(kernel); is_better(ratio, 1))
        tuned_.faster.push_back({clause, ratio});
    }
    std::ranges::sort(tuned_.faster, {}, &Tried::ratio);
    put_together();
    return std::move(tuned_);
  }

private:
  static constexpr double least_noise = 0.03, shortest = 3e-4; // seconds of a measurement

  Kernel compiled(const LoopSpec &spec) const {
    Kernel kernel = compile(spec, options_);
    kernel.run(inputs_, outputs_);
    return kernel;
  }

  double seconds_of_a_call() const {
    const auto start = std::chrono::steady_clock::now();
    plain_.run(inputs_, outputs_);
    return bench::seconds_since(start);
  }

  void find_rounds() {
    const double once = std::max({std::min(seconds_of_a_call(), seconds_of_a_call()), 1e-7});
    repeat_ = int(std::clamp(std::ceil(shortest / once), 1.0, 1e4));
    rounds_ = int(std::clamp(seconds_ / (2 * once * repeat_), 5.0, 41.0));
  }

  double measured(const Kernel &kernel) const {
    return bench::run_paired(
               rounds_, repeat_, [&] { kernel.run(inputs_, outputs_); },
               [&] { plain_.run(inputs_, outputs_); })
        .ratio;
  }

  bool is_better(double ratio, double than) const { return ratio < than * (1 - tuned_.noise); }

  double believed(const Kernel &kernel) const {
    const double first = measured(kernel);
    return is_better(first, 1) ? std::max(first, measured(kernel)) : first;
  }

  void put_together() {
    for (const Tried &tried : tuned_.faster) {
      const LoopSpec more = with(LoopSpec(spec_).schedule(tuned_.together), tried.clause);
      const bool first = &tried == &tuned_.faster.front();
      if (!is_legal(more)) continue;
      const double ratio = first ? tried.ratio : believed(compiled(more));
      if (!is_better(ratio, tuned_.ratio)) continue;
      tuned_.together = more.data().schedule;
      tuned_.ratio = ratio;
    }
  }

  const LoopSpec &spec_;
  const Options &options_;
  const std::vector<AnyView> &inputs_, &outputs_;
  const double seconds_;
  const Kernel plain_;
  int repeat_ = 1, rounds_ = 5;
  Tuned tuned_;
};

} // namespace

std::string print(const Possible &possible) {
  const std::string clause = spec::print(possible.clause);
  return possible.let.empty() ? clause : "schedule " + possible.let + " { " + clause + " }";
}

// About the loops of a kernel, of which these are the outputs.
static std::vector<AxisRef> add_possible(const spec::TypedSpec &typed, const std::string &let,
                                         const std::function<void(Possible)> &add) {
  std::vector<AxisRef> axes;
  for (std::size_t a = 0; a < typed.axes.size(); ++a)
    axes.push_back(typed.axes[a].labelled ? AxisRef(typed.axes[a].name) : AxisRef(int(a)));
  for (std::size_t a = 0; axes.size() > 1 && a < axes.size(); ++a) { // each of them outermost
    ScheduleClause order{Kind::Order, axes};
    std::rotate(order.axes.begin(), order.axes.begin() + std::ptrdiff_t(a),
                order.axes.begin() + std::ptrdiff_t(a) + 1);
    add({std::move(order), let});
  }
  for (const AxisRef &axis : axes) {
    for (const Kind kind : {Kind::Vector, Kind::Parallel, Kind::Serial}) add({{kind, {axis}}, let});
    for (const int count : {1, 2, 4, 8}) add({{Kind::Copies, {axis}, {}, count}, let});
    for (const int count : {1, 2, 4, 8, 64, 512}) add({{Kind::Tile, {axis}, {}, count}, let});
  }
  return axes;
}

std::vector<Possible> possible_clauses(const LoopSpec &spec) {
  const spec::TypedSpec typed = analysis::analyse(spec.data());
  std::vector<Possible> all;
  const auto add = [&](Possible clause) {
    if (is_legal(with(spec, clause))) all.push_back(std::move(clause));
  };
  const std::vector<AxisRef> axes = add_possible(typed, "", add);
  for (const Expr &let : spec.data().lets) {
    for (const Kind kind : {Kind::Keep, Kind::Recompute}) add({{kind, {}, {let.node()->name}}});
    for (const AxisRef &axis : axes) add({{Kind::At, {axis}, {let.node()->name}}});
  }
  const auto add_stores = [&](const std::string &name, const std::string &let) {
    for (const Kind kind : {Kind::Stream, Kind::Cached}) add({{kind, {}, {name}}, let});
  };
  for (const OutputDecl &output : spec.data().outputs) add_stores(output.name, "");
  for (const auto &let : typed.materialised) {
    const std::string &name = let->typed.outputs[0].name;
    const auto is_it = [&](const Expr &one) { return one.node()->name == name; };
    if (let->join || std::ranges::none_of(spec.data().lets, is_it)) continue; // a start has no name
    add_possible(let->typed, name, add);
    add_stores(name, name);
  }
  return all;
}

Tuned tune(const LoopSpec &spec, const Options &options, const std::vector<AnyView> &inputs,
           const std::vector<AnyView> &outputs, double seconds) {
  return Tuner(spec, options, inputs, outputs, seconds).run();
}

// k: 30 clauses, of which 9 change what runs; ratios below 0.97 are more than noise
//   0.62 of the time: vector j
// together 0.62 of the time:
//   schedule {
//     vector j
//   }
std::string to_text(const Tuned &tuned) {
  std::string text = fmt::format(
      "{}: {} clauses, of which {} change what runs; ratios below {:.2f} are more than noise\n",
      tuned.kernel, tuned.clauses, tuned.tried, 1 - tuned.noise);
  if (tuned.faster.empty()) return text + "none is faster by more than noise\n";
  for (const Tried &tried : tuned.faster)
    text += fmt::format("  {:.2f} of the time: {}\n", tried.ratio, print(tried.clause));
  return text + fmt::format("together {:.2f} of the time:\n", tuned.ratio) +
         spec::print(tuned.together);
}

} // namespace broadloom::cli
