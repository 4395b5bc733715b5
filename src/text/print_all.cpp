// Several kernels in one text: what they share is defined once.
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"
#include "text/printed.hpp"

#include <ostream>
#include <unordered_map>

namespace broadloom {

std::string print(const std::vector<LoopSpec> &kernels) try {
  const support::FloatWorld world;
  std::string definitions, text;
  std::unordered_map<std::string, std::string> known;
  for (const LoopSpec &kernel : kernels) {
    const text::Printed printed = text::print(kernel.data());
    for (const text::Printed::Definition &definition : printed.definitions) {
      const auto [it, fresh] = known.try_emplace(definition.name, definition.text);
      if (fresh)
        definitions += definition.text;
      else if (it->second != definition.text)
        support::fail("E0004", "kernels of one text define '" + definition.name + "' in two ways",
                      kernel.data().where, "print them one by one, or rename one of the two");
    }
    text += printed.kernel;
  }
  return definitions + text;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::ostream &operator<<(std::ostream &out, const LoopSpec &spec) { return out << print(spec); }

} // namespace broadloom
