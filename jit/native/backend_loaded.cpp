// Where what needs LLVM is loaded: see backend.hpp. The library lies beside the file that this code is in, or in BROADLOOM_BACKEND_FOLDER from
// there, as a program is installed elsewhere than libraries are.
#include "jit/native/backend.hpp"

#include "support/undivided.hpp"

#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <mutex>

namespace broadloom::jit {
namespace {

// Where this code is.
std::filesystem::path own_folder() {
  Dl_info about{};
  if (dladdr(reinterpret_cast<const void *>(&own_folder), &about) == 0 ||
      about.dli_fname == nullptr)
    fail_native("the loader does not know where Broadloom lies");
  std::error_code error;
  std::filesystem::path file = std::filesystem::canonical(about.dli_fname, error);
  // Of a program the loader knows what it was called by, which may be no path.
  if (error) file = std::filesystem::canonical("/proc/self/exe", error);
  if (error) fail_native("'" + std::string(about.dli_fname) + "': " + error.message());
  return file.parent_path();
}

const Backend &load() {
  const std::filesystem::path folder = own_folder();
  std::string why;
  for (const std::filesystem::path &place :
       {folder / BROADLOOM_BACKEND, folder / BROADLOOM_BACKEND_FOLDER / BROADLOOM_BACKEND}) {
    std::error_code error;
    if (!std::filesystem::exists(place, error)) continue;
    // Not all of its symbols at once: that is most of what loading takes.
    void *library = dlopen(place.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    const void *table = library != nullptr ? dlsym(library, "broadloom_backend") : nullptr;
    if (table != nullptr) {
      support::wait_at_exit();
      return *static_cast<const Backend *>(table);
    }
    why = dlerror();
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
  const std::lock_guard lock(loaded.mutex);
  if (loaded.backend == nullptr) loaded.backend = &load();
  return *loaded.backend;
}

} // namespace broadloom::jit
