// Programs of PolyBench and NPBench: the kernels of this folder in every engine, in f64 and in f32,
// against what their definitions in NumPy give. programs.py has the definitions, writes
// programs.txt and explains its form.
#include "tests/places.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace broadloom {
namespace {

using Words = std::vector<std::string>;

struct Program {
  std::string name, text;
  std::vector<Words> lines; // of programs.txt, from `buffer` on
};

std::vector<Program> all_programs() {
  const std::string folder = std::string(BROADLOOM_SOURCE_DIR) + "/tests/programs/";
  std::ifstream file(folder + "programs.txt");
  REQUIRE(file.good());
  std::vector<Program> programs;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    Words words;
    for (std::string word; in >> word;) words.push_back(word);
    if (words.empty() || words[0] == "#") continue;
    if (words[0] != "program") {
      programs.back().lines.push_back(words);
      continue;
    }
    std::ifstream source(folder + words[1] + ".loom");
    REQUIRE_MESSAGE(source.good(), words[1]);
    std::ostringstream text;
    text << source.rdbuf();
    programs.push_back({words[1], text.str(), {}});
  }
  return programs;
}

std::string in_dtype(std::string text, DType dtype) {
  for (std::size_t at = 0; (at = text.find("f64", at)) != std::string::npos; at += 3)
    text.replace(at, 3, name(dtype));
  return text;
}

double get(const Array &array, std::int64_t k) {
  return array.dtype() == DType::F32 ? double(array.data<float>()[k]) : array.data<double>()[k];
}

// All that a program has in memory, as it runs in one engine.
class Memory {
public:
  Memory(const Program &program, DType dtype, const Options &options)
      : text_(in_dtype(program.text, dtype)), dtype_(dtype), options_(options) {}

  void buffer(const Words &words) {
    const std::size_t colon =
        std::size_t(std::find(words.begin(), words.end(), ":") - words.begin());
    std::vector<std::int64_t> shape;
    for (std::size_t k = colon + 1; k < words.size(); ++k) shape.push_back(std::stoll(words[k]));
    const Array array(dtype_, shape);
    const bool is_number = words[2] == "=";
    const int low = words[2] == "+" ? 1 : -9;
    const double last = std::strtod(words[colon - 1].c_str(), nullptr);
    for (std::int64_t k = 0; k < array.size(); ++k)
      set(array, k, is_number ? last : double((37 * k + 11 * std::int64_t(last)) % 23 + low) / 8);
    arrays_[words[1]] = array;
  }

  void call(const Words &words) {
    const auto arrow = std::find(words.begin(), words.end(), "->");
    const Kernel &kernel = kernel_of(words[1]);
    std::vector<AnyView> inputs, outputs;
    for (auto word = words.begin() + 2; word != arrow; ++word) inputs.push_back(view(*word));
    const std::vector<Signature> made = kernel.infer(inputs);
    REQUIRE(std::size_t(words.end() - arrow - 1) == made.size());
    for (std::size_t k = 0; k < made.size(); ++k) {
      const std::string &word = arrow[1 + std::ptrdiff_t(k)];
      if (word.find('@') == std::string::npos && !arrays_.contains(word))
        arrays_[word] = Array(made[k].dtype, made[k].shape);
      outputs.push_back(view(word));
    }
    kernel.run(inputs, outputs);
  }

  // "" or what is wrong.
  std::string expect(const Words &words) const {
    const Array &got = arrays_.at(words[1]);
    const double units = std::stod(words[2]);
    const std::size_t first = 4;
    if (got.size() != std::int64_t(words.size() - first)) return words[1] + " has another size";
    double greatest = 0;
    for (std::size_t k = first; k < words.size(); ++k)
      greatest = std::max(greatest, std::fabs(std::strtod(words[k].c_str(), nullptr)));
    const double allowed = units * std::ldexp(greatest, dtype_ == DType::F32 ? -24 : -53);
    for (std::int64_t k = 0; k < got.size(); ++k) {
      const double want = std::strtod(words[first + std::size_t(k)].c_str(), nullptr);
      if (std::fabs(get(got, k) - want) <= allowed) continue; // a NaN is wrong, too
      std::ostringstream said;
      said.precision(17);
      said << words[1] << " has " << get(got, k) << ", not " << want << ", as element " << k;
      return said.str();
    }
    return {};
  }

  GradientCheck gradient(const Words &words) const {
    const LoopSpec spec = parse(text_, words[1]);
    const std::vector<InputInfo> declared = compile(spec, options_).inputs();
    REQUIRE(declared.size() == words.size() - 2);
    std::vector<NamedView> inputs;
    for (std::size_t k = 0; k < declared.size(); ++k)
      inputs.push_back({declared[k].name, arrays_.at(words[2 + k])});
    return check_gradient(spec, inputs, {.engine = options_.engine});
  }

private:
  static void set(const Array &array, std::int64_t k, double value) {
    if (array.dtype() == DType::F32)
      array.data<float>()[k] = float(value);
    else
      array.data<double>()[k] = value;
  }

  const Kernel &kernel_of(const std::string &name) {
    const auto found = kernels_.find(name);
    if (found != kernels_.end()) return found->second;
    return kernels_.emplace(name, compile(parse(text_, name), options_)).first->second;
  }

  // "B" or "B@1.1,0".
  AnyView view(const std::string &word) const {
    const std::size_t at = word.find('@');
    const Array &array = arrays_.at(word.substr(0, at));
    return at == std::string::npos ? AnyView(array) : part(array, word.substr(at + 1));
  }

  // "1.1,0": without the first and the last of dim 0, and position 0 of dim 1.
  static AnyView part(const Array &array, const std::string &text) {
    AnyView view = array;
    std::int64_t offset = 0;
    std::istringstream dims(text);
    view.layout.rank = 0;
    int dim = 0;
    for (std::string word; std::getline(dims, word, ','); ++dim) {
      REQUIRE(dim < array.rank());
      const std::size_t point = word.find('.');
      const std::int64_t start = std::stoll(word), step = array.strides()[std::size_t(dim)];
      offset += start * step;
      if (point == std::string::npos) continue;
      const auto to = std::size_t(view.layout.rank++);
      view.layout.extents[to] =
          array.shape()[std::size_t(dim)] - start - std::stoll(word.substr(point + 1));
      view.layout.strides[to] = step;
    }
    REQUIRE(dim == array.rank());
    view.data = static_cast<char *>(view.data) + offset * std::int64_t(size_of(array.dtype()));
    return view;
  }

  std::string text_;
  DType dtype_;
  Options options_;
  std::map<std::string, Kernel> kernels_;
  std::map<std::string, Array> arrays_;
};

constexpr Engine engines[] = {Engine::reference, Engine::interpreter, Engine::jit};

TEST_CASE("programs of PolyBench and NPBench give what their definitions in NumPy give") {
  std::size_t compared = 0;
  for (const Program &program : all_programs())
    for (const DType dtype : {DType::F64, DType::F32})
      for (const Engine engine : engines) {
        INFO(program.name << " of " << name(dtype) << ", engine " << name(engine));
        Memory memory(program, dtype, {.threads = 2, .engine = engine});
        for (const Words &words : program.lines) {
          if (words[0] == "buffer") memory.buffer(words);
          if (words[0] == "call") memory.call(words);
          if (words[0] != "expect") continue;
          CHECK(memory.expect(words) == "");
          compared += words.size() - 4;
        }
      }
  MESSAGE(compared << " values");
  CHECK(compared > 0);
}

TEST_CASE("gradients of programs of PolyBench and NPBench agree with measured slopes") {
  std::size_t agree = 0;
  for (const Program &program : all_programs()) {
    INFO(program.name);
    Memory memory(program, DType::F64, {.threads = 2});
    for (const Words &words : program.lines) {
      if (words[0] == "buffer") memory.buffer(words);
      if (words[0] == "call") memory.call(words);
      if (words[0] != "gradient") continue;
      for (const SlopeCheck &slope : memory.gradient(words).slopes) {
        INFO(describe(slope));
        CHECK(slope.slope == Slope::agrees);
        agree += slope.slope == Slope::agrees;
      }
    }
  }
  MESSAGE(agree << " slopes");
  CHECK(agree > 0);
}

} // namespace
} // namespace broadloom
