// Which instructions may be used.
//
// Two levels are enough: x86-64-v3 (AVX2) and x86-64-v4 (AVX-512). Code is made for exactly the
// features of a level, never for what a processor's name implies, because a virtual machine may
// hide some of them.
#include "jit/native/target.hpp"

#include "support/fail.hpp"

#include <cpuid.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace broadloom::jit {
namespace {

constexpr std::array v3_features = {"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt",
                                    "cx16", "sahf",  "avx",    "avx2",   "bmi",
                                    "bmi2", "f16c",  "fma",    "lzcnt",  "movbe"};
constexpr std::array v4_features = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};

struct Host {
  bool v3 = false, v4 = false;
  bool is_amd = false;
  std::string cpu;
};

// Asked once; never destroyed.
const Host &host() {
  static const Host &known = *[] {
    __builtin_cpu_init();
    return new Host{__builtin_cpu_supports("x86-64-v3") != 0,
                    __builtin_cpu_supports("x86-64-v4") != 0, __builtin_cpu_is("amd") != 0,
                    name_of_processor()};
  }();
  return known;
}

Target make(std::string name, std::string cpu, bool v4) {
  Target target{std::move(name), std::move(cpu), "", v4 ? 512 : 256, !host().is_amd};
  for (const char *feature : v3_features) target.features += std::string("+") + feature + ",";
  if (v4) {
    for (const char *feature : v4_features) target.features += std::string("+") + feature + ",";
  }
  target.features.pop_back();
  return target;
}

[[noreturn]] void refuse(const std::string &message) {
  support::fail("E0503", message, {},
                "set BROADLOOM_TARGET or Options::target to \"native\", \"x86-64-v3\" or "
                "\"x86-64-v4\", or leave them unset");
}

} // namespace

// 48 characters, by three questions.
std::string name_of_processor() {
  std::array<unsigned, 12> words{};
  if (__get_cpuid_max(0x80000000, nullptr) < 0x80000004) return "x86-64";
  for (unsigned k = 0; k < 3; ++k) // each of which takes a microsecond of a virtual machine
    __cpuid(0x80000002 + k, words[4 * k], words[4 * k + 1], words[4 * k + 2], words[4 * k + 3]);
  char text[sizeof words + 1] = {};
  std::memcpy(text, words.data(), sizeof words);
  std::string name;
  for (const char *c = text; *c != '\0'; ++c)
    if (*c != ' ' || (!name.empty() && name.back() != ' ')) name += *c;
  if (name.ends_with(' ')) name.pop_back();
  return name;
}

support::Machine machine_of(const Target &target) {
  support::Machine machine;
  machine.vector_bits = target.vector_bits;
  // Measured on Zen 4 over 64 MB, two threads, time without asking ahead over time with it: sum 0.75 to 0.86, mean of rows 0.88,
  // sum of (x - y)^2 0.92, sum of columns 0.90, layernorm 0.92. On Sapphire Rapids a sum takes 1.8 times as long without.
  machine.sizes.asks_ahead = target.asks_ahead;
  // For tests: blocks of other sizes, from this seed, in all of the process.
  if (const char *seed = std::getenv("BROADLOOM_BLOCKS"); seed != nullptr && *seed != '\0')
    machine.sizes = block::random_sizes(std::strtoull(seed, nullptr, 10));
  if (!target.avx512())
    return machine; // AVX2: masked moves of 4 and 8 bytes, gathers slower than loads one by one
  machine.registers = 32;
  machine.masks_free = machine.gathers = true;
  machine.least_masked_move = 1;
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
  if (!native && name != "x86-64-v3" && name != "x86-64-v4") {
    refuse("unknown target '" + name + "'");
  }
  const bool v4 = native ? host().v4 : name == "x86-64-v4";
  if (v4 ? !host().v4 : !host().v3) {
    refuse("this machine cannot run code for " +
           (native ? std::string("x86-64-v3, the least that native code needs") : name));
  }
  return make(name, host().cpu, v4);
}

} // namespace broadloom::jit
