// The processor that this process runs on: all that is not asked of LLVM and differs between
// architectures.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace broadloom::jit {

// What the ELF format calls the architecture, and whether code is made here for others.
#if defined(__x86_64__)
inline constexpr std::uint16_t elf_machine = EM_X86_64;
inline constexpr bool builds_for_others = true;
#else
inline constexpr std::uint16_t elf_machine = EM_AARCH64;
inline constexpr bool builds_for_others = false;
#endif

// What the processor calls itself: "AMD EPYC 9R14"; where it has a number alone, "aarch64 0x41
// 0xd0c" (implementer and part).
const std::string &name_of_processor();

// Whether it has all that an Isa of this name asks for.
bool can_run(std::string_view isa);

// The best Isa of it; empty where there is none.
std::string_view best_isa();

// Whether code does better that asks for the lines of a long stream before it reads them.
bool asks_ahead();

} // namespace broadloom::jit
