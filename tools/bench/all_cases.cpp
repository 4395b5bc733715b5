// See session.hpp.
#include "bench/all_cases.hpp"

#include "jit/runtime/machine.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace bench {
namespace {

namespace fs = std::filesystem;

std::string contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open())
    throw std::runtime_error(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  return {std::istreambuf_iterator<char>(file), {}};
}

// Under another name first, so that nobody sees half a file.
void write_whole(const std::string &path, const std::string &text) {
  const std::string pending = fmt::format("{}.{}.tmp", path, getpid());
  std::ofstream file(pending, std::ios::binary);
  file << text;
  file.close();
  std::error_code error;
  if (!file.fail()) fs::rename(pending, path, error);
  if (file.fail() || error) {
    std::error_code ignored; // the file may never have been there
    fs::remove(pending, ignored);
    throw std::runtime_error(fmt::format("cannot write '{}'", path));
  }
}

std::string machine_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown machine";
}

// Memory where there is such a folder: the arrays of a case go to the peers through it.
fs::path make_data_folder() {
  const fs::path parent = fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
  std::string name = (parent / "broadloom-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    throw std::runtime_error(fmt::format("cannot make a folder in {}", parent.string()));
  return name;
}

} // namespace

bool matches(const std::string &id, const std::string &filter) {
  if (filter.empty()) return true;
  std::string_view rest = filter;
  for (;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    if (!word.empty() && id.starts_with(word) &&
        (id.size() == word.size() || id[word.size()] == '-'))
      return true;
    if (comma == rest.npos) return false;
    rest.remove_prefix(comma + 1);
  }
}

Session::Session(SessionOptions options) : options_(std::move(options)) {
  const std::string table = options_.cases_folder + "/cases.txt";
  cases_ = parse_table(contents(table), table);
  if (!options_.from.empty()) run_ = read_json(contents(options_.from), options_.from);
  if (!options_.keep.empty()) run_ = read_json(contents(options_.keep), options_.keep);
  // A mistake in the options is better found now than after minutes.
  if (!options_.compare.empty()) read_json(contents(options_.compare), options_.compare);
  if (!options_.markdown.empty()) with_table(contents(options_.markdown), "");
  for (const std::string &file : {options_.json, options_.html}) {
    if (file.empty()) continue;
    if (const fs::path folder = fs::absolute(file).parent_path(); !fs::is_directory(folder))
      throw std::runtime_error(
          fmt::format("cannot write '{}': there is no folder '{}'", file, folder.string()));
  }
}

Session::~Session() {
  std::error_code ignored; // what is left lies in a folder for temporary files
  if (!data_folder_.empty()) fs::remove_all(data_folder_, ignored);
}

std::vector<const Case *> Session::selected() const {
  std::vector<const Case *> result;
  for (const Case &c : cases_)
    if (matches(c.id, options_.filter) && !(options_.brief && c.id == "N-64M"))
      result.push_back(&c);
  if (result.empty())
    throw std::runtime_error(
        fmt::format("no case matches '{}'; --list prints them all", options_.filter));
  return result;
}

void Session::start() {
  run_.date = fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(std::time(nullptr)));
  double load = 0; // of others: it tells how much the run is worth
  if (getloadavg(&load, 1) != 1) load = -1;
  run_.machine = fmt::format("{}, load average {:.1f} at the start", machine_name(), load);
  run_.threads = broadloom::jit::runtime::default_threads();
  probe_ = std::make_unique<Probe>();
  run_.probe = probe_->table();
  data_folder_ = make_data_folder();
  start_peers();
}

void Session::start_peers() {
  run_.peers.clear();
  run_.missing.clear();
  if (options_.python.empty()) {
    std::fputs("SKIPPED: peers from Python; ./dev bench --peers runs with them\n", stderr);
    run_.missing.push_back("all peers from Python: run without --python");
    return;
  }
  const std::string driver = options_.cases_folder + "/../peers/driver.py";
  try {
    peers_ = std::make_unique<Peers>(std::vector<std::string>{options_.python, driver});
    run_.peers = peers_->versions();
    run_.missing = peers_->missing();
  } catch (const PeerError &error) {
    run_.missing.push_back(fmt::format("all peers from Python: {}", error.what()));
  }
  for (const std::string &missing : run_.missing)
    std::fprintf(stderr, "SKIPPED: %s\n", missing.c_str());
}

const Row &Session::run(const Case &c) {
  if (probe_ == nullptr) start();
  Bench bench{options_.cases_folder, data_folder_.string(), probe_.get(), peers_.get(), {}};
  if (options_.brief) bench.limits = {1, 3, 15};
  if (options_.seconds > 0) bench.limits.seconds = options_.seconds;
  bench.threads = options_.threads;
  std::erase_if(run_.rows, [&](const Row &row) { return row.id == c.id; });
  try {
    run_.rows.push_back(run_case(c, bench));
  } catch (const PeerError &error) {
    // The case goes on without them, and the following ones get a new process.
    std::fprintf(stderr, "FAILED: peers in case %s: %s\n", c.id.c_str(), error.what());
    peers_.reset();
    bench.peers = nullptr;
    run_.rows.push_back(run_case(c, bench));
    PeerRow lost;
    lost.name = "peers from Python";
    lost.status = PeerRow::Status::Failed;
    lost.note = error.what();
    run_.rows.back().peers.push_back(lost);
    start_peers();
  }
  return run_.rows.back();
}

void Session::finish() {
  const auto place = [&](const Row &row) {
    return std::find_if(cases_.begin(), cases_.end(),
                        [&](const Case &c) { return c.id == row.id; });
  };
  std::sort(run_.rows.begin(), run_.rows.end(),
            [&](const Row &a, const Row &b) { return place(a) < place(b); });
  std::fputs(text_of_predictions(run_).c_str(), stdout);
  if (!options_.json.empty()) write_whole(options_.json, to_json(run_));
  if (!options_.html.empty()) write_whole(options_.html, to_html(run_));
  if (!options_.markdown.empty())
    write_whole(options_.markdown, with_table(contents(options_.markdown), to_markdown(run_)));
  if (!options_.compare.empty()) {
    const Run before = read_json(contents(options_.compare), options_.compare);
    std::fputs(('\n' + to_text(compare(before, run_))).c_str(), stdout);
  }
}

} // namespace bench
