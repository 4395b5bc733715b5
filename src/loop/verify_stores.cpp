// Is every element stored exactly once? Found from the loops alone, for all extents.
//
// Problem: a store in a loop that its buffer does not walk is repeated for one element, and an
// element that no loop reaches keeps what was there; both look like any other program.
// Method: the loops around a store are matched with the axes that its buffer walks. Each loop must
// move the buffer, be it by its own axis, or as the chunks whose positions a loop further in walks.
// All loops run over the whole axis or chunk, so every element then is stored once for each
// statement, and an output has one statement.
// Example: `set s[j]` in `for i { vector for j {..} }` is a store that i repeats; right only for a
// state in scratch memory, which the same turn has loaded.
#include "loop/verify.hpp"

#include "support/check.hpp"

#include <algorithm>
#include <set>

namespace broadloom::loop {
namespace {

class StoreVerifier {
public:
  explicit StoreVerifier(const Program &program) : p_(program) {}

  void run() {
    for (const Phase &phase : p_.phases) body(phase.body);
  }

private:
  void require(bool holds, const std::string &what) const {
    if (!holds) throw BrokenRule{what, at_};
  }

  void body(const std::vector<Stmt> &statements) {
    for (std::size_t k = 0; k < statements.size(); ++k) {
      const Stmt &s = statements[k];
      at_ = &s;
      if (s.kind == StmtKind::Let && p_[s.value].kind == ValueKind::Load) load(p_[s.value].buffer);
      if (s.kind == StmtKind::Set) set(s.buffer, is_loaded(statements, k));
      if (s.kind != StmtKind::Loop) continue;
      const Loop &loop = p_[s.loop];
      if (loop.vector) forget_rows_of_lanes(loop.body, loop.axis);
      open_.push_back(&loop);
      body(loop.body);
      open_.pop_back();
      if (loop.vector) forget_rows_of_lanes(loop.body, loop.axis);
    }
  }

  // Each lane has them anew, and nobody else has them.
  void forget_rows_of_lanes(const std::vector<Stmt> &statements, AxisId lanes) {
    for (const Stmt &s : statements) {
      if (s.kind == StmtKind::Loop) forget_rows_of_lanes(p_[s.loop].body, lanes);
      if (s.kind != StmtKind::Set || p_[s.buffer].role != Role::Row) continue;
      const auto &walks = p_[s.buffer].walks;
      if (std::none_of(walks.begin(), walks.end(), [&](const Walk &w) { return w.axis == lanes; }))
        stored_.erase(memory_of(s.buffer));
    }
  }

  // By a statement of this body before that one.
  bool is_loaded(const std::vector<Stmt> &statements, std::size_t set) const {
    return std::any_of(statements.begin(), statements.begin() + std::ptrdiff_t(set),
                       [&](const Stmt &s) {
                         return s.kind == StmtKind::Let && p_[s.value].kind == ValueKind::Load &&
                                p_[s.value].buffer == statements[set].buffer;
                       });
  }

  using Memory = std::pair<Role, std::uint32_t>;
  Memory memory_of(BufferId id) const { return {p_[id].role, p_[id].operand}; }

  void load(BufferId id) const {
    const Buffer &b = p_[id];
    require((b.role != Role::Scratch && b.role != Role::Row) || stored_.count(memory_of(id)) > 0,
            "buffer " + b.name + " is read before anything is stored there");
  }

  void set(BufferId id, bool loaded) {
    const Buffer &b = p_[id];
    const bool fresh = stored_.insert(memory_of(id)).second;
    if (b.role == Role::Row) return; // each turn of the loops around fills it anew
    require(fresh || b.role != Role::Output,
            "the output " + b.name + " is stored by two statements");
    const bool stepped = b.role == Role::Scratch && loaded;
    for (const Loop *l : open_)
      require(moves(*l, b) || (stepped && !p_[l->axis].chunks_of),
              "the loop over " + p_[l->axis].name + " repeats a store to one element of " + b.name);
  }

  // By its own axis, or by the positions of its chunks.
  bool moves(const Loop &l, const Buffer &b) const {
    const auto walks = [&](AxisId axis) {
      return std::any_of(b.walks.begin(), b.walks.end(),
                         [&](const Walk &w) { return w.axis == axis; });
    };
    if (walks(l.axis)) return true;
    return std::any_of(open_.begin(), open_.end(), [&](const Loop *inner) {
      return inner->within == l.axis && walks(inner->axis);
    });
  }

  const Program &p_;
  const Stmt *at_ = nullptr;       // that is looked at
  std::vector<const Loop *> open_; // outermost first
  std::set<Memory> stored_;        // so far, in the order of execution
};

bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

} // namespace

void check_stores(const Program &program) { StoreVerifier(program).run(); }

// What the loops take for granted about the numbers that they run on.
void verify_numbers(const Program &program, const Numbers &numbers) {
  const auto require = [&](bool holds, const std::string &what) {
    if (!holds) support::bug("loop IR: " + what, print(program));
  };
  const auto extent = [&](AxisId axis) { return numbers.extents[axis.index]; };
  for (std::size_t a = 0; a < program.axes.size(); ++a) {
    require(program.axes[a].positions == 0 || program.axes[a].positions == numbers.extents[a],
            program.axes[a].name + " has other positions than it is made for");
    if (!program.axes[a].chunks_of) continue;
    const AxisId of = *program.axes[a].chunks_of;
    const std::int64_t chunk = numbers.chunks[of.index];
    require(chunk > 0 && numbers.extents[a] == (extent(of) + chunk - 1) / chunk,
            "the chunks of " + program[of].name + " do not cover it");
  }
  for (const Loop &l : program.loops) {
    const std::string me = "the loop over " + program[l.axis].name;
    require(l.turns == 0 || l.turns == extent(l.axis), me + " has other turns than positions");
    if (!l.within || l.leaf == 0) continue;
    const std::int64_t chunk = numbers.chunks[l.axis.index];
    require(l.scan ? chunk == l.leaf : chunk % l.leaf == 0 && is_power_of_two(chunk / l.leaf),
            me + " has chunks that are not whole leaves, or not a power of two of them");
  }
  for (std::size_t b = 0; b < program.buffers.size(); ++b)
    for (const Walk &w : program.buffers[b].walks)
      require(w.stride == StrideClass::Other ||
                  numbers.strides[b * program.axes.size() + w.axis.index] == step_of(w.stride),
              "buffer " + program.buffers[b].name + " does not lie as its walk says");
  for (std::size_t b = 0; b < program.buffers.size(); ++b)
    require(!is_row_in_lanes(program.buffers[b]) ||
                numbers.strides[b * program.axes.size() + program.buffers[b].walks[0].axis.index] ==
                    row_lanes,
            "the row " + program.buffers[b].name + " has other places than for its lanes");
  for (std::size_t o = 0; o < numbers.outputs.size(); ++o) {
    std::int64_t stored = 0;
    for (const Buffer &b : program.buffers) {
      if (b.role != Role::Output || b.operand != o) continue;
      stored = 1;
      for (const Walk &w : b.walks) stored *= extent(w.axis);
    }
    require(numbers.outputs[o] < 0 || stored == numbers.outputs[o],
            "output " + std::to_string(o) + " is not stored as a whole");
  }
}

} // namespace broadloom::loop
