// See recurrence.hpp.
#include "spec/recurrence.hpp"

#include "expr/window.hpp"
#include "spec/inputs_of.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <set>

namespace broadloom::spec {
namespace {

using support::fail;

class TimeLoopFinder {
public:
  TimeLoopFinder(const std::vector<std::string> &lets,
                 const std::unordered_map<std::string, Expr> &by_name, const ReadsOf &reads_of,
                 const std::string *source)
      : lets_(lets), by_name_(by_name), source_(source) {
    for (const std::string &name : lets) {
      if (let(name).axes.empty())
        fail("E0028",
             "let '" + name + "' " +
                 (lets.size() == 1
                      ? "reads itself"
                      : "goes step by step with " + support::quoted_list(others(name))) +
                 ", and its dims are not listed",
             shown(let(name).where),
             lets.size() == 1
                 ? "list them, and read it at earlier positions: let " + name + "[t, i] = .. " +
                       name + "[t - 1, i] .."
                 : "list them, that of the steps among them: let " + name + "[t, i] = ..");
      for (const AxisRef &axis : let(name).axes)
        if (!std::holds_alternative<std::string>(axis.value()))
          fail("E0028", "let '" + name + "' reads itself, and lists a dim by number",
               shown(let(name).where), "list its dims by names");
    }
    for (const std::string &name : lets)
      for (const ExprNode *node : reads_of(name)) note(name, *node);
  }

  TimeLoop run() {
    std::vector<std::string> found;
    for (const AxisRef &axis : let(lets_[0]).axes)
      if (const auto *label = std::get_if<std::string>(&axis.value()); label && fits(*label))
        found.push_back(*label);
    for (const std::string &name : lets_) // the steps of which are counted
      if (const ExprNode &node = let(name); found.size() > 1 && node.count >= 0)
        std::erase_if(found, [&](const std::string &label) {
          return dim_of(name, label) != node.counted_dim;
        });
    if (found.empty()) explain();
    if (found.size() > 1)
      fail("E0028",
           "let '" + reads_[0].by + "' reads itself at other positions of " +
               support::quoted_list(found) + ", and each could be the one that it goes along",
           shown(reads_[0].node->where),
           "let one read have another of them as it is, or join them into one axis");
    TimeLoop loop;
    loop.axis = found[0];
    for (const std::string &name : lets_)
      loop.members.push_back({name, *dim_of(name, loop.axis), 0});
    for (const Read &read : reads_) {
      const std::int64_t moved = moved_by(read, loop.axis);
      loop.backwards = loop.backwards || moved > 0;
      TimeLoop::Member &of = member(loop, read.of);
      of.lag = std::max(of.lag, std::abs(moved));
    }
    count_steps(loop);
    in_order_of_a_step(loop);
    return loop;
  }

private:
  struct Read {
    std::string by, of;
    const ExprNode *node = nullptr;
    const Window *window = nullptr; // null: read as it is
  };

  const ExprNode &let(const std::string &name) const { return *by_name_.at(name).node(); }
  Place shown(const Place &where) const { return support::with_text(where, source_); }

  void note(const std::string &by, const ExprNode &node) {
    const Window *window = node.kind == ExprKind::Input ? node.input->window.get() : nullptr;
    const std::string &of = node.kind == ExprKind::Let ? node.name
                            : window != nullptr        ? window->of->name
                                                       : node.input->name;
    if (window != nullptr && window->forms.size() != let(of).axes.size())
      fail("E0140",
           "'" + of + "' has " + support::count(std::int64_t(let(of).axes.size()), "dim") +
               ", and " + support::count(std::int64_t(window->forms.size()), "position") +
               (window->forms.size() == 1 ? " is" : " are") + " given",
           shown(node.where), "write one position for each dim, as in x[i + u, j]");
    if (window != nullptr && window->is_gather())
      fail("E0028",
           node.input->name + " reads let '" + of +
               "' at elements of another input, and it is not there as a whole yet",
           shown(node.where), "read it at sums of integers and multiples of axes");
    reads_.push_back({by, of, &node, window});
  }

  std::optional<std::size_t> dim_of(const std::string &name, const std::string &label) const {
    const std::vector<AxisRef> &axes = let(name).axes;
    for (std::size_t dim = 0; dim < axes.size(); ++dim)
      if (const auto *own = std::get_if<std::string>(&axes[dim].value()); own && *own == label)
        return dim;
    return std::nullopt;
  }

  std::optional<std::int64_t> moved(const Read &read, const std::string &label) const {
    const std::optional<std::size_t> dim = dim_of(read.of, label);
    if (!dim) return std::nullopt;
    return read.window == nullptr ? 0 : moved_along(*read.window, *dim, label);
  }
  std::int64_t moved_by(const Read &read, const std::string &label) const {
    return *moved(read, label);
  }

  // Whether all reads are at this axis moved to one side, those of a let itself by 1 or more.
  bool fits(const std::string &label) const {
    bool earlier = false, later = false;
    for (const Read &read : reads_) {
      const std::optional<std::int64_t> by = moved(read, label);
      if (!by || (*by == 0 && read.of == read.by)) return false;
      earlier = earlier || *by < 0;
      later = later || *by > 0;
    }
    return earlier != later && std::all_of(lets_.begin(), lets_.end(), [&](const auto &name) {
             return dim_of(name, label).has_value();
           });
  }

  // None fits: what is the matter with the first read that tells.
  [[noreturn]] void explain() const {
    for (const AxisRef &axis : let(lets_[0]).axes) {
      const auto *label = std::get_if<std::string>(&axis.value());
      if (label == nullptr) continue;
      const Read *earlier = nullptr, *later = nullptr;
      for (const Read &read : reads_) {
        const std::optional<std::int64_t> by = moved(read, *label);
        if (by && *by < 0) earlier = &read;
        if (by && *by > 0) later = &read;
      }
      if (earlier != nullptr && later != nullptr)
        fail("E0028",
             "let '" + later->of + "' is read at an earlier and at a later position of axis '" +
                 *label + "'",
             shown(later->node->where),
             "it goes along the axis one way: " + earlier->node->input->name +
                 " is there before this step, " + later->node->input->name + " is not");
    }
    for (const Read &read : reads_) {
      if (read.of != read.by) continue;
      const std::vector<AxisRef> &axes = let(read.of).axes;
      bool here = read.window != nullptr;
      for (std::size_t d = 0; here && d < axes.size(); ++d) {
        const auto *label = std::get_if<std::string>(&axes[d].value());
        here = read.window->forms[d].is_axis() && label != nullptr &&
               read.window->forms[d].terms[0].axis == *label;
      }
      if (here)
        fail("E0028",
             "let '" + read.of +
                 "' reads itself at the position that it is computed at: " + read.node->input->name,
             shown(read.node->where), "read an earlier one of one of its dims: " + example(read));
    }
    const Read &read = reads_[0];
    fail("E0028",
         (read.window != nullptr ? read.node->input->name : "'" + read.of + "'") +
             " is no earlier position of one axis of let '" + read.of + "'" +
             (lets_.size() > 1
                  ? ", which reads " + support::quoted_list(others(read.of)) + " that read it"
                  : ", which reads itself"),
         shown(read.node->where),
         "all reads are at t - c along one axis t, or all at t + c, such as " + example(read));
  }
  std::vector<std::string> others(const std::string &name) const {
    std::vector<std::string> names;
    for (const std::string &let : lets_)
      if (let != name) names.push_back(let);
    return names;
  }
  // "h[t - 1, i]"
  std::string example(const Read &read) const {
    std::string text = read.of + "[";
    bool first = true;
    for (const AxisRef &axis : let(read.of).axes) {
      const auto *label = std::get_if<std::string>(&axis.value());
      text += (first ? "" : ", ") + (label ? *label : std::to_string(std::get<int>(axis.value()))) +
              (first ? " - 1" : "");
      first = false;
    }
    return text + "]";
  }

  void count_steps(TimeLoop &loop) const {
    for (const TimeLoop::Member &member : loop.members) {
      const ExprNode &node = let(member.let);
      const std::int64_t count = steps_said(node, loop.axis);
      if (count == 0)
        fail("E0031",
             "let '" + member.let + "' goes on for 1 to 2^40 steps along '" + loop.axis +
                 "', and says " + node.input->name,
             shown(node.where), "say how many there are, as a number");
      if (node.store != Order::none)
        fail("E0035", "let '" + member.let + "' reads itself, and is to lie in some order",
             shown(node.where), "leave it out: such a let lies step after step");
      if (count < 0) continue;
      if (loop.count >= 0 && loop.count != count)
        fail("E0031",
             "let '" + member.let + "' goes on for " + support::count(count, "step") +
                 ", and what it goes together with for " + std::to_string(loop.count),
             shown(node.where), "count the steps of one of them, or of all the same");
      loop.count = count;
    }
  }

  // -1: nothing is said; 0: it is no number of steps.
  static std::int64_t steps_said(const ExprNode &let, const std::string &time) {
    if (!let.input) return let.count;
    for (const Dim &dim : let.input->dims)
      if (dim.label == time) return std::max<std::int64_t>(dim.extent, 0);
    return -1;
  }

  // Those that are read at the same position come first.
  void in_order_of_a_step(TimeLoop &loop) const {
    std::vector<TimeLoop::Member> left;
    left.swap(loop.members);
    std::set<std::string> done;
    const auto waits_for = [&](const std::string &name) -> const Read * {
      for (const Read &read : reads_)
        if (read.by == name && moved_by(read, loop.axis) == 0 && !done.contains(read.of))
          return &read;
      return nullptr;
    };
    while (!left.empty()) {
      const auto next = std::find_if(left.begin(), left.end(), [&](const auto &member) {
        return waits_for(member.let) == nullptr;
      });
      if (next == left.end()) {
        const Read &read = *waits_for(left[0].let);
        fail("E0028",
             "lets '" + read.by + "' and '" + read.of + "' read each other at one position of '" +
                 loop.axis + "'",
             shown(read.node->where), "let one of them read the other at an earlier position");
      }
      done.insert(next->let);
      loop.members.push_back(*next);
      left.erase(next);
    }
  }

  static TimeLoop::Member &member(TimeLoop &loop, const std::string &name) {
    return *std::find_if(loop.members.begin(), loop.members.end(),
                         [&](const auto &member) { return member.let == name; });
  }

  const std::vector<std::string> &lets_;
  const std::unordered_map<std::string, Expr> &by_name_;
  const std::string *source_;
  std::vector<Read> reads_;
};

} // namespace

std::optional<std::int64_t> moved_along(const Window &window, std::size_t dim,
                                        const std::string &label) {
  if (std::ranges::count(window.pads, dim, &DimPad::dim) != 0) return std::nullopt;
  const AffineForm &form = window.forms[dim];
  const bool is_moved = form.terms.size() == 1 && form.terms[0].axis == label &&
                        form.terms[0].times == 1 && form.indices.empty() && form.extents.empty() &&
                        std::abs(form.constant) <= most_steps;
  return is_moved ? std::optional(form.constant) : std::nullopt;
}

TimeLoop find_time_loop(const std::vector<std::string> &lets,
                        const std::unordered_map<std::string, Expr> &by_name,
                        const ReadsOf &reads_of, const std::string *source) {
  return TimeLoopFinder(lets, by_name, reads_of, source).run();
}

// Whether elements of this array say positions of a window. All of them are looked at before the
// first step.
static bool takes_positions(const TypedSpec &reader, const TypedWindow &window, std::size_t array) {
  return std::ranges::any_of(window.forms, [&](const TypedWindow::Form &form) {
    return std::ranges::any_of(form.indices, [&](const TypedWindow::Index &index) {
      return reader.array_of(index.input) == array;
    });
  });
}

// The windows through which it reads elements of this array; none where it reads them otherwise.
static std::optional<std::vector<const TypedWindow *>> windows_read(const TypedSpec &reader,
                                                                    std::size_t input) {
  std::vector<expr::NodeId> values;
  for (const TypedOutput &output : reader.outputs) values.push_back(output.value);
  const std::vector<bool> read = inputs_of(reader, values).read; // and not for its shape alone
  if (read[input]) return std::nullopt;
  std::vector<const TypedWindow *> windows;
  for (std::size_t i = 0; i < reader.inputs.size(); ++i) {
    const auto &window = reader.inputs[i].window;
    if (window && takes_positions(reader, *window, input)) return std::nullopt;
    if (window && window->of == input && read[i]) windows.push_back(&*window);
  }
  return windows;
}

std::optional<RowsRead> rows_read_by_step(const TypedSpec &reader, std::size_t input,
                                          std::size_t dim) {
  const auto windows = windows_read(reader, input);
  if (!windows) return std::nullopt;
  RowsRead rows;
  for (const TypedWindow *one : *windows) {
    const TypedWindow &window = *one;
    const bool is_padded = std::ranges::count(window.pads, int(dim), &TypedWindow::Pad::dim) != 0;
    if (window.derived || window.sum || window.is_gather() || is_padded) return std::nullopt;
    for (std::size_t d = 0; d < window.forms.size(); ++d) {
      const TypedWindow::Form &form = window.forms[d];
      const auto times =
          std::ranges::find(form.terms, reader.time.value_or(-1), &TypedWindow::Term::axis);
      if (d != dim && times == form.terms.end()) continue;
      if (d != dim || form.terms.size() != 1 || times == form.terms.end() || times->times != 1 ||
          !form.counts.empty() || form.divisor != 1)
        return std::nullopt;
      rows.add({form.start, form.start});
    }
  }
  return rows;
}

bool may_see_few_rows(const TypedSpec &step, std::size_t input, std::size_t dim) {
  return std::ranges::none_of(step.inputs, [&](const TypedInput &seen) {
    if (!seen.window || seen.window->of != input) return false;
    const TypedWindow &window = *seen.window;
    if (window.pads.empty() && !window.needs_zeros()) return false;
    for (std::size_t d = 0; d < window.forms.size(); ++d)
      if (d != dim && std::ranges::count(window.forms[d].terms, step.time.value_or(-1),
                                         &TypedWindow::Term::axis) != 0)
        return true;
    return false;
  });
}

bool reads_last_position(const TypedSpec &reader, std::size_t input, const Recurrence &of) {
  const auto windows = windows_read(reader, input);
  if (!windows) return false;
  return std::ranges::all_of(*windows, [&](const TypedWindow *window) {
    // A derived one, which may leave the array along other dims, sees a copy of what it looks at.
    if (window->sum || !window->pads.empty() || window->is_gather()) return false;
    const TypedWindow::Form &form = window->forms[of.dim];
    const std::vector<TypedWindow::Count> all{{std::uint32_t(input), int(of.dim), 1}};
    const bool from_end = form.counts.empty() ? form.from_end : form.counts == all;
    const bool is_last = of.backwards ? !form.from_end && form.start == 0 && form.counts.empty()
                                      : from_end && form.start == -1;
    return is_last && form.terms.empty() && form.divisor == 1;
  });
}

} // namespace broadloom::spec
