// Arrays of a device, where the host does a step of a call: it sees copies, and what it has written
// goes back.
//
// Problem: copies with borders, gathers, scatters and positions that elements say are work of the
// host so far, and a device's memory is not the host's.
// Method: without a device a view is seen as it is. With one, its bytes are brought over, and
// written ones are taken back by `done`, each in one piece. That costs the way there and back; the
// docs name the steps.
// Example: OnHost host(device); work(host.read(x), host.written(y)); host.done();
#pragma once

#include "jit/gpu/device.hpp"
#include "kernel/overlap.hpp"

#include <broadloom/array.hpp>

#include <vector>

namespace broadloom::jit::gpu {

class OnHost {
public:
  explicit OnHost(Device *device) : device_(device) {}

  AnyView read(const AnyView &view) { return device_ == nullptr ? view : brought(view, false); }
  AnyView written(const AnyView &view) { return device_ == nullptr ? view : brought(view, true); }
  void done() {
    for (const Copy &copy : copies_)
      if (copy.goes_back) device_->copy_in(copy.there, copy.bytes.data(), copy.bytes.size());
  }

private:
  struct Copy {
    char *there;
    std::vector<char> bytes;
    bool goes_back;
  };

  AnyView brought(const AnyView &view, bool goes_back) {
    const kernel::Reach reach = kernel::reach_of(view.layout, view.dtype);
    const char *first = static_cast<const char *>(view.data) + reach.low;
    if (view.data == nullptr || reach.low == reach.high || !device_->has(first) ||
        !device_->has(first + (reach.high - reach.low) - 1))
      return view; // what is seen, and not read, may lie anywhere
    Copy copy{static_cast<char *>(view.data) + reach.low,
              std::vector<char>(std::size_t(reach.high - reach.low)), goes_back};
    device_->copy_out(copy.bytes.data(), copy.there, copy.bytes.size());
    copies_.push_back(std::move(copy));
    AnyView seen = view;
    seen.data = copies_.back().bytes.data() - reach.low;
    return seen;
  }

  Device *const device_;
  std::vector<Copy> copies_; // whose bytes stay where they are
};

} // namespace broadloom::jit::gpu
