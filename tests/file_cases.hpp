// One test case for each file of a folder, so that each counts, fails alone, and runs alone
// (-tc='the error of acc_of_any').
//
//   const bool added = tests::add_cases(looms_in("errors"), "the error of ", check_error);
//
// doctest makes cases of functions without arguments, so a case finds its file by its own name.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace broadloom::tests {

using FileTest = void (*)(const std::filesystem::path &);

// By the names of cases. Never destroyed, as doctest holds on to the names.
inline auto &file_cases() {
  static auto *cases = new std::map<std::string, std::pair<FileTest, std::filesystem::path>>;
  return *cases;
}

inline void run_this_case() {
  const auto &[test, path] = file_cases().at(doctest::getContextOptions()->currentTest->m_name);
  test(path);
}

// For each path a case named `what` and the path's stem. To be called before main.
inline bool add_cases(const std::vector<std::filesystem::path> &paths, const std::string &what,
                      FileTest test) {
  for (const std::filesystem::path &path : paths) {
    const auto [added, fresh] =
        file_cases().try_emplace(what + path.stem().string(), std::pair{test, path});
    if (fresh)
      doctest::detail::regTest(doctest::detail::TestCase(run_this_case, __FILE__, __LINE__,
                                                         doctest::detail::TestSuite{}) *
                               added->first.c_str());
  }
  return !paths.empty();
}

} // namespace broadloom::tests
