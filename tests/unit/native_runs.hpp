// Native code as a runner of runs.hpp: as it was linked, and as it runs elsewhere.
#pragma once

#include "tests/unit/runs.hpp"

#include "jit/engine/object.hpp"

namespace broadloom::jit::test {

inline loop::test::Runner runner_of(std::shared_ptr<const Code> code, std::string name) {
  return {std::move(name), [code = std::move(code)](
                               std::size_t phase, const loop::Frame &frame, const std::int64_t *lo,
                               const std::int64_t *hi) { code->phases()[phase](&frame, lo, hi); }};
}

inline loop::test::Runs native_runs(const loop::Program &program, const std::string &target = {}) {
  loop::verify(program);
  const Target machine = find_target(target);
  std::optional<Image> image;
  auto code = link(generate(program, blocks_of(program, machine), machine), &image);
  REQUIRE(image.has_value());
  const std::optional<Image> read = Image::parse(image->text(), program.phases.size());
  REQUIRE(read.has_value());
  auto moved = code_of(*read, code->blocks());
  return {program,
          {runner_of(std::move(code), target), runner_of(std::move(moved), target + ", moved")}};
}

} // namespace broadloom::jit::test
