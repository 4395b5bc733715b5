// What is held against the interpreter, as BROADLOOM_VERIFY=1 and Debug::interpreter ask: each call
// runs natively and in the interpreter, on memory of its own for either, and the two must agree.
//
// The memory holds a pattern before, so that an element that native code leaves out shows, as does
// a store between the elements; `+=` shows what is stored twice. Only then the outputs are written.
//
// With Debug::memory native code runs on copies of its operands that end where a page begins that
// nobody may touch, and begin behind a pattern. So a read or write behind an array ends the process
// by a signal, as one far before it does; one near before it changes the pattern.
#include "jit/nest/executor.hpp"

#include "checked/agreement.hpp"
#include "jit/nest/failure.hpp"
#include "kernel/operand_copy.hpp"
#include "support/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace broadloom::jit {
namespace {

using kernel::OperandCopy;

// An output's memory, which holds the pattern, or what `+=` adds to.
OperandCopy prepared(const AnyView &view, kernel::Reach reach, bool add,
                     OperandCopy::Memory memory) {
  OperandCopy copy(view, reach, memory);
  std::ranges::fill(copy.bytes(), OperandCopy::pattern);
  if (add) copy.load();
  return copy;
}

void clear_element(const AnyView &view, std::int64_t element) {
  std::memset(const_cast<char *>(checked::element_at(view, element)), OperandCopy::pattern,
              size_of(view.dtype));
}

// The first element, in C order, in which the two differ, or -1.
std::int64_t first_difference(const AnyView &ours, const AnyView &told) {
  for (std::int64_t k = 0; k < element_count(ours.layout); ++k)
    if (!checked::same_bits(checked::element_at(ours, k), checked::element_at(told, k), ours.dtype))
      return k;
  return -1;
}

// Whether anything but elements was written. They are set to the pattern.
bool is_written_between(const OperandCopy &copy) {
  for (std::int64_t k = 0; k < element_count(copy.view().layout); ++k)
    clear_element(copy.view(), k);
  return std::ranges::any_of(copy.bytes(), [](char byte) { return byte != OperandCopy::pattern; });
}

} // namespace

void Executor::execute_twice(const Specialisation &special, kernel::Operands operands) const {
  using Memory = OperandCopy::Memory;
  const Memory memory = setup_.asks(Debug::memory) ? Memory::Guarded : Memory::Plain;
  const std::size_t inputs = special.input_count;
  std::vector<OperandCopy> read, ours, told;
  std::vector<void *> addresses = kernel::addresses_of(operands);
  for (std::size_t i = 0; i < inputs && memory == Memory::Guarded; ++i) {
    const kernel::Reach reach = special.operands[i].reach;
    if (operands[i] == nullptr || reach.low == reach.high) continue;
    read.emplace_back(*operands[i], reach, memory).load();
    read.back().forbid_writes();
    addresses[i] = read.back().view().data;
  }
  std::vector<std::size_t> outputs; // those that are wanted
  for (std::size_t k = inputs; k < operands.size(); ++k) {
    if (operands[k] == nullptr) continue;
    outputs.push_back(k - inputs);
    const kernel::Reach reach = special.operands[k].reach;
    const bool add = setup_.typed.outputs[k - inputs].add;
    ours.push_back(prepared(*operands[k], reach, add, memory));
    told.push_back(prepared(*operands[k], reach, add, Memory::Plain));
  }
  const auto invoke_with = [&](const std::vector<OperandCopy> &copies, bool interpreted) {
    for (std::size_t k = 0; k < outputs.size(); ++k)
      addresses[inputs + outputs[k]] = copies[k].view().data;
    invoke(special, addresses.data(), interpreted);
  };
  invoke_with(ours, false);
  if (memory == Memory::Guarded && is_asked(Fault::WriteBefore))
    *(ours.front().bytes().data() - 1) = 0;
  if (setup_.compares) invoke_with(told, true);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const AnyView &got = ours[k].view(), &wanted = told[k].view();
    const std::string what = fmt::format("kernel '{}', output '{}'", setup_.typed.name,
                                         setup_.typed.outputs[outputs[k]].name);
    const auto ir = [&] { return loop::print(special.pattern->program); };
    if (const std::int64_t at = setup_.compares ? first_difference(got, wanted) : -1; at >= 0)
      support::bug(fmt::format("{}: native code and the interpreter differ at {}: {} and {}", what,
                               checked::position_text(checked::indices_of(got.layout, at)),
                               checked::value_text(checked::element_at(got, at), got.dtype),
                               checked::value_text(checked::element_at(wanted, at), got.dtype)),
                   ir());
    if (ours[k].is_touched_before())
      support::bug(what + ": native code writes before the first element", ir());
    const std::vector<char> result(ours[k].bytes().begin(), ours[k].bytes().end());
    if (is_written_between(ours[k]) || (setup_.compares && is_written_between(told[k])))
      support::bug(what + ": a store between the elements", ir());
    std::ranges::copy(result, ours[k].bytes().begin());
  }
  for (const OperandCopy &copy : ours) copy.store();
}

} // namespace broadloom::jit
