// Numbers and bytes one behind the other, as entries of the disk cache and built kernels have them.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

namespace broadloom::jit {

template <class Number> void put(std::string &text, Number number) {
  text.append(reinterpret_cast<const char *>(&number), sizeof number);
}

class ByteReader { // once something is not there, nothing is
public:
  explicit ByteReader(std::string_view text) : rest_(text) {}

  std::string_view take(std::size_t count) {
    good_ = good_ && count <= rest_.size();
    if (!good_) return {};
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <class Number> Number number() {
    Number number{};
    const std::string_view taken = take(sizeof number);
    if (good_) std::memcpy(&number, taken.data(), sizeof number);
    return number;
  }
  bool is_good() const { return good_; }
  bool is_at_end() const { return good_ && rest_.empty(); }

private:
  std::string_view rest_;
  bool good_ = true;
};

} // namespace broadloom::jit
