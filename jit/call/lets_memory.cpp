// Where the arrays of lets lie in the memory of a call: see lets.hpp.
#include "jit/call/lets.hpp"

#include "array/copy.hpp"
#include "jit/nest/layout_cache.hpp"
#include "kernel/layouts.hpp"
#include "kernel/storage.hpp"
#include "kernel/window_extents.hpp"

#include <algorithm>

namespace broadloom::jit {

// A let that reads itself lies step after step, whichever dim these are.
void Lets::place(std::size_t k, std::span<const std::int64_t> shape, Layouts &made) const {
  const spec::Recurrence &loop = *recurrence(k);
  const auto size = std::int64_t(size_of(specs_[k]->typed.outputs[0].dtype));
  const std::int64_t kept = made.kept_rows[k], segment = made.segment(k);
  std::vector<std::int64_t> lies{kept > 0 ? kept : shape[loop.dim] + loop.lag};
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (d != loop.dim) lies.push_back(shape[d]);
  const Layout whole = contiguous_layout(lies); // throws where it is too large
  Layout layout;
  layout.rank = int(shape.size());
  std::ranges::copy(shape, layout.extents.begin());
  for (std::size_t d = 0; d < shape.size(); ++d)
    layout.strides[d] = whole.strides[d == loop.dim ? 0 : d < loop.dim ? d + 1 : d];
  made.lets.push_back(layout);
  made.first.push_back(loop.backwards ? 0 : loop.lag * whole.strides[0] * size);
  const std::int64_t elements = (element_count(whole) * size + 63) / 64 * 64;
  made.positions.push_back(elements);
  const std::int64_t numbers =
      loop.positions ? shape[loop.dim] * std::int64_t(sizeof(std::int64_t)) : 0;
  made.checkpoints.push_back(elements + numbers);
  std::int64_t again = 0; // rows before each segment, and the last one
  if (segment > 0) {
    lies[0] = made.rows_saved(k, loop.lag);
    again = element_count(contiguous_layout(lies)) * size;
  }
  made.bytes.push_back(elements + numbers + again);
}

std::shared_ptr<const Lets::Layouts> Lets::layouts(kernel::Operands inputs) const {
  std::vector<std::int64_t> key = layout_key(inputs, inputs.size());
  {
    const std::lock_guard lock(mutex_);
    if (latest_ && latest_->key == key) return latest_;
  }
  auto made = std::make_shared<Layouts>();
  made->key = std::move(key);
  std::vector<AnyView> views;
  std::vector<support::Lifetime> lifetimes;
  std::vector<Layout> layouts_of_inputs;
  for (const AnyView *input : inputs) layouts_of_inputs.push_back(input->layout);
  std::vector<std::vector<std::int64_t>> shapes;
  made->wholes.resize(lets_.size());
  const auto extent_of = [&](std::uint32_t array, std::size_t dim) {
    return array < inputs.size() ? inputs[array]->layout.extents[dim]
                                 : shapes[array - inputs.size()][dim];
  };
  for (std::size_t k = 0; k < lets_.size(); ++k) {
    const DType dtype = specs_[k]->typed.outputs[0].dtype;
    if (const spec::Recurrence *loop = recurrence(k)) {
      if (loop->first == k)
        spec::find_loop_shapes(specs_, k, layouts_of_inputs, shapes, kernel::window_extents);
      if (loop->first == k) choose_segments(k, shapes, *made);
      place(k, shapes[k], *made);
    } else {
      std::vector<AnyView> given;
      std::vector<Layout> parts;
      for (const AnyView *input : inputs) given.push_back(*input);
      for (const std::size_t read : lets_[k].reads) {
        given.push_back(views[read]);
        parts.push_back(views[read].layout);
      }
      if (specs_[k]->join) made->wholes[k] = kernel::whole_of(*specs_[k], parts, extent_of);
      const Layout layout =
          specs_[k]->join ? made->wholes[k].layout
          : lets_[k].rows ? made->lets[lets_[k].rows->loop]
                          : nests_[k]->allocated_layouts(kernel::pointers_to(given)).outputs[0];
      made->lets.push_back(layout);
      made->bytes.push_back(element_count(layout) * std::int64_t(size_of(dtype)));
      made->first.push_back(0);
      made->positions.push_back(0);
      made->kept_rows.push_back(0);
      made->segments.emplace_back();
      made->checkpoints.push_back(0);
      shapes.emplace_back(layout.shape().begin(), layout.shape().end());
    }
    if (lets_[k].is_shape || lets_[k].rows) made->bytes.back() = 0;
    views.push_back({dtype, nullptr, true, made->lets.back()});
    lifetimes.push_back({made->bytes.back(), lets_[k].made, lets_[k].last_read});
  }
  keep_what_is_read_again(*made, lifetimes);
  choose_orders(inputs, *made);
  const std::vector<std::int64_t> starts = put_parts(*made, lifetimes);
  made->places = support::places_of(lifetimes);
  for (std::size_t k = lets_.size(); k-- > 0;) // a whole may be a part itself, of one behind it
    if (lets_[k].whole) made->places.starts[k] = made->places.starts[*lets_[k].whole] + starts[k];
  made->lifetimes = std::move(lifetimes);
  const std::lock_guard lock(mutex_);
  return latest_ = std::move(made);
}

// Of those that nothing else binds: no loops, which lie step by step, no joins and their parts, no
// wishes, and none that hang on parameters
// alone: they lie as their kernel writes them when it is frozen, too, as folds go by that.
void Lets::choose_orders(kernel::Operands inputs, Layouts &made) const {
  std::vector<kernel::StoredArray> arrays;
  for (const AnyView *input : inputs) arrays.emplace_back(input->layout);
  for (std::size_t k = 0; k < lets_.size(); ++k) {
    const bool is_bound = recurrence(k) != nullptr || specs_[k]->join || lets_[k].whole ||
                          lets_[k].rows || lets_[k].is_constant ||
                          specs_[k]->typed.outputs[0].store != Order::none;
    arrays.emplace_back(made.lets[k], !is_bound);
  }
  if (std::ranges::none_of(arrays, &kernel::StoredArray::is_free)) return;
  std::vector<kernel::StorageStep> steps;
  const auto add = [&](const spec::TypedSpec &typed, std::span<const std::size_t> reads,
                       std::ptrdiff_t output, bool is_seen) {
    kernel::StorageStep step{&typed, {}, output};
    for (std::size_t i = 0; i < inputs.size(); ++i) step.inputs.push_back(i);
    for (const std::size_t read : reads) {
      if (!is_seen && read < lets_.size()) arrays[inputs.size() + read].is_free = false;
      step.inputs.push_back(inputs.size() + read);
    }
    if (!is_seen && output >= 0) arrays[std::size_t(output)].is_free = false;
    if (is_seen) steps.push_back(std::move(step));
  };
  for (std::size_t k = 0; k < lets_.size(); ++k)
    add(specs_[k]->typed, lets_[k].reads, std::ptrdiff_t(inputs.size() + k),
        recurrence(k) == nullptr && !specs_[k]->join && specs_[k]->typed.lent_input() == nullptr &&
            specs_[k]->typed.given_inputs() == inputs.size() + lets_[k].reads.size());
  add(rest_, reads_of_rest_, -1,
      rest_.lent_input() == nullptr &&
          rest_.given_inputs() == inputs.size() + reads_of_rest_.size());
  const kernel::Storage storage = kernel::choose_storage(arrays, steps);
  made.traffic = storage.bytes;
  made.traffic_before = storage.bytes_before;
  for (std::size_t k = 0; k < lets_.size(); ++k) {
    const Layout &chosen = storage.layouts[inputs.size() + k];
    if (std::ranges::equal(chosen.steps(), made.lets[k].steps())) continue;
    made.lets[k] = chosen;
    made.reordered.push_back(k);
  }
}

// Parts lie in their whole, which lives from the first of them until the last time that one of them
// or it is read. Returns where, in bytes: [let].
std::vector<std::int64_t> Lets::put_parts(Layouts &layouts,
                                          std::vector<support::Lifetime> &lifetimes) const {
  std::vector<std::int64_t> starts(lets_.size());
  for (std::size_t k = 0; k < lets_.size(); ++k)
    for (const std::size_t part : parts_of(k)) {
      lifetimes[k].made = std::min(lifetimes[k].made, lifetimes[part].made);
      lifetimes[k].last_read = std::max(lifetimes[k].last_read, lifetimes[part].last_read);
    }
  for (std::size_t k = lets_.size(); k-- > 0;) { // a whole may be a part, of one behind it
    layouts.wholes[k].layout = layouts.lets[k];
    std::size_t next = 0;
    for (const std::size_t part : parts_of(k)) {
      starts[part] = kernel::put_part(layouts.wholes[k], next++, layouts.lets[part]) *
                     std::int64_t(size_of(specs_[part]->typed.outputs[0].dtype));
      layouts.bytes[part] = lifetimes[part].bytes = 0;
    }
  }
  return starts;
}

std::span<const std::size_t> Lets::parts_of(std::size_t k) const {
  return specs_[k]->join ? std::span<const std::size_t>(lets_[k].reads)
                         : std::span<const std::size_t>();
}

std::shared_ptr<const Lets::Layouts> Lets::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

std::shared_ptr<const Lets::Layouts> Lets::in_tiles(const Layouts &layouts,
                                                    std::span<const InTiles> lets) const {
  auto made = std::make_shared<Layouts>(layouts);
  made->in_tiles.resize(lets_.size());
  for (const InTiles &one : lets) {
    made->in_tiles[one.let] = true;
    made->bytes[one.let] = made->lifetimes[one.let].bytes = 0;
    for (std::size_t read : lets_[one.let].reads) {
      if (lets_[read].rows) read = lets_[read].rows->loop;
      while (lets_[read].whole) read = *lets_[read].whole;
      std::size_t &last = made->lifetimes[read].last_read;
      last = std::max(last, one.root);
    }
  }
  made->places = support::places_of(made->lifetimes);
  for (std::size_t k = lets_.size(); k-- > 0;)
    if (const auto whole = lets_[k].whole)
      made->places.starts[k] =
          made->places.starts[*whole] + layouts.places.starts[k] - layouts.places.starts[*whole];
  return made;
}

std::vector<AnyView> Lets::views(const Layouts &layouts, char *memory) const {
  static constinit char nothing = 0; // of what is a shape alone
  const auto at = [&](std::size_t k, std::int64_t offset) {
    if (lets_[k].is_shape) return &nothing;
    return memory == nullptr ? nullptr : memory + layouts.places.starts[k] + offset;
  };
  const auto dtype = [&](std::size_t k) { return specs_[k]->typed.outputs[0].dtype; };
  std::vector<AnyView> result;
  for (std::size_t k = 0; k < lets_.size(); ++k)
    result.push_back({dtype(k), at(k, layouts.first[k]), true, layouts.lets[k]});
  for (std::size_t k = 0; k < lets_.size(); ++k)
    if (lets_[k].rows && !lets_[k].is_shape) result[k] = earlier_rows(*lets_[k].rows, result);
  for (std::size_t k = 0; k < lets_.size(); ++k) {
    const spec::Recurrence *loop = recurrence(k);
    if (loop == nullptr) continue;
    for (std::uint32_t i = 0; i < specs_[k]->typed.given_inputs(); ++i) {
      if (loop->positions == i)
        result.push_back({DType::I64, at(k, layouts.positions[k]), true,
                          contiguous_layout({&layouts.lets[k].extents[loop->dim], 1})});
      for (const spec::Recurrence::Read &read : loop->reads) {
        if (read.input != i) continue;
        const spec::Recurrence &of = *recurrence(read.let);
        const Layout &rows = layouts.lets[read.let];
        AnyView before{dtype(read.let), at(read.let, 0), true, rows};
        before.layout.extents[of.dim] = rows.extents[of.dim] + read.more;
        result.push_back(before);
      }
    }
  }
  for (std::size_t k = 0; k < lets_.size(); ++k)
    if (lets_[k].kept_rows > 0) result.push_back(last_row(k, result[k], layouts));
  for (std::size_t k = 0; k < lets_.size(); ++k)
    if (lets_[k].followed_by) add_checkpoints(k, layouts, at(k, layouts.checkpoints[k]), result);
  return result;
}

AnyView Lets::earlier_rows(const spec::EarlierRows &rows, std::span<const AnyView> lets) const {
  const spec::Recurrence &loop = *recurrence(rows.loop);
  const AnyView &array = lets[rows.loop];
  return array::rows_of(array, loop.dim, loop.backwards ? rows.back : -rows.back,
                        array.layout.extents[loop.dim]);
}

// As those see it that read its last position alone: that stands at all of them.
AnyView Lets::last_row(std::size_t k, const AnyView &let, const Layouts &layouts) const {
  const spec::Recurrence &loop = *recurrence(k);
  AnyView row = let;
  const std::int64_t steps = let.layout.extents[loop.dim];
  const std::int64_t at =
      loop.backwards || steps == 0 ? 0 : (steps - 1 + loop.lag) % layouts.kept_rows[k] - loop.lag;
  if (row.data != nullptr)
    row.data = static_cast<char *>(row.data) +
               at * let.layout.strides[loop.dim] * std::int64_t(size_of(let.dtype));
  row.layout.strides[loop.dim] = 0;
  return row;
}

} // namespace broadloom::jit
