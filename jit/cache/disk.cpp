// Entries as files: see disk.hpp.
//
//   BLCODE02 | sizes of about, key, payload | about | key | payload | checksum of all before it
#include "jit/cache/disk.hpp"

#include "jit/cache/checksum.hpp"
#include "jit/cache/files.hpp"
#include "support/log.hpp"
#include "support/own_folder.hpp"
#include "support/undivided.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <set>

namespace broadloom::jit {
namespace {

constexpr std::string_view magic =
    "BLCODE02"; // of every version the same but for its last two digits
constexpr std::uint64_t largest_entry = std::uint64_t{64} << 20;

struct Sizes {
  std::uint32_t about = 0, key = 0, payload = 0;
};
constexpr std::size_t header_bytes = magic.size() + sizeof(Sizes);

std::string file_of(std::string_view key) {
  const XXH128_hash_t hash = hash128_of(key);
  char name[48];
  std::snprintf(name, sizeof name, "%.*s%016llx%016llx", int(entry_prefix.size()),
                entry_prefix.data(), static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return name;
}

// The parts of an entry, or nothing where anything about it is wrong.
struct Parts {
  std::string_view about, key, payload;
};
std::optional<Parts> parts_of(std::string_view content) {
  if (content.size() < header_bytes + checksum_bytes || !content.starts_with(magic)) return {};
  Sizes sizes;
  std::memcpy(&sizes, content.data() + magic.size(), sizeof sizes);
  const std::uint64_t whole = std::uint64_t(header_bytes) + sizes.about + sizes.key + sizes.payload;
  if (content.size() != whole + checksum_bytes) return {};
  if (content.substr(whole) != checksum_of(content.substr(0, whole))) return {};
  const std::string_view rest = content.substr(header_bytes);
  return Parts{rest.substr(0, sizes.about), rest.substr(sizes.about, sizes.key),
               rest.substr(std::size_t(sizes.about) + sizes.key, sizes.payload)};
}

bool is_of_other_version(std::string_view content) {
  constexpr std::size_t digits = 2;
  const std::string_view version = content.substr(0, magic.size());
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return version.size() == magic.size() && version != magic &&
         version.starts_with(magic.substr(0, magic.size() - digits)) &&
         std::ranges::all_of(version.substr(magic.size() - digits), is_digit);
}

std::string content_of(std::string_view about, std::string_view key, std::string_view payload) {
  const Sizes sizes{std::uint32_t(about.size()), std::uint32_t(key.size()),
                    std::uint32_t(payload.size())};
  std::string content(magic);
  content.append(reinterpret_cast<const char *>(&sizes), sizeof sizes);
  content.append(about).append(key).append(payload);
  return content + checksum_of(content);
}

void tell_once(const std::string &path, const std::string &message) {
  static constinit support::Mutex mutex;
  const std::lock_guard lock(mutex);
  static auto &told = *new std::set<std::string>;
  if (told.insert(path).second) support::log().warn("{}", message);
}

// The folder and those around it, for the user alone.
bool make_folders(const std::string &path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return false;
    if (end == std::string::npos) return true;
  }
}

std::string variable(const char *name) {
  const char *value = secure_getenv(name);
  return value != nullptr ? value : "";
}

struct Where {
  std::string path;
  std::string home = {}; // in which it is to be made, where nobody has asked for the path itself
};

Where where_of(const std::string &request) {
  if (!request.empty()) return {request};
  if (std::string asked = variable("BROADLOOM_CACHE_DIR"); !asked.empty()) return {asked};
  // The XDG specification: a path that is not absolute is to be ignored.
  if (const std::string caches = variable("XDG_CACHE_HOME"); caches.starts_with('/'))
    return {caches + "/broadloom", caches};
  if (const std::string home = variable("HOME"); home.starts_with('/'))
    return {home + "/.cache/broadloom", home};
  return {};
}

} // namespace

DiskCache::Folder::~Folder() {
  if (descriptor >= 0) close(descriptor);
}

bool DiskCache::wanted() { return variable("BROADLOOM_CACHE") != "0"; }

std::optional<DiskCache> DiskCache::open(const std::string &request, std::uint64_t bytes) {
  if (!wanted()) return std::nullopt;
  const auto [path, home] = where_of(request);
  const auto none = [&path = path](const std::string &why) {
    tell_once(path, "no disk cache of code: " + why + "; code is made anew in each process");
    return std::nullopt;
  };
  if (path.empty()) return none("neither HOME nor XDG_CACHE_HOME names a folder");
  if (!home.empty() && !support::may_make_below(home))
    return none("'" + home +
                "' belongs to another user than this process: set BROADLOOM_CACHE_DIR, "
                "or HOME, to a folder of its own");
  auto folder = std::make_shared<Folder>(path, bytes);
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
  folder->descriptor = ::open(path.c_str(), flags);
  if (folder->descriptor < 0 && errno == ENOENT && make_folders(path))
    folder->descriptor = ::open(path.c_str(), flags);
  if (folder->descriptor < 0) return none("'" + path + "': " + std::strerror(errno));
  struct stat about{};
  if (fstat(folder->descriptor, &about) != 0)
    return none("'" + path + "': " + std::strerror(errno));
  if (about.st_uid != geteuid()) return none("'" + path + "' belongs to somebody else");
  if ((about.st_mode & 077) != 0) return none("'" + path + "' is open to others: chmod 700 it");
  return DiskCache(std::move(folder));
}

std::optional<std::string> DiskCache::read(const std::string &file, bool is_use) const {
  // A look is no use: only the owner may have a file's time of access stay as it is.
  const Descriptor opened(openat(folder_->descriptor, file.c_str(),
                                 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOATIME));
  struct stat about{};
  if (opened.fd < 0 || fstat(opened.fd, &about) != 0 || !S_ISREG(about.st_mode) ||
      about.st_uid != geteuid() || std::uint64_t(about.st_size) > largest_entry)
    return std::nullopt;
  std::string content(std::size_t(about.st_size), '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = ::read(opened.fd, content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += std::size_t(got);
  }
  // Pruning goes by the time of the last use, which most file systems do not keep by themselves.
  const std::time_t now = std::time(nullptr), age = now - about.st_atime;
  if (is_use && (age < 0 || age > hour)) {
    const timespec times[] = {{now, 0}, {0, UTIME_OMIT}};
    futimens(opened.fd, times); // where it cannot be set, the entry goes earlier
  }
  return content;
}

bool DiskCache::has(std::string_view key) const {
  return faccessat(folder_->descriptor, file_of(key).c_str(), R_OK, 0) == 0;
}

std::optional<std::string> DiskCache::load(std::string_view key) const {
  const std::string file = file_of(key);
  std::optional<std::string> content = read(file, true);
  if (!content) return std::nullopt;
  const std::optional<Parts> parts = parts_of(*content);
  if (parts && parts->key == key) return std::string(parts->payload);
  // Broken, or another key of the same hash, which the next store replaces.
  if (!parts) unlinkat(folder_->descriptor, file.c_str(), 0);
  return std::nullopt;
}

// A nameless file that gets its name at the end: nothing is left of a writer that is killed, and
// the folder is changed once. Whoever changes it has its lock; when a writer that has it gets no
// processor, as many others wait as there are. So it is not changed for what is there, either.
// Where a name is to be replaced, or there are no nameless files: a file of another name that is
// renamed. Nothing is synced. After a loss of power an entry may be torn, which its checksum tells;
// and to wait for a disk that others write to may take longer than to compile the kernel.
bool DiskCache::write(const std::string &file, std::string_view content) const {
  const int folder = folder_->descriptor;
  const auto is_there = [&] { return read(file, false) == content; }; // by somebody faster
  if (is_there()) return true;
  {
    const Descriptor made(openat(folder, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
    const std::string path = "/proc/self/fd/" + std::to_string(made.fd);
    if (made.fd >= 0 && put(made.fd, content)) {
      if (linkat(AT_FDCWD, path.c_str(), folder, file.c_str(), AT_SYMLINK_FOLLOW) == 0) return true;
      if (errno == EEXIST && is_there()) return true;
    }
  }
  static std::atomic<std::uint64_t> next{std::random_device()()};
  const std::string unfinished = std::string(unfinished_prefix) + std::to_string(getpid()) + "-" +
                                 std::to_string(next.fetch_add(1));
  bool good = false;
  {
    const Descriptor made(openat(folder, unfinished.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (made.fd < 0) return false;
    good = put(made.fd, content);
  }
  const auto rename = [&] {
    return renameat(folder, unfinished.c_str(), folder, file.c_str()) == 0;
  };
  good = good && (rename() || (errno == EISDIR && remove(file).empty() && rename()));
  if (!good) unlinkat(folder, unfinished.c_str(), 0);
  return good;
}

void DiskCache::store(std::string_view key, std::string_view about,
                      std::string_view payload) const {
  if (about.size() + key.size() + payload.size() + 1024 > largest_entry) return;
  const std::string file = file_of(key), content = content_of(about, key, payload);
  if (!write(file, content)) {
    const int error = errno;
    if (const std::string kind = kind_of(file); !kind.empty())
      tell_once(folder() + "/" + file, "'" + folder() + "/" + file + "' is " + kind +
                                           ": one kernel's code is made anew in each process; "
                                           "remove it");
    return support::log().debug("'{}': {}: code is not kept", folder(), std::strerror(error));
  }
  if (is_time_to_look(content.size())) look_through();
}

std::vector<DiskCache::Entry> DiskCache::list() const {
  std::vector<Entry> entries;
  for (std::string &name : names(entry_prefix)) {
    struct stat about{};
    if (fstatat(folder_->descriptor, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    std::string kind = kind_of(name);
    Entry entry{std::move(name), std::move(kind), std::uint64_t(about.st_size),
                std::max(about.st_atime, about.st_mtime)};
    const std::optional<std::string> content = read(entry.file, false);
    if (const auto parts = content ? parts_of(*content) : std::nullopt) {
      entry.about = parts->about;
      entry.state = Entry::State::whole;
    } else if (content && is_of_other_version(*content)) {
      entry.state = Entry::State::other;
    }
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return a.used != b.used ? a.used > b.used : a.file < b.file;
  });
  return entries;
}

} // namespace broadloom::jit
