// See built_code.hpp.
//
//   BLBUILT2 | bytes of all | version, text, caches | count | vector bits, key, image .. | checksum
//   of all before it
#include "jit/cache/built_code.hpp"

#include "jit/cache/checksum.hpp"
#include "jit/code_version.hpp"
#include "jit/native/bytes.hpp"
#include "support/fail.hpp"

#include <broadloom.h>
#include <broadloom/version.hpp>

#include <fmt/format.h>
#include <llvm/Config/llvm-config.h>

#include <algorithm>
#include <mutex>

namespace broadloom::jit {
namespace {

constexpr std::string_view built_magic = "BLBUILT2";

// What makes plans and code, and what headers call: those of another Broadloom need other images.
std::string version() {
  return fmt::format("{} with C interface {}, LLVM {}, code generator {}", BROADLOOM_VERSION,
                     BL_ABI_VERSION, LLVM_VERSION_STRING,
                     std::string_view(code_version).substr(0, 16));
}

void put_text(std::string &bytes, std::string_view text) {
  put(bytes, std::uint64_t(text.size()));
  bytes += text;
}

std::string_view text_in(ByteReader &reader) { return reader.take(reader.number<std::uint64_t>()); }

bool is_printed(char c) { return c >= ' ' && c <= '~'; }

[[noreturn]] void refuse_built(const std::string &why) {
  support::fail(
      "E0504", "this is no kernel that this library can run: " + why, {},
      "build the kernel again, by `broadloom build` of the library that it is to run with");
}

} // namespace

BuiltCode::BuiltCode(std::string text, runtime::Caches caches)
    : text_(std::move(text)), caches_(caches), is_being_built_(true) {}

std::string BuiltCode::bytes() const {
  std::string bytes(built_magic);
  put(bytes, std::uint64_t(0)); // known at the end
  put_text(bytes, version());
  put_text(bytes, text_);
  put(bytes, caches_.own);
  put(bytes, caches_.last_level);
  put(bytes, caches_.kept_output);
  const std::lock_guard lock(mutex_);
  put(bytes, std::uint64_t(images_.size()));
  for (const auto &[key, image] : images_) {
    put(bytes, std::int32_t(key.first));
    put_text(bytes, key.second);
    put_text(bytes, image);
  }
  const std::uint64_t size = bytes.size() + checksum_bytes;
  bytes.replace(built_magic.size(), sizeof size, reinterpret_cast<const char *>(&size),
                sizeof size);
  return bytes + checksum_of(bytes);
}

std::shared_ptr<BuiltCode> BuiltCode::read(std::string_view bytes) {
  ByteReader reader(bytes);
  if (reader.take(built_magic.size()) != built_magic) refuse_built("it does not begin as one");
  if (reader.number<std::uint64_t>() != bytes.size() || bytes.size() < checksum_bytes)
    refuse_built("it has another size than it says");
  const std::string_view made_by = text_in(reader); // what follows goes by it
  const bool is_ours = made_by == version();
  if (!is_ours && made_by.size() <= 200 && std::ranges::all_of(made_by, is_printed))
    refuse_built(fmt::format("it was built by Broadloom {}, and this is {}", made_by, version()));
  const std::string_view most = bytes.substr(0, bytes.size() - checksum_bytes);
  if (!is_ours || checksum_of(most) != bytes.substr(most.size()))
    refuse_built("its bytes were changed");
  const std::shared_ptr<BuiltCode> built(new BuiltCode);
  built->text_ = text_in(reader);
  built->caches_.own = reader.number<std::int64_t>();
  built->caches_.last_level = reader.number<std::int64_t>();
  built->caches_.kept_output = reader.number<std::int64_t>();
  for (auto count = reader.number<std::uint64_t>(); count > 0 && reader.is_good(); --count) {
    const int vector_bits = reader.number<std::int32_t>();
    const std::string_view key = text_in(reader), image = text_in(reader);
    built->images_.emplace(std::pair(vector_bits, key), image);
  }
  if (!reader.is_good()) refuse_built("it ends too early");
  return built;
}

std::optional<std::string_view> BuiltCode::find(int vector_bits,
                                                std::string_view program_key) const {
  const std::lock_guard lock(mutex_);
  const auto found = images_.find({vector_bits, program_key});
  return found != images_.end() ? std::optional(found->second) : std::nullopt;
}

void BuiltCode::add(int vector_bits, std::string_view program_key, std::string image) {
  const std::lock_guard lock(mutex_);
  const std::string_view key = made_.emplace_back(program_key);
  images_.emplace(std::pair(vector_bits, key), made_.emplace_back(std::move(image)));
}

std::size_t BuiltCode::count(int vector_bits) const {
  const std::lock_guard lock(mutex_);
  return std::size_t(std::ranges::count_if(
      images_, [&](const auto &entry) { return entry.first.first == vector_bits; }));
}

} // namespace broadloom::jit
