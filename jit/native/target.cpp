// Which instructions may be used.
//
// Two levels of x86-64 are enough: x86-64-v3 (AVX2) and x86-64-v4 (AVX-512). Code is made for
// exactly the features of a level, never for what a processor's name implies, because a virtual
// machine may hide some of them. For aarch64 there is one: NEON, which each such processor has.
#include "jit/native/target.hpp"

#include "jit/native/processor.hpp"
#include "support/fail.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace broadloom::jit {
namespace {

// Masked moves of 4 and 8 bytes; gathers are slower than loads one by one.
constexpr support::Machine avx2{.vector_bits = 256, .registers = 16, .least_masked_move = 4};
constexpr support::Machine avx512{.vector_bits = 512,
                                  .registers = 32,
                                  .masks_free = true,
                                  .gathers = true,
                                  .least_masked_move = 1};
// 32 threads, each with registers of its own. They wait for memory in turns, so nothing is asked
// for ahead.
constexpr support::Machine gpu{.vector_bits = 32,
                               .registers = 255,
                               .masks_free = true,
                               .least_masked_move = 1,
                               .warp = 32,
                               .sizes = {.asks_ahead = false}};
// No masked moves of any size.
constexpr support::Machine neon{.vector_bits = 128, .registers = 32, .least_masked_move = 64};

#define BL_V3                                                                                      \
  "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+sahf,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+"     \
  "movbe"

constexpr std::array isas = {
    Isa{"x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64", BL_V3, "v3", avx2, EM_X86_64, true},
    Isa{"x86-64-v4", "x86_64-unknown-linux-gnu", "x86-64",
        BL_V3 ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl", "v4", avx512, EM_X86_64, true,
        false, true},
    Isa{"aarch64", "aarch64-unknown-linux-gnu", "generic", "+neon", "neon", neon, EM_AARCH64},
// A GPU's code and math, played by this processor, for tests.
#if defined(__x86_64__)
    Isa{"warp", "x86_64-unknown-linux-gnu", "x86-64", BL_V3, "one", gpu, elf_machine, true},
#else
    Isa{"warp", "aarch64-unknown-linux-gnu", "generic", "+neon", "one", gpu, elf_machine},
#endif
    // Devices. Code for an older one runs on all that came later.
    Isa{"sm_70", "nvptx64-nvidia-cuda", "sm_70", "+ptx70", "one", gpu, EM_NONE, false, true},
    Isa{"sm_80", "nvptx64-nvidia-cuda", "sm_80", "+ptx70", "one", gpu, EM_NONE, false, true},
    Isa{"sm_90", "nvptx64-nvidia-cuda", "sm_90", "+ptx78", "one", gpu, EM_NONE, false, true},
};

#undef BL_V3

[[noreturn]] void refuse(const std::string &message) {
  support::fail(
      "E0503", message, {},
      "set BROADLOOM_TARGET or Options::target to \"native\", \"x86-64-v3\", "
      "\"x86-64-v4\" or \"aarch64\", or to a device's \"sm_70\", \"sm_80\" or \"sm_90\" to see its "
      "code, or leave them unset");
}

} // namespace

const Isa *find_isa(std::string_view name) {
  const auto found = std::ranges::find(isas, name, &Isa::name);
  return found == isas.end() ? nullptr : &*found;
}

support::Machine machine_of(const Target &target) {
  support::Machine machine = target.isa->core;
  machine.sizes.asks_ahead &= target.asks_ahead;
  // For tests: blocks of other sizes, from this seed, in all of the process.
  if (const char *seed = std::getenv("BROADLOOM_BLOCKS"); seed != nullptr && *seed != '\0')
    machine.sizes = block::random_sizes(std::strtoull(seed, nullptr, 10));
  return machine;
}

block::Program blocks_of(const loop::Program &program, const Target &target) {
  return block::choose(program, machine_of(target));
}

Target find_target(std::string_view request) {
  std::string name(request);
  if (name.empty()) {
    const char *variable = std::getenv("BROADLOOM_TARGET");
    name = variable != nullptr && *variable != '\0' ? variable : "native";
  }
  const bool native = name == "native";
  const Isa *isa = find_isa(native ? best_isa() : name);
  if (isa == nullptr && native)
    refuse("this machine cannot run code for x86-64-v3, the least that native code needs");
  if (isa == nullptr) refuse("unknown target '" + name + "'");
  if (isa->device) return {isa, name, false}; // nothing of it runs in this process
  if (!can_run(isa->name)) refuse("this machine cannot run code for " + name);
  return {isa, name_of_processor(), asks_ahead()};
}

static bool is_made_here(const Isa &isa) {
  return isa.core.warp == 0 && (builds_for_others || isa.elf == elf_machine);
}

Target target_to_build(std::string_view name) {
  const Isa *isa = find_isa(name);
  if (isa == nullptr) refuse("unknown target '" + std::string(name) + "'");
  return {isa, std::string(name), true};
}

std::vector<std::string> targets_to_build(bool also_of_others) {
  std::vector<std::string> names;
  for (const Isa &isa : isas)
    if (is_made_here(isa) && (also_of_others || isa.elf == elf_machine))
      names.emplace(isa.elf == elf_machine ? names.begin() : names.end(), isa.name);
  return names;
}

std::uint16_t machine_to_build(const std::vector<std::string> &targets) {
  std::uint16_t machine = elf_machine;
  for (const std::string &name : targets) {
    const Isa *isa = find_isa(name);
    if (isa == nullptr || !is_made_here(*isa))
      support::fail("E0503", "this machine builds no code for '" + name + "'", {},
                    fmt::format("it builds for {}", fmt::join(targets_to_build(true), ", ")));
    if (&name != &targets.front() && isa->elf != machine)
      support::fail("E0503",
                    fmt::format("an object file is of one architecture, not of that of {} and {}",
                                targets.front(), name),
                    {}, "build a file for each: --target takes the names of one architecture");
    machine = isa->elf;
  }
  return machine;
}

std::vector<std::string> targets_here() {
  std::vector<std::string> names;
  for (const Isa &isa : isas)
    if (can_run(isa.name) && isa.core.warp == 0) names.emplace_back(isa.name);
  return names;
}

} // namespace broadloom::jit
