// From a loop program to object code: see object.hpp. Emit, bring the math in, optimise, generate.
#include "jit/engine/object.hpp"

#include "jit/emit/emit.hpp"
#include "jit/emit/whole.hpp"
#include "jit/engine/generate.hpp"
#include "jit/engine/linker.hpp"
#include "jit/native/laps.hpp"
#include "jit/native/on_threads.hpp"
#include "jit/native/profile.hpp"
#include "support/fail.hpp"
#include "support/undivided.hpp"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>

#include <sys/mman.h>

#include <algorithm>
#include <numeric>
#include <span>

namespace broadloom::jit {
namespace {

// LLVM's complaints become errors of ours; by itself it would print them and exit.
void collect_errors(llvm::LLVMContext &context, std::string &errors) {
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *out) {
        if (info->getSeverity() != llvm::DS_Error) return;
        llvm::raw_string_ostream stream(*static_cast<std::string *>(out));
        llvm::DiagnosticPrinterRawOStream printer(stream);
        info->print(printer);
      },
      &errors);
}

// All steps up to the passes; for the text forms, names are kept.
struct Made {
  Whole<llvm::LLVMContext> context;
  Whole<llvm::Module> module{"kernel", *context};
};
Made make_module(const loop::Program &program, const block::Program &blocks, const Target &target,
                 const Generator &generator, std::string &errors, CompileTimes &times,
                 bool keep_names, std::span<const std::size_t> phases,
                 const loop::Listing *listing = nullptr, bool count_paths = false) {
  Laps laps;
  Made made;
  made.context->setDiscardValueNames(!keep_names);
  collect_errors(*made.context, errors);
  emit(*made.module, program, blocks, target, phases, listing, count_paths);
  generator.prepare(*made.module);
  times.emit = laps.lap();
  const bool has_math =
      link_math(*made.module, target) || target.isa->device; // all in one function
  times.link_math = laps.lap();
  generator.optimise(*made.module, has_math);
  times.optimise = laps.lap();
  return made;
}

// The names of a program's functions: short ones, and for profilers those of profile.hpp.
class Names {
public:
  Names(const loop::Program &program, const Target &target, Profile profile)
      : kernel_(program.name), long_(profile != Profile::none),
        pattern_(long_ ? llvm::xxh3_64bits(target.cpu + std::string(target.isa->name) +
                                           loop::key(program))
                       : 0) {}

  std::vector<std::string> phases(std::size_t count) const {
    std::vector<std::string> names;
    for (std::size_t k = 0; k < count; ++k)
      names.push_back(long_ ? profile_name(kernel_, phase_name(k), pattern_) : phase_name(k));
    return names;
  }

  // Gives the functions their long names, and frames by which a profiler finds their callers.
  void apply(llvm::Module &module) const {
    if (!long_) return;
    for (llvm::Function &function : module) {
      if (function.isDeclaration()) continue;
      function.setName(profile_name(kernel_, function.getName(), pattern_));
      function.addFnAttr("frame-pointer", "all");
    }
  }

private:
  const std::string &kernel_;
  bool long_;
  std::uint64_t pattern_;
};

llvm::SmallVector<char, 0> machine_code(const loop::Program &program, const block::Program &blocks,
                                        const Target &target, llvm::CodeGenFileType type,
                                        const Names &names, CompileTimes &times,
                                        std::span<const std::size_t> phases,
                                        const loop::Listing *listing = nullptr,
                                        bool count_paths = false) {
  Laps laps;
  check_math(program, target);
  const Generator generator(target);
  times.start = laps.lap();
  std::string errors;
  const Made made =
      make_module(program, blocks, target, generator, errors, times,
                  type == llvm::CodeGenFileType::AssemblyFile, phases, listing, count_paths);
  laps.lap();
  names.apply(*made.module);
  llvm::SmallVector<char, 0> bytes = generator.generate(*made.module, type);
  if (!errors.empty()) fail_native(errors);
  times.codegen = laps.lap();
  return bytes;
}

// Beyond this weight (2 million additions, 650,000 calls of functions: some fifty seconds) a
// program is left to the interpreter.
constexpr std::int64_t heaviest_program = 2'000'000;

// LLVM is built without exceptions: where memory ends inside it, the process may. So nobody enters
// who does not find as much as a compilation takes: 16 MiB and 1 KiB for each unit of weight were
// measured, and this is twice that.
std::size_t bytes_for(std::int64_t weight) {
  return (std::size_t{32} << 20) + std::size_t(weight) * 2048;
}

// Of parts that were made side by side: what each step had of the time that all of them took
// together.
CompileTimes joined(std::span<const CompileTimes> parts, double ms) {
  CompileTimes sum;
  for (const CompileTimes &part : parts) sum.add(part);
  if (sum.total() > 0) sum.scale(ms / sum.total());
  return sum;
}

constexpr std::int64_t part_weight = 150; // some 8 ms; a part of its own costs half a millisecond
constexpr std::size_t most_parts = 16;
constexpr std::int64_t heaviest_part = 25'000; // more parts than that where the program is so heavy

std::vector<std::size_t> all_phases(const loop::Program &program) {
  std::vector<std::size_t> phases(program.phases.size());
  std::iota(phases.begin(), phases.end(), std::size_t{0});
  return phases;
}

} // namespace

bool has_memory_for(std::int64_t weight) {
  void *memory =
      mmap(nullptr, bytes_for(weight), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, bytes_for(weight));
  return true;
}

// The heaviest phase first, each into the part that is lightest so far.
std::vector<std::vector<std::size_t>> parts_of(const block::Weights &weights) {
  const std::int64_t all =
      std::accumulate(weights.phases.begin(), weights.phases.end(), std::int64_t{0});
  const std::size_t count =
      std::clamp(std::min(std::size_t(all / part_weight), weights.phases.size()), std::size_t{1},
                 std::max(most_parts, std::size_t(all / heaviest_part)));
  std::vector<std::size_t> order(weights.phases.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t phase) {
    return std::pair(-weights.phases[phase], phase); // the heaviest first
  });
  std::vector<std::vector<std::size_t>> parts(count);
  std::vector<std::int64_t> filled(count, 0);
  for (const std::size_t phase : order) {
    const auto lightest = std::size_t(std::ranges::min_element(filled) - filled.begin());
    parts[lightest].push_back(phase);
    filled[lightest] += weights.phases[phase];
  }
  for (std::vector<std::size_t> &part : parts) std::ranges::sort(part);
  return parts;
}

Object generate(const loop::Program &program, block::Program blocks, const Target &target,
                Profile profile, int threads) {
  const support::Undivided here;
  const std::int64_t heavy = blocks.weights.total;
  if (heavy > heaviest_program)
    support::fail("E0502",
                  "the kernel is too large for native code: a weight of " + std::to_string(heavy) +
                      ", the limit is " + std::to_string(heaviest_program),
                  {}, "split the kernel, or run it with the interpreter");
  if (!has_memory_for(heavy))
    fail_native("out of memory: a compilation may take " + std::to_string(bytes_for(heavy) >> 20) +
                " MiB");
  Object object;
  const Names names(program, target, profile);
  const std::vector<std::vector<std::size_t>> parts = parts_of(blocks.weights);
  object.files.resize(parts.size());
  std::vector<CompileTimes> times(parts.size());
  Laps laps;
  on_threads(parts.size(), threads, [&](std::size_t k) {
    const auto file =
        machine_code(program, blocks, target, llvm::CodeGenFileType::ObjectFile, names, times[k],
                     parts[k], nullptr, has(profile, Profile::paths));
    object.files[k].assign(file.begin(), file.end());
  });
  object.times = joined(times, laps.lap());
  object.phases = names.phases(program.phases.size());
  object.blocks = std::move(blocks);
  object.profile = profile;
  return object;
}

std::string llvm_text(const loop::Program &program, const block::Program &blocks,
                      const Target &target) {
  const support::Undivided here;
  check_math(program, target);
  const Generator generator(target);
  std::string errors, text;
  CompileTimes times;
  const Made made =
      make_module(program, blocks, target, generator, errors, times, true, all_phases(program));
  llvm::raw_string_ostream out(text);
  made.module->print(out, nullptr);
  return text;
}

std::string asm_text(const loop::Program &program, const block::Program &blocks,
                     const Target &target, const loop::Listing *listing) {
  const support::Undivided here;
  CompileTimes times;
  const auto bytes =
      machine_code(program, blocks, target, llvm::CodeGenFileType::AssemblyFile,
                   Names(program, target, Profile::none), times, all_phases(program), listing);
  return std::string(bytes.data(), bytes.size());
}

} // namespace broadloom::jit
