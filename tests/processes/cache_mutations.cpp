// Files of the disk cache, changed at random as a broken disk, a full one, or a slip of somebody
// may change them. Whether somebody with a right to the folder forges an entry with its checksum is
// not asked: who may write there may run code.
#include "tests/processes/cache_folder.hpp"
#include "tests/processes/modes.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace broadloom::processes {
namespace {

const char *const texts[] = {
    "kernel k { in x : f64[i, j]; out y = x * 2 + 1 }",
    "kernel k { in x : f64[i, j]; out y = x * 2 + 3 }",
    "kernel k { in x : f64[i, j]; out y = x + 1 }",
    "kernel k { in x : f64[i, j]; out y = exp(x) / sum(exp(x), j) }",
    "kernel k { in x : f64[i, j]; out y = x - mean(x, i); out s = sum(x * x) }",
    "kernel k { in x : f64[i, j]; out y = scan(sum, x, j) }",
    "kernel k { in x : f64[i, j]; out y = lgamma(x) + polygamma(2, x) }", // calls functions outside
    "kernel k { in x : f64[i, j]; out y = where(x > 1, 1 / x, -x) }",
};

using Random = std::minstd_rand;
std::size_t below(Random &random, std::size_t end) { // 0 where there is nothing below
  return end == 0 ? 0 : std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
}

struct Entry {
  std::string text, content;
  fs::path file;
  std::vector<std::string> wanted; // the bytes of each output
};

std::vector<std::string> bytes_of(const Results &results) {
  std::vector<std::string> bytes;
  for (const auto &[name, array] : results)
    bytes.emplace_back(static_cast<const char *>(array.raw()),
                       std::size_t(array.size()) * size_of(array.dtype()));
  return bytes;
}

std::string content_of(const fs::path &file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

enum class Change { Bits, Bytes, Cut, Longer, Swapped, Mixed, Zeros, Sizes, Moved };
constexpr std::array changes{Change::Bits,   Change::Bytes,   Change::Cut,
                             Change::Longer, Change::Swapped, Change::Mixed,
                             Change::Zeros,  Change::Sizes,   Change::Moved};

// Sometimes it changes nothing.
std::string changed(Change change, const std::string &good, const std::string &other,
                    Random &random) {
  std::string bad = good;
  const std::size_t at = below(random, good.size());
  const std::size_t length = below(random, good.size() - at) + 1;
  switch (change) {
  case Change::Bits: bad[at] = char(bad[at] ^ (1 << below(random, 8))); break;
  case Change::Bytes:
    for (std::size_t k = below(random, 16) + 1; k > 0; --k)
      bad[below(random, bad.size())] = char(below(random, 256));
    break;
  case Change::Cut: bad.resize(at); break;
  case Change::Longer:
    for (std::size_t k = below(random, 5000); k > 0; --k) bad += char(below(random, 256));
    break;
  case Change::Swapped: bad = other; break;
  case Change::Mixed: // the beginning of one and the end of the other
    bad = good.substr(0, at) + (other.size() > at ? other.substr(at) : "");
    break;
  case Change::Zeros: std::fill_n(bad.begin() + long(at), length, '\0'); break; // lost blocks
  case Change::Sizes: { // of the three parts, behind the eight bytes of the form's name
    static constexpr std::uint32_t values[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff};
    const std::uint32_t value = values[below(random, std::size(values))];
    std::memcpy(bad.data() + 8 + 4 * below(random, 3), &value, sizeof value);
    break;
  }
  case Change::Moved: std::rotate(bad.begin(), bad.begin() + long(at), bad.end()); break;
  }
  return bad;
}

} // namespace

int cache_mutations(int count) {
  const CacheFolder folder;
  Array x(f64, {5, 37});
  for (std::int64_t k = 0; k < x.size(); ++k) x.data<double>()[k] = 0.25 + double(k % 50) / 7;
  int alike = 0, missed = 0, taken = 0, wrong = 0, not_kept = 0;
  std::vector<Entry> entries;
  for (const char *text : texts) {
    folder.remove_entries();
    const Results wanted = compile(parse(text), {.engine = Engine::interpreter})({{"x", x}});
    const Kernel made = folder.compiled(text);
    wrong += bytes_of(made({{"x", x}})) != bytes_of(wanted);
    const std::vector<fs::path> files = folder.entries();
    if (files.size() != 1) return std::printf("'%s' is not kept\n", text), 1;
    entries.push_back({text, content_of(files[0]), files[0], bytes_of(wanted)});
  }
  Random random(1);
  for (int k = 0; k < count; ++k) {
    const Entry &entry = entries[std::size_t(k) % entries.size()];
    const Entry &other = entries[below(random, entries.size())];
    const std::string bad =
        changed(changes[below(random, changes.size())], entry.content, other.content, random);
    std::ofstream(entry.file, std::ios::binary) << bad;
    const Kernel kernel = folder.compiled(entry.text);
    wrong += bytes_of(kernel({{"x", x}})) != entry.wanted || kernel.engine() != Engine::jit;
    const bool is_loaded = kernel.counters().loaded > 0, is_good = bad == entry.content;
    alike += is_good;
    missed += is_good && !is_loaded;
    taken += !is_good && is_loaded;
    not_kept += content_of(entry.file) != entry.content;
  }
  std::printf("%d changes, %d of them none: %d taken as good, %d good ones not taken, %d wrong "
              "results, %d not kept anew\n",
              count, alike, taken, missed, wrong, not_kept);
  return taken + missed + wrong + not_kept > 0;
}

} // namespace broadloom::processes
