// The public face of devices: see include/broadloom/device.hpp.
#include "array/copy.hpp"
#include "jit/gpu/open.hpp"
#include "jit/gpu/steps.hpp"
#include "kernel/overlap.hpp"
#include "support/fail.hpp"
#include "support/out_of_memory.hpp"

#include <broadloom/streams.hpp>

namespace broadloom {

using jit::gpu::open;

static jit::gpu::Device &device_of(const std::shared_ptr<void> &impl) {
  if (!impl)
    support::fail("E0317", "this device was moved from", {}, "use the one that it was moved to");
  return *static_cast<jit::gpu::Device *>(impl.get());
}

Device::Device(std::string_view name) try : impl_(open(name)) {
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

const std::string &Device::name() const { return device_of(impl_).name(); }

std::string Device::description() const {
  const jit::gpu::Device &device = device_of(impl_);
  return device.target().cpu + ", " + std::string(device.target().isa->name);
}

Array Device::allocate(DType dtype, const ExtentList &shape) const try {
  return device_of(impl_).array(dtype, contiguous_layout(shape));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

// Elements without gaps are copied as they lie.
static bool is_dense(const AnyView &view, const kernel::Reach &reach) {
  return reach.low == 0 &&
         std::size_t(reach.high) == std::size_t(element_count(view.layout)) * size_of(view.dtype);
}

// From the device to itself.
static Array copied_there(jit::gpu::Device &device, const AnyView &array,
                          const kernel::Reach &reach) {
  Array made = device.array(
      array.dtype, is_dense(array, reach) ? array.layout : contiguous_layout(array.layout.shape()));
  jit::gpu::Steps(device).copy(array, made.raw(), made.layout());
  return made;
}

Array Device::to_device(const AnyView &array) const try {
  const kernel::Reach reach = kernel::reach_of(array.layout, array.dtype);
  if (reach.low != reach.high && array.data == nullptr)
    support::fail("E0306", "the array that is taken to the device has no memory", {},
                  "give it its elements first");
  if (reach.low != reach.high &&
      device_of(impl_).has(static_cast<const char *>(array.data) + reach.low))
    return copied_there(device_of(impl_), array, reach);
  if (!is_dense(array, reach)) return to_device(array::dense_copy(array));
  Array there = device_of(impl_).array(array.dtype, array.layout);
  device_of(impl_).copy_in(there.raw(), array.data, std::size_t(reach.high));
  return there;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Array Device::to_host(const AnyView &array) const try {
  jit::gpu::Device &device = device_of(impl_);
  Array made(array.dtype, array.layout.shape());
  const kernel::Reach reach = kernel::reach_of(array.layout, array.dtype);
  if (reach.low == reach.high) return made;
  const char *first = static_cast<const char *>(array.data) + reach.low;
  if (!device.has(first))
    support::fail("E0322", "the array does not lie on the device '" + device.name() + "'", {},
                  "only what lies there is copied from there");
  std::vector<char> bytes(std::size_t(reach.high - reach.low));
  device.copy_out(bytes.data(), first, bytes.size());
  AnyView seen = array;
  seen.data = bytes.data() - reach.low;
  array::copy_elements(seen, made.raw(), made.layout());
  return made;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

void Device::wait() const { device_of(impl_).wait(); }
OnStream::OnStream(const Device &device, void *stream)
    : device_(open(device.name())),
      before_(static_cast<jit::gpu::Device *>(device_.get())->on_stream(stream)) {}
OnStream::~OnStream() { static_cast<jit::gpu::Device *>(device_.get())->on_stream(before_); }

void *stream_of(const Device &device) {
  const auto opened = open(device.name());
  void *stream = opened->on_stream(nullptr);
  opened->on_stream(stream);
  return stream;
}
void wait_for_stream(const Device &device, void *stream) { open(device.name())->wait_for(stream); }
void let_stream_wait(const Device &device, void *stream) { open(device.name())->let_wait(stream); }

} // namespace broadloom
