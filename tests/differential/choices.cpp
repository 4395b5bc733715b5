// See choices.hpp.
#include "choices.hpp"
#include "analysis/analyse.hpp"
#include "draw_choices.hpp"
#include "random_schedule.hpp"
#include "same_bits.hpp"
#include "tests/interpreted_call.hpp"

#include "array/copy.hpp"
#include "calls/record.hpp"
#include "calls/verify.hpp"
#include "jit/call/choose_call.hpp"
#include "jit/runtime/paths.hpp"
#include "kernel/overlap.hpp"
#include "kernel/viewer.hpp"
#include "plan/plan.hpp"
#include "reference/reference.hpp"
#include "spec/materialise.hpp"
#include "spec/spec.hpp"

#include <broadloom/broadloom.hpp>
#include <broadloom/gradient_within.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <set>

namespace broadloom::differential {
namespace {

class OneHash {
public:
  OneHash(const Case &c, ChoicesTally &tally)
      : case_(c), tally_(tally), value_(parse(c.text)), spec_(of(Policy::automatic)),
        random_(c.inputs.empty() ? 1 : c.inputs[0].seed) {
    for (const CaseOperand &in : c.inputs) {
      names_.push_back(in.name);
      inputs_.push_back(make_input(in));
    }
  }

  // False where the shapes do not fit, and there is nothing to compute.
  bool prepare() {
    set_environment({});
    try {
      if (!case_.gradient.empty()) add_cotangents();
      const Results made = compile(spec_, base().options).call(given());
      for (const auto &[name, array] : made) {
        outputs_.push_back({name, array.dtype(), contiguous_layout(array.shape())});
        bool at_end = false;
        if (random_.chance(40))
          outputs_.back().layout = random_layout(random_, array.shape(), true, at_end);
      }
    } catch (const ShapeError &) {
      return false;
    } catch (const DataError &) {
      return false;
    }
    return true;
  }

  std::optional<std::string> run(int draws) {
    const std::vector<Bytes> expected = hash_of(base());
    const Open open = what_is_open();
    for (int n = 0; n < draws; ++n) {
      const Choices choices = draw(random_, open);
      const std::vector<Bytes> got = hash_of(choices);
      for (const std::string &name : choices.names) ++tally_.taken[name];
      for (std::size_t k = 0; k < got.size(); ++k)
        if (got[k] != expected[k])
          return "output " + outputs_[k].name + " has other bits with: " + told(choices) +
                 difference(k, got[k], expected[k]);
    }
    return std::nullopt;
  }

private:
  struct Output {
    std::string name;
    DType dtype;
    Layout layout;
  };

  static Choices base() { return {}; }

  // The kernel that is called: the gradient by this policy, if the case is about one.
  LoopSpec of(Policy policy) const {
    if (case_.gradient.empty()) return value_;
    return gradient(value_, case_.gradient, {.policy = policy});
  }

  void add_cotangents() {
    const Results values = compile(value_, base().options).call(given());
    for (const auto &[output, array] : values) {
      if (!is_float(array.dtype()) && !is_complex(array.dtype())) continue;
      names_.push_back("d_" + output);
      inputs_.emplace_back(random_, array.dtype(), array.shape(), false);
      inputs_.back().fill_smooth(random_);
    }
  }

  std::vector<NamedView> given() {
    std::vector<NamedView> views;
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      views.push_back({names_[k], inputs_[k].view()});
    return views;
  }

  // Not all names of a text may stand in a schedule.
  void add_schedule() {
    const std::string text = print(value_), schedule = random_schedule(random_, text);
    if (schedule.empty()) return;
    LoopSpec scheduled = parse(with_schedule(text, schedule));
    try {
      analysis::analyse(scheduled.data());
      scheduled_ = std::move(scheduled);
    } catch (const SpecError &) {
    }
  }

  Open what_is_open() {
    const spec::TypedSpec typed = analysis::analyse(spec_.data());
    Open open{.copies = kernel::sees_copies(typed), .generic = plan::has_generic(typed)};
    for (const auto &let : typed.materialised) {
      open.copies = open.copies || kernel::sees_copies(let->typed);
      open.generic = open.generic || plan::has_generic(let->typed);
      open.loops = open.loops || let->recurrence;
      open.lets = true;
    }
    // What may round as it likes when it is frozen.
    const bool relaxed = case_.text.find("relaxed = on") != std::string::npos;
    for (const spec::TypedInput &input : typed.callers())
      open.parameters = open.parameters || (input.role == InputRole::parameter && !relaxed);
    open.gradient = !case_.gradient.empty();
    open.saves = open.gradient && saves();
    open.saves_some = open.gradient && is_exact(typed) &&
                      std::ranges::all_of(typed.materialised,
                                          [](const auto &let) { return is_exact(let->typed); });
    if (!open.gradient) add_schedule();
    open.schedules = scheduled_.has_value();
    open.schedules_lets = scheduled_ && !spec::lets_of(scheduled_->data().schedule).empty();
    open.overlaps = std::ranges::none_of(typed.outputs, &spec::TypedOutput::add);
    return open;
  }

  static bool is_exact(const spec::TypedSpec &part) {
    for (std::uint32_t n = 0; n < part.graph.size(); ++n) {
      const expr::NodeKind kind = part.graph[expr::NodeId{n}].kind;
      const bool folds = kind == expr::NodeKind::Fold || kind == expr::NodeKind::Scan;
      if (folds && !part.graph.recipe(expr::NodeId{n}).exact) return false;
    }
    return true;
  }

  // The kernel that saves, and the gradient that reads what it has saved.
  SavingGradient saving(const Choices &choices, const std::vector<NamedView> &inputs) const {
    if (!choices.memory) return {saving_forward(value_, case_.gradient), of(Policy::save)};
    try {
      return gradient_within(value_, case_.gradient, {*choices.memory, inputs});
    } catch (const SpecError &error) {
      if (error.code() != "E0610") throw; // keep() asks for more
      return gradient_within(value_, case_.gradient, {std::int64_t(1) << 40, inputs});
    }
  }

  bool saves() const {
    try {
      const spec::TypedSpec typed = analysis::analyse(of(Policy::save).data());
      const expr::Graph &graph = typed.graph;
      const auto is_saved = [&](expr::NodeId id) {
        return graph[id].kind == expr::NodeKind::Input &&
               typed.inputs[typed.array_of(graph[id].payload)].name.starts_with("saved_");
      };
      std::vector<bool> reads(graph.size()); // [node]
      bool any = false;
      for (std::uint32_t n = 0; n < graph.size(); ++n) {
        const expr::NodeId id{n};
        reads[n] = is_saved(id);
        any = any || reads[n];
        for (const expr::NodeId arg : graph.operands(id)) reads[n] = reads[n] || reads[arg.index];
        const bool folds =
            graph[id].kind == expr::NodeKind::Fold || graph[id].kind == expr::NodeKind::Scan;
        if (folds && reads[n] && !graph.recipe(id).exact) return false;
      }
      // The order of an array that is computed from a saved one goes by that.
      const auto &lets = typed.materialised;
      return (any && lets.empty()) ||
             (!lets.empty() && is_exact(typed) &&
              std::ranges::all_of(lets, [&](const auto &let) { return is_exact(let->typed); }));
    } catch (const SpecError &) { // no gradient
      return false;
    }
  }

  // The outputs in C order, all NaNs alike.
  std::vector<Bytes> hash_of(const Choices &choices) {
    set_environment(choices.environment);
    std::vector<NamedView> in = given();
    std::vector<std::shared_ptr<std::vector<unsigned char>>> memory;
    std::vector<NamedView> out = make_outputs(choices, in, memory);
    std::vector<Array> saved;
    LoopSpec spec = spec_;
    if (choices.policy && *choices.policy != Policy::save) spec = of(*choices.policy);
    if (choices.policy == Policy::save) {
      std::vector<NamedView> of_value;
      for (std::size_t k = 0; k < case_.inputs.size(); ++k) of_value.push_back(in[k]);
      const SavingGradient made = saving(choices, of_value);
      spec = made.backward;
      const Kernel forward = compile(made.forward, choices.options);
      for (auto &[name, array] : forward.call(of_value))
        if (name.starts_with("saved_")) {
          saved.push_back(array);
          in.push_back({saved_names_.emplace_back(name), saved.back()});
        }
    }
    if (choices.scheduled) spec = *scheduled_;
    const auto made = detail::make_kernel(spec, choices.options, {});
    Kernel kernel(made);
    if (choices.frozen) {
      std::vector<NamedView> parameters, others;
      const spec::TypedSpec typed = analysis::analyse(spec.data());
      for (const NamedView &view : in) {
        const bool is_parameter = std::ranges::any_of(typed.callers(), [&](const auto &input) {
          return input.name == view.name && input.role == InputRole::parameter;
        });
        (is_parameter ? parameters : others).push_back(view);
      }
      kernel = kernel.freeze(parameters);
      in = others;
    }
    const bool is_verified = !choices.frozen && choices.options.debug == Debug::none;
    const auto before = is_verified ? copies_of(*made, in, out) : std::map<std::string, Array>();
    for (int n = 0; n < choices.earlier_calls && !choices.overlaps; ++n) {
      std::vector<std::shared_ptr<std::vector<unsigned char>>> other;
      kernel.run_named(in, make_outputs(choices, in, other));
    }
    calls::Record record;
    if (choices.bound) {
      const BoundCall call = kernel.bind_named(in, out);
      const calls::Recorder recorder;
      call();
      record = recorder.record();
    } else {
      const calls::Recorder recorder;
      kernel.run_named(in, out);
      record = recorder.record();
    }
    if (choices.options.engine == Engine::tiered)
      ++tally_.taken[kernel.engine() == Engine::interpreter ? "tiered, interpreted"
                                                            : "tiered, native"];
    if (is_verified) verify_steps(kernel, *made, before, in, out, record);
    std::vector<Bytes> hashes;
    for (const NamedView &view : out) hashes.push_back(canonical(view.view));
    set_environment({});
    return hashes;
  }

  // What the kernel says that it did is what it did, keeps to the rules of calls, and reads back as
  // it was printed, and gives what it gave when it is gone through step by step. A frozen one, and
  // one whose call is checked, run others. A single nest without windows is not recorded.
  void verify_steps(const Kernel &kernel, const detail::KernelImpl &made,
                    const std::map<std::string, Array> &before, const std::vector<NamedView> &in,
                    const std::vector<NamedView> &out, const calls::Record &record) const {
    const std::string text = kernel.show(Stage::call);
    try {
      const calls::Call call = calls::parse(text);
      if (!record.events.empty()) calls::check_record(record, call), ++tally_.recorded;
      std::int64_t elements = 0;
      for (const calls::Array &array : call.arrays)
        elements += std::accumulate(array.extents.begin(), array.extents.end(), std::int64_t(1),
                                    std::multiplies<>());
      if (elements < 20000) {
        calls::verify(call), ++tally_.verified;
        interpret(made, text, before, in, out);
      }
    } catch (const SpecError &error) {
      throw std::runtime_error("what a call does: " + error.render() + "\n" + text);
    } catch (const InternalError &error) { // what it ran
      throw std::runtime_error(error.what());
    }
  }

  // What a call is given; outputs that are not added to have anything before.
  static std::map<std::string, Array> copies_of(const detail::KernelImpl &kernel,
                                                const std::vector<NamedView> &in,
                                                const std::vector<NamedView> &out) {
    std::map<std::string, Array> made;
    for (const NamedView &view : in) made.emplace(view.name, array::dense_copy(view.view));
    const std::vector<std::string> names = jit::arrays_of_outputs(kernel.typed());
    for (std::size_t o = 0; o < names.size(); ++o)
      for (const NamedView &view : out) {
        const spec::TypedOutput &output = kernel.typed().outputs[o];
        if (view.name != output.name) continue;
        const Array &copy =
            made.insert_or_assign(names[o], array::dense_copy(view.view)).first->second;
        if (!output.add)
          std::memset(copy.raw(), 0xa5, std::size_t(copy.size()) * size_of(copy.dtype()));
      }
    return made;
  }

  static const AnyView *find(const std::vector<NamedView> &views, std::string_view name) {
    const auto known = std::ranges::find(views, name, &NamedView::name);
    return known == views.end() ? nullptr : &known->view;
  }

  void interpret(const detail::KernelImpl &kernel, const std::string &text,
                 const std::map<std::string, Array> &before, const std::vector<NamedView> &in,
                 const std::vector<NamedView> &out) const {
    std::map<std::string, AnyView, std::less<>> arrays;
    for (const auto &[name, array] : before) arrays[name] = array;
    std::vector<const AnyView *> operands;
    for (const spec::TypedInput &input : kernel.typed().callers())
      operands.push_back(find(in, input.name));
    for (const spec::TypedOutput &output : kernel.typed().outputs)
      operands.push_back(find(out, output.name));
    const std::map<std::string, Array> made = tests::interpreted(kernel, text, operands, arrays);
    const std::vector<std::string> names = jit::arrays_of_outputs(kernel.typed());
    for (std::size_t o = 0; o < names.size(); ++o)
      for (const NamedView &view : out)
        if (view.name == kernel.typed().outputs[o].name &&
            canonical(made.at(names[o])) != canonical(view.view))
          throw std::runtime_error("output " + names[o] +
                                   " has other bits where its call is interpreted:\n" + text);
    ++tally_.interpreted;
    std::set<std::string> kinds;
    for (const std::string &kind : all_steps())
      if (text.find(kind) != text.npos) kinds.insert(kind);
    for (const std::string &kind : kinds) ++tally_.steps[kind];
  }

  // Memory for the outputs, some of which lie over an input where it is chosen so: then that is a
  // copy of it, with its strides.
  std::vector<NamedView>
  make_outputs(const Choices &choices, std::vector<NamedView> &in,
               std::vector<std::shared_ptr<std::vector<unsigned char>>> &memory) {
    std::vector<NamedView> out;
    bool overlaps = choices.overlaps;
    for (const Output &output : outputs_) {
      const kernel::Reach reach = kernel::reach_of(output.layout, output.dtype);
      std::int64_t size = reach.high - reach.low, before = -reach.low;
      std::size_t over = in.size();
      if (overlaps && size > 0)
        for (std::size_t k = 0; k < in.size(); ++k)
          if (size_of(in[k].view.dtype) == size_of(output.dtype) &&
              element_count(in[k].view.layout) > 0)
            over = k;
      kernel::Reach moved{};
      if (over < in.size()) {
        moved = kernel::reach_of(in[over].view.layout, in[over].view.dtype);
        size += moved.high - moved.low;
      }
      auto &bytes = *memory.emplace_back(
          std::make_shared<std::vector<unsigned char>>(std::size_t(size) + 64, 0));
      auto *base = bytes.data() + (64 - reinterpret_cast<std::uintptr_t>(bytes.data()) % 64) % 64;
      if (over < in.size()) {
        const auto element = std::int64_t(size_of(output.dtype));
        const std::int64_t room = (moved.high - moved.low) / element;
        before += element * std::int64_t(random_.bits() % std::uint64_t(room));
        AnyView copy = in[over].view;
        copy.data = base - moved.low;
        array::copy_elements(in[over].view, copy.data, copy.layout);
        in[over].view = copy;
        overlaps = false; // of one output
      }
      out.push_back({output.name, AnyView(output.dtype, base + before, true, output.layout)});
    }
    return out;
  }

  static Bytes canonical(const AnyView &view) {
    Bytes bytes = bytes_of(Array(std::shared_ptr<void>(), view.dtype, view.data, view.layout));
    if (!is_float(view.dtype) && !is_complex(view.dtype)) return bytes;
    const DType real = real_dtype(view.dtype);
    const std::size_t size = size_of(real);
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      const ops::Scalar part = ops::load(reinterpret_cast<const char *>(&bytes[at]), real);
      if (std::isnan(ops::as_f64(ops::convert(part, real, DType::F64))))
        std::memset(&bytes[at], 0xff, size);
    }
    return bytes;
  }

  std::string difference(std::size_t k, const Bytes &got, const Bytes &expected) const {
    const DType dtype = outputs_[k].dtype;
    std::size_t first = 0, wrong = 0;
    for (std::size_t e = got.size() / size_of(dtype); e-- > 0;)
      if (!(element(got, dtype, e) == element(expected, dtype, e))) first = e, ++wrong;
    return ": " + std::to_string(wrong) + " of " + std::to_string(got.size() / size_of(dtype)) +
           " elements, the first at " + std::to_string(first);
  }

  const Case &case_;
  ChoicesTally &tally_;
  const LoopSpec value_, spec_;
  std::optional<LoopSpec> scheduled_;
  Random random_;
  std::vector<std::string> names_;
  std::deque<std::string> saved_names_;
  std::vector<Operand> inputs_;
  std::vector<Output> outputs_;
};

} // namespace

const std::vector<std::string> &all_steps() {
  static const std::vector<std::string> words{
      " = run ",  " = gather ", " = scatter ", " = start ", " = count", " = pad ",
      " = view ", " = save ",   "  again ",    "  for ",    " down",    " until ",
      " ring ",   " edge",      " wrap",       " reflect",  " behind ", " at ["};
  return words;
}

Case random_choices_case(std::uint64_t seed) {
  const bool derives = seed % 4 == 1;
  // Of six seeds one reads windows; here half of them do.
  const std::uint64_t source = seed % 2 == 0 ? seed * 6 + 4 : seed;
  const RandomSpec made = random_spec(source, derives ? Style::Smooth : Style::Any);
  Random random(~seed);
  Case c;
  c.story = "choices, seed " + std::to_string(seed);
  c.text = made.text;
  std::set<std::string> parameters;
  for (const RandomInput &declared : made.inputs) {
    CaseOperand in{.name = declared.name, .dtype = declared.dtype};
    in.layout = random_layout(random, declared.shape, false, in.at_end);
    in.data = derives ? Data::Smooth : Data::General;
    in.seed = random.bits();
    if (!derives && random.chance(20)) {
      parameters.insert(in.name);
      in.layout = contiguous_layout(declared.shape);
    }
    if (derives && (is_float(in.dtype) || is_complex(in.dtype))) c.gradient.push_back(in.name);
    c.inputs.push_back(std::move(in));
  }
  if (!parameters.empty()) c.text = with_parameters(c.text, parameters);
  return c;
}

std::optional<std::string> find_changed_bit(const Case &c, int draws, ChoicesTally &tally) {
  ++tally.kernels;
  tally.gradients += !c.gradient.empty();
  std::optional<std::string> wrong;
  try {
    OneHash run(c, tally);
    if (run.prepare())
      wrong = run.run(draws);
    else
      ++tally.refused;
  } catch (const Error &error) {
    wrong = error.render();
  } catch (const std::exception &error) {
    wrong = error.what();
  }
  set_environment({});
  return wrong;
}

} // namespace broadloom::differential
