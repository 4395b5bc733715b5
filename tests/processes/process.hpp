// What the modes share: children, counted by how they ended, and a kernel whose results are known.
#pragma once

#include <broadloom/broadloom.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define BROADLOOM_SANITIZED
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define BROADLOOM_SANITIZED
#endif

namespace broadloom::processes {

inline constexpr std::int64_t many = 1 << 19; // elements, of which threads take parts
inline constexpr unsigned patience = 40;      // seconds until a child counts as hung

struct Tally {
  int good = 0, hung = 0, ended = 0, wrong = 0;

  void add(int status); // as waitpid gives it
  int tell() const;     // prints the counts; the exit status of the mode
};

// Forks; the child ends well where `work` is true. Returns how it ended, as waitpid does.
int in_child(const std::function<bool()> &work);

// This program with these words, in a process of its own: what is made before main must not be
// inherited.
int run_again(std::vector<std::string> words);
inline int delay_of(int process) { return 977 * process % 60'000; } // in microseconds

// y = exp(x) + number, on two threads. Of zeros it is 1 + number.
Kernel kernel_with(const std::string &number, Engine engine = Engine::automatic);
bool is_right(const Kernel &kernel, std::int64_t size, double wanted);

// One kernel after the other, each of its own.
void compile_for_ever(int thread, const std::atomic<bool> &stop);

// The same of tiered kernels, each of which is called until it has its code.
void call_tiered_for_ever(int thread, const std::atomic<bool> &stop);

// What this process has of Linux.
int mappings();
long resident_kilobytes();

} // namespace broadloom::processes
