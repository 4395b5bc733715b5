// Decisions of the compiler, and their reasons, as data: what Kernel::why returns.
//
//   for (const bl::Decision &d : kernel.why())
//     if (d.topic == "streaming") std::cout << d.subject << ": " << d.choice << "\n";
//
// docs/why.md lists all topics and codes. Codes keep their meaning; texts are for people and may
// change.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace broadloom {

// Predicted, for the extents of the call; empty where the compiler has no number for it.
struct Cost {
  std::optional<double> bytes =
      {}; // to and from memory, each element once where it is used in one sweep
  std::optional<double> flops = {};  // operations on elements: exp counts as one
  std::optional<double> cycles = {}; // rough ones, of one core, if all operands were in the caches
  std::optional<double> ns =
      {}; // of a call, by what this machine was measured to do; see Kernel::predict
};

struct Alternative { // what was not chosen
  std::string choice;
  std::string why_not;
  Cost cost = {};
};

struct Decision {
  std::string topic;        // what it is about: "vector", "streaming", "hold", ..
  std::string text;         // the line of `--stage why`
  std::string code = {};    // the reason: a word of docs/why.md
  std::string subject = {}; // an axis, an operand, a phase ("phase 0"), ..; empty: the kernel
  std::string choice = {};
  std::vector<Alternative> alternatives = {};
  Cost cost = {}; // of the choice
};

// A JSON array with one object for each decision, a line each. Its keys are always "topic", "code",
// "subject", "choice", "bytes", "flops", "cycles", "ns", "alternatives", "text" in this order. An
// unknown number is null. Each alternative has "choice", "why_not", "bytes", "flops", "cycles",
// "ns".
std::string to_json(std::span<const Decision> decisions);

} // namespace broadloom
