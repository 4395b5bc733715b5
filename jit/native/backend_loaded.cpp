// Where what needs LLVM is loaded: see backend.hpp. The library lies beside the file that this code
// is in, or in BROADLOOM_BACKEND_FOLDER from there, as a program is installed elsewhere than
// libraries are.
#include "jit/native/backend.hpp"

#include "support/end.hpp"
#include "support/undivided.hpp"

#include <dlfcn.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>

namespace broadloom::jit {
namespace {

// Where this code is, by what the kernel has mapped: the loader has only what the program was
// called by, which is relative to whatever folder it was started in.
std::filesystem::path own_folder() {
  const auto here = reinterpret_cast<std::uintptr_t>(&own_folder);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0, to = 0;
    const std::size_t path = line.find('/');
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2 && from <= here &&
        here < to && path != line.npos)
      return std::filesystem::path(line.substr(path)).parent_path();
  }
  fail_native("/proc/self/maps does not tell where Broadloom lies");
}

const Backend &load() {
  const std::filesystem::path folder = own_folder();
  std::string why;
  for (const std::filesystem::path &place :
       {folder / BROADLOOM_BACKEND, folder / BROADLOOM_BACKEND_FOLDER / BROADLOOM_BACKEND}) {
    std::error_code error;
    if (!std::filesystem::exists(place, error)) continue;
    support::watch_end(); // whoever ends the process meanwhile comes here last
    // Not all of its symbols at once: that is most of what loading takes.
    void *library = dlopen(place.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    const void *table = library != nullptr ? dlsym(library, "broadloom_backend") : nullptr;
    if (table != nullptr) {
      support::watch_end();
      if (support::end_has_begun()) fail_native("the process ends");
      return *static_cast<const Backend *>(table);
    }
    const char *said = dlerror();
    why = said != nullptr ? said : "it has no broadloom_backend";
  }
  if (why.empty())
    why = "there is no " BROADLOOM_BACKEND " in " + folder.string() + " nor in " +
          (folder / BROADLOOM_BACKEND_FOLDER).lexically_normal().string();
  fail_native("the part with LLVM cannot be loaded: " + why);
}

struct Loaded { // never destroyed
  support::Mutex mutex;
  const Backend *backend = nullptr;
};

} // namespace

const Backend &backend() {
  static Loaded &loaded = *new Loaded;
  const support::Undivided here;
  const support::BeforeEnd before_end;
  if (!before_end) fail_native("the process ends");
  const std::lock_guard lock(loaded.mutex);
  if (loaded.backend == nullptr) loaded.backend = &load();
  return *loaded.backend;
}

} // namespace broadloom::jit
