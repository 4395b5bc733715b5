// Which tools to tell, and the names that they are told. See profile.hpp.
#include "jit/native/profile.hpp"

#include "support/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace broadloom::jit {
namespace {

constexpr std::array<std::pair<std::string_view, Profile>, 3> tools = {
    {{"perf", Profile::perf}, {"jitdump", Profile::jitdump}, {"gdb", Profile::gdb}}};

Profile from_environment() {
  const char *words = std::getenv("BROADLOOM_PROFILE");
  std::vector<std::string> unknown;
  const Profile found = parse_profile(words != nullptr ? words : "", unknown);
  for (const std::string &word : unknown)
    support::log().warn("BROADLOOM_PROFILE names '{}', which is no tool: write perf, jitdump or "
                        "gdb, several with commas between",
                        word);
  return found;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

} // namespace

Profile parse_profile(std::string_view words, std::vector<std::string> &unknown) {
  Profile found = Profile::none;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(','));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    if (word.empty()) continue;
    const auto *tool = std::find_if(tools.begin(), tools.end(),
                                    [&](const auto &entry) { return entry.first == word; });
    if (tool != tools.end())
      found = found | tool->second;
    else
      unknown.emplace_back(word);
  }
  return found;
}

Profile find_profile(Profile wanted) {
  static const Profile always = from_environment();
  return wanted | always;
}

std::string profile_name(std::string_view kernel, std::string_view function,
                         std::uint64_t pattern) {
  constexpr std::size_t longest = 64; // of the kernel's part
  std::string plain(kernel.substr(0, longest));
  for (char &c : plain)
    if (!is_plain(c)) c = '_';
  return fmt::format("broadloom.{}.{}.{:08x}", plain, function, std::uint32_t(pattern));
}

std::string phase_name(std::size_t phase) { return "phase_" + std::to_string(phase); }

} // namespace broadloom::jit
