// Children that are forked while other threads run, compile, or hold what they need.
#include "tests/processes/modes.hpp"
#include "tests/processes/process.hpp"

#include <cstdlib>
#include <string>
#include <thread>

#include <unistd.h>

namespace broadloom::processes {

int fork_running(int count) {
  const Kernel kernel = kernel_with("1");
  std::atomic<bool> stop{false};
  std::thread runs([&] {
    while (!stop) is_right(kernel, many, 2);
  });
  Tally tally;
  for (int k = 0; k < count; ++k) {
    usleep(useconds_t(500 + 777 * k % 5000));
    tally.add(in_child([&] {
      return is_right(kernel, many, 2) && is_right(kernel_with(std::to_string(k)), many, k + 1);
    }));
  }
  stop = true;
  runs.join();
  return tally.tell();
}

int fork_compiling(int count) {
  std::atomic<bool> stop{false};
  std::thread first([&] { compile_for_ever(1, stop); }), second([&] { compile_for_ever(2, stop); });
  Tally tally;
  for (int k = 0; k < count; ++k) {
    usleep(useconds_t(500 + 777 * k % 5000));
    tally.add(in_child([&] { return is_right(kernel_with(std::to_string(k)), many, k + 1); }));
  }
  stop = true;
  first.join();
  second.join();
  return tally.tell();
}

int fork_tiered(int count) {
  std::atomic<bool> stop{false};
  std::thread calls([&] { call_tiered_for_ever(1, stop); });
  Tally tally;
  for (int k = 0; k < count; ++k) {
    usleep(useconds_t(500 + 777 * k % 5000));
    tally.add(in_child([&] {
      const Kernel kernel = kernel_with(std::to_string(k), Engine::tiered);
      int calls = 0;
      do { // a call first, as in call_tiered_for_ever
        if (!is_right(kernel, 100, k + 1)) return false;
        usleep(1000);
      } while (++calls < 10'000 && kernel.engine() != Engine::jit);
      return kernel.engine() == Engine::jit && kernel.counters().interpreted >= 2 &&
             is_right(kernel, 100, k + 1);
    }));
  }
  stop = true;
  calls.join();
  return tally.tell();
}

int fork_stateful(int count) {
  StatefulKernel kernel(
      parse("kernel k { in x : f64[i]; state s : f64[524288]; update s = s * 0.5 + exp(x) }"),
      {.threads = 2});
  const Array x(f64, {many});
  std::atomic<bool> stop{false};
  std::thread runs([&] {
    while (!stop) kernel({{"x", x}});
  });
  Tally tally;
  for (int k = 0; k < count; ++k) {
    usleep(useconds_t(500 + 777 * k % 5000));
    tally.add(in_child([&] {
      const double before = kernel.get("s").data<double>()[0];
      kernel({{"x", x}});
      const Array after = kernel.get("s");
      for (std::int64_t i = 0; i < many; i += many / 16)
        if (after.data<double>()[i] != before * 0.5 + 1) return false;
      return true;
    }));
  }
  stop = true;
  runs.join();
  return tally.tell();
}

// That there is no such folder is said in the middle of a compilation, and by a sink that never
// returns.
int fork_torn() {
  const Kernel kernel = kernel_with("1");
  if (!is_right(kernel, many, 2)) return 1;
  std::atomic<bool> says{false};
  set_log_sink([&](LogLevel, std::string_view) {
    says = true;
    for (;;) pause();
  });
  std::thread([] {
    unsetenv("BROADLOOM_CACHE");
    const LoopSpec spec = parse("kernel k { in x : f64[i]; out y = x + 0.25 }");
    is_right(compile(spec, {.threads = 1, .cache_dir = "/dev/null/no/folder"}), 100, 0.25);
  }).detach();
  while (!says) usleep(1000);
  Tally tally;
  tally.add(
      in_child([&] { return is_right(kernel, many, 2) && is_right(kernel_with("5"), many, 6); }));
  const int failed = tally.tell();
  std::fflush(stdout);
  _exit(failed); // the end of the process would wait, too
}

} // namespace broadloom::processes
