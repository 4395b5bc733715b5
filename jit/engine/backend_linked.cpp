// Where all is linked together: see backend.hpp.
#include "jit/engine/backend.hpp"

namespace broadloom::jit {

const Backend &backend() { return broadloom_backend; }

} // namespace broadloom::jit
