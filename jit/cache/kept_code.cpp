// See kept_code.hpp. The payload of an entry is an image's text.
#include "jit/cache/kept_code.hpp"

#include "jit/cache/built_code.hpp"
#include "jit/cache/disk.hpp"
#include "jit/code_version.hpp"
#include "jit/native/backend.hpp"
#include "jit/native/laps.hpp"
#include "support/check.hpp"
#include "support/log.hpp"

#include <llvm/Config/llvm-config.h>

#include <cstdlib>

namespace broadloom::jit {
namespace {

std::string key_of(const std::string &program_key, const Target &target) {
  return code_version_key() + "\n" + std::string(target.isa->triple) + "\n" +
         std::string(target.isa->features) + "\n" + program_key;
}

// What a kernel was built with; where it is being built, it gets what it lacks.
std::shared_ptr<const Code> code_built(const loop::Program &program, const std::string &program_key,
                                       block::Program blocks, const Target &target,
                                       BuiltCode &built) {
  if (const auto payload = built.find(target.vector_bits(), program_key)) {
    const std::optional<Image> image = Image::parse(*payload, blocks.phases.size());
    support::check(image.has_value(), "what was built is no image");
    return code_of(*image, std::move(blocks));
  }
  if (!built.is_being_built())
    fail_native("the kernel was built ahead of time without code for this pattern of layouts");
  std::optional<Image> image;
  auto code = backend().compile(program, std::move(blocks), target, Profile::none, 1, &image);
  support::check(image.has_value(), "code of a kernel that is built lies where it was linked");
  built.add(target.vector_bits(), program_key, image->text());
  return code;
}

std::shared_ptr<const Code> load(const DiskCache &cache, const std::string &key,
                                 const block::Program &blocks) {
  const std::optional<std::string> payload = cache.load(key);
  const std::optional<Image> image =
      payload ? Image::parse(*payload, blocks.phases.size()) : std::nullopt;
  if (!image) return nullptr;
  try {
    return code_of(*image, blocks);
  } catch (const CompileError &error) { // made anew, and stored in its place
    support::log().debug("code from the disk cache does not run: {}", error.message());
    return nullptr;
  }
}

// For tests, blocks of other sizes: code that no key tells apart.
bool has_other_blocks() {
  const char *seed = std::getenv("BROADLOOM_BLOCKS");
  return seed != nullptr && *seed != '\0';
}

std::optional<DiskCache> cache_for(Profile profile, const std::string &folder) {
  const bool may_keep = profile == Profile::none && !has_other_blocks();
  return may_keep ? DiskCache::open(folder) : std::nullopt;
}

} // namespace

std::string code_version_key() { return std::string(code_version) + "\nLLVM " LLVM_VERSION_STRING; }

KeptCode find_or_compile(const loop::Program &program, const std::string &program_key,
                         const Target &target, Profile profile, const std::string &folder,
                         int threads, BuiltCode *built) {
  Laps laps;
  KeptCode::Times times;
  block::Program blocks = blocks_of(program, target);
  times.choose = laps.lap();
  if (built != nullptr) {
    auto code = code_built(program, program_key, std::move(blocks), target, *built);
    times.look = laps.lap();
    return {std::move(code), true, times};
  }
  const std::optional<DiskCache> cache = cache_for(profile, folder);
  const std::string key = cache ? key_of(program_key, target) : "";
  laps.lap();
  auto code = cache ? load(*cache, key, blocks) : nullptr;
  times.look = laps.lap();
  if (code) return {std::move(code), true, times};
  start_backend(target, threads);
  const Backend &made_by = backend();
  times.start = laps.lap();
  std::optional<Image> image;
  code = made_by.compile(program, std::move(blocks), target, profile, threads,
                         cache ? &image : nullptr);
  if (image)
    cache->store(key, program.name + " for " + std::string(target.isa->name), image->text());
  return {std::move(code), false, times};
}

bool is_kept(const std::string &program_key, const Target &target, Profile profile,
             const std::string &folder) {
  const std::optional<DiskCache> cache = cache_for(profile, folder);
  return cache && cache->has(key_of(program_key, target));
}

} // namespace broadloom::jit
