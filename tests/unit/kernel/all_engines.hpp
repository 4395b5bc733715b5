// One kernel in every engine: all have the shapes and the bits of the reference, which looks at
// every element by itself.
#pragma once

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace broadloom::tests {

inline Options with(Engine engine, int threads = 1) {
  Options options;
  options.engine = engine;
  options.threads = threads;
  return options;
}

inline std::vector<unsigned char> bytes(const Array &array) { // in C order
  const Array copy = array.copy();
  const auto *first = static_cast<const unsigned char *>(copy.raw());
  return {first, first + std::size_t(copy.size()) * size_of(copy.dtype())};
}

// The results of the reference, which all others were compared with.
inline Results in_all_engines(const LoopSpec &spec, const std::vector<NamedView> &inputs) {
  Results truth = compile(spec, with(Engine::reference)).call(inputs);
  for (const Options &options :
       {with(Engine::interpreter), with(Engine::jit), with(Engine::jit, 3)}) {
    const Results got = compile(spec, options).call(inputs);
    for (const auto &[output, array] : truth) {
      INFO(print(spec) << ": " << output);
      CHECK(std::ranges::equal(got[output].shape(), array.shape()));
      CHECK(bytes(got[output]) == bytes(array));
    }
  }
  return truth;
}

inline LoopSpec kernel_of(const std::string &body) { return parse("kernel k { " + body + " }"); }

// The first output.
inline Array run(const std::string &body, const std::vector<NamedView> &inputs) {
  return in_all_engines(kernel_of(body), inputs).begin()->second;
}
inline std::vector<double> values(const Array &array) { // of f64, in C order
  const Array dense = array.copy();
  return {dense.data<double>(), dense.data<double>() + dense.size()};
}
inline std::vector<double> values(const std::string &body, const std::vector<NamedView> &inputs) {
  return values(run(body, inputs));
}

// All outputs of a kernel whose text reads back as itself.
inline Results results(const std::string &body, const std::vector<NamedView> &inputs) {
  const LoopSpec spec = parse("kernel k {\n" + body + "\n}");
  CHECK(print(parse(print(spec))) == print(spec));
  return in_all_engines(spec, inputs);
}

inline std::vector<std::int64_t> shape_of(const Array &array) {
  const auto shape = array.shape();
  return {shape.begin(), shape.end()};
}

template <class T> std::vector<T> counting(std::size_t count) { // 1, 2, 3, ..
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), T(1));
  return values;
}
inline std::vector<double> first_numbers(std::size_t count) { return counting<double>(count); }

// The code of the error that it throws, or "none".
template <class Call> std::string code_thrown_by(const Call &call) {
  try {
    call();
  } catch (const Error &error) {
    CHECK_FALSE(error.help().empty());
    return error.code();
  }
  return "none";
}
inline std::string code_of(const std::string &body) { // that `check` gives
  return code_thrown_by([&] { check(parse("kernel k {\n" + body + "\n}")); });
}

// The code of the error that all engines give, or "none".
inline std::string code_of(const std::string &body, const std::vector<NamedView> &inputs) {
  std::string code;
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    std::string now = "none";
    try {
      compile(kernel_of(body), with(engine)).call(inputs);
    } catch (const Error &error) {
      now = error.code();
      CHECK_FALSE(error.help().empty());
    }
    CHECK((code.empty() || now == code));
    code = now;
  }
  return code;
}

} // namespace broadloom::tests
