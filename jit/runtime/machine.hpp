// What this process may use of the machine: how many threads, how much cache.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace broadloom::jit::runtime {

// BROADLOOM_THREADS where it is a positive number, else the least of the affinity mask, the
// cgroup's quota and the number of hardware threads.
int default_threads();

// The CPUs that a cgroup's quota allows, rounded up; 0 where there is no quota. `self` is the
// content of /proc/self/cgroup and `root` the mount point, /sys/fs/cgroup.
int quota_threads(const std::string &self, const std::string &root);

struct Caches {                        // bytes
  std::int64_t own = 1 << 20;          // of one core
  std::int64_t last_level = 32 << 20;  // what Linux says, else what glibc says, but at most 32 MiB
  std::int64_t kept_output = 32 << 20; // of an output, until somebody reads it
};

// BROADLOOM_CACHES where it is two sizes, "1M,32M" (of one core, and of the last level), for
// machines that misreport theirs, and keep outputs of the second; else what is known of this
// machine. Read at each call.
Caches caches();

// "512", "64K", "2M" or "1G" in bytes; 0 for any other word.
std::int64_t size_of_cache(std::string_view word);

} // namespace broadloom::jit::runtime
