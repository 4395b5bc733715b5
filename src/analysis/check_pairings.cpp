// See pairing.hpp.
#include "analysis/check_pairings.hpp"

#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <unordered_map>

namespace broadloom::analysis {

namespace {

using support::fail;

// Which names are fused, directly or by way of others.
class Groups {
public:
  const std::string &root(const std::string &name) {
    const std::string *at = &name;
    while (true) {
      auto it = parent_.find(*at);
      if (it == parent_.end()) return *at;
      auto above = parent_.find(it->second);
      if (above != parent_.end()) it->second = above->second; // halves the path
      at = &it->second;
    }
  }
  void unite(const std::string &a, const std::string &b) {
    const std::string x = root(a), y = root(b);
    if (x != y) parent_[x] = y;
  }

private:
  std::unordered_map<std::string, std::string> parent_;
};

std::vector<Pairing> of_schedule(const Schedule &schedule) {
  using Kind = ScheduleClause::Kind;
  std::vector<Pairing> all;
  for (const ScheduleClause &clause : schedule.clauses())
    if (clause.kind == Kind::Fuse || clause.kind == Kind::Separate)
      all.push_back({clause.kind == Kind::Fuse, clause.names[0], clause.names[1], clause.where});
  return all;
}

// Those that are about the loops of one kernel: of a let, or of the outputs.
void check(const SpecData &data, const std::vector<Pairing> &pairings,
           const std::vector<std::string> &known, bool of_let) {
  auto shown = [&](const Place &where) { return support::with_text(where, data.source.get()); };
  Groups groups;
  for (const Pairing &pairing : pairings) {
    const std::string word = pairing.fuse ? "fuse" : "separate";
    for (const std::string *name : {&pairing.a, &pairing.b}) {
      if (std::find(known.begin(), known.end(), *name) != known.end()) continue;
      const std::string near = support::closest(*name, known);
      fail("E0003",
           of_let
               ? "'" + word + "' in the schedule of a let names lets, and '" + *name + "' is none"
               : "'" + word + "' names lets and outputs, and '" + *name + "' is neither",
           shown(pairing.where),
           !near.empty() ? "did you mean '" + near + "'?"
           : of_let      ? "name the let itself, or one that it reads"
                         : "name a let or an output of this kernel");
    }
    if (pairing.a == pairing.b)
      fail("E0016", "'" + word + "' names '" + pairing.a + "' twice", shown(pairing.where),
           "name two lets or outputs");
    if (pairing.fuse) groups.unite(pairing.a, pairing.b);
  }
  for (const Pairing &pairing : pairings)
    if (!pairing.fuse && groups.root(pairing.a) == groups.root(pairing.b))
      fail("E0016", "'" + pairing.a + "' and '" + pairing.b + "' are both fused and separated",
           shown(pairing.where), "leave one of the statements out");
}

} // namespace

std::vector<Pairing> all_pairings(const SpecData &data) {
  std::vector<Pairing> all = data.pairings;
  for (Pairing &pairing : of_schedule(spec::part_of(data.schedule)))
    all.push_back(std::move(pairing));
  return all;
}

void check_pairings(const SpecData &data) {
  std::vector<std::string> known;
  for (const Expr &let : data.lets) known.push_back(let.node()->name);
  const std::size_t lets = known.size();
  for (const OutputDecl &output : data.outputs) known.push_back(output.name);
  check(data, all_pairings(data), known, false);
  known.resize(lets); // one of them is what is computed
  for (const ScheduleClause &let : spec::lets_of(data.schedule))
    check(data, of_schedule(spec::part_of(data.schedule, let.names[0])), known, true);
}

} // namespace broadloom::analysis
