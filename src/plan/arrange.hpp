// Inside the plan stage: from what is chosen to items with their loops and phases; see arrange.cpp for the method.
#pragma once

#include "plan/schedule.hpp"
#include "plan/trees.hpp"

namespace broadloom::plan {

// Of `chosen` it takes what does not go by the items: cuts, sweeps, short rows, tiles, holds.
Nests arrange(const Request &request, const Trees &trees, const Schedule &chosen, Why &why);

} // namespace broadloom::plan
