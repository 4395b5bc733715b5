// See failure.hpp.
#include "jit/nest/failure.hpp"

#include "jit/nest/about.hpp"
#include "jit/nest/show_plan.hpp"
#include "support/check.hpp"
#include "support/log.hpp"
#include "support/own_folder.hpp"

#include <broadloom/version.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

namespace broadloom::jit {
namespace {

namespace fs = std::filesystem;

constexpr int most_reports = 50; // in a folder
constexpr std::size_t longest_report = 16 << 20;

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string one_line(std::string text) {
  for (char &c : text)
    if (c == '\n') c = ' ';
  return text;
}

std::string report_of(const Setup &setup, const InternalError &error, const std::string &instead,
                      const kernel::Layouts &layouts) {
  const About made = about();
  std::string text = fmt::format("{}\n{}\n\nversion\n  Broadloom {}, LLVM {}, oneTBB {}, {}\n  {}, "
                                 "native code for {}\n\nkernel\n{}\nlayouts\n",
                                 error.message(), instead, BROADLOOM_VERSION, made.llvm,
                                 made.onetbb, made.compiler, made.cpu,
                                 made.level.empty() ? "nothing" : made.level, print(setup.spec));
  const spec::TypedSpec &spec = setup.typed;
  for (std::size_t i = 0; i < layouts.inputs.size(); ++i)
    text += operand_line("in ", spec.inputs[i].name, spec.inputs[i].dtype, layouts.inputs[i]);
  for (std::size_t o = 0; o < layouts.outputs.size(); ++o)
    text += layouts.wanted[o] ? operand_line("out", spec.outputs[o].name, spec.outputs[o].dtype,
                                             layouts.outputs[o])
                              : fmt::format("  out {} is not wanted\n", spec.outputs[o].name);
  text += fmt::format(
      "\noptions\n  threads {}\n  target {}\n  profile {}\n  {}\n\nprinted\n{}", setup.threads,
      setup.target ? std::string(setup.target->isa->name) + " (" + setup.target->cpu + ")" : "none",
      unsigned(setup.profile), setup.options.cancel ? "can be cancelled" : "cannot be cancelled",
      error.ir());
  if (text.size() > longest_report) text = text.substr(0, longest_report) + "\n(cut off here)\n";
  return text;
}

// FNV-1a: the same report has the same name in each process.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ std::uint8_t(c)) * 0x100000001b3;
  return hash;
}

// Folders that may take reports, the best first.
std::vector<fs::path> folders() {
  std::vector<fs::path> found;
  std::string state = variable("XDG_STATE_HOME");
  if (const std::string home = variable("HOME"); !state.starts_with('/') && home.starts_with('/'))
    state = home + "/.local/state";
  if (state.starts_with('/') && support::may_make_below(state))
    found.push_back(fs::path(state) / "broadloom");
  const std::string temporary = variable("TMPDIR");
  found.push_back(fs::path(temporary.starts_with('/') ? temporary : "/tmp") /
                  fmt::format("broadloom-{}", getuid()));
  return found;
}

// Makes the folder, of which nobody else may be the owner: those in /tmp have names that can be
// guessed.
bool is_ours(const fs::path &folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  mkdir(folder.c_str(), 0700);
  struct stat status{};
  return lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid() && access(folder.c_str(), W_OK) == 0;
}

bool is_full(const fs::path &folder) {
  std::error_code error;
  int reports = 0;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    reports += entry->path().extension() == ".txt";
  return reports >= most_reports;
}

// Written beside its place first, so that nobody sees half of it; a link never overwrites.
bool write(const fs::path &path, std::string_view text) {
  std::string draft = (path.parent_path() / ".report-XXXXXX").string();
  const int file = mkstemp(draft.data());
  if (file < 0) return false;
  bool good = true;
  while (good && !text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    good = written > 0;
    if (good) text.remove_prefix(std::size_t(written));
  }
  good = close(file) == 0 && good;
  good = good && (link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
  unlink(draft.c_str());
  return good;
}

// What the line of the log says of the report.
std::string write_report(const std::string &kernel, const std::string &text) {
  const std::string name = fmt::format("{}-{:016x}.txt", kernel, hash_of(text));
  std::string full;
  for (const fs::path &folder : folders()) {
    if (!is_ours(folder)) continue;
    const fs::path path = folder / name;
    std::error_code error;
    if (fs::exists(path, error)) return "report: " + path.string();
    if (is_full(folder)) return "no report: " + folder.string() + " is full of them";
    if (write(path, text)) return "report: " + path.string();
  }
  return "no report: there is no folder to write it to";
}

std::string_view name_of(Fault fault) {
  switch (fault) {
  case Fault::Plan: return "plan";
  case Fault::ParallelPlan: return "parallel-plan";
  case Fault::Emit: return "emit";
  case Fault::Interpret: return "interpret";
  case Fault::WrongPlan: return "wrong-plan";
  case Fault::WrongCode: return "wrong-code";
  case Fault::WriteBefore: return "write-before";
  }
  return {};
}

} // namespace

bool may_fall_back(const Setup &setup) {
  if (!setup.may_stand_in()) return false;
  const std::string value = variable("BROADLOOM_STRICT");
  return value.empty() || value == "0";
}

void with_ir(const std::function<void()> &work, const std::function<std::string()> &ir) {
  try {
    work();
  } catch (const InternalError &error) {
    if (!error.ir().empty()) throw;
    throw InternalError(error.message(), ir());
  } catch (const Error &) {
    throw;
  } catch (const std::bad_alloc &) {
    throw;
  } catch (const std::system_error &) { // a thread or a file that could not be had
    throw;
  } catch (const std::exception &error) { // such as std::out_of_range
    throw InternalError(fmt::format("bug in Broadloom: {}", error.what()), ir());
  }
}

void tell(const Setup &setup, const InternalError &error, const std::string &instead,
          const kernel::Layouts &layouts) {
  std::string report;
  try {
    report = write_report(setup.typed.name, report_of(setup, error, instead, layouts));
  } catch (const std::exception &error) { // such as memory that cannot be had
    report = fmt::format("no report: {}", error.what());
  }
  support::log().warn("kernel '{}' {}: {}; {}", setup.typed.name, instead,
                      one_line(error.message()), one_line(report));
}

bool is_asked(Fault fault) {
  if (std::getenv("BROADLOOM_FAULT") == nullptr) return false;
  const std::string asked = "," + variable("BROADLOOM_FAULT") + ",";
  return asked.find(fmt::format(",{},", name_of(fault))) != asked.npos;
}

void fail_if_asked(Fault fault) {
  if (is_asked(fault))
    support::bug(fmt::format("BROADLOOM_FAULT asks for a failure of '{}'", name_of(fault)));
}

loop::Program made_wrong(loop::Program program) {
  for (loop::Value &value : program.values)
    if (value.kind == loop::ValueKind::Op && value.op == ops::Op::Add) value.op = ops::Op::Sub;
  return program;
}

} // namespace broadloom::jit
