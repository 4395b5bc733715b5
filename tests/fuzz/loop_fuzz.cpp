// Any bytes as the text of a loop program: it is one that keeps the rules, or a helpful error with a place in the text.
//
// What was read must survive its own complete text: write(parse(write(p))) is write(p), with the same key. What has few
// positions then runs in the interpreter, on memory of exactly the size that its walks reach.
#include "require.hpp"

#include "loop/loop.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace broadloom::fuzz {
namespace {

using loop::AxisId;
using loop::Program;

constexpr std::int64_t most_turns = 20000;

void round_trip(const Program &program) {
  const std::string once = loop::write(program);
  try {
    const Program again = loop::parse(once);
    require(loop::key(again) == loop::key(program), "another program comes back:\n" + once);
    require(loop::write(again) == once, "another text comes back:\n" + once);
    require(loop::print(again) == loop::print(program), "another page comes back:\n" + once);
  } catch (const InternalError &) {
    throw;
  } catch (const Error &error) {
    require(false, "the complete text cannot be read:\n" + once + error.render());
  }
}

// Extents, chunks and strides for a program: small, of various sizes by `seed`, and as its loops and walks ask.
class Layouts {
public:
  Layouts(const Program &program, std::uint64_t seed) : p_(program), axes_(p_.axes.size()) {
    extents.resize(axes_);
    chunks.assign(axes_, 0);
    for (std::size_t a = 0; a < axes_; ++a) {
      constexpr std::int64_t sizes[] = {0, 1, 2, 3, 5, 17, 40};
      extents[a] = sizes[(seed >> (a % 16 * 4)) % std::size(sizes)];
    }
    for (const loop::Loop &l : p_.loops) {
      if (l.turns > 0) extents[l.axis.index] = l.turns;
      if (l.within) chunks[l.axis.index] = std::max<std::int64_t>(l.leaf, 1);
    }
    if (turns() > most_turns)
      for (std::int64_t &extent : extents) extent = std::min<std::int64_t>(extent, 1);
    for (std::size_t a = 0; a < axes_; ++a) {
      if (!p_.axes[a].chunks_of) continue;
      const std::uint32_t of = p_.axes[a].chunks_of->index;
      std::int64_t &chunk = chunks[of];
      if (chunk == 0) chunk = 2;
      extents[a] = (extents[of] + chunk - 1) / chunk;
    }
    strides.assign(p_.buffers.size() * axes_, 0);
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) place(b);
  }

  // Positions of all innermost loops together, but for chunks; most_turns + 1 for any number beyond.
  std::int64_t turns() const {
    std::int64_t sum = 0;
    for (const loop::Phase &phase : p_.phases) sum += turns(phase.body, 1);
    return std::min(sum, most_turns + 1);
  }

  bool verifies() const {
    try {
      loop::verify_numbers(p_, {extents, chunks, strides});
      return true;
    } catch (const InternalError &) { // the numbers here are guessed
      return false;
    }
  }

  void run() {
    std::vector<char *> bases;
    for (std::vector<char> &bytes : memory_) bases.push_back(bytes.data());
    const loop::Frame frame{1, extents.data(), chunks.data(), strides.data(), bases.data()};
    for (std::size_t p = 0; p < p_.phases.size(); ++p) {
      std::vector<std::int64_t> lo, hi;
      for (const AxisId axis : p_.phases[p].parallel) {
        lo.push_back(0);
        hi.push_back(extents[axis.index]);
      }
      loop::interpret(p_, p, frame, lo.data(), hi.data());
    }
  }

  std::vector<std::int64_t> extents, chunks, strides;

private:
  std::int64_t turns(const std::vector<loop::Stmt> &body, std::int64_t around) const {
    std::int64_t sum = around * std::int64_t(body.size());
    for (const loop::Stmt &s : body) {
      if (s.kind != loop::StmtKind::Loop) continue;
      const std::int64_t extent = std::max<std::int64_t>(extents[p_[s.loop].axis.index], 1);
      const std::int64_t inside = std::min(around * extent, most_turns + 1);
      sum = std::min(sum + turns(p_[s.loop].body, inside), most_turns + 1);
    }
    return sum;
  }

  void place(std::size_t b) {
    const loop::Buffer &buffer = p_.buffers[b];
    std::int64_t next = 1, last = 0;
    bool empty = false;
    for (std::size_t w = buffer.walks.size(); w-- > 0;) {
      const loop::Walk &walk = buffer.walks[w];
      const std::int64_t extent = extents[walk.axis.index];
      const bool unit = walk.stride == loop::StrideClass::Unit;
      const std::int64_t stride = unit ? 1 : next;
      next = std::min<std::int64_t>(stride * std::max<std::int64_t>(extent, 1), 1000);
      strides[b * axes_ + walk.axis.index] = stride;
      last += stride * std::max<std::int64_t>(extent - 1, 0);
      empty = empty || extent == 0;
    }
    const std::size_t size = size_of(buffer.dtype);
    memory_.emplace_back(empty ? 0 : std::size_t(last + 1) * size, char(0));
    for (std::size_t k = 0; k < memory_.back().size(); k += size)
      ops::store(memory_.back().data() + k, buffer.dtype,
                 ops::convert(ops::scalar_from(double(k % 7) - 1.5), DType::F64, buffer.dtype));
  }

  const Program &p_;
  const std::size_t axes_;
  std::vector<std::vector<char>> memory_; // [buffer]
};

} // namespace
} // namespace broadloom::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace broadloom;
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  loop::Program program;
  try {
    program = loop::parse(text);
  } catch (const InternalError &) {
    throw;
  } catch (const Error &error) {
    fuzz::require_helpful(error);
    const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
    const Place &where = error.where();
    fuzz::require(where.known() && where.line <= lines && where.column >= 1 && where.length >= 1,
                  "a place outside the text: " + error.render());
    return 0;
  }
  fuzz::round_trip(program);
  std::uint64_t seed = 0xcbf29ce484222325; // FNV-1a of the text
  for (const char c : text) seed = (seed ^ std::uint8_t(c)) * 0x100000001b3;
  fuzz::Layouts layouts(program, seed);
  if (layouts.turns() <= fuzz::most_turns && layouts.verifies()) layouts.run();
  return 0;
}
