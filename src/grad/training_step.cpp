// A step of training as one kernel: the loss, its gradient by the states, and what a rule makes of
// both.
//
//   kernel net {                                kernel net_step {
//     in    x : f32[n, p]                         in    x : f32[n, p]
//     state w : f32[p]                            state w : f32[p]
//     out loss = mean(square(sum(x * w, p)))      let d_w = sum(.., like=w)
//   }                                             out loss = ..
//                                                 update w = w - 0.1 * d_w
#include "analysis/analyse.hpp"
#include "facts/terms.hpp"
#include "grad/modes.hpp"
#include "spec/cut.hpp"
#include "spec/declared.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"

#include <broadloom/gradient.hpp>

#include <algorithm>

namespace broadloom {

namespace {

using support::fail;
using Decls = std::vector<std::shared_ptr<const InputDecl>>;

bool is_moved(const InputDecl &decl) {
  return decl.role == InputRole::state && !decl.window &&
         (is_float(decl.dtype) || is_complex(decl.dtype));
}

// The loss changes by 1 with itself: the cotangent that the gradient declares is a number here.
void seed_by_one(SpecData &data, const Decls &before) {
  const auto is_new = [&](const std::shared_ptr<const InputDecl> &decl) {
    return !decl->window &&
           std::ranges::none_of(before, [&](const auto &old) { return old->name == decl->name; });
  };
  const auto cotangent = std::ranges::find_if(data.inputs, is_new);
  if (cotangent == data.inputs.end()) return; // nothing flows back
  const InputDecl &seed = **cotangent;
  const Expr value = make_cast(seed.dtype, facts::Terms(seed.where).num(1), seed.where);
  data = spec::filled(data, seed.name, value);
}

// The dtypes that the values have by themselves.
std::vector<DType> own_dtypes(SpecData data) {
  for (OutputDecl &output : data.outputs)
    if (!output.update) output.dtype.reset();
  std::vector<DType> dtypes;
  for (const spec::TypedOutput &output : analysis::analyse(data).outputs)
    dtypes.push_back(output.dtype);
  return dtypes;
}

} // namespace

LoopSpec training_step(const LoopSpec &spec, const std::string &loss, const UpdateRule &rule) try {
  const support::FloatWorld world;
  const Decls before = spec::declared_inputs(spec.data());
  std::vector<std::string> moved;
  for (const auto &decl : before)
    if (is_moved(*decl)) moved.push_back(decl->name);
  if (moved.empty())
    fail("E0045", "kernel '" + spec.data().name + "' has no state to train", spec.data().where,
         "declare what the loss is to be made small by: state w : f32[i]");
  const LoopSpec derived = gradient(spec, moved, {.of = {loss}, .value = true});
  const spec::TypedSpec typed = analysis::analyse(spec.data());
  for (const spec::TypedOutput &output : typed.outputs)
    if (output.name == loss && !output.update && !output.axes.empty())
      fail("E0045",
           "the loss '" + loss + "' has " + std::to_string(output.axes.size()) +
               (output.axes.size() == 1 ? " axis" : " axes"),
           output.where, "fold it to one number, as by mean(..)");

  SpecData data = derived.data();
  data.name = spec.data().name == "kernel" ? "kernel" : spec.data().name + "_step";
  seed_by_one(data, before);
  const std::vector<DType> own = own_dtypes(data);
  const std::size_t values = data.outputs.size() - moved.size();
  std::vector<Expr> gradients;
  for (std::size_t k = values; k < data.outputs.size(); ++k) {
    const OutputDecl &output = data.outputs[k];
    const Expr whole = grad::without_mode(output);
    const Expr value =
        own[k] == *output.dtype ? whole : make_cast(*output.dtype, whole, output.where);
    gradients.push_back(make_let(output.name, value, output.where));
    data.lets.push_back(gradients.back());
  }
  data.outputs.resize(values);
  LoopSpec step(std::make_shared<const SpecData>(std::move(data)));
  for (std::size_t k = 0; k < moved.size(); ++k) {
    const auto &decl = *std::ranges::find(before, moved[k], [](const auto &d) { return d->name; });
    rule(step, make_input(decl, decl->where), gradients[k]);
  }
  return step;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom
