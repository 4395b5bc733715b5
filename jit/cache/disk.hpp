// A cache of bytes on disk that any number of processes share, and that cannot break anything.
//
// One file for each entry. It is written without a name, or under another one, and then named, so that a reader sees all of it or none.
// It holds its key in full and a checksum: whatever is wrong with it makes it a miss, and the file goes. It is read into
// memory, never mapped, so that what somebody does to the file later changes nothing. A folder that is full, read-only or gone
// costs time and nothing else. The folder must be the user's own and closed to others (mode 0700): code is run from it.
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

  // Where a request ("": BROADLOOM_CACHE_DIR, else broadloom in the user's XDG cache folder) leads to; empty where
  // there is no such place.
  static std::string folder_of(const std::string &request);

  // None where BROADLOOM_CACHE is 0, and where the folder cannot be made or is not closed to others, which is told in the log
  // once for each folder. Only opens it: what is wrong later makes misses.
  static std::optional<DiskCache> open(const std::string &request);

  static bool wanted(); // BROADLOOM_CACHE is not 0

  const std::string &folder() const { return folder_->path; }

  // The payload that was stored last for the key.
  std::optional<std::string> load(std::string_view key) const;

  // `about` is a line for people. From time to time what is old, or too much, is removed.
  void store(std::string_view key, std::string_view about, std::string_view payload) const;

  struct Entry {
    std::string file, about;
    std::uint64_t bytes = 0;
    std::time_t used = 0; // to the hour
    enum class State {
      whole, // it has the form of an entry, and its checksum is right
      broken,
      other, // of a version of Broadloom that writes another form: that one may read it
    } state = State::broken;
  };
  std::vector<Entry> list() const; // used last in front
  int clear() const;               // how many entries went
  int remove_broken() const;

private:
  struct Folder {
    std::string path;
    int descriptor = -1;
    ~Folder();
  };
  explicit DiskCache(std::shared_ptr<const Folder> folder) : folder_(std::move(folder)) {}

  std::optional<std::string> read(const std::string &file, bool is_use) const;
  bool write(const std::string &file, std::string_view content) const;
  std::vector<std::string> names(std::string_view prefix) const;
  void
  remove_unfinished(std::time_t older_than) const; // what a process that was killed left behind

  std::shared_ptr<const Folder> folder_;
};

} // namespace broadloom::jit
