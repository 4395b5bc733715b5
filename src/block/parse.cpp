// The text of print(), read back: see block.hpp.
//
//   blocks of k: 32 registers of 512 bits, masks, gathers
//
//   phase 0:
//     for i: unroll-and-jam
//       block i 4 copies
//         for j: a map
//           ..
//
// Loops stand in the order of the loop program, which says what their bodies are; the turns behind
// `#` are a comment.
#include "block/text.hpp"

#include "loop/nest_text.hpp"

namespace broadloom::block {

using namespace loop;

namespace {

// blocks of k: 32 registers of 512 bits, masks, gathers
// blocks of k: 64 registers of 32 bits, masks, warps of 32
Machine header(const NestText &source) {
  if (source.lines.empty())
    fail_at(source, 1, 0, 0, "E0801", "a text without blocks",
            "it begins with: blocks of NAME: ..");
  Cursor line(source, source.lines[0]);
  if (source.lines[0].depth != 0) line.unexpected("the first line without indentation");
  line.expect("blocks");
  line.expect("of");
  line.name("the name of the program");
  line.expect(":");
  Machine machine;
  constexpr std::uint64_t many = 1 << 16;
  machine.registers = int(line.integer("a number of registers", many));
  line.expect("registers");
  line.expect("of");
  machine.vector_bits = int(line.integer("a number of bits", many));
  line.expect("bits");
  while (line.accept(",")) {
    if (line.accept("masks")) {
      machine.masks_free = true;
      machine.least_masked_move = 1;
    } else if (line.accept("warps")) {
      line.expect("of");
      machine.warp = int(line.integer("a number of threads", many));
    } else {
      line.expect("gathers");
      machine.gathers = true;
    }
  }
  line.expect_end();
  return machine;
}

class Parser {
public:
  Parser(const loop::Program &program, const NestText &source)
      : program_(program), source_(source) {}

  Program run() {
    blocks_.weights = weigh(program_);
    blocks_.machine = header(source_);
    for (std::size_t p = 0; p < program_.phases.size(); ++p) {
      Cursor line = expect_line(0, "a phase");
      line.expect("phase");
      if (line.integer("the number of the phase", program_.phases.size()) != p)
        line.fail(line.peek(), "phases stand in their order",
                  "this one is phase " + std::to_string(p));
      line.expect(":");
      line.expect_end();
      blocks_.surveys.push_back(survey(program_, p, blocks_.weights));
      Box &box = blocks_.phases.emplace_back();
      box.id = new_box();
      body(box, program_.phases[p].body, 1);
    }
    if (at_ < source_.lines.size()) cursor().unexpected("no more lines");
    check();
    return std::move(blocks_);
  }

private:
  Cursor cursor() const { return Cursor(source_, source_.lines[at_]); }
  bool deeper(int depth) const {
    return at_ < source_.lines.size() && source_.lines[at_].depth >= depth;
  }

  // The next line, of this depth.
  Cursor expect_line(int depth, const char *what) {
    if (at_ == source_.lines.size())
      Cursor(source_, source_.lines.back())
          .fail(source_.lines.back().tokens[0], std::string("the text ends before ") + what,
                "write it below");
    if (source_.lines[at_].depth != depth)
      cursor().fail(source_.lines[at_].tokens[0],
                    std::string("expected ") + what + " at another indentation",
                    "it is indented by " + std::to_string(2 * depth) + " spaces");
    return Cursor(source_, source_.lines[at_++]);
  }

  int new_box() {
    lines_.push_back(at_ - 1);
    return blocks_.boxes++;
  }

  // The accesses and runs of a box; `statements` tell which loops there are.
  void body(Box &box, const std::vector<Stmt> &statements, int depth) {
    std::vector<LoopId> loops;
    for (const Stmt &s : statements)
      if (s.kind == StmtKind::Loop) loops.push_back(s.loop);
    while (deeper(depth)) {
      Cursor line = expect_line(depth, "a load, a store or a loop");
      if (line.is("load") || line.is("store")) {
        access(box, line);
        continue;
      }
      if (box.runs.size() == loops.size())
        line.fail(line.peek(), "a loop that the body does not have",
                  "the loop program has " + std::to_string(loops.size()) + " here");
      box.runs.push_back(run(loops[box.runs.size()], line, depth));
    }
    if (box.runs.size() < loops.size())
      Cursor(source_, source_.lines[at_ - 1])
          .fail(source_.lines[at_ - 1].tokens[0],
                "the loop over " + program_[program_[loops[box.runs.size()]].axis].name +
                    " is missing",
                "every loop of the body has its line");
  }

  void access(Box &box, Cursor &line) {
    Access access;
    access.store = line.accept("store");
    if (!access.store) line.expect("load");
    const Token at = line.peek();
    const Cursor::Name name = line.name("a buffer");
    const std::optional<BufferId> buffer = buffer_called(program_, name.key);
    if (!buffer)
      line.fail(at, "there is no buffer '" + name.name + "'", "use a name of the loop program");
    access.buffer = *buffer;
    line.expect(":");
    const std::optional<Move> move = move_called(words(line), access.store);
    if (!move)
      line.fail(line.peek(), "no way to move a buffer", "one of: " + all_moves(access.store));
    access.move = *move;
    while (line.accept(",")) {
      const Token first = line.peek();
      const std::string ahead = words(line);
      if (ahead == shared_rows)
        access.shared = true;
      else if (ahead == prefetch_lines)
        access.prefetch.lines = true;
      else if (ahead == prefetch_steps)
        access.prefetch.steps = true;
      else if (ahead == prefetch_block)
        access.prefetch.block = true;
      else
        line.fail(first, "no way to prefetch",
                  std::string("one of: ") + prefetch_lines + "; " + prefetch_steps + "; " +
                      prefetch_block + "; " + shared_rows);
    }
    line.expect_end();
    box.accesses.push_back(access);
  }

  // The words up to a comma, a colon or the end.
  static std::string words(Cursor &line) {
    std::string text;
    while (!line.ends() && !line.is(",") && !line.is(":")) {
      const std::string_view word = line.next().text;
      const bool joins = text.ends_with('-') || word == "-";
      text += (text.empty() || joins ? "" : " ") + std::string(word);
    }
    return text;
  }

  Run run(LoopId id, Cursor &line, int depth) {
    const Loop &loop = program_[id];
    Run run{id, Shape::Turns, {}, {}};
    if (loop.parallel) line.expect("parallel");
    line.expect("for");
    const Token at = line.peek();
    if (line.name("an axis").name != program_[loop.axis].name)
      line.fail(at, "another loop than the program has here",
                "this one is over " + program_[loop.axis].name);
    if (loop.within) {
      line.expect("within");
      const Token chunks = line.peek();
      if (line.name("an axis").name != program_[*loop.within].name)
        line.fail(chunks, "other chunks than the program has here",
                  "these are of " + program_[*loop.within].name);
    }
    if (loop.reverse) {
      line.expect(",");
      line.expect("reverse");
    }
    line.expect(":");
    const Token shape_at = line.peek();
    const std::optional<Shape> shape = shape_called(words(line));
    if (!shape) line.fail(shape_at, "no way to run a loop", "one of: " + all_shapes());
    line.expect_end();
    run.shape = *shape;
    if (run.takes_inner()) {
      const std::optional<LoopId> inner = only_loop(loop.body);
      if (!inner)
        line.fail(shape_at, "two loops as one block need a loop with one loop inside",
                  "run it another way");
      run.inner = *inner;
    }
    while (deeper(depth + 1)) run.boxes.push_back(box(run, depth + 1));
    if (run.boxes.empty()) line.fail(at, "a loop without a block", "say `block ..` below");
    return run;
  }

  Box box(const Run &run, int depth) {
    Cursor line = expect_line(depth, "a block");
    Box box;
    box.id = new_box();
    box.rest = line.accept("rest");
    if (!box.rest) line.expect("block");
    std::optional<AxisId> axis;
    do box.dims.push_back(dim(run, line, axis));
    while (line.accept("x"));
    if (line.accept(",")) {
      line.expect("masked");
      box.masked = true;
    }
    line.expect_end();
    body(box, program_[run.body_of(box)].body, depth + 1);
    return box;
  }

  Dim dim(const Run &run, Cursor &line, std::optional<AxisId> &axis) {
    if (line.peek().kind != Tok::Integer) {
      const Token at = line.peek();
      const std::string name = line.name("an axis").name;
      const AxisId own = program_[run.loop].axis;
      if (name == program_[own].name)
        axis = own;
      else if (run.takes_inner() && name == program_[program_[run.inner].axis].name)
        axis = program_[run.inner].axis;
      else
        line.fail(at, "a block of another axis than its loops have",
                  "this loop is over " + program_[own].name);
    }
    if (!axis) line.unexpected("an axis");
    constexpr std::uint64_t most = 1024; // positions of one dim
    Dim dim{*axis, int(line.integer("a number of positions", most)), As::Turns, false};
    if (line.accept("lanes") || line.accept("lane")) {
      dim.as = As::Lanes;
      if (line.accept("of")) {
        line.expect("leaves");
        dim.leaves = true;
      }
    } else if (line.accept("copies") || line.accept("copy"))
      dim.as = As::Copies;
    else if (line.accept("leaves"))
      dim.as = As::Copies, dim.leaves = true;
    else if (!line.accept("turns"))
      line.expect("turn");
    return dim;
  }

  void check() const {
    try {
      check_rules(program_, blocks_);
    } catch (const BrokenRule &broken) {
      const Line &line = source_.lines[lines_[std::size_t(broken.box)]];
      const std::size_t first = line.tokens[0].offset;
      fail_at(source_, line.number, first, line.tokens.back().offset - first, "E0802", broken.what,
              "src/block/block.hpp has the rules of blocks");
    }
  }

  const loop::Program &program_;
  const NestText &source_;
  Program blocks_;
  std::size_t at_ = 1;             // the next line
  std::vector<std::size_t> lines_; // of each box
};

} // namespace

Machine machine_in(std::string_view text, std::string_view file) {
  return header(read_lines(text, file));
}

Program parse(const loop::Program &program, std::string_view text, std::string_view file) {
  const NestText source = read_lines(text, file);
  return Parser(program, source).run();
}

} // namespace broadloom::block
