// See processor.hpp.
#include "jit/native/processor.hpp"

#if defined(__x86_64__)
#include <cpuid.h>

#include <array>
#include <cstring>
#else
#include <asm/hwcap.h>
#include <fmt/format.h>
#include <sys/auxv.h>

#include <cstdint>
#endif

namespace broadloom::jit {

#if defined(__x86_64__)
namespace {

struct Host {
  bool v3 = false, v4 = false, is_amd = false;
};

// Asked once; never destroyed.
const Host &host() {
  static const Host &known = *[] {
    __builtin_cpu_init();
    return new Host{__builtin_cpu_supports("x86-64-v3") != 0,
                    __builtin_cpu_supports("x86-64-v4") != 0, __builtin_cpu_is("amd") != 0};
  }();
  return known;
}

} // namespace

// 48 characters, by three questions.
static std::string ask_for_name() {
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

bool can_run(std::string_view isa) {
  return (isa == "x86-64-v4" && host().v4) || ((isa == "x86-64-v3" || isa == "warp") && host().v3);
}

std::string_view best_isa() { return host().v4 ? "x86-64-v4" : host().v3 ? "x86-64-v3" : ""; }

// Measured on Zen 4 over 64 MB, two threads, time without asking ahead over time with it: sum 0.75
// to 0.86, mean of rows 0.88, sum of (x - y)^2 0.92, sum of columns 0.90, layernorm 0.92. On
// Sapphire Rapids a sum takes 1.8 times as long without.
bool asks_ahead() { return !host().is_amd; }

#else // aarch64

static std::string ask_for_name() {
  if ((getauxval(AT_HWCAP) & HWCAP_CPUID) == 0) return "aarch64";
  std::uint64_t numbers = 0; // Linux answers for the processor
  __asm__("mrs %0, midr_el1" : "=r"(numbers));
  return fmt::format("aarch64 {:#x} {:#x}", numbers >> 24 & 0xff, numbers >> 4 & 0xfff);
}

bool can_run(std::string_view isa) { return isa == best_isa() || isa == "warp"; }

// Each has vectors of 128 bits.
std::string_view best_isa() { return "aarch64"; }

bool asks_ahead() { return false; } // not measured: their own prefetchers follow streams

#endif

const std::string &name_of_processor() {
  static const std::string &known = *new std::string(ask_for_name()); // never destroyed
  return known;
}

} // namespace broadloom::jit
