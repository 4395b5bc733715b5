// Which instructions may be used.
//
// Two levels are enough: x86-64-v3 (AVX2) and x86-64-v4 (AVX-512). Code is made for exactly the
// features of a level, never for what a processor's name implies, because a virtual machine may
// hide some of them; the name only guides scheduling.
#include "jit/engine/target.hpp"

#include "support/fail.hpp"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include <array>
#include <cstdlib>

namespace broadloom::jit {
namespace {

constexpr std::array v3_features = {"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt",
                                    "cx16", "sahf",  "avx",    "avx2",   "bmi",
                                    "bmi2", "f16c",  "fma",    "lzcnt",  "movbe"};
constexpr std::array v4_features = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};

struct Host {
  bool v3 = true, v4 = true;
  std::string cpu;
};

// Asked once; never destroyed.
const Host &host() {
  static const Host &known = *[] {
    auto *found = new Host;
    const auto features = llvm::sys::getHostCPUFeatures();
    for (const char *name : v3_features) found->v3 = found->v3 && features.lookup(name);
    found->v4 = found->v3;
    for (const char *name : v4_features) found->v4 = found->v4 && features.lookup(name);
    found->cpu = llvm::sys::getHostCPUName().str();
    return found;
  }();
  return known;
}

Target make(std::string name, std::string cpu, bool v4) {
  Target target{std::move(name), std::move(cpu), "", v4 ? 512 : 256};
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

support::Machine machine_of(const Target &target) {
  support::Machine machine;
  machine.vector_bits = target.vector_bits;
  // Measured on Zen 4 over 64 MB, two threads, time without asking ahead over time with it: sum 0.75 to 0.86, mean of rows 0.88,
  // sum of (x - y)^2 0.92, sum of columns 0.90, layernorm 0.92. On Sapphire Rapids a sum takes 1.8 times as long without.
  machine.sizes.asks_ahead = !target.cpu.starts_with("znver");
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
