// See run_case.hpp.
#include "bench/run_case.hpp"

#include "bench/hand_written.hpp"
#include "bench/paired.hpp"

#include "support/element.hpp"
#include "tools/broadloom/cli/workspace.hpp"

#include <broadloom/broadloom.hpp>
#include <broadloom/build.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <thread>

namespace bl = broadloom;

namespace bench {
namespace {

std::string read_text(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) throw TableError(fmt::format("cannot read the kernel '{}'", path));
  return {std::istreambuf_iterator<char>(file), {}};
}

// SERIAL becomes a number that no cache has seen: it differs from all of this process and, as good
// as always, of those before. Below 2^24, so that it also differs as an f32.
std::string with_serial(std::string text) {
  static std::int64_t serial =
      std::chrono::system_clock::now().time_since_epoch().count() / 1000 % 16000000;
  const std::size_t at = text.find("SERIAL");
  return at == text.npos ? text : text.replace(at, 6, std::to_string(++serial));
}

bl::LoopSpec spec_of(const Case &c, const std::string &text) {
  bl::LoopSpec spec = bl::parse(c.first ? with_serial(text) : text);
  return c.wrt.empty() ? spec : bl::gradient(spec, c.wrt);
}

// A case that is ready to be called.
struct Ready {
  std::string text;
  std::shared_ptr<const bl::BuiltKernel> built; // where it is called as built
  std::vector<bl::InputInfo> infos;             // of all inputs, those that are frozen among them
  std::vector<bl::Array> inputs, outputs;
  std::vector<bl::AnyView> in, out;
  std::optional<bl::Kernel> kernel;
  std::optional<bl::BoundCall> bound;
};

// Freezes what the case says. The inputs of the call are those that are left.
void freeze(const Case &c, Ready &ready) {
  std::vector<bl::NamedView> frozen;
  for (std::size_t k = 0; k < ready.infos.size(); ++k)
    if (std::ranges::find(c.freeze, ready.infos[k].name) != c.freeze.end())
      frozen.push_back({ready.infos[k].name, ready.inputs[k]});
    else
      ready.in.push_back(ready.inputs[k]);
  if (frozen.size() != c.freeze.size())
    throw TableError(fmt::format("{}: freeze= names {} inputs, of which the kernel has {}", c.id,
                                 c.freeze.size(), frozen.size()));
  if (!frozen.empty()) ready.kernel = ready.kernel->freeze(frozen);
}

void allocate_and_bind(Ready &ready) {
  const std::vector<bl::OutputInfo> results = ready.kernel->outputs();
  const std::vector<bl::Signature> signatures = ready.kernel->infer(ready.in);
  for (std::size_t k = 0; k < signatures.size(); ++k)
    ready.outputs.push_back(bl::cli::make_output(results[k], {k, {}}, signatures[k]));
  ready.out.assign(ready.outputs.begin(), ready.outputs.end());
  ready.kernel->run(ready.in, ready.out);
  ready.bound = ready.kernel->bind(ready.in, ready.out);
}

Ready make_ready(const Case &c, const std::string &cases_folder) {
  Ready ready;
  ready.text = read_text(cases_folder + '/' + c.kernel + ".loom");
  const bl::LoopSpec spec = spec_of(c, ready.text);
  if (c.built) ready.built = std::make_shared<const bl::BuiltKernel>(bl::build(spec));
  ready.kernel = c.built ? bl::load(ready.built->data) : bl::compile(spec);
  ready.infos = ready.kernel->inputs();
  ready.inputs =
      bl::cli::read_inputs(ready.infos, bl::cli::match_inputs(c.id, ready.infos, c.inputs));
  freeze(c, ready);
  allocate_and_bind(ready);
  return ready;
}

// Another kernel of ours, on the arrays of those inputs that it has.
Ready make_beside(const std::string &kernel, const bl::LoopSpec &spec, const Ready &ready) {
  Ready other;
  other.kernel = bl::compile(spec);
  other.infos = other.kernel->inputs();
  for (const bl::InputInfo &info : other.infos) {
    const auto found =
        std::ranges::find_if(ready.infos, [&](const auto &have) { return have.name == info.name; });
    if (found == ready.infos.end())
      throw TableError(fmt::format("'{}' reads '{}', which the case does not give; give it there",
                                   kernel, info.name));
    other.inputs.push_back(ready.inputs[std::size_t(found - ready.infos.begin())]);
  }
  other.in.assign(other.inputs.begin(), other.inputs.end());
  allocate_and_bind(other);
  return other;
}

template <class F> double timed(int repeat, const F &call) {
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < repeat; ++k) call();
  return seconds_since(start) / repeat;
}

// From the parsed spec to the first result.
double time_first_call(const Case &c, const Ready &ready) {
  const bl::LoopSpec spec = spec_of(c, ready.text);
  const bl::Engine engine = c.tiered ? bl::Engine::tiered : bl::Engine::automatic;
  return timed(1, [&] { bl::compile(spec, {.engine = engine}).run(ready.in, ready.out); });
}

// From the bytes in the object file to the first result.
double time_first_call_of_built(const Ready &ready) {
  return timed(1, [&] { bl::load(ready.built->data).run(ready.in, ready.out); });
}

// As a program calls that has pointers and sizes.
double time_with_new_views(const Case &c, const Ready &ready, int repeat) {
  const auto fits = [](const bl::Array &array) {
    return array.dtype() == bl::DType::F32 && array.rank() == 1;
  };
  if (ready.inputs.size() != 3 || ready.outputs.size() != 1 ||
      !std::ranges::all_of(ready.inputs, fits) || !fits(ready.outputs[0]))
    throw TableError(fmt::format("{}: via=views is for three inputs and an output of f32 and one "
                                 "dim; leave it out",
                                 c.id));
  using In = bl::View<const float>;
  const auto *x = ready.inputs[0].data<float>(), *y = ready.inputs[1].data<float>(),
             *z = ready.inputs[2].data<float>();
  auto *out = ready.outputs[0].data<float>();
  const std::int64_t size = ready.outputs[0].size();
  return timed(repeat, [&] {
    ready.kernel->run({In(x, {size}), In(y, {size}), In(z, {size})},
                      {bl::View<float>(out, {size})});
  });
}

// By Kernel::run, while another thread calls the same kernel on arrays of its own that have half as
// many positions along the first dim.
double time_beside_another(const Ready &ready, int repeat) {
  const auto half = [](const bl::Array &whole) {
    bl::Array array = whole.copy();
    bl::Layout layout = array.layout();
    if (layout.rank > 0) layout.extents[0] = (layout.extents[0] + 1) / 2;
    return std::pair(array, bl::AnyView::of(array.dtype(), array.raw(), layout));
  };
  std::vector<bl::Array> kept;
  std::vector<bl::AnyView> in, out;
  for (const auto &[arrays, views] :
       {std::pair(&ready.inputs, &in), std::pair(&ready.outputs, &out)})
    for (const bl::Array &whole : *arrays) {
      const auto [array, view] = half(whole);
      kept.push_back(array);
      views->push_back(view);
    }
  ready.kernel->run(in, out);
  std::atomic<bool> runs{false}, stop{false};
  std::thread other([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      ready.kernel->run(in, out);
      runs.store(true, std::memory_order_relaxed);
    }
  });
  while (!runs) std::this_thread::yield();
  const double seconds = timed(repeat, [&] { ready.kernel->run(ready.in, ready.out); });
  stop = true;
  other.join();
  return seconds;
}

Participant ours(const Case &c, const Ready &ready) {
  if (c.first && c.built)
    return {"ours", [&](int) { return time_first_call_of_built(ready); }, true};
  if (c.first) return {"ours", [&](int) { return time_first_call(c, ready); }, true};
  switch (c.via) {
  case Case::Via::Bound: return {"ours", [&](int repeat) { return timed(repeat, *ready.bound); }};
  case Case::Via::Run:
    return {"ours", [&](int repeat) {
              return timed(repeat, [&] { ready.kernel->run(ready.in, ready.out); });
            }};
  case Case::Via::Views:
    return {"ours", [&](int repeat) { return time_with_new_views(c, ready, repeat); }};
  case Case::Via::Shared:
    return {"ours", [&](int repeat) { return time_beside_another(ready, repeat); }};
  }
  return {};
}

std::int64_t bytes_of(const bl::Array &array) {
  return array.size() * std::int64_t(bl::size_of(array.dtype()));
}

struct Traffic {
  std::int64_t read = 0, write = 0, elements = 0;
};
Traffic traffic_of(const Case &c, const Ready &ready) {
  Traffic traffic;
  for (const bl::Array &input : ready.inputs) {
    traffic.read += bytes_of(input);
    traffic.elements = std::max(traffic.elements, input.size());
  }
  for (const bl::Array &output : ready.outputs) {
    traffic.write += bytes_of(output);
    traffic.elements = std::max(traffic.elements, output.size());
  }
  if (c.read_bytes > 0) traffic.read = c.read_bytes;
  return traffic;
}

void describe_compile(const Ready &ready, Row &row) {
  const bl::Counters counters = ready.kernel->counters();
  row.compile_ms = counters.compile_ms;
  row.cache = counters.interpreted > 0 ? "interpreted" : counters.compiles > 0 ? "miss" : "memory";
  for (const bl::Decision &decision : ready.kernel->why()) {
    row.why += fmt::format("{}: {}\n", decision.topic, decision.text);
    // "1588 bytes; 1 pattern compiled .."
    char *end = nullptr;
    const long long bytes = std::strtoll(decision.text.c_str(), &end, 10);
    if (decision.topic == "code" && std::string_view(end).starts_with(" bytes"))
      row.code_bytes = bytes;
  }
}

struct Field { // the participants beside ours, and what they are in the row
  std::vector<Participant> participants;
  std::vector<Probe::Way> ways;       // participants from first_way on
  std::size_t first_way = 0, fma = 0; // 0: there is none
  std::vector<std::size_t> peers;     // participants, for each entry of `rows`
  std::vector<PeerRow> rows;
  std::vector<PeerRow> failed;
};

void add_hand_written(const Case &c, const Ready &ready, Field &field) {
  for (HandWritten &hand : find_hand_written(c.peer_key(), ready.inputs, ready.outputs)) {
    hand.call();
    PeerRow row;
    row.name = hand.name;
    for (std::size_t k = 0; k < ready.outputs.size(); ++k)
      row.error = std::max(row.error, difference(hand.outputs[k], ready.outputs[k]));
    if (!(row.error <= c.tolerance)) row.status = PeerRow::Status::Wrong;
    field.rows.push_back(row);
    field.peers.push_back(field.participants.size());
    field.participants.push_back(
        {hand.name, [call = hand.call](int repeat) { return timed(repeat, call); }});
  }
}

// In the same rounds, with a result that differs by at most `tolerance`.
void add_beside(const std::string &name, const std::shared_ptr<const Ready> &other,
                double tolerance, const Ready &ready, Field &field) {
  PeerRow row;
  row.name = name;
  for (std::size_t k = 0; k < ready.outputs.size(); ++k)
    row.error = std::max(row.error, difference(other->outputs.at(k), ready.outputs[k]));
  if (!(row.error <= tolerance)) row.status = PeerRow::Status::Wrong;
  field.rows.push_back(row);
  field.peers.push_back(field.participants.size());
  field.participants.push_back(
      {name, [other](int repeat) { return timed(repeat, *other->bound); }});
}

void add_kernels_beside(const Case &c, const Ready &ready, const Bench &bench, Field &field) {
  for (const std::string &kernel : c.beside) {
    const bl::LoopSpec spec = bl::parse(read_text(bench.cases_folder + '/' + kernel + ".loom"));
    add_beside(kernel, std::make_shared<const Ready>(make_beside(kernel, spec, ready)), c.tolerance,
               ready, field);
  }
}

// Beside a kernel that was built ahead: the same one, compiled, which has the same bits.
void add_compiled(const Case &c, const Ready &ready, Field &field) {
  const bl::Counters counters = ready.kernel->counters();
  if (counters.compiles > 0 || counters.interpreted > 0)
    throw std::runtime_error("the code that was built is not what runs");
  const bl::LoopSpec &spec = ready.kernel->spec();
  add_beside("compiled", std::make_shared<const Ready>(make_beside(c.kernel, spec, ready)), 0,
             ready, field);
  if (c.first)
    field.participants.back() = {"compiled", [&](int) { return time_first_call(c, ready); }, true};
}

void add_peers(const Case &c, const Ready &ready, const Bench &bench, Field &field) {
  if (bench.peers == nullptr) return;
  std::vector<PeerRow> rows =
      bench.peers->prepare(c, ready.inputs, ready.outputs, bench.data_folder);
  // They have read the files, which may be large and lie in memory.
  for (const auto &file : std::filesystem::directory_iterator(bench.data_folder))
    std::filesystem::remove(file);
  for (PeerRow &row : rows) {
    if (row.status == PeerRow::Status::Failed) {
      field.failed.push_back(std::move(row));
      continue;
    }
    field.peers.push_back(field.participants.size());
    field.participants.push_back({row.name,
                                  [peers = bench.peers, name = row.name](int repeat) {
                                    return peers->seconds(name, repeat);
                                  },
                                  c.first});
    field.rows.push_back(std::move(row));
  }
}

void add_roof(const Case &c, const Traffic &traffic, const Bench &bench, Field &field) {
  if (c.overhead) return;
  field.ways = bench.probe->ways(mix_for(traffic.read, traffic.write));
  field.first_way = field.participants.size();
  for (const Probe::Way &way : field.ways)
    field.participants.push_back({way.name, [call = way.call, scale = way.scale](int repeat) {
                                    return timed(repeat, call) * scale;
                                  }});
  if (c.ops == 0) return;
  field.fma = field.participants.size();
  const double operations = c.ops * double(traffic.elements);
  field.participants.push_back({"arithmetic",
                                [probe = bench.probe, operations](int) {
                                  return operations / probe->operations_per_second();
                                },
                                true});
}

// The fastest way to move the bytes, or the operations where these take longer.
std::optional<Roof> roof_of(const Field &field, const Rounds &rounds) {
  if (field.first_way == 0) return std::nullopt;
  std::size_t best = 0;
  for (std::size_t k = 1; k < field.ways.size(); ++k)
    if (rounds.median(field.first_way + k) < rounds.median(field.first_way + best)) best = k;
  const std::size_t at = field.first_way + best;
  Roof roof{field.ways[best].name, rounds.median(at),
            field.ways[best].gb * field.ways[best].scale / rounds.median(at), rounds.ratio(at, 0)};
  if (field.fma > 0 && rounds.median(field.fma) > roof.seconds)
    roof = {"arithmetic", rounds.median(field.fma), 0, rounds.ratio(field.fma, 0)};
  return roof;
}

Row run_ready(const Case &c, const Bench &bench, const Ready &ready, Row row) {
  const Traffic traffic = traffic_of(c, ready);
  row.elements = traffic.elements;
  row.bytes = traffic.read + traffic.write;
  describe_compile(ready, row);

  Field field;
  field.participants.push_back(ours(c, ready));
  if (c.built) {
    add_compiled(c, ready, field);
  } else {
    add_hand_written(c, ready, field);
    add_kernels_beside(c, ready, bench, field);
    add_peers(c, ready, bench, field);
  }
  add_roof(c, traffic, bench, field);
  const std::size_t first_scaled = field.participants.size();
  if (!c.first && c.via == Case::Via::Bound)
    for (const int threads : bench.threads)
      field.participants.push_back(
          {"ours", [call = ready.kernel->with_threads(threads).bind(ready.in, ready.out)](
                       int repeat) { return timed(repeat, call); }});
  const Rounds rounds = alternate(field.participants, bench.limits);
  if (bench.peers != nullptr) bench.peers->drop();

  if (!c.first && c.via == Case::Via::Bound && ready.kernel->engine() == bl::Engine::jit)
    row.predicted = ready.kernel->predict().seconds;
  row.seconds = rounds.median(0);
  row.low = rounds.quantile(0, 0.25);
  row.high = rounds.quantile(0, 0.75);
  row.rounds = std::int64_t(rounds.seconds[0].size());
  row.roof = roof_of(field, rounds);
  for (std::size_t k = first_scaled; k < field.participants.size(); ++k)
    row.scaling.push_back({bench.threads[k - first_scaled], rounds.median(k)});
  for (std::size_t k = 0; k < field.rows.size(); ++k) {
    PeerRow peer = field.rows[k];
    peer.seconds = rounds.median(field.peers[k]);
    peer.ratio = rounds.ratio(0, field.peers[k]);
    row.peers.push_back(std::move(peer));
  }
  row.peers.insert(row.peers.end(), field.failed.begin(), field.failed.end());
  return row;
}

} // namespace

Row run_case(const Case &c, const Bench &bench) {
  Row row;
  row.id = c.id;
  row.title = c.title;
  try {
    return run_ready(c, bench, make_ready(c, bench.cases_folder), row);
  } catch (const PeerError &) {
    throw;
  } catch (const bl::Error &error) {
    row.failure = error.render();
  } catch (const std::runtime_error &error) {
    row.failure = error.what();
  }
  return row;
}

double difference(const bl::Array &theirs, const bl::Array &ours) {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (theirs.dtype() != ours.dtype() || !std::ranges::equal(theirs.shape(), ours.shape()))
    return never;
  const bl::Array a = theirs.copy(), b = ours.copy();
  return bl::support::with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (bl::support::is_complex_type<T>) {
      return never; // no case has complex numbers
    } else {
      double squares = 0, worst = 0;
      const std::int64_t n = a.size();
      for (std::int64_t k = 0; k < n; ++k) {
        const double value = double(b.data<T>()[k]);
        squares += value * value;
      }
      const double size = n > 0 ? std::sqrt(squares / double(n)) : 0;
      for (std::int64_t k = 0; k < n; ++k) {
        const double x = double(a.data<T>()[k]), y = double(b.data<T>()[k]);
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        const double off = std::abs(x - y) / std::max(std::abs(y), size);
        if (!(off <= worst)) worst = std::isnan(off) ? never : off;
      }
      return worst;
    }
  });
}

} // namespace bench
