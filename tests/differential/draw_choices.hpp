// What is chosen around a kernel's loops, drawn at random: see choices.hpp.
#pragma once

#include "random.hpp"

#include <broadloom/broadloom.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace broadloom::differential {

// Of a call; `names` are those that are no default.
struct Choices {
  Options options{.threads = 1, .engine = Engine::interpreter};
  std::map<std::string, std::string> environment;
  bool bound = false, frozen = false, overlaps = false, scheduled = false;
  int earlier_calls = 0;              // into other memory
  std::optional<Policy> policy;       // of a gradient
  std::optional<std::int64_t> memory; // saved within so many bytes
  std::set<std::string> names;
};

// What a kernel may be asked to choose.
struct Open {
  bool copies = false, lets = false, generic = false, loops = false, parameters = false,
       gradient = false;
  bool saves =
      false; // values of the forward pass, which no fold reads: its tree goes by what it reads
  bool saves_some = false; // any of them: no fold rounds
  bool schedules = false, schedules_lets = false;
  bool overlaps = false; // an output that adds to what it finds may not lie over an input
};

Choices draw(Random &random, const Open &open);

// Those of a call; of {} the usual ones.
void set_environment(const std::map<std::string, std::string> &values);

// The choices in words.
std::string told(const Choices &choices);

} // namespace broadloom::differential
