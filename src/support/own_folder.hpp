// Where folders may be made that nobody has asked for by name: caches, reports, a history.
//
// Problem: a program that runs as root with the HOME of its caller makes ~/.cache as root's, and
// locks the caller out of it.
// Method: the path, or as much of it as is there, must belong to whoever we are, or be like /tmp,
// where anybody may make folders.
// Example: may_make_below("/home/ada") is false in a process of root.
#pragma once

#include <string>

namespace broadloom::support {

bool may_make_below(const std::string &path);

} // namespace broadloom::support
