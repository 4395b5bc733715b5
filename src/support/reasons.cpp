// The table of reasons: see reasons.hpp.
#include "support/reasons.hpp"

#include <algorithm>
#include <array>

namespace broadloom::support {
namespace {

constexpr bool usual = true;

constexpr auto table = std::to_array<ReasonInfo>({
    {Reason::ScalarOperand, "scalar-operand", "accumulate",
     "an input of the output is a scalar, so all axes are folded"},
    {Reason::NoCombine, "no-combine", "ordered",
     "the accumulator has no combine: its fold or scan is serial, in logical order"},
    {Reason::EmptyBlocks, "empty-blocks", "blocks",
     "the init of an accumulator is no identity of its combine: blocks count their elements, and "
     "one without any takes no part"},
    {Reason::WrongJoin, "wrong-join", "blocks",
     "the combine of an accumulator gives other values than its steps: of which elements"},
    {Reason::RelaxedArithmetic, "relaxed-arithmetic", "relaxed",
     "`set relaxed = on`: what was rewritten, and how often"},
    {Reason::ScaleBackward, "scale-backward", "scales",
     "a factor of parameters moved back into the parameters that its value is made of"},
    {Reason::ScaleForward, "scale-forward", "scales",
     "a factor of parameters moved on into the parameters that its value meets"},
    {Reason::ShiftJoined, "shift-joined", "scales",
     "two parameters that were added one after the other are one"},
    {Reason::ShiftTakenOut, "shift-taken-out", "scales",
     "a parameter that was added inside a contraction is a sum of its own"},
    {Reason::ScaleData, "scale-data", "scales",
     "the factor stays: what it multiplies holds no parameter on the way back"},
    {Reason::ScaleAxes, "scale-axes", "scales",
     "the factor stays: it would have to pass a reduction along an axis of its own, or grow a "
     "value"},
    {Reason::ScaleSign, "scale-sign", "scales",
     "the factor stays: it is not known to be above 0, which maximum, abs and the like need"},
    {Reason::ScaleNotFinite, "scale-not-finite", "scales",
     "the factor stays: it may be infinite or no number, or something would be divided by it and "
     "it may be 0"},
    {Reason::ScaleShared, "scale-shared", "scales",
     "the factor stays: a value on the way is read elsewhere as it is"},
    {Reason::ScaleOperation, "scale-operation", "scales",
     "the factor stays: an operation on the way is not linear"},
    {Reason::ScaleType, "scale-type", "scales",
     "the factor stays: a value on the way is no f32 or f64, or would change its type"},
    {Reason::ScaleOutput, "scale-output", "scales",
     "the factor stays: it reaches an output before any parameter"},
    {Reason::ScaleKernel, "scale-kernel", "scales",
     "no factor of the kernel moves: it has a form in which that means another thing"},

    {Reason::DescendingStride, "descending-stride", "axes",
     "the axis with the largest strides is outermost; operands with most axes decide first"},
    {Reason::AskedOrder, "asked-order", "axes",
     "the schedule says which axes are outside, or innermost for the lanes of vectors"},
    {Reason::OneStride, "one-stride", "merge",
     "two neighbouring axes are one loop: every operand walks them with one stride", usual},
    {Reason::StridesDiffer, "strides-differ", "merge",
     "two neighbouring axes stay two loops: some operand does not walk both with one stride",
     usual},
    {Reason::PositionIsRead, "position-is-read", "merge",
     "two neighbouring axes stay two loops: `iota` asks for the position along one of them", usual},
    {Reason::AskedApart, "asked-apart", "merge",
     "two neighbouring axes stay two loops: the schedule asks for other things along one of them"},
    {Reason::FoldSplitsAxes, "fold-splits-axes", "merge",
     "two neighbouring axes stay two loops: a fold keeps only one of them, or a scan runs along "
     "one",
     usual},
    {Reason::NestByStride, "nest-by-stride", "nest",
     "the loops of a phase, outermost first, in the order of the strides", usual},
    {Reason::NestInChunks, "nest-in-chunks", "nest",
     "the loops of a phase; an axis is cut into chunks", usual},
    {Reason::NestInTiles, "nest-in-tiles", "nest",
     "the loops of a phase; two axes are walked in tiles, or one in blocks", usual},

    {Reason::FoldLanes, "fold-lanes", "vector",
     "the innermost folded axis: 32 ways walk it and are joined at the end of each leaf", usual},
    {Reason::ScanLanes, "scan-lanes", "vector",
     "the scanned axis is the innermost one: its positions run in groups of 16 lanes", usual},
    {Reason::UnitStride, "unit-stride", "vector",
     "the innermost axis: operands have their elements side by side along it", usual},
    {Reason::BlocksOfLongAxis, "blocks-of-long-axis", "vector",
     "a long axis in blocks, as the innermost one is too short for the lanes of a register", usual},
    {Reason::NoUnitStride, "no-unit-stride", "vector",
     "the innermost axis, though no operand has its elements side by side along it", usual},
    {Reason::OneLane, "one-lane", "vector",
     "one position at a time: the order of the steps matters", usual},
    {Reason::NoVectorLoop, "no-vector-loop", "vector",
     "no loop of the phase can take several positions at once", usual},
    {Reason::LanesOfRegister, "lanes-of-register", "width",
     "as many lanes as elements of the narrowest type fill a register, of no less than four bytes "
     "each",
     usual},
    {Reason::LanesOfWidest, "lanes-of-widest", "width",
     "all types are narrow, so the widest of them fills a register", usual},
    {Reason::ColumnBlock, "column-block", "unroll",
     "several registers of columns at once: rows are read in pieces of whole cache lines", usual},
    {Reason::RegisterTile, "register-tile", "unroll",
     "several rows of the result in one group of lanes: what they share is loaded once", usual},
    {Reason::OneGroup, "one-group", "unroll",
     "one group of lanes for each turn: turns do not wait for each other, so copies of the body "
     "would cost compile time and gain nothing",
     usual},
    {Reason::RegistersOfLanes, "registers-of-lanes", "unroll",
     "the 32 ways of a fold are several registers, and the body is repeated for each", usual},
    {Reason::HeavyBody, "heavy-body", "unroll", "the body is heavy: it is not repeated", usual},
    {Reason::GroupOfScan, "group-of-scan", "unroll",
     "a scan takes 16 positions at a time and joins them in the lanes of one group", usual},
    {Reason::RowsJammed, "rows-jammed", "unroll",
     "several rows are copies of the body of the loop inside (unroll-and-jam): states that all of "
     "them step stay in registers"},
    {Reason::LeavesTogether, "leaves-together", "unroll",
     "several leaves of a fold step side by side, as each step of a leaf waits for the one before"},
    {Reason::NarrowColumns, "narrow-columns", "unroll",
     "there are fewer columns than a block has: all of them are the masked rest, in as few lanes "
     "as hold them"},
    {Reason::TransposedBlock, "transposed-block", "tile",
     "an operand that lies across is loaded in square blocks, which are transposed in registers"},
    {Reason::WindowLoads, "window-loads", "access",
     "lanes lie a small step apart: whole vectors are loaded and the lanes picked from them"},
    {Reason::LanesApart, "lanes-apart", "access",
     "lanes lie apart in memory: gathers and scatters, or one element at a time"},

    {Reason::OperandAcross, "operand-across", "tile",
     "an operand has its elements side by side along another axis than the innermost one"},
    {Reason::ShortInnermostAxis, "short-innermost-axis", "tile",
     "the innermost axis has fewer positions than a register has lanes: a longer one is "
     "vectorised, in blocks"},
    {Reason::ShortOperandRepeated, "short-operand-repeated", "tile",
     "a short operand is written out along the next axis, so that both axes are one long one"},
    {Reason::OperandPacked, "operand-packed", "tile",
     "an operand of a product is written out in panels as wide as a register tile, so that each "
     "step "
     "of the fold finds its elements side by side"},
    {Reason::SideBySide, "side-by-side", "tile",
     "no tiles: all operands have their elements side by side along the innermost axis, or along "
     "none",
     usual},
    {Reason::ShortTileSides, "short-tile-sides", "tile",
     "no tiles, though an operand lies across: an axis is shorter than a cache line's worth",
     usual},

    {Reason::ExactFold, "exact-fold", "fold",
     "any order gives the same bits (integers, min, max, any, all)"},
    {Reason::PairwiseLeaves, "pairwise-leaves", "fold",
     "leaves of 128 steps, joined pairwise: one tree for all engines and numbers of threads"},
    {Reason::LogicalOrder, "logical-order", "fold",
     "the combine may not be symmetric: leaves in logical order, joined pairwise"},
    {Reason::FoldWithoutCombine, "fold-without-combine", "fold",
     "no combine: step by step in logical order"},
    {Reason::NoAxisKept, "no-axis-kept", "chunks",
     "a fold that keeps no axis is cut into chunks, which run in parallel"},
    {Reason::FewPositionsKept, "few-positions-kept", "chunks",
     "a long fold that keeps few positions is cut into chunks, which run in parallel"},
    {Reason::ChunksAsked, "chunks-asked", "chunks",
     "a fold or a scan is cut into chunks, which run in parallel, as the schedule asks"},
    {Reason::ShortRowsTogether, "short-rows-together", "rows",
     "a fold of rows of at most 32 elements takes many rows at once, one to a lane; the code is "
     "for "
     "this length"},
    {Reason::FewPositionsFolded, "few-positions-folded", "rows",
     "a fold over at most 32 positions, with elements side by side in lanes, is written out: the "
     "code is for just as many"},
    {Reason::TallTiles, "tall-tiles", "rows",
     "register tiles have twice as many rows: what the rows share is read where it lies, and "
     "leaves "
     "the nearest cache"},
    {Reason::RowsAsTheyLie, "rows-as-they-lie", "rows",
     "a fold over rows reads them as they lie, with a row of states in memory for each 128 of "
     "them"},
    {Reason::RowsComputedOnce, "rows-computed-once", "rows",
     "a fold over rows goes row by row with the states in memory, though no operand has all axes: "
     "what goes through the rows anyway computes the same functions"},
    {Reason::ShortRows, "short-rows", "rows",
     "a fold over rows keeps its states in registers: the rows are shorter than 64 elements",
     usual},
    {Reason::StatesExceedCache, "states-exceed-cache", "rows",
     "a fold over rows keeps its states in registers: a row of states would leave the caches",
     usual},
    {Reason::TooFewRows, "too-few-rows", "rows",
     "a fold over rows keeps its states in registers: there are too few chunks of rows for the "
     "threads",
     usual},
    {Reason::ReadRepeatedly, "read-repeatedly", "rows",
     "a fold over rows keeps its states in registers: no operand has all axes, so all are read "
     "many times",
     usual},
    {Reason::ScanInParallel, "scan-in-parallel", "scan",
     "the blocks of a scan run in parallel, after their totals have been scanned"},
    {Reason::ScanInOrder, "scan-in-order", "scan",
     "the blocks of a scan run one after another: the kept positions occupy the threads"},
    {Reason::ScanWithoutCombine, "scan-without-combine", "scan", "no combine: step by step"},

    {Reason::KeepAsked, "keep-asked", "hold", "`keep()` says that a value is held in memory"},
    {Reason::ComputedTooOften, "computed-too-often", "hold",
     "a value is held in memory: loops would compute it more often than it has positions"},
    {Reason::RecomputeCheaper, "recompute-cheaper", "recompute",
     "values are computed again where they are needed: less work than memory traffic, or "
     "`recompute()` says so",
     usual},
    {Reason::RowKept, "row-kept", "row",
     "a value of one row is kept in the caches for the loops after the first"},
    {Reason::RowExceedsCache, "row-exceeds-cache", "row",
     "a value of one row is computed in each loop: the row would leave the caches", usual},
    {Reason::OutputExceedsCache, "output-exceeds-cache", "streaming",
     "an output larger than the last-level cache is stored around the caches"},
    {Reason::OutputFitsCache, "output-fits-cache", "streaming",
     "plain stores: the output fits into the last-level cache", usual},
    {Reason::AddsIntoOutput, "adds-into-output", "streaming",
     "plain stores: `+=` reads the output first", usual},
    {Reason::StoreNotUnitStride, "store-not-unit-stride", "streaming",
     "plain stores: the vector loop does not write the output side by side", usual},
    {Reason::ShortStreamedRows, "short-streamed-rows", "streaming",
     "plain stores: each row would begin and end with them anyway, and rows are short", usual},
    {Reason::InputReadAhead, "input-read-ahead", "reading",
     "cache lines of an input that is too large for a core's own caches are asked for ahead"},
    {Reason::InputStaysNear, "input-stays-near", "reading",
     "nothing is asked for ahead: the input may stay in a core's own caches", usual},
    {Reason::InputReadOften, "input-read-often", "reading",
     "nothing is asked for ahead: the elements of the input are read again and again", usual},
    {Reason::InputReadInTiles, "input-read-in-tiles", "reading",
     "nothing is asked for ahead: in a tile the next lines are those of other rows", usual},
    {Reason::InputReadBefore, "input-read-before", "reading",
     "nothing is asked for ahead: another window of the same array has read these lines before",
     usual},
    {Reason::InputHasGaps, "input-has-gaps", "reading",
     "nothing is asked for ahead: what comes next in memory is not of the view", usual},
    {Reason::BetweenPhases, "between-phases", "scratch",
     "memory for what one phase leaves for a later one"},
    {Reason::CompulsoryTraffic, "compulsory-traffic", "traffic",
     "the bytes of each operand, once: what no loop nest can avoid", usual},

    {Reason::OneSweep, "one-sweep", "sweeps", "an input is read in one phase only", usual},
    {Reason::AlongWithFold, "along-with-fold", "sweeps",
     "an output takes the loops of a fold that reads the same input, so that one sweep serves "
     "both"},
    {Reason::WaitsForResults, "waits-for-results", "sweeps",
     "an input is read again: the phase needs results of an earlier one"},
    {Reason::LoopsDiffer, "loops-differ", "sweeps",
     "an input is read again: the loops of the two phases are not the same"},
    {Reason::ReadInBlocks, "read-in-blocks", "sweeps",
     "an input is read again from the caches: each block goes through both phases"},
    {Reason::FuseDone, "fuse-done", "fuse",
     "what `fuse` names shares a phase, which may be that of its sums before their chunks are "
     "joined"},
    {Reason::FuseImpossible, "fuse-impossible", "fuse",
     "two outputs that `fuse` names cannot share a phase"},
    {Reason::FuseOfLet, "fuse-of-let", "fuse", "`fuse` names a let, which has no loops of its own"},
    {Reason::FuseOfArray, "fuse-of-array", "fuse",
     "`fuse` names a let that is an array, which a kernel of its own computes first"},
    {Reason::SeparateDone, "separate-done", "separate",
     "two outputs that `separate` names are in two phases"},
    {Reason::SeparateImpossible, "separate-impossible", "separate",
     "two outputs that `separate` names must share a phase"},
    {Reason::SeparateOfLet, "separate-of-let", "separate",
     "`separate` names a let, which has no loops of its own"},
    {Reason::SeparateOfArray, "separate-of-array", "separate",
     "`separate` names a let that is an array, which a kernel of its own computes first"},
    {Reason::ParallelAxes, "parallel-axes", "phase",
     "the outer loops of the phase are independent, and may be shared out among threads"},
    {Reason::RunsOnce, "runs-once", "phase",
     "the phase has no outer loop that could be shared out"},
    {Reason::HandsOn, "hands-on", "phase",
     "the phase is the middle of a pipeline: each block hands its states on to the next"},
    {Reason::WorkShared, "work-shared", "threads",
     "the phase is cut into blocks for several threads"},
    {Reason::SharedIfAwake, "shared-if-awake", "threads",
     "the phase takes some microseconds: it is cut into blocks for threads that are awake after a "
     "call shortly before, and the caller's thread runs it alone where none is"},
    {Reason::BlocksInTurn, "blocks-in-turn", "threads",
     "the phases of a parallel scan run block by block, each block through all three while it is "
     "in the caches"},
    {Reason::PhasesInterleaved, "phases-interleaved", "threads",
     "phases that go through the same input run block by block, each block of it through all of "
     "them while it is in the caches"},
    {Reason::TooLittleWork, "too-little-work", "threads",
     "the caller's thread runs the phase: waking others would take longer"},
    {Reason::OneThread, "one-thread", "threads", "the kernel was compiled for one thread"},
    {Reason::SerialPhase, "serial-phase", "threads",
     "the caller's thread runs the phase: it has no parallel loop"},

    {Reason::WishMet, "wish-met", "schedule", "what a clause of the schedule asks for is done"},
    {Reason::WishNotMet, "wish-not-met", "schedule",
     "what a clause of the schedule asks for cannot be done here, or changes nothing"},

    {Reason::NativeCode, "native-code", "engine", "machine code for this target"},
    {Reason::NoNativeTarget, "no-native-target", "engine",
     "the interpreter: this machine is no target of native code"},
    {Reason::NoNativeCode, "no-native-code", "engine",
     "the interpreter: native code could not be made, or the kernel is too large for it"},
    {Reason::InterpreterAsked, "interpreter-asked", "engine",
     "the interpreter: the options ask for it"},
    {Reason::ReferenceAsked, "reference-asked", "engine", "the reference: the options ask for it"},
    {Reason::LetIsArray, "let-is-array", "lets",
     "a let is read at positions: it is computed first, as an array"},
    {Reason::LetInTiles, "let-in-tiles", "lets",
     "a let that is an array is computed a few rows at a time, just before what reads these rows"},
    {Reason::LetGoesByStep, "let-goes-by-step", "lets",
     "a let reads itself at earlier positions of an axis: these are computed one after the other"},
    {Reason::LetKeepsRows, "let-keeps-rows", "lets",
     "of a let that reads itself, only the last positions are read: no others are kept"},
    {Reason::LetIsRows, "let-is-rows", "lets",
     "a let is what a loop over time had some steps before: rows of its array, and of what it "
     "begins with"},
    {Reason::LetCheckpoints, "let-checkpoints", "lets",
     "of a loop over time that another goes back along few positions are kept, and the others "
     "computed again"},
    {Reason::LoopEnds, "loop-ends", "lets",
     "a loop over time ends before its last step where all rows behind it repeat its row"},
    {Reason::LoopRunsOn, "loop-runs-on", "lets",
     "a loop over time runs all steps, as a let of it goes on changing where others hold still"},
    {Reason::LetOrder, "let-order", "lets",
     "the array of a let lies in the order in which what reads it costs least"},
    {Reason::LetsShareMemory, "lets-share-memory", "lets",
     "what the arrays of lets take at once: those that never live together share memory"},
    {Reason::GatherFillsOutput, "gather-fills-output", "engine",
     "a gather is all of the output, which is filled by it: no loop is run and no code compiled"},
    {Reason::PaddingSplit, "padding-split", "padding",
     "the interior reads the arrays themselves, and only their borders are copied"},
    {Reason::PaddingCopied, "padding-copied", "padding",
     "a call copies the arrays that are padded, with their borders"},
    {Reason::ResidueClasses, "residue-classes", "padding",
     "positions some steps apart are computed together: what flows back through a window that "
     "moves by "
     "more than one meets only what is there"},
    {Reason::PlanFailed, "plan-failed", "engine",
     "the plan for several threads met a bug of Broadloom: one for a single thread runs"},
    {Reason::NoPlan, "no-plan", "engine",
     "the reference: a bug of Broadloom leaves no loop program to run"},
    {Reason::CodeSize, "code-size", "code",
     "how large the code is, and the time of compiling so far"},
    {Reason::PredictedTime, "predicted-time", "time",
     "what a phase is predicted to take on this machine, which is measured for it; with `--json` "
     "only"},
    {Reason::CalledOutOfLine, "called-out-of-line", "code",
     "an operation is called, not inlined: copies of it wherever it stands would take long to "
     "compile"},
    {Reason::CutIntoPieces, "cut-into-pieces", "code",
     "the phase is cut into several functions: one that large would take long to compile"},
    {Reason::LaneAtATime, "lane-at-a-time", "math",
     "a function without vector code runs one lane at a time"},
    {Reason::PatternKnown, "pattern-known", "cache",
     "hit: this kernel has run the same pattern of layouts", usual},
    {Reason::CodeKnown, "code-known", "cache",
     "hit: another kernel of this process has the same loop program", usual},
    {Reason::CodeOnDisk, "code-on-disk", "cache",
     "hit: the disk cache has code for the same loop program", usual},
    {Reason::FirstPattern, "first-pattern", "cache",
     "miss: the first pattern of layouts of this kernel", usual},
    {Reason::NewPattern, "new-pattern", "cache",
     "miss: the nearest pattern of the last eight, and in what it differs", usual},
    {Reason::PatternGeneric, "pattern-generic", "cache",
     "this kernel has compiled as many patterns as it keeps: its generic program, which fits them "
     "all, runs"},
});

constexpr bool in_order() {
  for (std::size_t k = 0; k < table.size(); ++k)
    if (std::size_t(table[k].reason) != k) return false;
  return table.size() == std::size_t(Reason::PatternGeneric) + 1;
}
static_assert(in_order(), "one row for each reason, in the order of the enumerators");

} // namespace

const ReasonInfo &info(Reason reason) { return table[std::size_t(reason)]; }

std::span<const ReasonInfo> all_reasons() { return table; }

bool is_usual(const Decision &decision) {
  return std::any_of(table.begin(), table.end(),
                     [&](const ReasonInfo &row) { return row.usual && row.code == decision.code; });
}

Decision decide(Reason reason, std::string subject, std::string choice, std::string text,
                std::vector<Alternative> alternatives, Cost cost) {
  return {std::string(info(reason).topic),
          std::move(text),
          std::string(info(reason).code),
          std::move(subject),
          std::move(choice),
          std::move(alternatives),
          cost};
}

} // namespace broadloom::support
