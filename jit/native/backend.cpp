// See backend.hpp.
#include "jit/native/backend.hpp"

#include "support/log.hpp"

#include <broadloom/error.hpp>

namespace broadloom::jit {

void start_backend(const Target &target, int threads) {
  try {
    backend().start(target, threads);
  } catch (const CompileError &error) {
    support::log().debug("nothing is started beforehand: {}", error.message());
  }
}

} // namespace broadloom::jit
