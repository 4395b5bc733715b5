// A cache of bytes on disk that any number of processes share, and that cannot break anything.
//
// One file for each entry. It is written without a name, or under another one, and then named, so
// that a reader sees all of it or none. It holds its key in full and a checksum: whatever is wrong
// with it makes it a miss, and the file goes. It is read into memory, never mapped, so that what
// somebody does to the file later changes nothing. A folder that is full, read-only or gone costs
// time and nothing else. The folder must be the user's own and closed to others (mode 0700): code
// is run from it.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::jit {

class DiskCache { // thread-safe; copies are one cache
public:
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;
  static constexpr int most_days = 30; // since an entry was used

  // In the folder of the request, else in BROADLOOM_CACHE_DIR, else in broadloom in the user's XDG
  // cache folder. None where BROADLOOM_CACHE is 0, and where the folder cannot be made, is not
  // closed to others or would be made in a home of somebody else, which is told in the log once for
  // each folder. Only opens it: what is wrong later makes misses. `bytes`: how many may lie there.
  static std::optional<DiskCache> open(const std::string &request,
                                       std::uint64_t bytes = most_bytes);

  static bool wanted(); // BROADLOOM_CACHE is not 0

  const std::string &folder() const { return folder_->path; }

  bool has(std::string_view key) const; // whether there is a file for it, which may be broken
  // The payload that was stored last for the key.
  std::optional<std::string> load(std::string_view key) const;

  // `about` is a line for people. What is old, or too much, is removed once in an hour, and as soon
  // as there may be too much.
  void store(std::string_view key, std::string_view about, std::string_view payload) const;

  struct Entry {
    std::string file, about; // of what is no file of ours, what it is: "a folder"
    std::uint64_t bytes = 0;
    std::time_t used = 0; // to the hour
    enum class State {
      whole, // it has the form of an entry, and its checksum is right
      broken,
      other, // of a version of Broadloom that writes another form: that one may read it
    } state = State::broken;
  };
  std::vector<Entry> list() const; // used last in front
  struct Left {
    std::string name, why;
  };
  struct Removed { // links, pipes and empty folders at the names of entries go, too
    int gone = 0;
    std::vector<Left> left;
  };
  Removed clear() const;
  Removed remove_broken() const;

private:
  struct Folder {
    std::string path;
    std::uint64_t most_bytes;
    int descriptor = -1;
    Folder(std::string path, std::uint64_t bytes) : path(std::move(path)), most_bytes(bytes) {}
    ~Folder();
  };
  explicit DiskCache(std::shared_ptr<const Folder> folder) : folder_(std::move(folder)) {}

  std::optional<std::string> read(const std::string &file, bool is_use) const;
  bool write(const std::string &file, std::string_view content) const;
  std::string kind_of(const std::string &name) const; // "a folder"; empty of a file of ours

  // upkeep.cpp
  bool is_time_to_look(std::uint64_t stored) const;
  void look_through() const;
  std::vector<std::string> names(std::string_view prefix) const;
  std::string remove(const std::string &name) const; // why it is still there
  Removed remove_all(const std::vector<std::string> &names) const;
  // What a process that was killed left behind.
  std::vector<Left> remove_unfinished(std::time_t older_than) const;

  std::shared_ptr<const Folder> folder_;
};

} // namespace broadloom::jit
