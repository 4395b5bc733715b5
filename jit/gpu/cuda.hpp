// The CUDA driver, as far as devices are run by it.
//
// Problem: nothing of CUDA may be needed to build Broadloom, to link with it, or to start it.
// Method: the driver's library is loaded when the first device is opened, and its functions are
// found by name. The types are those of its binary interface, which has not changed since 2010.
// Example: const Cuda &cuda = Cuda::instance();          cuda.check(cuda.init(0), "is begun");
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadloom::jit::gpu {

struct Cuda {
  using Result = int; // 0: all is well
  using Pointer = std::uint64_t;
  using Handle = void *; // of a context, a module, a function or a stream

  Result (*init)(unsigned flags);
  Result (*driver_version)(int *version);
  Result (*device_count)(int *count);
  Result (*device)(int *device, int number);
  Result (*device_name)(char *name, int bytes, int device);
  Result (*attribute)(int *value, int attribute, int device);
  Result (*retain_context)(Handle *context, int device);
  Result (*push_context)(Handle context);
  Result (*pop_context)(Handle *context);
  Result (*load_module)(Handle *module, const void *image, unsigned options, int *names,
                        void **values);
  Result (*begin_link)(unsigned options, int *names, void **values, Handle *link);
  Result (*add_to_link)(Handle link, int kind, void *data, std::size_t bytes, const char *name,
                        unsigned options, int *names, void **values);
  Result (*end_link)(Handle link, void **image, std::size_t *bytes);
  Result (*drop_link)(Handle link);
  Result (*unload_module)(Handle module);
  Result (*function)(Handle *function, Handle module, const char *name);
  Result (*launch)(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   Handle stream, void **parameters, void **extra);
  Result (*wait)(Handle stream);
  Result (*wait_for_all)();
  Result (*make_event)(Handle *event, unsigned flags);
  Result (*drop_event)(Handle event);
  Result (*record_event)(Handle event, Handle stream);
  Result (*stream_waits)(Handle stream, Handle event, unsigned flags);
  Result (*allocate)(Pointer *memory, std::size_t bytes);
  Result (*free)(Pointer memory);
  Result (*copy_in)(Pointer to, const void *from, std::size_t bytes, Handle stream);
  Result (*copy_out)(void *to, Pointer from, std::size_t bytes, Handle stream);
  Result (*copy)(Pointer to, Pointer from, std::size_t bytes, Handle stream);
  Result (*pointer_attribute)(void *value, int attribute, Pointer pointer);
  Result (*error_text)(Result error, const char **text);

  // Throws CompileError E0505 where there is no driver, or it is too old.
  static const Cuda &instance();

  // Throws where the result is not 0: CompileError E0505 with what to do, DataError E0305 where
  // memory ends.
  void check(Result result, const char *what) const;
  // Whether nothing works any more in this process after this result.
  static bool is_end(Result result);

  int version = 0; // 12040 of CUDA 12.4
};

// The numbers of what is asked for.
inline constexpr int cuda_multiprocessors = 16, cuda_major = 75, cuda_minor = 76;
inline constexpr int cuda_pointer_memory_type = 2, cuda_pointer_ordinal = 9;
inline constexpr int cuda_out_of_memory = 2;
inline constexpr int cuda_text = 1; // of what is linked
inline constexpr unsigned cuda_event_without_time = 2;
inline constexpr unsigned cuda_memory_of_device = 2;

} // namespace broadloom::jit::gpu
