// The reasons that `why` can give: one closed list, so that programs can rely on the words.
//
// Each row of the table in reasons.cpp is a reason: its code, the topic of the decisions that it is given for,
// and its meaning. docs/why.md shows the same table. A new reason is an enumerator here and a row there.
#pragma once

#include <broadloom/decision.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace broadloom::support {

enum class Reason : std::uint8_t {
  // analysis
  ScalarOperand,
  NoCombine,
  EmptyBlocks,
  WrongJoin,
  RelaxedArithmetic,
  ScaleBackward,
  ScaleForward,
  ShiftJoined,
  ShiftTakenOut,
  ScaleData,
  ScaleAxes,
  ScaleSign,
  ScaleNotFinite,
  ScaleShared,
  ScaleOperation,
  ScaleType,
  ScaleOutput,
  ScaleKernel,
  // axes and nests
  DescendingStride,
  AskedOrder,
  OneStride,
  StridesDiffer,
  PositionIsRead,
  AskedApart,
  FoldSplitsAxes,
  NestByStride,
  NestInChunks,
  NestInTiles,
  // the vector axis
  FoldLanes,
  ScanLanes,
  UnitStride,
  BlocksOfLongAxis,
  NoUnitStride,
  OneLane,
  NoVectorLoop,
  LanesOfRegister,
  LanesOfWidest,
  ColumnBlock,
  RegisterTile,
  OneGroup,
  RegistersOfLanes,
  HeavyBody,
  GroupOfScan,
  RowsJammed,
  LeavesTogether,
  NarrowColumns,
  TransposedBlock,
  WindowLoads,
  LanesApart,
  // tiles
  OperandAcross,
  ShortInnermostAxis,
  ShortOperandRepeated,
  OperandPacked,
  SideBySide,
  ShortTileSides,
  // folds
  ExactFold,
  PairwiseLeaves,
  LogicalOrder,
  FoldWithoutCombine,
  NoAxisKept,
  FewPositionsKept,
  ChunksAsked,
  ShortRowsTogether,
  FewPositionsFolded,
  TallTiles,
  RowsAsTheyLie,
  RowsComputedOnce,
  ShortRows,
  StatesExceedCache,
  TooFewRows,
  ReadRepeatedly,
  ScanInParallel,
  ScanInOrder,
  ScanWithoutCombine,
  // memory
  KeepAsked,
  ComputedTooOften,
  RecomputeCheaper,
  RowKept,
  RowExceedsCache,
  OutputExceedsCache,
  OutputFitsCache,
  AddsIntoOutput,
  StoreNotUnitStride,
  ShortStreamedRows,
  InputReadAhead,
  InputStaysNear,
  InputReadOften,
  InputReadInTiles,
  InputReadBefore,
  InputHasGaps,
  BetweenPhases,
  CompulsoryTraffic,
  // sweeps and phases
  OneSweep,
  AlongWithFold,
  WaitsForResults,
  LoopsDiffer,
  ReadInBlocks,
  FuseDone,
  FuseImpossible,
  FuseOfLet,
  FuseOfArray,
  SeparateDone,
  SeparateImpossible,
  SeparateOfLet,
  SeparateOfArray,
  ParallelAxes,
  RunsOnce,
  HandsOn,
  WorkShared,
  SharedIfAwake,
  BlocksInTurn,
  PhasesInterleaved,
  TooLittleWork,
  OneThread,
  SerialPhase,
  // the user's schedule
  WishMet,
  WishNotMet,
  // the engine
  NativeCode,
  NoNativeTarget,
  NoNativeCode,
  InterpreterAsked,
  ReferenceAsked,
  LetIsArray,
  LetInTiles,
  LetGoesByStep,
  LetKeepsRows,
  LetIsRows,
  LetCheckpoints,
  LoopEnds,
  LoopRunsOn,
  LetOrder,
  LetsShareMemory,
  GatherFillsOutput,
  PaddingSplit,
  PaddingCopied,
  ResidueClasses,
  PlanFailed,
  NoPlan,
  CodeSize,
  PredictedTime,
  CalledOutOfLine,
  CutIntoPieces,
  LaneAtATime,
  PatternKnown,
  CodeKnown,
  CodeOnDisk,
  FirstPattern,
  NewPattern,
  PatternGeneric,
};

struct ReasonInfo {
  Reason reason;
  std::string_view code, topic, meaning;
  // What happens in most kernels: `--stage why` says it, the listing of `--stage plan` does not.
  bool usual = false;
};

const ReasonInfo &info(Reason reason);
std::span<const ReasonInfo> all_reasons();
bool is_usual(const Decision &decision); // by its code

// A decision of this reason's topic and code; cost and alternatives can be added to it.
Decision decide(Reason reason, std::string subject, std::string choice, std::string text,
                std::vector<Alternative> alternatives = {}, Cost cost = {});

} // namespace broadloom::support
