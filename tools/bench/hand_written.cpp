// See hand_written.hpp.
#include "bench/hand_written.hpp"

#include "bench/loops.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace bl = broadloom;

namespace bench {

const Loops *loops_here() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return &loops_v4;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c"))
    return &loops_v3;
  return nullptr;
}

namespace {

constexpr std::int64_t block_elements = 64 * 1024; // of one task

// Calls f(lo, hi) on pieces of 0 .. units - 1, in parallel where there is more than one piece.
template <class F> void spread(std::int64_t units, std::int64_t elements, const F &f) {
  const std::int64_t grain =
      std::max<std::int64_t>(1, block_elements * units / std::max<std::int64_t>(elements, 1));
  // Pieces begin at multiples of 64 units where there are many, so that lines of memory stay whole.
  const std::int64_t step = grain >= 64 ? grain / 64 * 64 : grain;
  const std::int64_t pieces = (units + step - 1) / step;
  if (pieces <= 2) return f(std::int64_t(0), units);
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, pieces), [&](const auto &range) {
    f(range.begin() * step, std::min(units, range.end() * step));
  });
}

// What a loop counts in, and so what can run in parallel.
enum class Over {
  Elements,
  Rows,
  RowsOf1024,
  BlocksOf64Rows,
  Pixels,
  OuterPairs,
  Outermost,
  Columns,
  OutputRows,
  StencilRows,
  ImageRows
};

enum class Finish { Sum, Mean };

struct Entry {
  std::string_view key;
  Over over;
  MapLoop Loops::*map = nullptr;
  FoldLoop Loops::*fold = nullptr;
  Finish finish = Finish::Sum;
};

constexpr Entry entries[] = {
    {"triad", Over::Elements, &Loops::triad},
    {"map", Over::Elements, &Loops::map},
    {"gelu", Over::Elements, &Loops::gelu},
    {"black_scholes", Over::Elements, &Loops::black_scholes},
    {"triad_i32", Over::Elements, &Loops::triad_i32},
    {"triad_f16", Over::Elements, &Loops::triad_f16},
    {"triad_bf16", Over::Elements, &Loops::triad_bf16},
    {"clip_u8", Over::Elements, &Loops::clip_u8},
    {"affine", Over::Rows, &Loops::affine},
    {"add_transposed", Over::BlocksOf64Rows, &Loops::add_transposed},
    {"scale", Over::Rows, &Loops::scale_strided},
    {"softmax", Over::Rows, &Loops::softmax},
    {"layernorm", Over::Rows, &Loops::layernorm},
    {"sum_rows", Over::Rows, &Loops::sum_rows},
    {"mean_rows", Over::Rows, &Loops::mean_rows},
    {"row_scale/x", Over::RowsOf1024, &Loops::row_scale_dx},
    {"image_scale", Over::Pixels, &Loops::image_scale},
    {"image_bytes", Over::Pixels, &Loops::image_bytes},
    {"permuted", Over::OuterPairs, &Loops::permuted},
    {"gather_rows", Over::OutputRows, &Loops::gather_rows},
    {"jacobi", Over::StencilRows, &Loops::jacobi},
    {"sobel", Over::StencilRows, &Loops::sobel},
    {"depthwise", Over::ImageRows, &Loops::depthwise},
    {"max_pool", Over::ImageRows, &Loops::max_pool},
    {"max_pool_3", Over::ImageRows, &Loops::max_pool_3},
    {"sum", Over::Elements, nullptr, &Loops::sum},
    {"distance", Over::Elements, nullptr, &Loops::distance},
    {"sum_columns", Over::Rows, nullptr, &Loops::sum_columns},
    {"sum_columns of few rows", Over::Columns, &Loops::sum_of_columns},
    {"weighted_columns", Over::Rows, nullptr, &Loops::weighted_columns},
    {"image_mean", Over::Pixels, nullptr, &Loops::image_mean, Finish::Mean},
    {"row_scale/row", Over::Outermost, nullptr, &Loops::row_scale_drow},
    {"cumsum", Over::Elements, nullptr, &Loops::cumsum},
};

const Entry *find_entry(std::string_view key) {
  const auto found = std::find_if(std::begin(entries), std::end(entries),
                                  [&](const Entry &entry) { return entry.key == key; });
  return found == std::end(entries) ? nullptr : found;
}

std::int64_t units_of(Over over, const Operands &o, std::int64_t elements) {
  switch (over) {
  case Over::Elements: return elements;
  case Over::Rows: return o.rows;
  case Over::RowsOf1024: return elements / 1024;
  case Over::BlocksOf64Rows: return o.rows / 64;
  case Over::Pixels: return elements / 3;
  case Over::OuterPairs: return elements >> 16;
  case Over::Outermost: return o.rows;
  case Over::Columns: return o.columns;
  case Over::OutputRows: return elements / o.columns;
  case Over::StencilRows: return o.rows - 2;
  case Over::ImageRows: return elements / (56 * 64);
  }
  throw std::logic_error("units_of");
}

// Each piece folds into sums of its own; these are added in the order of the pieces.
void fold(const Entry &entry, FoldLoop loop, const Operands &o, std::int64_t units,
          const bl::Array &result) {
  const std::int64_t count = result.size();
  const std::int64_t pieces = std::clamp<std::int64_t>(units / 64, 1, 64);
  std::vector<double> sums(std::size_t(pieces * count));
  tbb::parallel_for(std::int64_t(0), pieces, [&](std::int64_t p) {
    loop(o, units * p / pieces, units * (p + 1) / pieces, sums.data() + p * count);
  });
  const double factor = entry.finish == Finish::Mean ? 1 / double(units) : 1;
  for (std::int64_t c = 0; c < count; ++c) {
    double total = 0;
    for (std::int64_t p = 0; p < pieces; ++p) total += sums[std::size_t(p * count + c)];
    result.data<float>()[c] = float(total * factor);
  }
}

// The totals of all pieces, then the running sums of each.
void running_sums(const Loops &loops, const Operands &o, std::int64_t n) {
  const std::int64_t pieces = (n + block_elements - 1) / block_elements;
  const auto bounds = [&](std::int64_t p) { return std::min(n, p * block_elements); };
  std::vector<double> starts(std::size_t(pieces + 1));
  tbb::parallel_for(std::int64_t(0), pieces, [&](std::int64_t p) {
    loops.sum(o, bounds(p), bounds(p + 1), &starts[std::size_t(p + 1)]);
  });
  for (std::size_t p = 0; p + 1 < starts.size(); ++p) starts[p + 1] += starts[p];
  tbb::parallel_for(std::int64_t(0), pieces, [&](std::int64_t p) {
    double start = starts[std::size_t(p)];
    loops.cumsum(o, bounds(p), bounds(p + 1), &start);
  });
}

bool is_contiguous(const bl::Array &array) {
  const bl::Layout dense = bl::contiguous_layout(array.shape());
  for (int d = 0; d < array.rank(); ++d)
    if (dense.extents[d] > 1 && dense.strides[d] != array.strides()[std::size_t(d)]) return false;
  return true;
}

// Whether the operands lie as the loops assume.
bool fits(const std::string &key, const std::vector<bl::Array> &inputs,
          const std::vector<bl::Array> &outputs) {
  for (const bl::Array &output : outputs)
    if (!is_contiguous(output)) return false;
  if (key == "scale")
    return inputs[0].rank() == 2 && inputs[0].strides()[0] == 2 * 4096 &&
           inputs[0].strides()[1] == 3;
  return std::all_of(inputs.begin(), inputs.end(), is_contiguous);
}

HandWritten make(const Loops &loops, const Entry &entry, const std::vector<bl::Array> &inputs,
                 const std::vector<bl::Array> &outputs, bool stream) {
  HandWritten result;
  result.name = stream ? "C++ streaming" : "C++";
  Operands o;
  for (std::size_t k = 0; k < inputs.size() && k < 4; ++k) o.in[k] = inputs[k].raw();
  for (const bl::Array &output : outputs)
    result.outputs.emplace_back(output.dtype(), output.shape());
  for (std::size_t k = 0; k < outputs.size() && k < 2; ++k) o.out[k] = result.outputs[k].raw();
  const bool by_outputs = entry.over == Over::OutputRows || entry.over == Over::ImageRows;
  const std::int64_t elements = by_outputs ? outputs[0].size() : inputs[0].size();
  o.rows = inputs[0].rank() > 0 ? inputs[0].shape()[0] : 1;
  o.columns = o.rows > 0 ? inputs[0].size() / o.rows : 0;
  o.stream = stream;
  const std::int64_t units = units_of(entry.over, o, elements);
  const bl::Array first = result.outputs[0];
  // The arrays are captured so that they live as long as the call.
  if (entry.fold == &Loops::cumsum)
    result.call = [&loops, o, elements, inputs, first] { running_sums(loops, o, elements); };
  else if (entry.fold != nullptr)
    result.call = [&loops, &entry, o, units, inputs, first] {
      fold(entry, loops.*entry.fold, o, units, first);
    };
  else
    result.call = [&loops, &entry, o, units, elements, inputs, first] {
      spread(units, elements,
             [&](std::int64_t lo, std::int64_t hi) { (loops.*entry.map)(o, lo, hi); });
    };
  return result;
}

// Large outputs are worth a second way of storing.
bool may_stream(const Entry &entry, const std::vector<bl::Array> &outputs) {
  return entry.map != nullptr && entry.over != Over::Pixels && entry.over != Over::OuterPairs &&
         entry.over != Over::OutputRows && entry.over != Over::ImageRows &&
         outputs[0].size() >= 1 << 20;
}

void move_by_hand(int reads, const Operands &o, std::int64_t n) {
  const Loops *loops = loops_here();
  if (loops == nullptr) throw std::runtime_error("the benchmark needs a machine with AVX2");
  spread(n, n, [&](std::int64_t lo, std::int64_t hi) { loops->move(reads, o, lo, hi); });
}

} // namespace

std::vector<HandWritten> find_hand_written(const std::string &key,
                                           const std::vector<bl::Array> &inputs,
                                           const std::vector<bl::Array> &outputs) {
  const Loops *loops = loops_here();
  const bool few_rows = key == "sum_columns" && inputs[0].shape()[0] < 64;
  const Entry *entry = find_entry(few_rows ? "sum_columns of few rows" : key);
  if (loops == nullptr || entry == nullptr || !fits(key, inputs, outputs)) return {};
  std::vector<HandWritten> result;
  result.push_back(make(*loops, *entry, inputs, outputs, false));
  if (may_stream(*entry, outputs)) result.push_back(make(*loops, *entry, inputs, outputs, true));
  return result;
}

void read_write_by_hand(const float *a, float *z, std::int64_t n, bool stream) {
  move_by_hand(1, {{a}, {z}, 1, n, stream}, n);
}

void read_read_write_by_hand(const float *a, const float *b, float *z, std::int64_t n,
                             bool stream) {
  move_by_hand(2, {{a, b}, {z}, 1, n, stream}, n);
}

} // namespace bench
