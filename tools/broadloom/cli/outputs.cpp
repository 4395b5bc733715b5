// See outputs.hpp.
#include "tools/broadloom/cli/outputs.hpp"

#include "array/layout.hpp"
#include "array/print.hpp"
#include "tools/broadloom/cli/interrupt.hpp"
#include "tools/broadloom/data/files.hpp"
#include "tools/broadloom/data/free_memory.hpp"
#include "tools/broadloom/data/plot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

namespace broadloom::cli {

std::size_t byte_count(const Array &array) {
  return std::size_t(array.size()) * size_of(array.dtype());
}

std::string print_shown(const Array &array, const Shown &how) {
  constexpr int usual = 100; // of `print`
  // Behind the last element of a line stand at most as many brackets as there are dims.
  const int columns = how.columns > 0 ? how.columns - array.rank() : usual;
  return array::print_digits(array, columns, how.digits) + '\n' +
         (how.plot ? plot_array(array, how.columns, how.digits > 0 ? how.digits : 6) : "");
}

Outputs::Outputs(const Kernel &kernel, std::vector<Destination> destinations,
                 const std::vector<Signature> &signatures)
    : infos_(kernel.outputs()), destinations_(std::move(destinations)) {
  std::int64_t bytes = 0;
  for (const Destination &destination : destinations_) {
    const Signature &output = signatures[destination.index];
    bytes += std::min(bytes_of(element_count(contiguous_layout(output.shape)),
                               std::int64_t(size_of(output.dtype))),
                      std::int64_t(1) << 48); // so that the sum fits
  }
  require_memory(bytes, "the outputs");
  for (const Destination &destination : destinations_)
    arrays_.push_back(
        make_output(infos_[destination.index], destination, signatures[destination.index]));
}

void Outputs::remember() {
  start_.clear();
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const char *data = static_cast<const char *>(arrays_[i].raw());
    start_.emplace_back();
    if (info(i).add) start_.back().assign(data, data + byte_count(arrays_[i]));
  }
}

void Outputs::restore() {
  for (std::size_t i = 0; i < start_.size(); ++i)
    if (!start_[i].empty()) std::memcpy(arrays_[i].raw(), start_[i].data(), start_[i].size());
}

std::vector<NamedView> Outputs::views() const {
  std::vector<NamedView> views;
  for (std::size_t i = 0; i < arrays_.size(); ++i) views.push_back({info(i).name, arrays_[i]});
  return views;
}

void Outputs::write() const {
  const HoldInterrupt hold;
  std::vector<array::PendingFile> files;
  for (const auto &[path, arrays] : by_path()) {
    files.push_back(pending_file(path, arrays));
    if (interrupted()) throw Interrupted{};
  }
  for (array::PendingFile &file : files) file.commit();
}

std::map<std::string, NamedArrays> Outputs::by_path() const {
  std::map<std::string, NamedArrays> found;
  for (std::size_t i = 0; i < arrays_.size(); ++i)
    if (const std::optional<std::string> &path = destinations_[i].path)
      found[*path].emplace_back(info(i).name, arrays_[i]);
  return found;
}

void Outputs::print(std::ostream &out, const Shown &how) const {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const Array &array = arrays_[i];
    if (destinations_[i].path || !destinations_[i].is_shown) continue;
    out << fmt::format("{}: {}", info(i).name, name(array.dtype()));
    if (array.rank() > 0) out << fmt::format("[{}]", fmt::join(array.shape(), ", "));
    out << '\n' << print_shown(array, how);
  }
}

std::vector<OutputReport> Outputs::report() const {
  std::vector<OutputReport> reports;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const Array &array = arrays_[i];
    const bool f_order =
        !array::is_c_contiguous(array.layout()) && array::is_f_contiguous(array.layout());
    reports.push_back({info(i).name,
                       array.dtype(),
                       {array.shape().begin(), array.shape().end()},
                       f_order,
                       destinations_[i].path});
  }
  return reports;
}

std::vector<std::string> Outputs::names() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < arrays_.size(); ++i) names.push_back(info(i).name);
  return names;
}

std::vector<Array> Outputs::before() const {
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const Array memory(arrays_[i].dtype(), arrays_[i].shape());
    if (!start_[i].empty()) std::memcpy(memory.raw(), start_[i].data(), start_[i].size());
    arrays.push_back(
        {std::make_shared<Array>(memory), memory.dtype(), memory.raw(), arrays_[i].layout()});
  }
  return arrays;
}

} // namespace broadloom::cli
