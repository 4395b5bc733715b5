// See check_updates.hpp.
#include "spec/check_updates.hpp"

#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <unordered_set>

namespace broadloom::spec {

void check_updates(const SpecData &data,
                   const std::vector<std::shared_ptr<const InputDecl>> &declared) {
  std::unordered_set<std::string> updated;
  for (const OutputDecl &update : data.outputs) {
    if (!update.update) continue;
    const Place where = support::with_text(update.where, data.source.get());
    const auto named =
        std::ranges::find(declared, update.name, [](const auto &decl) { return decl->name; });
    if (named == declared.end() || (*named)->role != InputRole::state) {
      std::vector<std::string> states;
      for (const auto &decl : declared)
        if (decl->role == InputRole::state && !decl->window) states.push_back(decl->name);
      const std::string near = support::closest(update.name, states);
      support::fail("E0041",
                    named == declared.end()
                        ? "there is no state '" + update.name + "'"
                        : "'" + update.name + "' is an input and no state: only states are updated",
                    where,
                    !near.empty() ? "did you mean '" + near + "'?"
                    : named == declared.end()
                        ? "declare it first: state " + update.name + " : f32[i]"
                        : "declare it by `state` in place of `" +
                              std::string((*named)->role == InputRole::plain ? "in" : "param") +
                              "`");
    }
    if (!updated.insert(update.name).second)
      support::fail("E0042", "state '" + update.name + "' is updated twice", where,
                    "write one update for each state: all of them read the old value");
  }
}

} // namespace broadloom::spec
