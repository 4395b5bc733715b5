// See code.hpp.
#include "jit/native/code.hpp"

#include "jit/native/laps.hpp"

#include <cstdint>

namespace broadloom::jit {

std::shared_ptr<const Code> code_of(const Image &image, block::Program blocks) {
  Laps laps;
  Code::Place held{place(image), nullptr};
  std::vector<PhaseFn> phases;
  for (const std::uint32_t phase : image.phases)
    phases.push_back(
        reinterpret_cast<PhaseFn>(reinterpret_cast<std::uintptr_t>(held.piece.begin()) + phase));
  CompileTimes times;
  times.link = laps.lap();
  return std::make_shared<const Code>(std::move(held), std::move(phases), std::move(blocks),
                                      image.bytes.size(), times);
}

} // namespace broadloom::jit
