// See broadloom/version.hpp.
#include <broadloom/version.hpp>

namespace broadloom {

std::string_view version() { return BROADLOOM_VERSION; }

} // namespace broadloom
