// See paths.hpp.
#include "jit/runtime/paths.hpp"

#include <array>

namespace broadloom::jit {

std::string_view name(Path path) {
  switch (path) {
  case Path::MapGroup: return "map-group";
  case Path::MapRest: return "map-rest";
  case Path::MapRestNarrowed: return "map-rest-narrowed";
  case Path::MapMasked: return "map-masked";
  case Path::StreamHead: return "stream-head";
  case Path::StreamAligned: return "stream-aligned";
  case Path::StreamMisaligned: return "stream-misaligned";
  case Path::FoldSerial: return "fold-serial";
  case Path::FoldGroups: return "fold-groups";
  case Path::FoldMasked: return "fold-masked";
  case Path::FoldUnrolled: return "fold-unrolled";
  case Path::LeafJoined: return "leaf-joined";
  case Path::LeavesTogether: return "leaves-together";
  case Path::ScanSerial: return "scan-serial";
  case Path::ScanOfRows: return "scan-of-rows";
  case Path::ScanBlock: return "scan-block";
  case Path::ScanGroup: return "scan-group";
  case Path::ScanGroups: return "scan-groups";
  case Path::ScanMasked: return "scan-masked";
  case Path::ScanReverse: return "scan-reverse";
  case Path::ScanHanded: return "scan-handed";
  case Path::ShortCopied: return "short-copied";
  case Path::ShortLooped: return "short-looped";
  case Path::ShortTree: return "short-tree";
  case Path::ShortInMemory: return "short-in-memory";
  case Path::ColumnsLoaded: return "columns-loaded";
  case Path::ColumnsStored: return "columns-stored";
  case Path::RowOfLanes: return "row-of-lanes";
  case Path::RowInLanes: return "row-in-lanes";
  case Path::RowOfScan: return "row-of-scan";
  case Path::RowsJammed: return "rows-jammed";
  case Path::RowsJammedRest: return "rows-jammed-rest";
  case Path::RegisterTile: return "register-tile";
  case Path::RegisterTileOfPanel: return "register-tile-of-panel";
  case Path::RegisterTileBeside: return "register-tile-beside";
  case Path::TileBlock: return "tile-block";
  case Path::TileStreamed: return "tile-streamed";
  case Path::TileBeside: return "tile-beside";
  case Path::LoadStep2: return "load-step-2";
  case Path::LoadStep3: return "load-step-3";
  case Path::LoadStep4: return "load-step-4";
  case Path::LoadReversed: return "load-reversed";
  case Path::PaddingSplit: return "padding-split";
  case Path::MasksDropped: return "masks-dropped";
  case Path::ResidueClasses: return "residue-classes";
  case Path::RowsKept: return "rows-kept";
  case Path::RowsOfLoop: return "rows-of-loop";
  case Path::Checkpoints: return "checkpoints";
  case Path::LetInTiles: return "let-in-tiles";
  case Path::LoopEnded: return "loop-ended";
  case Path::LoadApart: return "load-apart";
  case Path::LoadApartMasked: return "load-apart-masked";
  case Path::StoreApart: return "store-apart";
  case Path::StoreApartMasked: return "store-apart-masked";
  case Path::ReadAhead: return "read-ahead";
  }
  return "";
}

std::uint64_t *path_counts() {
  static std::array<std::uint64_t, path_count> counts{};
  return counts.data();
}

void count(Path path) {
  __atomic_fetch_add(&path_counts()[std::size_t(path)], 1, __ATOMIC_RELAXED);
}

} // namespace broadloom::jit
