// .npz files that are written, then named. `load_npz` and `save_npz` in array.hpp are the public
// part.
#pragma once

#include "array/pending.hpp"

#include <broadloom/array.hpp>

#include <string>

namespace broadloom::npz {

// The whole archive, which has yet to get its name.
array::PendingFile pending(const std::string &path, const NamedArrays &arrays);

} // namespace broadloom::npz
