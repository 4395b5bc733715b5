// What a device does in a call between nests: it copies, fills, looks positions up, gathers and
// adds up what is scattered.
//
// Problem: these steps have no loop program, and no array may go to the host for them.
// Method: each is a function of its arguments and of the number of a thread among many, written
// once. clang makes PTX of it when Broadloom is built (step_ptx.cpp); the played device calls the
// same functions (steps.cpp). No thread reads what another one writes in the same step, but for
// counts, which are added to atomically and whose order tells nothing.
// Example: device.step(Step::Count, &arguments, arguments.points);
#pragma once

#include <stdint.h> // what clang itself has: there is no library for a device

namespace broadloom::jit::gpu {

inline constexpr int most_dims = 16;   // of an array
inline constexpr int most_indices = 4; // that a step takes positions from

struct Threads { // this one's number, of so many
  int64_t number, count;
};

// Points of a box in C order.
struct Box {
  int64_t points = 0, rank = 0, extents[most_dims] = {};

  // visit(dim, position) for each dim of a point.
  template <class Visit> void place(int64_t point, Visit visit) const {
    if (points >> 32 == 0) { // most divide by small numbers, which is much faster
      auto left = uint32_t(point);
      for (int64_t d = rank; d-- > 0; left /= uint32_t(extents[d]))
        visit(d, int64_t(left % uint32_t(extents[d])));
    } else {
      for (int64_t d = rank; d-- > 0; point /= extents[d]) visit(d, point % extents[d]);
    }
  }
};

struct Wide {
  uint64_t parts[2];
};
template <int size> struct ElementOf;
template <> struct ElementOf<1> {
  using Type = uint8_t;
};
template <> struct ElementOf<2> {
  using Type = uint16_t;
};
template <> struct ElementOf<4> {
  using Type = uint32_t;
};
template <> struct ElementOf<8> {
  using Type = uint64_t;
};
template <> struct ElementOf<16> {
  using Type = Wide;
};

// Elements of `from` go to `to`; a number where it is null. Steps in elements.
struct CopyStep {
  Box box = {};
  const void *from = nullptr;
  void *to = nullptr;
  int64_t from_steps[most_dims] = {}, to_steps[most_dims] = {};
  Wide number = {};
};
template <int size> void copy(const CopyStep &step, Threads threads) {
  using T = typename ElementOf<size>::Type;
  T number;
  __builtin_memcpy(&number, &step.number, size);
  for (int64_t point = threads.number; point < step.box.points; point += threads.count) {
    int64_t from = 0, to = 0;
    step.box.place(point, [&](int64_t d, int64_t position) {
      from += position * step.from_steps[d];
      to += position * step.to_steps[d];
    });
    static_cast<T *>(step.to)[to] =
        step.from != nullptr ? static_cast<const T *>(step.from)[from] : number;
  }
}

// 0, 1, 2 ..
struct CountStep {
  int64_t points = 0;
  int64_t *to = nullptr;
};
inline void count(const CountStep &step, Threads threads) {
  for (int64_t point = threads.number; point < step.points; point += threads.count)
    step.to[point] = point;
}

// The positions that a window reads along a dim (kernel/positions.hpp). The flag is set where one
// is outside, or numbers grow too large here: the host then does this step, and says what is wrong.
struct IndexOfStep {
  const void *from = nullptr;
  int64_t type = 0; // bytes of an element, negative where it has a sign
  int64_t times = 0, steps[most_dims] = {};
};
struct PositionsStep {
  enum : int64_t { fails, clips, wraps };
  Box box = {};
  int64_t times[most_dims] = {}, start = 0, extent = 0, divisor = 1, outside = fails;
  int64_t stands = 0, may_leave = 0, indices = 0;
  IndexOfStep index[most_indices] = {};
  int64_t *to = nullptr;
  int32_t *flag = nullptr;
};
inline int64_t element_of_index(const IndexOfStep &index, int64_t at) {
  switch (index.type) {
  case -1: return static_cast<const int8_t *>(index.from)[at];
  case -2: return static_cast<const int16_t *>(index.from)[at];
  case -4: return static_cast<const int32_t *>(index.from)[at];
  case 1: return static_cast<const uint8_t *>(index.from)[at];
  case 2: return static_cast<const uint16_t *>(index.from)[at];
  case 4: return static_cast<const uint32_t *>(index.from)[at];
  default: return static_cast<const int64_t *>(index.from)[at];
  }
}
inline void positions(const PositionsStep &step, Threads threads) {
  for (int64_t point = threads.number; point < step.box.points; point += threads.count) {
    int64_t places[most_dims], affine = step.start, elements = 0;
    step.box.place(point, [&](int64_t d, int64_t position) {
      places[d] = position;
      affine += step.times[d] * position;
    });
    bool is_large = false;
    for (int64_t k = 0; k < step.indices; ++k) {
      const IndexOfStep &index = step.index[k];
      int64_t at = 0, part = 0;
      for (int64_t d = 0; d < step.box.rank; ++d) at += places[d] * index.steps[d];
      const int64_t value = element_of_index(index, at);
      is_large = is_large || (index.type == 8 && value < 0) ||
                 __builtin_mul_overflow(index.times, value, &part) ||
                 __builtin_add_overflow(elements, part, &elements);
    }
    bool is_there = true;
    if (step.stands != 0) affine = 0;
    if (step.divisor != 1) {
      is_there = affine % step.divisor == 0;
      affine /= step.divisor;
    }
    int64_t position = 0;
    is_large = is_large || __builtin_add_overflow(affine, elements, &position);
    if (is_there && (position < 0 || position >= step.extent)) {
      if (step.extent == 0 || step.outside == PositionsStep::fails)
        is_there = false;
      else if (step.outside == PositionsStep::clips)
        position = position < 0 ? 0 : step.extent - 1;
      else if ((position %= step.extent) < 0)
        position += step.extent;
    }
    step.to[point] = is_there ? position : -1;
    if (is_large || (!is_there && step.may_leave == 0)) *step.flag = 1;
  }
}

// Elements at listed positions; 0 where one is not there.
struct ListOfStep {
  const int64_t *entries = nullptr;
  int64_t stride = 0, steps[most_dims] = {}; // of the array, and of the entries
};
struct GatherStep {
  Box box = {};
  const void *from = nullptr;
  void *to = nullptr; // in C order
  int64_t steps[most_dims] = {}, lists = 0;
  ListOfStep list[most_indices] = {};
};
template <int size> void gather(const GatherStep &step, Threads threads) {
  using T = typename ElementOf<size>::Type;
  for (int64_t point = threads.number; point < step.box.points; point += threads.count) {
    int64_t from = 0;
    step.box.place(point, [&](int64_t d, int64_t position) { from += position * step.steps[d]; });
    bool is_there = true;
    for (int64_t k = 0; k < step.lists; ++k) {
      const ListOfStep &list = step.list[k];
      int64_t at = 0;
      step.box.place(point, [&](int64_t d, int64_t position) { at += position * list.steps[d]; });
      const int64_t position = list.entries[at];
      is_there = is_there && position >= 0;
      from += position * list.stride;
    }
    static_cast<T *>(step.to)[point] = is_there ? static_cast<const T *>(step.from)[from] : T{};
  }
}

// A sum through a gather, in five steps: where each point's value goes, and how many go to each
// place; where each place's points begin in a list; the points, listed as they come; those of a
// place in their order; the sums, each of which adds its values one after the other. No order of
// threads shows in them.
struct LookedUpOfStep { // a dim of the sum: listed, or start + times * place
  enum : int64_t { none = -1, constant, edge, wrap, reflect };
  const int64_t *entries = nullptr;
  int64_t start = 0, steps[most_dims] = {}; // of the entries, or times
  int64_t extent = 0, stride = 0, dense = 0, pad = none, before = 0;
};
struct ScatterStep {
  Box walked = {}; // points that come together
  int64_t steps[most_dims] = {};
  Box kept = {}; // elements of each point
  int64_t kept_from[most_dims] = {}, kept_to[most_dims] = {};
  int64_t places = 0, looked_up = 0;
  LookedUpOfStep dim[most_indices] = {};
  const void *values = nullptr;
  void *to = nullptr;
  int64_t *place = nullptr, *order = nullptr;                      // [point]
  int64_t *counts = nullptr, *begins = nullptr, *listed = nullptr; // [place]; zeros at first
  int64_t *end = nullptr;                                          // of the list; zero at first
};
// The element of a dim that is read at a position of its padding; -1 where a number is.
inline int64_t unpadded(const LookedUpOfStep &dim, int64_t position) {
  if (dim.pad == LookedUpOfStep::none) return position;
  const auto rest = [](int64_t at, int64_t period) {
    return at % period < 0 ? at % period + period : at % period;
  };
  const int64_t at = position - dim.before, period = 2 * (dim.extent - 1);
  if (at >= 0 && at < dim.extent) return at;
  if (dim.pad == LookedUpOfStep::edge) return at < 0 ? 0 : dim.extent - 1;
  if (dim.pad == LookedUpOfStep::wrap) return rest(at, dim.extent);
  if (dim.pad == LookedUpOfStep::reflect) {
    const int64_t turned = rest(at, period < 1 ? 1 : period);
    return turned < period - turned ? turned : period - turned;
  }
  return -1;
}
inline void scatter_places(const ScatterStep &step, Threads threads) {
  for (int64_t point = threads.number; point < step.walked.points; point += threads.count) {
    int64_t place = 0;
    for (int64_t k = 0; k < step.looked_up; ++k) {
      const LookedUpOfStep &dim = step.dim[k];
      int64_t at = dim.start;
      step.walked.place(point, [&](int64_t d, int64_t position) { at += position * dim.steps[d]; });
      const int64_t position = unpadded(dim, dim.entries != nullptr ? dim.entries[at] : at);
      place = (position | place) < 0 ? -1 : place + position * dim.dense;
    }
    step.place[point] = place;
    if (place >= 0) __atomic_fetch_add(&step.counts[place], 1, __ATOMIC_RELAXED);
  }
}
inline void scatter_begins(const ScatterStep &step, Threads threads) {
  for (int64_t place = threads.number; place < step.places; place += threads.count)
    if (step.counts[place] > 0)
      step.begins[place] = __atomic_fetch_add(step.end, step.counts[place], __ATOMIC_RELAXED);
}
inline void scatter_lists(const ScatterStep &step, Threads threads) {
  for (int64_t point = threads.number; point < step.walked.points; point += threads.count) {
    const int64_t place = step.place[point];
    if (place < 0) continue;
    const int64_t at = __atomic_fetch_add(&step.listed[place], 1, __ATOMIC_RELAXED);
    step.order[step.begins[place] + at] = point;
  }
}
inline void scatter_orders(const ScatterStep &step, Threads threads) { // each heap is sorted
  for (int64_t place = threads.number; place < step.places; place += threads.count) {
    int64_t *const list = step.order + step.begins[place];
    const int64_t count = step.counts[place];
    const auto sink = [&](int64_t at, int64_t end) {
      const int64_t moved = list[at];
      for (int64_t child = 2 * at + 1; child < end; child = 2 * at + 1) {
        if (child + 1 < end && list[child + 1] > list[child]) ++child;
        if (list[child] <= moved) break;
        list[at] = list[child];
        at = child;
      }
      list[at] = moved;
    };
    for (int64_t at = count / 2; at-- > 0;) sink(at, count);
    for (int64_t end = count; end-- > 1;) {
      const int64_t most = list[0];
      list[0] = list[end];
      list[end] = most;
      sink(0, end);
    }
  }
}
template <class T> struct PairOf {
  T parts[2];
};
template <class T> T sum_of(T a, T b) { return T(a + b); }
inline bool sum_of(bool a, bool b) { return a || b; }
template <class T> PairOf<T> sum_of(PairOf<T> a, PairOf<T> b) {
  return {{a.parts[0] + b.parts[0], a.parts[1] + b.parts[1]}};
}
template <class T> void scatter_sums(const ScatterStep &step, Threads threads) {
  const int64_t points = step.places * step.kept.points;
  for (int64_t point = threads.number; point < points; point += threads.count) {
    const int64_t place = point / step.kept.points;
    int64_t from = 0, to = 0, left = place;
    step.kept.place(point % step.kept.points, [&](int64_t d, int64_t position) {
      from += position * step.kept_from[d];
      to += position * step.kept_to[d];
    });
    for (int64_t k = 0; k < step.looked_up; ++k) {
      to += left / step.dim[k].dense * step.dim[k].stride;
      left %= step.dim[k].dense;
    }
    T sum = {};
    for (int64_t n = 0; n < step.counts[place]; ++n) {
      int64_t at = from;
      step.walked.place(step.order[step.begins[place] + n],
                        [&](int64_t d, int64_t position) { at += position * step.steps[d]; });
      sum = sum_of(sum, static_cast<const T *>(step.values)[at]);
    }
    static_cast<T *>(step.to)[to] = sum;
  }
}

// BL_STEP(name, arguments, function)
#define BL_STEPS                                                                                   \
  BL_STEP(Copy1, CopyStep, copy<1>)                                                                \
  BL_STEP(Copy2, CopyStep, copy<2>)                                                                \
  BL_STEP(Copy4, CopyStep, copy<4>)                                                                \
  BL_STEP(Copy8, CopyStep, copy<8>)                                                                \
  BL_STEP(Copy16, CopyStep, copy<16>)                                                              \
  BL_STEP(Count, CountStep, count)                                                                 \
  BL_STEP(Positions, PositionsStep, positions)                                                     \
  BL_STEP(Gather1, GatherStep, gather<1>)                                                          \
  BL_STEP(Gather2, GatherStep, gather<2>)                                                          \
  BL_STEP(Gather4, GatherStep, gather<4>)                                                          \
  BL_STEP(Gather8, GatherStep, gather<8>)                                                          \
  BL_STEP(Gather16, GatherStep, gather<16>)                                                        \
  BL_STEP(ScatterPlaces, ScatterStep, scatter_places)                                              \
  BL_STEP(ScatterBegins, ScatterStep, scatter_begins)                                              \
  BL_STEP(ScatterLists, ScatterStep, scatter_lists)                                                \
  BL_STEP(ScatterOrders, ScatterStep, scatter_orders)                                              \
  BL_STEP(SumBool, ScatterStep, scatter_sums<bool>)                                                \
  BL_STEP(Sum8, ScatterStep, scatter_sums<uint8_t>)                                                \
  BL_STEP(Sum16, ScatterStep, scatter_sums<uint16_t>)                                              \
  BL_STEP(Sum32, ScatterStep, scatter_sums<uint32_t>)                                              \
  BL_STEP(Sum64, ScatterStep, scatter_sums<uint64_t>)                                              \
  BL_STEP(SumF32, ScatterStep, scatter_sums<float>)                                                \
  BL_STEP(SumF64, ScatterStep, scatter_sums<double>)                                               \
  BL_STEP(SumC64, ScatterStep, scatter_sums<PairOf<float>>)                                        \
  BL_STEP(SumC128, ScatterStep, scatter_sums<PairOf<double>>)

enum class Step {
#define BL_STEP(name, arguments, function) name,
  BL_STEPS
#undef BL_STEP
};

} // namespace broadloom::jit::gpu
