// Loops over time that may as well go step by step together: one of them reads the other where it
// is, and nothing but that one needs it whole.
//
//   let s[t] = 0.9 * s[t - 1] + x
//   let p[t] = p[t - 1] + s[t]^2        each of them a loop; together, p needs no more of s than
//                                       the row of this step
//
// What a let is does not depend on it: the steps must be as many, whatever the inputs are. So what
// the steps of the second have to stay inside of must be among what those of the first have to, or
// both are counted.
//
// One that reads an earlier step of another, `p[t] = p[t - 1] + s[t - 1]`, always goes on with it,
// as if that one read it in turn: before the first step it reads the start.
#include "spec/splitter.hpp"

namespace broadloom::spec {

class LoopsTogether {
public:
  LoopsTogether(const Splitter &splitter, Splitter::Circles circles, const Splitter::Needs &needs)
      : splitter_(splitter), needs_(needs), circles_(std::move(circles)) {}

  // What is read at an earlier step of it waits for what reads it: both are of one circle, with all
  // that is between them.
  bool note_earlier_reads(Splitter::Needs &needs) {
    find_loops();
    bool found = false;
    for (const Loop &later : loops_)
      for (const Loop &first : loops_) {
        const bool same_way =
            later.time.axis == first.time.axis && later.time.backwards == first.time.backwards;
        if (&later == &first || !same_way) continue;
        for (const std::string &let : later.lets)
          for (const ExprNode *read : splitter_.reads_of(value_of(let), first.lets))
            if (reads_earlier(*read, first.time))
              found = needs[read->input->window->of->name].insert(let).second || found;
      }
    return found;
  }

  Splitter::Circles run() {
    find_loops();
    for (std::size_t k = 1; k < loops_.size(); ++k)
      for (std::size_t first = 0; first < k; ++first)
        if (!circles_[first].empty() && goes_with(loops_[k], loops_[first])) {
          take(k, first);
          break;
        }
    std::erase_if(circles_, [](const Splitter::Circle &circle) { return circle.empty(); });
    return std::move(circles_);
  }

private:
  struct Loop {
    TimeLoop time;
    Names lets;
    Names bounds; // what its steps have to stay inside of, but what it reads of itself
  };

  static std::string bound(const std::string &array, std::size_t dim) {
    return array + "#" + std::to_string(dim);
  }

  void find_loops() {
    if (circles_.size() < 2) return;
    for (const Splitter::Circle &circle : circles_) loops_.push_back(loop_of(circle));
  }

  static bool reads_earlier(const ExprNode &read, const TimeLoop &of) {
    const Window *window = read.input ? read.input->window.get() : nullptr;
    if (window == nullptr || window->is_whole) return false;
    const auto member = std::ranges::find(of.members, window->of->name, &TimeLoop::Member::let);
    if (member->dim >= window->forms.size()) return false; // which is told later
    const std::int64_t moved = moved_along(*window, member->dim, of.axis).value_or(0);
    return of.backwards ? moved > 0 : moved < 0;
  }

  Loop loop_of(const Splitter::Circle &circle) const {
    const Names names(circle.begin(), circle.end());
    Loop loop{find_time_loop(
                  circle, splitter_.lets_,
                  [&](const std::string &let) { return splitter_.reads_of(value_of(let), names); },
                  splitter_.data_.source.get()),
              names,
              {}};
    for (const std::string &let : circle)
      splitter_.walk_kernel(value_of(let), [&](const ExprNode &node) { note_bounds(node, loop); });
    return loop;
  }
  const Expr &value_of(const std::string &let) const {
    return splitter_.lets_.at(let).node()->args[0];
  }

  static bool is_label(const AxisRef &axis, const std::string &label) {
    const auto *name = std::get_if<std::string>(&axis.value());
    return name != nullptr && *name == label;
  }

  void note_bounds(const ExprNode &node, Loop &loop) const {
    const std::string &time = loop.time.axis;
    for (const std::string &like : node.use ? node.use->like : std::vector<std::string>())
      loop.bounds.insert("like " + like);
    if (node.kind == ExprKind::Iota || node.kind == ExprKind::Extent)
      for (const std::string &of : node.of)
        if (is_label(node.axes[0], time)) loop.bounds.insert("of " + of);
    if (node.kind == ExprKind::Let && splitter_.wanted_.contains(node.name) &&
        !loop.lets.contains(node.name))
      for (std::size_t d = 0; d < node.axes.size(); ++d)
        if (is_label(node.axes[d], time)) loop.bounds.insert(bound(node.name, d));
    if (node.kind != ExprKind::Input) return;
    const Window *window = node.input->window.get();
    const std::string &array = window != nullptr ? window->of->name : node.input->name;
    if (loop.lets.contains(array)) return;
    for (std::size_t d = 0; window == nullptr && d < node.input->dims.size(); ++d)
      if (node.input->dims[d].label == time) loop.bounds.insert(bound(array, d));
    for (std::size_t d = 0; window != nullptr && d < window->forms.size(); ++d) {
      const AffineForm &form = window->forms[d];
      if (std::ranges::count(form.terms, time, &AffineForm::Term::axis) == 0) continue;
      const bool as_it_is =
          form.is_bare() && std::ranges::count(window->pads, d, &DimPad::dim) == 0;
      loop.bounds.insert(as_it_is ? bound(array, d) : node.input->name);
    }
  }

  // Does the later loop read the other at no other step than its own, and nothing that needs all
  // steps of it?
  bool goes_with(const Loop &later, const Loop &first) const {
    const TimeLoop &a = later.time, &b = first.time;
    if (a.axis != b.axis || a.backwards != b.backwards) return false;
    const bool counted = a.count >= 0 && a.count == b.count;
    if (a.count >= 0 && !counted) return false;
    bool reads = false;
    for (const std::string &bound : later.bounds) {
      const bool is_read = is_step_of(bound, first);
      reads = reads || is_read;
      if (!is_read && !counted && !first.bounds.contains(bound)) return false;
    }
    return reads && reads_steps_alone(later, first) && !takes_positions(later, first) &&
           !waits_for(later, first);
  }
  // Positions are looked up before the first step.
  bool takes_positions(const Loop &later, const Loop &first) const {
    bool takes = false;
    for (const std::string &let : later.lets)
      splitter_.walk_kernel(value_of(let), [&](const ExprNode &node) {
        if (node.kind != ExprKind::Input || !node.input->window) return;
        for (const AffineForm &form : node.input->window->forms)
          for (const AffineForm::Index &index : form.indices)
            takes = takes || std::ranges::any_of(lets_read(*index.read), [&](const auto &name) {
                      return first.lets.contains(name);
                    });
      });
    return takes;
  }
  static bool is_step_of(const std::string &read, const Loop &loop) {
    return std::ranges::any_of(loop.time.members, [&](const TimeLoop::Member &member) {
      return read == bound(member.let, member.dim);
    });
  }
  // What is read at other steps has no start there.
  bool reads_steps_alone(const Loop &later, const Loop &first) const {
    for (const std::string &let : later.lets)
      for (const ExprNode *read : splitter_.reads_of(value_of(let), first.lets)) {
        const Window *window = read->input ? read->input->window.get() : nullptr;
        if (read->kind == ExprKind::Let) continue;
        if (window == nullptr || window->is_whole || window->is_gather()) return false;
        for (const TimeLoop::Member &member : first.time.members) {
          if (member.let != window->of->name) continue;
          for (std::size_t d = 0; d < window->forms.size(); ++d) {
            const AffineForm &form = window->forms[d];
            const bool has =
                std::ranges::count(form.terms, first.time.axis, &AffineForm::Term::axis) != 0;
            if (d == member.dim && (!has || !form.is_bare())) return false;
          }
          if (std::ranges::count(window->pads, member.dim, &DimPad::dim) != 0) return false;
        }
      }
    return true;
  }

  // Does something between them need it whole?
  bool waits_for(const Loop &later, const Loop &first) const {
    Names seen = later.lets;
    std::vector<std::string> open;
    const auto reach = [&](const std::string &let) {
      const auto needs = needs_.find(let);
      for (const std::string &need : needs == needs_.end() ? Names() : needs->second)
        if (seen.insert(need).second) open.push_back(need);
    };
    for (const std::string &let : later.lets) {
      reach(let);
      const std::vector<Expr> &args = splitter_.lets_.at(let).node()->args;
      for (const std::string &need : args.size() > 1 ? splitter_.needed_by(args[1]) : Names())
        if (first.lets.contains(need)) return true; // it is there before the first step
    }
    for (const std::string &let : first.lets) seen.erase(let); // the steps themselves may be read
    std::erase_if(open, [&](const std::string &let) { return first.lets.contains(let); });
    while (!open.empty()) {
      const std::string let = std::move(open.back());
      open.pop_back();
      if (first.lets.contains(let)) return true;
      reach(let);
    }
    return false;
  }

  void take(std::size_t k, std::size_t first) {
    Loop &into = loops_[first];
    const auto add = [](auto &all, const auto &more) {
      all.insert(all.end(), more.begin(), more.end());
    };
    into.lets.insert(loops_[k].lets.begin(), loops_[k].lets.end());
    add(into.time.members, loops_[k].time.members);
    add(circles_[first], circles_[k]);
    circles_[k].clear();
  }

  const Splitter &splitter_;
  const Splitter::Needs &needs_;
  Splitter::Circles circles_;
  std::vector<Loop> loops_;
};

bool Splitter::note_earlier_reads(const Circles &circles, Needs &needs) const {
  return LoopsTogether(*this, circles, needs).note_earlier_reads(needs);
}

Splitter::Circles Splitter::together(Circles circles, const Needs &needs) const {
  return LoopsTogether(*this, std::move(circles), needs).run();
}

} // namespace broadloom::spec
