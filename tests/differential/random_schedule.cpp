// See random_schedule.hpp.
#include "random_schedule.hpp"

#include "analysis/analyse.hpp"
#include "spec/materialise.hpp"
#include "spec/spec.hpp"

#include <algorithm>
#include <vector>

namespace broadloom::differential {
namespace {

class Maker {
public:
  // Of the loops that compute a let, or of those of the outputs.
  Maker(Random &random, const std::string &text, const LoopSpec &spec, const spec::TypedSpec &typed,
        std::string let = {})
      : random_(random), text_(text), spec_(spec), typed_(typed), let_(std::move(let)) {}

  std::string run() {
    axes();
    let_.empty() ? names() : names_of_let();
    return said();
  }

  // Some of the arrays, computed where they are read.
  std::string inlined() {
    inline_arrays();
    return said();
  }

private:
  std::string said() const {
    std::string text;
    for (const std::string &clause : clauses_) text += (text.empty() ? "" : "; ") + clause;
    return text.empty() ? text
                        : "schedule " + (let_.empty() ? "" : let_ + " ") + "{ " + text + " }";
  }

  void inline_arrays() {
    if (text_.find("keep(") != std::string::npos) return;
    for (const Expr &let : spec_.data().lets)
      if (typed_.is_array(let.node()->name) && random_.chance(50) &&
          let.node()->name.find("_at") == std::string::npos)
        clauses_.push_back("inline " + let.node()->name);
  }

  // By position or by label.
  std::string axis(int index) {
    const spec::Axis &axis = typed_.axes[std::size_t(index)];
    if (axis.labelled && random_.chance(50)) return axis.name;
    return std::to_string(random_.chance(20) ? index - axis_count() : index);
  }

  // That positions count. Behind them are those that sums through windows are given, `u_2`, which
  // nobody can name.
  int axis_count() const {
    return int(std::ranges::count_if(typed_.axes, [](const spec::Axis &axis) {
      return !axis.implied && axis.name.find('_') == std::string::npos;
    }));
  }

  void axes() {
    const int count = axis_count();
    if (count == 0) return;
    if (random_.chance(50)) clauses_.push_back("vector " + axis(random_.below(count)));
    if (count > 1 && random_.chance(40)) order(count);
    for (int a = 0; a < count; ++a) {
      if (random_.chance(25))
        clauses_.push_back(random_.pick<std::string>({"parallel ", "parallel ", "serial "}) +
                           axis(a));
      if (random_.chance(25))
        clauses_.push_back("copies " + axis(a) + " " +
                           random_.pick<std::string>({"1", "2", "4", "8"}));
      if (random_.chance(35))
        clauses_.push_back(
            "tile " + axis(a) + " " +
            random_.pick<std::string>({"1", "2", "4", "8", "16", "32", "64", "256"}));
    }
  }

  void order(int count) {
    std::vector<int> places;
    for (int a = 0; a < count; ++a) places.push_back(a);
    random_.shuffle(places);
    places.resize(std::size_t(random_.between(1, count)));
    std::string clause = "order";
    for (std::size_t k = 0; k < places.size(); ++k)
      clause += (k == 0 ? " " : ", ") + axis(places[k]);
    clauses_.push_back(clause);
  }

  void names() {
    std::vector<std::string> all;
    for (const Expr &let : spec_.data().lets) {
      // The let of a value as a position has another name in a text that says its name.
      if (let.node()->name.find("_at") != std::string::npos) continue;
      all.push_back(let.node()->name);
      // What is marked in the text already might be marked otherwise.
      const bool marked = random_.chance(60) || has_marks();
      if (marked) continue;
      const auto word = random_.pick<std::string>({"keep ", "recompute ", "inline ", "at "});
      const bool at = word == "at ";
      if (!at || axis_count() > 0)
        clauses_.push_back(word + all.back() + (at ? " " + axis(random_.below(axis_count())) : ""));
    }
    for (const OutputDecl &output : spec_.data().outputs) {
      all.push_back(output.name);
      if (random_.chance(40))
        clauses_.push_back(random_.pick<std::string>({"stream ", "stream ", "cached "}) +
                           all.back());
    }
    if (all.size() < 2 || !spec_.data().pairings.empty() || !random_.chance(40)) return;
    random_.shuffle(all);
    clauses_.push_back(random_.pick<std::string>({"fuse ", "separate "}) + all[0] + ", " + all[1]);
  }

  // A let that the array reads may be kept, or another, which is told.
  void names_of_let() {
    if (random_.chance(40))
      clauses_.push_back(random_.pick<std::string>({"stream ", "stream ", "cached "}) + let_);
    std::vector<std::string> others;
    for (const Expr &let : spec_.data().lets)
      if (let.node()->name.find("_at") == std::string::npos) others.push_back(let.node()->name);
    if (others.empty() || text_.find("keep(") != std::string::npos ||
        text_.find("recompute(") != std::string::npos || random_.chance(60))
      return;
    const std::string other = others[std::size_t(random_.below(int(others.size())))];
    const auto word = random_.pick<std::string>({"keep ", "recompute ", "inline ", "at "});
    if (word != "at ")
      clauses_.push_back(word + other);
    else if (axis_count() > 0)
      clauses_.push_back(word + other + " " + axis(random_.below(axis_count())));
    if (other != let_ && random_.chance(50))
      clauses_.push_back(random_.pick<std::string>({"fuse ", "separate "}) + let_ + ", " + other);
  }

  bool has_marks() const {
    const bool marked =
        text_.find("keep(") != std::string::npos || text_.find("recompute(") != std::string::npos;
    return marked || spec_.data().lets.size() > 1;
  }

  Random &random_;
  const std::string &text_;
  const LoopSpec &spec_;
  const spec::TypedSpec &typed_;
  const std::string let_;
  std::vector<std::string> clauses_;
};

} // namespace

std::string random_schedule(Random &random, const std::string &text, Scheduled what) {
  const LoopSpec spec = parse(text);
  const spec::TypedSpec typed = analysis::analyse(spec.data());
  std::string schedule = what == Scheduled::All ? Maker(random, text, spec, typed).run()
                                                : Maker(random, text, spec, typed).inlined();
  for (const auto &let : typed.materialised) {
    const std::string &name = let->typed.outputs[0].name;
    const auto is_it = [&](const Expr &one) { return one.node()->name == name; };
    const bool is_named = std::ranges::any_of(spec.data().lets, is_it); // a start is not
    // What is inlined has no loops to speak of.
    const bool is_inlined = schedule.find("inline " + name) != std::string::npos;
    if (let->join || !is_named || is_inlined || name.find("_at") != std::string::npos ||
        random.chance(40))
      continue;
    const std::string part = Maker(random, text, spec, let->typed, name).run();
    if (!part.empty()) schedule += (schedule.empty() ? "" : "\n  ") + part;
  }
  return schedule;
}

std::string with_schedule(const std::string &text, const std::string &schedule) {
  if (schedule.empty()) return text;
  const std::size_t end = text.rfind('}');
  return text.substr(0, end) + "  " + schedule + "\n" + text.substr(end);
}

} // namespace broadloom::differential
