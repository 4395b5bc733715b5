// The patterns of a kernel: which program serves a call, and its native code.
//
// Each new pattern is compiled, until the kernel keeps 64. From then on its generic program
// (plan/generic.hpp) serves all others, slower but with the same bits, and a layout has a pattern
// of its own compiled once its calls have taken longer than that would: then it is worth it, and
// the exact pattern that nobody has asked for the longest goes.
#pragma once

#include "jit/nest/setup.hpp"
#include "jit/nest/specialisation.hpp"
#include "support/undivided.hpp"

#include <string>
#include <unordered_map>

namespace broadloom::jit {

class PatternCache {
public:
  // `ms` is the time that the analysis of the kernel took.
  PatternCache(const Setup &setup, double ms);

  // The pattern of a program whose key this is; `found` becomes what `why` says about it. `beside`
  // has its code where calls were interpreted so far; else null.
  std::shared_ptr<const Pattern> find(loop::Program program, const std::string &key,
                                      plan::Generality generality, const kernel::Layouts &layouts,
                                      Decision &found, CodeBeside *beside);
  // The same where nobody is going to ask for it again.
  std::shared_ptr<const Pattern> make(loop::Program program, const std::string &key,
                                      const kernel::Layouts &layouts, CodeBeside *beside = nullptr);
  // Whether code need not be made for this program.
  bool has(const std::string &key) const;
  // Whether the generic plan takes the place of the exact one with this program.
  bool serves_generic(const std::string &key, Use use) const;

  // That a specialisation took so long, of which so much to have its code.
  void count_times(double ms, double code_ms);
  Counters counters() const; // but for calls that were interpreted

private:
  struct Known {
    std::shared_ptr<const Pattern> pattern;
    plan::Generality generality = plan::Generality::Exact;
    std::uint64_t used = 0;
  };
  std::int64_t count(plan::Generality generality) const; // under the lock
  Decision explain_generic(bool hit) const;

  const Setup &setup_;
  const std::size_t most_; // exact ones: 64, or BROADLOOM_PATTERNS
  const bool has_generic_;
  mutable support::Mutex mutex_; // guards all below
  std::unordered_map<std::string, Known> patterns_;
  std::uint64_t clock_ = 0;
  Counters counters_;
};

} // namespace broadloom::jit
