// Native code against the interpreter, byte for byte: loops, folds, strides, tails, streams.
#include "loop_programs.hpp"
#include "native_runs.hpp"

#include <thread>

namespace broadloom::jit {
namespace {

using namespace loop;
using namespace loop::test;
using jit::test::Runs;
using jit::test::targets_here;

constexpr auto unit = StrideClass::Unit;
constexpr auto other = StrideClass::Other;

// z[i] = x[i] * y[i] + w, each of x, y, z with its own stride class
Program triad(DType dtype, StrideClass x_class, StrideClass z_class, bool stream = false) {
  Builder b;
  b.p.name = "triad";
  const AxisId i = b.axis("i");
  const BufferId x = b.buffer("x", Role::Input, 0, dtype, {{i, x_class}});
  const BufferId y = b.buffer("y", Role::Input, 1, dtype, {{i, unit}});
  const BufferId w = b.buffer("w", Role::Input, 2, dtype, {});
  const BufferId z = b.buffer("z", Role::Output, 0, dtype, {{i, z_class}});
  b.p.buffers[z.index].stream = stream;
  const ValueId wv = b.load(w), xv = b.load(x), yv = b.load(y);
  const ValueId product = b.op(ops::Op::Mul, {xv, yv}), sum = b.op(ops::Op::Add, {product, wv});
  Loop l;
  l.axis = i;
  l.parallel = l.vector = true;
  l.body = {let(wv), let(xv), let(yv), let(product), let(sum), set(z, sum)};
  const LoopId id = b.loop(l);
  b.p.phases.push_back({{run(id)}, {i}, 1});
  return b.p;
}

// z[j] = fold_i x[i, j], a block of columns at a time
Program columns(Fold fold, DType dtype, DType acc, std::int64_t leaf, StrideClass stride) {
  Builder b;
  b.p.name = "columns";
  const AxisId i = b.axis("i"), j = b.axis("j");
  const BufferId x = b.buffer("x", Role::Input, 0, dtype, {{i, other}, {j, stride}});
  const BufferId z = b.buffer("z", Role::Output, 0, acc, {{j, stride}});
  const AccId a = b.acc(fold, acc);
  const ValueId xv = b.load(x), wide = b.cast(xv, acc);
  Loop inner;
  inner.axis = i;
  inner.accs = {a};
  inner.leaf = leaf;
  inner.body = {let(xv), let(wide), step(a, wide)};
  const LoopId inner_id = b.loop(inner);
  const ValueId s = b.result(a);
  Loop outer;
  outer.axis = j;
  outer.parallel = outer.vector = true;
  outer.body = {run(inner_id), let(s), set(z, s)};
  const LoopId outer_id = b.loop(outer);
  b.p.phases.push_back({{run(outer_id)}, {j}, 1});
  return b.p;
}

TEST_CASE("a map gives the interpreter's bytes at every length, stride and alignment") {
  for (const std::string &target : targets_here()) {
    for (const DType dtype :
         {DType::F32, DType::F64, DType::I8, DType::U16, DType::I64, DType::Bool}) {
      for (const auto &[x, z] : {std::pair(unit, unit), {other, unit}, {unit, other}}) {
        Runs runs(triad(dtype, x, z), target);
        for (std::int64_t n = 0; n <= 70; ++n) {
          runs.extents = {n};
          for (const bool flag : {false, true}) {
            runs.reversed = runs.at_end = runs.parts = flag;
            runs.agree();
          }
        }
      }
    }
  }
}

TEST_CASE("lanes a few elements apart are loaded by vectors that end with the last of them") {
  for (const std::string &target : targets_here()) {
    for (const DType dtype : {DType::F32, DType::F64, DType::I8, DType::U16, DType::C64}) {
      Runs runs(triad(dtype, other, unit), target);
      for (const int apart : {1, 2, 3, 4, 5}) {
        INFO(target, ", ", apart, " of ", name(dtype));
        runs.spread = apart;
        for (const std::int64_t n : {1, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 130}) {
          runs.extents = {n};
          for (const bool reversed : {false, true}) {
            for (const bool at_end : {false, true}) {
              runs.reversed = reversed;
              runs.at_end = at_end;
              runs.agree();
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a streamed output is stored exactly, whatever its alignment") {
  for (const std::string &target : targets_here()) {
    for (const DType dtype : {DType::F32, DType::F64, DType::I8}) {
      Runs runs(triad(dtype, unit, unit, true), target);
      for (std::int64_t n = 0; n <= 300; n += n < 70 ? 1 : 13) {
        runs.extents = {n};
        for (const bool flag : {false, true}) {
          runs.parts = runs.at_end = flag;
          runs.agree();
        }
      }
    }
  }
}

TEST_CASE("rows are folded in 32 lanes and leaves at every length") {
  for (const std::string &target : targets_here()) {
    Runs runs(row_sums(), target);
    for (std::int64_t n = 0; n <= 140; ++n) {
      runs.extents = {3, n};
      runs.special = n % 2 == 0;
      runs.at_end = n % 3 != 0;
      runs.agree();
    }
    for (const std::int64_t n : {4095, 4096, 4097, 8192, 12289, 40000}) {
      runs.extents = {2, n};
      runs.special = false;
      runs.agree();
    }
  }
}

TEST_CASE("an index in a vector loop counts on from lane to lane, in whole and partial groups") {
  for (const std::string &target : targets_here()) {
    Runs runs(positions(), target);
    for (const std::int64_t n : {0, 1, 3, 8, 9, 16, 31, 64, 100}) {
      runs.extents = {3, n};
      runs.agree();
    }
  }
}

TEST_CASE("a whole fold has the same bits in one loop and in chunks") {
  for (const std::string &target : targets_here()) {
    for (const Fold fold : {Fold::Sum, Fold::Prod, Fold::Min, Fold::Max}) {
      for (const DType dtype : {DType::F64, DType::F32, DType::I64, DType::U8}) {
        for (const bool chunked : {false, true}) {
          Runs runs(whole_fold(fold, dtype, 32, 64, chunked), target);
          for (const std::int64_t n :
               {0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 500, 1000, 4000}) {
            runs.extents = {n, chunked ? (n + 255) / 256 : 0};
            runs.chunks = {chunked ? 256 : 0, 0};
            runs.special = n % 2 != 0;
            runs.agree();
          }
        }
      }
    }
    for (const Fold fold : {Fold::Any, Fold::All}) {
      for (const bool chunked : {false, true}) {
        Runs runs(whole_fold(fold, DType::Bool, 32, 0, chunked), target);
        for (const std::int64_t n : {0, 1, 31, 32, 33, 100, 1000}) {
          runs.extents = {n, chunked ? (n + 255) / 256 : 0};
          runs.chunks = {chunked ? 256 : 0, 0};
          runs.agree();
        }
      }
    }
  }
}

TEST_CASE("serial folds of one lane keep the tree, exact ones need none") {
  for (const std::string &target : targets_here()) {
    for (const Fold fold : {Fold::Sum, Fold::Max}) {
      for (const DType dtype : {DType::F64, DType::I32}) {
        for (const std::int64_t leaf : {0, 1, 3, 16}) {
          Runs runs(whole_fold(fold, dtype, 1, leaf, false), target);
          for (const std::int64_t n : {0, 1, 2, 3, 4, 7, 16, 17, 31, 48, 100, 333}) {
            runs.extents = {n, 0};
            runs.special = n % 2 != 0;
            runs.agree();
          }
        }
      }
    }
  }
}

TEST_CASE("columns are folded a block at a time") {
  for (const std::string &target : targets_here()) {
    for (const StrideClass stride : {unit, other}) {
      for (const auto &[dtype, acc] : {std::pair(DType::F32, DType::F64),
                                       {DType::F64, DType::F64},
                                       {DType::I8, DType::I64},
                                       {DType::F32, DType::F32}}) {
        for (const Fold fold : {Fold::Sum, Fold::Min}) {
          Runs runs(columns(fold, dtype, acc, 16, stride), target);
          for (const std::int64_t rows : {0, 1, 15, 16, 17, 100}) {
            for (const std::int64_t n : {0, 1, 7, 16, 31, 64, 65, 150}) {
              runs.extents = {rows, n};
              runs.special = n % 2 != 0;
              runs.at_end = rows % 2 == 0;
              runs.agree();
            }
          }
        }
      }
    }
  }
}

// z[i] = sum_j exp(x[i, j]) + tan(x[i, j]) over rows, z[j] = sum_i of the same over columns: heavy
// bodies are not copied but take turns.
Program heavy(bool rows) {
  Builder b;
  b.p.name = rows ? "heavy rows" : "heavy columns";
  const AxisId i = b.axis("i"), j = b.axis("j");
  const BufferId x = b.buffer("x", Role::Input, 0, DType::F32, {{i, other}, {j, unit}});
  const BufferId z = b.buffer("z", Role::Output, 0, DType::F64, {{rows ? i : j, unit}});
  const AccId a = b.acc(Fold::Sum, DType::F64);
  const ValueId xv = b.load(x), ev = b.op(ops::Op::Exp, {xv}), tv = b.op(ops::Op::Tan, {xv});
  const ValueId sum = b.op(ops::Op::Add, {ev, tv}), wide = b.cast(sum, DType::F64);
  Loop inner;
  inner.axis = rows ? j : i;
  inner.vector = rows;
  inner.accs = {a};
  inner.lanes = rows ? 32 : 1;
  inner.leaf = 64;
  inner.body = {let(xv), let(ev), let(tv), let(sum), let(wide), step(a, wide)};
  const LoopId inner_id = b.loop(inner);
  const ValueId s = b.result(a), root = b.op(ops::Op::Tanh, {s});
  Loop outer;
  outer.axis = rows ? i : j;
  outer.parallel = true;
  outer.vector = !rows;
  outer.body = {run(inner_id), let(s), let(root), set(z, root)};
  const LoopId outer_id = b.loop(outer);
  b.p.phases.push_back({{run(outer_id)}, {outer.axis}, 1});
  return b.p;
}

TEST_CASE("folds of heavy bodies keep their bits") {
  for (const std::string &target : targets_here()) {
    for (const bool rows : {true, false}) {
      Runs runs(heavy(rows), target);
      for (std::int64_t n = 0; n <= 140; n += n < 70 ? 1 : 7) {
        runs.extents = {rows ? 3 : n, rows ? n : 21};
        runs.special = n % 2 != 0;
        runs.at_end = n % 3 != 0;
        runs.agree();
      }
    }
  }
}

TEST_CASE("code may be made on several threads at once and goes with its last owner") {
  const Target target = find_target("");
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) compile_native(row_sums(), target);
    });
  }
  for (std::thread &thread : threads) thread.join();
  const auto code = compile_native(row_sums(), target);
  CHECK(code->phases().size() == 1);
  CHECK(code->code_bytes() > 0);
}

TEST_CASE("an unknown target is refused by its name") {
  try {
    find_target("pentium");
    FAIL("no error");
  } catch (const CompileError &error) {
    CHECK(error.code() == "E0503");
    CHECK(error.message().find("pentium") != std::string::npos);
  }
}

TEST_CASE("the texts of a program show its phases") {
  const Target target = find_target("");
  CHECK(llvm_text(row_sums(), target).find("define void @phase_0(ptr %frame") != std::string::npos);
  CHECK(asm_text(row_sums(), target).find("phase_0:") != std::string::npos);
}

} // namespace
} // namespace broadloom::jit
