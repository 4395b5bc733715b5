// Images of code, and the memory that they run in. That they compute what linked code does:
// native_runs.hpp, for every nest.
#include "jit/engine/object.hpp"
#include "tests/unit/loop_programs.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace broadloom::jit {
namespace {

Image image_of(const loop::Program &program) {
  const Target target = find_target("");
  std::optional<Image> image;
  link(generate(program, blocks_of(program, target), target), &image);
  REQUIRE(image.has_value());
  return *image;
}

std::string protection_at(const void *address) { // "r-xp"
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0, to = 0;
    char kind[5] = {};
    REQUIRE(std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, kind) == 3);
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (from <= at && at < to) return kind;
  }
  return {};
}

} // namespace

TEST_CASE("an image comes back from its text, and no part of the text is one") {
  const Image image = image_of(loop::test::row_sums());
  const std::string text = image.text();
  const std::optional<Image> read = Image::parse(text, 1);
  REQUIRE(read.has_value());
  CHECK(read->text() == text);
  CHECK(read->bytes == image.bytes);
  CHECK(!Image::parse(text, 2));
  CHECK(!Image::parse(text + "x", 1));
  for (std::size_t length = 0; length < text.size(); length += length < 200 ? 1 : 37)
    CHECK(!Image::parse(text.substr(0, length), 1));
}

TEST_CASE("an image whose numbers leave its bytes is none") {
  Image image;
  image.bytes = std::string(16, '\0');
  image.phases = {0};
  image.slots = {{8, 0, ""}};
  CHECK(Image::parse(image.text(), 1).has_value());
  image.slots[0].at = 9;
  CHECK(!Image::parse(image.text(), 1));
  image.slots[0].at = UINT32_MAX;
  CHECK(!Image::parse(image.text(), 1));
  image.slots.clear();
  image.phases = {16};
  CHECK(!Image::parse(image.text(), 1));
  std::string text = Image{std::string(16, '\0'), {}, {0}}.text();
  const std::uint32_t many = UINT32_MAX;
  std::memcpy(text.data() + 4, &many, sizeof many);
  CHECK(!Image::parse(text, 1));
}

TEST_CASE("the slots of an image hold where it lies and where functions lie") {
  Image image;
  image.bytes = std::string(16, '\0');
  image.slots = {{0, 8, ""}, {8, 0, "bl_libm_fmod_f64"}};
  const CodePiece piece = place(image);
  std::uint64_t held[2];
  std::memcpy(held, piece.begin(), sizeof held);
  CHECK(held[0] == reinterpret_cast<std::uintptr_t>(piece.begin()) + 8);
  CHECK(held[1] != 0);
  CHECK(protection_at(piece.begin()) == "r-xp");
  image.slots[1].symbol = "no_such_function";
  CHECK_THROWS_WITH_AS(static_cast<void>(place(image)), doctest::Contains("no_such_function"),
                       CompileError);
}

TEST_CASE("memory of code is used again, whatever the order in which it was given back") {
  CodeMemory &memory = CodeMemory::instance();
  const auto nothing = [](char *) {};
  std::vector<CodePiece> pieces;
  for (int k = 0; k < 6; ++k) pieces.push_back(memory.write(5000, nothing));
  const char *first = pieces[1].begin();
  for (const int k : {3, 1, 2}) pieces[std::size_t(k)] = CodePiece();
  const CodePiece again = memory.write(3 * 8192, nothing); // where three were
  CHECK(again.begin() == first);
  CHECK_THROWS_AS(
      static_cast<void>(memory.write(100, [](char *) { throw std::runtime_error("not filled"); })),
      std::runtime_error);
}

} // namespace broadloom::jit
