// See code_beside.hpp.
#include "jit/nest/code_beside.hpp"

#include "jit/native/on_threads.hpp"
#include "support/end.hpp"
#include "support/log.hpp"

#include <deque>
#include <exception>
#include <mutex>

namespace broadloom::jit {
namespace {

constexpr std::size_t most_waiting = 64; // the calls of the rest go on being interpreted

std::shared_ptr<const Pattern> pattern_of(loop::Program program) {
  auto pattern = std::make_shared<Pattern>();
  pattern->program = std::move(program);
  pattern->no_code = "calls that it does soon begin there, until code is made (Engine::tiered)";
  return pattern;
}

} // namespace

// The thread, and what waits for it. Never destroyed.
class CodeMaker {
public:
  static CodeMaker &instance() {
    static CodeMaker &maker = *new CodeMaker;
    return maker;
  }

  enum class Answer { WillBeMade, AskAgain, Cannot };
  Answer add(std::shared_ptr<CodeBeside> code) {
    const std::lock_guard lock(mutex_);
    if (support::end_has_begun()) return Answer::Cannot;
    if (waiting_.size() >= most_waiting) return Answer::AskAgain;
    waiting_.push_back(std::move(code));
    if (runs_) return Answer::WillBeMade;
    Beside thread([this] { run(); });
    runs_ = thread.runs();
    if (!runs_) waiting_.clear();
    thread.leave();
    return runs_ ? Answer::WillBeMade : Answer::Cannot;
  }

private:
  void run() {
    while (const std::shared_ptr<CodeBeside> code = next()) code->make();
  }

  std::shared_ptr<CodeBeside> next() {
    const std::lock_guard lock(mutex_);
    runs_ = !waiting_.empty();
    if (!runs_) return nullptr;
    std::shared_ptr<CodeBeside> code = std::move(waiting_.front());
    waiting_.pop_front();
    return code;
  }

  support::Mutex mutex_; // guards all below
  std::deque<std::shared_ptr<CodeBeside>> waiting_;
  bool runs_ = false;
};

CodeBeside::CodeBeside(const Setup &setup, loop::Program program, std::string key)
    : made_for_(setup), kernel_(setup.typed.name), key_(std::move(key)),
      pattern_(pattern_of(std::move(program))) {}

bool CodeBeside::is_due() {
  if (!has_run_.load(std::memory_order_relaxed)) return false;
  State state = idle;
  if (!state_.compare_exchange_strong(state, waiting)) return state == made || state == taken;
  const support::Undivided here; // and so is the thread beside
  const CodeMaker::Answer answer = may_go_beside(made_for_.threads) && !support::is_torn()
                                       ? CodeMaker::instance().add(shared_from_this())
                                       : CodeMaker::Answer::Cannot;
  if (answer == CodeMaker::Answer::WillBeMade) return false;
  const bool cannot = answer == CodeMaker::Answer::Cannot;
  state = waiting; // unless it was taken meanwhile
  state_.compare_exchange_strong(state, cannot ? made : idle);
  return cannot;
}

std::optional<FoundCode> CodeBeside::take() {
  for (State state = state_.load();;) {
    if (state == taken || support::is_torn()) return std::nullopt;
    if (state == being_made) {
      state_.wait(being_made);
      state = state_.load();
    } else if (state_.compare_exchange_weak(state, taken)) {
      return std::move(found_);
    }
  }
}

void CodeBeside::make() {
  State state = waiting;
  if (!state_.compare_exchange_strong(state, being_made)) return;
  try {
    if (const support::BeforeEnd here; here)
      found_ = find_code(made_for_, kernel_, pattern_->program, key_);
  } catch (const std::exception &error) { // the next call tries itself, and says why it cannot
    support::log().debug("no code of '{}' beside its calls: {}", kernel_, error.what());
  }
  state_.store(made);
  state_.notify_all();
}

} // namespace broadloom::jit
