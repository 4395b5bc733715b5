// nanobind is compiled from its own sources, which lie where its Python package says.
#include <nb_combined.cpp>
