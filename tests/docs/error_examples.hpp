// The C++ examples of docs/errors.md as functions: error_examples.py makes them from the page.
#pragma once

#include <string>
#include <vector>

namespace pages {

struct ErrorExample {
  std::string code;
  void (*wrong)(), (*right)();
};
const std::vector<ErrorExample> &error_examples();

} // namespace pages
