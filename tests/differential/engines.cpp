// See engines.hpp.
#include "engines.hpp"
#include "analysis/analyse.hpp"
#include "numpy_check.hpp"
#include "same_bits.hpp"
#include "tolerance.hpp"

#include "jit/gpu/open.hpp"
#include "jit/native/target.hpp"
#include "jit/runtime/arena.hpp"
#include "kernel/overlap.hpp"
#include "ops/ops.hpp"
#include "plan/plan.hpp"
#include "reference/reference.hpp"
#include "rewrite/scatters.hpp"
#include "spec/early_end.hpp"
#include "spec/materialise.hpp"
#include "spec/spec.hpp"
#include "support/check.hpp"

#include <broadloom/arena.hpp>
#include <broadloom/broadloom.hpp>
#include <broadloom/build.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>

namespace broadloom::differential {
namespace {

struct Mistake {
  std::string what;
};

std::string shown(ops::Scalar value, DType dtype) {
  std::ostringstream out;
  if (is_complex(dtype)) {
    const DType real = real_dtype(dtype);
    out << shown(ops::Scalar{value.bits}, real) << " + " << shown(ops::Scalar{value.imag}, real)
        << "j";
  } else if (is_float(dtype)) {
    out.precision(17);
    out << ops::as_f64(ops::convert(value, dtype, DType::F64));
  } else {
    out << std::int64_t(value.bits);
  }
  return out.str();
}

class Engines {
public:
  Engines(const Case &c, const Thoroughness &how, Tally &tally)
      : case_(c), how_(how), tally_(tally), spec_(parse(c.text)),
        typed_(analysis::analyse(spec_.data())) {
    const auto set = [](const char *name, const std::string &value) {
      if (value.empty())
        unsetenv(name);
      else
        setenv(name, value.c_str(), 1);
    };
    set("BROADLOOM_CACHES", c.caches);
    set("BROADLOOM_BLOCKS", c.blocks);
    set("BROADLOOM_PATTERNS", "");
    for (const CaseOperand &in : c.inputs) inputs_.push_back(make_input(in));
    for (const spec::TypedInput &declared : typed_.callers())
      for (std::size_t k = 0; k < c.inputs.size(); ++k)
        if (c.inputs[k].name == declared.name) in_order_.push_back(inputs_[k].view());
  }

  void run() {
    std::vector<Layout> layouts;
    for (const AnyView &view : in_order_) layouts.push_back(view.layout);
    try {
      reference::output_shapes(typed_, layouts);
    } catch (const Error &error) {
      ++tally_.refused;
      return expect_error(error.code());
    }
    tally_.windowed += typed_.given_inputs() < typed_.inputs.size();
    tally_.gathered +=
        std::any_of(typed_.inputs.begin(), typed_.inputs.end(), [](const spec::TypedInput &input) {
          return input.window && input.window->is_gather();
        });
    tally_.computed +=
        std::any_of(typed_.inputs.begin(), typed_.inputs.end(), [&](const spec::TypedInput &input) {
          return input.window && std::ranges::any_of(input.window->forms, [&](const auto &form) {
                   return std::ranges::any_of(form.indices, [&](const auto &index) {
                     return typed_.inputs[typed_.array_of(index.input)].materialised;
                   });
                 });
        });
    tally_.scattered += rewrite::split_scatters(typed_).has_value();
    tally_.arrays += std::int64_t(typed_.materialised.size());
    const bool loops = has_loops();
    tally_.loops += loops;
    for (std::size_t k = 0; k < typed_.materialised.size(); ++k)
      if (const auto &loop = typed_.materialised[k]->recurrence; loop && loop->first == k) {
        const auto end = spec::early_end(typed_.materialised, k);
        tally_.ended += end && !end->moves;
      }
    const auto joins = std::ranges::count_if(typed_.materialised,
                                             [](const auto &let) { return let->join.has_value(); });
    tally_.joined += joins;
    for (const spec::TypedInput &input : typed_.inputs)
      tally_.said_axes += !input.said.empty() && input.name.starts_with("axis[");
    for (const auto &let : typed_.materialised) {
      tally_.placed += let->join && !let->join->positions.empty();
      tally_.said += let->data.outputs[0].said != nullptr;
    }
    const bool extents =
        std::any_of(typed_.inputs.begin(), typed_.inputs.end(), [](const auto &input) {
          return input.window && !input.window->derived &&
                 std::ranges::any_of(input.window->forms,
                                     [](const auto &form) { return !form.counts.empty(); });
        });
    tally_.extents += extents;
    tally_.padded += std::any_of(typed_.inputs.begin(), typed_.inputs.end(), [](const auto &input) {
      return input.window && !input.window->pads.empty();
    });
    for (const CaseOperand &out : case_.outputs) tally_.points += element_count(out.layout);
    const std::vector<Bytes> truth =
        run_engine({.threads = 1, .engine = Engine::interpreter}, Operand::pattern);
    for (std::size_t k = 0; k < truth.size(); ++k)
      tally_.bits += hash_of(truth[k], case_.outputs[k].dtype);
    if (!spec_.data().schedule.clauses().empty()) compare_without_schedule(truth);
    if (plan::has_generic(typed_)) compare_generic(truth);
    if (how_.reference) compare_with_reference(truth);
    if (!case_.inputs.empty() && case_.inputs[0].seed % 64 == 3 && case_.blocks.empty())
      compare_built(truth);
    const bool odd = case_.inputs.empty() || case_.inputs[0].seed % 2 == 1;
    // The interpreter has read copies with borders; native code shall do without them half of the
    // times.
    const bool splits = !case_.inputs.empty() && case_.inputs[0].seed % 8 < 4;
    // And lets go in tiles of a few rows, wherever they can.
    const std::string tile_rows =
        std::to_string(case_.inputs.empty() ? 0 : case_.inputs[0].seed % 5);
    const auto compare = [&](const Options &options) {
      if (splits) setenv("BROADLOOM_SPLIT", "0", 1);
      setenv("BROADLOOM_TILE_ROWS", tile_rows.c_str(), 1);
      setenv("BROADLOOM_LOOP_BYTES", "0",
             1); // where states have been kept, they are computed again
      compare_bits(options, run_engine(options, 0x5a), truth);
      unsetenv("BROADLOOM_SPLIT");
      unsetenv("BROADLOOM_TILE_ROWS");
      unsetenv("BROADLOOM_LOOP_BYTES");
    };
    std::vector<int> threads = case_.threads;
    if (how_.all_threads) threads = {1, 2, 3, 7};
    const bool v3_only =
        !how_.both_targets && !case_.inputs.empty() && case_.inputs[0].seed % 4 < 2;
    if (!v3_only)
      for (const int t : threads)
        compare(
            {.threads = t, .engine = Engine::jit, .profile = odd ? Profile::paths : Profile::none});
    if (how_.both_targets || v3_only)
      compare({.threads = threads.front() == 2 ? 1 : 2,
               .target = jit::targets_here().front(),
               .engine = Engine::jit,
               .profile = odd ? Profile::none : Profile::paths});
    if (!case_.inputs.empty() &&
        case_.inputs[0].seed % 8 == 5) // with all inputs between forbidden pages, windows too
      compare({.threads = 2, .engine = Engine::jit, .debug = Debug::memory});
    // Threads of a GPU as lanes, on memory of the process and of a device that this processor
    // plays. That is slow, so of large kernels an eighth runs so, and the largest never do.
    constexpr std::int64_t many_elements = std::int64_t(1) << 17, most_elements = std::int64_t(1)
                                                                                  << 20;
    std::int64_t elements = 0;
    for (const AnyView &view : in_order_) elements += element_count(view.layout);
    for (const CaseOperand &out : case_.outputs) elements += element_count(out.layout);
    const std::uint64_t turn = case_.inputs.empty() || elements > most_elements ? 0
                               : elements > many_elements ? case_.inputs[0].seed % 16
                                                          : case_.inputs[0].seed % 8;
    if (turn == 1 || turn == 6) {
      ++tally_.in_warps;
      compare({.threads = threads.front(),
               .target = "warp",
               .engine = Engine::jit,
               .profile = Profile::paths});
    }
    const Options there{.device = device_of_tests()}; // or all on a GPU
    if (turn == 2 || turn == 7 || there.device != "played") {
      ++tally_.on_device;
      compare_bits(there, run_engine(there, 0x5a), truth, " on a device");
    }
    // The translator to NumPy knows none of these.
    const bool is_known = !loops && !extents && joins == 0;
    if (!how_.numpy.empty() && is_known) compare_with_numpy(truth);
    if (!case_.gradient.empty()) check_gradients();
  }

private:
  // 32 bits by FNV-1a, where all NaNs are one.
  static std::int64_t hash_of(const Bytes &bytes, DType dtype) {
    const DType part = real_dtype(dtype);
    const std::size_t size = size_of(part);
    std::uint32_t hash = 2166136261;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      const bool nan = is_float(part) &&
                       std::isnan(ops::as_f64(
                           ops::convert(element({&bytes[at], size}, part, 0), part, DType::F64)));
      for (std::size_t b = 0; b < size; ++b)
        hash = (hash ^ (nan ? 0xff : bytes[at + b])) * 16777619;
    }
    return hash;
  }

  bool has_loops() const {
    return std::any_of(typed_.materialised.begin(), typed_.materialised.end(),
                       [](const auto &let) { return let->recurrence.has_value(); });
  }

  // The wanted outputs after a run, elements in C order; empty for others.
  std::vector<Bytes> run_engine(const Options &options, unsigned char pattern) {
    return run_engine(spec_, options, pattern);
  }

  std::vector<Bytes> run_engine(const LoopSpec &spec, const Options &options,
                                unsigned char pattern) {
    return run_kernel(compile(spec, options), options, pattern);
  }

  // Each operand's memory, from its first element to its last, is there for the call.
  static void run_on_device(const Kernel &kernel, const Options &options, std::vector<NamedView> in,
                            std::vector<NamedView> to) {
    const auto device = jit::gpu::open(options.device);
    struct Piece {
      char *here;
      std::size_t bytes;
      std::shared_ptr<void> there;
    };
    std::vector<Piece> written;
    std::vector<std::shared_ptr<void>> kept;
    const auto take = [&](NamedView &operand, bool goes_back) {
      const kernel::Reach reach = kernel::reach_of(operand.view.layout, operand.view.dtype);
      if (reach.low == reach.high) return;
      char *here = static_cast<char *>(operand.view.data) + reach.low;
      const auto bytes = std::size_t(reach.high - reach.low);
      kept.push_back(device->allocate(bytes));
      device->copy_in(kept.back().get(), here, bytes);
      operand.view.data = static_cast<char *>(kept.back().get()) - reach.low;
      if (goes_back) written.push_back({here, bytes, kept.back()});
    };
    for (NamedView &operand : in) take(operand, false);
    for (NamedView &operand : to) take(operand, true);
    kernel.run_named(in, to);
    for (const Piece &piece : written) device->copy_out(piece.here, piece.there.get(), piece.bytes);
  }

  // Its memory is what the call says that it takes, to the byte.
  void run_in_arena(const Kernel &kernel, const std::vector<NamedView> &in,
                    const std::vector<NamedView> &to) {
    const std::size_t bytes = workspace_named(kernel, in, to);
    tally_.in_arenas += bytes > 0;
    std::vector<char> memory(bytes + 1, char(0xa5));
    const Arena arena(memory.data(), bytes);
    kernel.run_named(in, to);
    support::check(jit::runtime::CallArena::missed == 0, "a call took more than it had said");
    support::check(memory.back() == char(0xa5), "a call wrote behind its arena");
  }

  std::vector<Bytes> run_kernel(const Kernel &kernel, const Options &options,
                                unsigned char pattern) {
    std::vector<Operand> outputs;
    for (const CaseOperand &out : case_.outputs) {
      outputs.emplace_back(out.dtype, out.layout, out.at_end, true, pattern);
      Random random(out.seed);
      if (out.add) outputs.back().fill(random, out.data == Data::Exact);
    }
    const std::vector<Operand> before = outputs;
    std::vector<NamedView> in, to;
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      in.push_back({case_.inputs[k].name, inputs_[k].view()});
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (case_.outputs[k].wanted) to.push_back({case_.outputs[k].name, outputs[k].view()});
    if (!options.device.empty())
      run_on_device(kernel, options, in, to);
    else if (options.engine == Engine::jit && options.threads != 1 &&
             options.debug == Debug::none && std::getenv("BROADLOOM_VERIFY") == nullptr)
      run_in_arena(kernel, in, to);
    else
      kernel.run_named(in, to);
    if (options.engine == Engine::jit && kernel.counters().interpreted > 0)
      throw Mistake{"native code was asked for, and the interpreter ran"};
    if (options.profile == Profile::paths)
      for (const Decision &decision : kernel.why()) ++tally_.decisions[decision.code];
    std::vector<Bytes> results;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (!outputs[k].only_elements_changed(before[k]))
        throw Mistake{named(options) + " writes between the elements of " + case_.outputs[k].name};
      if (case_.outputs[k].wanted)
        results.push_back(outputs[k].dense());
      else if (outputs[k].dense() != before[k].dense())
        throw Mistake{named(options) + " writes to " + case_.outputs[k].name +
                      ", which is not wanted"};
      else
        results.emplace_back();
    }
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (kept_.size() < inputs_.size())
        kept_.push_back(inputs_[k].dense());
      else if (inputs_[k].dense() != kept_[k])
        throw Mistake{named(options) + " writes to the input " + case_.inputs[k].name};
    return results;
  }

  static std::string named(const Options &options) {
    switch (options.engine) {
    case Engine::interpreter: return "the interpreter";
    case Engine::reference: return "the reference engine";
    case Engine::automatic:
    case Engine::tiered:
    case Engine::jit: break;
    }
    return "native code" + (options.target.empty() ? "" : " for " + options.target) + " on " +
           std::to_string(options.threads) + " threads" +
           (options.profile == Profile::paths ? ", counting" : "");
  }

  void compare_bits(const Options &options, const std::vector<Bytes> &got,
                    const std::vector<Bytes> &expected, const std::string &how = "") {
    for (std::size_t k = 0; k < got.size(); ++k) {
      if (got[k] == expected[k]) continue;
      const DType dtype = case_.outputs[k].dtype;
      for (std::size_t e = 0; e * size_of(dtype) < got[k].size(); ++e) {
        const ops::Scalar a = element(got[k], dtype, e), b = element(expected[k], dtype, e);
        if (!same(a, b, dtype))
          differ(named(options) + how, k, e, a, "the interpreter", b, got[k], expected[k]);
      }
    }
  }

  // Nor does a generic plan, as a kernel that keeps no pattern of its own runs it.
  void compare_generic(const std::vector<Bytes> &truth) {
    ++tally_.generic;
    const std::uint64_t seed = case_.inputs.empty() ? 0 : case_.inputs[0].seed;
    setenv("BROADLOOM_PATTERNS", "0", 1);
    std::vector<Options> ways{{.threads = seed % 4 == 0 ? 1 : 3,
                               .target = seed % 3 == 0 ? jit::targets_here().front() : "",
                               .engine = Engine::jit,
                               .profile = Profile::paths}};
    if (seed % 4 == 0) ways.push_back({.threads = 1, .engine = Engine::interpreter});
    for (const Options &options : ways) {
      const std::vector<Bytes> got = run_engine(options, 0x69);
      compare_bits(options, got, truth, " by a generic plan");
    }
    unsetenv("BROADLOOM_PATTERNS");
  }

  // What was built ahead of time for these layouts has all that a call needs.
  void compare_built(const std::vector<Bytes> &truth) {
    std::string line;
    const auto list = [](std::span<const std::int64_t> numbers) {
      std::string text = "(";
      for (const std::int64_t number : numbers)
        text += (text.size() > 1 ? ", " : "") + std::to_string(number);
      return text + ")";
    };
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      line += case_.inputs[k].name + "=" + list(inputs_[k].layout().shape()) + "/" +
              list(inputs_[k].layout().steps()) + " ";
    for (const CaseOperand &out : case_.outputs)
      line += out.name + "=" + (out.wanted ? "/" + list(out.layout.steps()) : "none") + " ";
    const BuiltKernel built = build(spec_, {.layouts = line});
    const Options options{.threads = case_.threads.front(), .engine = Engine::jit};
    const Kernel kernel = load(built.data, options);
    const std::vector<Bytes> got = run_kernel(kernel, options, 0x96);
    compare_bits(options, got, truth, " that was built ahead of time");
    if (kernel.counters().compiles != 0) throw Mistake{"what was built is compiled"};
  }

  // A schedule changes no bit.
  void compare_without_schedule(const std::vector<Bytes> &got) {
    const Options options{.threads = 1, .engine = Engine::interpreter};
    ++tally_.scheduled;
    tally_.scheduled_lets += std::int64_t(spec::lets_of(spec_.data().schedule).size());
    const LoopSpec without = LoopSpec(spec_).schedule({});
    const spec::TypedSpec arrays = analysis::analyse(without.data());
    for (const spec::Wishes::Let &wish : typed_.wishes.lets) {
      const std::string &let = wish.clause.names[0];
      tally_.inlined += std::int64_t(arrays.is_array(let) && !typed_.is_array(let));
    }
    const std::vector<Bytes> plain = run_engine(without, options, Operand::pattern);
    for (std::size_t k = 0; k < got.size(); ++k) {
      const DType dtype = case_.outputs[k].dtype;
      for (std::size_t e = 0; e * size_of(dtype) < got[k].size(); ++e)
        if (const ops::Scalar a = element(got[k], dtype, e), b = element(plain[k], dtype, e);
            !same(a, b, dtype))
          differ("the interpreter", k, e, a, "the kernel without its schedule", b, got[k],
                 plain[k]);
    }
  }

  void compare_with_reference(const std::vector<Bytes> &got) {
    bool any = false;
    for (const CaseOperand &out : case_.outputs)
      any |= out.wanted && out.agreement != Agreement::None;
    if (!any) return;
    std::vector<Operand> initial;
    std::vector<AnyView> before;
    for (const CaseOperand &out : case_.outputs) {
      initial.emplace_back(out.dtype, out.layout, out.at_end, true);
      Random random(out.seed);
      initial.back().fill(random, out.data == Data::Exact);
    }
    for (Operand &out : initial) before.push_back(out.view());
    const std::vector<Array> expected = reference::evaluate(typed_, in_order_, before);
    std::vector<Array> absolute;
    if (!case_.bound_text.empty())
      absolute = reference::evaluate(analysis::analyse(parse(case_.bound_text).data()), in_order_);
    for (std::size_t k = 0; k < got.size(); ++k) {
      const CaseOperand &out = case_.outputs[k];
      if (!out.wanted || out.agreement == Agreement::None) continue;
      ++(out.agreement == Agreement::Equal ? tally_.equal : tally_.bounded);
      const Bytes truth = bytes_of(expected[k]);
      const auto count = std::size_t(element_count(out.layout));
      const double greatest = out.agreement == Agreement::Loose ? greatest_of(truth, out.dtype) : 0;
      const Bytes bounds = out.agreement == Agreement::Bound ? bytes_of(absolute[k]) : Bytes();
      for (std::size_t e = 0; e < count; ++e) {
        const ops::Scalar a = element(got[k], out.dtype, e), b = element(truth, out.dtype, e);
        if (same(a, b, out.dtype)) continue;
        if (out.agreement == Agreement::Bound &&
            within_bound(a, b, out.dtype, element(bounds, DType::F64, e)))
          continue;
        if (out.agreement == Agreement::Loose && loosely_equal(a, b, out.dtype, greatest)) continue;
        if (out.agreement == Agreement::Loose && moves_as_far(a, b, k, e, before)) continue;
        differ("the interpreter", k, e, a, "the reference", b, got[k], truth);
      }
    }
    if (how_.all_threads) compare_engine(expected);
  }

  // Native code has given the same bits as the interpreter.
  void compare_with_numpy(const std::vector<Bytes> &got) {
    std::vector<NamedView> arrays, before;
    std::vector<Operand> initial;
    initial.reserve(got.size());
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      arrays.push_back({case_.inputs[k].name, inputs_[k].view()});
    for (std::size_t k = 0; k < got.size(); ++k) {
      const CaseOperand &out = case_.outputs[k];
      if (!out.wanted) continue;
      arrays.push_back({out.name,
                        {out.dtype, const_cast<unsigned char *>(got[k].data()), false,
                         contiguous_layout(out.layout.shape())}});
      if (!out.add) continue;
      initial.emplace_back(out.dtype, out.layout, out.at_end, true);
      Random random(out.seed);
      initial.back().fill(random, out.data == Data::Exact);
      before.push_back({out.name, initial.back().view()});
    }
    const NumpyVerdict verdict = hold_against_numpy(how_.numpy, case_.text, arrays, before);
    tally_.numpy["right"] += verdict.right;
    tally_.numpy["refused"] += verdict.refused;
    if (!verdict.wrong.empty()) throw Mistake{"NumPy: " + verdict.wrong};
  }

  // Whether the element may be so far off, by what it moves where the elements that folds read move
  // by 64 units.
  bool moves_as_far(ops::Scalar got, ops::Scalar expected, std::size_t output, std::size_t at,
                    const std::vector<AnyView> &before) {
    constexpr int draws = 16;
    for (std::uint64_t draw = shaken_.size(); draw < draws; ++draw)
      shaken_.push_back(reference::evaluate_shaken(typed_, in_order_, before, 64, draw));
    const DType dtype = case_.outputs[output].dtype;
    std::vector<ops::Scalar> moved;
    for (const std::vector<Array> &outputs : shaken_)
      moved.push_back(
          ops::load(static_cast<const char *>(outputs[output].raw()) + at * size_of(dtype), dtype));
    return within_moves(got, expected, dtype, moved);
  }

  void compare_engine(const std::vector<Array> &expected) {
    const Options options{.engine = Engine::reference};
    const std::vector<Bytes> got = run_engine(options, 0x3c);
    for (std::size_t k = 0; k < got.size(); ++k)
      if (case_.outputs[k].wanted && got[k] != bytes_of(expected[k]))
        throw Mistake{"the reference engine is not the reference for " + case_.outputs[k].name};
  }

  [[noreturn]] void differ(const std::string &who, std::size_t output, std::size_t at,
                           ops::Scalar got, const std::string &other, ops::Scalar expected,
                           const Bytes &all_got, const Bytes &all_expected) const {
    const CaseOperand &out = case_.outputs[output];
    const auto count = std::size_t(element_count(out.layout));
    std::size_t wrong = 0;
    for (std::size_t e = 0; e < count; ++e)
      wrong +=
          !same(element(all_got, out.dtype, e), element(all_expected, out.dtype, e), out.dtype);
    std::ostringstream text;
    text << "output " << out.name << ", element " << at << " of " << count << " in C order: " << who
         << " gives " << shown(got, out.dtype) << ", " << other << " " << shown(expected, out.dtype)
         << " (" << wrong << " elements differ)";
    throw Mistake{text.str()};
  }

  // What the reference refuses, the kernels must refuse for the same reason.
  void expect_error(const std::string &code) {
    std::vector<Operand> outputs;
    std::vector<NamedView> in, to;
    for (const spec::TypedOutput &out : typed_.outputs)
      outputs.emplace_back(
          out.dtype, contiguous_layout(std::vector<std::int64_t>(out.axes.size(), 1)), true, true);
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      in.push_back({case_.inputs[k].name, inputs_[k].view()});
    for (std::size_t k = 0; k < outputs.size(); ++k)
      to.push_back({typed_.outputs[k].name, outputs[k].view()});
    for (const Engine engine : {Engine::interpreter, Engine::jit}) {
      std::string got = "no error";
      try {
        compile(spec_, {.engine = engine}).run_named(in, to);
      } catch (const Error &e) {
        got = e.code();
      }
      if (got != code)
        throw Mistake{"the reference refuses with " + code + ", " + named({.engine = engine}) +
                      " with " + got};
    }
  }

  // The derived kernel against slopes, and its bits in all engines.
  void check_gradients() {
    std::vector<NamedView> in;
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      in.push_back({case_.inputs[k].name, inputs_[k].view()});
    const GradientCheck check =
        check_gradient(spec_, in, {.wrt = case_.gradient, .engine = Engine::interpreter});
    for (const SlopeCheck &slope : check.slopes)
      if (slope.slope == Slope::differs || slope.slope == Slope::no_gradient)
        throw Mistake{describe(slope)};
    check_derived(broadloom::gradient(spec_, case_.gradient), in);
    if (has_loops()) check_derived(broadloom::gradient(spec_, case_.gradient, {.carry = true}), in);
  }

  // Native code has the bits of the interpreter, also where it computes the states of loops again.
  void check_derived(const LoopSpec &derived, std::vector<NamedView> in) {
    std::vector<Operand> cotangents;
    std::vector<std::string> names;
    const Results values = compile(spec_, {.engine = Engine::interpreter}).call(in);
    names.reserve(values.size());
    cotangents.reserve(values.size());
    for (const auto &[output, array] : values) {
      if (!is_float(array.dtype()) && !is_complex(array.dtype())) continue;
      names.push_back("d_" + output);
      cotangents.emplace_back(array.dtype(), contiguous_layout(array.shape()), true, false);
      Random random(names.size());
      cotangents.back().fill_smooth(random);
      in.push_back({names.back(), cotangents.back().view()});
    }
    const Results steps = compile(derived, {.engine = Engine::interpreter}).call(in);
    for (const int threads : {1, 3}) {
      const Options options{.threads = threads, .engine = Engine::jit, .profile = Profile::paths};
      if (threads == 3) setenv("BROADLOOM_LOOP_BYTES", "0", 1);
      const Results native = compile(derived, options).call(in);
      unsetenv("BROADLOOM_LOOP_BYTES");
      for (const auto &[output, array] : steps) {
        const std::vector<ops::Scalar> a = elements(native[output]), b = elements(array);
        for (std::size_t e = 0; e < a.size(); ++e)
          if (!same(a[e], b[e], array.dtype()))
            throw Mistake{"gradient " + output + ": " + named(options) +
                          " differs from the interpreter at element " + std::to_string(e)};
      }
    }
  }

  const Case &case_;
  const Thoroughness &how_;
  Tally &tally_;
  const LoopSpec spec_;
  const spec::TypedSpec typed_;
  std::vector<Operand> inputs_;
  std::vector<AnyView> in_order_;
  std::vector<Bytes> kept_;                // the inputs, as they were
  std::vector<std::vector<Array>> shaken_; // the outputs of each draw, where they were needed
};

} // namespace

std::optional<std::string> find_mistake(const Case &c, const Thoroughness &how, Tally &tally) {
  ++tally.kernels;
  try {
    Engines(c, how, tally).run();
  } catch (const Mistake &mistake) {
    return mistake.what;
  } catch (const Error &error) {
    return error.render();
  } catch (const std::exception &error) {
    return error.what();
  }
  return std::nullopt;
}

} // namespace broadloom::differential
