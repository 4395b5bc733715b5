// The promises of the design, row by row, and the test that keeps each. A promise whose test is
// renamed or lost fails here.
#include "tests/places.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace {

struct Promise {
  const char *part, *text, *file, *test;
};

const Promise promises[] = {
    {"1 axis maps", "order f aligns trailing dims, order c leading ones", "unit/spec/analyse_test",
     "unlabelled dims align at the end in order f and at the start in order c"},
    {"1 axis maps", "c(op)(x, y) == T(f(op)(Tx, Ty))", "differential/transposition_test",
     "order c is order f on transposed operands, for every mode and fold"},
    {"1 axis maps", "order none: ranks must agree", "unit/spec/analyse_test",
     "order none wants equal ranks within an expression and leaves scalars free"},
    {"1 axis maps", "labels lie where they are written", "unit/spec/analyse_test",
     "labels come in order of first appearance and unlabelled dims align with them"},
    {"1 axis maps", "dims(..) and axes(..)", "unit/spec/analyse_test",
     "dims and axes place dims where they say, and axes may enlarge the space"},
    {"1 axis maps", "size 1 stretches, known at run time only", "unit/reference/reference_test",
     "dims of extent 1 stretch at run time, and scalars lie everywhere"},
    {"1 axis maps", "which dims may stretch", "unit/spec/analyse_test",
     "which dims may stretch follows from how they are written"},
    {"1 axis maps", "place by dims, then stretch", "unit/spec/semantics_test",
     "Placing by dims comes first, stretching second: 4 by dims(0) and 1 x 2 give 4 x 2"},
    {"1 axis maps", "order is not the storage order", "unit/spec/semantics_test",
     "Order is alignment, not storage: any strides give the same values"},
    {"1 axis maps", "everything is local to an expression", "differential/locality_test",
     "an unrelated input or output changes no bit of the others"},
    {"1 axis maps", "and so are extents", "unit/plan/plan_test",
     "An unlabelled dim on a labelled axis meets only what its expression reads"},
    {"1 axis sets", "an inner reduction broadcasts back", "unit/reference/reference_test",
     "inner reductions broadcast back, like= folds or repeats"},
    {"1 axis sets", "like=", "unit/spec/analyse_test",
     "like= folds what the input lacks or stretches and repeats what the value lacks"},
    {"1 modes", "none", "unit/spec/analyse_test",
     "plain outputs have the axes of the expression, in the order listed"},
    {"1 modes", "broadcast", "unit/spec/analyse_test",
     "broadcast gives all axes of the inputs it reads"},
    {"1 modes", "accumulate, reduce", "unit/spec/analyse_test",
     "accumulate folds each operand on its own, reduce folds the value"},
    {"1 modes", "the two differ", "unit/reference/reference_test",
     "accumulate folds operands first, reduce folds values last"},
    {"1 modes", "the axes listed", "unit/spec/analyse_test",
     "brackets name the axes that accumulate and reduce keep"},
    {"1 modes", "several modes in one kernel", "unit/plan/plan_test",
     "A map, its row fold and its column fold are one sweep without temporaries"},
    {"1 accumulators", "sum, prod, min, max of every type", "unit/ops/ops_typing_test",
     "sums widen as in NumPy and accumulate in 64 bits"},
    {"1 accumulators", "any, all", "unit/spec/positions_test",
     "any and all test for what is not zero, NaN included"},
    {"1 accumulators", "mean", "unit/spec/positions_test",
     "a mean divides by the number of points folded, in f64"},
    {"1 accumulators", "several states", "nests/greatest_of_rows",
     "An accumulator of two states runs in lanes and leaves like one of one state"},
    {"1 accumulators", "ordered folds", "nests/ordered",
     "An ordered fold over two loops goes on from row to row in every lane"},
    {"1 accumulators", "scans", "nests/running_sums",
     "Running sums agree in every direction, block length and lane"},
    {"1 write requests", "write, the default", "unit/kernel/kernel_test",
     "A kernel runs on the caller's memory, by position and by name"},
    {"1 write requests", "add", "unit/kernel/kernel_test",
     "An output with += adds to what is there"},
    {"1 write requests", "null", "unit/kernel/kernel_test",
     "An output that is not named is not computed"},
    {"1 reductions", "stages share outer axes and run a row at a time", "unit/plan/plan_test",
     "Softmax and its kin fold each row once per reduction and keep rows for threads only"},
    {"1 reductions", "never evaluated again inside a wider loop", "unit/plan/plan_test",
     "A total inside a map is folded once, not again for every element"},
    {"1 reductions", "no temporary of the size of the pairs", "unit/plan/plan_test",
     "A sum of radial basis functions needs no memory of the size of the pairs"},
    {"1 patterns", "one compile serves all shapes of a pattern", "unit/plan/patterns_test",
     "One compile serves ten shapes of a kernel of mixed modes"},
    {"1 patterns", "size-1 axes are dropped, neighbours merge", "unit/plan/patterns_test",
     "Dims of size 1 fold into the pattern of their neighbours"},
    {"1 patterns", "a size-1 dim met at run time", "unit/plan/patterns_test",
     "A dim of size 1 met at run time picks another pattern and is never read past"},
    {"1 patterns", "at most 2n for folding one operand", "unit/plan/patterns_test",
     "Folding an operand of n dims over any of its axes takes at most 2n patterns"},
    {"1 patterns", "at most 64 in all", "unit/plan/patterns_test",
     "A kernel keeps 64 patterns and few generic ones, and goes on giving right answers"},
    {"1 patterns", "an axis of size 1 still steps once", "unit/spec/semantics_test",
     "A folded axis of size 1 still steps once"},
    {"1 patterns", "iota counts logically", "unit/spec/positions_test",
     "an index is logical: from 0 along each axis, whatever the strides"},
    {"2 text form", "parse(print(x)) == x", "differential/printing_test",
     "every random kernel prints as a text that means the same and prints itself"},
    {"2 text form", "the listing of the page", "unit/house/docs_test",
     "every command on the language page and the others of the reference prints what is shown"},
    {"2 text form", "three sets of names", "unit/text/parse_test",
     "values, callables and axes are three namespaces"},
    {"3 values", "promotion is NumPy 2's", "unit/ops/ops_typing_test",
     "promotion is NumPy's, for all pairs"},
    {"3 values", "operands of two types", "values/values_test",
     "operands of two types meet as in the table"},
    {"3 values", "weak literals", "unit/spec/analyse_test",
     "numbers take the type of what they meet"},
    {"3 values", "f16 and bf16 compute in f32", "unit/jit/float16_native_test",
     "f16 and bf16 compute in f32, and only a cast and the store round"},
    {"3 values", "total operations", "values/values_test",
     "operations have the values of the table at all pairs of values"},
    {"3 values", "functions at special values", "values/values_test",
     "functions of one operand have the values of the table"},
    {"3 values", "float to integer saturates, NaN gives 0", "values/values_test",
     "conversions have the values of the table"},
    {"3 values", "accumulate dtypes, cast once", "unit/spec/analyse_test",
     "a reduction that is the whole output is rounded once, an inner one is rounded first"},
    {"3 values", "min and max: NaN, -0 < +0", "unit/spec/semantics_test",
     "Folds by min and max propagate NaN and order -0 below +0, wherever they stand"},
    {"3 values", "maximum, fmax: the same", "unit/ops/evaluate_test",
     "maximum and minimum order -0 below +0 and propagate NaN, fmax and fmin ignore NaN"},
    {"3 values", "empty folds", "unit/reference/reference_test",
     "empty folds give the identity or an error"},
    {"3 values", "no contraction", "unit/spec/semantics_test",
     "A product and a sum round twice: nothing is contracted"},
    {"3 values", "subnormals are kept", "unit/spec/semantics_test",
     "Subnormal numbers are kept, in operands and in results"},
    {"3 values", "the floating-point environment", "unit/kernel/kernel_threads_test",
     "Floating-point control of the caller neither matters nor changes"},
    {"3 determinism", "the tree of a fold", "unit/loop/interpret_test",
     "folds follow the tree of the definition, in one piece, in chunks and reversed"},
    {"3 determinism", "any thread count", "unit/kernel/kernel_threads_test",
     "Every number of threads gives the same bits"},
    {"3 determinism", "AVX2, AVX-512, interpreter; the bound of a sum",
     "differential/differential_test",
     "interpreter, native code and reference agree on random kernels"},
    {"3 determinism", "all NaNs are equal", "unit/ops/evaluate_test",
     "no answer depends on the sign of a NaN"},
    {"3 aliasing", "as if copied first", "unit/kernel/overlapping_operands_test",
     "Inputs that overlap outputs behave as if they had been copied first"},
    {"3 aliasing", "outputs that overlap", "unit/kernel/overlapping_operands_test",
     "Outputs may interleave in memory but not overlap"},
    {"8 processes", "a child of fork runs its kernels", "unit/kernel/processes_test",
     "A child that is forked while another thread runs a parallel kernel runs it, too"},
    {"8 processes", "a child of fork compiles", "unit/kernel/processes_test",
     "A child that is forked while other threads compile can compile"},
    {"8 processes", "exits while others compile are clean", "unit/kernel/processes_test",
     "A process may end while other threads compile or run"},
    {"8 threads", "few threads are no error", "unit/kernel/processes_test",
     "Where threads cannot be made kernels run on fewer, with the same bits and one line of log"},
    {"8 memory", "kernels side by side are few mappings", "unit/jit/engine_test",
     "hundreds of kernels that live side by side take few mappings of memory"},
    {"8 out of memory", "an error outside LLVM", "unit/kernel/faults_test",
     "An allocation that fails outside LLVM is an error, after which all works"},
    {"8 disk cache", "torn entries are misses", "unit/jit/disk_cache_test",
     "an entry with any byte changed, cut off or added is a miss, and goes"},
    {"8 cancellation", "a call stops soon", "unit/kernel/cancel_test",
     "A call that would take hours stops soon after the flag is set"},
    {"3 aliasing", "self-overlap", "unit/kernel/overlap_test",
     "Self-overlap agrees with counting on random small layouts"},
};

std::string contents(const std::string &path) {
  std::ifstream file(std::filesystem::path(BROADLOOM_SOURCE_DIR) / path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Test names are long: the formatter breaks them into several literals.
std::string joined(std::string text) {
  for (std::size_t at = 0; (at = text.find("\"\n", at)) != std::string::npos;) {
    const std::size_t next = text.find_first_not_of(" \n", at + 1);
    if (next != std::string::npos && text[next] == '"')
      text.erase(at, next + 1 - at);
    else
      ++at;
  }
  return text;
}

} // namespace

TEST_CASE("every promise of the design has a test that is built and says it") {
  const std::string built = contents("tests/meson.build");
  for (const Promise &promise : promises) {
    const bool nest = std::string(promise.file).rfind("nests/", 0) == 0;
    const std::string file = std::string(promise.file) + (nest ? ".loop" : ".cpp");
    INFO(std::string(promise.part), ": ", std::string(promise.text), ": ", file, ": ",
         std::string(promise.test));
    if (nest) { // a file that nests_test.cpp runs, and that begins with the sentence
      CHECK(contents("tests/" + file).rfind("# " + std::string(promise.test) + ".\n", 0) == 0);
      continue;
    }
    CHECK(built.find("'" + file + "'") != std::string::npos);
    CHECK(joined(contents("tests/" + file)).find("\"" + std::string(promise.test) + "\"") !=
          std::string::npos);
  }
}
