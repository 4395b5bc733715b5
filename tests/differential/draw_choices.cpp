// See draw_choices.hpp.
#include "draw_choices.hpp"

#include "choices.hpp"

#include "jit/native/target.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace broadloom::differential {
namespace {

constexpr std::array variables{"BROADLOOM_SPLIT",     "BROADLOOM_PATTERNS", "BROADLOOM_LOOP_BYTES",
                               "BROADLOOM_TILE_ROWS", "BROADLOOM_CACHES",   "BROADLOOM_BLOCKS",
                               "BROADLOOM_CACHE"};

// A folder of this process for code that is kept; it goes with it.
const std::string &cache_folder() {
  struct Folder {
    std::string path;
    pid_t owner = getpid();
    Folder() {
      std::string name = (std::filesystem::temp_directory_path() / "choices-XXXXXX").string();
      if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for a cache");
      path = name;
    }
    ~Folder() {
      std::error_code ignored;
      if (getpid() == owner) std::filesystem::remove_all(path, ignored);
    }
  };
  static std::map<pid_t, std::unique_ptr<Folder>> folders; // a job of the fuzzer is a fork
  std::unique_ptr<Folder> &mine = folders[getpid()];
  if (!mine) mine = std::make_unique<Folder>();
  return mine->path;
}

} // namespace

void set_environment(const std::map<std::string, std::string> &values) {
  for (const char *name : variables) {
    const auto at = values.find(name);
    at == values.end() ? unsetenv(name) : setenv(name, at->second.c_str(), 1);
  }
  if (!values.contains("BROADLOOM_CACHE")) setenv("BROADLOOM_CACHE", "0", 1);
}

Choices draw(Random &random, const Open &open) {
  Choices made;
  const auto choose = [&](const char *variable, const char *name,
                          const std::vector<std::string> &values) {
    const std::string &value = random.pick(values);
    if (value.empty()) return;
    made.environment[variable] = value;
    made.names.insert(std::string(name) + " " + value);
  };
  if (open.copies) choose("BROADLOOM_SPLIT", "split", {"0", "0", "256", "1000000000"});
  if (open.lets) choose("BROADLOOM_TILE_ROWS", "tile rows", {"1", "2", "3", "5"});
  if (open.loops) choose("BROADLOOM_LOOP_BYTES", "loop bytes", {"0", "0", "200", "1000000000"});
  if (open.generic) choose("BROADLOOM_PATTERNS", "patterns", {"", "0", "1"});
  if (random.chance(60)) {
    made.options.engine = random.chance(15)   ? Engine::automatic
                          : random.chance(20) ? Engine::tiered
                                              : Engine::jit;
    if (made.options.engine == Engine::tiered) made.earlier_calls = random.pick<int>({0, 1, 2, 9});
    made.names.insert("native code");
    choose("BROADLOOM_CACHES", "caches", {"", "4K,64K", "64K,256K"});
    if (random.chance(40)) {
      made.environment["BROADLOOM_BLOCKS"] = std::to_string(random.below(1000));
      made.names.insert("random blocks");
    }
    if (random.chance(40)) {
      made.options.target = jit::targets_here().front();
      made.names.insert("narrow vectors");
    }
    if (random.chance(30)) {
      made.options.cache_dir = cache_folder();
      made.environment["BROADLOOM_CACHE"] = "1";
      made.names.insert("disk cache");
    } else if (made.options.engine != Engine::tiered) { // code that is counted is made at once
      made.options.profile = Profile::paths;
    }
  }
  made.options.threads = random.pick<int>({1, 2, 3, 7});
  if (made.options.threads > 1) made.names.insert("threads");
  if (random.chance(15)) {
    made.options.debug = random.pick<Debug>({Debug::interpreter, Debug::memory});
    made.names.insert("checked call");
  }
  const auto maybe = [&](bool &choice, const char *name, bool possible, int percent) {
    choice = possible && random.chance(percent);
    if (choice) made.names.insert(name);
  };
  maybe(made.bound, "bound call", true, 30);
  maybe(made.frozen, "frozen", open.parameters, 40);
  maybe(made.overlaps, "outputs over inputs", open.overlaps && !made.frozen, 25);
  maybe(made.scheduled, "schedule", open.schedules, 20);
  if (made.scheduled && open.schedules_lets) made.names.insert("schedule of a let");
  if (open.gradient) {
    made.policy = random.pick<Policy>({Policy::automatic, Policy::recompute});
    if (open.saves && random.chance(50)) made.policy = Policy::save;
    if (open.saves_some && random.chance(40)) {
      made.policy = Policy::save;
      made.memory = random.pick<std::int64_t>({0, 40, 200, 1000, 5000});
    }
    made.names.insert(made.memory                         ? "saved within bytes"
                      : *made.policy == Policy::save      ? "saved"
                      : *made.policy == Policy::recompute ? "recomputed"
                                                          : "computed as it fits");
  }
  return made;
}

std::string told(const Choices &choices) {
  std::string text;
  for (const std::string &name : choices.names) text += (text.empty() ? "" : ", ") + name;
  return text + " (" + std::to_string(choices.options.threads) + " threads)";
}

const std::vector<std::string> &all_choices() {
  static const std::vector<std::string> names{"split 0",
                                              "split 256",
                                              "split 1000000000",
                                              "tile rows 1",
                                              "tile rows 2",
                                              "tile rows 3",
                                              "tile rows 5",
                                              "loop bytes 0",
                                              "loop bytes 200",
                                              "loop bytes 1000000000",
                                              "patterns 0",
                                              "patterns 1",
                                              "native code",
                                              "tiered, interpreted",
                                              "tiered, native",
                                              "caches 4K,64K",
                                              "caches 64K,256K",
                                              "random blocks",
                                              "narrow vectors",
                                              "disk cache",
                                              "threads",
                                              "checked call",
                                              "bound call",
                                              "frozen",
                                              "outputs over inputs",
                                              "schedule",
                                              "schedule of a let",
                                              "saved",
                                              "recomputed",
                                              "computed as it fits"};
  return names;
}

} // namespace broadloom::differential
