// One kernel, one hash: whatever is chosen around its loops, its outputs have the same bits.
//
// A case runs once as everything is chosen by itself, in the interpreter, and then a few times with
// all choices drawn at random: in what parts a call goes, what is copied, kept, computed again,
// frozen or saved, by which program, blocks, threads, and from which cache.
#pragma once

#include "case.hpp"

#include <map>
#include <optional>
#include <string>

namespace broadloom::differential {

struct ChoicesTally {
  std::int64_t kernels = 0, refused = 0, gradients = 0;
  std::int64_t verified = 0;    // calls, of which the steps that they took were looked at
  std::int64_t recorded = 0;    // and held against what they ran
  std::int64_t interpreted = 0; // and gone through by calls::interpret, with the same bits
  std::map<std::string, std::int64_t> steps; // [kind of step]: calls of these that have it
  std::map<std::string, std::int64_t> taken; // [choice]: how often it had something to change
};

// What the steps of calls may be, each of which must have been interpreted in a long run. Tiles are
// interpreted in tiles_test.cpp, loops that rest in tests/calls.
const std::vector<std::string> &all_steps();

// All choices, each of which must have been taken in a long run.
const std::vector<std::string> &all_choices();

// A small kernel of any construct with data for which orders of adding up have bits of their own,
// or the gradient of one. Each operand has a random layout; those that may be frozen lie in C
// order, as frozen kernels keep their copies so.
Case random_choices_case(std::uint64_t seed);

// The first choice that changes a bit.
std::optional<std::string> find_changed_bit(const Case &c, int draws, ChoicesTally &tally);

} // namespace broadloom::differential
