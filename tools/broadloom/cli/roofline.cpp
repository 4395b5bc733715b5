// See roofline.hpp.
#include "tools/broadloom/cli/roofline.hpp"

#include "reference/shapes.hpp"

#include <algorithm>
#include <cstring>

namespace broadloom::cli {

namespace {

// Elements in memory: those that a stride of 0 repeats count once.
double bytes_of_elements(const Array &array) {
  double bytes = double(size_of(array.dtype()));
  for (int d = 0; d < array.rank(); ++d)
    if (array.strides()[std::size_t(d)] != 0) bytes *= double(array.shape()[std::size_t(d)]);
  return bytes;
}

double operations_of(ops::Op op, DType dtype) {
  const double one = op == ops::Op::Fma ? 2 : 1;
  return is_complex(dtype) ? 4 * one : one; // roughly: a product is six, a sum two
}

double steps_of(const ops::Recipe &recipe) {
  double operations = 0;
  for (const ops::Code::Line &line : recipe.step.lines)
    if (line.kind == ops::Code::Line::Kind::Op) operations += operations_of(line.op, line.dtype);
  return operations;
}

// Memory that has been written to: pages never touched would all be one and the same.
Array filled(DType dtype, std::int64_t elements) {
  const Array array(dtype, {elements});
  std::memset(array.raw(), 1, std::size_t(elements) * size_of(dtype));
  return array;
}

constexpr int chain_length = 128;
constexpr std::int64_t chain_elements = 1 << 18;

// A chain of fma at each element, long enough to hide loads and stores.
Kernel chain(const char *dtype, const Options &options) {
  std::string value = "x";
  for (int k = 0; k < chain_length; ++k) value = "fma(" + value + ", x, x)";
  return compile(
      parse(std::string("kernel chain { in x : ") + dtype + "[:]; out z = " + value + " }"),
      options);
}

std::function<void()> call_of(const Kernel &kernel, const Array &input, const Array &output) {
  return [kernel, in = std::vector<AnyView>{input}, out = std::vector<AnyView>{output}, input,
          output] { kernel.run(in, out); };
}

} // namespace

Work work_of(const spec::TypedSpec &spec, const std::vector<Array> &inputs,
             const std::vector<Array> &outputs) {
  Work work;
  std::vector<Layout> layouts;
  for (const Array &array : inputs) {
    layouts.push_back(array.layout());
    work.bytes += bytes_of_elements(array);
  }
  for (std::size_t o = 0; o < outputs.size(); ++o)
    work.bytes += bytes_of_elements(outputs[o]) * (spec.outputs[o].add ? 2 : 1);

  const reference::Shapes shapes = reference::shapes_of(spec, layouts);
  const auto points_of = [&](expr::NodeId id) {
    double points = 1;
    for (const reference::Extent &extent : shapes.extents[id.index]) points *= double(extent.count);
    return points;
  };
  double wide = 0;
  for (const expr::NodeId id : spec.graph.ids()) {
    const expr::Node &node = spec.graph[id];
    double points = points_of(id), operations = 0;
    for (const expr::NodeId arg : spec.graph.operands(id))
      points = std::max(points, points_of(arg));
    if (node.kind == expr::NodeKind::Op) operations = operations_of(node.op, node.dtype);
    const bool folds = node.kind == expr::NodeKind::Fold || node.kind == expr::NodeKind::Scan;
    if (folds && node.payload == 0) operations = steps_of(spec.graph.recipe(id));
    work.points = std::max(work.points, points);
    work.operations += points * operations;
    if (size_of(real_dtype(node.dtype)) > 4) wide += points * operations;
  }
  work.wide = wide > work.operations / 2;
  return work;
}

Roof::Roof(const Options &given)
    : copy_(compile(parse("kernel copy { in x : f32[:]; out z = x * 1.5 }"), given)),
      most_(compile(parse("kernel most { in x : f32[:]; out z = max(x) }"), given)),
      chain_32_(chain("f32", given)), chain_64_(chain("f64", given)) {}

Measured Roof::measure(const Work &work, const std::function<void()> &call, double seconds) const {
  const auto elements = std::int64_t(std::clamp(work.bytes, 16.0 * 1024, 128.0 * 1024 * 1024)) / 8;
  std::vector<std::function<void()>> ways{
      call, call_of(copy_, filled(f32, elements), filled(f32, elements)),
      call_of(most_, filled(f32, 2 * elements), Array(f32, {}))};
  const DType type = work.wide ? f64 : f32;
  if (work.operations > 0)
    ways.push_back(call_of(work.wide ? chain_64_ : chain_32_, filled(type, chain_elements),
                           filled(type, chain_elements)));
  return held_against_roof(alternate(ways, seconds), work, double(elements) * 8,
                           2.0 * chain_length * double(chain_elements));
}

Measured held_against_roof(const Rounds &rounds, const Work &work, double bytes,
                           double operations) {
  const std::vector<double> &call = rounds.ns[0], &copy = rounds.ns[1], &most = rounds.ns[2];
  std::vector<double> memory, arithmetic, bound;
  for (std::size_t r = 0; r < call.size(); ++r) {
    memory.push_back(std::min(copy[r], most[r]) * work.bytes / bytes);
    arithmetic.push_back(rounds.ns.size() > 3 ? rounds.ns[3][r] * work.operations / operations : 0);
    bound.push_back(std::max(memory[r], arithmetic[r]));
  }
  Measured measured;
  measured.ns = spread_of(call);
  measured.calls = rounds.calls[0];
  measured.share = paired_ratio(bound, call);
  measured.memory_ns = spread_of(memory).median;
  measured.arithmetic_ns = spread_of(arithmetic).median;
  measured.unrest = std::max(unrest(measured.ns), unrest(spread_of(bound)));
  return measured;
}

} // namespace broadloom::cli
