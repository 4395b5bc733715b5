// Streams of a device, as other libraries have them (CUstream); null is the default one.
//
//   const bl::OnStream here(gpu, stream);   // calls and copies of this thread go there meanwhile
//   bl::wait_for_stream(gpu, other);        // what this thread begins now waits for that one
//
// Memory that was allocated on a stream is given to the next of that stream. An array that another
// stream uses is kept until that has been waited for. "played" has one order of work.
#pragma once

#include <broadloom/device.hpp>

namespace broadloom {

class OnStream {
public:
  OnStream(const Device &device, void *stream);
  ~OnStream();
  OnStream(const OnStream &) = delete;
  OnStream &operator=(const OnStream &) = delete;

private:
  const std::shared_ptr<void> device_;
  void *const before_;
};

// This thread's stream.
void *stream_of(const Device &device);

// Work that this thread begins from now on waits for work of the stream. Throws CompileError E0505.
void wait_for_stream(const Device &device, void *stream);
// The stream waits for what this thread has begun.
void let_stream_wait(const Device &device, void *stream);

} // namespace broadloom
