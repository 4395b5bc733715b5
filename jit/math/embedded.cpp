// Views of the data that embed.S brings in; see embedded.hpp.
#include "jit/math/embedded.hpp"

extern "C" {
extern const unsigned char bl_math_v3_begin[];
extern const unsigned char bl_math_v3_end[];
extern const unsigned char bl_math_v4_begin[];
extern const unsigned char bl_math_v4_end[];
}

namespace broadloom::jit {

std::span<const unsigned char> bitcode(IsaLevel level) {
  switch (level) {
  case IsaLevel::V3: return {bl_math_v3_begin, bl_math_v3_end};
  case IsaLevel::V4: return {bl_math_v4_begin, bl_math_v4_end};
  }
  return {};
}

} // namespace broadloom::jit
