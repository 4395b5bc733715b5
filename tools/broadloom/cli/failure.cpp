// See failure.hpp.
#include "tools/broadloom/cli/failure.hpp"

#include "support/fail.hpp"
#include "support/text.hpp"
#include "tools/broadloom/cli/interrupt.hpp"
#include "tools/broadloom/cli/usage.hpp"

#include <new>

namespace broadloom::cli {

namespace {

int status_of(const Error &error, Phase phase) {
  if (dynamic_cast<const CancelledError *>(&error)) return interrupted_status;
  if (dynamic_cast<const UsageError *>(&error)) return WrongUsage;
  if (dynamic_cast<const DataError *>(&error)) return WrongData;
  if (dynamic_cast<const SpecError *>(&error)) return WrongSpec;
  if (dynamic_cast<const CompileError *>(&error)) {
    // A limit is the spec's; a target or an engine that cannot be had was asked for.
    return error.code() == "E0502" ? WrongSpec : WrongUsage;
  }
  return phase == Phase::Data ? WrongData : WrongSpec;
}

} // namespace

void throw_at(const Error &error, const Place &place) {
  const bool as_it_is = error.where().known() || dynamic_cast<const InternalError *>(&error) ||
                        dynamic_cast<const CancelledError *>(&error);
  if (as_it_is) throw;
  if (dynamic_cast<const UsageError *>(&error))
    throw UsageError(error.code(), error.message(), error.help(), place);
  support::fail(error.code(), error.message(), place, error.help());
}

Failure describe(std::exception_ptr thrown, Phase phase, bool color) {
  try {
    std::rethrow_exception(thrown);
  } catch (const InternalError &error) {
    const std::string ir = error.ir().empty() ? "" : "\n" + error.ir();
    return {error.render(color) + ir, OurBug};
  } catch (const Error &error) {
    return {error.render(color), status_of(error, phase)};
  } catch (const Mistakes &mistakes) {
    const auto render = [&](const Error &error) { return error.render(color); };
    return {support::joined(mistakes.errors, render, "\n\n"), WrongSpec};
  } catch (const Interrupted &) {
    return {"", interrupted_status};
  } catch (const std::bad_alloc &) {
    const DataError error("E0305", "out of memory", {}, "use smaller arrays");
    return {error.render(color), WrongData};
  } catch (const std::exception &error) {
    return {std::string("broadloom: ") + error.what(), OurBug};
  }
}

} // namespace broadloom::cli
