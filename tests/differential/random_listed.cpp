// See random_listed.hpp.
#include "random_listed.hpp"

#include <algorithm>
#include <numeric>

namespace broadloom::differential {
namespace {

using Axes = std::vector<int>;

class ListedMaker {
public:
  ListedMaker(Random &random, bool exact) : random_(random), exact_(exact) {}

  RandomListed run() {
    const int rank = random_.chance(70) ? 2 : 3;
    for (int a = 0; a < rank; ++a) {
      names_.push_back(std::string("l") + "abc"[a]);
      // Where they are equal, dims in another order are other numbers and no error.
      extents_.push_back(a > 0 && random_.chance(60) ? extents_[0] : random_.between(1, 4));
    }
    declare_inputs();
    for (int k = random_.between(2, 4); k > 0; --k) add_array();
    made_.axes = names_of(shuffled());
    for (int k = random_.between(1, 2); k > 0; --k) made_.values.push_back(value());
    if (random_.chance(30)) {
      const Array &like = random_.pick(arrays_);
      if (like.rest.empty()) made_.sum_like = "sum(" + value() + ", like=" + at(like) + ")";
    }
    return std::move(made_);
  }

private:
  // A let. Its dims are axes of the inputs, but for one of a loop or a join, which is read at
  // `rest`.
  struct Array {
    std::string name;
    Axes dims;        // -1: the other one
    std::string rest; // "-1", "la + 1"; empty: there is none, and it may be read by its name
  };

  Axes shuffled() {
    Axes axes(names_.size());
    std::iota(axes.begin(), axes.end(), 0);
    random_.shuffle(axes);
    return axes;
  }
  std::vector<std::string> names_of(const Axes &axes) const {
    std::vector<std::string> names;
    for (const int axis : axes) names.push_back(names_[std::size_t(axis)]);
    return names;
  }
  static std::string listed(const std::vector<std::string> &positions) {
    std::string text;
    for (const std::string &position : positions) text += (text.empty() ? "[" : ", ") + position;
    return text + "]";
  }
  // The positions of an array, `other` being that of the dim that is no axis of the inputs.
  std::string positions(const Axes &dims, const std::string &other) const {
    std::vector<std::string> all;
    for (const int axis : dims) all.push_back(axis < 0 ? other : names_[std::size_t(axis)]);
    return listed(all);
  }
  std::string at(const Array &array) const {
    return array.name + positions(array.dims, array.rest);
  }
  std::string read(const Array &array) {
    return array.rest.empty() && random_.chance(70) ? array.name : at(array);
  }
  Axes with_other(Axes dims) {
    dims.insert(dims.begin() + random_.below(int(dims.size()) + 1), -1);
    return dims;
  }

  // Which labels come first, and so the order of the iteration space, is theirs to say.
  void declare_inputs() {
    Axes left = shuffled();
    for (int k = 0; !left.empty() || k < 2; ++k) {
      Axes axes;
      for (const int axis : shuffled())
        if (random_.chance(40)) axes.push_back(axis);
      if (axes.empty()) axes.push_back(left.empty() ? 0 : left[0]);
      RandomInput input{"l" + std::to_string(k), f64, {}};
      for (const int axis : axes) {
        input.shape.push_back(extents_[std::size_t(axis)]);
        std::erase(left, axis);
        if (std::ranges::count(order_, axis) == 0) order_.push_back(axis);
      }
      made_.lines.push_back("in " + input.name + " : f64" + listed(names_of(axes)));
      reads_.emplace_back(input.name, axes);
      made_.inputs.push_back(std::move(input));
    }
  }

  std::string joined(const std::string &a, const std::string &b) {
    std::vector<std::string> forms{"(" + a + " + " + b + ")", "(" + a + " - " + b + ")",
                                   "(" + a + " * 0.5 + " + b + ")"};
    if (!exact_)
      for (const std::string &form :
           {"(" + a + " * " + b + ")", "(" + a + " * " + a + " + " + b + ")",
            "(sin(" + a + ") * " + b + ")"})
        forms.insert(forms.end(), 2, form);
    return random_.pick(forms);
  }

  // With all axes, in any order of reading.
  std::string value() {
    std::vector<std::string> parts;
    Axes left = shuffled();
    while (!left.empty() || random_.chance(30)) {
      if (!arrays_.empty() && random_.chance(50)) {
        parts.push_back(read(random_.pick(arrays_)));
        left.clear();
      } else {
        const auto &[name, axes] = random_.pick(reads_);
        if (!left.empty() && std::ranges::count(axes, left[0]) == 0) continue;
        parts.push_back(name);
        for (const int axis : axes) std::erase(left, axis);
      }
    }
    random_.shuffle(parts);
    std::string text = parts[0];
    for (std::size_t k = 1; k < parts.size(); ++k) text = joined(text, parts[k]);
    return text;
  }

  // Sometimes folded along an axis of which the fold alone says how long it is.
  std::string summed(const std::string &whole) {
    if (!random_.chance(15)) return whole;
    const int extent = random_.between(1, 3), more = random_.below(3);
    const std::string axis = "s" + std::to_string(made_.inputs.size());
    RandomInput taps{"l" + std::to_string(made_.inputs.size()), f64, {extent + more}};
    made_.lines.push_back("in " + taps.name + " : f64[:]");
    const std::string tap = taps.name + "[" + axis + " + " + std::to_string(more) + "]";
    made_.inputs.push_back(std::move(taps));
    return "sum((" + whole + ") * " + tap + ", " + axis + " < " + std::to_string(extent) + ")";
  }

  // Of a let that does not list them: those of the array of which it is another name, or all.
  Axes dims_of(const std::string &value) const {
    for (const auto &[name, axes] : reads_)
      if (name == value) return axes;
    for (const Array &array : arrays_)
      if (array.name == value) return array.dims;
    return order_;
  }

  void add_array() {
    const std::string name = "m" + std::to_string(arrays_.size());
    switch (arrays_.empty() ? 0 : random_.below(10)) {
    case 0:
    case 1:
    case 2: { // which lists its dims, or has those of the iteration space
      const bool lists = random_.chance(70);
      const std::string whole = summed(value());
      arrays_.push_back({name, lists ? shuffled() : dims_of(whole), {}});
      return add_line(lists ? positions(arrays_.back().dims, {}) : "", whole);
    }
    case 3: // another name
      if (const Array old = random_.pick(arrays_); old.rest.empty()) {
        arrays_.push_back({name, old.dims, {}});
        return add_line("", old.name);
      }
      [[fallthrough]];
    case 4:
    case 5: return add_join(name);
    default: return add_loop(name);
    }
  }
  void add_line(const std::string &dims, const std::string &text) {
    made_.lines.push_back("let m" + std::to_string(arrays_.size() - 1) + dims + " = " + text);
  }

  // The values that its parts are, where they have the axes as they are.
  std::string part(const std::string &instead, int axis) {
    const Array &array = random_.pick(arrays_);
    std::vector<std::string> all;
    for (const int dim : array.dims)
      all.push_back(dim < 0 ? array.rest : dim == axis ? instead : names_[std::size_t(dim)]);
    return array.name + listed(all);
  }

  void add_join(const std::string &name) {
    const std::string own = "r" + name;
    if (random_.chance(40)) { // stacked
      const Axes dims = with_other(shuffled());
      std::string parts = value();
      const int more = random_.below(3);
      for (int k = 0; k < more; ++k)
        parts += ", " + (random_.chance(60) ? read(random_.pick(arrays_)) : value());
      arrays_.push_back({name, dims, std::to_string(random_.below(more + 1))});
      return add_line(positions(dims, own), "stack(" + own + ", " + parts + ")");
    }
    const int axis = random_.below(int(names_.size()));
    const std::string &label = names_[std::size_t(axis)];
    Axes dims = shuffled();
    const auto with = [&](const std::string &position) {
      std::vector<std::string> all;
      for (const int dim : dims) all.push_back(dim == axis ? position : names_[std::size_t(dim)]);
      return listed(all);
    };
    const std::string first = part(own, axis), second = part(own, axis);
    const std::string both = random_.chance(50)
                                 ? "concat(" + own + ", " + first + ", " + second + ")"
                                 : "parts(" + first + " at " + with("2*" + own) + ", " + second +
                                       " at " + with("2*" + own + " + 1") + ")";
    const bool alternate = both[0] == 'p';
    const std::string line = with(own);
    std::ranges::replace(dims, axis, -1);
    const std::int64_t extent = extents_[std::size_t(axis)];
    const std::string more = std::to_string(random_.below(int(alternate ? 2 : extent + 1)));
    arrays_.push_back({name, dims, (alternate ? "2*" : "") + label + " + " + more});
    add_line(line, both);
  }

  std::string start() {
    const int kind = random_.below(10);
    if (kind == 0) return "";
    if (kind == 1) return " from 1";
    if (kind < 4) return " from " + value();
    std::vector<std::string> names;
    for (const Array &array : arrays_)
      if (array.rest.empty()) names.push_back(array.name);
    for (const auto &[name, axes] : reads_)
      if (axes.size() == names_.size()) names.push_back(name);
    return " from " + random_.pick(names);
  }

  // What a loop goes until, whose own row is `own`. Sums that are not exact are not compared, as
  // those of the reference are others.
  std::string ends(const std::string &time, const std::string &own, const Axes &dims) {
    if (!exact_ || random_.chance(40))
      return "iota(" + time + ") " + random_.pick<std::string>({"== ", ">= ", "< "}) +
             std::to_string(random_.below(4));
    std::string others;
    for (const int axis : dims)
      if (axis >= 0) others += ", " + names_[std::size_t(axis)];
    return (others.empty() ? own : "sum(" + own + others + ")") + " > 8";
  }

  void add_loop(const std::string &name) {
    const std::string time = "t" + name,
                      steps = time + " < " + std::to_string(random_.between(1, 3));
    const bool backwards = random_.chance(30);
    const std::string result = backwards ? "0" : "-1", sign = backwards ? " + " : " - ";
    Axes dims = with_other(shuffled());
    const auto earlier = [&](const std::string &let, const Axes &of, int lag) {
      return let + positions(of, time + (lag == 0 ? "" : sign + std::to_string(lag)));
    };
    if (random_.chance(
            25)) { // its dims have names of their own, and are those of the start in order
      const std::string begins = start();
      if (begins.size() > 8) { // an array
        std::vector<std::string> own, before;
        for (std::size_t d = 0, next = 0; d < dims.size(); ++d) {
          const bool is_time = dims[d] < 0;
          if (!is_time) dims[d] = order_[next];
          own.push_back(is_time ? time : "u" + std::to_string(next++));
          before.push_back(own.back() + (is_time ? sign + "1" : ""));
        }
        std::vector<std::string> head = own;
        std::ranges::replace(head, time, steps);
        const std::string again = name + listed(before);
        arrays_.push_back({name, dims, result});
        return add_line(listed(head), joined(again, again) + begins);
      }
    }
    std::string step = joined(earlier(name, dims, random_.between(1, 2)), value());
    const std::string until = random_.chance(40) ? ends(time, earlier(name, dims, 0), dims) : "";
    const std::string head =
        positions(dims, until.empty() ? steps
                                      : time + " < " + std::to_string(random_.between(2, 6)) +
                                            " until " + until);
    if (random_.chance(30)) { // two that go together
      const std::string other = "n" + name;
      const Axes others = with_other(shuffled());
      made_.lines.push_back("let " + name + head + " = " + joined(step, earlier(other, others, 1)) +
                            start());
      made_.lines.push_back(
          "let " + other + positions(others, until.empty() ? steps : time) + " = " +
          joined(earlier(other, others, 1), earlier(name, dims, random_.below(2))) + start());
      arrays_.push_back({name, dims, result});
      arrays_.push_back({other, others, result});
      return;
    }
    const std::string begins = start();
    arrays_.push_back({name, dims, result});
    add_line(head, step + begins);
  }

  Random &random_;
  const bool exact_;
  std::vector<std::string> names_; // of axes
  std::vector<std::int64_t> extents_;
  Axes order_;                                      // that of the iteration space
  std::vector<std::pair<std::string, Axes>> reads_; // inputs
  std::vector<Array> arrays_;
  RandomListed made_;
};

} // namespace

RandomListed random_listed(Random &random, bool exact) { return ListedMaker(random, exact).run(); }

} // namespace broadloom::differential
