// See sub_kernels.hpp.
#include "jit/call/sub_kernels.hpp"

#include "jit/call/kernel.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"

namespace broadloom::jit {
namespace {

// What looks at the steps of a call, to explain them, looks at all arrays as they are.
Lets::Keeps kept_of_loops(const Options &options) {
  if (options.engine == Engine::reference) return Lets::Keeps::All;
  return options.debug == Debug::none ? Lets::Keeps::Checkpoints : Lets::Keeps::LastRows;
}

} // namespace

SubKernels::SubKernels(const KernelImpl &kernel)
    : kernel_(kernel), lets_(kernel.setup().whole(), kept_of_loops(kernel.setup().options),
                             number_in("BROADLOOM_LOOP_BYTES", std::int64_t(256) << 20),
                             [&](const std::shared_ptr<const spec::Materialised> &let) {
                               const std::shared_ptr<const SpecData> data(let, &let->data);
                               return make(LoopSpec(data), let->typed, kernel.setup().options);
                             }),
      before_(kernel.setup().scatters ? make(kernel.setup().spec, kernel.setup().scatters->before,
                                             kernel.setup().options)
                                      : nullptr),
      parts_(kernel.setup().by_parts.size()) {}

std::shared_ptr<const KernelImpl> SubKernels::make(const LoopSpec &spec, spec::TypedSpec typed,
                                                   const Options &options) const {
  const Setup &setup = kernel_.setup();
  return std::make_shared<const KernelImpl>(spec, std::move(typed), options, setup.target,
                                            setup.profile, setup.threads, 0, setup.built,
                                            setup.device);
}

const KernelImpl &SubKernels::of_part(const kernel::PartId &id) const {
  if (id.kind == kernel::PartKind::Whole) return kernel_;
  const Setup &setup = kernel_.setup();
  const std::lock_guard lock(mutex_);
  const bool inside = id.kind == kernel::PartKind::Interior;
  std::shared_ptr<const KernelImpl> &made =
      inside ? parts_[id.group].interior : parts_[id.group].border;
  const kernel::ByParts &group = setup.by_parts[id.group];
  if (!made) made = make(setup.spec, inside ? group.interior : group.border, setup.options);
  return *made;
}

std::shared_ptr<const FoldBlocks> SubKernels::fold_blocks(const std::string &axis) const {
  const Setup &setup = kernel_.setup();
  setup.refuse_on_device("folds of blocks of data");
  if (setup.engine == Engine::reference)
    support::fail("E0060",
                  "kernel '" + setup.typed.name +
                      "' runs in the reference, which has no tree of folds",
                  {}, "compile it for another engine");
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = fold_blocks_.find(axis); it != fold_blocks_.end()) return it->second;
  }
  const support::FloatWorld world;
  Options of_blocks = setup.options; // their states may be anything
  of_blocks.debug = setup.options.debug & (Debug::interpreter | Debug::memory);
  auto made = std::make_shared<const FoldBlocks>(
      rewrite::with_walked_dims(setup.whole()), axis,
      [&](spec::TypedSpec typed) { return make(setup.spec, std::move(typed), of_blocks); });
  const std::lock_guard lock(mutex_);
  return fold_blocks_.emplace(axis, std::move(made)).first->second;
}

std::vector<const KernelImpl *> SubKernels::all() const {
  std::vector<const KernelImpl *> all{before_.get()};
  for (const auto &let : lets_.kernels()) all.push_back(let.get());
  const std::lock_guard lock(mutex_);
  for (const Parts &parts : parts_)
    all.insert(all.end(), {parts.border.get(), parts.interior.get()});
  std::erase(all, nullptr);
  return all;
}

} // namespace broadloom::jit
