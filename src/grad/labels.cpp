// See labels.hpp. Dims that lie on one axis of the kernel, or of the kernel of a let, form a group,
// which has the label of that axis or gets one. The label is that of dims which meet it in a value:
// in `out z = x * b; out y = h[m]` x and b lie on axis 0, which is m, and have one of their own.
#include "grad/labels.hpp"

#include "analysis/analyse.hpp"
#include "expr/function.hpp"
#include "expr/stretch.hpp"
#include "grad/batch_facts.hpp"
#include "spec/own_axis.hpp"
#include "spec/redeclare.hpp"
#include "support/free_name.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace broadloom::grad {
namespace {

bool has_number(const std::vector<AxisRef> &axes) {
  return std::ranges::any_of(
      axes, [](const AxisRef &axis) { return std::holds_alternative<int>(axis.value()); });
}

// Which axes with labels the values of a kernel meet: through what reads, lends, folds or lists
// them.
class Meetings {
public:
  Meetings(const spec::TypedSpec &kernel, const SpecData &data)
      : kernel_(kernel), above_(kernel.graph.size() + kernel.inputs.size()),
        read_(kernel.inputs.size()) {
    const expr::Graph &graph = kernel.graph;
    std::iota(above_.begin(), above_.end(), std::uint32_t(0));
    for (const expr::NodeId id : graph.ids()) {
      const expr::Node &node = graph[id];
      for (const expr::NodeId arg : graph.args(id))
        if (!graph[arg].axes.empty()) unite(arg.index, id.index);
      for (const std::uint32_t input : graph.like(node)) meet(input, id);
      if (node.kind == expr::NodeKind::Input) meet(node.payload, id);
    }
    for (const spec::TypedOutput &output : kernel.outputs)
      for (const std::uint32_t input : output.like) meet(input, output.value);
    for (const expr::NodeId id : graph.ids()) {
      const expr::Node &node = graph[id];
      const bool counts = node.kind == expr::NodeKind::Index || node.kind == expr::NodeKind::Extent;
      note(value(id), counts ? node.axes | node.folded : node.folded);
    }
    for (std::size_t i = 0; i < kernel.inputs.size(); ++i)
      if (read_[i] && !lacks_labels(kernel.inputs[i])) note(*value_of(i), kernel.inputs[i].axes());
    for (std::size_t k = 0; k < kernel.outputs.size(); ++k)
      if (data.outputs[k].has_axes)
        note(value(kernel.outputs[k].value), expr::AxisSet::of(kernel.outputs[k].axes));
  }

  static bool lacks_labels(const spec::TypedInput &input) {
    return !input.labelled && !input.window && !input.in_windows_only && !input.materialised &&
           !input.axis_of_dim.empty() && !input.is_lent();
  }

  // Values that have to do with each other are one.
  std::uint32_t value(expr::NodeId id) { return root(id.index); }
  // None of an input that nothing reads or is like.
  std::optional<std::uint32_t> value_of(std::size_t input) {
    if (!read_[input]) return std::nullopt;
    return root(std::uint32_t(kernel_.graph.size() + input));
  }
  bool meets_label(std::uint32_t value, int axis) const {
    return !kernel_.axes[std::size_t(axis)].labelled || met_.contains({value, axis});
  }

private:
  std::uint32_t root(std::uint32_t at) {
    while (above_[at] != at) at = above_[at] = above_[above_[at]];
    return at;
  }
  void unite(std::uint32_t a, std::uint32_t b) { above_[root(a)] = root(b); }
  void meet(std::uint32_t input, expr::NodeId id) {
    read_[input] = true;
    unite(std::uint32_t(kernel_.graph.size() + input), id.index);
  }
  void note(std::uint32_t value, expr::AxisSet axes) {
    for (const int axis : axes.list()) met_.emplace(value, axis);
  }

  const spec::TypedSpec &kernel_;
  std::vector<std::uint32_t> above_; // by node, then by input
  std::vector<bool> read_;
  std::set<std::pair<std::uint32_t, int>> met_;
};

class Labeller {
public:
  Labeller(const SpecData &data, Stretch stretch)
      : data_(data), stretch_(stretch), typed_(analysis::analyse(data)),
        split_(spec::split_lets(data, analysis::analyse)), meetings_(typed_, data),
        counts_(counts_axes(data)) {}

  std::optional<SpecData> run() {
    std::vector<const spec::TypedSpec *> kernels{&typed_};
    find_groups(typed_, meetings_, apart_);
    if (split_)
      for (const auto &let : split_->lets) {
        kernels.push_back(&let->typed);
        Meetings meetings(let->typed, let->data);
        Apart apart;
        find_groups(let->typed, meetings, apart);
      }
    if (lacking_.empty() && !counts_axes(data_)) return std::nullopt;
    for (const spec::TypedSpec *kernel : kernels)
      if (meets_itself(*kernel)) return std::nullopt;
    if (!name_groups() || !counts_alike()) return std::nullopt;
    spec::Decls changed;
    for (const std::string &input : lacking_) changed[input] = with_labels(input);
    SpecData made = spec::redeclared(data_, changed, labels(typed_));
    made.order = Order::f;
    made.order_given = false;
    keep_order(made);
    return made;
  }

private:
  // "x" and 1 is dim 1 of x, "i" and -1 the label i.
  using Member = std::pair<std::string, int>;
  // By a value and an axis of it that has a label in another value alone.
  using Apart = std::map<std::pair<std::uint32_t, int>, Member>;

  // A number is to be one label: in all kernels of lets that have numbers, and in no definition.
  bool counts_alike() const {
    bool defines = false;
    expr::Walker walker;
    spec::for_each_node(data_, [&](const ExprNode &node) {
      if (node.kind != ExprKind::Call) return;
      walker.walk(node.function->body.node(),
                  [&](const ExprNode &part) { defines = defines || has_number(part.axes); });
    });
    const std::vector<std::string> names = labels(typed_);
    return !defines && (!split_ || std::ranges::all_of(split_->lets, [&](const auto &let) {
      return !counts_axes(let->data) || labels(let->typed) == names;
    }));
  }

  Member root(Member member) const {
    for (auto above = parents_.find(member);
         above != parents_.end() && above->second != above->first; above = parents_.find(member))
      member = above->second;
    return member;
  }
  void unite(const Member &a, const Member &b) {
    const Member x = root(a), y = root(b);
    parents_[std::max(x, y)] = parents_[std::min(x, y)] = std::min(x, y);
    ++sizes_[std::min(x, y)];
  }

  // A member of the group of an axis; none of what only positions read.
  static std::optional<Member> member(const spec::TypedSpec &kernel, int axis) {
    const spec::Axis &known = kernel.axes[std::size_t(axis)];
    if (known.labelled) return Member{known.name, -1};
    for (const spec::TypedInput &input : kernel.inputs)
      for (std::size_t d = 0; Meetings::lacks_labels(input) && d < input.axis_of_dim.size(); ++d)
        if (input.axis_of_dim[d] == axis) return Member{input.name, int(d)};
    return std::nullopt;
  }

  void find_groups(const spec::TypedSpec &kernel, Meetings &meetings, Apart &apart) {
    for (std::size_t i = 0; i < kernel.inputs.size(); ++i) {
      const spec::TypedInput &input = kernel.inputs[i];
      if (!Meetings::lacks_labels(input)) continue;
      lacking_.insert(input.name);
      const std::optional<std::uint32_t> value = meetings.value_of(i);
      for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d) {
        const Member dim{input.name, int(d)};
        const int axis = input.axis_of_dim[d];
        const bool joins = counts_ || (value && meetings.meets_label(*value, axis));
        if (!joins && !value && kernel.axes[std::size_t(axis)].labelled) continue;
        const Member other = joins || !value ? *member(kernel, axis)
                                             : apart.try_emplace({*value, axis}, dim).first->second;
        if (other != dim) unite(dim, other);
        if (input.may_stretch[d]) may_stretch_.insert(dim);
      }
    }
  }

  // Are two axes of a kernel one in another?
  bool meets_itself(const spec::TypedSpec &kernel) const {
    std::set<Member> groups;
    for (std::size_t axis = 0; axis < kernel.axes.size(); ++axis)
      if (const auto found = member(kernel, int(axis));
          found && !groups.insert(root(*found)).second)
        return true;
    return false;
  }

  // Not where the kernels of two lets have two labels for one.
  bool name_groups() {
    std::set<std::string> taken = labels_of(data_);
    for (const std::string &name : spec::names_of(data_)) taken.insert(name);
    for (const auto &[member, above] : parents_)
      if (member.second < 0 && !names_.emplace(root(member), member.first).second) return false;
    for (std::size_t axis = 0; axis < typed_.axes.size(); ++axis) // as decisions call them
      if (const auto found = member(typed_, int(axis)); found && !typed_.axes[axis].labelled)
        name(*found, "i" + std::to_string(axis), taken);
    for (const std::string &input : lacking_)
      for (std::size_t d = 0; d < declared(input).dims.size(); ++d)
        name({input, int(d)}, spec::own_axis(input, d), taken);
    return true;
  }
  void name(const Member &member, const std::string &wanted, std::set<std::string> &taken) {
    std::string &known = names_[root(member)];
    if (known.empty()) known = support::fresh_name(wanted, taken);
  }

  const InputDecl &declared(const std::string &input) const {
    return **std::ranges::find_if(
        data_.inputs, [&](const auto &decl) { return !decl->window && decl->name == input; });
  }

  std::shared_ptr<const InputDecl> with_labels(const std::string &input) const {
    auto made = std::make_shared<InputDecl>(declared(input));
    made->placement = Placement::ByOrder;
    made->axes.clear();
    for (std::size_t d = 0; d < made->dims.size(); ++d) {
      const Member dim{input, int(d)};
      const bool meets = sizes_.contains(root(dim));
      made->dims[d].label = names_.at(root(dim));
      const bool is_open = made->dims[d].extent == -1 && meets && may_stretch_.contains(dim);
      if (is_open && stretch_ == Stretch::Kept) made->dims[d].extent = expr::may_be_one;
    }
    return made;
  }

  // Of the axes that positions count.
  std::vector<std::string> labels(const spec::TypedSpec &kernel) const {
    std::vector<std::string> labels;
    for (std::size_t axis = 0; axis < kernel.axes.size(); ++axis)
      if (!kernel.axes[axis].implied) labels.push_back(name_of(kernel, int(axis)));
    return labels;
  }
  std::string name_of(const spec::TypedSpec &kernel, int axis) const {
    const spec::Axis &known = kernel.axes[std::size_t(axis)];
    if (known.labelled) return known.name;
    const auto found = member(kernel, axis);
    return found ? names_.at(root(*found)) : known.name;
  }

  std::string name_in(std::size_t output, int axis) {
    const auto own = apart_.find({meetings_.value(typed_.outputs[output].value), axis});
    return own == apart_.end() ? name_of(typed_, axis) : names_.at(root(own->second));
  }

  // The axes of outputs come as they did.
  void keep_order(SpecData &made) {
    const spec::TypedSpec now = analysis::analyse(made);
    for (std::size_t k = 0; k < made.outputs.size(); ++k) {
      AxisNames before, after;
      for (const int axis : typed_.outputs[k].axes) before.push_back(name_in(k, axis));
      for (const int axis : now.outputs[k].axes) after.push_back(now.axes[std::size_t(axis)].name);
      if (before == after) continue;
      made.outputs[k].has_axes = true;
      made.outputs[k].axes.assign(before.begin(), before.end());
    }
  }

  const SpecData &data_;
  const Stretch stretch_;
  const spec::TypedSpec typed_;
  const std::optional<spec::Split> split_;
  Meetings meetings_;
  const bool counts_; // axes by their numbers, which are those of the kernel
  Apart apart_;
  std::set<std::string> lacking_; // inputs that get labels
  std::set<Member> may_stretch_;
  std::map<Member, Member> parents_;
  std::map<Member, std::size_t> sizes_; // by the first of a group: how often one met another
  std::map<Member, std::string> names_; // by the first of a group
};

} // namespace

bool counts_axes(const SpecData &kernel) {
  bool counts = std::ranges::any_of(
      kernel.outputs, [](const OutputDecl &output) { return has_number(output.axes); });
  spec::for_each_node(kernel, [&](const ExprNode &node) {
    counts = counts || (node.kind != ExprKind::Join && has_number(node.axes));
  });
  return counts;
}

std::optional<SpecData> labelled(const SpecData &data, Stretch stretch) {
  return Labeller(data, stretch).run();
}

} // namespace broadloom::grad
