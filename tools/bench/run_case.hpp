// One case from its line in the table to a row of the report: data, compile, peers, roofline,
// rounds.
#pragma once

#include "bench/peers.hpp"
#include "bench/roofline.hpp"
#include "bench/rounds.hpp"
#include "bench/row.hpp"
#include "bench/table.hpp"

#include <string>
#include <vector>

namespace bench {

struct Bench {
  std::string cases_folder; // where KERNEL.loom lies
  std::string data_folder;  // for arrays that go to the peers
  Probe *probe = nullptr;   // never null
  Peers *peers = nullptr;   // null: hand-written loops are the only peers
  RoundLimits limits;
  std::vector<int> threads = {}; // our kernel runs on so many, too
};

// A case that cannot be run gives a row with `failure`. A peer that fails is marked in its row;
// throws PeerError where the whole process of the peers is gone.
Row run_case(const Case &c, const Bench &bench);

// How far `theirs` is from `ours`: the greatest difference of two elements, relative to the greater
// of |ours| there and the root mean square of all of ours; infinity where shapes, dtypes or NaNs
// differ.
double difference(const broadloom::Array &theirs, const broadloom::Array &ours);

} // namespace bench
