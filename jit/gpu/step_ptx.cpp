// The steps of step_code.hpp as kernels of a device. Compiled for nvptx64 alone: see meson.build.
#include "jit/gpu/step_code.hpp"

namespace broadloom::jit::gpu {

static Threads here() {
  return {int64_t(__nvvm_read_ptx_sreg_ctaid_x()) * __nvvm_read_ptx_sreg_ntid_x() +
              __nvvm_read_ptx_sreg_tid_x(),
          int64_t(__nvvm_read_ptx_sreg_nctaid_x()) * __nvvm_read_ptx_sreg_ntid_x()};
}

#define BL_STEP(name, arguments, function)                                                         \
  extern "C" __attribute__((nvptx_kernel)) void bl_step_##name(arguments given) {                  \
    function(given, here());                                                                       \
  }
BL_STEPS
#undef BL_STEP

} // namespace broadloom::jit::gpu
