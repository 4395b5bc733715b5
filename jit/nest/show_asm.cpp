// `--stage asm`: see show_asm.hpp.
//
// Problem: the code of a small kernel is hundreds of lines, of which some ten run nearly all the
// time, and nothing tells which statement of the loop program an instruction comes from.
// Method: the code is made once more, with the lines of the printed program as debug locations; the
// assembly printer turns them into `.loc` directives, which become comments here; their columns are
// the boxes of the block stage. A jump to a label further up closes a loop; of the innermost ones
// in the function of the most expensive phase, the one is shown that is made of the box with most
// turns, of those of the loop in which most of the time should go. Example, of `set z[i] = x[i] +
// y[i]`:
//
//   .LBB0_4:
//   # 10:     set z[i] = x[i] + y[i]
//   	vmovups	(%rdi,%r8,4), %zmm0
//   	vaddps	(%rsi,%r8,4), %zmm0, %zmm0
#include "jit/nest/show_asm.hpp"

#include "jit/native/backend.hpp"
#include "plan/cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

namespace broadloom::jit {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// A label that is a jump's target, or an instruction.
struct Excerpt {
  std::string_view text;
  bool label = false;
  int line = 0; // of the loop program; 0: none
  int box = -1; // of its blocks
};

// The second and the third number of "\t.loc\t1 12 5".
struct Location {
  int line = 0, column = 0;
};
Location location_in(std::string_view loc) {
  Location found;
  for (int *number : {&found.line, &found.column}) {
    loc.remove_prefix(std::min(loc.find(' ') + 1, loc.size()));
    std::from_chars(loc.data(), loc.data() + loc.size(), *number);
  }
  return found;
}

bool is_jump(std::string_view instruction) { return instruction.starts_with("\tj"); }

std::string_view label_name(std::string_view line) { return line.substr(0, line.find(':')); }

std::string_view jump_target(std::string_view instruction) {
  const std::size_t at = instruction.find(".LBB");
  if (at == instruction.npos) return {};
  const std::size_t end = instruction.find_first_of(" \t#", at);
  return instruction.substr(at, end == instruction.npos ? end : end - at);
}

// The function of a phase, without directives and comments.
std::vector<Excerpt> pieces_of(const std::vector<std::string_view> &lines, std::size_t phase) {
  const std::string name = phase_name(phase) + ":";
  std::vector<Excerpt> pieces;
  bool inside = false;
  Location at;
  for (const std::string_view text : lines) {
    if (text.starts_with(name)) inside = true;
    if (inside && text.starts_with(".Lfunc_end")) break;
    if (!inside) continue;
    if (text.starts_with("\t.loc\t"))
      at = location_in(text);
    else if (text.starts_with(".LBB"))
      pieces.push_back({text.substr(0, text.find(':') + 1), true});
    else if (text.starts_with('\t') && !text.starts_with("\t.") && !text.starts_with("\t#"))
      pieces.push_back({text, false, at.line, at.column - int(column_of(0))});
  }
  return pieces;
}

struct Range { // of pieces: first to last
  std::size_t first = 0, last = 0;
};

// Those that contain no other: from a label to a jump back to it.
std::vector<Range> innermost_loops(const std::vector<Excerpt> &pieces) {
  std::vector<Range> loops;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    if (pieces[p].label || !is_jump(pieces[p].text)) continue;
    const std::string_view target = jump_target(pieces[p].text);
    for (std::size_t q = 0; q < p; ++q)
      if (pieces[q].label && label_name(pieces[q].text) == target) loops.push_back({q, p});
  }
  std::vector<Range> innermost;
  for (const Range &loop : loops) {
    const bool has_other = std::any_of(loops.begin(), loops.end(), [&](const Range &other) {
      return loop.first <= other.first && other.last <= loop.last &&
             (loop.first != other.first || loop.last != other.last) && other.first != loop.first;
    });
    if (!has_other) innermost.push_back(loop);
  }
  return innermost;
}

// The loop in whose own body most of the time of a phase is predicted to go.
std::optional<loop::LoopId> costliest_loop(const loop::Program &program,
                                           const plan::Binding &binding, std::size_t phase) {
  const std::vector<plan::BodyCost> costs = plan::loop_costs(program, binding);
  std::optional<loop::LoopId> best;
  for (std::uint32_t k = 0; k < program.loops.size(); ++k)
    if (costs[k].phase == int(phase) && costs[k].turns > 0 &&
        (!best || costs[k].cycles > costs[best->index].cycles))
      best = loop::LoopId{k};
  return best;
}

// Those whose body is that of the loop.
void find_boxes(const block::Box &box, loop::LoopId loop, std::vector<const block::Box *> &found) {
  for (const block::Run &run : box.runs) {
    for (const block::Box &inner : run.boxes) {
      if (run.body_of(inner) == loop) found.push_back(&inner);
      find_boxes(inner, loop, found);
    }
  }
}

const block::Box *busiest_box(const block::Box &phase, loop::LoopId hot,
                              const std::vector<double> &turns) {
  std::vector<const block::Box *> boxes;
  find_boxes(phase, hot, boxes);
  const auto work = [&](const block::Box *box) {
    double all = turns[std::size_t(box->id)];
    for (const block::Dim &dim : box->dims)
      if (dim.as != block::As::Turns) all *= dim.count;
    return all;
  };
  const auto best =
      std::max_element(boxes.begin(), boxes.end(),
                       [&](const block::Box *a, const block::Box *b) { return work(a) < work(b); });
  return best == boxes.end() ? nullptr : *best;
}

// Which of the machine's loops is the one to show: it is made of the box, has non-temporal stores
// if any does, and is long.
Range hottest(const std::vector<Excerpt> &pieces, const std::vector<Range> &loops, int box) {
  const auto rank = [&](const Range &loop) {
    std::size_t ours = 0, count = 0;
    bool streams = false;
    for (std::size_t k = loop.first; k <= loop.last; ++k) {
      if (pieces[k].label) continue;
      ++count;
      ours += pieces[k].box == box;
      streams = streams || pieces[k].text.starts_with("\tvmovnt");
    }
    return std::tuple(2 * ours >= count, ours > 0, streams, ours);
  };
  return *std::max_element(loops.begin(), loops.end(),
                           [&](const Range &a, const Range &b) { return rank(a) < rank(b); });
}

// "# 10:     set z[i] = .."
std::string comment(int line, const std::vector<std::string_view> &listing) {
  if (line < 1 || std::size_t(line) > listing.size()) return "# (of no one line)\n";
  return fmt::format("# {}: {}\n", line, listing[std::size_t(line - 1)]);
}

std::string whole_text(const std::vector<std::string_view> &code,
                       const std::vector<std::string_view> &listing) {
  std::string text;
  int shown = -1;
  for (const std::string_view line : code) {
    if (line.starts_with(".Ltmp") || line.starts_with("\t.file")) continue;
    if (!line.starts_with("\t.loc\t")) {
      text += std::string(line) + "\n";
      if (line.starts_with("phase_")) shown = -1;
      continue;
    }
    if (const int now = location_in(line).line; now != shown) text += comment(shown = now, listing);
  }
  return text;
}

} // namespace

std::string asm_listing(const loop::Program &program, const block::Program &blocks,
                        const plan::Binding &binding, const Target &target, bool whole) {
  const loop::Listing listing = loop::list(program);
  const std::vector<std::string_view> program_lines = lines_of(listing.text);
  const std::string code = backend().asm_text(program, blocks, target, &listing);
  const std::vector<std::string_view> code_lines = lines_of(code);
  if (whole || program.phases.empty()) return whole_text(code_lines, program_lines);

  const auto &work = binding.phase_work;
  const auto phase = std::size_t(std::max_element(work.begin(), work.end()) - work.begin());
  const std::vector<Excerpt> pieces = pieces_of(code_lines, phase);
  const std::vector<Range> loops = innermost_loops(pieces);
  const loop::Numbers numbers = binding.numbers();
  const std::vector<double> turns = block::count_turns(program, blocks, numbers);
  const std::optional<loop::LoopId> hot = costliest_loop(program, binding, phase);
  const block::Box *box = hot ? busiest_box(blocks.phases[phase], *hot, turns) : nullptr;
  std::string text =
      fmt::format("# phase {} of {}, {}", phase, program.phases.size(), target.isa->name);
  Range range{0, pieces.empty() ? 0 : pieces.size() - 1};
  if (loops.empty() || box == nullptr || pieces.empty()) {
    text += ": no loop; `--all` prints all code\n";
  } else {
    text += fmt::format(": the hot loop, block {}{}, {:.0f} turns; `--all` prints all code\n",
                        block::print_dims(program, *box), box->masked ? ", masked" : "",
                        turns[std::size_t(box->id)]);
    range = hottest(pieces, loops, box->id);
  }
  int shown = -1;
  for (std::size_t k = range.first; k <= range.last && k < pieces.size(); ++k) {
    const Excerpt &piece = pieces[k];
    if (!piece.label && piece.line != shown) text += comment(shown = piece.line, program_lines);
    text += std::string(piece.text) + "\n";
  }
  return text;
}

} // namespace broadloom::jit
