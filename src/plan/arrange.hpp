// Inside the plan stage: from what is chosen to items with their loops and phases; see arrange.cpp
// for the method.
#pragma once

#include "plan/schedule.hpp"
#include "plan/trees.hpp"

namespace broadloom::plan {

Nests arrange(const Request &request, const Trees &trees, const Ways &ways, Why &why);

} // namespace broadloom::plan
