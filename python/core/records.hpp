// Descriptions as the tuples of broadloom/records.py.
#pragma once

#include <broadloom/broadloom.hpp>

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace broadloom::python {

namespace nb = nanobind;

nb::object record_of(const Place &place); // None where it is not known
nb::object record_of(const Counters &counters);
nb::object record_of(const GradientCheck &check);
nb::object record_of(const Partial &block);
nb::list records_of(const std::vector<InputInfo> &inputs);
nb::list records_of(const std::vector<OutputInfo> &outputs);
nb::list records_of(const std::vector<Decision> &decisions);

// "softmax(x: f32[i, j]) -> p: f32[i, j]"
std::string signature(const Kernel &kernel, const std::string &name);

} // namespace broadloom::python
