// See record.hpp.
#include "calls/record.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::calls {
namespace {

std::string name_of(Step::Kind kind, std::string_view kernel) {
  return kernel.empty() ? std::string(word_of(kind)) : fmt::format("{} {}", word_of(kind), kernel);
}

bool is_counted(Step::Kind kind) {
  return kind == Step::Kind::Run || kind == Step::Kind::Gather || kind == Step::Kind::Scatter ||
         kind == Step::Kind::Copy;
}

void add(Counts &counts, const std::vector<Step> &steps, std::int64_t times) {
  if (times == 0) return; // as a record says nothing of what never ran
  for (const Step &step : steps) {
    if (is_counted(step.kind)) counts[name_of(step.kind, step.kernel)] += times;
    if (step.kind == Step::Kind::For) add(counts, step.body, times * step.over[0].count);
  }
}

bool computes_again(const std::vector<Step> &steps) {
  for (const Step &step : steps)
    if (step.kind == Step::Kind::Again || computes_again(step.body)) return true;
  return false;
}

std::string text_of(const Counts &counts) {
  std::string text;
  for (const auto &[step, count] : counts)
    text += fmt::format("{}{} times {}", text.empty() ? "" : ", ", count, step);
  return text;
}

} // namespace

Counts counts_of(const Call &call) {
  Counts counts;
  add(counts, call.steps, 1);
  return counts;
}

void Recorder::add(Step::Kind kind, std::string_view kernel) { ++counts_[name_of(kind, kernel)]; }

void check_record(const Counts &record, const Call &call) {
  const Counts said = counts_of(call);
  const auto ran_at_least = [&](const auto &step) {
    const auto found = record.find(step.first);
    return found != record.end() && found->second >= step.second;
  };
  const bool same =
      computes_again(call.steps) ? std::ranges::all_of(said, ran_at_least) : record == said;
  if (!same)
    throw InternalError(
        fmt::format("a call ran {}, and its steps say {}", text_of(record), text_of(said)),
        print(call));
}

} // namespace broadloom::calls
