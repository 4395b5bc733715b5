#include "tests/processes/cache_folder.hpp"

#include "tests/processes/process.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace fs = std::filesystem;

namespace broadloom::processes {

CacheFolder::CacheFolder() {
  path_ = (fs::temp_directory_path() / "broadloom-soak-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) {
    std::perror(path_.c_str());
    std::exit(2);
  }
  unsetenv("BROADLOOM_CACHE");
  setenv("BROADLOOM_CODE_BYTES", "0", 1);
}

CacheFolder::~CacheFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<fs::path> CacheFolder::names(const char *beginning) const {
  std::vector<fs::path> found;
  for (const fs::directory_entry &entry : fs::directory_iterator(path_))
    if (entry.path().filename().string().starts_with(beginning)) found.push_back(entry.path());
  return found;
}

std::vector<fs::path> CacheFolder::entries() const { return names("llvmcache-"); }
std::vector<fs::path> CacheFolder::unfinished() const { return names("unfinished-"); }

void CacheFolder::remove_entries() const {
  for (const fs::path &entry : entries()) fs::remove(entry);
}

void CacheFolder::age_unfinished() const {
  const timespec old{std::time(nullptr) - 2 * 3600, 0}, times[] = {old, old};
  for (const fs::path &file : unfinished()) utimensat(AT_FDCWD, file.c_str(), times, 0);
  fs::remove(path_ + "/llvmcache.timestamp");
}

Kernel CacheFolder::compiled(const std::string &text) const {
  return compile(parse(text), {.threads = 1, .cache_dir = path_});
}

CacheFolder::Kept CacheFolder::keep(int number) const {
  const Kernel kernel =
      compiled("kernel k { in x : f64[i]; out y = exp(x) + " + std::to_string(number) + " }");
  const bool right = processes::is_right(kernel, 100, number + 1.0);
  return {right && kernel.engine() == Engine::jit, kernel.counters().loaded > 0};
}

} // namespace broadloom::processes
