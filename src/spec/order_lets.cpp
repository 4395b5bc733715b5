// In which order the lets of a kernel are computed: see splitter.hpp.
#include "spec/splitter.hpp"

namespace broadloom::spec {

// Each after those that it needs; of several that could be next, the first by the order of
// definition, then by name. Those that read each other are together.
std::vector<std::vector<std::string>> Splitter::in_order() {
  std::vector<std::string> left;
  for (const Expr &let : data_.lets)
    if (wanted_.contains(let.node()->name)) left.push_back(let.node()->name);
  for (const std::string &name : wanted_)
    if (std::find(left.begin(), left.end(), name) == left.end()) left.push_back(name);
  Needs needs;
  for (const std::string &name : left) {
    needs[name] = needed_by(lets_.at(name).node()->args[0]);
    if (const auto &said = lets_.at(name).node()->input) needs[name].merge(lets_read(*said));
  }
  std::unordered_map<std::string, std::size_t> circle_of;
  Circles circles = circles_of(left, needs);
  while (note_earlier_reads(circles, needs)) circles = circles_of(left, needs);
  for (const Circle &circle : circles) loops_.insert(circle.begin(), circle.end());
  for (const std::string &name : left) {
    const ExprNode &node = *lets_.at(name).node();
    if (!loops_.contains(name) && node.args.size() > 1) fail_no_loop(name);
    if (node.args.size() > 1) // the start is computed before
      for (const std::string &need : needed_by(node.args[1])) needs[name].insert(need);
  }
  circles = together(std::move(circles), needs);
  for (std::size_t c = 0; c < circles.size(); ++c)
    for (const std::string &name : circles[c]) circle_of[name] = c;
  std::vector<std::vector<std::string>> order;
  std::unordered_set<std::string> done;
  const auto all_with = [&](const std::string &name) {
    const auto circle = circle_of.find(name);
    return circle == circle_of.end() ? std::vector{name} : circles[circle->second];
  };
  while (!left.empty()) {
    const auto next = std::find_if(left.begin(), left.end(), [&](const std::string &name) {
      const std::vector<std::string> all = all_with(name);
      return std::ranges::all_of(all, [&](const std::string &one) {
        return std::ranges::all_of(needs[one], [&](const auto &need) {
          return done.contains(need) || std::ranges::count(all, need) != 0;
        });
      });
    });
    // One that is like itself: what it names is not there yet, which is told.
    order.push_back(all_with(next == left.end() ? left.front() : *next));
    for (const std::string &name : order.back()) {
      done.insert(name);
      std::erase(left, name);
    }
  }
  return order;
}

// The lets that need each other, or themselves: such a circle goes through a read of what is not
// there yet.
Splitter::Circles Splitter::circles_of(const std::vector<std::string> &names,
                                       const Needs &needs) const {
  const auto reached_from = [&](const std::string &name) {
    Names reached;
    std::vector<std::string> open{name};
    while (!open.empty()) {
      const std::string one = std::move(open.back());
      open.pop_back();
      const auto needed = needs.find(one);
      if (needed == needs.end()) continue;
      for (const std::string &need : needed->second)
        if (reached.insert(need).second) open.push_back(need);
    }
    return reached;
  };
  Circles circles;
  Names known;
  for (const std::string &name : names) {
    if (known.contains(name) || !reads_a_loop(lets_.at(name).node()->args[0])) continue;
    const Names reached = reached_from(name);
    if (!reached.contains(name)) continue;
    Circle circle;
    for (const std::string &other : names)
      if (other == name || (reached.contains(other) && reached_from(other).contains(name)))
        circle.push_back(other);
    known.insert(circle.begin(), circle.end());
    circles.push_back(std::move(circle));
  }
  return circles;
}

// The reads of these lets that a value holds.
std::vector<const ExprNode *> Splitter::reads_of(const Expr &value, const Names &lets) const {
  std::vector<const ExprNode *> reads;
  walk_kernel(value, [&](const ExprNode &node) {
    const bool is_let = node.kind == ExprKind::Let && lets.contains(node.name);
    const std::string *window = nullptr;
    if (node.kind == ExprKind::Input) window = let_read(*node.input);
    const bool ahead = reads_ahead(node) && lets.contains(let_called(node));
    if (is_let || ahead || (window != nullptr && lets.contains(*window))) reads.push_back(&node);
  });
  return reads;
}

Names Splitter::needed_by(const Expr &root) const {
  Names names;
  const auto name = [&](const std::string &called) {
    const auto window = lets_of_window_.find(called);
    if (window != lets_of_window_.end()) names.insert(window->second.begin(), window->second.end());
    if (wanted_.contains(called)) names.insert(called);
  };
  walk_kernel(root, [&](const ExprNode &node) {
    if (node.kind == ExprKind::Let) name(node.name);
    for_each_extent_of_places(node, [&](const Expr &of) { name(name_of_array(of)); });
    if (node.kind == ExprKind::Input) names.merge(lets_read(*node.input));
    for (const std::string &of : node.of) name(of);
    if (node.use)
      for (const std::string &like : node.use->like) name(like);
  });
  for (const auto &axis : data_.axes)
    if (Names lets = lets_read(*axis); !lets.empty() && walks(root, axis->dims[0].label))
      names.merge(std::move(lets));
  return names;
}

bool Splitter::walks(const Expr &value, const std::string &label) const {
  Names walked;
  walk_kernel(value, [&](const ExprNode &node) { note_walked(node, walked); });
  return walked.contains(label);
}

// Those that arrays read, and no output: they are parts of these, with their extents, and at
// `z[t + 1]` a loop may read an earlier step of another.
Names Splitter::lets_of_arrays_alone() const {
  Names lets;
  for (const std::string &array : wanted_)
    walk_kernel(lets_.at(array).node()->args[0], [&](const ExprNode &node) {
      if (node.kind == ExprKind::Let) lets.insert(node.name);
    });
  for_each_value(data_.outputs, [&](const Expr &value) {
    walk_kernel(value, [&](const ExprNode &node) {
      if (node.kind == ExprKind::Let) lets.erase(node.name);
    });
  });
  for (const ScheduleClause &clause : data_.schedule.clauses()) // which is told of them
    for (const std::string &name : clause.names) lets.erase(name);
  for (const Pairing &pairing : data_.pairings) {
    lets.erase(pairing.a);
    lets.erase(pairing.b);
  }
  return lets;
}

} // namespace broadloom::spec
