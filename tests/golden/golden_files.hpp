// What the golden tests share: texts with lines that give layouts.
#pragma once

#include "tests/places.hpp"

#include <broadloom/array.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace broadloom::golden {

inline std::string read(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Whether the file holds this text; `./dev bless` writes it.
inline void check_golden(const std::filesystem::path &golden, const std::string &printed) {
  if (std::getenv("BROADLOOM_BLESS") != nullptr) std::ofstream(golden, std::ios::binary) << printed;
  REQUIRE_MESSAGE(std::filesystem::exists(golden), "no golden file; write it with: ./dev bless");
  CHECK_MESSAGE(read(golden) == printed,
                "differs from " << golden.string() << "; if the new text is right: ./dev bless");
}

// The .loom files of a folder of tests/, by name.
inline std::vector<std::filesystem::path> looms_in(const std::string &folder) {
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(
           std::filesystem::path(BROADLOOM_SOURCE_DIR) / "tests" / folder))
    if (entry.path().extension() == ".loom") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// `#@ x 3 4` is a C-contiguous layout of x, `#@ y 3 4 : 1 3` one with strides.
inline std::map<std::string, Layout> layouts_in(const std::string &text) {
  std::map<std::string, Layout> layouts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("#@ ", 0) != 0) continue;
    std::istringstream words(line.substr(3));
    std::string name, word;
    words >> name;
    std::vector<std::int64_t> shape, strides;
    bool after = false;
    while (words >> word)
      if (word == ":")
        after = true;
      else
        (after ? strides : shape).push_back(std::stoll(word));
    layouts[name] = after ? strided_layout(shape, strides) : contiguous_layout(shape);
  }
  return layouts;
}

} // namespace broadloom::golden
