// Random kernels through all engines, or with all choices, for as long as one likes: `./dev fuzz
// small|large|choices`.
//
//   fuzz_kernels --style large --count 100000 --seed 1 --jobs 2 --state build/fuzz-large [--resume]
//   fuzz_kernels --file case.loom                                 one case, as it was printed
//
// Each job is a process of its own, so that a crash is a finding like any other: it is noted, and
// the job goes on with the next kernel. The state folder holds how far each job is and what was
// counted; --resume goes on from there. What fails lies in its folder `failures`, as it was found
// and made smaller. The end is a table of how often each path of the emitted code and each decision
// of the planner occurred; with --require-paths one that did not is a failure.
#include "all_floats.hpp"
#include "choices.hpp"
#include "engines.hpp"
#include "same_bits.hpp"
#include "shrink.hpp"

#include "jit/native/target.hpp"
#include "jit/runtime/paths.hpp"

#include <CLI/CLI.hpp>

#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace broadloom::differential {
namespace {

namespace fs = std::filesystem;

struct Job {              // in memory that both processes see
  std::uint64_t next = 0; // kernels done, or begun
  std::uint64_t failed = 0;
};

constexpr int few_draws = 3, many_draws = 20; // of choices

struct Plan {
  Style style = Style::Large;
  std::string style_name = "large";
  std::uint64_t count = 300, seed = 1, stride = 1;
  int jobs = 2;
  fs::path state;
  std::string numpy; // a Python that has it
  bool resume = false, require_paths = false;
  bool stop_at_first = false; // and make nothing smaller

  bool chooses() const { return style_name == "choices"; } // choices.hpp, and not all engines
};

std::string slurp(const fs::path &path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const fs::path &path, const std::string &text) {
  const fs::path unfinished = path.string() + ".part";
  std::ofstream(unfinished) << text;
  fs::rename(unfinished, path);
}

// ---- what was counted, as lines of `word count`

using Counts = std::map<std::string, std::int64_t>;

Counts counts_of(const Tally &tally) {
  Counts counts{{"kernels", tally.kernels},
                {"refused", tally.refused},
                {"elements", tally.points},
                {"equal", tally.equal},
                {"bounded", tally.bounded},
                {"scheduled", tally.scheduled},
                {"in warps", tally.in_warps},
                {"in arenas", tally.in_arenas},
                {"on a device", tally.on_device},
                {"windowed", tally.windowed},
                {"gathered", tally.gathered},
                {"scattered", tally.scattered},
                {"computed", tally.computed},
                {"arrays", tally.arrays},
                {"padded", tally.padded},
                {"joined", tally.joined},
                {"extents", tally.extents},
                {"loops", tally.loops},
                {"placed", tally.placed},
                {"said", tally.said},
                {"said axes", tally.said_axes},
                {"loops that stop", tally.ended},
                {"scheduled lets", tally.scheduled_lets},
                {"inlined", tally.inlined}};
  for (std::size_t p = 0; p < jit::path_count; ++p)
    counts["path " + std::string(name(jit::Path(p)))] = std::int64_t(jit::path_counts()[p]);
  for (const auto &[code, times] : tally.decisions) counts["decision " + code] = times;
  for (const auto &[word, outputs] : tally.numpy) counts["numpy " + word] = outputs;
  return counts;
}

Counts counts_of(const ChoicesTally &tally) {
  Counts counts{
      {"kernels", tally.kernels}, {"refused", tally.refused}, {"gradients", tally.gradients}};
  counts["calls interpreted"] = tally.interpreted;
  for (const auto &[choice, times] : tally.taken) counts["choice " + choice] = times;
  for (const auto &[step, times] : tally.steps) counts["calls with" + step] = times;
  return counts;
}

Counts read_counts(const fs::path &path) {
  Counts counts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (const std::size_t space = line.rfind(' '); space != std::string::npos)
      counts[line.substr(0, space)] = std::stoll(line.substr(space + 1));
  return counts;
}

void add(Counts &to, const Counts &more) {
  for (const auto &[word, times] : more) to[word] += times;
}

std::string text_of(const Counts &counts) {
  std::string text;
  for (const auto &[word, times] : counts) text += word + " " + std::to_string(times) + "\n";
  return text;
}

// ---- one job

Case case_of(const Plan &plan, std::uint64_t seed) {
  return plan.chooses() ? random_choices_case(seed) : random_case(seed, plan.style);
}

void note_failure(const Plan &plan, std::uint64_t seed, const std::string &what) {
  Case c;
  try {
    c = case_of(plan, seed);
  } catch (const std::exception &error) {
    c.story = "seed " + std::to_string(seed) + ": the case cannot be made: " + error.what();
  }
  std::istringstream lines(what);
  std::string first;
  std::getline(lines, first);
  c.story += "\n" + first;
  const fs::path folder = plan.state / "failures";
  fs::create_directories(folder);
  write(folder / (plan.style_name + "-" + std::to_string(seed) + ".loom"), print(c));
  std::cerr << "seed " << seed << ": " << what << std::endl;
}

std::uint64_t seed_of(const Plan &plan, int job, std::uint64_t index) {
  return plan.seed + (std::uint64_t(job) + index * std::uint64_t(plan.jobs)) * plan.stride;
}

std::uint64_t share_of(const Plan &plan, int job) {
  const auto jobs = std::uint64_t(plan.jobs);
  return plan.count / jobs + (std::uint64_t(job) < plan.count % jobs ? 1 : 0);
}

fs::path counts_file(const Plan &plan, int job) {
  return plan.state / ("job-" + std::to_string(job) + ".counts");
}

void save(const Plan &plan, int job, const Counts &before, const Counts &now, const Job &state) {
  Counts counts = before;
  add(counts, now);
  counts["next"] = std::int64_t(state.next);
  counts["failed"] = std::int64_t(state.failed);
  write(counts_file(plan, job), text_of(counts));
}

// A line for each kernel: its seed, a hash of its text, and one of its outputs' bits. Two machines
// that draw the same kernel give the same; where a compiler evaluates arguments in another order,
// another one is drawn.
void note_bits(const Plan &plan, int job, std::uint64_t seed, const Case &c, std::int64_t bits) {
  std::ofstream(plan.state / ("job-" + std::to_string(job) + ".bits"), std::ios::app)
      << seed << ' ' << std::hash<std::string>()(print(c)) << ' ' << bits << '\n';
}

// For one kernel 300 seconds of processor time, whatever else the machine does: then SIGPROF ends
// the process. One that waits for ever is ended by SIGALRM.
void limit_time(bool on) {
  itimerval limit{};
  limit.it_value.tv_sec = on ? 300 : 0;
  setitimer(ITIMER_PROF, &limit, nullptr);
  alarm(on ? 7200 : 0);
}

// Runs in a process of its own until the share is done.
void work(const Plan &plan, int job, Job &state) {
  Counts before = read_counts(counts_file(plan, job));
  before.erase("next");
  before.erase("failed");
  Tally tally;
  ChoicesTally choices;
  const auto now = [&] { return plan.chooses() ? counts_of(choices) : counts_of(tally); };
  while (state.next < share_of(plan, job)) {
    const std::uint64_t seed = seed_of(plan, job, state.next++);
    limit_time(true);
    std::optional<std::string> wrong;
    const std::int64_t bits_before = tally.bits;
    try {
      constexpr std::uint64_t share = 10; // of the kernels, one goes to NumPy
      // Compiling is what a small kernel costs: more kernels, each for one target, find more than
      // few for both.
      const Thoroughness how{.all_threads = seed % 16 == 0,
                             .both_targets = plan.style == Style::Large || seed % 4 == 0,
                             .numpy = seed % share == 0 ? plan.numpy : ""};
      const Case c = case_of(plan, seed);
      wrong =
          plan.chooses() ? find_changed_bit(c, few_draws, choices) : find_mistake(c, how, tally);
      if (!plan.chooses()) note_bits(plan, job, seed, c, tally.bits - bits_before);
    } catch (const std::exception &error) {
      wrong = error.what();
    }
    limit_time(false);
    if (wrong) {
      ++state.failed;
      note_failure(plan, seed, *wrong);
      if (plan.stop_at_first) break;
    }
    if ((tally.kernels + choices.kernels) % 32 == 0) save(plan, job, before, now(), state);
  }
  save(plan, job, before, now(), state);
}

// ---- making failures smaller, each trial in a process of its own

std::optional<std::string> verdict_of(const Case &c, bool chooses) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    alarm(60);
    freopen("/dev/null", "w", stderr);
    Tally tally;
    ChoicesTally choices;
    const std::optional<std::string> wrong =
        chooses ? find_changed_bit(c, many_draws, choices) : find_mistake(c, {}, tally);
    std::string kind;
    // "output o0, element .." of any place is one kind; an error is known by its text up to a
    // number.
    if (wrong)
      kind = wrong->rfind("output", 0) == 0 ? "differs"
                                            : wrong->substr(0, wrong->find_first_of("0123456789'"));
    const char has = wrong ? '1' : '0';
    (void)!::write(ends[1], &has, 1);
    (void)!::write(ends[1], kind.data(), kind.size());
    _exit(0);
  }
  close(ends[1]);
  std::string answer;
  char buffer[512];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    answer.append(buffer, std::size_t(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status))
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "time" : "crash";
  if (answer.empty() || answer[0] == '0') return std::nullopt;
  return answer.substr(1);
}

void shrink_failures(const Plan &plan) {
  const fs::path folder = plan.state / "failures";
  if (!fs::exists(folder)) return;
  int shrunk = 0;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
    const fs::path path = entry.path();
    const fs::path small = path.string().substr(0, path.string().size() - 5) + ".small.loom";
    if (path.extension() != ".loom" || path.stem().extension() == ".small" || fs::exists(small))
      continue;
    if (++shrunk > 20) break;
    try {
      Case c = read_case(slurp(path));
      complete_outputs(c);
      c = shrink(std::move(c),
                 [&](const Case &trial) { return verdict_of(trial, plan.chooses()); });
      write(small, print(c));
      std::cout << "made smaller: " << small.string() << "\n" << print(c) << std::endl;
    } catch (const std::exception &error) {
      std::cerr << path.string() << ": " << error.what() << std::endl;
    }
  }
}

// ---- all jobs

int run_file(const fs::path &path, bool make_smaller, bool chooses) {
  Case c = read_case(slurp(path));
  complete_outputs(c);
  if (make_smaller) {
    std::cout << print(
        shrink(std::move(c), [&](const Case &trial) { return verdict_of(trial, chooses); }));
    return 0;
  }
  Tally tally;
  ChoicesTally choices;
  const std::optional<std::string> wrong = chooses ? find_changed_bit(c, many_draws, choices)
                                                   : find_mistake(c, {.all_threads = true}, tally);
  std::cout << (wrong ? *wrong : chooses ? "no choice changes a bit" : "all engines agree") << "\n";
  return wrong ? 1 : 0;
}

// What the run time does with phases is in no emitted code: the decisions tell of it.
constexpr std::array run_time_paths{"blocks-in-turn",     "pattern-generic", "phases-interleaved",
                                    "rows-computed-once", "shared-if-awake", "work-shared"};

int verdicts(const Plan &plan, Counts &all, std::uint64_t failed,
             const std::vector<std::string> &missing, const std::string &how,
             const std::string &complete) {
  const auto verdict = [](bool good, const std::string &sentence) {
    std::cout << (good ? "ok - " : "not ok - ") << sentence << "\n";
    return good ? 0 : 1;
  };
  int bad = verdict(failed == 0, std::to_string(all["kernels"]) + " " + plan.style_name +
                                     " kernels from seed " + std::to_string(plan.seed) + " " + how +
                                     ", " + std::to_string(failed) + " failed");
  if (plan.require_paths) {
    std::string list;
    // Where no masks are free, as without AVX-512, a partial group is a copy of its own, and the
    // ways of two sums in f64 have no room in registers.
    const bool masks = jit::find_target("").isa->core.masks_free;
    // Few large kernels have loops, lets that are arrays, or, on a device, steps for the host:
    // differential_test.cpp counts these.
    for (const std::string &path : missing)
      if ((masks || (path != "map-masked" && !path.starts_with("fold-tile"))) &&
          path != "loop-ended" && path != "let-in-tiles" && path != "tiles-padded" &&
          path != "step-on-host")
        list += " " + path;
    bad += verdict(list.empty(), complete + (list.empty() ? "" : ", but not" + list) +
                                     (masks ? "" : " (this machine has no masks)"));
  }
  return bad == 0 ? 0 : 1;
}

int report(const Plan &plan, std::uint64_t failed) {
  Counts all;
  for (int job = 0; job < plan.jobs; ++job) add(all, read_counts(counts_file(plan, job)));
  std::vector<std::string> missing;
  for (const auto &[word, times] : all) {
    if (word == "next" || word == "failed") continue;
    std::cout << word << " " << times << "\n";
    if (word.rfind("path ", 0) == 0 && times == 0) missing.push_back(word.substr(5));
  }
  if (plan.chooses()) {
    for (const std::string &choice : all_choices())
      if (all["choice " + choice] == 0) missing.push_back(choice);
    for (const std::string &step : all_steps())
      if (all["calls with" + step] == 0) missing.push_back("an interpreted call with" + step);
    return verdicts(plan, all, failed, missing, "with random choices", "every choice was taken");
  }
  for (const char *code : run_time_paths)
    if (all["decision " + std::string(code)] == 0) missing.emplace_back(code);
  if (all["in warps"] == 0) missing.emplace_back("threads as lanes");
  if (all["on a device"] == 0) missing.emplace_back("devices");
  if (all["windowed"] == 0) missing.emplace_back("windows");
  if (all["gathered"] == 0) missing.emplace_back("gathers");
  if (all["computed"] == 0) missing.emplace_back("positions that are computed");
  if (all["scattered"] == 0) missing.emplace_back("sums through gathers");
  if (all["arrays"] == 0) missing.emplace_back("lets that are arrays");
  if (all["loops"] == 0) missing.emplace_back("lets that read themselves");
  if (all["loops that stop"] == 0) missing.emplace_back("loops that stop");
  if (all["joined"] == 0) missing.emplace_back("joins");
  if (all["placed"] == 0) missing.emplace_back("parts at positions");
  if (all["said"] == 0) missing.emplace_back("extents that are said");
  if (all["said axes"] == 0) missing.emplace_back("extents of axes that are said");
  if (all["extents"] == 0) missing.emplace_back("extents in positions");
  if (all["padded"] == 0) missing.emplace_back("padded windows");
  return verdicts(plan, all, failed, missing, "in all engines", "every path ran");
}

int run(const Plan &plan) {
  if (!plan.resume) fs::remove_all(plan.state);
  fs::create_directories(plan.state);
  const std::string what = plan.style_name + " " + std::to_string(plan.count) + " " +
                           std::to_string(plan.seed) + " " + std::to_string(plan.jobs) + " " +
                           std::to_string(plan.require_paths) + " " + std::to_string(plan.stride) +
                           "\n";
  write(plan.state / "plan", what);
  auto *jobs = static_cast<Job *>(mmap(nullptr, sizeof(Job) * std::size_t(plan.jobs),
                                       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::map<pid_t, int> running;
  const auto start = [&](int job) {
    std::cout << std::flush;
    const pid_t child = fork();
    if (child == 0) {
      work(plan, job, jobs[job]);
      std::_Exit(0);
    }
    running[child] = job;
  };
  for (int job = 0; job < plan.jobs; ++job) {
    Counts known = read_counts(counts_file(plan, job));
    jobs[job].next = std::uint64_t(known["next"]);
    jobs[job].failed = std::uint64_t(known["failed"]);
    start(job);
  }
  while (!running.empty()) {
    int status = 0;
    const pid_t child = wait(&status);
    const auto found = running.find(child);
    if (found == running.end()) continue;
    const int job = found->second;
    running.erase(found);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    const std::string how = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "an exit";
    ++jobs[job].failed;
    note_failure(plan, seed_of(plan, job, jobs[job].next - 1), "the process ended by " + how);
    if (!plan.stop_at_first) start(job);
  }
  std::uint64_t failed = 0;
  for (int job = 0; job < plan.jobs; ++job) failed += jobs[job].failed;
  if (!plan.stop_at_first) shrink_failures(plan);
  return report(plan, failed);
}

// What the state folder was made for.
void read_plan(Plan &plan) {
  std::ifstream file(plan.state / "plan");
  if (!(file >> plan.style_name >> plan.count >> plan.seed >> plan.jobs >> plan.require_paths >>
        plan.stride))
    throw std::runtime_error("there is nothing to go on with in " + plan.state.string());
}

} // namespace
} // namespace broadloom::differential

int main(int argc, char **argv) {
  using namespace broadloom::differential;
  setenv("BROADLOOM_CACHE", "0", 1);
  Plan plan;
  std::string file;
  bool smaller = false;
  std::uint64_t floats = 0;
  CLI::App app{"Random kernels through all engines"};
  app.add_option("--style", plan.style_name)->check(CLI::IsMember({"small", "large", "choices"}));
  app.add_option("--count", plan.count);
  app.add_option("--seed", plan.seed);
  app.add_option("--stride", plan.stride,
                 "from seed to seed; `--seed 4 --stride 6` has windows in all")
      ->check(CLI::PositiveNumber);
  app.add_option("--jobs", plan.jobs)->check(CLI::Range(1, 64));
  app.add_option("--state", plan.state);
  app.add_flag("--resume", plan.resume);
  app.add_flag("--require-paths", plan.require_paths);
  app.add_option("--numpy", plan.numpy, "a Python with NumPy, for a tenth of the kernels");
  app.add_flag("--stop-at-first", plan.stop_at_first);
  app.add_option("--file", file);
  app.add_flag("--shrink", smaller);
  app.add_option("--floats", floats, "functions of so many chunks of all f32, on a device")
      ->check(CLI::Range(std::uint64_t(1), chunks_of_floats));
  CLI11_PARSE(app, argc, argv);
  try {
    if (floats > 0) return compare_floats(device_of_tests(), floats) == 0 ? 0 : 1;
    if (!file.empty()) return run_file(file, smaller, plan.chooses());
    if (plan.state.empty()) plan.state = "fuzz-" + plan.style_name;
    if (plan.resume) read_plan(plan);
    plan.style = plan.style_name == "large" ? Style::Large : Style::Any;
    return run(plan);
  } catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
