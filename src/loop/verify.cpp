// The rules of loop.hpp, checked.
//
// First the references: an id that points nowhere would make every later look unsafe, the printer's
// too. Then one walk over each phase in the order of execution that keeps what is in scope: the
// loops around, the values computed, the accumulators that are running or joined. A body's names
// end with it.
#include "loop/verify.hpp"

#include "loop/listing.hpp"
#include "support/check.hpp"

#include <algorithm>

namespace broadloom::loop {
namespace {

void check_references(const Program &p) {
  auto within = [](std::size_t index, std::size_t size, const char *what) {
    if (index >= size) support::bug(std::string("loop IR: a reference to a missing ") + what);
  };
  auto axis = [&](AxisId id) { within(id.index, p.axes.size(), "axis"); };
  std::vector<int> uses(p.loops.size(), 0); // of each loop
  auto body = [&](const std::vector<Stmt> &statements) {
    for (const Stmt &s : statements) {
      if (s.kind == StmtKind::Loop) {
        within(s.loop.index, p.loops.size(), "loop");
        ++uses[s.loop.index];
        continue;
      }
      if (s.kind == StmtKind::Step)
        for (ValueId arg : s.args) within(arg.index, p.values.size(), "value");
      else
        within(s.value.index, p.values.size(), "value");
      if (s.kind == StmtKind::Set) within(s.buffer.index, p.buffers.size(), "buffer");
      if (s.kind == StmtKind::Step) within(s.acc.index, p.accs.size(), "accumulator");
    }
  };
  for (const Axis &a : p.axes)
    if (a.chunks_of) axis(*a.chunks_of);
  for (const Buffer &b : p.buffers) {
    for (const Walk &w : b.walks) axis(w.axis);
    if (!b.shift) continue;
    within(b.shift->of.index, p.buffers.size(), "buffer");
    axis(b.shift->axis);
  }
  for (const Value &v : p.values) {
    if (v.arg_count < 0 || v.arg_count > 3) support::bug("loop IR: a value of too many arguments");
    for (int i = 0; i < v.arg_count; ++i) within(v.args[i].index, p.values.size(), "value");
    if (v.kind == ValueKind::Load) within(v.buffer.index, p.buffers.size(), "buffer");
    if (v.kind == ValueKind::Result || v.kind == ValueKind::Running)
      within(v.acc.index, p.accs.size(), "accumulator");
    if (v.kind == ValueKind::Extent || v.kind == ValueKind::Index) axis(v.axis);
  }
  for (const Acc &a : p.accs) {
    within(a.recipe, p.recipes.size(), "recipe");
    for (ValueId start : a.start) within(start.index, p.values.size(), "value");
  }
  for (const Loop &l : p.loops) {
    axis(l.axis);
    if (l.within) axis(*l.within);
    for (AccId a : l.accs) within(a.index, p.accs.size(), "accumulator");
    body(l.body);
  }
  for (const Phase &phase : p.phases) {
    for (AxisId a : phase.parallel) axis(a);
    body(phase.body);
  }
  // Once each, and (below) all of them reached from a phase: then they are trees.
  for (int n : uses)
    if (n != 1) support::bug("loop IR: a loop that does not stand in exactly one place");
}

class Verifier {
public:
  explicit Verifier(const Program &program)
      : p_(program), visible_(p_.values.size(), false), computed_(p_.values.size(), false),
        joined_(p_.accs.size(), false), carried_(p_.accs.size(), false),
        stepped_(p_.accs.size(), false) {}

  void run() {
    require(p_.accuracy <= Accuracy::fast, "an accuracy that there is not");
    for (const Axis &axis : p_.axes)
      require(axis.positions == 0 ||
                  (axis.positions > 0 && axis.positions <= fold_ways && !axis.chunks_of),
              "an axis of other than 1 to 32 known positions, or of chunks");
    for (const Axis &axis : p_.axes)
      for (const int count : {axis.copies, axis.tile})
        require(count == 0 || count == 1 || count == 2 || count == 4 || count == 8,
                "an axis asks for other blocks than of 1, 2, 4 or 8");
    for (const Buffer &buffer : p_.buffers)
      require(!buffer.shift || is_shifted(buffer), "a shift to what is walked in another way");
    for (const Phase &phase : p_.phases) {
      phase_ = &phase;
      at_ = nullptr;
      body(phase.body, nullptr);
      at_ = nullptr;
      require(chain_ == phase.parallel, "the parallel loops are not those that the phase lists");
      chain_.clear();
    }
    require(loops_seen_ == p_.loops.size(), "a loop that no phase reaches");
    for (std::size_t v = 0; v < p_.values.size(); ++v)
      require(computed_[v] || p_.values[v].kind == ValueKind::Literal,
              "value " + std::to_string(v) + " is computed nowhere");
    require(std::count(carried_.begin(), carried_.end(), false) == 0,
            "an accumulator that no loop carries");
  }

private:
  // Both are inputs that are walked alike, and the other one has no shift of its own.
  bool is_shifted(const Buffer &buffer) const {
    const Buffer &of = p_[buffer.shift->of];
    const auto walks_shift = [&](const Walk &walk) { return walk.axis == buffer.shift->axis; };
    return buffer.role == Role::Input && of.role == Role::Input && of.dtype == buffer.dtype &&
           !of.shift && buffer.shift->by != 0 && std::ranges::any_of(buffer.walks, walks_shift) &&
           buffer.walks == of.walks;
  }

  void require(bool holds, const std::string &what) const {
    if (!holds) throw BrokenRule{what, at_};
  }

  void body(const std::vector<Stmt> &statements, const Loop *around) {
    std::vector<ValueId> let_here;
    std::vector<AccId> joined_here;
    int parallel_loops = 0;
    for (const Stmt &s : statements) {
      at_ = &s;
      switch (s.kind) {
      case StmtKind::Let:
        let(s.value);
        visible_[s.value.index] = computed_[s.value.index] = true;
        let_here.push_back(s.value);
        break;
      case StmtKind::Set: set(s); break;
      case StmtKind::Step: step(s, around); break;
      case StmtKind::Loop:
        parallel_loops += p_[s.loop].parallel;
        loop(s, around);
        for (AccId a : p_[s.loop].accs) {
          joined_[a.index] = true;
          joined_here.push_back(a);
        }
        break;
      }
    }
    require(parallel_loops <= 1, "two parallel loops side by side");
    for (ValueId v : let_here) visible_[v.index] = false;
    for (AccId a : joined_here) joined_[a.index] = false;
  }

  // A literal may be used without a `let`.
  void use(ValueId id) const {
    require(p_[id].kind == ValueKind::Literal || visible_[id.index],
            "value " + std::to_string(id.index) + " is used where it is not in scope");
  }

  void let(ValueId id) const {
    const Value &v = p_[id];
    const std::string me = "value " + std::to_string(id.index);
    require(!visible_[id.index], me + " is computed twice in one scope");
    for (int i = 0; i < v.arg_count; ++i) use(v.args[i]);
    switch (v.kind) {
    case ValueKind::Literal: require(v.arg_count == 0, me + " is a literal with arguments"); break;
    case ValueKind::Op: operation(v, me); break;
    case ValueKind::Cast:
      require(v.arg_count == 1, me + " is a cast of several values");
      require(p_[v.args[0]].dtype == v.compute, me + " casts from another type than it says");
      require(!is_complex(v.compute) || is_complex(v.dtype) || v.dtype == DType::Bool,
              me + " casts a complex number to a real one");
      break;
    case ValueKind::Load:
      require(p_[v.buffer].dtype == v.dtype, me + " has another type than its buffer");
      addressable(v.buffer);
      break;
    case ValueKind::Result:
      state(v, me);
      require(joined_[v.acc.index], me + " reads an accumulator that is not joined here");
      break;
    case ValueKind::Running:
      state(v, me);
      require(
          !open_.empty() && carries(*open_.back(), v.acc) &&
              (open_.back()->scan || (open_.back()->ways == 1 && !p_.recipe(v.acc).has_combine())),
          me + " reads a running accumulator of no scan around it");
      if (open_.back()->ways > 1) steps_can_begin(v.acc, me);
      break;
    case ValueKind::Extent:
      require(v.dtype == DType::I64, me + " is an extent, but no i64");
      require(!p_[v.axis].chunks_of, me + " is the extent of an axis of chunks");
      break;
    case ValueKind::Index:
      require(v.dtype == DType::I64, me + " is an index, but no i64");
      require(
          std::any_of(open_.begin(), open_.end(), [&](const Loop *l) { return l->axis == v.axis; }),
          me + " is an index along " + p_[v.axis].name + ", but no loop around walks it");
      break;
    }
  }

  // Lanes step together, before the first of them reads its running state.
  void steps_can_begin(AccId acc, const std::string &me) const {
    for (const Stmt &s : open_.back()->body) {
      if (s.kind != StmtKind::Step || s.acc != acc) continue;
      for (const ValueId arg : s.args)
        require(
            p_[arg].kind == ValueKind::Literal || visible_[arg.index],
            me + " reads a running state in lanes before the arguments of its step are computed");
    }
  }

  void state(const Value &v, const std::string &me) const {
    const ops::Recipe &recipe = p_.recipe(v.acc);
    require(v.state < recipe.states.size() && recipe.states[v.state] == v.dtype,
            me + " has another type than its accumulator");
  }

  static bool carries(const Loop &l, AccId acc) {
    return std::count(l.accs.begin(), l.accs.end(), acc) == 1;
  }

  void operation(const Value &v, const std::string &me) const {
    const ops::OpInfo &info = ops::info(v.op);
    require(info.math != ops::Math::Sugar, me + " should have been written out");
    require(v.arg_count == info.arity, me + " has the wrong number of arguments");
    DType types[3];
    for (int i = 0; i < v.arg_count; ++i) {
      types[i] = p_[v.args[i]].dtype;
      const bool condition = v.op == ops::Op::Where && i == 0;
      require(types[i] == (condition ? DType::Bool : v.compute),
              me + " has an argument of another type than it computes in");
    }
    const ops::Typing typing = ops::type_of(v.op, {types, std::size_t(v.arg_count)});
    require(typing.error.empty() && typing.compute == v.compute && typing.result == v.dtype,
            me + " has types that its operation does not give");
  }

  // All the axes that a buffer walks are walked by loops around.
  void addressable(BufferId id) const {
    for (const Walk &w : p_[id].walks) {
      require(
          std::any_of(open_.begin(), open_.end(), [&](const Loop *l) { return l->axis == w.axis; }),
          "buffer " + p_[id].name + " walks " + p_[w.axis].name + ", but no loop around does");
    }
  }

  void set(const Stmt &s) const {
    const Buffer &b = p_[s.buffer];
    use(s.value);
    require(b.role != Role::Input, "a store to the input " + b.name);
    require(b.dtype == p_[s.value].dtype, "a store of another type than " + b.name + " has");
    addressable(s.buffer);
    require(chain_.size() == phase_->parallel.size(), "a store outside of a parallel loop");
    const bool each_lane = b.role == Role::Row && b.walks.size() == 1 && // has a row of its own
                           b.walks[0].axis == open_.back()->axis &&
                           (open_.back()->turns > 0 || is_row_in_lanes(b));
    require(!each_lane || open_.back()->turns <= fold_ways,
            "a row of more than 32 known turns is stored");
    for (const Loop *l : open_)
      require(!l->vector || each_lane ||
                  std::any_of(b.walks.begin(), b.walks.end(),
                              [&](const Walk &w) { return w.axis == l->axis; }),
              "the lanes of the loop over " + p_[l->axis].name + " store to one element of " +
                  b.name);
    for (AxisId axis : chain_) {
      if (b.role == Role::Row) break; // each thread has its own
      require(std::any_of(
                  b.walks.begin(), b.walks.end(),
                  [&](const Walk &w) { return w.axis == axis || w.axis == p_[axis].chunks_of; }),
              "several turns of the parallel loop over " + p_[axis].name +
                  " store to one element of " + b.name);
    }
  }

  void step(const Stmt &s, const Loop *around) {
    for (ValueId arg : s.args) use(arg);
    require(around && carries(*around, s.acc),
            "a step outside of the loop that carries the accumulator");
    require(!stepped_[s.acc.index], "an accumulator that steps twice");
    const ops::Recipe &recipe = p_.recipe(s.acc);
    require(s.args.size() == recipe.args.size(), "a step by the wrong number of values");
    for (std::size_t k = 0; k < s.args.size(); ++k)
      require(recipe.args[k] == p_[s.args[k]].dtype, "a step by a value of another type");
    stepped_[s.acc.index] = true;
  }

  void loop(const Stmt &s, const Loop *around) {
    const Loop &l = p_[s.loop];
    ++loops_seen_;
    const std::string me = "the loop over " + p_[l.axis].name;
    for (const Loop *o : open_) {
      require(o->axis != l.axis, me + " stands within a loop over the same axis");
      require(!(o->vector && l.vector), me + " is a vector loop within another");
    }
    if (l.within) {
      require(p_[*l.within].chunks_of == l.axis, me + " runs within chunks of another axis");
      require(!l.parallel, me + " runs within a chunk and is parallel");
      require(std::any_of(open_.begin(), open_.end(),
                          [&](const Loop *o) { return o->axis == *l.within; }),
              me + " runs within a chunk, but no loop over chunks is around");
    }
    if (l.parallel) {
      require(!around || around->parallel, me + " is parallel within a loop that is not");
      require(l.accs.empty(), me + " is parallel and carries accumulators");
      chain_.push_back(l.axis);
    }
    require(l.ways == 1 || (l.ways == fold_ways && !l.scan && (l.vector || l.turns > 0)) ||
                (l.ways == scan_ways && l.scan && l.vector),
            me + " has a wrong number of ways");
    require(l.turns == 0 || (l.turns > 0 && l.turns <= most_turns && !l.vector && !l.parallel &&
                             !l.within && !l.scan && !l.reverse),
            me + " is no plain loop of a short row, and has known turns");
    require(l.turns == 0 ||
                std::any_of(open_.begin(), open_.end(), [](const Loop *o) { return o->vector; }),
            me + " has known turns outside of a vector loop");
    require(l.turns == 0 || std::none_of(open_.begin(), open_.end(),
                                         [](const Loop *o) { return o->turns > 0; }),
            me + " has known turns within another that has");
    require(std::ranges::none_of(p_.loops,
                                 [&](const Loop &o) {
                                   return o.axis == l.axis && o.turns > 0 && l.turns > 0 &&
                                          o.turns != l.turns;
                                 }),
            me + " has other known turns than another one over its axis");
    require(l.leaf == 0 || l.leaf >= l.turns, me + " has known turns, and more than one leaf");
    require(l.leaf >= 0 && l.leaf % l.ways == 0, me + " has leaves that are not whole ways");
    const bool in_order = runs_in_order(l);
    require(!l.reverse || in_order, me + " runs in reverse, but not in order");
    require(!l.scan || l.ways == 1 || !has_loops(l), me + " scans in lanes and has loops inside");
    require(!l.scan || (in_order && !l.accs.empty()), me + " is no proper scan");
    if (!l.handed.empty()) handed(l, around, me);
    for (AccId a : l.accs) {
      require(!carried_[a.index], me + " carries an accumulator of another loop");
      carried_[a.index] = true;
      start(l, a, me);
    }
    open_.push_back(&l);
    body(l.body, &l);
    at_ = &s;
    open_.pop_back();
    for (AccId a : l.accs) require(stepped_[a.index], me + " has an accumulator that never steps");
  }

  void handed(const Loop &l, const Loop *around, const std::string &me) {
    require(around == nullptr && l.scan && l.ways == 1 && l.leaf == 0 && !l.within,
            me + " hands states on, but is no scan of one block at the root");
    std::size_t next = 0;
    for (const AccId a : l.accs)
      for (const DType state : p_.recipe(a).states) {
        require(next < l.handed.size(), me + " hands on too few states");
        const Buffer &buffer = p_[l.handed[next++]];
        require(buffer.role == Role::Scratch && buffer.walks.empty() && buffer.dtype == state,
                me + " hands a state on through a buffer that cannot hold it");
      }
    require(next == l.handed.size(), me + " hands on too many states");
    chain_.push_back(l.axis);
  }

  static bool runs_in_order(const Loop &l) {
    return (l.ways == 1 && !l.vector) || (l.scan && l.ways > 1);
  }

  static bool has_loops(const Loop &l) {
    return std::any_of(l.body.begin(), l.body.end(),
                       [](const Stmt &s) { return s.kind == StmtKind::Loop; });
  }

  void start(const Loop &l, AccId id, const std::string &me) const {
    const ops::Recipe &recipe = p_.recipe(id);
    const std::vector<ValueId> &start = p_[id].start;
    const bool in_order = runs_in_order(l);
    require(recipe.has_combine() || (in_order && l.ways == 1 && l.leaf == 0),
            me + " has leaves for an accumulator that cannot join them");
    if (start.empty()) return;
    require(in_order && (l.scan || l.leaf == 0), me + " starts several leaves from given values");
    require(start.size() == recipe.states.size(), me + " has the wrong number of start values");
    for (std::size_t k = 0; k < start.size(); ++k) {
      use(start[k]);
      require(p_[start[k]].dtype == recipe.states[k], me + " starts from another type");
    }
  }

  const Program &p_;
  const Phase *phase_ = nullptr;
  const Stmt *at_ = nullptr;       // that is looked at
  std::vector<const Loop *> open_; // the loops around, outermost first
  std::vector<AxisId> chain_;      // the parallel loops of this phase so far
  std::vector<bool> visible_, computed_, joined_, carried_, stepped_;
  std::size_t loops_seen_ = 0;
};

} // namespace

void check_rules(const Program &program) {
  check_references(program);
  Verifier(program).run();
  check_stores(program);
}

void verify(const Program &program) {
  try {
    check_rules(program);
  } catch (const BrokenRule &broken) {
    const Listing listing = list(program);
    const auto line = listing.line_of.find(broken.where);
    const bool known = line != listing.line_of.end();
    support::bug("loop IR: " + (known ? "line " + std::to_string(line->second) + ": " : "") +
                     broken.what,
                 listing.text);
  }
}

} // namespace broadloom::loop
