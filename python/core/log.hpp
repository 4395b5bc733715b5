// The library's messages as Python's `logging` has them.
//
// Problem: a message may come from any thread, while Python's lock is held by one that waits for
// it.
// Method: messages are queued, and the main thread hands them to `logging` where it next looks for
// signals.
#pragma once

#include <broadloom/log.hpp>

#include <string>

namespace broadloom::python {

// To be called once, as the module is made. Where BROADLOOM_LOG is set messages go to stderr, as in
// C++.
void send_messages_to_python();

// A message of the package itself, where it has not been said before by this process. Python's lock
// is held.
void say_once(LogLevel level, const std::string &text);

// Hands over what is queued, now. Python's lock is held.
void hand_over_messages();

// Messages go to stderr from here on, as Python ends.
void send_messages_to_stderr();

} // namespace broadloom::python
