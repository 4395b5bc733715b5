// A folder of its own for a test, removed with all that is in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

struct TempFolder {
  TempFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "broadloom-test-XXXXXX";
    if (!mkdtemp(pattern.data())) throw std::filesystem::filesystem_error("mkdtemp", pattern, {});
    path = pattern;
  }
  TempFolder(const TempFolder &) = delete;
  TempFolder &operator=(const TempFolder &) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  std::string operator/(const std::string &name) const { return path + "/" + name; }

  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }
  std::string read(const std::string &name) const {
    std::ifstream file(*this / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  int count() const { // entries, temporary files too
    return int(std::distance(std::filesystem::directory_iterator(path), {}));
  }

  std::string path;
};
