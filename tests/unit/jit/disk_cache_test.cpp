// The disk cache: what is broken, foreign or half written is a miss and never code that runs.
#include "jit/cache/disk.hpp"
#include "tests/places.hpp"
#include "tools/broadloom/cli/cli.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace broadloom {
namespace {

using jit::DiskCache;

// The tests run without a disk cache; these have one in a folder of their own.
class Folder {
public:
  Folder() {
    char name[] = "/tmp/broadloom-cache-XXXXXX";
    path = mkdtemp(name);
    unsetenv("BROADLOOM_CACHE");
  }
  ~Folder() {
    setenv("BROADLOOM_CACHE", "0", 1);
    fs::remove_all(path);
  }
  DiskCache cache(std::uint64_t most_bytes = DiskCache::most_bytes) const {
    std::optional<DiskCache> opened = DiskCache::open(path, most_bytes);
    REQUIRE(opened);
    return *opened;
  }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const DiskCache::Entry &entry : cache().list()) sum += entry.bytes;
    return sum;
  }
  static void set_time(const fs::path &file, std::time_t from_now) {
    const timespec time{std::time(nullptr) + from_now, 0}, times[] = {time, time};
    REQUIRE(utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  }
  fs::path only_file() const {
    std::vector<fs::path> files;
    for (const fs::directory_entry &entry : fs::directory_iterator(path))
      if (entry.path().extension() != ".timestamp") files.push_back(entry.path());
    REQUIRE(files.size() == 1);
    return files[0];
  }
  std::string path;
};

std::string slurp(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void spill(const fs::path &path, const std::string &content) {
  std::ofstream(path, std::ios::binary) << content;
}

// The warnings while it lives.
class Logged {
public:
  Logged() {
    set_log_sink([lines = lines_](LogLevel level, std::string_view line) {
      if (level >= LogLevel::warn) lines->emplace_back(line);
    });
  }
  ~Logged() { set_log_sink(nullptr); }
  const std::vector<std::string> &lines() const { return *lines_; }

private:
  std::shared_ptr<std::vector<std::string>> lines_ = std::make_shared<std::vector<std::string>>();
};

const std::string key = std::string("a key\0with a zero", 17);

} // namespace

TEST_CASE("what is stored on disk is loaded again, by its whole key, and the last one counts") {
  const Folder folder;
  const DiskCache cache = folder.cache();
  CHECK(!cache.load(key));
  cache.store(key, "first", "code");
  cache.store(key, "second", std::string("other\0code", 10));
  CHECK(cache.load(key) == std::string("other\0code", 10));
  CHECK(!cache.load(key.substr(0, 5)));
  cache.store("another", "third", "");
  CHECK(cache.load("another") == "");
  const std::vector<DiskCache::Entry> entries = cache.list();
  REQUIRE(entries.size() == 2);
  for (const DiskCache::Entry &entry : entries) {
    CHECK(entry.state == DiskCache::Entry::State::whole);
    CHECK((entry.about == "second" || entry.about == "third"));
  }
  CHECK(cache.clear().gone == 2);
  CHECK(cache.list().empty());
  CHECK(!cache.load(key));
}

TEST_CASE("what is stored has its whole content when it has its name, and is not written again") {
  const Folder folder;
  const DiskCache cache = folder.cache();
  cache.store(key, "about", "code");
  const fs::path file = folder.only_file(); // no unfinished one beside it
  const auto inode = [&] {
    struct stat about{};
    REQUIRE(stat(file.c_str(), &about) == 0);
    CHECK((about.st_mode & 0777) == 0600);
    return about.st_ino;
  };
  const auto first = inode();
  cache.store(key, "about", "code");
  CHECK(inode() == first);
  cache.store(key, "about", "other"); // replaced, so that whoever reads has the one or the other
  CHECK(inode() != first);
  CHECK(folder.only_file() == file);
  CHECK(cache.load(key) == "other");
}

TEST_CASE("an entry of another version is not called broken, and stays until all are removed") {
  const Folder folder;
  const DiskCache cache = folder.cache();
  cache.store(key, "about", "code");
  const fs::path file = fs::path(folder.path) / cache.list().at(0).file;
  const std::string content = slurp(file), version = "BLCODE";
  REQUIRE(content.rfind(version, 0) == 0);
  spill(file, version + "97" + content.substr(version.size() + 2));
  CHECK(cache.list().at(0).state == DiskCache::Entry::State::other);
  CHECK(cache.remove_broken().gone == 0);
  for (const char *odd : {"xx", "9"}) {
    spill(file, version + odd);
    CHECK(cache.list().at(0).state == DiskCache::Entry::State::broken);
  }
  CHECK(cache.remove_broken().gone == 1);
  CHECK(cache.list().empty());
}

TEST_CASE("an entry with any byte changed, cut off or added is a miss, and goes") {
  const Folder folder;
  const DiskCache cache = folder.cache();
  cache.store(key, "about", "the code itself");
  const fs::path file = folder.only_file();
  const std::string good = slurp(file);
  for (std::size_t k = 0; k < good.size(); ++k) {
    std::string bad = good;
    bad[k] = char(bad[k] ^ (1 << k % 8));
    spill(file, bad);
    CAPTURE(k);
    CHECK(!cache.load(key));
    CHECK(!fs::exists(file));
    spill(file, good.substr(0, k));
    CHECK(!cache.load(key));
    CHECK(!fs::exists(file));
  }
  spill(file, good + "x");
  CHECK(!cache.load(key));
  spill(file, good);
  CHECK(cache.load(key) == "the code itself");
}

TEST_CASE("an entry that is whole, but of another key, is a miss") {
  const Folder folder;
  const DiskCache cache = folder.cache();
  cache.store(key, "about", "code");
  const fs::path file = folder.only_file();
  cache.store("another", "about", "other code");
  for (const fs::directory_entry &entry : fs::directory_iterator(folder.path))
    if (entry.path() != file && entry.path().extension() != ".timestamp")
      fs::rename(entry.path(), file);
  CHECK(!cache.load(key));
}

TEST_CASE("a folder that others may enter or that is none is no cache, and neither is one that is "
          "switched off") {
  const Folder folder;
  chmod(folder.path.c_str(), 0755);
  CHECK(!DiskCache::open(folder.path));
  chmod(folder.path.c_str(), 0700);
  CHECK(DiskCache::open(folder.path));
  spill(folder.path + "/file", "");
  CHECK(!DiskCache::open(folder.path + "/file"));
  CHECK(!DiskCache::open(folder.path + "/file/below"));
  fs::create_directory_symlink(folder.path, folder.path + "/link");
  CHECK(!DiskCache::open(folder.path + "/link"));
  setenv("BROADLOOM_CACHE", "0", 1);
  CHECK(!DiskCache::open(folder.path));
  unsetenv("BROADLOOM_CACHE");
  const std::optional<DiskCache> made = DiskCache::open(folder.path + "/one/two");
  REQUIRE(made);
  CHECK((fs::status(made->folder()).permissions() & fs::perms::all) == fs::perms::owner_all);
  fs::remove_all(folder.path + "/one"); // what is gone under our hands costs time only
  made->store(key, "about", "code");
  CHECK(!made->load(key));
}

TEST_CASE("an entry that is a link, a pipe or a folder is a miss, and nothing waits for it") {
  const Folder folder;
  const DiskCache cache = folder.cache();
  cache.store(key, "about", "code");
  const fs::path file = folder.only_file(), elsewhere = folder.path + "/elsewhere";
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  CHECK(!cache.load(key));
  fs::remove(file);
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  CHECK(!cache.load(key));
  fs::remove(file);
  fs::create_directory(file);
  CHECK(!cache.load(key));
}

TEST_CASE(
    "what is no file at an entry's name is replaced, and a folder with something in it is told "
    "of once") {
  const Folder folder;
  const DiskCache cache = folder.cache();
  cache.store(key, "about", "code");
  const fs::path file = folder.only_file();
  const auto stored = [&] {
    cache.store(key, "about", "code");
    return cache.load(key) == "code";
  };
  fs::remove(file);
  fs::create_symlink("/nowhere", file);
  CHECK(stored());
  fs::remove(file);
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  CHECK(stored());
  fs::remove(file);
  fs::create_directory(file);
  CHECK(stored());
  fs::remove(file);
  fs::create_directories(file / "something");
  const Logged logged;
  CHECK(!stored());
  CHECK(!stored());
  REQUIRE(logged.lines().size() == 1);
  CHECK(logged.lines()[0].find("'" + file.string() + "' is a folder") != std::string::npos);
  CHECK(fs::exists(file / "something"));
  const DiskCache::Removed removed = cache.clear();
  CHECK(removed.gone == 0);
  REQUIRE(removed.left.size() == 1);
  CHECK(removed.left[0].name == file.filename());
  CHECK(removed.left[0].why == "it is a folder that is not empty");
}

TEST_CASE("the bound holds at any moment, whatever the hour, and for all processes together") {
  const Folder folder;
  constexpr std::uint64_t most = 1 << 20;
  std::uint64_t greatest = 0;
  for (int k = 0; k < 60; ++k) { // 60 processes, each of which stores one entry of 64 KiB
    folder.cache(most).store("key " + std::to_string(k), "about", std::string(64 << 10, 'x'));
    greatest = std::max(greatest, folder.bytes());
  }
  CHECK(greatest <= most);
  CHECK(greatest > most / 2);
  CHECK(folder.bytes() > most / 2);
  CHECK(folder.cache().load("key 59"));
}

TEST_CASE("times ahead of now switch off neither the bound nor the age") {
  const Folder folder;
  constexpr std::time_t day = 24 * 3600;
  const DiskCache cache = folder.cache();
  cache.store("old", "about", "code");
  folder.set_time(folder.only_file(), -31 * day);
  cache.store("ahead", "about", "code");
  for (const DiskCache::Entry &entry : cache.list())
    if (entry.used > std::time(nullptr) - day)
      folder.set_time(fs::path(folder.path) / entry.file, 3300 * day);
  const fs::path stamp = fs::path(folder.path) / "llvmcache.timestamp";
  spill(stamp, "00000000009795803600"); // in the year 2280
  folder.set_time(stamp, 3300 * day);
  cache.store("new", "about", "code");
  CHECK(!cache.load("old"));
  CHECK(cache.load("ahead"));
  for (const DiskCache::Entry &entry : cache.list()) CHECK(entry.used <= std::time(nullptr));

  for (int k = 0; k < 30; ++k) {
    folder.cache(1 << 20).store("key " + std::to_string(k), "about", std::string(64 << 10, 'x'));
    for (const DiskCache::Entry &entry : cache.list())
      folder.set_time(fs::path(folder.path) / entry.file, 3300 * day);
  }
  CHECK(folder.bytes() <= 1 << 20);
}

TEST_CASE("a stamp that is a link, a pipe or a folder is not followed, and replaced") {
  const Folder folder;
  const fs::path stamp = fs::path(folder.path) / "llvmcache.timestamp";
  const fs::path precious = fs::path(folder.path) / "precious";
  spill(precious, "mine");
  fs::create_symlink(precious, stamp);
  folder.cache().store(key, "about", "code");
  CHECK(slurp(precious) == "mine");
  CHECK(fs::is_regular_file(fs::symlink_status(stamp)));
  fs::remove(stamp);
  REQUIRE(mkfifo(stamp.c_str(), 0600) == 0);
  folder.cache().store("another", "about", "code");
  CHECK(fs::is_regular_file(fs::symlink_status(stamp)));
  fs::remove(stamp);
  fs::create_directory(stamp);
  folder.cache().store("a third", "about", "code");
  CHECK(fs::is_regular_file(fs::symlink_status(stamp)));
  CHECK(folder.cache().list().size() == 3);
}

TEST_CASE("no folder is made below a home of another user, and a line says what to set") {
  const Folder folder;
  // Whoever is not root finds such a home in the system's own folders.
  const std::string home = geteuid() == 0 ? folder.path + "/home" : "/usr";
  if (geteuid() == 0) {
    fs::create_directory(home);
    REQUIRE(chown(home.c_str(), 12345, 12345) == 0);
  }
  const char *before = getenv("HOME"), *caches = getenv("XDG_CACHE_HOME");
  const std::string old_home = before ? before : "", old_caches = caches ? caches : "";
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", home.c_str(), 1);
  {
    const Logged logged;
    CHECK(!DiskCache::open(""));
    CHECK(!DiskCache::open(""));
    REQUIRE(logged.lines().size() == 1);
    CHECK(logged.lines()[0].find("'" + home + "' belongs to another user") != std::string::npos);
    CHECK(logged.lines()[0].find("set BROADLOOM_CACHE_DIR") != std::string::npos);
    CHECK(!fs::exists(home + "/.cache"));
    setenv("XDG_CACHE_HOME", (home + "/caches").c_str(), 1);
    CHECK(!DiskCache::open(""));
    CHECK(!fs::exists(home + "/caches"));
    setenv("XDG_CACHE_HOME", (folder.path + "/own").c_str(), 1);
    CHECK(DiskCache::open(""));
  }
  setenv("HOME", old_home.c_str(), 1);
  setenv("XDG_CACHE_HOME", old_caches.c_str(), 1);
  if (before == nullptr) unsetenv("HOME");
  if (caches == nullptr) unsetenv("XDG_CACHE_HOME");
}

TEST_CASE("processes that store one key at once, and are killed, leave nothing broken") {
  const Folder folder;
  const DiskCache cache = folder.cache();
  const std::string first(20'000, 'a'), second(30'000, 'b');
  for (int round = 0; round < 20; ++round) {
    std::vector<pid_t> children;
    for (int k = 0; k < 3; ++k) {
      const pid_t child = fork();
      if (child == 0)
        for (int turn = 0;; ++turn) cache.store(key, "about", turn % 2 == 0 ? first : second);
      children.push_back(child);
    }
    for (int turn = 0; turn < 50; ++turn) {
      const std::optional<std::string> found = cache.load(key);
      CHECK((!found || *found == first || *found == second));
    }
    for (const pid_t child : children) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    CHECK(cache.remove_broken().gone == 0);
  }
  CHECK(cache.load(key).has_value());
  cache.clear();
  for (const fs::directory_entry &entry : fs::directory_iterator(folder.path))
    CHECK(entry.path().extension() == ".timestamp");
}

namespace {

// {cache of the first run, of the second}, by processes of their own.
std::string run_json(const std::string &folder, const std::string &more = "",
                     const std::string &value = "exp(x) / sum(x, j)") {
  const std::string command =
      "BROADLOOM_CACHE= BROADLOOM_CACHE_DIR='" + folder +
      "' '" BROADLOOM_PROGRAM "' run -e 'kernel k { in x : f32[i, j]; out y = " + value +
      " }' --in 'x=rand(50, 70)' --json " + more + " 2>&1";
  std::FILE *pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  char part[4096];
  while (std::fgets(part, int(sizeof part), pipe) != nullptr) text += part;
  CHECK(pclose(pipe) == 0);
  const std::size_t at = text.find("\"cache\"");
  REQUIRE(at != std::string::npos);
  const std::size_t from = text.find('"', text.find(':', at)) + 1;
  return text.substr(from, text.find('"', from) - from);
}

} // namespace

TEST_CASE("a second process takes the code from disk, with the same bits, and makes anew what is "
          "broken") {
  const Folder folder;
  const std::string a = folder.path + "/a.npy", b = folder.path + "/b.npy";
  const std::string cached = folder.path + "/cache";
  CHECK(run_json(cached, "--out y=" + a) == "miss");
  CHECK(run_json(cached, "--out y=" + b) == "disk");
  CHECK(slurp(a) == slurp(b));
  const std::optional<DiskCache> cache = DiskCache::open(cached);
  REQUIRE(cache);
  REQUIRE(cache->list().size() == 1);
  CHECK(cache->list()[0].about.starts_with("k for "));
  const fs::path file = cached + "/" + cache->list()[0].file;
  std::string content = slurp(file);
  content[content.size() / 2] ^= 1;
  spill(file, content);
  CHECK(run_json(cached, "--out y=" + b) == "miss");
  CHECK(slurp(a) == slurp(b));
  CHECK(run_json(cached) == "disk");
  CHECK(run_json(cached, "--threads 1") != "memory");
}

TEST_CASE("code from disk calls the functions that run one value at a time") {
  const Folder folder;
  const std::string a = folder.path + "/a.npy", b = folder.path + "/b.npy";
  const std::string cached = folder.path + "/cache";
  const std::string value = "polygamma(2, f64(x)) + lgamma(x) + fmod(x, 0.3)";
  CHECK(run_json(cached, "--out y=" + a, value) == "miss");
  CHECK(run_json(cached, "--out y=" + b, value) == "disk");
  CHECK(slurp(a) == slurp(b));
}

TEST_CASE("the program tells what its disk cache holds, and removes what is broken, or all") {
  const Folder folder;
  const auto run = [&](const char *what) {
    std::istringstream in;
    std::ostringstream out, err;
    const int status = cli::run_cli({"cache", what}, in, out, err);
    return status == 0 ? out.str() : err.str();
  };
  setenv("BROADLOOM_CACHE_DIR", folder.path.c_str(), 1);
  const DiskCache cache = folder.cache();
  cache.store(key, "one for x86-64-v4", "code");
  cache.store("another", "two for x86-64-v3", std::string(3000, 'x'));
  CHECK(run("info").starts_with("folder   " + folder.path +
                                "\nfiles    2, 3.06 KiB of at most 1 GiB"));
  CHECK(run("list").find("2.99 KiB  two for x86-64-v3\n") != std::string::npos);
  CHECK(run("list").find("  one for x86-64-v4\n") != std::string::npos);
  CHECK(run("verify") == "2 files, 0 broken and removed\n");
  spill(folder.path + "/" + cache.list()[0].file, "broken");
  CHECK(run("list").find("  broken\n") != std::string::npos);
  CHECK(run("verify") == "2 files, 1 broken and removed\n");
  CHECK(run("clear") == "1 file removed from " + folder.path + "\n");
  cache.store(key, "about", "code");
  const std::string name = cache.list()[0].file;
  REQUIRE(run("clear") == "1 file removed from " + folder.path + "\n");
  fs::create_directories(folder.path + "/" + name + "/something");
  CHECK(run("list").find("  broken: a folder\n") != std::string::npos);
  CHECK(run("clear") == "0 files removed from " + folder.path + "\nleft " + name +
                            ": it is a folder that is not empty\n");
  fs::remove_all(folder.path + "/" + name);
  setenv("BROADLOOM_CACHE", "0", 1);
  CHECK(run("info") == "the disk cache is off: BROADLOOM_CACHE is 0\n");
  unsetenv("BROADLOOM_CACHE");
  chmod(folder.path.c_str(), 0755);
  CHECK(run("info").find("error[E0408]") != std::string::npos);
  unsetenv("BROADLOOM_CACHE_DIR");
}

TEST_CASE("an entry that is whole but holds no object code is made anew") {
  const Folder folder;
  const std::string a = folder.path + "/a.npy", b = folder.path + "/b.npy";
  const std::string cached = folder.path + "/cache";
  CHECK(run_json(cached, "--out y=" + a) == "miss");
  const std::optional<DiskCache> cache = DiskCache::open(cached);
  REQUIRE(cache);
  const std::string content = slurp(cached + "/" + cache->list().at(0).file);
  std::uint32_t sizes[3]; // of about, key and payload
  std::memcpy(sizes, content.data() + 8, sizeof sizes);
  const std::string whole_key = content.substr(20 + sizes[0], sizes[1]);
  const std::string code = cache->load(whole_key).value_or("");
  REQUIRE(code.size() > 100);
  for (const std::string &wrong :
       {code.substr(0, 40), code.substr(0, 3), std::string(), "\x01" + code.substr(1)}) {
    cache->store(whole_key, "about", wrong);
    CHECK(run_json(cached, "--out y=" + b) != "memory");
    CHECK(slurp(a) == slurp(b));
    CHECK(cache->load(whole_key) == code);
  }
}

} // namespace broadloom
