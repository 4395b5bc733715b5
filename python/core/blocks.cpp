// Folds block by block: `k.unit`, `k.partial`, `k.join`, `k.combine`.
#include "blocks.hpp"

#include "call.hpp"
#include "records.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace broadloom::python {
namespace {

// An array that NumPy keeps.
Array shared(const nb::handle &object, DType dtype) {
  AnyView view;
  Number unused;
  std::vector<nb::object> keep{nb::borrow(object)};
  read_operand(object.ptr(), {"state", dtype, 0, false}, view, unused, keep);
  const auto drop = [](void *kept) {
    const Locked lock;
    delete static_cast<std::vector<nb::object> *>(kept);
  };
  return Array(std::shared_ptr<void>(new std::vector<nb::object>(std::move(keep)), drop), dtype,
               view.data, view.layout);
}

Partial::Piece read_piece(const nb::handle &piece) {
  Partial::Piece made{nb::cast<std::int64_t>(piece.attr("extent")), {}};
  const auto read = [](const nb::handle &arrays, std::vector<Array> &into) {
    for (const nb::handle state : arrays) {
      // What another process sent may lie at any address: then it is copied.
      const nb::object aligned = call(imported("numpy").attr("require"), state, nb::none(), "CA");
      into.push_back(shared(aligned, numpy_dtype(aligned)));
    }
  };
  read(piece.attr("states"), made.states);
  read(piece.attr("scans"), made.scans);
  for (const nb::handle leaf : piece.attr("leaves"))
    made.leaves.push_back(nb::cast<std::int64_t>(leaf));
  return made;
}

Partial read_partial(const nb::handle &block) {
  Partial made;
  try {
    made.axis = nb::cast<std::string>(block.attr("axis"));
    made.offset = nb::cast<std::int64_t>(block.attr("offset"));
    made.extent = nb::cast<std::int64_t>(block.attr("extent"));
    made.unit = nb::cast<std::int64_t>(block.attr("unit"));
    for (const nb::handle piece : block.attr("pieces")) made.pieces.push_back(read_piece(piece));
    for (const nb::handle piece : block.attr("before")) made.before.push_back(read_piece(piece));
  } catch (const nb::cast_error &) {
    throw ArgumentError("E0308", "a block is not what Kernel.partial gives", {},
                        "blocks are broadloom.Partial");
  } catch (nb::python_error &error) {
    if (!error.matches(PyExc_AttributeError) && !error.matches(PyExc_TypeError)) throw;
    throw ArgumentError("E0308", "a block is not what Kernel.partial gives", {},
                        "blocks are broadloom.Partial");
  }
  return made;
}

std::vector<Partial> read_partials(const nb::handle &blocks) {
  std::vector<Partial> made;
  for (const nb::handle block : nb::iter(blocks)) made.push_back(read_partial(block));
  return made;
}

// The inputs of a call, by their names.
struct Named {
  Named(State &state, const nb::args &args, const nb::kwargs &kwargs)
      : arguments(state), numbers(state.inputs.size()) {
    place_all(arguments, state, args, kwargs);
    Inputs inputs(state, arguments, numbers.data(), keep);
    state.memo(inputs.views.data()); // ranks are looked at
    for (std::size_t i = 0; i < state.inputs.size(); ++i)
      views.push_back({state.inputs[i].name, inputs.views[i]});
  }
  Arguments arguments;
  Small<Number> numbers;
  std::vector<nb::object> keep;
  std::vector<NamedView> views;
};

} // namespace

std::int64_t unit(State &state, const std::string &axis, nb::args args, nb::kwargs kwargs) {
  const Named given(state, args, kwargs);
  return state.kernel().unit(axis, given.views);
}

std::int64_t unit_of_shapes(State &state, const std::string &axis, const nb::sequence &shapes) {
  std::vector<NamedView> views;
  for (const nb::handle shape : shapes) {
    const std::vector<std::int64_t> extents = extents_of(shape);
    if (views.size() == state.inputs.size()) break;
    const Slot &slot = state.inputs[views.size()];
    views.push_back({slot.name, {slot.dtype, nullptr, false, contiguous_layout(extents)}});
  }
  return state.kernel().unit(axis, views);
}

nb::object partial(State &state, const nb::object &before, std::int64_t offset, nb::args args,
                   nb::kwargs kwargs) {
  const Named given(state, args, kwargs);
  const Kernel kernel = state.kernel_here();
  Partial made;
  if (nb::isinstance<nb::str>(before)) { // an axis
    const std::string axis = utf8_of(before.ptr());
    run(state, unknown_points, [&] { made = kernel.partial(axis, offset, given.views); });
  } else {
    const Partial known = read_partial(before);
    run(state, unknown_points, [&] { made = kernel.partial(known, offset, given.views); });
  }
  return record_of(made);
}

int rounds(const State &state, const std::string &axis) { return state.kernel().rounds(axis); }

nb::object join(State &state, const nb::handle &blocks) {
  const std::vector<Partial> all = read_partials(blocks);
  const Kernel kernel = state.kernel_here();
  Partial made;
  run(state, unknown_points, [&] { made = kernel.join(all); });
  return record_of(made);
}

nb::object combine(State &state, const nb::handle &blocks, nb::args offset, nb::kwargs kwargs) {
  const std::vector<Partial> all = read_partials(blocks);
  std::optional<std::int64_t> begin;
  if (offset.size() > 0 && !nb::try_cast(offset[0], begin))
    throw ArgumentError("E0308", "where a block begins is an integer", {},
                        "give its position in all of the data behind the blocks, and inputs by "
                        "their names");
  if (offset.size() > 1)
    throw ArgumentError("E0308", "`combine` takes blocks and where one begins by position", {},
                        "give inputs by their names");
  Arguments arguments(state);
  place_all(arguments, state, nb::args(), kwargs);
  std::vector<nb::object> keep;
  Small<Number> numbers(state.inputs.size());
  std::vector<NamedView> inputs;
  for (std::size_t i = 0; i < state.inputs.size(); ++i) {
    AnyView view;
    if (arguments.objects[i] != nullptr)
      read_operand(arguments.objects[i], state.inputs[i], view, numbers[i], keep);
    else if (state.defaults_to_one[i]) {
      write_one(state.inputs[i].dtype, numbers[i]);
      view = {state.inputs[i].dtype, numbers[i].bytes, false, {}};
    } else
      continue;
    inputs.push_back({state.inputs[i].name, view});
  }
  const Kernel kernel = state.kernel_here();
  std::vector<Array> arrays;
  run(state, unknown_points, [&] {
    for (const auto &[name, array] :
         begin ? kernel.combine(all, *begin, inputs) : kernel.combine(all, inputs))
      arrays.push_back(array);
  });
  return joined(state, all_to_python(state, arrays));
}

} // namespace broadloom::python
