// See gdb.hpp. A debugger sets a breakpoint into __jit_debug_register_code, and looks through the
// list that __jit_debug_descriptor begins whenever the program comes by there (or when it
// attaches).
//
// The list is LLVM's own, as libLLVM exports both symbols. LLVM can put object files into it and
// has no way to take one out again, which kernels that are freed need; so the list is kept here.
#include "jit/engine/gdb.hpp"
#include "support/undivided.hpp"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFTypes.h>

#include <mutex>
#include <utility>

extern "C" {
extern jit_descriptor __jit_debug_descriptor;
void __jit_debug_register_code();
}

namespace broadloom::jit {
namespace {

support::Mutex list_mutex;

// A debugger takes the address of a section from its header. Only .text has one that matters: the
// names of functions are all that this file tells.
void place_text(llvm::SmallVector<char, 0> &object, std::uint64_t text) {
  using Elf = llvm::object::ELF64LE;
  const auto &header = *reinterpret_cast<const Elf::Ehdr *>(object.data());
  auto *sections = reinterpret_cast<Elf::Shdr *>(object.data() + header.e_shoff);
  for (unsigned k = 0; k < header.e_shnum; ++k)
    if (sections[k].sh_flags & llvm::ELF::SHF_EXECINSTR)
      sections[k].sh_addr = text;
    else
      sections[k].sh_flags = sections[k].sh_flags & ~std::uint64_t(llvm::ELF::SHF_ALLOC);
}

void tell(jit_actions_t action, jit_code_entry &entry) {
  __jit_debug_descriptor.relevant_entry = &entry;
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_register_code();
  __jit_debug_descriptor.action_flag = JIT_NOACTION;
  __jit_debug_descriptor.relevant_entry = nullptr;
}

} // namespace

GdbEntry::GdbEntry(llvm::SmallVector<char, 0> object, std::uint64_t text)
    : object_(std::move(object)) {
  place_text(object_, text);
  entry_.symfile_addr = object_.data();
  entry_.symfile_size = object_.size();

  const std::lock_guard lock(list_mutex);
  entry_.next_entry = __jit_debug_descriptor.first_entry;
  if (entry_.next_entry != nullptr) entry_.next_entry->prev_entry = &entry_;
  __jit_debug_descriptor.first_entry = &entry_;
  tell(JIT_REGISTER_FN, entry_);
}

GdbEntry::~GdbEntry() {
  const std::lock_guard lock(list_mutex);
  if (entry_.prev_entry != nullptr)
    entry_.prev_entry->next_entry = entry_.next_entry;
  else
    __jit_debug_descriptor.first_entry = entry_.next_entry;
  if (entry_.next_entry != nullptr) entry_.next_entry->prev_entry = entry_.prev_entry;
  tell(JIT_UNREGISTER_FN, entry_);
}

} // namespace broadloom::jit
