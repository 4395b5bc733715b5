// So many kernels in one process, side by side or one after the other.
#include "tests/processes/cache_folder.hpp"
#include "tests/processes/modes.hpp"
#include "tests/processes/process.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace broadloom::processes {

int live(int count) {
  std::vector<Kernel> kernels;
  int before = 0;
  long before_kilobytes = 0;
  for (int k = 0; k < count; ++k) {
    if (k == 10) before = mappings(), before_kilobytes = resident_kilobytes();
    kernels.push_back(kernel_with(std::to_string(k)));
    if (!is_right(kernels.back(), 100, k + 1) || kernels.back().engine() != Engine::jit) return 1;
  }
  const int more = mappings() - before;
  std::printf("%d kernels: %d more mappings, %.1f KiB each\n", count, more,
              double(resident_kilobytes() - before_kilobytes) / std::max(1, count - 10));
  return more > 256;
}

// Every other one comes from the disk cache, where code lies in memory of another kind. The first
// tenth fills what is kept in any case. What leaves one page behind is to be seen with 1,000; no
// number may leave more than 16 MiB.
int evict(int count) {
#if defined(BROADLOOM_SANITIZED)
  constexpr long most_kilobytes = 1 << 30; // which keep what is freed
  constexpr int most_mappings = 1 << 30;
#else
  const long most_kilobytes = std::clamp<long>(count, 1 << 10, 16 << 10);
  constexpr int most_mappings = 16;
#endif
  constexpr int on_disk = 64;
  const CacheFolder folder;
  for (int k = 0; k < on_disk; ++k) folder.keep(k);
  int before = 0, wrong = 0, loads = 0;
  long before_kilobytes = 0;
  for (int k = 0; k < count; ++k) {
    if (k == count / 10) before = mappings(), before_kilobytes = resident_kilobytes();
    if (k % 2 == 0) {
      setenv("BROADLOOM_CACHE", "0", 1);
      const Kernel kernel = kernel_with(std::to_string(k) + ".5");
      wrong += !is_right(kernel, 100, k + 1.5) || kernel.engine() != Engine::jit;
      unsetenv("BROADLOOM_CACHE");
    } else {
      const CacheFolder::Kept kept = folder.keep(k / 2 % on_disk);
      wrong += !kept.is_right;
      loads += kept.is_loaded;
    }
  }
  const int more = mappings() - before;
  const long kilobytes = resident_kilobytes() - before_kilobytes;
  std::printf(
      "%d kernels made and dropped, %d of them from disk, %d wrong: %.1f MiB and %d mappings "
      "more than after a tenth of them\n",
      count, loads, wrong, double(kilobytes) / 1024, more);
  return wrong > 0 || loads != count / 2 || kilobytes > most_kilobytes || more > most_mappings;
}

} // namespace broadloom::processes
