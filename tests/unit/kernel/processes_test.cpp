// Forks, ends and threads that cannot be had: tests/processes is a program of its own, of which these run small sizes.
#include "tests/unit/run_program.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

Ended run(const std::string &words) { return run_program(BROADLOOM_PROCESSES " " + words); }

void check_all_good(const std::string &words, const std::string &count) {
  const Ended ended = run(words + " " + count);
  CAPTURE(ended.text);
  CHECK(ended.status == 0);
  CHECK(ended.text.find(count + " good, 0 hung, 0 ended by a signal, 0 wrong\n") !=
        std::string::npos);
}

} // namespace

TEST_CASE("A child that is forked while another thread runs a parallel kernel runs it, too") {
  check_all_good("fork-running", "20");
}

TEST_CASE("A child that is forked while other threads compile can compile") {
  check_all_good("fork-compiling", "20");
}

TEST_CASE("A child that is forked while another thread calls a kernel with states has them whole") {
  check_all_good("fork-stateful", "20");
}

TEST_CASE("A process may end while other threads compile or run") {
  check_all_good("exit", "20");
  check_all_good("exit-running", "10");
}

TEST_CASE("Kernels are compiled and run while a process ends") { check_all_good("late", "1"); }

TEST_CASE("Where only the main thread ends the others go on compiling") {
  check_all_good("main-leaves", "1");
}

TEST_CASE(
    "Where threads cannot be made kernels run on fewer, with the same bits and one line of log") {
  for (const int threads : {0, 1, 3}) {
    const Ended ended = run("threads " + std::to_string(threads));
    CAPTURE(ended.text);
    CHECK(ended.status == 0);
    if (ended.text.find("cannot be tried") != std::string::npos) continue;
    CHECK(ended.text == "kernels run on " + std::to_string(threads + 1) +
                            (threads == 0 ? " thread in place of 2" : " threads in place of 8") +
                            ": no more can be made\nthe same bits\n");
  }
}
