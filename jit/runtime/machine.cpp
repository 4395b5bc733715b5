// How many threads: a container with a quota of 1.5 CPUs on a machine of 64 gets 2, not 64.
//
// A cgroup's own limit holds together with those of all the groups around it, so the walk goes from
// the process's group up to the mount point and takes the least. Inside a container the path that
// /proc shows may not exist below the mount point; then only the mount point itself is read.
#include "jit/runtime/machine.hpp"

#include "support/log.hpp"

#include <fmt/format.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <thread>

namespace broadloom::jit::runtime {
namespace {

constexpr int most_threads = 4096;

int positive_number(const char *text) {
  if (text == nullptr) return 0;
  const std::string_view word = text;
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  return whole && value > 0 ? std::min(value, most_threads) : 0;
}

int cpus(double quota, double period) {
  if (quota <= 0 || period <= 0) return 0;
  return int(std::clamp((quota + period - 1) / period, 1.0, double(most_threads)));
}

// Version 2: "150000 100000" or "max 100000".
int quota_v2(const std::string &folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max") return 0;
  return cpus(std::atof(quota.c_str()), period);
}

// Version 1: two files, -1 for no quota.
int quota_v1(const std::string &folder) {
  double quota = 0, period = 0;
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  return cpus(quota, period);
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

int own_quota() {
  std::ostringstream self;
  self << std::ifstream("/proc/self/cgroup").rdbuf();
  return quota_threads(self.str(), "/sys/fs/cgroup");
}

} // namespace

int quota_threads(const std::string &self, const std::string &root) {
  int result = 0;
  std::istringstream lines(self);
  for (std::string line; std::getline(lines, line);) { // number:controllers:/path
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
  if (const int asked = positive_number(std::getenv("BROADLOOM_THREADS"))) return asked;
  static const int quota = own_quota();
  const int hardware = int(std::thread::hardware_concurrency());
  return std::max(1, least(least(affinity_threads(), hardware), quota));
}

// Linux's word first: glibc counts the caches of a virtual AMD machine up to ten times over. A larger cache than
// 32 MiB is one that many cores, or other virtual machines, fill as well: 64 MB written by two threads of a machine
// that claims 300 MiB took 1.8 times as long through the caches as around them.
std::int64_t last_level_cache() {
  static const std::int64_t size = std::min(std::int64_t(32) << 20, [] {
    std::int64_t largest = 0;
    for (int index = 0; index < 8; ++index) {
      std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
      std::int64_t value = 0;
      char unit = 0;
      if (!(file >> value)) break;
      file >> unit;
      largest = std::max(largest, unit == 'M' ? value << 20 : unit == 'K' ? value << 10 : value);
    }
    if (largest > 0) return largest;
    const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? std::int64_t(bytes) : std::int64_t(32) << 20;
  }());
  return size;
}

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
  Caches sizes;
  sizes.last_level = last_level_cache();
  const char *variable = std::getenv("BROADLOOM_CACHES");
  if (variable == nullptr || *variable == '\0') return sizes;
  const std::string_view words = variable;
  const std::size_t comma = words.find(',');
  const std::int64_t own = size_of_cache(words.substr(0, comma));
  const std::int64_t last =
      comma == words.npos ? 0 : size_of_cache(words.substr(comma + 1, words.npos));
  if (own > 0 && last > 0) return {own, last};
  support::log().warn("BROADLOOM_CACHES is '{}': write two sizes, as in 1M,32M", words);
  return sizes;
}

} // namespace broadloom::jit::runtime
