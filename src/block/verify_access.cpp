// How buffers may move: see verify.hpp.
#include "block/verify.hpp"

#include "block/rules.hpp"

#include <algorithm>

namespace broadloom::block {

using namespace loop;

namespace {

bool is_unit(const Walk *walk) { return walk != nullptr && walk->stride == StrideClass::Unit; }

bool has_known_turns(const loop::Program &program, AxisId axis) {
  return std::ranges::any_of(program.loops,
                             [&](const Loop &l) { return l.axis == axis && l.turns > 0; });
}

class AccessRules {
public:
  AccessRules(const loop::Program &program, const Machine &machine, const Access &access,
              const Around &around)
      : p_(program), machine_(machine), a_(access), around_(around),
        buffer_(program[access.buffer]),
        along_(around.lanes == nullptr ? nullptr
                                       : walk(program, access.buffer, around.lanes->axis)) {}

  const char *broken() const {
    const bool own = around_.lanes != nullptr && is_row_of_lanes(p_, a_.buffer, *around_.lanes);
    if (own && a_.move != Move::Stack && a_.move != Move::Slots && along_ == nullptr)
      return "lanes share a row of their own";
    if (const char *rule = move(own)) return rule;
    if (machine_.warp > 0 && is_of_registers())
      return "threads of a warp move as lanes of a register do";
    if (const char *rule = jam()) return rule;
    if (around_.tiled != nullptr && a_.store && walk(p_, a_.buffer, around_.tiled->axis) == nullptr)
      return "rows of a tile store to one element";
    return prefetch();
  }

private:
  bool is_of_registers() const {
    switch (a_.move) {
    case Move::Scalar:
    case Move::Row:
    case Move::Single:
    case Move::Stack:
    case Move::Slots:
    case Move::Wide: return a_.prefetch.lines || a_.prefetch.steps || a_.prefetch.block;
    case Move::Transposed: return around_.transposed == nullptr || a_.prefetch.block;
    default: return true;
    }
  }

  const char *move(bool own) const {
    switch (a_.move) {
    case Move::Scalar:
      if (along_ != nullptr) return "lanes move as one element";
      return a_.store && around_.lanes != nullptr ? "lanes are stored to one element" : nullptr;
    case Move::Row: return is_unit(along_) ? nullptr : "a row has no unit stride";
    case Move::Streamed:
      return is_unit(along_) && a_.store && around_.streams ? nullptr
                                                            : "no row is stored around the caches";
    case Move::Strided:
      if (along_ == nullptr || a_.store || around_.masked) return "a strided load of no lanes";
      return known_step(buffer_, along_->axis) != 0 ? nullptr : "a strided load of no known step";
    case Move::Gather:
      return along_ != nullptr && machine_.gathers ? nullptr : "a gather that is not there";
    case Move::Single: return along_ != nullptr ? nullptr : "lanes that lie nowhere";
    case Move::Transposed: return transposed();
    case Move::Held:
      return is_unit(along_) && a_.store && around_.jammed != nullptr
                 ? nullptr
                 : "what is held is no row of states";
    case Move::Wide:
      return is_unit(along_) && around_.apiece > 1 && !is_complex(buffer_.dtype) &&
                     size_of(buffer_.dtype) * std::size_t(around_.apiece) <= most_bytes_of_thread &&
                     moves_as_one(p_, around_.lanes->body, a_.buffer)
                 ? nullptr
                 : "a thread moves at once what is not 16 bytes of neighbours";
    case Move::Stack: return own && is_short() ? nullptr : "a stack slot of what is no row";
    case Move::Slots:
      if (!own || !is_row_in_lanes(buffer_)) return "slots of what is no row of lanes";
      return around_.width <= row_lanes ? nullptr : "a row has slots for 16 lanes";
    }
    return nullptr;
  }

  // So long that it has a slot for each of its positions.
  bool is_short() const {
    return buffer_.walks.size() == 1 && has_known_turns(p_, buffer_.walks[0].axis);
  }

  const char *transposed() const {
    if (along_ == nullptr || is_complex(buffer_.dtype) || around_.tiled != nullptr)
      return "lanes that lie nowhere";
    if (around_.transposed != nullptr)
      return !a_.store && is_unit(walk(p_, a_.buffer, around_.transposed->axis)) &&
                     moves_as_one(p_, around_.lanes->body, a_.buffer)
                 ? nullptr
                 : "what is transposed is no block of rows";
    const Loop *row = around_.short_row;
    if (row == nullptr || !is_unit(walk(p_, a_.buffer, row->axis)))
      return "what is transposed lies in no short rows";
    if (row->turns > fold_ways) return "what is transposed lies in rows of more than 32 turns";
    const Access *outer = around_.short_box->find(a_.buffer, a_.store);
    const bool own = std::ranges::any_of(row->body, [&](const Stmt &s) {
      return a_.store ? s.kind == StmtKind::Set && s.buffer == a_.buffer
                      : s.kind == StmtKind::Let && p_[s.value].kind == ValueKind::Load &&
                            p_[s.value].buffer == a_.buffer;
    });
    return own && outer != nullptr && outer->move == Move::Transposed &&
                   moves_as_one(p_, row->body, a_.buffer)
               ? nullptr
               : "what is transposed is not moved by the short loop";
  }

  // In the copies of a row, what is not its own steps from one to the next.
  const char *jam() const {
    if (a_.shared &&
        (around_.jammed == nullptr || a_.store || a_.move != Move::Row ||
         std::ranges::none_of(rows_of_jam(p_, *around_.lanes, around_.jammed->axis),
                              [&](const SharedRows &rows) { return rows.has(a_.buffer); })))
      return "shared rows of no jam";
    if (around_.jammed == nullptr || !a_.store) return nullptr;
    const bool own = walk(p_, a_.buffer, around_.jammed->axis) != nullptr;
    if (own) return a_.move == Move::Held ? "what each row has of its own is held" : nullptr;
    return a_.move == Move::Held && is_stepped(p_, a_.buffer, *around_.lanes)
               ? nullptr
               : "a state of several rows is not held";
  }

  const char *prefetch() const {
    const Prefetch &ahead = a_.prefetch;
    if ((ahead.lines || ahead.steps || ahead.block) && (a_.store || around_.lanes == nullptr))
      return "a prefetch of what lanes do not load";
    if (ahead.steps && !goes_down()) return "steps ahead of no fold of a register tile";
    const bool strip = around_.short_row != nullptr && around_.short_row->turns == 0;
    if (ahead.block && strip && a_.move == Move::Transposed) return nullptr;
    if (ahead.block && around_.jammed != nullptr && is_unit(along_) &&
        walk(p_, a_.buffer, around_.jammed->axis) != nullptr)
      return nullptr;
    if (ahead.block && (around_.transposed == nullptr || along_ == nullptr ||
                        walk(p_, a_.buffer, around_.transposed->axis) == nullptr))
      return "no next block of a transposed tile or a jam";
    return nullptr;
  }

  bool goes_down() const {
    return around_.tiled != nullptr && std::ranges::any_of(around_.lanes->body, [&](const Stmt &s) {
             return s.kind == StmtKind::Loop && walk(p_, a_.buffer, p_[s.loop].axis) != nullptr;
           });
  }

  const loop::Program &p_;
  const Machine &machine_;
  const Access &a_;
  const Around &around_;
  const Buffer &buffer_;
  const Walk *along_;
};

} // namespace

const char *broken_rule(const loop::Program &program, const Machine &machine, const Access &access,
                        const Around &around) {
  return AccessRules(program, machine, access, around).broken();
}

} // namespace broadloom::block
