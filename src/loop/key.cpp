// A loop program as bytes, without its names: what native code is looked up by.
//
// Every field that the meaning or the machine code depends on is written with a fixed width, and
// every list with its length first, so that different programs cannot give equal bytes.
#include "loop/loop.hpp"

#include <bit>
#include <type_traits>

namespace broadloom::loop {
namespace {

class Writer {
public:
  template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void put(T value) {
    auto bits = std::uint64_t(value);
    for (std::size_t i = 0; i < sizeof(T); ++i, bits >>= 8) bytes_.push_back(char(bits & 0xff));
  }
  void put(double value) { put(std::bit_cast<std::uint64_t>(value)); }
  template <class Id>
    requires requires(Id id) { id.index; }
  void put(Id id) {
    put(id.index);
  }
  template <class T> void put(const std::optional<T> &value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class T> void put(const std::vector<T> &list) {
    put(std::uint64_t(list.size()));
    for (const T &item : list) put(item);
  }

  void put(const Axis &a) {
    put(a.chunks_of);
    put(a.copies);
    put(a.tile);
    put(a.positions);
    put(a.tall);
  }
  void put(const Walk &w) {
    put(w.axis);
    put(w.stride);
  }
  void put(const Buffer &b) {
    put(b.role);
    put(b.operand);
    put(b.dtype);
    put(b.walks);
    put(b.stream);
    put(b.reread);
    put(b.shift);
  }
  void put(const Buffer::Shift &s) {
    put(s.of);
    put(s.axis);
    put(s.by);
  }
  // Only the fields that the kind gives a meaning, so that what lies in the others cannot matter.
  void put(const Value &v) {
    put(v.kind);
    put(v.dtype);
    switch (v.kind) {
    case ValueKind::Literal: put(v.literal); break;
    case ValueKind::Op: put(v.op); [[fallthrough]];
    case ValueKind::Cast:
      put(v.compute);
      put(v.arg_count);
      for (int i = 0; i < v.arg_count; ++i) put(v.args[i]);
      break;
    case ValueKind::Load: put(v.buffer); break;
    case ValueKind::Result:
    case ValueKind::Running:
      put(v.acc);
      put(v.state);
      break;
    case ValueKind::Extent:
    case ValueKind::Index: put(v.axis); break;
    }
  }
  void put(ops::Scalar s) { put(s.bits), put(s.imag); }
  void put(const ops::Code::Line &line) {
    put(line.kind);
    put(line.op);
    put(line.compute);
    put(line.dtype);
    for (std::uint32_t arg : line.args) put(arg);
    put(line.arg_count);
    put(line.literal);
  }
  void put(const ops::Code &code) {
    put(code.inputs);
    put(code.lines);
    put(code.results);
  }
  void put(const ops::Recipe &r) {
    put(r.states);
    put(r.start);
    put(r.args);
    put(r.step);
    put(r.combine);
    put(r.exact);
  }
  void put(const Acc &a) {
    put(a.recipe);
    put(a.start);
  }
  void put(const Stmt &s) {
    put(s.kind);
    switch (s.kind) {
    case StmtKind::Let: put(s.value); break;
    case StmtKind::Set:
      put(s.value);
      put(s.buffer);
      break;
    case StmtKind::Step:
      put(s.acc);
      put(s.args);
      break;
    case StmtKind::Loop: put(s.loop); break;
    }
  }
  void put(const Loop &l) {
    put(l.axis);
    put(l.within);
    put(l.parallel);
    put(l.vector);
    put(l.accs);
    put(l.ways);
    put(l.turns);
    put(l.leaf);
    put(l.scan);
    put(l.reverse);
    put(l.handed);
    put(l.body);
  }
  void put(const Phase &p) {
    put(p.body);
    put(p.parallel);
    put(p.cost);
  }

  std::string take() { return std::move(bytes_); }

private:
  std::string bytes_;
};

} // namespace

std::string key(const Program &program) {
  Writer w;
  w.put(program.accuracy);
  w.put(program.axes);
  w.put(program.buffers);
  w.put(program.values);
  w.put(program.recipes);
  w.put(program.accs);
  w.put(program.loops);
  w.put(program.phases);
  w.put(program.scratch_count);
  return w.take();
}

} // namespace broadloom::loop
