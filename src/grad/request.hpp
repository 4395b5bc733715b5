// Inside the gradient stage: what a derivative is asked for, and the kernel that is made for it.
#pragma once

#include "facts/facts.hpp"
#include "spec/cut.hpp"

#include <memory>
#include <string>
#include <vector>

namespace broadloom::grad {

struct Request {
  const std::vector<std::string> &wrt, &of;
};
// For messages: "there is no input 'q' BY", "there is no output 'q' OF", "which has no WHAT".
struct Wording {
  std::string by, of, what;
};

// As users ask: throws SpecError E0608 for an input or an output that is named twice.
void require_once(const SpecData &data, const Request &request);

// Throws SpecError E0003 for a name that is no input or output, DTypeError E0603 for one that is
// not real or complex.
void check_request(const facts::Facts &facts, const SpecData &data, const spec::TypedSpec &typed,
                   const std::vector<std::shared_ptr<const InputDecl>> &inputs,
                   const Request &request, const Wording &wording);

// Declares those windows that like= and of= name: what is read declares itself.
void declare_windows(SpecData &made, const std::vector<std::shared_ptr<const InputDecl>> &inputs);

} // namespace broadloom::grad
