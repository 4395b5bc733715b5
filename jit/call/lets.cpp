// See lets.hpp: what lets read and need. Where they lie: lets_memory.cpp.
#include "jit/call/lets.hpp"

#include "spec/inputs_of.hpp"

#include <algorithm>
#include <string>

namespace broadloom::jit {

Lets::Lets(const Setup &kernel)
    : specs_(kernel.whole().materialised), rest_(kernel.whole()),
      most_bytes_(number_in("BROADLOOM_LOOP_BYTES", std::int64_t(256) << 20)) {
  if (specs_.empty()) return;
  std::size_t more = specs_.size();
  for (std::size_t k = 0; k < specs_.size(); ++k) {
    const spec::Recurrence *loop = recurrence(k);
    const std::size_t last = loop != nullptr ? loop->first + loop->count - 1 : k;
    lets_.push_back(
        {specs_[k]->join ? std::vector<std::size_t>() : reads_of(specs_[k]->typed, loop, more),
         last,
         loop ? loop->first : k,
         {}});
    if (specs_[k]->join)
      for (const std::string &part : specs_[k]->join->parts) {
        lets_.back().reads.push_back(index_.at(part));
        lets_[index_.at(part)].whole = k;
      }
    for (const std::size_t read : lets_.back().reads)
      if (read < k) lets_[read].last_read = std::max(lets_[read].last_read, last);
    if (loop != nullptr && loop->start) lets_[*loop->start].last_read = last;
    index_.emplace(specs_[k]->typed.outputs[0].name, k);
    const std::shared_ptr<const SpecData> data(specs_[k], &specs_[k]->data);
    nests_.push_back(specs_[k]->join
                         ? nullptr
                         : std::make_shared<const Nest>(LoopSpec(data), specs_[k]->typed, kernel));
  }
  reads_of_rest_ = reads_of(rest_, nullptr, more);
  for (const std::size_t read : reads_of_rest_) lets_[read].last_read = specs_.size();
  for (std::size_t k = 0; k < lets_.size(); ++k) lets_[k].seen_as = k;
  find_rows_of_loops();
  // What looks at the steps of a call, to explain them, looks at all arrays as they are.
  if (kernel.engine != Engine::reference) find_kept_rows(more);
  if (kernel.engine != Engine::reference && !kernel.is_debugged()) find_followers(more);

  find_needs();
  for (std::size_t k = 0; k < specs_.size(); ++k)
    lets_[k].is_constant = !specs_[k]->join && recurrence(k) == nullptr && is_constant(k);
}

// Parts of joins lie where these want them.
void Lets::find_rows_of_loops() {
  for (std::size_t k = 0; k < lets_.size(); ++k) {
    if (lets_[k].whole) continue;
    const std::optional<spec::EarlierRows> rows = spec::earlier_rows(specs_, k);
    if (!rows || lets_[rows->loop].whole) continue;
    lets_[k].rows = rows;
    lets_[rows->loop].last_read = std::max(lets_[rows->loop].last_read, lets_[k].last_read);
  }
}

bool Lets::is_constant(std::size_t k) const {
  const spec::TypedSpec &typed = specs_[k]->typed;
  const std::vector<bool> needed = spec::arrays_needed(typed, typed.outputs[0].value);
  std::size_t read = 0;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    const bool is_let = typed.inputs[i].materialised;
    const std::size_t let = is_let ? lets_[k].reads[read++] : 0;
    const bool constant =
        is_let ? let < k && lets_[let].is_constant : typed.inputs[i].role == InputRole::parameter;
    if (needed[i] && !constant) return false;
  }
  return true;
}

// The lets among some inputs of a kernel that reads these lets.
static std::vector<std::size_t> lets_among(const std::vector<bool> &inputs,
                                           const spec::TypedSpec &reader,
                                           std::span<const std::size_t> reads) {
  std::vector<std::size_t> result;
  std::size_t read = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!reader.inputs[i].materialised) continue;
    if (inputs[i]) result.push_back(reads[read]);
    ++read;
  }
  return result;
}

// Of the lets that a kernel reads those of which the value needs elements, and not their shapes
// alone.
static std::vector<std::size_t> lets_needed(const spec::TypedSpec &reader, expr::NodeId value,
                                            std::span<const std::size_t> reads) {
  return lets_among(spec::arrays_needed(reader, value), reader, reads);
}

void Lets::find_needs() {
  std::vector<std::vector<std::size_t>> before; // [let]
  for (std::size_t k = 0; k < specs_.size(); ++k)
    before.push_back(
        specs_[k]->join
            ? lets_[k].reads
            : lets_needed(specs_[k]->typed, specs_[k]->typed.outputs[0].value, lets_[k].reads));
  // A call looks at all positions, those for outputs that are not wanted, too.
  std::vector<bool> positions(specs_.size());
  for (const spec::TypedOutput &output : rest_.outputs)
    for (const std::size_t k :
         lets_among(spec::positions_needed(rest_, output.value), rest_, reads_of_rest_))
      positions[k] = true;
  for (const spec::TypedOutput &output : rest_.outputs) {
    std::vector<bool> needed = positions;
    for (const std::size_t k : lets_needed(rest_, output.value, reads_of_rest_)) needed[k] = true;
    for (std::size_t k = specs_.size(); k-- > 0;) {
      const spec::Recurrence *loop = recurrence(k);
      if (loop != nullptr) // all of them or none
        for (std::size_t other = loop->first; other < k; ++other)
          needed[k] = needed[k] || needed[other];
      if (!needed[k]) continue;
      for (const std::size_t read : before[k])
        if (read < specs_.size()) needed[read] = true;
      if (loop == nullptr) continue;
      if (loop->start) needed[*loop->start] = true;
      for (std::size_t other = loop->first; other < k; ++other) needed[other] = true;
    }
    for (std::size_t k = 0; k < needed.size(); ++k)
      lets_[k].is_shape = lets_[k].is_shape && !needed[k];
    needs_.push_back(std::move(needed));
  }
  for (std::size_t k = 0; k < lets_.size(); ++k) // a part lies in its whole
    if (lets_[k].whole && !lets_[k].is_shape) lets_[*lets_[k].whole].is_shape = false;
}

bool Lets::is_last_read_by(const spec::TypedSpec &reader, std::size_t k) const {
  const std::string &name = specs_[k]->typed.outputs[0].name;
  for (std::size_t i = 0; i < reader.given_inputs(); ++i)
    if (reader.inputs[i].materialised && reader.inputs[i].name == name)
      return spec::reads_last_position(reader, i, *recurrence(k));
  return true;
}

// May a step of `other`, which goes on together with let k, see some rows of it alone?
bool Lets::sees_few_rows(std::size_t other, std::size_t k) const {
  return std::ranges::all_of(recurrence(other)->reads, [&](const spec::Recurrence::Read &read) {
    return read.let != k ||
           spec::may_see_few_rows(specs_[other]->typed, read.input, recurrence(k)->dim);
  });
}

void Lets::find_kept_rows(std::size_t &next) {
  for (std::size_t k = 0; k < lets_.size(); ++k) {
    const spec::Recurrence *loop = recurrence(k);
    if (loop == nullptr || lets_[k].whole || !is_last_read_by(rest_, k)) continue;
    bool is_last = true;
    for (std::size_t other = 0; other < specs_.size(); ++other) {
      const spec::Recurrence *reader = recurrence(other);
      is_last = is_last && !(reader != nullptr && reader->start == k);
      if (reader == nullptr || reader->first != loop->first)
        is_last = is_last && is_last_read_by(specs_[other]->typed, k);
      else
        is_last = is_last && sees_few_rows(other, k);
    }
    if (!is_last) continue;
    lets_[k].kept_rows = loop->lag + 1;
    lets_[k].seen_as = next++;
  }
}

// In the order of its inputs.
std::vector<std::size_t> Lets::reads_of(const spec::TypedSpec &reader,
                                        const spec::Recurrence *recurrence,
                                        std::size_t &more) const {
  std::vector<std::size_t> result;
  for (std::uint32_t i = 0; i < reader.given_inputs(); ++i) {
    if (!reader.inputs[i].materialised) continue;
    const bool of_loop =
        recurrence != nullptr &&
        (recurrence->positions == i ||
         std::ranges::count(recurrence->reads, i, &spec::Recurrence::Read::input) != 0);
    result.push_back(of_loop ? more++ : index_.at(reader.inputs[i].name));
  }
  return result;
}

std::vector<bool> Lets::needed(kernel::Operands outputs) const {
  std::vector<bool> needed(lets_.size());
  for (std::size_t o = 0; o < outputs.size(); ++o)
    for (std::size_t k = 0; outputs[o] != nullptr && k < needed.size(); ++k)
      needed[k] = needed[k] || (needs_[o][k] && nests_[k] && !lets_[k].rows);
  return needed;
}

// As others see it than the loop that follows it.
const AnyView &Lets::seen(std::span<const AnyView> lets, std::size_t read,
                          const spec::Recurrence *by) const {
  if (read >= lets_.size()) return lets[read];
  const bool follows = by != nullptr && lets_[read].followed_by == by->first;
  return lets[follows ? read : lets_[read].seen_as];
}

std::vector<const AnyView *> Lets::operands(std::size_t k, kernel::Operands inputs,
                                            std::span<const AnyView> lets) const {
  std::vector<const AnyView *> result(inputs.begin(), inputs.end());
  for (const std::size_t read : lets_[k].reads) result.push_back(&seen(lets, read, recurrence(k)));
  result.push_back(&lets[k]);
  return result;
}

std::vector<const AnyView *> Lets::operands_of_rest(kernel::Operands inputs,
                                                    std::span<const AnyView> lets,
                                                    kernel::Operands outputs) const {
  std::vector<const AnyView *> result(inputs.begin(), inputs.end());
  for (const std::size_t read : reads_of_rest_) result.push_back(&seen(lets, read, nullptr));
  result.insert(result.end(), outputs.begin(), outputs.end());
  return result;
}

} // namespace broadloom::jit
