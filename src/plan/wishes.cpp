// See wishes.hpp. Whoever chooses has looked at the wishes; this reads off the finished nests what
// they came to.
#include "plan/wishes.hpp"

#include "spec/inline_lets.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace broadloom::plan {
namespace {

using support::Reason;

class WishTeller {
public:
  WishTeller(const Request &request, const Schedule &schedule, const loop::Program &program,
             const std::vector<Group> &groups, std::vector<Decision> &why)
      : request_(request), schedule_(schedule), nests_(schedule.nests), program_(program),
        groups_(groups), why_(why) {
    for (const spec::NamedValue &let : request.spec.lets) values_.emplace(let.let, let.value);
  }

  void run() {
    for (std::size_t p = 0; p < nests_.phases.size(); ++p) {
      loops_.emplace_back();
      gather(nests_.phases[p].root, p);
    }
    const spec::Wishes &wishes = request_.spec.wishes;
    if (wishes.vector) vector(*wishes.vector);
    if (!wishes.order.empty()) order();
    for (int axis = 0; axis < int(request_.spec.axes.size()); ++axis) {
      if (wishes.parallel.has(axis)) parallel(axis);
      if (wishes.serial.has(axis)) serial(axis);
    }
    for (const spec::Wishes::Count &wish : wishes.copies) blocks("copies", wish);
    for (const spec::Wishes::Count &wish : wishes.tile)
      wishes.side_of(wish.axis) > 0 ? sides(wish) : blocks("tile", wish);
    for (const spec::Wishes::Let &wish : wishes.lets) let(wish);
  }

private:
  void gather(TreeId node, std::size_t phase) {
    for (const Entry &entry : nests_[node].body) {
      if (entry.kind != Entry::Kind::Loop) continue;
      loops_[phase].push_back(entry.loop);
      gather(entry.loop, phase);
    }
  }

  const TreeNode &loop(TreeId id) const { return nests_[id]; }
  // As loops are called: i0 for axis 0 of unlabelled dims.
  std::string name_of(int axis) const {
    const spec::Axis &named = request_.spec.axes[std::size_t(axis)];
    return named.labelled ? named.name : "i" + named.name;
  }
  bool is_of(const Group &group, int axis) const {
    return std::ranges::any_of(group, [&](ClassId c) { return request_.resolved[c].axis == axis; });
  }
  bool walks(std::size_t phase, int axis) const {
    return std::ranges::any_of(loops_[phase], [&](TreeId l) {
      return loop(l).key.kind != LoopKind::Join && is_of(loop(l).key.group, axis);
    });
  }
  bool walks(int axis) const {
    for (std::size_t p = 0; p < loops_.size(); ++p)
      if (walks(p, axis)) return true;
    return false;
  }
  bool folds(std::size_t phase, int axis) const {
    return std::ranges::any_of(loops_[phase], [&](TreeId l) {
      return is_of(loop(l).key.group, axis) && !loop(l).folds.empty();
    });
  }

  void met(const std::string &wish, const std::string &choice, std::string text,
           std::vector<Alternative> others = {}) {
    why_.push_back(
        support::decide(Reason::WishMet, wish, choice, std::move(text), std::move(others)));
  }
  void not_met(const std::string &wish, const std::string &choice, const std::string &asked,
               const std::string &because) {
    why_.push_back(support::decide(Reason::WishNotMet, wish, choice,
                                   fmt::format("{}, but {}: {}", asked, because, choice),
                                   {{wish, because}}));
  }
  void no_loop(const std::string &wish, int axis) {
    not_met(wish, "as without the clause", fmt::format("the schedule asks for '{}'", wish),
            request_.spec.time == axis
                ? fmt::format("'{}' goes along {} step by step, and its loops are those of a step",
                              request_.spec.outputs[0].name, name_of(axis))
                : fmt::format("no loop runs along {}", name_of(axis)) + of_let_along(axis));
  }
  // Where the loops along such an axis are.
  std::string of_let_along(int axis) const {
    const spec::Axis &named = request_.spec.axes[std::size_t(axis)];
    for (const auto &let : request_.spec.materialised) {
      const spec::TypedSpec &own = let->typed;
      for (int a = 0; named.labelled && !let->join && a < int(own.axes.size()); ++a) {
        if (own.axes[std::size_t(a)].name != named.name || own.time == a) continue;
        for (std::uint32_t n = 0; n < own.graph.size(); ++n)
          if (own.graph[expr::NodeId{n}].axes.has(a))
            return fmt::format(", but loops of let '{0}' do, which 'schedule {0}' speaks of",
                               own.outputs[0].name);
      }
    }
    return {};
  }

  void vector(int axis) {
    const std::string wish = "vector " + name_of(axis);
    if (!walks(axis)) return no_loop(wish, axis);
    for (std::size_t p = 0; p < loops_.size(); ++p) {
      if (!walks(p, axis)) continue;
      const TreeNode *lanes = nullptr;
      for (TreeId l : loops_[p])
        if (loop(l).key.vector && (!lanes || is_of(loop(l).key.group, axis))) lanes = &loop(l);
      const std::string choice =
          lanes ? "lanes along " + group_name(request_.resolved, lanes->key.group)
                : "one position at a time";
      if (lanes && is_of(lanes->key.group, axis)) {
        std::vector<Alternative> others;
        if (const ClassId c = schedule_.by_stride.back(); !is_of({c}, axis))
          others.push_back(
              {"lanes along " + group_name(request_.resolved, {c}), "innermost by stride"});
        met(wish, choice, fmt::format("phase {}: {}, as the schedule asks", p, choice),
            std::move(others));
        continue;
      }
      not_met(wish, choice,
              fmt::format("phase {}: the schedule asks for lanes along {}", p, name_of(axis)),
              why_no_lanes(p, axis, lanes));
    }
  }

  std::string why_no_lanes(std::size_t phase, int axis, const TreeNode *lanes) const {
    if (!lanes) return "the order of the steps matters";
    const std::string along = group_name(request_.resolved, lanes->key.group);
    if (lanes->key.scan) return "the groups of a scan are part of its result's bits";
    if (!lanes->folds.empty())
      return fmt::format("the 32 ways of the fold along {} are part of its result's bits", along);
    if (folds(phase, axis))
      return fmt::format("{} is folded step by step, and lanes are kept positions", name_of(axis));
    return fmt::format("{} is inside of it", along);
  }

  // Of two axes that one path passes, is the one that `order` names later outside?
  void order() {
    const std::string wish = "order " + support::joined(request_.spec.wishes.order,
                                                        [&](int axis) { return name_of(axis); });
    bool all = true;
    for (std::size_t p = 0; p < loops_.size(); ++p) {
      for (std::size_t k = 1; k < request_.spec.wishes.order.size(); ++k) {
        const int outer = request_.spec.wishes.order[k - 1], inner = request_.spec.wishes.order[k];
        if (!is_inside(p, outer, inner)) continue;
        all = false;
        not_met(wish, name_of(inner) + " outside of " + name_of(outer),
                fmt::format("phase {}: the schedule asks for {} outside of {}", p, name_of(outer),
                            name_of(inner)),
                folds(p, outer) ? name_of(outer) + " is folded, inside of what is kept"
                                : "other loops of the phase need it so");
      }
    }
    if (!all) return;
    const std::string stride =
        support::joined(schedule_.by_stride, [&](ClassId c) { return request_.resolved[c].name; });
    met(wish, wish.substr(6), "the loops are nested as the schedule asks: " + wish.substr(6),
        {{stride, "by descending stride"}});
  }

  // Whether the outermost loop of `axis` on some path lies inside of one of `other`.
  bool is_inside(std::size_t phase, int axis, int other) const {
    return std::ranges::any_of(loops_[phase], [&](TreeId l) {
      if (!is_of(loop(l).key.group, axis) || is_of(loop(l).key.group, other)) return false;
      bool inside = false;
      for (std::optional<TreeId> at = loop(l).parent; at; at = loop(*at).parent) {
        if (is_of(loop(*at).key.group, axis)) return false;
        inside = inside || is_of(loop(*at).key.group, other);
      }
      return inside;
    });
  }

  bool is_parallel(std::size_t phase, int axis) const {
    return std::ranges::any_of(program_.phases[phase].parallel,
                               [&](loop::AxisId id) { return is_of(groups_[id.index], axis); });
  }

  void parallel(int axis) {
    const std::string wish = "parallel " + name_of(axis);
    if (!walks(axis)) return no_loop(wish, axis);
    for (std::size_t p = 0; p < loops_.size(); ++p) {
      if (!walks(p, axis)) continue;
      if (is_parallel(p, axis)) {
        met(wish, "shared out first",
            fmt::format("phase {}: {} is shared out among threads first, as the schedule asks", p,
                        name_of(axis)),
            {{"as much as pays",
              "threads are woken for long work only, and cut outer axes first"}});
        continue;
      }
      std::string instead;
      for (const loop::AxisId id : program_.phases[p].parallel)
        instead += (instead.empty() ? "parallel over " : ", ") + program_[id].name;
      not_met(wish, instead.empty() ? "serial" : instead,
              fmt::format("phase {}: the schedule asks to share out {}", p, name_of(axis)),
              folds(p, axis) ? "it is folded there" : "it is inside of what cannot be shared out");
    }
  }

  void serial(int axis) {
    const std::string wish = "serial " + name_of(axis);
    if (!walks(axis)) return no_loop(wish, axis);
    for (std::size_t p = 0; p < loops_.size(); ++p)
      if (walks(p, axis))
        met(wish, "never cut",
            fmt::format("phase {}: {} is not cut for threads, as the schedule asks", p,
                        name_of(axis)),
            is_parallel(p, axis)
                ? std::vector<Alternative>{{"shared out", "where the work is long"}}
                : std::vector<Alternative>{});
  }

  void blocks(const char *word, spec::Wishes::Count wish) {
    if (!walks(wish.axis))
      no_loop(fmt::format("{} {} {}", word, name_of(wish.axis), wish.count), wish.axis);
  }

  void sides(spec::Wishes::Count asked) {
    const std::string name = name_of(asked.axis),
                      wish = fmt::format("tile {} {}", name, asked.count);
    if (!walks(asked.axis)) return no_loop(wish, asked.axis);
    for (std::size_t p = 0; p < loops_.size(); ++p) {
      if (!walks(p, asked.axis)) continue;
      const auto cut = std::ranges::find_if(loops_[p], [&](TreeId l) {
        return loop(l).key.kind == LoopKind::Chunks && is_of(loop(l).key.group, asked.axis) &&
               schedule_.ways.cuts.chunks.at(loop(l).key.group).kind == ChunkKind::TileSide;
      });
      if (cut != loops_[p].end()) {
        met(wish, fmt::format("tiles of {} along {}", asked.count, name),
            fmt::format("phase {}: {} runs in tiles of {}, as the schedule asks", p, name,
                        asked.count),
            {{"all of " + name, "the loops outside of it would pass all of it each time"}});
        continue;
      }
      const Group group = group_along(p, asked.axis);
      const std::int64_t extent = group_extent(request_.resolved, group);
      not_met(wish, "no tiles",
              fmt::format("phase {}: the schedule asks for tiles along {}", p, name),
              extent <= asked.count ? fmt::format("it has {} positions", extent)
                                    : "tiles are of kernels whose outputs read no fold, scan or "
                                      "value held");
    }
  }
  Group group_along(std::size_t phase, int axis) const {
    for (TreeId l : loops_[phase])
      if (loop(l).key.kind != LoopKind::Join && is_of(loop(l).key.group, axis))
        return loop(l).key.group;
    return {};
  }

  void let(const spec::Wishes::Let &asked_for) {
    const ScheduleClause &clause = asked_for.clause;
    const std::string wish = spec::print(clause), &name = clause.names[0];
    const std::string asked = fmt::format("the schedule asks for '{}'", wish);
    if (request_.spec.is_array(name)) return array(asked_for, wish, asked);
    if (is_output(name))
      return not_met(wish, "stored", asked, fmt::format("'{}' is what these loops compute", name));
    std::vector<expr::NodeId> values;
    const auto [first, last] = values_.equal_range(name);
    for (auto value = first; value != last; ++value) values.push_back(value->second);
    if (values.empty())
      return not_met(wish, "nothing is computed", asked,
                     (request_.spec.outputs.size() == 1
                          ? "'" + request_.spec.outputs[0].name + "' does not read '"
                          : "no output reads '") +
                         name + "'");
    const bool held = std::ranges::any_of(
        values, [&](expr::NodeId id) { return nests_.item_of_held[id.index].has_value(); });
    const bool row = std::ranges::any_of(values, [&](expr::NodeId id) {
      return std::ranges::any_of(schedule_.rows, [&](const Row &r) {
        // A scan is not computed again, whatever is asked.
        return r.value == id && (asked_for.keeps() || !r.scan) &&
               (!asked_for.at || is_of(loop(*loop(r.loops[0]).parent).key.group, *asked_for.at));
      });
    });
    if (asked_for.at) return at(wish, name, *asked_for.at, held, row);
    if (!asked_for.keeps()) {
      if (held || row) return not_met(wish, "held in memory", asked, "keep() says otherwise");
      return met(wish, "computed where it is read",
                 fmt::format("'{}' is computed where it is read, as the schedule asks", name),
                 {{"held in memory", "where that is less work"}});
    }
    if (!held && !row)
      return not_met(wish, "computed where it is read", asked,
                     "it is read in one loop only, or is the result of a fold");
    met(wish, held ? "held in memory" : "kept in a row",
        fmt::format("'{}' is {}, as the schedule asks", name,
                    held ? "held in memory" : "kept in a row for the loops after the first"),
        {{"computed where it is read", "where that is less work"}});
  }

  bool is_output(const std::string &name) const {
    return std::ranges::any_of(request_.spec.outputs, [&](const spec::TypedOutput &output) {
      return output.name == name;
    });
  }

  // How an array is read: the reads as they are written, and how many elements they take for one of
  // what is computed.
  struct Reads {
    std::string text;
    std::int64_t elements = 0;
  };
  Reads reads_of(const std::string &let) const {
    const spec::TypedSpec &spec = request_.spec;
    expr::AxisSet kept;
    for (const spec::TypedOutput &output : spec.outputs)
      kept = kept | expr::AxisSet::of(output.axes);
    constexpr int most = 4;
    Reads reads;
    int shown = 0;
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
      const spec::TypedInput &input = spec.inputs[i];
      if (!input.window || spec.inputs[spec.array_of(i)].name != let) continue;
      if (++shown <= most) reads.text += (shown == 1 ? "" : ", ") + input.name;
      if (shown == most + 1) reads.text += ", ..";
      std::int64_t each = 1;
      for (const int axis : input.axes() - kept) each *= extent_of(axis);
      reads.elements += each;
    }
    return reads;
  }
  std::int64_t extent_of(int axis) const {
    for (const auto &c : request_.resolved.classes)
      if (c.axis == axis) return c.extent;
    return 1;
  }

  void array(const spec::Wishes::Let &asked_for, const std::string &wish,
             const std::string &asked) {
    const std::string &name = asked_for.clause.names[0], choice = "an array that is computed first";
    const Reads reads = reads_of(name);
    const std::string read =
        reads.text.empty()
            ? fmt::format("let '{}' is read as it is", name)
            : fmt::format("let '{}' is read at {} for each element that is computed ({})", name,
                          support::count(reads.elements, "position"), reads.text);
    const std::string why = spec::why_array(request_.spec, name);
    if (asked_for.keeps() && !asked_for.at)
      return met(wish, choice,
                 fmt::format("'{}' is an array, which is held in memory anyway", name),
                 {{"computed where it is read", why.empty() ? read : why}});
    if (asked_for.at && is_near(name))
      return met(wish, "computed in tiles",
                 fmt::format("a few rows of '{}' are computed at a time, by tiles along {}, as the "
                             "schedule asks",
                             name, name_of(*asked_for.at)),
                 {{"an array that is computed first", read}});
    not_met(
        wish, choice, asked,
        asked_for.at
            ? fmt::format("{}, and a kernel of its own computes all of it before the first turn "
                          "of the loops over {}",
                          read, name_of(*asked_for.at))
            : fmt::format("{}, and {}", read,
                          why.empty() ? "its axes or its extents would be others there" : why));
    why_.back().text += marked(asked_for.clause);
  }
  // Few rows of it are there at a time.
  bool is_near(const std::string &let) const {
    for (std::size_t i = 0; i < request_.spec.inputs.size(); ++i)
      if (request_.is_near(i) && request_.spec.inputs[request_.spec.array_of(i)].name == let)
        return true;
    return false;
  }
  // The clause as it stands in the text.
  std::string marked(const ScheduleClause &clause) const {
    const std::string lines =
        support::excerpt_of(support::with_text(clause.where, request_.spec.source.get()));
    return lines.empty() ? lines : "\n" + lines;
  }

  void at(const std::string &wish, const std::string &let, int axis, bool held, bool row) {
    if (row)
      return met(
          wish, "kept in a row",
          fmt::format("'{}' is computed in each turn of the loops over {}, and kept in a row "
                      "for the loops after the first, as the schedule asks",
                      let, name_of(axis)),
          {{"computed where it is read", "where that is less work"}});
    not_met(wish, held ? "held in memory" : "computed where it is read",
            fmt::format("the schedule asks for '{}'", wish),
            held          ? "keep() says otherwise"
            : walks(axis) ? fmt::format("no two loops within one over {} read it", name_of(axis))
                          : fmt::format("no loop runs along {}", name_of(axis)));
  }

  const Request &request_;
  const Schedule &schedule_;
  const Nests &nests_;
  const loop::Program &program_;
  const std::vector<Group> &groups_;
  std::vector<Decision> &why_;
  std::unordered_multimap<std::string, expr::NodeId> values_; // of lets
  std::vector<std::vector<TreeId>> loops_; // [phase]: tree nodes, outer ones first
};

} // namespace

bool asks_for_threads(const Request &request, const Group &group) {
  return std::ranges::any_of(group, [&](ClassId c) {
    const std::optional<int> axis = request.resolved[c].axis;
    return axis && request.spec.wishes.parallel.has(*axis);
  });
}

bool asks_for_lanes(const Request &request, const Group &group) {
  const std::optional<int> &asked = request.spec.wishes.vector;
  return asked &&
         std::ranges::any_of(group, [&](ClassId c) { return request.resolved[c].axis == *asked; });
}

std::int64_t asked_tile(const Request &request, const Group &group) {
  std::int64_t side = 0;
  for (ClassId c : group)
    if (const std::optional<int> axis = request.resolved[c].axis)
      side = std::max<std::int64_t>(side, request.spec.wishes.side_of(*axis));
  return side;
}

void explain_wishes(const Request &request, const Schedule &schedule, const loop::Program &program,
                    const std::vector<Group> &groups, std::vector<Decision> &why) {
  WishTeller(request, schedule, program, groups, why).run();
}

} // namespace broadloom::plan
