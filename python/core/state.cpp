// What a kernel of Python knows beside the kernel itself.
#include "call.hpp"

#include <algorithm>
#include <map>

namespace broadloom::python {
namespace {

constexpr std::size_t memos_kept = 8;

Engine engine_from(const std::string &word) {
  if (word == "auto") return Engine::automatic;
  if (word == "jit") return Engine::jit;
  if (word == "interpreter") return Engine::interpreter;
  if (word == "reference") return Engine::reference;
  if (word == "tiered") return Engine::tiered;
  const std::vector<std::string> engines = {"auto", "jit", "interpreter", "reference", "tiered"};
  throw ArgumentError("E0401", "there is no engine '" + word + "'", {},
                      suggestion(word, engines) + "the engines are " + quoted_list(engines));
}

Debug debug_from(const std::vector<std::string> &words) {
  static const std::vector<std::string> known = {"interpreter", "reference", "nan",
                                                 "infinity",    "memory",    "all"};
  static constexpr Debug checks[] = {Debug::interpreter, Debug::reference, Debug::nan,
                                     Debug::infinity,    Debug::memory,    Debug::all};
  Debug debug = Debug::none;
  for (const std::string &word : words) {
    const auto found = std::ranges::find(known, word);
    if (found == known.end())
      throw ArgumentError("E0401", "there is no check of calls called '" + word + "'", {},
                          suggestion(word, known) + "debug=True checks all, the others are " +
                              quoted_list(known));
    debug = debug | checks[found - known.begin()];
  }
  return debug;
}

Options options_from(const Choices &choices, std::shared_ptr<const std::atomic<bool>> cancel) {
  if (choices.threads < 0)
    throw ArgumentError("E0401", "threads is " + std::to_string(choices.threads), {},
                        "0 takes as many as the machine gives");
  Options options;
  options.threads = choices.threads;
  options.target = choices.target;
  options.device = choices.device;
  options.engine = engine_from(choices.engine);
  options.debug = debug_from(choices.debug);
  options.cancel = std::move(cancel);
  return options;
}

Kernel compiled(const LoopSpec &spec, const Options &options) {
  const Unlocked others_run;
  return compile(spec, options);
}

nb::tuple interned(const std::vector<Slot> &slots) {
  const nb::object names = nb::steal(PyTuple_New(Py_ssize_t(slots.size())));
  if (!names.is_valid()) throw nb::python_error();
  for (std::size_t k = 0; k < slots.size(); ++k) {
    PyObject *word = PyUnicode_InternFromString(slots[k].name.c_str());
    if (word == nullptr) throw nb::python_error();
    NB_TUPLE_SET_ITEM(names.ptr(), Py_ssize_t(k), word);
  }
  return nb::borrow<nb::tuple>(names);
}

int find(const nb::tuple &names, PyObject *word) {
  const Py_ssize_t count = NB_TUPLE_GET_SIZE(names.ptr());
  for (Py_ssize_t k = 0; k < count; ++k)
    if (NB_TUPLE_GET_ITEM(names.ptr(), k) == word) return int(k);
  if (PyUnicode_Check(word))
    for (Py_ssize_t k = 0; k < count; ++k)
      if (PyUnicode_Compare(NB_TUPLE_GET_ITEM(names.ptr(), k), word) == 0) return int(k);
  return -1;
}

// The public interface tells a kernel's name in its text only, where its line is the last one that
// begins so.
std::string name_in(const std::string &text) {
  const std::string before = "kernel ";
  const std::size_t line = text.rfind("\n" + before);
  const std::size_t begin = (line == std::string::npos ? 0 : line + 1) + before.size();
  return text.substr(begin, text.find(' ', begin) - begin);
}

} // namespace

State::State(const LoopSpec &spec, const Choices &how)
    : State(spec, how, std::make_shared<std::atomic<bool>>(false), {}) {}

State::State(const LoopSpec &spec, const Choices &how, std::shared_ptr<std::atomic<bool>> cancel,
             Kernel kernel)
    : choices(how), spec_(spec), cancel_(std::move(cancel)),
      kernel_(kernel ? std::move(kernel) : compiled(spec, options_from(how, cancel_))) {
  std::map<std::string, int> axes;
  for (const InputInfo &input : kernel_.inputs()) {
    inputs.push_back({input.name, input.dtype, input.rank(), false, how.device});
    std::vector<int> &dims = axes_.emplace_back();
    for (const std::string &axis : input.axes)
      dims.push_back(axes.emplace(axis, int(axes.size())).first->second);
  }
  for (const OutputInfo &output : kernel_.outputs()) {
    outputs.push_back({output.name, output.dtype, output.rank(), true, how.device});
    adds.push_back(output.add);
  }
  text = print(kernel_.spec());
  name = name_in(text);
  axis_count_ = int(axes.size());
  defaults_to_one.assign(inputs.size(), false);
  input_names = interned(inputs);
  output_names = interned(outputs);
}

std::optional<Kernel> State::other() const {
  const nb::ft_lock_guard lock(mutex_);
  return other_;
}

Counters State::counters() const {
  Counters all = kernel_.counters();
  if (const std::optional<Kernel> kernel = other()) {
    const Counters more = kernel->counters();
    all.compiles += more.compiles;
    all.patterns += more.patterns;
    all.interpreted += more.interpreted;
    all.compile_ms += more.compile_ms;
  }
  return all;
}

const Kernel &State::kernel_here() {
  if (is_main_thread()) return kernel_;
  if (!other()) {
    const Options options = options_from(choices, nullptr);
    Kernel made = [&] {
      const Unlocked others_run;
      const Kernel whole = compile(spec_, options).with_threads(choices.most_threads);
      return frozen.empty() ? whole : whole.freeze(views_of(frozen));
    }();
    const nb::ft_lock_guard lock(mutex_);
    if (!other_) other_.emplace(std::move(made)); // another thread may have come first
  }
  return *other_;
}

BlockKernel State::blocks_here() {
  const bool is_main = is_main_thread();
  std::optional<BlockKernel> &known = is_main ? blocks_ : other_blocks_;
  {
    const nb::ft_lock_guard lock(mutex_);
    if (known) return *known;
  }
  Options options = options_from(choices, is_main ? cancel_ : nullptr);
  if (choices.most_threads > 0) options.threads = choices.most_threads;
  BlockKernel made = [&] {
    const Unlocked others_run;
    return BlockKernel(spec_, options);
  }();
  const nb::ft_lock_guard lock(mutex_);
  if (!known) known.emplace(std::move(made)); // another thread may have come first
  return *known;
}

template <class Made> Made State::made_once(std::optional<Made> &known) {
  {
    const nb::ft_lock_guard lock(mutex_);
    if (known) return *known;
  }
  const Options options = options_from(choices, nullptr);
  Made made = [&] {
    const Unlocked others_run;
    return Made(spec_, options);
  }();
  const nb::ft_lock_guard lock(mutex_);
  if (!known) known.emplace(std::move(made));
  return *known;
}

Stages State::stages() { return made_once(stages_); }
Halos State::halos() { return made_once(halos_); }

BoundCall State::bound_here(BoundObject &bound) {
  if (is_main_thread()) return *bound.bound;
  {
    const nb::ft_lock_guard lock(mutex_);
    if (bound.other) return *bound.other;
  }
  BoundCall made = kernel_here().bind(bound.inputs, bound.outputs);
  const nb::ft_lock_guard lock(mutex_);
  if (!bound.other) bound.other.emplace(std::move(made));
  return *bound.other;
}

std::shared_ptr<State> State::changed(const Choices &how, const Change &change) {
  // Else each change that other threads make would compile.
  if (!is_main_thread()) kernel_here();
  const std::optional<Kernel> other = this->other(); // may be set meanwhile
  std::optional<Kernel> mine, theirs;
  run(*this, unknown_points, [&] {
    mine = change(kernel_);
    if (other) theirs = change(*other);
  });
  std::shared_ptr<State> made(new State(spec_, how, cancel_, std::move(*mine)));
  made->other_ = std::move(theirs);
  std::vector<std::string> ones;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (defaults_to_one[i]) ones.push_back(inputs[i].name);
  made->default_to_one(ones);
  return made;
}

void State::default_to_one(const std::vector<std::string> &names) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (std::ranges::find(names, inputs[i].name) != names.end()) defaults_to_one[i] = true;
}

bool State::same_layouts(const Memo &memo, const AnyView *views) const {
  const std::int64_t *key = memo.key.data();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Layout &layout = views[i].layout;
    for (int d = 0; d < layout.rank; ++d) {
      if (key[0] != layout.extents[std::size_t(d)] || key[1] != layout.strides[std::size_t(d)])
        return false;
      key += 2;
    }
  }
  return true;
}

double State::points(const AnyView *views) const {
  if (!choices.debug.empty()) return unknown_points; // some hundred times as long
  std::vector<std::int64_t> extents(std::size_t(axis_count_), 1);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (std::size_t d = 0; d < axes_[i].size(); ++d) {
      std::int64_t &extent = extents[std::size_t(axes_[i][d])];
      extent = std::max(extent, views[i].layout.extents[d]);
    }
  double product = 1;
  for (const std::int64_t extent : extents) product *= double(extent);
  return product;
}

MemoPtr State::memo(const AnyView *views) {
  // Keys have the length that the declared ranks give, which the views must have.
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (views[i].layout.rank != inputs[i].rank) [[unlikely]]
      throw ShapeError("E0101",
                       "input '" + inputs[i].name + "' has " + std::to_string(inputs[i].rank) +
                           (inputs[i].rank == 1 ? " dim" : " dims") + ", the array given has " +
                           std::to_string(views[i].layout.rank),
                       kernel_.inputs()[i].where,
                       "pass an array of that rank, or change the kernel");
  const nb::ft_lock_guard lock(mutex_);
  for (std::size_t m = 0; m < memos_.size(); ++m)
    if (same_layouts(*memos_[m], views)) {
      if (m > 0) std::swap(memos_[m], memos_[0]);
      return memos_[0];
    }
  auto made = std::make_shared<Memo>();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (int d = 0; d < views[i].layout.rank; ++d) {
      made->key.push_back(views[i].layout.extents[std::size_t(d)]);
      made->key.push_back(views[i].layout.strides[std::size_t(d)]);
    }
  made->points = points(views);
  if (memos_.size() == memos_kept) memos_.pop_back();
  memos_.insert(memos_.begin(), std::move(made));
  return memos_[0];
}

void State::change(const AnyView *views, const std::function<void(Memo &)> &how) {
  auto made = std::make_shared<Memo>(*memo(views)); // others may have called meanwhile
  how(*made);
  const nb::ft_lock_guard lock(mutex_);
  const auto known = std::ranges::find(memos_, made->key, [](const MemoPtr &m) { return m->key; });
  if (known != memos_.end()) *known = std::move(made);
}

void State::know_outputs(const AnyView *views, std::vector<Layout> outputs) {
  change(views, [&](Memo &memo) { memo.outputs = std::move(outputs); });
}

void State::know_compiled(const AnyView *views) {
  change(views, [](Memo &memo) { memo.compiled = true; });
}

int State::find_input(PyObject *word) const { return find(input_names, word); }
int State::find_output(PyObject *word) const { return find(output_names, word); }

KernelObject kernel_of(std::shared_ptr<State> state) { return {call_kernel, std::move(state)}; }

KernelObject make_kernel(const LoopSpec &spec, const Choices &choices) {
  return kernel_of(std::make_shared<State>(spec, choices));
}

} // namespace broadloom::python
