// See image.hpp. The text: the numbers of phases, slots and bytes; where each phase begins; each
// slot as its place, its addend and the length of its symbol, and then the symbol; the bytes.
#include "jit/native/image.hpp"

#include "jit/native/bytes.hpp"
#include "jit/native/warp.hpp"
#include "math/libm.hpp"
#include "math/scalar.hpp"

#include <cstring>

namespace broadloom::jit {
namespace {

const void *address_outside(std::string_view symbol) {
  if (const void *found = math::address_of(symbol)) return found;
  for (const math::ColdSymbol &cold : math::cold_symbols())
    if (cold.symbol == symbol) return cold.address;
  for (const WarpSymbol &played : warp_symbols())
    if (played.symbol == symbol) return played.address;
  return nullptr;
}

} // namespace

std::string Image::text() const {
  std::string text;
  put(text, std::uint32_t(phases.size()));
  put(text, std::uint32_t(slots.size()));
  put(text, std::uint64_t(bytes.size()));
  for (const std::uint32_t phase : phases) put(text, phase);
  for (const Slot &slot : slots) {
    put(text, slot.at);
    put(text, slot.addend);
    put(text, std::uint32_t(slot.symbol.size()));
    text += slot.symbol;
  }
  return text + bytes;
}

std::optional<Image> Image::parse(std::string_view text, std::size_t phases) {
  ByteReader reader(text);
  Image image;
  const auto phase_count = reader.number<std::uint32_t>();
  const auto slot_count = reader.number<std::uint32_t>();
  const auto byte_count = reader.number<std::uint64_t>();
  if (phase_count != phases) return std::nullopt;
  for (std::uint32_t k = 0; k < phase_count && reader.is_good(); ++k) {
    image.phases.push_back(reader.number<std::uint32_t>());
    if (image.phases.back() >= byte_count) return std::nullopt;
  }
  for (std::uint32_t k = 0; k < slot_count && reader.is_good(); ++k) {
    Slot slot;
    slot.at = reader.number<std::uint32_t>();
    slot.addend = reader.number<std::int64_t>();
    slot.symbol = reader.take(reader.number<std::uint32_t>());
    if (std::uint64_t(slot.at) + sizeof(std::uint64_t) > byte_count) return std::nullopt;
    image.slots.push_back(std::move(slot));
  }
  image.bytes = reader.take(byte_count);
  if (!reader.is_at_end()) return std::nullopt;
  return image;
}

CodePiece place(const Image &image) {
  return CodeMemory::instance().write(image.bytes.size(), [&](char *to) {
    std::memcpy(to, image.bytes.data(), image.bytes.size());
    for (const Image::Slot &slot : image.slots) {
      const void *base = slot.symbol.empty() ? to : address_outside(slot.symbol);
      if (base == nullptr)
        fail_native("code from the disk cache calls '" + slot.symbol + "', which is not there");
      const std::uint64_t address =
          reinterpret_cast<std::uintptr_t>(base) + std::uint64_t(slot.addend);
      std::memcpy(to + slot.at, &address, sizeof address);
    }
  });
}

} // namespace broadloom::jit
