// The plan stage: from a checked spec and the layouts of a call to a loop program.
//
//   TypedSpec + input layouts --resolve--> Resolved --make_plan--> Plan (program, binding, why)
//
// resolve drops axes of size 1, finds which dims share an extent, checks them and gives the shapes
// of the outputs. make_plan sorts the remaining axes by stride, merges neighbours, orders the work
// into phases and nests, and picks vector axes, fold trees and chunks.
//
// The program depends on the pattern only (which dims are 1, the order of strides, which are unit,
// what merges, and a few choices by size), never on the extents, so its code serves all shapes of
// the pattern. All numbers are in the binding.
#pragma once

#include "loop/loop.hpp"
#include "spec/spec.hpp"
#include "support/machine.hpp"

#include <broadloom/array.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace broadloom::plan {

using support::Machine;

struct ClassId {
  std::uint32_t index = 0;
  friend auto operator<=>(const ClassId &, const ClassId &) = default;
};

// The spec for given shapes: axes renamed to classes that each have a single extent.
struct Resolved {
  struct Class {
    std::string name;
    std::int64_t extent = 0;
    std::optional<int> axis =
        0; // of the iteration space; none: a block of positions of another class
  };
  std::vector<Class> classes;
  // For each graph node, the class of each axis of the iteration space (none where it has extent
  // 1), stored flat; for folds, the axes of the argument that are really folded.
  int axis_count = 0;
  std::vector<std::optional<ClassId>> class_of_axis; // [node * axis_count + axis]
  std::vector<expr::AxisSet> folded; // [node]; for extents, the axes that are counted
  std::vector<std::vector<std::optional<ClassId>>> input_classes;  // [input][dim]
  std::vector<std::vector<std::optional<ClassId>>> output_classes; // [output][dim]
  std::vector<std::vector<std::int64_t>> output_shapes;

  const Class &operator[](ClassId id) const { return classes[id.index]; }
  std::optional<ClassId> class_of(expr::NodeId node, int axis) const {
    return class_of_axis[std::size_t(node.index) * std::size_t(axis_count) + std::size_t(axis)];
  }
  // Of an Extent: the classes whose extents it multiplies. Of an Index: that of its axis.
  std::vector<ClassId> counted_classes(const spec::TypedSpec &spec, expr::NodeId extent) const;
  std::optional<ClassId> index_class(const spec::TypedSpec &spec, expr::NodeId index) const;
};

// Throws ShapeError E0101, E0102 (names operands, axes, sizes) and DataError E0307 (min or max of
// nothing for a wanted output, while the result is not empty).
Resolved resolve(const spec::TypedSpec &spec, std::span<const Layout> inputs,
                 const std::vector<bool> &wanted);

// How the schedule wants an axis to be cut into blocks for threads.
enum class Cut : std::uint8_t { AsItFits, First, Never };

// Phases that run together, a block of each after the same block of the one before: see
// interleave.hpp.
struct Interleaving {
  std::vector<std::size_t> phases;    // in order; those between them run later
  std::uint32_t input = 0;            // that all of them go through
  std::int64_t blocks = 0;            // of each phase, along its outermost parallel axis
  std::vector<std::int64_t> granules; // [phase]: positions at whose multiples blocks begin
};

struct Binding {
  std::vector<std::int64_t> extents, chunks, strides; // as loop::Frame
  std::vector<std::int64_t> scratch_bytes;            // [scratch]
  std::vector<std::int64_t> row_bytes;                // [row], for each thread
  std::vector<double> phase_work;                     // [phase]: rough cycles in all
  std::vector<std::vector<Cut>> cuts; // [phase][parallel axis]; empty where nothing is asked
  std::vector<Interleaving> interleavings = {};

  // Of the binding, which must outlive them.
  loop::Numbers numbers() const { return {extents, chunks, strides}; }
};

struct Plan {
  loop::Program program;
  Binding binding;
  // Inputs and outputs of which every element is written after the input at its position was read,
  // for the last time: exact overlap needs no copy.
  struct InPlace {
    std::size_t input = 0, output = 0;
  };
  std::vector<InPlace> in_place;
  std::vector<Decision> why;
};

// Whether the program is for one pattern, or for nearly all of them: see generic.hpp.
enum class Generality : std::uint8_t { Exact, Generic };

// `outputs` has one layout for each output of the spec; `wanted[k]` false skips output k. Without
// `explain` the plan is the same, but for an empty `why`. A generic one gives the same bits, if
// there is one (has_generic). `lies` says how the windows of the spec lie for the trees of folds,
// if not as they do (kernel/viewer.hpp); `near`, by the bits of operands, which a core's caches
// hold.
Plan make_plan(const spec::TypedSpec &spec, const Resolved &resolved,
               std::span<const Layout> inputs, std::span<const Layout> outputs,
               const std::vector<bool> &wanted, const Machine &machine, bool explain = true,
               Generality generality = Generality::Exact, std::span<const Layout> lies = {},
               std::uint64_t near = 0);

// Whether this kernel has generic plans.
bool has_generic(const spec::TypedSpec &spec);

} // namespace broadloom::plan
