// compile_native: emit, link the math, optimise, generate code, link it into memory.
//
// The linker session lives as long as the process and is never destroyed: code may still run while
// static objects are torn down. Each program gets a symbol table of its own, so that names never
// meet and removing it gives back all that it held. Memory is written first and made executable
// after; it is never both.
#include "jit/engine/engine.hpp"

#include "jit/emit/emit.hpp"
#include "jit/engine/generate.hpp"
#include "math/libm.hpp"
#include "math/scalar.hpp"
#include "ops/complex.hpp"
#include "support/fail.hpp"

#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <atomic>
#include <chrono>
#include <mutex>

namespace broadloom::jit {
namespace {

namespace orc = llvm::orc;

[[noreturn]] void fail(const std::string &message) {
  support::fail("E0501", "native code cannot be had: " + message, {},
                "run with the interpreter (Engine::Interpreter), which gives the same bits");
}

template <class T> T take(llvm::Expected<T> value) {
  if (!value) fail(llvm::toString(value.takeError()));
  return std::move(*value);
}

constexpr std::size_t slab_bytes = std::size_t{64} << 20; // of address space, used bit by bit

class Session {
public:
  Session()
      : session_(take(orc::SelfExecutorProcessControl::Create(
            nullptr, std::make_unique<orc::InPlaceTaskDispatcher>()))),
        linker_(session_,
                take(orc::MapperJITLinkMemoryManager::CreateWithMapper<orc::InProcessMemoryMapper>(
                    slab_bytes))),
        libm_(session_.createBareJITDylib("libm")) {
    session_.setErrorReporter([this](llvm::Error error) { // nothing is ever printed
      const std::lock_guard lock(mutex_);
      last_error_ = llvm::toString(std::move(error));
    });
    orc::SymbolMap symbols;
    const auto add = [&](std::string_view symbol, void *address) {
      symbols[session_.intern(llvm::StringRef(symbol.data(), symbol.size()))] = {
          orc::ExecutorAddr::fromPtr(address),
          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    };
    for (const math::LibmSymbol &s : math::libm_symbols()) add(s.symbol, s.address);
    for (const math::ColdSymbol &s : math::cold_symbols()) add(s.symbol, s.address);
    if (auto error = libm_.define(orc::absoluteSymbols(std::move(symbols)))) {
      fail(llvm::toString(std::move(error)));
    }
  }

  orc::JITDylib &add(std::unique_ptr<llvm::MemoryBuffer> object) {
    orc::JITDylib &library =
        session_.createBareJITDylib("kernel " + std::to_string(next_.fetch_add(1)));
    library.addToLinkOrder(libm_);
    if (auto error = linker_.add(library, std::move(object))) {
      const std::string message = llvm::toString(std::move(error));
      remove(library);
      fail(message);
    }
    return library;
  }

  std::vector<PhaseFn> find(orc::JITDylib &library, std::size_t count) {
    orc::SymbolLookupSet names;
    for (std::size_t k = 0; k < count; ++k) names.add(session_.intern(phase_name(k)));
    auto found = session_.lookup(orc::makeJITDylibSearchOrder(&library), std::move(names));
    if (!found) {
      std::string message = llvm::toString(found.takeError());
      {
        const std::lock_guard lock(mutex_);
        if (!last_error_.empty()) message += " (" + last_error_ + ")";
      }
      fail(message);
    }
    std::vector<PhaseFn> phases;
    for (std::size_t k = 0; k < count; ++k) {
      phases.push_back((*found)[session_.intern(phase_name(k))].getAddress().toPtr<PhaseFn>());
    }
    return phases;
  }

  void remove(orc::JITDylib &library) {
    if (auto error = session_.removeJITDylib(library)) llvm::consumeError(std::move(error));
  }

private:
  orc::ExecutionSession session_;
  orc::ObjectLinkingLayer linker_;
  orc::JITDylib &libm_;
  std::atomic<std::uint64_t> next_{0};
  std::mutex mutex_;
  std::string last_error_;
};

Session &session() {
  static Session &made = *new Session;
  return made;
}

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
Made make_module(const loop::Program &program, const Target &target, const Generator &generator,
                 std::string &errors, CompileTimes &times, bool keep_names) {
  Laps laps;
  Made made;
  made.context = std::make_unique<llvm::LLVMContext>();
  made.context->setDiscardValueNames(!keep_names);
  collect_errors(*made.context, errors);
  made.module = emit(program, target, *made.context);
  generator.prepare(*made.module);
  times.emit = laps.lap();
  const bool has_math = link_math(*made.module, target);
  times.link_math = laps.lap();
  generator.optimise(*made.module, has_math);
  times.optimise = laps.lap();
  return made;
}

llvm::SmallVector<char, 0> make_text(const loop::Program &program, const Target &target,
                                     llvm::CodeGenFileType type, CompileTimes &times) {
  const Generator generator(target);
  std::string errors;
  const Made made = make_module(program, target, generator, errors, times,
                                type == llvm::CodeGenFileType::AssemblyFile);
  Laps laps;
  llvm::SmallVector<char, 0> bytes = generator.generate(*made.module, type);
  if (!errors.empty()) fail(errors);
  times.codegen = laps.lap();
  return bytes;
}

} // namespace

struct Code::Place {
  llvm::orc::JITDylib &library;
  ~Place() { session().remove(library); }
};

Code::Code(std::unique_ptr<Place> place, std::vector<PhaseFn> phases, std::size_t code_bytes,
           CompileTimes times)
    : place_(std::move(place)), phases_(std::move(phases)), code_bytes_(code_bytes), times_(times) {
}

Code::~Code() = default;

namespace {

// LLVM's time grows with the instructions, and faster than they do in long functions. Beyond this
// weight (some seconds) a program is left to the interpreter: the answer matters more than the speed.
constexpr std::int64_t heaviest_program = 20'000;

// Of one operation, as if it were a value of its own.
std::int64_t weight(ops::Op op, DType compute) {
  if (is_complex(compute)) return ops::complex::is_function(op) ? 300 : 10;
  return ops::info(op).math == ops::Math::Vector ? 60 : 1;
}

std::int64_t weight(const loop::Program &program) {
  std::int64_t sum = 20 * std::int64_t(program.loops.size());
  for (const loop::Value &value : program.values)
    sum += value.kind == loop::ValueKind::Op ? weight(value.op, value.compute) : 1;
  for (const loop::Acc &acc : program.accs) { // its code stands in several places
    const ops::Recipe &recipe = program.recipes[acc.recipe];
    for (const ops::Code *code : {&recipe.step, &recipe.combine})
      for (const ops::Code::Line &line : code->lines) {
        const bool op = line.kind == ops::Code::Line::Kind::Op;
        const std::int64_t own = op ? weight(line.op, line.compute) : 1;
        sum += own > 1 ? 4 * own : 8;
      }
  }
  return sum;
}

} // namespace

std::shared_ptr<const Code> compile_native(const loop::Program &program, const Target &target) {
  if (const std::int64_t heavy = weight(program); heavy > heaviest_program)
    support::fail("E0502",
                  "the kernel is too large for native code: a weight of " + std::to_string(heavy) +
                      ", the limit is " + std::to_string(heaviest_program),
                  {}, "split the kernel, or run it with the interpreter");
  Session &linker = session();
  CompileTimes times;
  llvm::SmallVector<char, 0> bytes =
      make_text(program, target, llvm::CodeGenFileType::ObjectFile, times);
  Laps laps;
  auto object = std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), "kernel", false);
  const std::size_t code_bytes = text_bytes(object->getMemBufferRef());
  std::unique_ptr<Code::Place> place(new Code::Place{linker.add(std::move(object))});
  std::vector<PhaseFn> phases = linker.find(place->library, program.phases.size());
  times.link = laps.lap();
  return std::make_shared<const Code>(std::move(place), std::move(phases), code_bytes, times);
}

std::string llvm_text(const loop::Program &program, const Target &target) {
  const Generator generator(target);
  std::string errors, text;
  CompileTimes times;
  const Made made = make_module(program, target, generator, errors, times, true);
  llvm::raw_string_ostream out(text);
  made.module->print(out, nullptr);
  return text;
}

std::string asm_text(const loop::Program &program, const Target &target) {
  CompileTimes times;
  const auto bytes = make_text(program, target, llvm::CodeGenFileType::AssemblyFile, times);
  return std::string(bytes.data(), bytes.size());
}

} // namespace broadloom::jit
