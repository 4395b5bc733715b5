// See lets.hpp.
#include "jit/lets.hpp"

#include "jit/kernel.hpp"
#include "jit/layout_cache.hpp"
#include "kernel/join.hpp"
#include "kernel/layouts.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace broadloom::jit {

Lets::Lets(const spec::TypedSpec &typed, const Compile &compile) : specs_(typed.materialised) {
  if (specs_.empty()) return;
  std::unordered_map<std::string, std::size_t> index;
  const auto reads = [&](const spec::TypedSpec &reader) {
    std::vector<std::size_t> result;
    for (const spec::TypedInput &input : reader.given())
      if (input.materialised) result.push_back(index.at(input.name));
    return result;
  };
  for (std::size_t k = 0; k < specs_.size(); ++k) {
    lets_.push_back({specs_[k]->join ? std::vector<std::size_t>() : reads(specs_[k]->typed), k});
    if (specs_[k]->join)
      for (const std::string &part : specs_[k]->join->parts) {
        lets_.back().reads.push_back(index.at(part));
        lets_[index.at(part)].whole = k;
      }
    for (const std::size_t read : lets_.back().reads) lets_[read].last_read = k;
    index.emplace(specs_[k]->typed.outputs[0].name, k);
    kernels_.push_back(specs_[k]->join ? nullptr : compile(specs_[k]));
  }
  reads_of_rest_ = reads(typed);
  for (const std::size_t read : reads_of_rest_) lets_[read].last_read = specs_.size();

  const std::size_t callers = typed.callers_inputs();
  for (const std::vector<bool> &read : kernel::inputs_read(typed)) {
    std::vector<bool> needed(specs_.size());
    for (std::size_t i = 0; i < typed.inputs.size(); ++i) {
      const std::size_t array = typed.array_of(i);
      if (read[i] && typed.inputs[array].materialised)
        needed[reads_of_rest_[array - callers]] = true;
    }
    for (std::size_t k = specs_.size(); k-- > 0;)
      if (needed[k])
        for (const std::size_t before : lets_[k].reads) needed[before] = true;
    needs_.push_back(std::move(needed));
  }
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
  for (std::size_t k = 0; k < lets_.size(); ++k) {
    std::vector<AnyView> given;
    std::vector<Layout> parts;
    for (const AnyView *input : inputs) given.push_back(*input);
    for (const std::size_t read : lets_[k].reads) {
      given.push_back(views[read]);
      parts.push_back(views[read].layout);
    }
    const Layout layout = specs_[k]->join ? kernel::whole_of(*specs_[k], parts)
                                          : kernels_[k]->allocated_layouts(given).outputs[0];
    const DType dtype = specs_[k]->typed.outputs[0].dtype;
    made->lets.push_back(layout);
    views.push_back({dtype, nullptr, true, layout});
    made->bytes.push_back(element_count(layout) * std::int64_t(size_of(dtype)));
    lifetimes.push_back({made->bytes.back(), k, lets_[k].last_read});
  }
  const std::vector<std::int64_t> starts = put_parts(*made, lifetimes);
  made->places = support::places_of(lifetimes);
  for (std::size_t k = lets_.size(); k-- > 0;) // a whole may be a part itself, of one behind it
    if (lets_[k].whole) made->places.starts[k] = made->places.starts[*lets_[k].whole] + starts[k];
  const std::lock_guard lock(mutex_);
  return latest_ = std::move(made);
}

// Parts lie in their whole, which lives from the first of them until the last time that one of them or it is read. Returns where, in bytes: [let].
std::vector<std::int64_t> Lets::put_parts(Layouts &layouts,
                                          std::vector<support::Lifetime> &lifetimes) const {
  std::vector<std::int64_t> starts(lets_.size());
  for (std::size_t k = 0; k < lets_.size(); ++k)
    for (const std::size_t part : parts_of(k)) {
      lifetimes[k].made = std::min(lifetimes[k].made, lifetimes[part].made);
      lifetimes[k].last_read = std::max(lifetimes[k].last_read, lifetimes[part].last_read);
    }
  for (std::size_t k = lets_.size(); k-- > 0;) { // a whole may be a part, of one behind it
    std::int64_t first = 0;
    for (const std::size_t part : parts_of(k)) {
      starts[part] =
          kernel::put_part(*specs_[k]->join, layouts.lets[k], layouts.lets[part], first) *
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

std::vector<AnyView> Lets::views(const Layouts &layouts, char *memory) const {
  std::vector<AnyView> result;
  for (std::size_t k = 0; k < lets_.size(); ++k)
    result.push_back({specs_[k]->typed.outputs[0].dtype,
                      memory == nullptr ? nullptr : memory + layouts.places.starts[k], true,
                      layouts.lets[k]});
  return result;
}

std::vector<bool> Lets::needed(kernel::Operands outputs) const {
  std::vector<bool> needed(lets_.size());
  for (std::size_t o = 0; o < outputs.size(); ++o)
    for (std::size_t k = 0; outputs[o] != nullptr && k < needed.size(); ++k)
      needed[k] = needed[k] || (needs_[o][k] && kernels_[k]);
  return needed;
}

std::vector<const AnyView *> Lets::operands(std::size_t k, kernel::Operands inputs,
                                            std::span<const AnyView> lets) const {
  std::vector<const AnyView *> result(inputs.begin(), inputs.end());
  for (const std::size_t read : lets_[k].reads) result.push_back(&lets[read]);
  result.push_back(&lets[k]);
  return result;
}

std::vector<const AnyView *> Lets::operands_of_rest(kernel::Operands inputs,
                                                    std::span<const AnyView> lets,
                                                    kernel::Operands outputs) const {
  std::vector<const AnyView *> result(inputs.begin(), inputs.end());
  for (const std::size_t read : reads_of_rest_) result.push_back(&lets[read]);
  result.insert(result.end(), outputs.begin(), outputs.end());
  return result;
}

} // namespace broadloom::jit
