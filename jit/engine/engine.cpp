// From object code to functions in memory, and compile_native, which is both steps: see engine.hpp
// and object.hpp.
#include "jit/engine/engine.hpp"

#include "jit/engine/functions.hpp"
#include "jit/engine/gdb.hpp"
#include "jit/engine/linker.hpp"
#include "jit/engine/object.hpp"
#include "jit/native/laps.hpp"
#include "support/end.hpp"
#include "support/log.hpp"
#include "support/undivided.hpp"

#include <llvm/Object/ObjectFile.h>

namespace broadloom::jit {
namespace {

std::size_t text_bytes(llvm::MemoryBufferRef buffer) {
  const auto object = take(llvm::object::ObjectFile::createObjectFile(buffer));
  std::size_t bytes = 0;
  for (const llvm::object::SectionRef &section : object->sections())
    if (section.isText()) bytes += section.getSize();
  return bytes;
}

// What the linker has made, until nobody runs it any more.
struct Linked {
  llvm::orc::JITDylib *library = nullptr;
  std::vector<std::unique_ptr<GdbEntry>> gdb = {};

  ~Linked() {
    gdb.clear(); // before the code that it tells of is gone
    const support::Undivided here;
    const support::BeforeEnd before_end; // after it, what the linker needs may be gone
    if (before_end && library != nullptr) Linker::instance().remove(*library);
  }
};

// What profilers need of an object file, before the linker takes it, and what they are told
// afterwards.
class Announcement {
public:
  Announcement(Profile profile, llvm::MemoryBufferRef object) : profile_(profile) {
    if (profile_ == Profile::none) return;
    functions_ = functions_of(object);
    if (has(profile_, Profile::gdb)) copy_.assign(object.getBufferStart(), object.getBufferEnd());
  }

  // `phases` lie at `addresses` now; some of them are functions of the object file.
  void make(const std::vector<std::string> &phases,
            const std::vector<llvm::orc::ExecutorAddr> &addresses, Linked &place) {
    if (profile_ == Profile::none) return;
    for (std::size_t k = 0; k < phases.size(); ++k)
      for (const Function &function : functions_)
        if (function.name == phases[k])
          return tell(addresses[k].getValue() - function.offset, phases[k], place);
  }

private:
  void tell(std::uint64_t address, const std::string &phase, Linked &place) {
    if (has(profile_, Profile::perf)) append_perf_map(functions_, address);
    if (has(profile_, Profile::jitdump)) append_jitdump(functions_, address);
    if (has(profile_, Profile::gdb))
      place.gdb.push_back(std::make_unique<GdbEntry>(std::move(copy_), address));
    support::log().debug("profilers know the kernel's code as {}", phase);
  }

  Profile profile_;
  std::vector<Function> functions_;
  llvm::SmallVector<char, 0> copy_;
};

} // namespace

std::shared_ptr<const Code> link(Object object, std::optional<Image> *image) {
  Laps laps;
  std::size_t code_bytes = 0;
  std::vector<Announcement> announcements;
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> files;
  for (const std::vector<char> &file : object.files) {
    const llvm::MemoryBufferRef bytes(llvm::StringRef(file.data(), file.size()), "kernel");
    code_bytes += text_bytes(bytes);
    announcements.emplace_back(object.profile, bytes);
    files.push_back(llvm::MemoryBuffer::getMemBufferCopy(bytes.getBuffer(), "kernel"));
  }
  Linker &linker = Linker::instance();
  auto place = std::make_shared<Linked>(); // before there is anything to be lost
  place->library =
      &linker.add(std::move(files), image != nullptr ? Linker::Keep::Image : Linker::Keep::Nothing);
  const auto addresses = linker.find(*place->library, object.phases);
  if (image != nullptr) *image = linker.image(*place->library, object.phases);
  std::vector<PhaseFn> phases;
  for (const llvm::orc::ExecutorAddr address : addresses)
    phases.push_back(address.toPtr<PhaseFn>());
  for (Announcement &announcement : announcements)
    announcement.make(object.phases, addresses, *place);
  support::watch_end();
  object.times.link = laps.lap();
  return std::make_shared<const Code>(Code::Place{{}, std::move(place)}, std::move(phases),
                                      std::move(object.blocks), code_bytes, object.times);
}

std::shared_ptr<const Code> compile_native(const loop::Program &program, const Target &target,
                                           Profile profile) {
  return compile_native(program, blocks_of(program, target), target, profile);
}

std::shared_ptr<const Code> compile_native(const loop::Program &program, block::Program blocks,
                                           const Target &target, Profile profile) {
  return link(generate(program, std::move(blocks), target, profile));
}

} // namespace broadloom::jit
