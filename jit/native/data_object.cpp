// See data_object.hpp. The form is ELF.
#include "jit/native/data_object.hpp"

#include "jit/native/bytes.hpp"

#include <elf.h>

#include <array>

namespace broadloom::jit {
namespace {

enum Section : std::uint16_t { None, Data, Handle, Stack, Symbols, Names, SectionNames, Count };

// Texts one behind the other, each with its end.
class Strings {
public:
  std::uint32_t add(std::string_view text) {
    const auto at = std::uint32_t(bytes_.size());
    bytes_ += text;
    bytes_ += '\0';
    return at;
  }
  const std::string &bytes() const { return bytes_; }

private:
  std::string bytes_ = std::string(1, '\0');
};

void align(std::string &file, std::size_t to) { file.resize((file.size() + to - 1) / to * to); }

Elf64_Sym symbol(std::uint32_t name, Section section, std::uint64_t size) {
  return {name, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), STV_HIDDEN, section, 0, size};
}

} // namespace

std::string data_object(const std::string &name, std::string_view data, std::uint16_t machine) {
  Strings names, section_names;
  std::string symbols;
  put(symbols, Elf64_Sym{});
  put(symbols, symbol(names.add(name + "_built"), Data, data.size()));
  put(symbols, symbol(names.add(name + "_handle"), Handle, sizeof(void *)));

  std::string file(sizeof(Elf64_Ehdr), '\0');
  std::array<Elf64_Shdr, Count> sections{};
  const auto add = [&](Section at, const char *called, std::uint32_t type, std::uint64_t flags,
                       std::string_view content, std::uint64_t alignment) {
    align(file, alignment);
    sections[at] = {.sh_name = section_names.add(called),
                    .sh_type = type,
                    .sh_flags = flags,
                    .sh_addr = 0,
                    .sh_offset = file.size(),
                    .sh_size = content.size(),
                    .sh_link = 0,
                    .sh_info = 0,
                    .sh_addralign = alignment,
                    .sh_entsize = 0};
    if (type != SHT_NOBITS) file += content;
  };
  constexpr char pointer[sizeof(void *)] = {};
  add(Data, ".rodata", SHT_PROGBITS, SHF_ALLOC, data, 64);
  add(Handle, ".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, {pointer, sizeof pointer}, 8);
  add(Stack, ".note.GNU-stack", SHT_PROGBITS, 0, "", 1); // no stack that may be run
  add(Symbols, ".symtab", SHT_SYMTAB, 0, symbols, 8);
  sections[Symbols].sh_link = Names;
  sections[Symbols].sh_info = 1; // the first that is not local
  sections[Symbols].sh_entsize = sizeof(Elf64_Sym);
  add(Names, ".strtab", SHT_STRTAB, 0, names.bytes(), 1);
  const std::uint32_t own = section_names.add(".shstrtab");
  add(SectionNames, "", SHT_STRTAB, 0, section_names.bytes(), 1);
  sections[SectionNames].sh_name = own;
  align(file, 8);

  Elf64_Ehdr header{};
  const unsigned char ident[] = {ELFMAG0,    ELFMAG1,     ELFMAG2,    ELFMAG3,
                                 ELFCLASS64, ELFDATA2LSB, EV_CURRENT, ELFOSABI_NONE};
  std::memcpy(header.e_ident, ident, sizeof ident);
  header.e_type = ET_REL;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_shoff = file.size();
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = Count;
  header.e_shstrndx = SectionNames;
  std::memcpy(file.data(), &header, sizeof header);
  for (const Elf64_Shdr &section : sections) put(file, section);
  return file;
}

} // namespace broadloom::jit
