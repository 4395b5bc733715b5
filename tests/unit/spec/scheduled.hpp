// Kernels with schedules, for the tests of these: mistakes, bytes of results, what was decided.
#pragma once

#include <broadloom/broadloom.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace broadloom::scheduled {

using Shape = std::vector<std::int64_t>;

inline std::string code_of(const std::string &statements) {
  try {
    check(parse("kernel k { " + statements + " }"));
  } catch (const Error &error) {
    return error.code();
  }
  return {};
}

inline Array numbers(const Shape &shape) {
  const Array array(f32, shape);
  for (std::int64_t k = 0; k < array.size(); ++k)
    array.data<float>()[k] = float(double(k * 7919 % 1009) / 700 + 0.1);
  return array;
}

using Inputs = std::vector<std::pair<std::string, Shape>>;

struct Ran {
  std::vector<std::vector<char>> bytes; // of each output
  std::vector<Decision> why;
};

inline Ran run(const LoopSpec &spec, const Inputs &inputs, const Options &options) {
  const Kernel kernel = compile(spec, options);
  std::vector<Array> arrays;
  std::vector<NamedView> given;
  for (const auto &[name, shape] : inputs) arrays.push_back(numbers(shape));
  for (std::size_t k = 0; k < inputs.size(); ++k) given.push_back({inputs[k].first, arrays[k]});
  Ran ran;
  for (const auto &[name, array] : kernel.call(given)) {
    const auto *data = static_cast<const char *>(array.raw());
    ran.bytes.emplace_back(data, data + std::size_t(array.size()) * size_of(array.dtype()));
  }
  ran.why = kernel.why();
  return ran;
}

// What `why` tells of a clause: "wish-met: lanes along i", for each phase or loop.
inline std::vector<std::string> told(const std::vector<Decision> &why, const std::string &clause) {
  std::vector<std::string> lines;
  for (const Decision &d : why)
    if (d.topic == "schedule" && d.subject == clause) lines.push_back(d.code + ": " + d.choice);
  return lines;
}

inline bool holds(const std::vector<std::string> &lines, const std::string &line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

} // namespace broadloom::scheduled
