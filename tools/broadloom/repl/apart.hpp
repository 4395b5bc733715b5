// Work that can be left behind: a person who presses Ctrl-C gets the prompt back at once, also
// where the work itself looks at its flag only now and then.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

namespace broadloom::cli {

using CancelFlag = std::shared_ptr<const std::atomic<bool>>;

// Runs `work` on a thread of its own, lets its errors out and returns true; false where `cancel`
// became true and the work has not ended within a moment. It then goes on by itself until it sees
// its flag, so it must own all that it uses. Without a flag the work runs on this thread.
bool run_apart(std::function<void()> work, const CancelFlag &cancel);

// Is any work of `run_apart` that was left behind still going on?
bool left_behind();

} // namespace broadloom::cli
