// See labels.hpp. Dims that lie on one axis of the kernel, or of the kernel of a let, form a group,
// which has the label of that axis or gets one.
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
#include <set>

namespace broadloom::grad {
namespace {

bool has_number(const std::vector<AxisRef> &axes) {
  return std::ranges::any_of(
      axes, [](const AxisRef &axis) { return std::holds_alternative<int>(axis.value()); });
}

class Labeller {
public:
  Labeller(const SpecData &data, Stretch stretch)
      : data_(data), stretch_(stretch), typed_(analysis::analyse(data)),
        split_(spec::split_lets(data, analysis::analyse)) {}

  std::optional<SpecData> run() {
    std::vector<const spec::TypedSpec *> kernels{&typed_};
    if (split_)
      for (const auto &let : split_->lets) kernels.push_back(&let->typed);
    for (const spec::TypedSpec *kernel : kernels) find_groups(*kernel);
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

  static bool lacks_labels(const spec::TypedInput &input) {
    return !input.labelled && !input.window && !input.in_windows_only && !input.materialised &&
           !input.axis_of_dim.empty() && !input.is_lent();
  }

  // A member of the group of an axis; none of what only positions read.
  static std::optional<Member> member(const spec::TypedSpec &kernel, int axis) {
    const spec::Axis &known = kernel.axes[std::size_t(axis)];
    if (known.labelled) return Member{known.name, -1};
    for (const spec::TypedInput &input : kernel.inputs)
      for (std::size_t d = 0; lacks_labels(input) && d < input.axis_of_dim.size(); ++d)
        if (input.axis_of_dim[d] == axis) return Member{input.name, int(d)};
    return std::nullopt;
  }

  void find_groups(const spec::TypedSpec &kernel) {
    for (const spec::TypedInput &input : kernel.inputs) {
      if (!lacks_labels(input)) continue;
      lacking_.insert(input.name);
      for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d) {
        const Member dim{input.name, int(d)};
        if (const Member other = *member(kernel, input.axis_of_dim[d]); other != dim)
          unite(dim, other);
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
    for (const std::string &name : names_of(data_)) taken.insert(name);
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

  // The axes of outputs come as they did.
  void keep_order(SpecData &made) const {
    const spec::TypedSpec now = analysis::analyse(made);
    for (std::size_t k = 0; k < made.outputs.size(); ++k) {
      AxisNames before, after;
      for (const int axis : typed_.outputs[k].axes) before.push_back(name_of(typed_, axis));
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
