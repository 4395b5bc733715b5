// The jitdump file of a process: the functions with their code, for `perf inject --jit`.
//
//   header   magic, version, its size, machine, pid, time, flags              40 bytes
//   record   id 0 (code load), its size, time, pid, tid, address, address, size of the code, index,
//            name, code                                                       one for each function
//
// The format is that of tools/perf/Documentation/jitdump-specification.txt in Linux. LLVM 19 has a
// writer of such files too, but leaves the flags in its header to chance, and perf refuses the
// file.
//
// The file is DIR/.debug/jit/broadloom-XXXXXX/jit-PID.dump, where DIR is JITDUMPDIR or else the
// home folder. perf learns of it because a page of it is mapped as code: so the mapping stays as
// long as the process.
#include "jit/engine/functions.hpp"
#include "jit/native/processor.hpp"

#include "support/log.hpp"
#include "support/own_folder.hpp"
#include "support/undivided.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace broadloom::jit {
namespace {

struct Header {
  std::uint32_t magic = 0x4A695444;
  std::uint32_t version = 1;
  std::uint32_t size = sizeof(Header);
  std::uint32_t machine = elf_machine;
  std::uint32_t padding = 0;
  std::uint32_t pid = 0;
  std::uint64_t time = 0;
  std::uint64_t flags = 0;
};
static_assert(sizeof(Header) == 40);

struct Record {
  std::uint32_t id = 0;
  std::uint32_t size = 0; // of all, with the name and the code
  std::uint64_t time = 0;
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t address = 0, code_address = 0, code_size = 0, index = 0;
};
static_assert(sizeof(Record) == 56);

// On the clock of `perf record -k mono`.
std::uint64_t nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::uint64_t(now.tv_sec) * 1'000'000'000 + std::uint64_t(now.tv_nsec);
}

template <class T> void add(std::string &bytes, const T &value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

[[noreturn]] void fail(const std::string &what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// A new folder that only this user can enter.
std::string make_folder() {
  const char *base = std::getenv("JITDUMPDIR");
  if (base == nullptr || *base == '\0') {
    base = std::getenv("HOME");
    if (base != nullptr && *base != '\0' && !support::may_make_below(base)) {
      errno = EPERM;
      fail(std::string("'") + base + "' is the home of another user");
    }
  }
  if (base == nullptr || *base == '\0') base = ".";
  const std::filesystem::path parent = std::filesystem::path(base) / ".debug" / "jit";
  std::filesystem::create_directories(parent);
  std::string folder = parent / "broadloom-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) fail(folder);
  return folder;
}

// The file of one process; its members stay as they are when it cannot be made.
class Dump {
public:
  void append(llvm::ArrayRef<Function> functions, std::uint64_t text) {
    if (pid_ != getpid()) open(); // a child needs a file of its own
    if (descriptor_ < 0) return;
    std::string bytes;
    for (const Function &function : functions) add_record(bytes, function, text + function.offset);
    write_all(bytes);
  }

private:
  void open() {
    pid_ = getpid();
    descriptor_ = -1;
    const std::string path = fmt::format("{}/jit-{}.dump", make_folder(), pid_);
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0) fail(path);
    const std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
    if (mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0) == MAP_FAILED) {
      close(descriptor);
      fail(path);
    }
    descriptor_ = descriptor;
    Header header;
    header.pid = std::uint32_t(pid_);
    header.time = nanoseconds();
    std::string bytes;
    add(bytes, header);
    write_all(bytes);
  }

  void add_record(std::string &bytes, const Function &function, std::uint64_t address) {
    Record record;
    record.size = std::uint32_t(sizeof record + function.name.size() + 1 + function.size);
    record.time = nanoseconds();
    record.pid = std::uint32_t(pid_);
    record.tid = std::uint32_t(gettid());
    record.address = record.code_address = address;
    record.code_size = function.size;
    record.index = index_++;
    add(bytes, record);
    bytes.append(function.name.c_str(), function.name.size() + 1);
    bytes.append(reinterpret_cast<const char *>(address), function.size);
  }

  void write_all(const std::string &bytes) {
    if (write(descriptor_, bytes.data(), bytes.size()) == ssize_t(bytes.size())) return;
    close(descriptor_); // half a record ends the file for perf: nothing may follow it
    descriptor_ = -1;
    fail("jitdump");
  }

  pid_t pid_ = 0;
  int descriptor_ = -1;
  std::uint64_t index_ = 0;
};

} // namespace

void append_jitdump(llvm::ArrayRef<Function> functions, std::uint64_t text) {
  static support::Mutex mutex;
  static Dump dump;
  const std::lock_guard lock(mutex);
  try {
    dump.append(functions, text);
  } catch (const std::system_error &error) { // a profile is not worth a failed kernel
    support::log().warn("perf will not see kernels by name: no jitdump file: {}", error.what());
  }
}

} // namespace broadloom::jit
