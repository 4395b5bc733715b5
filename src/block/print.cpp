// The blocks as lines for people: see block.hpp.
//
//   phase 0:
//     parallel for i.chunk: turn by turn
//       block i.chunk 1 turn                         # 4 turns
//         for i within i.chunk: unroll-and-jam
//           block i 4 copies                         # 1024 turns
//             ..
#include "block/rules.hpp"
#include "block/text.hpp"

#include "loop/nest_text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace broadloom::block {

using namespace loop;

namespace {

class Printer {
public:
  Printer(const loop::Program &program, const Program &blocks, const Numbers *numbers)
      : program_(program), blocks_(blocks) {
    if (numbers != nullptr) turns_ = count_turns(program, blocks, *numbers);
  }

  std::string run() {
    const Machine &m = blocks_.machine;
    line(0, fmt::format("blocks of {}: {} registers of {} bits{}{}{}", loop::quoted(program_.name),
                        m.registers, m.vector_bits, m.masks_free ? ", masks" : "",
                        m.gathers ? ", gathers" : "",
                        m.warp > 0 ? fmt::format(", warps of {}", m.warp) : ""));
    for (std::size_t p = 0; p < blocks_.phases.size(); ++p) {
      line(0, "");
      line(0, fmt::format("phase {}:", p));
      body(blocks_.phases[p], 1);
    }
    return std::move(out_);
  }

private:
  void line(int depth, const std::string &words) {
    if (!words.empty()) out_.append(std::size_t(depth) * 2, ' ');
    out_ += words + "\n";
  }

  void body(const Box &box, int depth) {
    for (const bool store : {false, true})
      for (const Access &access : box.accesses)
        if (access.store == store) line(depth, text(access, store ? "store " : "load "));
    for (const Run &run : box.runs) this->run(run, depth);
  }

  std::string text(const Access &access, const char *verb) const {
    std::string words =
        verb + unique_name(program_, access.buffer) + ": " + name(access.move, access.store);
    if (access.shared) words += std::string(", ") + shared_rows;
    if (access.prefetch.lines) words += std::string(", ") + prefetch_lines;
    if (access.prefetch.steps) words += std::string(", ") + prefetch_steps;
    if (access.prefetch.block) words += std::string(", ") + prefetch_block;
    return words;
  }

  void run(const Run &run, int depth) {
    const Loop &l = program_[run.loop];
    std::string words = fmt::format(
        "{}for {}{}", l.parallel ? "parallel " : "", loop::quoted(program_[l.axis].name),
        l.within ? " within " + loop::quoted(program_[*l.within].name) : "");
    if (l.reverse) words += ", reverse";
    line(depth, words + ": " + name(run.shape));
    for (const Box &box : run.boxes) {
      words = fmt::format("{} {}{}", box.rest ? "rest" : "block", print_dims(program_, box),
                          box.masked ? ", masked" : "");
      if (!turns_.empty()) {
        const double turns = std::round(turns_[std::size_t(box.id)]);
        constexpr std::size_t comments_at = 56;
        const std::size_t column = std::size_t(depth + 1) * 2 + words.size();
        words.append(column + 2 < comments_at ? comments_at - column : 2, ' ');
        words += fmt::format("# {:.0f} turn{}", turns, turns == 1 ? "" : "s");
        if (run.shape == Shape::RowTile && turns > 0 && !box.rest &&
            may_repeat_rows(program_, program_[run.loop]))
          words += ", the last up to the end";
      }
      line(depth + 1, words);
      if (turns_.empty() || turns_[std::size_t(box.id)] > 0) body(box, depth + 2);
    }
  }

  const loop::Program &program_;
  const Program &blocks_;
  std::vector<double> turns_;
  std::string out_;
};

} // namespace

std::string print_dims(const loop::Program &program, const Box &box) {
  std::string words;
  const loop::AxisId *before = nullptr;
  for (const Dim &dim : box.dims) {
    const bool same = before != nullptr && *before == dim.axis;
    const char *as = dim.as == As::Lanes ? "lane" : dim.as == As::Copies ? "copy" : "turn";
    const std::string many = dim.count == 1         ? as
                             : dim.as == As::Copies ? (dim.leaves ? "leaves" : "copies")
                                                    : std::string(as) + "s";
    words += (words.empty() ? "" : " x ") +
             (same ? "" : loop::quoted(program[dim.axis].name) + " ") + std::to_string(dim.count) +
             " " + many + (dim.as == As::Lanes && dim.leaves ? " of leaves" : "");
    before = &dim.axis;
  }
  return words;
}

std::string print(const loop::Program &program, const Program &blocks, const Numbers *numbers) {
  return Printer(program, blocks, numbers).run();
}

} // namespace broadloom::block
