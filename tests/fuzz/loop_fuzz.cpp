// Any bytes as the text of a loop program: it is one that keeps the rules, or a helpful error with
// a place in the text.
//
// What was read must survive its own complete text: write(parse(write(p))) is write(p), with the
// same key. What has few positions then runs in the interpreter, on memory of exactly the size that
// its walks reach.
#include "layouts.hpp"
#include "require.hpp"

#include "loop/loop.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace broadloom::fuzz {
namespace {

using loop::Program;

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
    fuzz::require_place(error, text);
    return 0;
  }
  fuzz::round_trip(program);
  fuzz::Layouts layouts(program, fuzz::hash_of(text));
  if (layouts.turns() > fuzz::most_turns || !layouts.verifies()) return 0;
  layouts.run([&](std::size_t phase, const loop::Frame &frame, const std::int64_t *lo,
                  const std::int64_t *hi) { loop::interpret(program, phase, frame, lo, hi); });
  return 0;
}
