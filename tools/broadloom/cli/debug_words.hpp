// The words by which people choose what is checked of a call: `run --debug=nan,memory`, `.set debug
// nan`.
#pragma once

#include <broadloom/options.hpp>

#include <string>

namespace broadloom::cli {

// "nan,infinity": names of bl::Debug with commas between, or "off". Throws UsageError E0401;
// `option` is what it is a value of.
Debug debug_in(const std::string &list, const std::string &option);
std::string debug_text(Debug debug); // the other way

} // namespace broadloom::cli
