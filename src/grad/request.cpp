// See request.hpp.
#include "grad/request.hpp"

#include "grad/widen.hpp"
#include "support/fail.hpp"

#include <algorithm>

namespace broadloom::grad {

using support::fail;

void require_once(const SpecData &data, const Request &request) {
  const auto check = [&](const std::vector<std::string> &names, const char *what) {
    for (auto name = names.begin(); name != names.end(); ++name)
      if (std::find(names.begin(), name, *name) != name)
        fail("E0608", std::string(what) + " '" + *name + "' is named twice", data.where,
             "leave one of them out");
  };
  check(request.wrt, "input");
  check(request.of, "output");
}

void check_request(const facts::Facts &facts, const SpecData &data, const spec::TypedSpec &typed,
                   const std::vector<std::shared_ptr<const InputDecl>> &inputs,
                   const Request &request, const Wording &wording) {
  for (const std::string &name : request.wrt) {
    const auto found = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const auto &decl) { return decl->name == name; });
    if (found == inputs.end())
      fail("E0003", "there is no input '" + name + "' " + wording.by, data.where,
           "name inputs of kernel '" + data.name + "'");
    if (!is_continuous((*found)->dtype))
      fail("E0603",
           "input '" + name + "' is " + std::string(broadloom::name((*found)->dtype)) +
               ", which has no " + wording.what,
           facts.space().shown((*found)->where), "ask for float or complex inputs only");
  }
  for (const std::string &name : request.of) {
    const auto found =
        std::find_if(data.outputs.begin(), data.outputs.end(),
                     [&](const OutputDecl &o) { return o.name == name && !o.update; });
    if (found == data.outputs.end())
      fail("E0003", "there is no output '" + name + "' " + wording.of, data.where,
           "name outputs of kernel '" + data.name + "'");
    const DType dtype = typed.outputs[std::size_t(found - data.outputs.begin())].dtype;
    if (!is_continuous(dtype))
      fail("E0603",
           "output '" + name + "' is " + std::string(broadloom::name(dtype)) + ", which has no " +
               wording.what,
           facts.space().shown(found->where), "ask about float or complex outputs only");
  }
}

void declare_windows(SpecData &made, const std::vector<std::shared_ptr<const InputDecl>> &inputs) {
  const spec::Names named = spec::names_read(made).called;
  for (const auto &input : inputs)
    if (input->window && named.contains(input->name)) made.inputs.push_back(input);
}

} // namespace broadloom::grad
