// Building a kernel ahead of time: see include/broadloom/build.hpp and jit/cache/built_code.hpp.
//
// Each call that is listed is planned, as by Kernel::prepare, for each target, and the code of its
// programs is kept. Extents that may be any have many values, and so do threads: what plans choose
// by size are a few programs.
#include "jit/ahead/build.hpp"

#include "array/layout.hpp"
#include "array/pending.hpp"
#include "jit/cache/built_code.hpp"
#include "jit/call/choose_call.hpp"
#include "jit/call/kernel.hpp"
#include "jit/call/run_call.hpp"
#include "jit/native/data_object.hpp"
#include "jit/native/target.hpp"
#include "kernel/layouts.hpp"
#include "support/fail.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"

#include <broadloom/version.hpp>

#include <algorithm>
#include <exception>

namespace broadloom {
namespace {

using jit::BuiltCode;
using jit::ListedCall;
using jit::ListedOperand;

// What stands for any extent, by how many axes may have any: short and long, within each cache and
// beyond them all.
std::vector<std::int64_t> extents_for(std::size_t axes) {
  if (axes <= 1) return {3, 40, 150, 600, 3'000, 20'000, 200'000, 700'000, 3'000'000, 50'000'000};
  if (axes == 2) return {3, 40, 200, 600, 3'000, 20'000, 300'000};
  if (axes == 3) return {3, 40, 300, 4'000};
  return {4, 300};
}
constexpr std::size_t most_axes_apart = 6; // the others have the extents of the last
constexpr std::int64_t usual_extent = 40;
constexpr int thread_counts[] = {1, 8, 64};

class Builder {
public:
  explicit Builder(const KernelImpl &kernel) : kernel_(kernel), typed_(kernel.typed()) {}

  // All programs of the call, but the generic ones; of any extents, where it says so.
  void add(const ListedCall &call) {
    const std::vector<std::int64_t> extents = extents_said(call);
    std::vector<std::size_t> any;
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
      if (extents[axis] < 0 && is_of_input(axis)) any.push_back(axis);
    const std::vector<std::int64_t> values = extents_for(any.size());
    const std::size_t apart = std::min(any.size(), most_axes_apart);
    std::vector<std::size_t> chosen(apart);
    bool some = false;
    std::exception_ptr failure;
    while (true) {
      std::vector<std::int64_t> all = extents;
      for (std::size_t k = 0; k < any.size(); ++k)
        all[any[k]] = values[chosen[std::min(k, apart - 1)]];
      try {
        add(call, all);
        some = true;
      } catch (const ShapeError &) { // windows want more room, say
        failure = std::current_exception();
      }
      std::size_t k = 0;
      while (k < apart && ++chosen[k] == values.size()) chosen[k++] = 0;
      if (k == apart) break;
    }
    if (!some) std::rethrow_exception(failure);
  }

  // The generic programs, which fit all layouts: they hang on what is folded, and where neighbours
  // lie side by side.
  void add_generic(ListedCall call) {
    if (!plan::has_generic(typed_)) return;
    const std::size_t inputs = typed_.callers().size();
    enum Order : std::uint8_t { C, Fortran, Apart, Count };
    std::vector<std::uint8_t> orders(inputs);
    std::vector<std::int64_t> extents = extents_said(call);
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
      if (extents[axis] < 0) extents[axis] = usual_extent + 10 * std::int64_t(axis);
    constexpr int most = 243; // three orders of five inputs
    for (int tried = 0; tried < most; ++tried) {
      for (std::size_t i = 0; i < inputs; ++i) {
        call.operands[i].strides.clear();
        call.operands[i].is_fortran = orders[i] == Fortran;
        call.operands[i].is_apart = orders[i] == Apart;
      }
      try {
        add(call, extents);
      } catch (const ShapeError &) { // where windows are
      }
      std::size_t i = 0;
      while (i < inputs && ++orders[i] == Count) orders[i++] = C;
      if (i == inputs) break;
    }
  }

private:
  // [axis]: what the line or the kernel says, but 1, which may stretch; else -1.
  std::vector<std::int64_t> extents_said(const ListedCall &call) const {
    std::vector<std::int64_t> extents(typed_.axes.size(), -1);
    std::size_t i = 0;
    for (const spec::TypedInput &input : typed_.callers()) {
      const ListedOperand &operand = call.operands[i++];
      for (std::size_t d = 0; d < operand.extents.size(); ++d) {
        const std::int64_t said = operand.extents[d] >= 0 ? operand.extents[d] : input.extents[d];
        if (said >= 0 && said != 1) extents[std::size_t(input.axis_of_dim[d])] = said;
      }
    }
    return extents;
  }

  bool is_of_input(std::size_t axis) const {
    return std::ranges::any_of(typed_.callers(), [&](const spec::TypedInput &input) {
      return std::ranges::find(input.axis_of_dim, int(axis)) != input.axis_of_dim.end();
    });
  }

  static Layout layout_of(std::span<const std::int64_t> shape, const ListedOperand &operand) {
    if (!operand.strides.empty()) return strided_layout(shape, operand.strides);
    const Layout layout =
        operand.is_fortran ? array::fortran_layout(shape) : contiguous_layout(shape);
    if (!operand.is_apart) return layout;
    std::vector<std::int64_t> apart;
    for (const std::int64_t stride : layout.steps()) apart.push_back(5 * stride);
    return strided_layout(shape, apart);
  }

  void add(const ListedCall &call, const std::vector<std::int64_t> &extents) {
    std::vector<AnyView> inputs;
    std::size_t i = 0;
    for (const spec::TypedInput &input : typed_.callers()) {
      const ListedOperand &operand = call.operands[i++];
      std::vector<std::int64_t> shape = operand.extents;
      for (std::size_t d = 0; d < shape.size(); ++d)
        if (shape[d] < 0)
          shape[d] =
              input.extents[d] >= 0 ? input.extents[d] : extents[std::size_t(input.axis_of_dim[d])];
      inputs.push_back({input.dtype, nullptr, false, layout_of(shape, operand)});
    }
    // An output that lends its extents to what is written at positions has any.
    const bool lends = typed_.lent_input() != nullptr;
    const kernel::Layouts allocated = lends ? kernel::Layouts() : kernel_.allocated_layouts(inputs);
    std::vector<AnyView> as_allocated, listed;
    bool same = true;
    for (std::size_t o = 0; o < typed_.outputs.size(); ++o) {
      const ListedOperand &operand = call.operands[i + o];
      std::vector<std::int64_t> shape = operand.extents;
      for (std::size_t d = 0; d < shape.size(); ++d)
        if (shape[d] < 0) shape[d] = lends ? usual_extent : allocated.outputs[o].extents[d];
      listed.push_back({typed_.outputs[o].dtype, nullptr, true, layout_of(shape, operand)});
      as_allocated.push_back(listed.back());
      if (!lends) as_allocated.back().layout = allocated.outputs[o];
      same = same &&
             std::ranges::equal(listed.back().layout.steps(), as_allocated.back().layout.steps());
    }
    prepare(call, inputs, listed);
    if (!same) prepare(call, inputs, as_allocated);
  }

  void prepare(const ListedCall &call, const std::vector<AnyView> &inputs,
               const std::vector<AnyView> &outputs) const {
    std::vector<const AnyView *> operands = kernel::pointers_to(inputs);
    for (std::size_t o = 0; o < outputs.size(); ++o)
      operands.push_back(call.operands[inputs.size() + o].is_wanted ? &outputs[o] : nullptr);
    jit::prepare_call(*jit::choose_call(kernel_.nests(), operands, {}, jit::Purpose::Run));
  }

  const KernelImpl &kernel_;
  const spec::TypedSpec &typed_;
};

} // namespace

BuiltKernel build(const LoopSpec &spec, const BuildOptions &options) try {
  BuiltKernel made;
  made.name = options.name.empty() ? spec.data().name : options.name;
  if (!support::is_identifier(made.name))
    support::fail("E0071", "'" + made.name + "' is no name in C", {},
                  "take letters, digits and '_', and no digit first");
  made.targets = options.targets;
  if (made.targets.empty()) made.targets = jit::targets_to_build(false);
  const std::uint16_t machine = jit::machine_to_build(made.targets);
  // What `load` is going to read.
  const std::string text = print(spec);
  const LoopSpec again = parse(text, {}, made.name + ".loom");
  const auto built = std::make_shared<BuiltCode>(text, jit::runtime::caches());
  const auto each_call = [&](const std::string &target, int threads, auto add) {
    const auto kernel =
        detail::make_kernel(again, {.threads = threads, .target = target}, {}, built);
    for (const ListedCall &call :
         jit::parse_layouts(kernel->typed(), options.layouts, options.layouts_file))
      add(Builder(*kernel), call);
  };
  for (const std::string &target : made.targets)
    for (const int threads : thread_counts)
      each_call(target, threads,
                [](Builder builder, const ListedCall &call) { builder.add(call); });
  built->want_generic();
  for (const std::string &target : made.targets)
    each_call(target, 1,
              [](Builder builder, const ListedCall &call) { builder.add_generic(call); });
  for (const std::string &target : made.targets)
    made.programs.push_back(built->count(jit::target_to_build(target).vector_bits()));
  made.data = built->bytes();
  made.object = jit::data_object(made.name, made.data, machine);
  made.header = jit::c_header(made, load(made.data, {.engine = Engine::interpreter}));
  made.pkg_config = "Name: " + made.name +
                    "\nDescription: a kernel that Broadloom has built ahead of time\n"
                    "Version: " BROADLOOM_VERSION "\nRequires: broadloom\n"
                    "Cflags: -I${pcfiledir}\nLibs: ${pcfiledir}/"; // `write` adds the file
  return made;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

void write(const BuiltKernel &built, const std::string &path) {
  const std::size_t folder = path.rfind('/') + 1;
  std::vector<array::PendingFile> files;
  for (const auto &[ending, content] :
       {std::pair(".o", built.object), std::pair(".h", built.header),
        std::pair(".pc", built.pkg_config + path.substr(folder) + ".o\n")}) {
    files.emplace_back(path + ending);
    files.back().write(content.data(), content.size());
  }
  for (array::PendingFile &file : files) file.commit();
}

Kernel load(std::string_view data, const Options &options) {
  const std::shared_ptr<BuiltCode> built = BuiltCode::read(data);
  return Kernel(detail::make_kernel(parse(built->text(), {}, "<built>"), options, {}, built));
}

} // namespace broadloom
