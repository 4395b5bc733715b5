// Processes that are killed while they keep code on disk.
#include "tests/processes/cache_folder.hpp"
#include "tests/processes/modes.hpp"
#include "tests/processes/process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <random>

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
  int while_writing = 0, loads = 0, wrong = 0, missing = 0, left = 0;
};

void kill_one(const CacheFolder &folder, int first, double after, Found &found) {
  folder.remove_entries();
  const std::size_t before = folder.unfinished().size();
  const pid_t child = fork();
  if (child == 0) keep_for_ever(folder, first);
  usleep(useconds_t(after * 1e6));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  found.wrong += !WIFSIGNALED(status);
  found.while_writing += folder.unfinished().size() > before;
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
  std::uniform_real_distribution<double> after(0, 2.5 * one);
  Found found;
  for (int k = 0; k < count; ++k) {
    kill_one(folder, first(random), after(random), found);
    if (k % kills_between_cleanings == kills_between_cleanings - 1) clean(folder, found);
  }
  for (const bool again : {false, true})
    for (int k = 0; k < keys; ++k) {
      const CacheFolder::Kept kept = folder.keep(k);
      found.wrong += !kept.is_right;
      found.missing += again && !kept.is_loaded;
    }
  clean(folder, found);
  std::printf("%d killed, %d of them while a file was written; %d loads of what they had kept, %d "
              "wrong, %d of %d keys stay missing, %d unfinished files stay\n",
              count, found.while_writing, found.loads, found.wrong, found.missing, keys,
              found.left);
  return found.wrong + found.missing + found.left > 0;
}

} // namespace broadloom::processes
