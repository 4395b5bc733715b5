// See kept_code.hpp. The payload of an entry: the number of phases, their symbols with a zero behind each, then each object file with
// its size before it.
#include "jit/cache/kept_code.hpp"

#include "jit/cache/disk.hpp"
#include "jit/code_version.hpp"
#include "jit/engine/laps.hpp"
#include "jit/engine/object.hpp"
#include "jit/engine/start.hpp"
#include "support/log.hpp"

#include <llvm/Config/llvm-config.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace broadloom::jit {
namespace {

std::string key_of(const std::string &program_key, const Target &target) {
  return std::string(code_version) + "\nLLVM " LLVM_VERSION_STRING "\n" + target.features + "\n" +
         std::to_string(target.vector_bits) + "\n" + program_key;
}

std::string payload_of(const Object &object) {
  const auto count = std::uint32_t(object.phases.size());
  std::string payload(reinterpret_cast<const char *>(&count), sizeof count);
  for (const std::string &phase : object.phases) payload.append(phase).push_back('\0');
  for (const std::vector<char> &file : object.files) {
    const auto bytes = std::uint32_t(file.size());
    payload.append(reinterpret_cast<const char *>(&bytes), sizeof bytes);
    payload.append(file.begin(), file.end());
  }
  return payload;
}

// Of whole payloads: a checksum has seen to that.
std::optional<Object> object_of(const std::string &payload, std::size_t phases) {
  std::uint32_t count = 0;
  if (payload.size() < sizeof count) return std::nullopt;
  std::memcpy(&count, payload.data(), sizeof count);
  if (count != phases) return std::nullopt;
  Object object;
  std::size_t at = sizeof count;
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::size_t end = payload.find('\0', at);
    if (end == std::string::npos) return std::nullopt;
    object.phases.push_back(payload.substr(at, end - at));
    at = end + 1;
  }
  while (at < payload.size()) {
    std::uint32_t bytes = 0;
    if (payload.size() - at < sizeof bytes) return std::nullopt;
    std::memcpy(&bytes, payload.data() + at, sizeof bytes);
    at += sizeof bytes;
    if (payload.size() - at < bytes) return std::nullopt;
    const char *file = payload.data() + at;
    object.files.emplace_back(file, file + bytes);
    at += bytes;
  }
  return object;
}

std::shared_ptr<const Code> load(const DiskCache &cache, const std::string &key,
                                 const block::Program &blocks) {
  const std::optional<std::string> payload = cache.load(key);
  std::optional<Object> object = payload ? object_of(*payload, blocks.phases.size()) : std::nullopt;
  if (!object) return nullptr;
  try {
    object->blocks = blocks;
    return link(std::move(*object));
  } catch (const CompileError &error) { // made anew, and stored in its place
    support::log().debug("code from the disk cache does not link: {}", error.message());
    return nullptr;
  }
}

// For tests, blocks of other sizes: code that no key tells apart.
bool has_other_blocks() {
  const char *seed = std::getenv("BROADLOOM_BLOCKS");
  return seed != nullptr && *seed != '\0';
}

} // namespace

KeptCode find_or_compile(const loop::Program &program, const std::string &program_key,
                         const Target &target, Profile profile, const std::string &folder,
                         int threads) {
  Laps laps;
  block::Program blocks = blocks_of(program, target);
  const double choose = laps.lap();
  const bool may_keep = profile == Profile::none && !has_other_blocks();
  const std::optional<DiskCache> cache = may_keep ? DiskCache::open(folder) : std::nullopt;
  const std::string key = cache ? key_of(program_key, target) : "";
  laps.lap();
  auto code = cache ? load(*cache, key, blocks) : nullptr;
  const double looking = laps.lap();
  if (code) return {std::move(code), true, looking};
  start_llvm(target, threads);
  Object object = generate(program, std::move(blocks), target, profile, threads);
  object.times.choose = choose;
  const char *level = target.avx512() ? "x86-64-v4" : "x86-64-v3";
  if (cache) cache->store(key, program.name + " for " + level, payload_of(object));
  return {link(std::move(object)), false, looking};
}

} // namespace broadloom::jit
