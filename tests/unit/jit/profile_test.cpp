// Profilers and debuggers: what is written for them, and under which names.
#include "jit/engine/engine.hpp"
#include "jit/native/profile.hpp"
#include "tests/unit/loop_programs.hpp"
#include "tests/unit/temp_folder.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h>

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace broadloom::jit {
namespace {

namespace fs = std::filesystem;

const fs::path map_path = "/tmp/perf-" + std::to_string(getpid()) + ".map";

struct Entry { // a line of the map
  std::uint64_t address = 0, size = 0;
  std::string name;
};

std::vector<Entry> read_map() {
  std::ifstream file(map_path);
  std::vector<Entry> entries;
  Entry entry;
  while (file >> std::hex >> entry.address >> entry.size >> entry.name) entries.push_back(entry);
  return entries;
}

std::shared_ptr<const Code> row_sums_for(Profile profile) {
  return compile_native(loop::test::row_sums(), find_target(""), profile);
}

// The object files that a debugger would find now, the last one that was put there first.
std::vector<std::string_view> gdb_files() {
  const auto *list =
      static_cast<const jit_descriptor *>(dlsym(RTLD_DEFAULT, "__jit_debug_descriptor"));
  REQUIRE(list != nullptr);
  std::vector<std::string_view> files;
  for (const jit_code_entry *entry = list->first_entry; entry != nullptr; entry = entry->next_entry)
    files.emplace_back(entry->symfile_addr, entry->symfile_size);
  return files;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE("words name the tools that want to know of code, and wrong words are told apart") {
  std::vector<std::string> unknown;
  CHECK(parse_profile("", unknown) == Profile::none);
  CHECK(parse_profile("gdb", unknown) == Profile::gdb);
  CHECK(parse_profile("perf,,jitdump,", unknown) == (Profile::perf | Profile::jitdump));
  CHECK(unknown.empty());
  CHECK(parse_profile("Perf,gdb,vtune", unknown) == Profile::gdb);
  CHECK(unknown == std::vector<std::string>{"Perf", "vtune"});
}

TEST_CASE("a name for profilers has no character that a line or a command would trip over") {
  CHECK(profile_name("soft_max2", "phase_0", 0x1234567800000abc) ==
        "broadloom.soft_max2.phase_0.00000abc");
  CHECK(profile_name("a b\n../%", "phase_1", 1) == "broadloom.a_b_____.phase_1.00000001");
  CHECK(profile_name(std::string(1000, 'x'), "phase_0", 1).size() < 100);
}

TEST_CASE("the perf map has the address, the size and the name of each function") {
  fs::remove(map_path);
  const auto code = row_sums_for(Profile::perf);
  const std::vector<Entry> entries = read_map();
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].address == reinterpret_cast<std::uint64_t>(code->phases()[0]));
  CHECK(entries[0].size > 0);
  CHECK(entries[0].size <= code->code_bytes());
  CHECK(entries[0].name.rfind("broadloom.rows.phase_0.", 0) == 0);
  CHECK(fs::status(map_path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  fs::remove(map_path);
}

TEST_CASE("lines are added to a perf map of this process, and none are without being asked for") {
  fs::remove(map_path);
  row_sums_for(Profile::none);
  CHECK(!fs::exists(map_path));
  row_sums_for(Profile::perf);
  row_sums_for(Profile::perf);
  CHECK(read_map().size() == 2);
  fs::remove(map_path);
}

TEST_CASE("a link in the place of the perf map is not followed") {
  const TempFolder folder;
  const fs::path victim = folder / "victim";
  std::ofstream(victim) << "precious\n";
  fs::remove(map_path);
  fs::create_symlink(victim, map_path);
  const auto code = row_sums_for(Profile::perf);
  CHECK(code->phases().size() == 1); // the kernel is fine all the same
  CHECK(fs::file_size(victim) == 9);
  fs::remove(map_path);
  fs::create_hard_link(victim, map_path);
  row_sums_for(Profile::perf);
  CHECK(fs::file_size(victim) == 9);
  fs::remove(map_path);
}

TEST_CASE("a perf map that an earlier process of this number left is begun anew") {
  fs::remove(map_path);
  std::ofstream(map_path) << "10 10 of_long_ago\n";
  timespec times[2] = {{1000000000, 0}, {1000000000, 0}};
  REQUIRE(utimensat(AT_FDCWD, map_path.c_str(), times, 0) == 0);
  row_sums_for(Profile::perf);
  const std::vector<Entry> entries = read_map();
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].name.rfind("broadloom.rows.", 0) == 0);
  fs::remove(map_path);
}

TEST_CASE("the jitdump file has a header, and a record with the name and the code") {
  const TempFolder folder;
  setenv("JITDUMPDIR", folder.path.c_str(), 1);
  const auto code = row_sums_for(Profile::jitdump);
  unsetenv("JITDUMPDIR");
  std::string bytes;
  for (const auto &entry : fs::recursive_directory_iterator(folder.path))
    if (entry.path().filename() == "jit-" + std::to_string(getpid()) + ".dump") {
      std::ifstream file(entry.path(), std::ios::binary);
      bytes.assign(std::istreambuf_iterator<char>(file), {});
    }
  const auto number = [&](std::size_t at, auto value) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return std::uint64_t(value);
  };
  REQUIRE(bytes.size() > 40 + 56);
  CHECK(number(0, std::uint32_t{}) == 0x4A695444);
  CHECK(number(32, std::uint64_t{}) == 0); // flags
  CHECK(number(40 + 4, std::uint32_t{}) == bytes.size() - 40);
  CHECK(number(40 + 24, std::uint64_t{}) == reinterpret_cast<std::uint64_t>(code->phases()[0]));
  CHECK(contains(bytes, "broadloom.rows.phase_0."));
  const std::uint64_t size = number(40 + 40, std::uint64_t{});
  CHECK(std::memcmp(bytes.data() + bytes.size() - size,
                    reinterpret_cast<const char *>(code->phases()[0]), size) == 0);
}

TEST_CASE("a debugger finds an object file with the kernel's name as long as the code lives") {
  const std::size_t before = gdb_files().size();
  {
    const auto first = row_sums_for(Profile::gdb), second = row_sums_for(Profile::gdb);
    REQUIRE(gdb_files().size() == before + 2);
    CHECK(contains(gdb_files().front(), "broadloom.rows.phase_0."));
    CHECK(gdb_files().front().starts_with("\177ELF"));
  }
  CHECK(gdb_files().size() == before);
}

TEST_CASE("Options::profile reaches the code, under the name of the kernel that it belongs to") {
  fs::remove(map_path);
  for (const char *name : {"first", "second"}) {
    const Kernel kernel =
        compile(parse("kernel " + std::string(name) + " { in x : f32[i]; out y = x * 3.25 + 1.5 }"),
                Options{.profile = Profile::perf});
    std::vector<float> x(8, 1);
    kernel({{"x", View<const float>(x.data(), {8})}});
  }
  std::string names;
  for (const Entry &entry : read_map()) names += entry.name + "\n";
  CHECK(contains(names, "broadloom.first.phase_0."));
  CHECK(contains(names, "broadloom.second.phase_0.")); // though the programs are equal
  fs::remove(map_path);
}

TEST_CASE("code for profilers has the bits of other code") {
  const LoopSpec spec = parse("kernel k { in x : f32[i, j]; out y = lgamma(x) / sum(exp(x), j) }");
  std::vector<float> x;
  for (int k = 0; k < 300; ++k) x.push_back(float(k % 37) * 0.21f - 3.1f);
  const View<const float> xv(x.data(), {6, 50});
  const Array plain = compile(spec)({{"x", xv}})["y"];
  const Array known = compile(spec, Options{.profile = Profile::gdb})({{"x", xv}})["y"];
  CHECK(std::memcmp(plain.raw(), known.raw(), x.size() * sizeof(float)) == 0);
}

} // namespace
} // namespace broadloom::jit
