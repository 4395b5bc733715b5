// See patterns.hpp.
#include "jit/nest/patterns.hpp"

#include "jit/cache/built_code.hpp"
#include "jit/nest/code_beside.hpp"
#include "jit/nest/explain_program.hpp"
#include "jit/nest/failure.hpp"
#include "support/log.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::jit {
namespace {

using plan::Generality;

constexpr std::size_t most_generic = 64; // of a kernel
constexpr std::size_t most_compared = 8; // known patterns, when `why` looks for the nearest one

} // namespace

PatternCache::PatternCache(const Setup &setup, double ms)
    : setup_(setup), most_(number_in("BROADLOOM_PATTERNS", std::size_t(64))),
      has_generic_(plan::has_generic(setup.typed)) {
  counters_.compile_ms = counters_.steps.analyse = ms;
}

Decision PatternCache::explain_generic(bool hit) const {
  const std::string patterns = support::count(std::int64_t(most_), "pattern");
  if (setup_.built)
    return support::decide(support::Reason::PatternGeneric, "", "hit",
                           "hit: this kernel was built without code for this pattern, and its "
                           "generic one serves it",
                           {{"a pattern of its own", "list these layouts when it is built"}});
  return support::decide(
      support::Reason::PatternGeneric, "", hit ? "hit" : "miss",
      fmt::format("{}: this kernel keeps {}, and its generic one serves the others",
                  hit ? "hit" : "miss", patterns),
      {{"a pattern of its own",
        "compiled once these layouts have run for longer than that takes"}});
}

std::shared_ptr<const Pattern> PatternCache::find(loop::Program program, const std::string &key,
                                                  Generality generality,
                                                  const kernel::Layouts &layouts, Decision &found,
                                                  CodeBeside *beside) {
  const auto hit = [&](support::Reason reason, const char *text) {
    return generality == Generality::Generic ? explain_generic(true)
                                             : support::decide(reason, "", "hit", text);
  };
  std::vector<Known> others;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = patterns_.find(key); known != patterns_.end()) {
      known->second.used = ++clock_;
      found = hit(support::Reason::PatternKnown, "hit: this kernel knows the pattern");
      return known->second.pattern;
    }
    for (const auto &entry : patterns_) others.push_back(entry.second);
  }
  std::sort(others.begin(), others.end(),
            [](const Known &a, const Known &b) { return a.used > b.used; });
  if (others.size() > most_compared) others.resize(most_compared);
  std::vector<const loop::Program *> programs;
  for (const Known &other : others) programs.push_back(&other.pattern->program);
  found =
      generality == Generality::Generic ? explain_generic(false) : explain_miss(program, programs);
  std::shared_ptr<const Pattern> pattern = make(std::move(program), key, layouts, beside);
  if (pattern->code && pattern->origin == Pattern::Origin::Process)
    found = hit(support::Reason::CodeKnown,
                "hit: another kernel of this process has the same loop program");
  if (pattern->code && pattern->origin == Pattern::Origin::Disk)
    found =
        hit(support::Reason::CodeOnDisk, "hit: the disk cache has code for the same loop program");
  if (pattern->code && pattern->origin == Pattern::Origin::Built)
    found = hit(support::Reason::CodeOnDisk,
                "hit: the kernel was built with code for the same loop program");
  std::shared_ptr<const Pattern> dropped; // outlives the lock
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = patterns_.try_emplace(key, Known{pattern, generality});
  place->second.used = ++clock_;
  if (!is_new) return place->second.pattern;
  // Of its own kind: generic ones take no room from exact ones.
  const std::size_t most =
      generality == Generality::Exact ? std::max<std::size_t>(most_, 1) : most_generic;
  if (std::size_t(count(generality)) > most) {
    auto oldest = place;
    for (auto entry = patterns_.begin(); entry != patterns_.end(); ++entry)
      if (entry->second.generality == generality && entry->second.used < oldest->second.used)
        oldest = entry;
    dropped = std::move(oldest->second.pattern);
    patterns_.erase(oldest);
  }
  return pattern;
}

std::int64_t PatternCache::count(Generality generality) const {
  return std::ranges::count_if(
      patterns_, [&](const auto &entry) { return entry.second.generality == generality; });
}

bool PatternCache::serves_generic(const std::string &key, Use use) const {
  if (!has_generic_) return false;
  if (const BuiltCode *built = setup_.built.get())
    return built->is_being_built()
               ? built->wants_generic()
               : setup_.target && !built->has(setup_.target->vector_bits(), key);
  if (use == Use::Often) return false;
  const std::lock_guard lock(mutex_);
  return !patterns_.contains(key) && std::size_t(count(Generality::Exact)) >= most_;
}

void PatternCache::count_times(double ms, double code_ms) {
  const std::lock_guard lock(mutex_);
  counters_.compile_ms += ms;
  counters_.steps.plan += ms - code_ms;
}

Counters PatternCache::counters() const {
  const std::lock_guard lock(mutex_);
  Counters counters = counters_;
  counters.patterns = std::int64_t(patterns_.size());
  return counters;
}

static void count_steps(CompileSteps &steps, const KeptCode::Times &before,
                        const CompileTimes &times) {
  steps.block += before.choose;
  steps.load += before.look;
  steps.start += before.start + times.start;
  steps.emit += times.emit;
  steps.math += times.link_math;
  steps.optimise += times.optimise;
  steps.select += times.codegen;
  steps.link += times.link;
}

std::shared_ptr<const Pattern> PatternCache::make(loop::Program program, const std::string &key,
                                                  const kernel::Layouts &layouts,
                                                  CodeBeside *beside) {
  auto pattern = std::make_shared<Pattern>();
  pattern->program = std::move(program);
  if (!setup_.target) return pattern;
  const auto find = [&] {
    std::optional<FoundCode> found = beside != nullptr ? beside->take() : std::nullopt;
    const bool was_beside = found.has_value();
    if (!found) found = find_code(setup_, setup_.typed.name, pattern->program, key);
    pattern->code = found->code;
    pattern->origin = found->origin;
    if (found->origin == Pattern::Origin::Process) return;
    const std::lock_guard lock(mutex_);
    count_steps(counters_.steps, found->before, pattern->code->times());
    if (was_beside) counters_.compile_ms += found->ms;
    if (found->origin == Pattern::Origin::Made) {
      ++counters_.compiles;
      pattern->ms = found->ms;
    } else {
      ++counters_.loaded;
    }
  };
  try {
    with_ir(find, [&] { return loop::print(pattern->program); });
  } catch (const InternalError &error) {
    if (!may_fall_back(setup_)) throw;
    pattern->no_code = error.message();
    tell(setup_, error, "runs in the interpreter", layouts);
  } catch (const CompileError &error) {
    if (setup_.engine == Engine::jit) throw;
    pattern->no_code = error.message();
    support::log().warn("kernel '{}' runs in the interpreter: {}", setup_.typed.name,
                        error.message());
  }
  return pattern;
}

bool PatternCache::has(const std::string &key) const {
  {
    const std::lock_guard lock(mutex_);
    if (patterns_.contains(key)) return true;
  }
  return has_code(setup_, setup_.typed.name, key);
}

} // namespace broadloom::jit
