// Inside the gradient stage: the kernel of directional derivatives of a kernel without lets that
// are arrays.
#pragma once

#include "grad/accumulator_names.hpp"
#include "spec/materialise.hpp"
#include "spec/spec.hpp"

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace broadloom::grad {

struct JvpRequest {
  std::vector<std::string> wrt, of;
  bool value = false;
  // What the tangents of inputs and outputs are called.
  std::unordered_map<std::string, std::string> names;
  bool plain = false; // outputs become lets, and have no modes
};

// Throws as `jvp` does.
SpecData directional(const SpecData &data, const JvpRequest &request);

// The tangent of an input: it has its shape and dtype.
std::shared_ptr<const InputDecl> tangent_of(const InputDecl &input, const std::string &name);

// jvp_loops.cpp: the tangents of the lets that go step by step together from let `first` of the
// split on.
//
//   let h[t, i] = tanh(x + sum(h[t - 1, k] * v, k)) from h0
//   let t_h[t, i] = (1 - h[t, i]^2) * (t_x + sum(t_h[t - 1, k] * v, k)) from t_h0
//
// A tangent goes step by step as its let does, and reads tangents of other steps as the let reads
// these. The lets themselves are there as a whole by then (earlier_steps.hpp).
struct LoopToMove {
  const spec::Split &split;
  std::size_t first = 0;
  const std::set<std::string> &moving; // lets
  const JvpRequest &request;           // what moves so far, and all names
  const spec::LetsByName &lets;        // and tangents so far, by their names
  const std::unordered_map<std::string, Expr>
      &starts; // tangents of what lets begin with, by the names of these
  std::function<std::string(const std::string &)> fresh;
  AccumulatorNames &accumulators;
};
struct TangentLet {
  Expr let;
  std::vector<std::shared_ptr<const InputDecl>> named; // windows that of= and like= name
};
std::vector<TangentLet> tangents_of_loop(const LoopToMove &loop);

// Which of these lets move, where `moving` (inputs and lets) do.
std::vector<std::string> moving_members(const spec::Split &split, std::size_t first,
                                        const std::vector<std::string> &moving);
bool reads_any(const SpecData &data, const std::vector<std::string> &names);

} // namespace broadloom::grad
