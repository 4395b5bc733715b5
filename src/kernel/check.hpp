// Everything about the arguments of a call that is checked before a byte is written.
//
// Each function throws for the first mistake it finds; the place of the error is the declaration of
// the operand.
#pragma once

#include "kernel/operands.hpp"
#include "spec/spec.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace broadloom::kernel {

// Operands by name: their index among the inputs or the outputs.
struct Names {
  explicit Names(const spec::TypedSpec &spec);
  std::unordered_map<std::string_view, std::size_t> inputs, outputs; // into the spec's strings
};

// E0308: not as many as declared.
void check_counts(const spec::TypedSpec &spec, std::size_t inputs, std::size_t outputs);
void check_input_count(const spec::TypedSpec &spec, std::size_t inputs);

// The operands in declared order. E0308: missing, unknown, twice; an output may be missing.
std::vector<const AnyView *> by_name(const spec::TypedSpec &spec, const Names &names,
                                     std::span<const NamedView> inputs,
                                     std::span<const NamedView> outputs);

// E0203 (dtypes), E0101 (ranks), E0110..E0112 (layouts that cannot be), E0309 (read-only outputs).
void check_operands(const spec::TypedSpec &spec, Operands operands);

// E0120 (the shape of an output is not that of its expression), E0122 (an output overlaps itself).
void check_outputs(const spec::TypedSpec &spec, const Layouts &layouts,
                   const std::vector<std::vector<std::int64_t>> &shapes);

// [input]: does any output read its elements? Of the others, as x of broadcast(like=x), only the
// shape matters, and the pointer may be anything.
std::vector<bool> elements_read(const spec::TypedSpec &spec);

// E0306 (null), E0309 (read-only), E0310 (misaligned).
void check_pointers(const spec::TypedSpec &spec, Operands operands);
// Whether elements may lie there: else E0306 or E0310.
bool has_memory(const AnyView &view);
// The same of one operand, whose elements are read or written.
void check_pointer(const spec::TypedSpec &spec, std::size_t operand, const AnyView &view);

// E0306, E0310: of the arrays that a gather needs at once, before any other input is looked at.
// `operands` are all inputs before it. `elements` says whether those of the array that it is of are
// read, too, and not its shape alone.
void check_gathered(const spec::TypedSpec &spec, std::size_t window, Operands operands,
                    bool elements);

// E0121: two outputs share memory.
void check_apart(const spec::TypedSpec &spec, Operands operands);

} // namespace broadloom::kernel
