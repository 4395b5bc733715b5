// The C interface (include/broadloom.h) by the C++ one. No exception leaves it.
#include <broadloom.h>

#include <broadloom/arena.hpp>
#include <broadloom/broadloom.hpp>
#include <broadloom/build.hpp>
#include <broadloom/interop/dlpack.hpp>
#include <broadloom/version.hpp>

#include "support/undivided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <vector>

namespace bl = broadloom;

static_assert(BL_MAX_RANK == bl::max_rank);
static_assert(int(BL_C128) == int(bl::DType::C128) && int(BL_F32) == int(bl::DType::F32) &&
              int(BL_U8) == int(bl::DType::U8) && bl::dtype_count == BL_C128 + 1);
static_assert(int(BL_REFERENCE) == int(bl::Engine::reference) &&
              int(BL_TIERED) == int(bl::Engine::tiered) && int(BL_JIT) == int(bl::Engine::jit));

namespace {

// An operand as the caller sees it: pointers into the strings of a kernel.
struct Operand {
  std::string name;
  std::vector<std::string> axes;
  std::vector<std::int64_t> extents;
  std::vector<const char *> axis_names = {};
  bl_operand seen = {};

  void point() {
    for (const std::string &axis : axes) axis_names.push_back(axis.c_str());
    seen.name = name.c_str();
    seen.axes = axis_names.data();
    seen.extents = extents.empty() ? nullptr : extents.data();
    seen.rank = std::int32_t(axes.size());
  }
};

} // namespace

struct bl_kernel {
  bl::Kernel kernel;
  std::vector<Operand> inputs, outputs;
  bl_kernel **handle = nullptr; // where bl_load_once keeps it

  explicit bl_kernel(bl::Kernel made) : kernel(std::move(made)) {
    for (const bl::InputInfo &input : kernel.inputs()) {
      Operand &operand = inputs.emplace_back(Operand{input.name, input.axes, input.extents});
      operand.seen.dtype = std::int32_t(input.dtype);
      operand.seen.is_param = input.role == bl::InputRole::parameter;
    }
    for (const bl::OutputInfo &output : kernel.outputs()) {
      Operand &operand = outputs.emplace_back(Operand{output.name, output.axes, {}});
      operand.seen.dtype = std::int32_t(output.dtype);
      operand.seen.adds = output.add;
    }
    for (Operand &operand : inputs) operand.point(); // they stay where they are now
    for (Operand &operand : outputs) operand.point();
  }
};

// A handle that bl_load_once keeps is no longer there.
static void forget(bl_kernel &kernel) {
  if (kernel.handle != nullptr) {
    bl_kernel *self = &kernel;
    std::atomic_ref(*kernel.handle).compare_exchange_strong(self, nullptr);
  }
}

struct bl_bound {
  bl::BoundCall call;
};
static void forget(bl_bound &) {}

namespace {

// The latest error of a thread.
struct Latest {
  std::string code, message, help, text;
  bl_error seen{BL_OK, "", "", "", "", 0, 0};

  bl_status set(bl_status status, std::string new_code, std::string new_message,
                std::string new_help, std::string new_text, const bl::Place &where = {}) {
    code = std::move(new_code);
    message = std::move(new_message);
    help = std::move(new_help);
    text = std::move(new_text);
    seen = {status,
            code.c_str(),
            message.c_str(),
            help.c_str(),
            text.c_str(),
            std::int32_t(where.line),
            std::int32_t(where.column)};
    return status;
  }
  bl_status no_memory() noexcept {
    constexpr const char *what = "no memory is left";
    seen = {BL_NO_MEMORY, "", what, "free some, or make the arrays smaller", what, 0, 0};
    return BL_NO_MEMORY;
  }
};
thread_local Latest latest;

struct BadArgument {
  std::string message, help;
};

bl_status status_of(const bl::Error &error) {
  if (dynamic_cast<const bl::SpecError *>(&error) != nullptr) return BL_SPEC_ERROR;
  if (dynamic_cast<const bl::ShapeError *>(&error) != nullptr) return BL_SHAPE_ERROR;
  if (dynamic_cast<const bl::DTypeError *>(&error) != nullptr) return BL_DTYPE_ERROR;
  if (dynamic_cast<const bl::DataError *>(&error) != nullptr) return BL_DATA_ERROR;
  if (dynamic_cast<const bl::CompileError *>(&error) != nullptr) return BL_COMPILE_ERROR;
  return BL_INTERNAL_ERROR;
}

template <class Do> bl_status guarded(const Do &what) noexcept {
  try {
    try {
      what();
      return BL_OK;
    } catch (const BadArgument &bad) {
      return latest.set(BL_BAD_ARGUMENT, "", bad.message, bad.help,
                        fmt::format("broadloom: {}\n  help: {}\n", bad.message, bad.help));
    } catch (const bl::Error &error) {
      return latest.set(status_of(error), error.code(), error.message(), error.help(),
                        error.render() + "\n", error.where());
    } catch (const std::bad_alloc &) {
      return latest.no_memory();
    } catch (const std::exception &error) {
      return latest.set(BL_INTERNAL_ERROR, "E0901", error.what(),
                        "this is a bug in Broadloom: please report it",
                        std::string(error.what()) + "\n");
    }
  } catch (const std::bad_alloc &) { // while the error was told
    return latest.no_memory();
  }
}

// Handles that are alive, so that one that is freed twice is found.
class Handles {
public:
  template <class T> T *add(std::unique_ptr<T> made) {
    const std::lock_guard lock(mutex_);
    alive_.insert(made.get());
    return made.release();
  }
  template <class T> void free(T *handle, const char *name) {
    if (handle == nullptr) return;
    {
      const std::lock_guard lock(mutex_);
      if (alive_.erase(handle) == 0)
        throw BadArgument{fmt::format("'{}' is no handle, or was freed before", name),
                          "free what a function of Broadloom gave, once"};
    }
    forget(*handle);
    delete handle;
  }

private:
  std::mutex mutex_;
  std::set<const void *> alive_;
};
Handles &handles() {
  static Handles *const all = new Handles; // who ends the process may free handles still
  return *all;
}

template <class T> T &given(T *pointer, const char *name) {
  if (pointer == nullptr)
    throw BadArgument{fmt::format("'{}' is null", name), "give a pointer, as broadloom.h says"};
  return *pointer;
}

bl::AnyView any_view(const bl_view &view, const char *what, std::size_t index, bool is_output) {
  if (is_output && view.data == nullptr) return {};
  const auto bad = [&](const std::string &why, const std::string &help) {
    return BadArgument{fmt::format("{} {}: {}", what, index, why), help};
  };
  if (view.dtype < 0 || view.dtype >= bl::dtype_count)
    throw bad(fmt::format("{} is no dtype", view.dtype), "take one of bl_dtype");
  if (view.rank < 0 || view.rank > BL_MAX_RANK)
    throw bad(fmt::format("its rank is {}", view.rank), fmt::format("0 to {}", int(BL_MAX_RANK)));
  if (view.rank > 0 && view.extents == nullptr)
    throw bad("its extents are null", "give an extent for each dim");
  const auto rank = std::size_t(view.rank);
  bl::AnyView made;
  made.dtype = bl::DType(view.dtype);
  made.data = view.data;
  made.writable = is_output;
  const std::span shape(view.extents, rank);
  made.layout = view.strides != nullptr ? bl::strided_layout(shape, std::span(view.strides, rank))
                                        : bl::contiguous_layout(shape);
  return made;
}

std::vector<bl::AnyView> any_views(const bl_view *views, std::size_t count, const char *what,
                                   bool is_output) {
  if (count > 0) given(views, is_output ? "outputs" : "inputs");
  std::vector<bl::AnyView> made;
  made.reserve(count);
  for (std::size_t k = 0; k < count; ++k) made.push_back(any_view(views[k], what, k, is_output));
  return made;
}

std::vector<std::string> words(const char *const *names, std::size_t count, const char *what) {
  if (count > 0) given(names, what);
  std::vector<std::string> made;
  for (std::size_t k = 0; k < count; ++k) made.emplace_back(&given(names[k], what));
  return made;
}

// What `run` and `bind` take: outputs that are not wanted are those that have no name there.
template <class Call, class Named>
auto called(const bl_kernel &kernel, const std::vector<bl::AnyView> &inputs,
            const std::vector<bl::AnyView> &outputs, const Call &all, const Named &some) {
  const auto wanted = [](const bl::AnyView &view) { return view.data != nullptr; };
  if (std::ranges::all_of(outputs, wanted) || inputs.size() != kernel.inputs.size() ||
      outputs.size() != kernel.outputs.size())
    return all();
  std::vector<bl::NamedView> from, to;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    from.emplace_back(kernel.inputs[k].name, inputs[k]);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (wanted(outputs[k])) to.emplace_back(kernel.outputs[k].name, outputs[k]);
  return some(from, to);
}

void run(const bl_kernel *kernel, const bl_view *inputs, std::size_t input_count,
         const bl_view *outputs, std::size_t output_count) {
  const bl::Kernel &of = given(kernel, "kernel").kernel;
  const std::vector<bl::AnyView> from = any_views(inputs, input_count, "input", false),
                                 to = any_views(outputs, output_count, "output", true);
  called(
      *kernel, from, to, [&] { of.run(from, to, bl::Kernel::Line()); },
      [&](const auto &ins, const auto &outs) { of.run_named(ins, outs, bl::Kernel::Line()); });
}

bl::Options options_of(const bl_options *options) {
  bl::Options made;
  if (options == nullptr) return made;
  if (options->size < sizeof(bl_options)) // of a header before this one there is none
    throw BadArgument{fmt::format("'options' has a size of {}", options->size),
                      "begin with BL_DEFAULT_OPTIONS"};
  if (options->engine < 0 || options->engine > BL_TIERED)
    throw BadArgument{fmt::format("{} is no engine", options->engine), "take one of bl_engine"};
  made.threads = options->threads;
  made.engine = bl::Engine(options->engine);
  if (options->target != nullptr) made.target = options->target;
  if (options->cache_dir != nullptr) made.cache_dir = options->cache_dir;
  return made;
}

void give(bl::Kernel kernel, bl_kernel **to) {
  *to = handles().add(std::make_unique<bl_kernel>(std::move(kernel)));
}

bl_status operand_at(const std::vector<Operand> bl_kernel::*list, const bl_kernel *kernel,
                     std::size_t index, bl_operand *operand) {
  return guarded([&] {
    const std::vector<Operand> &all = given(kernel, "kernel").*list;
    given(operand, "operand");
    if (index >= all.size())
      throw BadArgument{fmt::format("there is no operand {}", index),
                        fmt::format("the kernel has {}, counted from 0", all.size())};
    *operand = all[index].seen;
  });
}

struct StageName {
  const char *name;
  bl::Stage stage;
};
constexpr StageName stage_names[] = {
    {"spec", bl::Stage::spec},    {"folded", bl::Stage::folded}, {"axes", bl::Stage::axes},
    {"graph", bl::Stage::graph},  {"call", bl::Stage::call},     {"plan", bl::Stage::plan},
    {"loop", bl::Stage::loop},    {"block", bl::Stage::block},   {"llvm", bl::Stage::llvm},
    {"asm", bl::Stage::assembly}, {"why", bl::Stage::why},       {"why-json", bl::Stage::why}};

} // namespace

extern "C" {

uint32_t bl_abi_version(void) { return BL_ABI_VERSION; }
const char *bl_version(void) { return BROADLOOM_VERSION; }
const bl_error *bl_latest_error(void) { return &latest.seen; }

const char *bl_dtype_name(bl_dtype dtype) {
  const auto number = int(dtype);
  return number >= 0 && number < bl::dtype_count ? bl::name(bl::DType(number)).data() : nullptr;
}

bl_status bl_view_of_dltensor(const struct DLTensor *tensor, bl_view *view) {
  return guarded([&] {
    given(tensor, "tensor");
    given(view, "view");
    const auto &seen = *reinterpret_cast<const bl::dlpack::Tensor *>(tensor);
    if (seen.ndim < 0 || seen.ndim > BL_MAX_RANK || (seen.ndim > 0 && seen.shape == nullptr))
      throw BadArgument{fmt::format("a tensor of {} dims", seen.ndim),
                        fmt::format("0 to {}, and a shape", int(BL_MAX_RANK))};
    const bl::AnyView made = bl::view_of_dlpack(seen);
    *view = {std::int32_t(made.dtype), std::int32_t(seen.ndim), made.data, seen.shape,
             seen.strides};
  });
}

bl_status bl_compile(const char *text, const bl_options *options, bl_kernel **kernel) {
  return guarded([&] {
    given(text, "text");
    given(kernel, "kernel");
    const bl::Options made = options_of(options);
    const char *file = options != nullptr ? options->file : nullptr;
    const char *which = options != nullptr ? options->kernel : nullptr;
    give(bl::compile(
             bl::parse(text, which != nullptr ? which : "", file != nullptr ? file : "<text>"),
             made),
         kernel);
  });
}

bl_status bl_gradient(const bl_kernel *kernel, const char *const *wrt, size_t count,
                      bl_kernel **gradient) {
  return guarded([&] {
    const bl::Kernel &of = given(kernel, "kernel").kernel;
    given(gradient, "gradient");
    bl::Options options;
    options.threads = of.threads();
    options.engine = of.engine();
    give(bl::compile(bl::gradient(of.spec(), words(wrt, count, "wrt")), options), gradient);
  });
}

bl_status bl_freeze(const bl_kernel *kernel, const char *const *names, const bl_view *values,
                    size_t count, bl_kernel **frozen) {
  return guarded([&] {
    const bl::Kernel &of = given(kernel, "kernel").kernel;
    given(frozen, "frozen");
    const std::vector<std::string> parameters = words(names, count, "names");
    const std::vector<bl::AnyView> views = any_views(values, count, "value", false);
    std::vector<bl::NamedView> named;
    for (std::size_t k = 0; k < count; ++k) named.emplace_back(parameters[k], views[k]);
    give(of.freeze(named), frozen);
  });
}

bl_status bl_free_kernel(bl_kernel *kernel) {
  return guarded([&] { handles().free(kernel, "kernel"); });
}

bl_status bl_load(const void *built, size_t size, const bl_options *options, bl_kernel **kernel) {
  return guarded([&] {
    given(static_cast<const char *>(built), "built");
    given(kernel, "kernel");
    give(bl::load({static_cast<const char *>(built), size}, options_of(options)), kernel);
  });
}

bl_status bl_load_once(const void *built, size_t size, bl_kernel **handle, bl_kernel **kernel) {
  bl_kernel *made = nullptr;
  if (handle != nullptr && kernel != nullptr &&
      (made = std::atomic_ref(*handle).load(std::memory_order_acquire)) != nullptr) {
    *kernel = made;
    return BL_OK;
  }
  return guarded([&] {
    static constinit bl::support::Mutex mutex; // while it is made
    given(static_cast<const char *>(built), "built");
    given(handle, "handle");
    given(kernel, "kernel");
    const bl::support::Undivided here;
    const std::lock_guard lock(mutex);
    const std::atomic_ref place(*handle);
    if ((made = place.load(std::memory_order_acquire)) == nullptr) {
      give(bl::load({static_cast<const char *>(built), size}), &made);
      made->handle = handle;
      place.store(made, std::memory_order_release);
    }
    *kernel = made;
  });
}

bl_status bl_count(const bl_kernel *kernel, bl_counters *counters) {
  return guarded([&] {
    const bl::Counters found = given(kernel, "kernel").kernel.counters();
    if (given(counters, "counters").size < sizeof(bl_counters))
      throw BadArgument{fmt::format("'counters' has a size of {}", counters->size),
                        "set its size to sizeof(bl_counters)"};
    *counters = {counters->size, found.compiles, found.loaded, found.patterns, found.interpreted};
  });
}

size_t bl_input_count(const bl_kernel *kernel) {
  return kernel != nullptr ? kernel->inputs.size() : 0;
}
size_t bl_output_count(const bl_kernel *kernel) {
  return kernel != nullptr ? kernel->outputs.size() : 0;
}
bl_status bl_input(const bl_kernel *kernel, size_t index, bl_operand *operand) {
  return operand_at(&bl_kernel::inputs, kernel, index, operand);
}
bl_status bl_output(const bl_kernel *kernel, size_t index, bl_operand *operand) {
  return operand_at(&bl_kernel::outputs, kernel, index, operand);
}

bl_status bl_infer(const bl_kernel *kernel, const bl_view *inputs, size_t input_count,
                   bl_shape *shapes) {
  return guarded([&] {
    const bl::Kernel &of = given(kernel, "kernel").kernel;
    if (!kernel->outputs.empty()) given(shapes, "shapes");
    std::size_t k = 0;
    for (const bl::Signature &output : of.infer(any_views(inputs, input_count, "input", false))) {
      shapes[k] = {std::int32_t(output.dtype), std::int32_t(output.shape.size()), {}};
      std::ranges::copy(output.shape, shapes[k++].extents);
    }
  });
}

bl_status bl_prepare(const bl_kernel *kernel, const bl_view *inputs, size_t input_count) {
  return guarded([&] {
    given(kernel, "kernel").kernel.prepare(any_views(inputs, input_count, "input", false));
  });
}

bl_status bl_run(const bl_kernel *kernel, const bl_view *inputs, size_t input_count,
                 const bl_view *outputs, size_t output_count) {
  return guarded([&] { run(kernel, inputs, input_count, outputs, output_count); });
}

bl_status bl_workspace(const bl_kernel *kernel, const bl_view *inputs, size_t input_count,
                       const bl_view *outputs, size_t output_count, size_t *bytes) {
  return guarded([&] {
    const bl::Kernel &of = given(kernel, "kernel").kernel;
    given(bytes, "bytes");
    const std::vector<bl::AnyView> from = any_views(inputs, input_count, "input", false),
                                   to = any_views(outputs, output_count, "output", true);
    *bytes = called(
        *kernel, from, to, [&] { return bl::workspace(of, from, to, bl::Kernel::Line()); },
        [&](const auto &ins, const auto &outs) {
          return bl::workspace_named(of, ins, outs, bl::Kernel::Line());
        });
  });
}

bl_status bl_run_in(const bl_kernel *kernel, const bl_view *inputs, size_t input_count,
                    const bl_view *outputs, size_t output_count, void *arena, size_t arena_bytes) {
  return guarded([&] {
    if (arena_bytes > 0) given(static_cast<char *>(arena), "arena");
    const bl::Arena here(arena, arena_bytes);
    run(kernel, inputs, input_count, outputs, output_count);
  });
}

bl_status bl_bind(const bl_kernel *kernel, const bl_view *inputs, size_t input_count,
                  const bl_view *outputs, size_t output_count, bl_bound **bound) {
  return guarded([&] {
    const bl::Kernel &of = given(kernel, "kernel").kernel;
    given(bound, "bound");
    const std::vector<bl::AnyView> from = any_views(inputs, input_count, "input", false),
                                   to = any_views(outputs, output_count, "output", true);
    *bound = handles().add(std::make_unique<bl_bound>(called(
        *kernel, from, to, [&] { return of.bind(from, to, bl::Kernel::Line()); },
        [&](const auto &ins, const auto &outs) {
          return of.bind_named(ins, outs, bl::Kernel::Line());
        })));
  });
}

bl_status bl_run_bound(const bl_bound *bound) {
  return guarded([&] { given(bound, "bound").call(bl::Kernel::Line()); });
}

bl_status bl_free_bound(bl_bound *bound) {
  return guarded([&] { handles().free(bound, "bound"); });
}

bl_status bl_show(const bl_kernel *kernel, const char *stage, char **text) {
  return guarded([&] {
    const bl::Kernel &of = given(kernel, "kernel").kernel;
    const std::string_view asked = &given(stage, "stage");
    given(text, "text");
    const auto found = std::ranges::find(stage_names, asked, &StageName::name);
    if (found == std::end(stage_names)) {
      std::vector<std::string_view> names;
      for (const StageName &known : stage_names) names.emplace_back(known.name);
      throw BadArgument{fmt::format("there is no stage '{}'", asked),
                        fmt::format("take one of {}", fmt::join(names, ", "))};
    }
    const std::string shown = of.show(found->stage, {.json = asked == "why-json"});
    auto *const copy = static_cast<char *>(std::malloc(shown.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, shown.c_str(), shown.size() + 1);
    *text = copy;
  });
}

void bl_free_text(char *text) { std::free(text); }

} // extern "C"
