// `broadloom cache`: what the disk cache holds.
//
//   folder   /home/ada/.cache/broadloom
//   files    12, 96 KiB of at most 1 GiB; removed 30 days after their last use
#include "tools/broadloom/cli/commands.hpp"
#include "tools/broadloom/cli/usage.hpp"

#include "jit/cache/disk.hpp"
#include "support/size_text.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <optional>
#include <ostream>
#include <string_view>
#include <vector>

namespace broadloom::cli {
namespace {

using jit::DiskCache;
using support::size_text;

std::string day_of(std::time_t time) {
  std::tm parts{};
  char text[32];
  localtime_r(&time, &parts);
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts)};
}

std::string shown(const DiskCache::Entry &entry) {
  switch (entry.state) {
  case DiskCache::Entry::State::whole: return entry.about;
  case DiskCache::Entry::State::broken:
    return entry.about.empty() ? "broken" : "broken: " + entry.about;
  case DiskCache::Entry::State::other: return "of another version of Broadloom";
  }
  return {};
}

// One line for each file that is still there.
void print_left(const DiskCache::Removed &removed, std::ostream &out) {
  for (const DiskCache::Left &left : removed.left)
    out << "left " << support::printable(left.name) << ": " << left.why << "\n";
}

} // namespace

void cache(const CacheOptions &options, const Streams &streams) {
  const char *variable = std::getenv("BROADLOOM_CACHE");
  if (variable != nullptr && std::string_view(variable) == "0") {
    streams.out << "the disk cache is off: BROADLOOM_CACHE is 0\n";
    return;
  }
  const std::optional<DiskCache> found = DiskCache::open("");
  if (!found)
    throw UsageError("E0408", "there is no disk cache",
                     "BROADLOOM_CACHE_DIR names a folder that is yours alone (mode 0700), else "
                     "XDG_CACHE_HOME or HOME must; the line above says what is wrong");
  if (options.what == "clear") {
    const DiskCache::Removed removed = found->clear();
    streams.out << support::count(removed.gone, "file") << " removed from "
                << support::printable(found->folder()) << "\n";
    return print_left(removed, streams.out);
  }
  const std::vector<DiskCache::Entry> entries = found->list();
  if (options.what == "list") {
    for (const DiskCache::Entry &entry : entries)
      streams.out << fmt::format("{}  {:>9}  {}\n", day_of(entry.used),
                                 size_text(double(entry.bytes)), shown(entry));
    return;
  }
  if (options.what == "verify") {
    const DiskCache::Removed removed = found->remove_broken();
    streams.out << fmt::format("{}, {} broken and removed\n",
                               support::count(std::int64_t(entries.size()), "file"), removed.gone);
    return print_left(removed, streams.out);
  }
  std::uint64_t bytes = 0;
  for (const DiskCache::Entry &entry : entries) bytes += entry.bytes;
  streams.out << fmt::format("folder   {}\nfiles    {}, {} of at most {}; removed {} days after "
                             "their last use\n",
                             support::printable(found->folder()), entries.size(),
                             size_text(double(bytes)), size_text(double(DiskCache::most_bytes)),
                             int(DiskCache::most_days));
}

} // namespace broadloom::cli
