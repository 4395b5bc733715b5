// Any bytes as a .loom text: it is a list of kernels or a helpful error with a place in the text.
//
// What was read must survive its own canonical text: print(parse(print(k))) is print(k), and that
// text passes `check` where the kernel itself does.
#include "require.hpp"

#include <broadloom/broadloom.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace broadloom::fuzz {
namespace {

// The code of the error that `check` finds, "" where it finds none.
std::string checked(const LoopSpec &kernel) {
  try {
    check(kernel);
    return {};
  } catch (const InternalError &) {
    throw;
  } catch (const Error &error) {
    require_helpful(error);
    return error.code();
  }
}

void round_trip(const LoopSpec &kernel) {
  const std::string once = print(kernel);
  std::string twice, code;
  try {
    const LoopSpec again = parse(once);
    twice = print(again);
    code = checked(again);
  } catch (const InternalError &) {
    throw;
  } catch (const Error &error) {
    require(false, "the canonical text cannot be read:\n" + once + error.render());
  }
  require(once == twice, "printed:\n" + once + "and then:\n" + twice);
  const std::string first = checked(kernel);
  require(first.empty() == code.empty(),
          "check says '" + first + "', and of the canonical text '" + code + "':\n" + once);
}

} // namespace
} // namespace broadloom::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace broadloom;
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  std::vector<LoopSpec> kernels;
  try {
    kernels = parse_all(text);
  } catch (const InternalError &) {
    throw;
  } catch (const Error &error) {
    fuzz::require_place(error, text);
    const std::vector<Error> all = find_mistakes(text);
    fuzz::require(!all.empty(), "a text that cannot be read has no mistakes");
    return 0;
  }
  for (const LoopSpec &kernel : kernels) fuzz::round_trip(kernel);
  return 0;
}
