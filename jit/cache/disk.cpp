// Entries as files: see disk.hpp.
//
//   BLCODE02 | sizes of about, key, payload | about | key | payload | checksum of all before it
#include "jit/cache/disk.hpp"

#include "jit/native/backend.hpp"
#include "support/log.hpp"
#include "support/undivided.hpp"

#define XXH_INLINE_ALL // the library itself is not needed
#include <xxhash.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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
constexpr std::string_view prefix = "llvmcache-"; // what LLVM's pruning looks at
constexpr std::string_view unfinished_prefix = "unfinished-";
constexpr std::uint64_t largest_entry = std::uint64_t{64} << 20;
constexpr std::size_t checksum_bytes = 16;

struct Sizes {
  std::uint32_t about = 0, key = 0, payload = 0;
};
constexpr std::size_t header_bytes = magic.size() + sizeof(Sizes);

struct Descriptor {
  int fd;
  explicit Descriptor(int opened) : fd(opened) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

XXH128_hash_t hash_of(std::string_view bytes) { return XXH3_128bits(bytes.data(), bytes.size()); }

std::string checksum_of(std::string_view bytes) {
  const XXH128_hash_t hash = hash_of(bytes);
  std::string sum(checksum_bytes, '\0');
  std::memcpy(sum.data(), &hash.low64, 8);
  std::memcpy(sum.data() + 8, &hash.high64, 8);
  return sum;
}

std::string file_of(std::string_view key) {
  const XXH128_hash_t hash = hash_of(key);
  char name[48];
  std::snprintf(name, sizeof name, "%.*s%016llx%016llx", int(prefix.size()), prefix.data(),
                static_cast<unsigned long long>(hash.high64),
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
  static support::Mutex &mutex = *new support::Mutex;
  static auto &told = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (told.insert(path).second)
    support::log().warn("no disk cache of code: {}; code is made anew in each process", message);
}

bool put(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    content.remove_prefix(std::size_t(count));
  }
  return true;
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

} // namespace

DiskCache::Folder::~Folder() {
  if (descriptor >= 0) close(descriptor);
}

std::string DiskCache::folder_of(const std::string &request) {
  if (!request.empty()) return request;
  if (std::string asked = variable("BROADLOOM_CACHE_DIR"); !asked.empty()) return asked;
  // The XDG specification: a path that is not absolute is to be ignored.
  if (const std::string caches = variable("XDG_CACHE_HOME"); caches.starts_with('/'))
    return caches + "/broadloom";
  if (const std::string home = variable("HOME"); home.starts_with('/'))
    return home + "/.cache/broadloom";
  return {};
}

bool DiskCache::wanted() { return variable("BROADLOOM_CACHE") != "0"; }

std::optional<DiskCache> DiskCache::open(const std::string &request) {
  if (!wanted()) return std::nullopt;
  const std::string path = folder_of(request);
  const auto none = [&](const std::string &why) {
    tell_once(path, why);
    return std::nullopt;
  };
  if (path.empty()) return none("neither HOME nor XDG_CACHE_HOME names a folder");
  auto folder = std::make_shared<Folder>(path);
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
  const Descriptor opened(
      openat(folder_->descriptor, file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
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
  if (const std::time_t now = std::time(nullptr); is_use && now - about.st_atime > 3600) {
    const timespec times[] = {{now, 0}, {0, UTIME_OMIT}};
    futimens(opened.fd, times); // where it cannot be set, the entry goes earlier
  }
  return content;
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

// A nameless file that gets its name at the end: nothing is left of a writer that is killed, and the folder is changed once. Whoever changes
// it has its lock; when a writer that has it gets no processor, as many others wait as there are. So it is not changed for what is there, either.
// Where a name is to be replaced, or there are no nameless files: a file of another name that is renamed.
// Nothing is synced. After a loss of power an entry may be torn, which its checksum tells; and to wait for a disk that others write to may take
// longer than to compile the kernel.
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
  good = good && renameat(folder, unfinished.c_str(), folder, file.c_str()) == 0;
  if (!good) unlinkat(folder, unfinished.c_str(), 0);
  return good;
}

void DiskCache::store(std::string_view key, std::string_view about,
                      std::string_view payload) const {
  if (about.size() + key.size() + payload.size() + 1024 > largest_entry) return;
  if (!write(file_of(key), content_of(about, key, payload)))
    return support::log().debug("'{}': {}: code is not kept", folder(), std::strerror(errno));
  if (backend().prune(folder(), most_bytes, most_days))
    remove_unfinished(std::time(nullptr) - 3600);
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

void DiskCache::remove_unfinished(std::time_t older_than) const {
  for (const std::string &name : names(unfinished_prefix)) {
    struct stat about{};
    if (fstatat(folder_->descriptor, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 &&
        about.st_mtime <= older_than)
      unlinkat(folder_->descriptor, name.c_str(), 0);
  }
}

std::vector<DiskCache::Entry> DiskCache::list() const {
  std::vector<Entry> entries;
  for (std::string &name : names(prefix)) {
    struct stat about{};
    if (fstatat(folder_->descriptor, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    Entry entry{std::move(name),
                {},
                std::uint64_t(about.st_size),
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

int DiskCache::clear() const {
  int gone = 0;
  remove_unfinished(std::time(nullptr));
  for (const Entry &entry : list())
    gone += unlinkat(folder_->descriptor, entry.file.c_str(), 0) == 0;
  return gone;
}

int DiskCache::remove_broken() const {
  int gone = 0;
  for (const Entry &entry : list())
    gone += entry.state == Entry::State::broken &&
            unlinkat(folder_->descriptor, entry.file.c_str(), 0) == 0;
  return gone;
}

} // namespace broadloom::jit
