// /tmp/perf-PID.map: lines of `ADDRESS SIZE NAME`, in hexadecimal, for `perf report`.
//
//   7f3a5c001000 2f0 broadloom.softmax.phase_0.5e0ff1c2
//
// The folder is everybody's and the name can be guessed. So no link is followed, what is opened
// must be a plain file of this user with that one name, and only this user may read it. Another
// run-time compiler of this process may write to the same file: lines are appended, in one write. A
// file that an earlier process of the same number left there is removed first.
#include "jit/engine/functions.hpp"

#include "support/log.hpp"
#include "support/undivided.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>

namespace broadloom::jit {
namespace {

double seconds(const timespec &time) { return double(time.tv_sec) + 1e-9 * double(time.tv_nsec); }

// When this process began, in seconds since 1970; 0 where the system does not say.
double process_start() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')'); // the program's name may hold anything
  if (name_end == std::string::npos) return 0;
  constexpr int fields_between = 20; // the name is field 2, the start field 22
  std::size_t at = name_end;
  for (int k = 0; k < fields_between && at != std::string::npos; ++k) at = line.find(' ', at + 1);
  if (at == std::string::npos) return 0;
  const double since_boot =
      double(std::strtoull(line.c_str() + at, nullptr, 10)) / double(sysconf(_SC_CLK_TCK));
  timespec now{}, up{};
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &up);
  return seconds(now) - (seconds(up) - since_boot);
}

// Whether the file was last written before this process began; a second is spared for coarse
// clocks.
bool is_stale(const struct stat &file) { return seconds(file.st_mtim) + 1 < process_start(); }

bool is_own(const struct stat &file) {
  return S_ISREG(file.st_mode) && file.st_uid == geteuid() && file.st_nlink == 1;
}

int open_map(const std::string &path) {
  // Without O_NONBLOCK a pipe that somebody put there would hold us up for ever.
  return open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
              0600);
}

// The reason why the lines could not be written; empty where they were.
std::string append(const std::string &path, const std::string &lines) {
  struct stat file{};
  if (lstat(path.c_str(), &file) == 0 && is_own(file) && is_stale(file)) unlink(path.c_str());

  const int descriptor = open_map(path);
  if (descriptor < 0) return errno == ELOOP ? "it is a link" : std::strerror(errno);
  std::string reason;
  if (fstat(descriptor, &file) != 0 || !is_own(file))
    reason = "it is not a plain file of this user";
  else if (write(descriptor, lines.data(), lines.size()) != ssize_t(lines.size()))
    reason = "not all of it could be written";
  close(descriptor);
  return reason;
}

} // namespace

void append_perf_map(llvm::ArrayRef<Function> functions, std::uint64_t text) {
  std::string lines;
  for (const Function &function : functions)
    lines += fmt::format("{:x} {:x} {}\n", text + function.offset, function.size, function.name);
  const std::string path = fmt::format("/tmp/perf-{}.map", getpid());

  static support::Mutex mutex;
  static bool warned = false;
  const std::lock_guard lock(mutex);
  if (const std::string reason = append(path, lines); !reason.empty() && !warned) {
    warned = true;
    support::log().warn("perf will not see kernels by name: {}: {}", path, reason);
  }
}

} // namespace broadloom::jit
