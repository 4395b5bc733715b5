// Forks, ends, killed writers, and threads that cannot be had: tests/processes is a program of its
// own, of which these run small sizes.
#include "tests/places.hpp"
#include "tests/unit/run_program.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace {

Ended run(const std::string &words) { return run_program(BROADLOOM_PROCESSES " " + words); }

void check_all_good(const std::string &words, const std::string &count) {
  const Ended ended = run(words + " " + count);
  CAPTURE(ended.text);
  CHECK(ended.status == 0);
  if (ended.text == "cannot be tried with this sanitizer\n") {
    MESSAGE(words, ": ", ended.text);
    return;
  }
  CHECK(ended.text.find(count + " good, 0 hung, 0 ended by a signal, 0 wrong\n") !=
        std::string::npos);
}

void check_status(const std::string &words) {
  const Ended ended = run(words);
  CAPTURE(ended.text);
  CHECK(ended.status == 0);
}

} // namespace

TEST_CASE("A text of far too many operations is refused within 256 MiB") {
  check_status("refuse 256");
}

TEST_CASE("A child that is forked while another thread runs a parallel kernel runs it, too") {
  check_all_good("fork-running", "20");
}

TEST_CASE("A child that is forked while other threads compile can compile") {
  check_all_good("fork-compiling", "20");
}

TEST_CASE("A child that is forked while code is made beside interpreted calls comes to its own") {
  check_all_good("fork-tiered", "20");
}

TEST_CASE("A child that is forked while another thread calls a kernel with states has them whole") {
  check_all_good("fork-stateful", "20");
}

TEST_CASE(
    "A child that is forked while a lock is held for long runs what it has, and never hangs") {
  check_all_good("fork-torn", "1");
}

TEST_CASE("A process may end while other threads compile or run") {
  check_all_good("exit", "20");
  check_all_good("exit-tiered", "20");
  check_all_good("exit-running", "10");
}

TEST_CASE("Kernels run while a process ends, whoever ends it and wherever the first of them runs") {
  const Ended ended = run("late 3");
  CAPTURE(ended.text);
  CHECK(ended.status == 0);
  CHECK(std::ranges::count(ended.text, '\n') > 15); // a line for each kind of end
}

TEST_CASE("Where no memory may be made executable the interpreter runs, until it may") {
  const Ended ended = run("no-code");
  CAPTURE(ended.text);
  CHECK(ended.status == 0);
  CHECK(ended.text.starts_with("kernel 'k' runs in the interpreter: native code cannot be had: "));
  CHECK(std::ranges::count(ended.text, '\n') == 2); // one line of the log
  CHECK(ended.text.ends_with("\nas promised\n"));
}

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
    // Threads that oneTBB has already are not asked of the system again, and so not counted.
    int run_on = 0, wanted = 0;
    REQUIRE(std::sscanf(ended.text.c_str(), "kernels run on %d thread%*[s ]in place of %d", &run_on,
                        &wanted) == 2);
    CHECK(run_on >= 1);
    CHECK(run_on <= threads + 1);
    CHECK(wanted == (threads == 0 ? 2 : 8));
    CHECK(ended.text.ends_with(": no more can be made\nthe same bits\n"));
    CHECK(std::ranges::count(ended.text, '\n') == 2);
  }
}

TEST_CASE("Where there is no address space for threads kernels run on fewer, with the same bits") {
  check_all_good("space", "14");
}

TEST_CASE("Kernels that live side by side are few mappings") { check_status("live 100"); }

TEST_CASE("Kernels that are made and dropped leave neither memory nor mappings behind") {
  check_status("evict 1000");
}

TEST_CASE("Processes that are killed while they keep code leave no wrong code, no key that stays "
          "missing, and no file for ever") {
  check_status("cache-kills 30");
}

TEST_CASE("Files of the disk cache that are changed at random are made anew, with the same bits") {
  check_status("cache-mutations 200");
}

TEST_CASE("Processes that share a disk cache all at once make and take what is right") {
  check_status(
      "cache-crowd 6 20 30"); // how long one may wait is for machines that have nothing else to do
}
