// See steps.hpp.
#include "jit/gpu/steps.hpp"

#include "array/copy.hpp"
#include "kernel/gather.hpp"
#include "kernel/scatter.hpp"
#include "support/check.hpp"

#include <algorithm>
#include <array>
#include <cstring>

extern "C" const char bl_steps_ptx_begin[], bl_steps_ptx_end[]; // steps.S

namespace broadloom::jit::gpu {
namespace {

Step of_size(std::size_t size, Step first) { // of 1, 2, 4, 8 or 16 bytes
  int number = 0;
  for (std::size_t of = 1; of < size; of *= 2) ++number;
  return Step(int(first) + number);
}

// Dims of a box, from the outermost on.
void add_dim(Box &box, std::int64_t extent) {
  support::check(box.rank < most_dims, "a step of a device has too many dims");
  box.extents[box.rank++] = extent;
  box.points = box.rank == 1 ? extent : box.points * extent;
}

std::optional<Step> sum_of_type(DType dtype) {
  switch (dtype) {
  case DType::Bool: return Step::SumBool;
  case DType::I8:
  case DType::U8: return Step::Sum8;
  case DType::I16:
  case DType::U16: return Step::Sum16;
  case DType::I32:
  case DType::U32: return Step::Sum32;
  case DType::I64:
  case DType::U64: return Step::Sum64;
  case DType::F32: return Step::SumF32;
  case DType::F64: return Step::SumF64;
  case DType::C64: return Step::SumC64;
  case DType::C128: return Step::SumC128;
  case DType::F16:
  case DType::BF16: return std::nullopt;
  }
  return std::nullopt;
}

std::int64_t type_of_index(DType dtype) {
  const auto size = std::int64_t(size_of(dtype));
  return is_signed_integer(dtype) ? -size : size;
}

// Whether no element of the indices can be outside, or too large.
bool is_safe(const PositionsStep &step) {
  __int128 most = 0;
  for (std::int64_t k = 0; k < step.indices; ++k) {
    if (step.index[k].type == 8 || step.index[k].type == -8) return false;
    const __int128 times = step.index[k].times;
    most += (times < 0 ? -times : times) << 32;
  }
  return most >> 62 == 0 && step.extent > 0 &&
         (step.may_leave != 0 || (step.outside != PositionsStep::fails && step.divisor == 1));
}

constexpr StepKernel kernels[] = {
#define BL_STEP(name, arguments, function) {"bl_step_" #name, sizeof(arguments)},
    BL_STEPS
#undef BL_STEP
};
static_assert(std::size(kernels) == step_count);

} // namespace

// What clang made of step_ptx.cpp begins with what holds for all; each kernel stands alone.
std::string text_of(Step step) {
  const std::string_view all(bl_steps_ptx_begin,
                             std::size_t(bl_steps_ptx_end - bl_steps_ptx_begin));
  constexpr std::string_view entry = ".visible .entry ";
  const std::size_t first = all.find(entry),
                    begin = all.find(std::string(entry) + kernels[int(step)].name + "("),
                    end = all.find(entry, begin + 1);
  support::check(begin != all.npos, "a step of devices has no code");
  return std::string(all.substr(0, first)) + std::string(all.substr(begin, end - begin));
}

const StepKernel &kernel_of(Step step) { return kernels[int(step)]; }

void play(Step step, const void *arguments) {
  constexpr std::int64_t threads = 96;
  const auto all = [&](auto function, const auto &given) {
    for (std::int64_t k = threads; k-- > 0;) function(given, Threads{k, threads}); // the last first
  };
  switch (step) {
#define BL_STEP(name, arguments_of, function)                                                      \
  case Step::name: return all(function, *static_cast<const arguments_of *>(arguments));
    BL_STEPS
#undef BL_STEP
  }
}

void Steps::bring(const void *from, const Layout &read, void *to, const Layout &written,
                  std::size_t size, Wide number) const {
  auto walked = array::dims_of_copy(read, written);
  if (!walked) return;
  std::vector<array::CopiedDim> &dims = *walked;
  for (std::size_t d = dims.size(); d-- > 1;) // those that lie behind each other in both are one
    if (dims[d - 1].read == dims[d].extent * dims[d].read &&
        dims[d - 1].write == dims[d].extent * dims[d].write) {
      dims[d - 1] = {dims[d - 1].extent * dims[d].extent, dims[d].read, dims[d].write};
      dims.erase(dims.begin() + std::ptrdiff_t(d));
    }
  CopyStep step{.from = from, .to = to, .number = number};
  if (dims.empty()) dims.push_back({1, 0, 0});
  for (const array::CopiedDim &dim : dims) {
    step.from_steps[step.box.rank] = dim.read;
    step.to_steps[step.box.rank] = dim.write;
    add_dim(step.box, dim.extent);
  }
  device_.step(of_size(size, Step::Copy1), &step, step.box.points);
}

void Steps::copy(const AnyView &from, void *to, const Layout &layout) const {
  bring(from.data, from.layout, to, layout, size_of(from.dtype), {});
}

void Steps::fill(DType dtype, const void *number, void *to, const Layout &layout) const {
  Layout still = layout;
  still.strides = {};
  Wide wide = {};
  std::memcpy(&wide, number, size_of(dtype));
  bring(nullptr, still, to, layout, size_of(dtype), wide);
}

void Steps::count_up(const AnyView &to) const {
  const CountStep step{to.layout.extents[0], static_cast<std::int64_t *>(to.data)};
  device_.step(Step::Count, &step, step.points);
}

std::optional<Steps::Listed> Steps::listed(const spec::TypedSpec &spec, std::size_t window,
                                           const Layout &shape, Operands operands) const {
  if (element_count(shape) == 0) return Listed();
  auto forms = kernel::described_positions(spec, window, shape, operands);
  if (!forms || forms->size() > std::size_t(most_indices)) return std::nullopt;
  Listed made;
  std::shared_ptr<void> flag;
  for (kernel::DescribedPositions &form : *forms) {
    if (form.indices.size() > std::size_t(most_indices)) return std::nullopt;
    PositionsStep step{.start = form.start,
                       .extent = form.extent,
                       .divisor = form.divisor,
                       .outside = std::int64_t(form.outside),
                       .stands = form.stands,
                       .may_leave = form.may_leave,
                       .indices = std::int64_t(form.indices.size())};
    step.box.points = 1;
    for (std::size_t d = 0; d < form.extents.size(); ++d) {
      step.times[d] = form.times[d];
      add_dim(step.box, form.extents[d]);
    }
    for (std::size_t k = 0; k < form.indices.size(); ++k) {
      const kernel::DescribedPositions::Index &index = form.indices[k];
      step.index[k] = {index.of.data, type_of_index(index.of.dtype), index.times, {}};
      std::ranges::copy(index.strides, step.index[k].steps);
    }
    if (!flag) {
      constexpr std::int32_t unset = 0;
      flag = device_.allocate(sizeof unset);
      fill(DType::I32, &unset, flag.get(), contiguous_layout(std::vector<std::int64_t>{1}));
    }
    made.entries.push_back(device_.allocate(std::size_t(step.box.points) * sizeof(std::int64_t)));
    step.to = static_cast<std::int64_t *>(made.entries.back().get());
    step.flag = static_cast<std::int32_t *>(flag.get());
    device_.step(Step::Positions, &step, step.box.points);
    if (!is_safe(step)) { // the one word that the host waits for: nothing may be written before
      std::int32_t is_set = 0;
      device_.copy_out(&is_set, flag.get(), sizeof is_set);
      if (is_set != 0) return std::nullopt;
    }
    made.described.push_back(std::move(form.listed));
  }
  return made;
}

bool Steps::look(const spec::TypedSpec &spec, std::size_t window, const Layout &shape,
                 Operands operands) const {
  return listed(spec, window, shape, operands).has_value();
}

bool Steps::gather(const spec::TypedSpec &spec, std::size_t window, Operands operands,
                   const AnyView &of, const AnyView &to) const {
  if (element_count(to.layout) == 0) return true;
  const std::optional<Listed> lists = listed(spec, window, to.layout, operands);
  if (!lists) return false;
  const kernel::GatherWalk walk =
      kernel::walk_of_gather(spec, window, operands, of, to.layout, lists->described);
  const std::size_t size = size_of(of.dtype);
  GatherStep step{.from = static_cast<const char *>(of.data) + walk.offset * std::int64_t(size),
                  .to = to.data,
                  .lists = std::int64_t(lists->described.size())};
  step.box.points = 1;
  for (std::size_t k = 0; k < lists->described.size(); ++k) {
    step.list[k].entries = static_cast<const std::int64_t *>(lists->entries[k].get());
    step.list[k].stride = walk.strides[k];
  }
  for (const kernel::GatherWalk::Dim &dim : walk.dims) {
    step.steps[step.box.rank] = dim.step;
    for (std::size_t k = 0; k < dim.steps.size(); ++k)
      step.list[k].steps[step.box.rank] = dim.steps[k];
    add_dim(step.box, dim.extent);
  }
  device_.step(of_size(size, Step::Gather1), &step, step.box.points);
  return true;
}

bool Steps::scatter(const spec::TypedSpec &spec, std::size_t window, Operands operands,
                    const AnyView &values, const AnyView &to) const {
  const std::optional<Step> sums = sum_of_type(to.dtype);
  const std::optional<Listed> lists =
      sums ? listed(spec, window, values.layout, operands) : std::nullopt;
  if (!lists) return false;
  alignas(16) constexpr char zero[16] = {};
  if (element_count(to.layout) == 0) return true;
  if (element_count(values.layout) == 0) return fill(to.dtype, zero, to.data, to.layout), true;
  const kernel::ScatterWalk walk =
      kernel::walk_of_scatter(spec, window, values.layout, to.layout, operands);
  if (walk.looked_up.size() > std::size_t(most_indices)) return false;
  ScatterStep step{.places = 1,
                   .looked_up = std::int64_t(walk.looked_up.size()),
                   .values = values.data,
                   .to = to.data};
  step.walked.points = step.kept.points = 1;
  for (const kernel::ScatterWalk::Walked &axis : walk.walked) {
    step.steps[step.walked.rank] = axis.step;
    add_dim(step.walked, axis.extent);
  }
  for (const kernel::ScatterWalk::Kept &dim : walk.kept) {
    step.kept_from[step.kept.rank] = dim.from;
    step.kept_to[step.kept.rank] = dim.to;
    add_dim(step.kept, dim.extent);
  }
  for (std::size_t k = walk.looked_up.size(); k-- > 0;) {
    const kernel::ScatterWalk::LookedUp &dim = walk.looked_up[k];
    LookedUpOfStep &made = step.dim[k];
    made = {.extent = dim.extent, .stride = dim.stride, .dense = step.places};
    step.places *= dim.extent;
    if (dim.pad != nullptr) {
      made.pad = std::int64_t(dim.pad->mode);
      made.before = dim.pad->before;
    }
    const auto list = std::ranges::find_if(
        lists->described, [&](const auto &listed) { return listed.dim == int(dim.dim); });
    if (list == lists->described.end()) {
      made.start = dim.start;
      std::ranges::copy(dim.times, made.steps);
      continue;
    }
    made.entries = static_cast<const std::int64_t *>(
        lists->entries[std::size_t(list - lists->described.begin())].get());
    for (std::size_t w = 0; w < walk.walked.size(); ++w)
      made.steps[w] = list->steps[walk.walked[w].dim];
  }
  // Elements of kept dims that the values have once, and the sum several times, stay zero.
  if (step.places * step.kept.points != element_count(to.layout))
    fill(to.dtype, zero, to.data, to.layout);
  const std::int64_t points = step.walked.points, zeros = 3 * step.places + 1;
  const auto memory = device_.allocate(std::size_t(2 * points + zeros) * sizeof(std::int64_t));
  step.counts = static_cast<std::int64_t *>(memory.get());
  step.begins = step.counts + step.places;
  step.listed = step.begins + step.places;
  step.end = step.listed + step.places;
  step.place = step.end + 1;
  step.order = step.place + points;
  fill(DType::I64, zero, step.counts, contiguous_layout(std::vector<std::int64_t>{zeros}));
  device_.step(Step::ScatterPlaces, &step, points);
  device_.step(Step::ScatterBegins, &step, step.places);
  device_.step(Step::ScatterLists, &step, points);
  device_.step(Step::ScatterOrders, &step, step.places);
  device_.step(*sums, &step, step.places * step.kept.points);
  return true;
}

} // namespace broadloom::jit::gpu
