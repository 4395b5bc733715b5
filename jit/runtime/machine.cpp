// How many threads: a container with a quota of 1.5 CPUs on a machine of 64 gets 2, not 64.
//
// A cgroup's own limit holds together with those of all the groups around it, so the walk goes from
// the process's group up to the mount point and takes the least. Inside a container the path that
// /proc shows may not exist below the mount point; then only the mount point itself is read.
#include "jit/runtime/machine.hpp"

#include "support/log.hpp"
#include "support/number.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <thread>

namespace broadloom::jit::runtime {
namespace {

constexpr int most_threads = 4096;

// What BROADLOOM_THREADS asks for; 0 where it leaves the number open. Every kernel comes here, and
// what is wrong with it is said once.
int wanted_threads() {
  const char *text = std::getenv("BROADLOOM_THREADS");
  if (text == nullptr || *text == '\0') return 0;
  const auto value = support::number_of<int>(text);
  if (value && *value >= 0) return std::min(*value, most_threads);
  static std::atomic_flag said;
  if (!said.test_and_set())
    support::log().warn("BROADLOOM_THREADS is '{}': write a number, 0 for as many as there are",
                        text);
  return 0;
}

int cpus(double quota, double period) {
  if (quota <= 0 || period <= 0) return 0;
  return int(std::clamp((quota + period - 1) / period, 1.0, double(most_threads)));
}

// The content of a file of /proc or /sys; empty where it cannot be read. Each new process comes
// here before its first kernel, and a stream, with its locale, takes ten times as long.
std::string content_of(const std::string &path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string content;
  char part[4096];
  ssize_t got = 0;
  while ((got = read(file, part, sizeof part)) > 0) content.append(part, std::size_t(got));
  close(file);
  return content;
}

// The number that a text begins with, which goes; 0 where there is none.
double take_number(std::string_view &text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  text.remove_prefix(std::size_t(end - text.data()));
  return double(value);
}

// Version 2: "150000 100000" or "max 100000".
int quota_v2(const std::string &folder) {
  const std::string content = content_of(folder + "/cpu.max");
  std::string_view text = content;
  const double quota = take_number(text); // 0 for "max"
  return cpus(quota, take_number(text));
}

// Version 1: two files, -1 for no quota.
int quota_v1(const std::string &folder) {
  const auto number = [&](const char *file) {
    const std::string content = content_of(folder + file);
    std::string_view text = content;
    return take_number(text);
  };
  const double quota = number("/cpu.cfs_quota_us");
  return quota > 0 ? cpus(quota, number("/cpu.cfs_period_us")) : 0;
}

int least(int a, int b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

int least_upwards(const std::string &root, std::string path, int (*read)(const std::string &)) {
  int result = read(root);
  while (path.size() > 1) {
    result = least(result, read(root + path));
    path.resize(path.rfind('/'));
  }
  return result;
}

int affinity_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

int own_quota() { return quota_threads(content_of("/proc/self/cgroup"), "/sys/fs/cgroup"); }

// Of a cache of the first processor; 0 where Linux says none.
std::int64_t bytes_of_cache(int index) {
  std::string content =
      content_of("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
  if (content.ends_with('\n')) content.pop_back();
  return size_of_cache(content);
}

} // namespace

int quota_threads(const std::string &self, const std::string &root) {
  int result = 0;
  for (std::size_t at = 0; at < self.size();) { // number:controllers:/path
    const std::size_t end = std::min(self.find('\n', at), self.size());
    const std::string line = self.substr(at, end - at);
    at = end + 1;
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos || line.compare(second + 1, 1, "/") != 0) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const std::string path = line.substr(second + 1);
    if (controllers == ",,")
      result = least(result, least_upwards(root, path, quota_v2));
    else if (controllers.find(",cpu,") != controllers.npos)
      result = least(result, least_upwards(root + "/cpu", path, quota_v1));
  }
  return result;
}

int default_threads() {
  if (const int asked = wanted_threads()) return asked;
  static const int quota = own_quota();
  const int affinity = affinity_threads(); // of those that are there
  const int available = affinity > 0 ? affinity : int(std::thread::hardware_concurrency());
  return std::max(1, least(available, quota));
}

namespace {

constexpr std::int64_t most_of_last_level = std::int64_t(32) << 20;

// Linux's word first: glibc counts the caches of a virtual AMD machine up to ten times over.
std::int64_t claimed_last_level() {
  static const std::int64_t size = [] {
    constexpr std::int64_t most = most_of_last_level;
    // The third level's, which is enough where it is large; else the largest.
    std::int64_t largest = bytes_of_cache(3);
    for (int index = 0; largest < most && index < 8; ++index) {
      const std::int64_t bytes = bytes_of_cache(index);
      if (bytes == 0) break;
      largest = std::max(largest, bytes);
    }
    if (largest > 0) return largest;
    const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? std::int64_t(bytes) : most;
  }();
  return size;
}

// A larger cache than 32 MiB is one that many cores, or other virtual machines, fill as well. Time
// of `z = a*2` and of a sum of z behind it, with z stored around the caches over plainly, on two
// cores of a Sapphire Rapids whose last level claims 260 MiB:
//
//   MB of z       4.2    5.2    6.3    8.4   12.6   16.8   33.6
//   one thread    1.47   1.02   1.01   0.74   0.62   0.60   0.63
//   two threads   1.57   1.08   0.99   0.98   0.88   0.70   0.60
Caches known_caches() {
  Caches sizes;
  const std::int64_t claimed = claimed_last_level();
  sizes.last_level = std::min(claimed, most_of_last_level);
  sizes.kept_output = claimed > most_of_last_level ? std::int64_t(6) << 20 : sizes.last_level;
  return sizes;
}

} // namespace

std::int64_t size_of_cache(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const std::string_view unit(end, std::size_t(word.data() + word.size() - end));
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  const bool good = error == std::errc() && shift >= 0 && value > 0 &&
                    value <= (std::numeric_limits<std::int64_t>::max() >> 30);
  return good ? value << shift : 0;
}

Caches caches() {
  const char *variable = std::getenv("BROADLOOM_CACHES");
  if (variable == nullptr || *variable == '\0') return known_caches();
  const std::string_view words = variable;
  const std::size_t comma = words.find(',');
  const std::int64_t own = size_of_cache(words.substr(0, comma));
  const std::int64_t last =
      comma == words.npos ? 0 : size_of_cache(words.substr(comma + 1, words.npos));
  if (own > 0 && last > 0) return {own, last, last};
  support::log().warn("BROADLOOM_CACHES is '{}': write two sizes, as in 1M,32M", words);
  return known_caches();
}

} // namespace broadloom::jit::runtime
