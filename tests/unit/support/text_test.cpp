// What is shown of names and messages, whatever they hold.
#include "support/text.hpp"

#include "support/log.hpp"

#include <broadloom/error.hpp>
#include <broadloom/log.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace broadloom;

TEST_CASE("What could command a terminal is shown as its bytes, and all else as it is") {
  CHECK(support::printable("plain, \xc3\xa4 and \t\n") == "plain, \xc3\xa4 and \t\n");
  CHECK(support::printable("a\x1b[31mb") == "a\\x1b[31mb");
  CHECK(support::printable("\xc2\x9b\x7f\r") == "\\xc2\\x9b\\x7f\\x0d"); // CSI in two bytes
  CHECK(support::printable(std::string("\0\xff", 2)) == "\\x00\\xff");
}

TEST_CASE("No part of an error or of the log commands a terminal") {
  const std::string bad = "n\x1b[31m\xc2\x9b"
                          "2J";
  const Error error("E0301", "cannot read '" + bad + "'", {bad, 1, 2, 3, bad + bad}, "see " + bad);
  const std::string shown = error.render();
  CHECK(shown.find('\x1b') == std::string::npos);
  CHECK(shown.find("\xc2\x9b") == std::string::npos);
  CHECK(shown.find("n\\x1b[31m") != std::string::npos);

  std::string logged;
  set_log_sink([&](LogLevel, std::string_view text) { logged = text; });
  support::log().warn("{} is not there", bad);
  set_log_sink({});
  CHECK(logged == "n\\x1b[31m\\xc2\\x9b"
                  "2J is not there");
}
