#include "tests/processes/process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>

#if defined(BROADLOOM_SANITIZED)
// Threads are cut off where they stand, the main one among them: what they held then is no leak.
extern "C" int __lsan_is_turned_off() { return 1; }
#endif

namespace broadloom::processes {

void Tally::add(int status) {
  if (WIFEXITED(status))
    ++(WEXITSTATUS(status) == 0 ? good : wrong);
  else
    ++(WTERMSIG(status) == SIGALRM ? hung : ended);
}

int Tally::tell() const {
  std::printf("%d good, %d hung, %d ended by a signal, %d wrong\n", good, hung, ended, wrong);
  return hung + ended + wrong > 0;
}

int in_child(const std::function<bool()> &work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(patience);
    bool good = false;
    try {
      good = work();
    } catch (const std::exception &error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

int run_again(std::vector<std::string> words) {
  words.insert(words.begin(), "processes");
  std::vector<char *> pointers;
  for (std::string &word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(patience);
    execv("/proc/self/exe", pointers.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

Kernel kernel_with(const std::string &number, Engine engine) {
  return compile(parse("kernel k { in x : f64[i]; out y = exp(x) + " + number + " }"),
                 {.threads = 2, .engine = engine});
}

bool is_right(const Kernel &kernel, std::int64_t size, double wanted) {
  const Array x(f64, {size}), y(f64, {size});
  kernel.run({x}, {y});
  const double *values = y.data<double>();
  return values[0] == wanted && values[size - 1] == wanted;
}

void compile_for_ever(int thread, const std::atomic<bool> &stop) {
  for (int k = 0; !stop; ++k)
    is_right(kernel_with(std::to_string(k) + "." + std::to_string(thread)), 100, 0);
}

void call_tiered_for_ever(int thread, const std::atomic<bool> &stop) {
  for (int k = 0; !stop; ++k) {
    const Kernel kernel =
        kernel_with(std::to_string(k) + ".0" + std::to_string(thread), Engine::tiered);
    do // a call first: of a kernel that nobody has called, engine() makes the code itself
      is_right(kernel, 100, 0);
    while (!stop && kernel.engine() != Engine::jit);
  }
}

int mappings() {
  std::ifstream file("/proc/self/maps");
  int lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

long resident_kilobytes() {
  long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

} // namespace broadloom::processes
