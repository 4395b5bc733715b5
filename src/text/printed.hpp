// A kernel as text, apart from the definitions that it needs.
#pragma once

#include "spec/spec.hpp"

#include <string>
#include <vector>

namespace broadloom::text {

struct Printed {
  struct Definition {
    std::string name, text;
  };
  std::vector<Definition> definitions; // each after those that it uses
  std::string kernel;
};
Printed print(const SpecData &data);

} // namespace broadloom::text
