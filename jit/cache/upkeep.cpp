// What keeps the folder of the disk cache small, and what people do to it: see disk.hpp.
//
// From time to time the folder is looked through, which takes longer than to store an entry: once
// in an hour, and where there may be too much in it. The stamp tells: it holds the time of the last
// look, and behind it a byte for each 16 KiB that there were then or that any process has stored
// since.
//
//   00000000001795803600......
#include "jit/cache/disk.hpp"

#include "jit/cache/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace broadloom::jit {
namespace {

constexpr const char *stamp_name = "llvmcache.timestamp"; // older versions look at it, too
constexpr std::size_t digits = 20;
constexpr std::uint64_t bytes_of_unit = 16 << 10;

std::string units_of(std::uint64_t bytes) {
  return std::string((bytes + bytes_of_unit - 1) / bytes_of_unit, '.');
}

std::string stamp_of(std::time_t time) {
  const std::string number = std::to_string(time);
  return std::string(digits - number.size(), '0') + number;
}

int open_stamp(int folder) {
  return openat(folder, stamp_name, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

// When an entry was used last. A time ahead of now, of a clock that was wrong, would keep it for as
// long: it becomes now.
std::time_t last_use(int folder, const std::string &name, const struct stat &about,
                     std::time_t now) {
  const std::time_t used = std::max(about.st_atime, about.st_mtime);
  if (used <= now) return used;
  const timespec times[] = {{now, 0}, {now, 0}};
  utimensat(folder, name.c_str(), times, AT_SYMLINK_NOFOLLOW);
  return now;
}

// Of what may be taken of the disk: three quarters of what is free without the cache.
std::uint64_t most_of_disk(int folder, std::uint64_t bytes) {
  struct statvfs disk{};
  if (fstatvfs(folder, &disk) != 0) return bytes;
  return (std::uint64_t(disk.f_bavail) * disk.f_frsize + bytes) / 4 * 3;
}

} // namespace

// Notes what was stored just now, too.
bool DiskCache::is_time_to_look(std::uint64_t stored) const {
  const Descriptor stamp(open_stamp(folder_->descriptor));
  struct stat about{};
  char last[digits + 1] = {};
  if (stamp.fd < 0 || fstat(stamp.fd, &about) != 0 || !S_ISREG(about.st_mode) ||
      pread(stamp.fd, last, digits, 0) != ssize_t(digits) || !put(stamp.fd, units_of(stored)))
    return true;
  const std::time_t age = std::time(nullptr) - std::strtoll(last, nullptr, 10);
  const std::uint64_t noted = (std::uint64_t(about.st_size) - digits) * bytes_of_unit + stored;
  return age < 0 || age >= hour || noted > folder_->most_bytes;
}

// The new stamp comes first, so that others do not look as well, and keeps what they note
// meanwhile. What goes beyond the bound is an eighth more than it must, so that not every entry
// that is stored leads to a look.
void DiskCache::look_through() const {
  const int folder = folder_->descriptor;
  const std::time_t now = std::time(nullptr);
  write(stamp_name, stamp_of(now));
  struct Found {
    std::string name;
    std::uint64_t bytes = 0;
    std::time_t used = 0;
  };
  std::vector<Found> found;
  std::uint64_t bytes = 0;
  for (std::string &name : names(entry_prefix)) {
    struct stat about{};
    if (fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::time_t used = last_use(folder, name, about, now);
    if (now - used > std::time_t(most_days) * 24 * hour) {
      unlinkat(folder, name.c_str(), 0);
    } else if (S_ISREG(about.st_mode)) {
      bytes += std::uint64_t(about.st_size);
      found.push_back({std::move(name), std::uint64_t(about.st_size), used});
    }
  }
  std::ranges::sort(found, [](const Found &a, const Found &b) {
    return a.used != b.used ? a.used < b.used : a.name < b.name;
  });
  const std::uint64_t most = std::min(folder_->most_bytes, most_of_disk(folder, bytes));
  if (bytes > most)
    for (const Found &entry : found) {
      if (bytes <= most - most / 8) break;
      if (unlinkat(folder, entry.name.c_str(), 0) == 0) bytes -= entry.bytes;
    }
  remove_unfinished(now - hour);
  if (const Descriptor stamp(open_stamp(folder)); stamp.fd >= 0) put(stamp.fd, units_of(bytes));
}

std::vector<std::string> DiskCache::names(std::string_view beginning) const {
  std::vector<std::string> found;
  const int copy = openat(folder_->descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = copy < 0 ? nullptr : fdopendir(copy);
  if (entries == nullptr) {
    if (copy >= 0) close(copy);
    return found;
  }
  while (const dirent *entry = readdir(entries))
    if (std::string_view(entry->d_name).starts_with(beginning)) found.emplace_back(entry->d_name);
  closedir(entries);
  return found;
}

std::string DiskCache::kind_of(const std::string &name) const {
  struct stat about{};
  if (fstatat(folder_->descriptor, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return {};
  if (S_ISDIR(about.st_mode)) return "a folder";
  if (S_ISLNK(about.st_mode)) return "a link";
  if (!S_ISREG(about.st_mode)) return "no file but a pipe or a device";
  return about.st_uid == geteuid() ? "" : "a file of another user";
}

std::string DiskCache::remove(const std::string &name) const {
  const int folder = folder_->descriptor;
  if (unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno == EISDIR && unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0) return {};
  if (errno == ENOTEMPTY || errno == EEXIST) return "it is a folder that is not empty";
  return std::strerror(errno);
}

DiskCache::Removed DiskCache::remove_all(const std::vector<std::string> &names) const {
  Removed removed;
  for (const std::string &name : names)
    if (std::string why = remove(name); why.empty())
      ++removed.gone;
    else
      removed.left.push_back({name, std::move(why)});
  return removed;
}

std::vector<DiskCache::Left> DiskCache::remove_unfinished(std::time_t older_than) const {
  std::vector<std::string> old;
  for (std::string &name : names(unfinished_prefix)) {
    struct stat about{};
    if (fstatat(folder_->descriptor, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 &&
        last_use(folder_->descriptor, name, about, std::time(nullptr)) <= older_than)
      old.push_back(std::move(name));
  }
  return remove_all(old).left;
}

DiskCache::Removed DiskCache::clear() const {
  std::vector<Left> unfinished = remove_unfinished(std::time(nullptr));
  Removed removed = remove_all(names(entry_prefix));
  removed.left.insert(removed.left.end(), unfinished.begin(), unfinished.end());
  return removed;
}

DiskCache::Removed DiskCache::remove_broken() const {
  std::vector<std::string> broken;
  for (Entry &entry : list())
    if (entry.state == Entry::State::broken) broken.push_back(std::move(entry.file));
  return remove_all(broken);
}

} // namespace broadloom::jit
