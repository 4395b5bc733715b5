// compile_native: emit, link the math, optimise, generate code, link it into memory, tell profilers.
#include "jit/engine/engine.hpp"

#include "jit/emit/emit.hpp"
#include "jit/engine/gdb.hpp"
#include "jit/engine/generate.hpp"
#include "jit/engine/profile.hpp"
#include "jit/engine/session.hpp"
#include "support/fail.hpp"
#include "support/log.hpp"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>

#include <sys/mman.h>

#include <chrono>

namespace broadloom::jit {
namespace {

// The time since the last lap.
class Laps {
public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

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

std::size_t text_bytes(llvm::MemoryBufferRef buffer) {
  const auto object = take(llvm::object::ObjectFile::createObjectFile(buffer));
  std::size_t bytes = 0;
  for (const llvm::object::SectionRef &section : object->sections()) {
    if (section.isText()) bytes += section.getSize();
  }
  return bytes;
}

// All steps up to the passes; for the text forms, names are kept.
struct Made {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};
Made make_module(const loop::Program &program, const block::Program &blocks, const Target &target,
                 const Generator &generator, std::string &errors, CompileTimes &times,
                 bool keep_names, const loop::Listing *listing = nullptr,
                 bool count_paths = false) {
  Laps laps;
  Made made;
  made.context = std::make_unique<llvm::LLVMContext>();
  made.context->setDiscardValueNames(!keep_names);
  collect_errors(*made.context, errors);
  made.module = emit(program, blocks, target, *made.context, listing, count_paths);
  generator.prepare(*made.module);
  times.emit = laps.lap();
  const bool has_math = link_math(*made.module, target);
  times.link_math = laps.lap();
  generator.optimise(*made.module, has_math);
  times.optimise = laps.lap();
  return made;
}

// The names of a program's functions: short ones, and for profilers those of profile.hpp.
class Names {
public:
  Names(const loop::Program &program, const Target &target, Profile profile)
      : kernel_(program.name), long_(profile != Profile::None),
        pattern_(long_ ? llvm::xxh3_64bits(target.cpu + target.features + loop::key(program)) : 0) {
  }

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

llvm::SmallVector<char, 0> make_text(const loop::Program &program, const block::Program &blocks,
                                     const Target &target, llvm::CodeGenFileType type,
                                     const Names &names, CompileTimes &times,
                                     const loop::Listing *listing = nullptr,
                                     bool count_paths = false) {
  const Generator generator(target);
  std::string errors;
  const Made made = make_module(program, blocks, target, generator, errors, times,
                                type == llvm::CodeGenFileType::AssemblyFile, listing, count_paths);
  Laps laps;
  names.apply(*made.module);
  llvm::SmallVector<char, 0> bytes = generator.generate(*made.module, type);
  if (!errors.empty()) fail_native(errors);
  times.codegen = laps.lap();
  return bytes;
}

} // namespace

struct Code::Place {
  llvm::orc::JITDylib *library = nullptr;
  std::unique_ptr<GdbEntry> gdb = {};

  ~Place() {
    gdb.reset(); // before the code that it tells of is gone
    if (library != nullptr) Session::instance().remove(*library);
  }
};

Code::Code(std::unique_ptr<Place> place, std::vector<PhaseFn> phases, block::Program blocks,
           std::size_t code_bytes, CompileTimes times)
    : place_(std::move(place)), phases_(std::move(phases)), blocks_(std::move(blocks)),
      code_bytes_(code_bytes), times_(times) {}

Code::~Code() = default;

namespace {

// Beyond this weight (400,000 additions, 130,000 calls of functions: some ten seconds) a program is left to the interpreter.
constexpr std::int64_t heaviest_program = 400'000;

// LLVM is built without exceptions: where memory ends inside it, the process may. So nobody enters who does not
// find as much as a compilation takes: 16 MiB and 1 KiB for each unit of weight were measured, and this is twice that.
void require_memory(std::int64_t weight) {
  const std::size_t bytes = (std::size_t{32} << 20) + std::size_t(weight) * 2048;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    fail_native("out of memory: a compilation may take " + std::to_string(bytes >> 20) + " MiB");
  munmap(memory, bytes);
}

} // namespace

namespace {

// What profilers need of an object file, before the linker takes it, and what they are told afterwards.
class Announcement {
public:
  Announcement(Profile profile, llvm::MemoryBufferRef object) : profile_(profile) {
    if (profile_ == Profile::None) return;
    functions_ = functions_of(object);
    if (has(profile_, Profile::Gdb)) copy_.assign(object.getBufferStart(), object.getBufferEnd());
  }

  // `phase` is a function of the object file, and `address` where it lies now.
  void make(const std::string &phase, std::uint64_t address, Code::Place &place) {
    if (profile_ == Profile::None) return;
    for (const Function &function : functions_)
      if (function.name == phase) address -= function.offset;
    if (has(profile_, Profile::Perf)) append_perf_map(functions_, address);
    if (has(profile_, Profile::Jitdump)) append_jitdump(functions_, address);
    if (has(profile_, Profile::Gdb))
      place.gdb = std::make_unique<GdbEntry>(std::move(copy_), address);
    support::log().debug("profilers know the kernel's code as {}", phase);
  }

private:
  Profile profile_;
  std::vector<Function> functions_;
  llvm::SmallVector<char, 0> copy_;
};

std::shared_ptr<const Code> make_code(const loop::Program &program, block::Program blocks,
                                      const Target &target, Profile profile, CompileTimes times) {
  const std::int64_t heavy = blocks.weights.total;
  if (heavy > heaviest_program)
    support::fail("E0502",
                  "the kernel is too large for native code: a weight of " + std::to_string(heavy) +
                      ", the limit is " + std::to_string(heaviest_program),
                  {}, "split the kernel, or run it with the interpreter");
  require_memory(heavy);
  Session &linker = Session::instance();
  const Names names(program, target, profile);
  llvm::SmallVector<char, 0> bytes =
      make_text(program, blocks, target, llvm::CodeGenFileType::ObjectFile, names, times, nullptr,
                has(profile, Profile::Paths));
  Laps laps;
  auto object = std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), "kernel", false);
  const std::size_t code_bytes = text_bytes(object->getMemBufferRef());
  Announcement announcement(profile, object->getMemBufferRef());
  auto place = std::make_unique<Code::Place>(); // before there is anything to be lost
  place->library = &linker.add(std::move(object));
  const std::vector<std::string> phase_names = names.phases(program.phases.size());
  const auto addresses = linker.find(*place->library, phase_names);
  std::vector<PhaseFn> phases;
  for (const llvm::orc::ExecutorAddr address : addresses)
    phases.push_back(address.toPtr<PhaseFn>());
  if (!addresses.empty())
    announcement.make(phase_names.front(), addresses.front().getValue(), *place);
  times.link = laps.lap();
  return std::make_shared<const Code>(std::move(place), std::move(phases), std::move(blocks),
                                      code_bytes, times);
}

} // namespace

std::shared_ptr<const Code> compile_native(const loop::Program &program, const Target &target,
                                           Profile profile) {
  Laps laps;
  block::Program blocks = blocks_of(program, target);
  CompileTimes times;
  times.choose = laps.lap();
  return make_code(program, std::move(blocks), target, profile, times);
}

std::shared_ptr<const Code> compile_native(const loop::Program &program, block::Program blocks,
                                           const Target &target, Profile profile) {
  return make_code(program, std::move(blocks), target, profile, {});
}

std::string llvm_text(const loop::Program &program, const block::Program &blocks,
                      const Target &target) {
  const Generator generator(target);
  std::string errors, text;
  CompileTimes times;
  const Made made = make_module(program, blocks, target, generator, errors, times, true);
  llvm::raw_string_ostream out(text);
  made.module->print(out, nullptr);
  return text;
}

std::string asm_text(const loop::Program &program, const block::Program &blocks,
                     const Target &target, const loop::Listing *listing) {
  CompileTimes times;
  const auto bytes = make_text(program, blocks, target, llvm::CodeGenFileType::AssemblyFile,
                               Names(program, target, Profile::None), times, listing);
  return std::string(bytes.data(), bytes.size());
}

} // namespace broadloom::jit
