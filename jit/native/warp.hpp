// A GPU's warp, played by a processor: 32 threads that run one after the other, each up to where
// all meet.
//
// Problem: code whose lanes are threads of a GPU is wrong where one thread reads what another has
// not yet written, or where threads wait for each other in different places; most machines that
// build and test have no GPU to show it.
// Method: the target "warp" is that very code, made for this processor. Each thread is a fibre with
// a stack of its own; it runs until it needs another one's value or all are to meet, then the next
// one does, in an order that changes from meeting to meeting. What one thread would need too early
// it does not find.
// Example: BROADLOOM_TARGET=warp broadloom run k.loom
#pragma once

#include <span>
#include <string_view>

namespace broadloom::jit {

struct WarpSymbol {
  std::string_view symbol; // "bl_warp_run": see jit/emit/warp.hpp
  void *address;
};
std::span<const WarpSymbol> warp_symbols();

} // namespace broadloom::jit
