// See roofline.hpp.
#include "tools/broadloom/cli/roofline.hpp"

#include "reference/shapes.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace broadloom::cli {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

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

double best_ns(const Kernel &kernel, const std::vector<Array> &inputs,
               const std::vector<Array> &outputs, double seconds) {
  const std::vector<AnyView> in(inputs.begin(), inputs.end()), out(outputs.begin(), outputs.end());
  kernel.run(in, out);
  return time_calls([&] { kernel.run(in, out); }, seconds).least;
}

// Operations per ns of a chain of fma at each element, long enough to hide loads and stores.
double peak(const char *dtype, const Options &options) {
  constexpr int length = 128;
  constexpr std::int64_t elements = 1 << 18;
  std::string value = "x";
  for (int k = 0; k < length; ++k) value = "fma(" + value + ", x, x)";
  const Kernel kernel =
      compile(parse(std::string("kernel peak { in x : ") + dtype + "[:]; out z = " + value + " }"),
              options);
  const DType type = *dtype_from_name(dtype);
  const double ns = best_ns(kernel, {filled(type, elements)}, {filled(type, elements)}, 0.03);
  return 2.0 * length * double(elements) / ns;
}

} // namespace

Timing time_calls(const std::function<void()> &call, double seconds) {
  constexpr double shortest_batch = 20e3; // ns: the clock takes some 30 itself
  constexpr std::size_t least_batches = 5, most_batches = 10'000;
  std::int64_t batch = 1;
  const auto run_batch = [&] {
    const auto start = Clock::now();
    for (std::int64_t k = 0; k < batch; ++k) call();
    return since(start);
  };
  const auto begin = Clock::now();
  double once = run_batch();
  while (once < shortest_batch && batch < (1 << 20)) {
    batch *= 2;
    once = run_batch();
  }
  std::vector<double> ns{once / double(batch)};
  while (ns.size() < most_batches && (ns.size() < least_batches || since(begin) < seconds * 1e9))
    ns.push_back(run_batch() / double(batch));
  std::sort(ns.begin(), ns.end());
  return {ns[ns.size() / 2], ns.front(), ns.back(), std::int64_t(ns.size()) * batch};
}

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
  for (std::uint32_t n = 0; n < spec.graph.size(); ++n) {
    const expr::NodeId id{n};
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

double Roofline::bytes_per_ns(double bytes) const {
  if (bytes <= bandwidth.front().first) return bandwidth.front().second;
  for (std::size_t k = 1; k < bandwidth.size(); ++k) {
    const auto [low, slow] = bandwidth[k - 1];
    const auto [high, fast] = bandwidth[k];
    if (bytes > high) continue;
    const double share = std::log(bytes / low) / std::log(high / low);
    return slow + share * (fast - slow);
  }
  return bandwidth.back().second;
}

Roofline measure_roofline(const Options &given) {
  Options options = given;
  options.engine = Engine::automatic;
  const Kernel copy = compile(parse("kernel copy { in x : f32[:]; out z = x * 1.5 }"), options);
  const Kernel most = compile(parse("kernel most { in x : f32[:]; out z = max(x) }"), options);
  Roofline roofline;
  roofline.threads = copy.threads();
  const Array one(f32, {});
  for (const double kib : {16.0, 256.0, 2048.0, 16384.0, 131072.0}) {
    const double bytes = kib * 1024;
    const Array x = filled(f32, std::int64_t(bytes) / 4);
    const Array half = filled(f32, std::int64_t(bytes) / 8), z = filled(f32, half.size());
    const double ns = std::min(best_ns(copy, {half}, {z}, 0.015), best_ns(most, {x}, {one}, 0.015));
    roofline.bandwidth.emplace_back(bytes, bytes / ns);
  }
  roofline.operations_32 = peak("f32", options);
  roofline.operations_64 = peak("f64", options);
  return roofline;
}

} // namespace broadloom::cli
