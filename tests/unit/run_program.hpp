// Another program, run to its end.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <string>
#include <sys/wait.h>

struct Ended {
  std::string text; // what it has written to stdout
  int status = -1;  // -1: ended by a signal
};

inline Ended run_program(const std::string &command) {
  Ended ended;
  std::FILE *pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> part;
  while (std::fgets(part.data(), int(part.size()), pipe) != nullptr) ended.text += part.data();
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
  return ended;
}
