// See numpy_check.hpp.
#include "numpy_check.hpp"

#include "tests/places.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace broadloom::differential {
namespace {

namespace fs = std::filesystem;

class Folder {
public:
  Folder() : path_(fs::temp_directory_path() / ("broadloom-numpy-" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  const fs::path &path() const { return path_; }

private:
  fs::path path_;
};

void save(const fs::path &path, const AnyView &view) {
  save_npy(path, Array(nullptr, view.dtype, view.data, view.layout));
}

} // namespace

NumpyVerdict hold_against_numpy(const std::string &python, const std::string &text,
                                std::span<const NamedView> arrays,
                                std::span<const NamedView> before) {
  const Folder folder;
  std::ofstream(folder.path() / "kernel.loom") << text;
  for (const NamedView &array : arrays)
    save(folder.path() / (std::string(array.name) + ".npy"), array.view);
  for (const NamedView &array : before)
    save(folder.path() / (std::string(array.name) + ".before.npy"), array.view);
  const std::string command = "'" + python +
                              "' '" BROADLOOM_SOURCE_DIR "/tests/numpy/spec_to_numpy.py' '" +
                              folder.path().string() + "' 2>&1";
  FILE *pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string said;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) said.append(buffer, n);
  const int status = pclose(pipe);
  NumpyVerdict verdict;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);)
    if (line.find("refused: ") != std::string::npos)
      ++verdict.refused;
    else if (line.find(": ") != std::string::npos)
      ++verdict.right;
  constexpr int all_right = 0, all_refused = 3;
  const int exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (exit != all_right && exit != all_refused) verdict.wrong = said.empty() ? "no answer" : said;
  return verdict;
}

} // namespace broadloom::differential
