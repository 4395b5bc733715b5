// Processes that are killed while they keep code on disk. The functions by which they write are
// replaced here: they tell the parent that a file is being written, which is then written slowly,
// and of every other child they refuse files without a name, as some file systems do.
#include "tests/processes/cache_folder.hpp"
#include "tests/processes/modes.hpp"
#include "tests/processes/process.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <random>

static std::atomic<bool> *is_writing = nullptr; // of the child, where the parent sees it
static bool refuses_nameless = false;

#if !defined(BROADLOOM_SANITIZED) // whose runtimes have some of their own
template <class Function> static Function next_of(const char *name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

extern "C" int openat(int folder, const char *path, int flags, ...) {
  using Open = int (*)(int, const char *, int, ...);
  static const Open open = next_of<Open>(sizeof(off_t) == 8 ? "openat64" : "openat");
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    std::va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  if ((flags & O_TMPFILE) == O_TMPFILE && refuses_nameless) return errno = EOPNOTSUPP, -1;
  if ((flags & O_ACCMODE) == O_WRONLY && is_writing != nullptr) *is_writing = true;
  return open(folder, path, flags, mode);
}

extern "C" ssize_t write(int file, const void *bytes, std::size_t count) {
  using Write = ssize_t (*)(int, const void *, std::size_t);
  static const Write write = next_of<Write>("write");
  if (is_writing == nullptr) return write(file, bytes, count);
  usleep(300);
  return write(file, bytes, std::min<std::size_t>(count, 2000));
}

extern "C" int linkat(int from, const char *name, int to, const char *other, int flags) noexcept {
  using Link = int (*)(int, const char *, int, const char *, int);
  static const Link link = next_of<Link>("linkat");
  const int error = link(from, name, to, other, flags);
  if (is_writing != nullptr) *is_writing = false;
  return error;
}

extern "C" int renameat(int from, const char *name, int to, const char *other) noexcept {
  using Rename = int (*)(int, const char *, int, const char *);
  static const Rename rename = next_of<Rename>("renameat");
  const int error = rename(from, name, to, other);
  if (is_writing != nullptr) *is_writing = false;
  return error;
}
#endif

namespace broadloom::processes {
namespace {

constexpr int keys = 64;
constexpr int kills_between_cleanings = 500;

double seconds_of_one(const CacheFolder &folder) {
  const auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < 8; ++k) folder.keep(keys + k);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / 8;
}

// Keeps one kernel after the other until it is killed; ends by itself only where one is wrong.
[[noreturn]] void keep_for_ever(const CacheFolder &folder, int first) {
  alarm(patience);
  for (int k = first; folder.keep(k % keys).is_right; ++k) {
  }
  _exit(1);
}

struct Found {
  int while_writing = 0, unfinished = 0, loads = 0, wrong = 0, missing = 0, left = 0;
};

void kill_one(const CacheFolder &folder, int first, double after, bool is_named,
              std::atomic<bool> &writes, Found &found) {
  folder.remove_entries();
  writes = false;
  const std::size_t before = folder.unfinished().size();
  const pid_t child = fork();
  if (child == 0) {
    is_writing = &writes;
    refuses_nameless = is_named;
    keep_for_ever(folder, first);
  }
  usleep(useconds_t(after * 1e6));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  found.wrong += !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL;
  found.while_writing += writes;
  found.unfinished += folder.unfinished().size() > before;
  for (int k = 0;; ++k) { // those that it has kept, and one that it may have been keeping
    const CacheFolder::Kept kept = folder.keep((first + k) % keys);
    found.wrong += !kept.is_right;
    if (!kept.is_loaded) break;
    ++found.loads;
  }
}

// A store looks for unfinished files once in an hour, and removes those of an hour ago.
void clean(const CacheFolder &folder, Found &found) {
  folder.age_unfinished();
  folder.remove_entries();
  folder.keep(0);
  found.left += int(folder.unfinished().size());
}

} // namespace

int cache_kills(int count) {
  const CacheFolder folder;
  folder.keep(-1); // LLVM is loaded before the forks
  const double one = seconds_of_one(folder);
  std::minstd_rand random(1);
  std::uniform_int_distribution<int> first(0, keys - 1);
  std::uniform_real_distribution<double> after(0, 2.5 * one + 0.002);
  void *memory = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return std::perror("mmap"), 2;
  auto &writes = *new (memory) std::atomic<bool>(false);
  Found found;
  for (int k = 0; k < count; ++k) {
    kill_one(folder, first(random), after(random), k % 2 == 1, writes, found);
    if (k % kills_between_cleanings == kills_between_cleanings - 1) clean(folder, found);
  }
  for (const bool again : {false, true})
    for (int k = 0; k < keys; ++k) {
      const CacheFolder::Kept kept = folder.keep(k);
      found.wrong += !kept.is_right;
      found.missing += again && !kept.is_loaded;
    }
  clean(folder, found);
  std::printf(
      "%d killed, %d of them while a file was written, of which %d left an unfinished file; "
      "%d loads of what they had kept, %d wrong, %d of %d keys stay missing, %d unfinished files "
      "stay\n",
      count, found.while_writing, found.unfinished, found.loads, found.wrong, found.missing, keys,
      found.left);
  return found.wrong + found.missing + found.left > 0;
}

} // namespace broadloom::processes
