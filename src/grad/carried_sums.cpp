// What the steps of a loop send to an input that has no axis of steps, added up while the loop goes
// back (GradientOptions::carry):
//
//   let s_v[t, k, i] = s_v[t + 1, k, i] + sum(d_h[t, n, i] * h_1[t, n, k], n)
//   out d_v = sum(s_v[0, k, i], like=v)
//
// in place of sum(d_h * h_1, like=v) over all steps at once, for which all of them have to be kept.
#include "facts/terms.hpp"
#include "grad/through_loop.hpp"

namespace broadloom::grad {

// The input with its dims as axes, where all have labels and none is the axis of steps.
std::shared_ptr<const InputDecl> ThroughLoop::carried_input(std::size_t m,
                                                            const std::string &name) const {
  const Member &member = members_[m];
  for (const auto &input : member.step.inputs) {
    if (input->name != name || input->window || input->materialised) continue;
    for (const Dim &dim : input->dims)
      if (dim.label.empty() || dim.label == member.axes[time(m)] ||
          std::ranges::count(input->dims, dim.label, &Dim::label) > 1)
        return nullptr;
    auto decl = std::make_shared<InputDecl>(*input);
    if (decl->dtype == DType::F16 || decl->dtype == DType::BF16) // a sum of many
      decl->dtype = DType::F32;
    return decl;
  }
  return nullptr;
}

// Is there a sum over all steps in it already, as in sum(d_h * h_1, t) * 2 * c? A step alone has no
// such sum.
static bool adds_steps(const Expr &part, const std::string &step) {
  bool adds = false;
  expr::Walker().walk(part.node(), [&](const ExprNode &node) {
    if (node.kind != ExprKind::Fold) return;
    adds = adds || node.axes.empty() || std::ranges::any_of(node.axes, [&](const AxisRef &axis) {
             const auto *label = std::get_if<std::string>(&axis.value());
             return label == nullptr || *label == step;
           });
  });
  return adds;
}

// From the outputs of the gradient of all steps to lets that go along with them; false where it
// stays an output.
bool ThroughLoop::carry(std::size_t m, std::size_t output) {
  Member &member = members_[m];
  const std::string &name = member.names[output];
  const Place &where = member.node->where;
  Read into;
  into.by = into.of = m;
  into.input = carried_input(m, name);
  into.where = where;
  const auto parts = sums_like(member.pulled.outputs[output].value, name);
  const std::string &step = member.axes[time(m)];
  const auto stays = [&](const Expr &part) { return holds_scan(part) || adds_steps(part, step); };
  if (!into.input || !parts || std::ranges::any_of(*parts, stays)) return false;
  into.axes.push_back(step);
  for (const Dim &dim : into.input->dims) into.axes.push_back(dim.label);
  const Expr sent = sent_parts(into, member, output, *parts);
  if (!sent.node()) return false;
  const std::string let_name = all_.fresh("s_" + name);
  std::vector<AffineForm> forms = spec::along(into.axes), last = forms;
  forms[0].constant = backwards() ? -1 : 1;
  last[0] = {backwards() ? -1 : 0, {}, {}};
  const Expr ahead = make_ahead(let_name, where);
  const Expr before = make_window(ahead, std::move(forms), where);
  Expr sum = facts::Terms(where).add(before, in_this_kernel(m, sent));
  LetLoop loop;
  if (member.to_one_step.node()) {
    loop.count = recurrence(m).steps;
    loop.counted_dim = 0;
  }
  const Expr let = make_let(let_name, sum, where, listed(into.axes), loop);
  all_.cotangents_.push_back(let);
  OutputDecl made = member.pulled.outputs[output];
  FoldUse use;
  use.like = {name};
  const Expr all = make_window(let, std::move(last), where);
  made.value = make_fold(use, {all}, {}, where);
  const auto [known, fresh] = all_.into_.try_emplace(name, made);
  if (!fresh)
    known->second.value = facts::Terms(known->second.where).add(known->second.value, made.value);
  return true;
}

} // namespace broadloom::grad
