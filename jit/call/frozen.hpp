// Parameters that are built into a kernel: arrays that each call is given beside the caller's.
//
//   kernel   its text: what is left to be done by each call (freeze/freeze.hpp)
//   built    of its inputs, those that were computed once, or copied
//
// Immutable: `refreeze` makes another one over the same code. So calls from any number of threads
// read it as it is.
#pragma once

#include "freeze/freeze.hpp"
#include "scale/known.hpp"

#include <broadloom/kernel.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace broadloom {

using detail::FrozenParameters;

class detail::FrozenParameters {
public:
  struct Built {
    std::size_t input = 0; // of the kernel
    std::string name;
    Array array;
    AnyView view; // of it
  };
  struct Value { // of a parameter of the kernel that was frozen
    std::string name;
    Array array;
  };

  // How a kernel was frozen: what does not change with the values.
  struct Recipe {
    Kernel original; // not frozen
    std::vector<std::string> built_in;
    std::vector<Kernel> computed;
    std::optional<Kernel> lets;
    scale::KnownParameters known; // of their elements, which scales went by
  };

  FrozenParameters(std::shared_ptr<const Recipe> recipe, std::vector<Value> values,
                   const spec::TypedSpec &rest, std::int64_t version);

  const Recipe &recipe() const { return *recipe_; }
  const std::shared_ptr<const Recipe> &shared_recipe() const { return recipe_; }
  const std::vector<Value> &values() const { return values_; }
  std::int64_t version() const { return version_; }

  bool has(std::size_t input) const;
  std::size_t count() const { return built_.size(); }

  // All inputs of the kernel in their order: the caller's, and those that are built in. Throws
  // DataError E0308 for another number.
  std::vector<AnyView> all(const spec::TypedSpec &rest, std::span<const AnyView> given) const;
  // The same by name. Throws DataError E0312 for one that is built in.
  std::vector<NamedView> all(std::span<const NamedView> given) const;

private:
  std::shared_ptr<const Recipe> recipe_;
  std::vector<Value> values_;
  std::vector<Built> built_; // by input
  std::int64_t version_;
};

} // namespace broadloom
