// The lets of a kernel that are arrays (spec/materialise.hpp): each a kernel of its own, run before the one that reads them.
#pragma once

#include "kernel/join.hpp"
#include "kernel/operands.hpp"
#include "spec/earlier_rows.hpp"
#include "spec/materialise.hpp"
#include "support/lifetimes.hpp"
#include "support/undivided.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace broadloom {
namespace detail {
class KernelImpl;
}
using detail::KernelImpl;
} // namespace broadloom

namespace broadloom::jit {

class Lets {
public:
  // `compile` makes the kernel of a let.
  using Compile =
      std::function<std::shared_ptr<const KernelImpl>(std::shared_ptr<const spec::Materialised>)>;
  // Where `keeps_all` is false, of a let that reads itself and of which only the last position is read, no more rows lie in memory than a
  // step reads: row r at r % kept_rows.
  Lets(const spec::TypedSpec &typed, bool keeps_all, const Compile &compile);

  bool empty() const { return lets_.empty(); }
  // [let]: null for one that others make up (spec::Join): these are computed where they lie in it.
  const std::vector<std::shared_ptr<const KernelImpl>> &kernels() const { return kernels_; }
  const std::vector<std::shared_ptr<const spec::Materialised>> &specs() const { return specs_; }

  // What a kernel is given: the inputs of the call, then the lets that it reads, then its outputs.
  struct Layouts {
    std::vector<std::int64_t> key; // of the inputs of the call
    std::vector<Layout> lets;
    std::vector<std::int64_t> bytes; // [let]
    support::Places places;
    // Of a let that reads itself: its first step, in bytes from its place, where the rows of the start may lie before, and the numbers of
    // the steps.
    std::vector<std::int64_t> first, positions; // [let]
    // Lets that lie in another order than the one that writes them alone would have, and what that saves (kernel/storage.hpp).
    std::vector<std::size_t> reordered = {};
    double traffic = 0, traffic_before = 0;
  };
  // For inputs that fit (kernel::check_operands). Throws what their shapes are not fit for.
  std::shared_ptr<const Layouts> layouts(kernel::Operands inputs) const;

  // Of the latest call or `prepare`; null before any.
  std::shared_ptr<const Layouts> latest() const;

  // Views of the arrays in `memory`, of `places.bytes`, and behind them of what lets that read themselves read of each other, with the
  // start, and the numbers of steps; null: views without memory.
  std::vector<AnyView> views(const Layouts &layouts, char *memory) const;
  // 0: all of them.
  std::int64_t kept_rows(std::size_t k) const { return lets_[k].kept_rows; }
  // Let k is rows of a loop that lie in memory already, and so not computed.
  const std::optional<spec::EarlierRows> &rows_of_loop(std::size_t k) const {
    return lets_[k].rows;
  }
  // Which lets are to be computed for these outputs: [let].
  std::vector<bool> needed(kernel::Operands outputs) const;

  // Of let k, of the kernel that reads them: the operands of a call of it.
  std::vector<const AnyView *> operands(std::size_t k, kernel::Operands inputs,
                                        std::span<const AnyView> lets) const;
  std::vector<const AnyView *> operands_of_rest(kernel::Operands inputs,
                                                std::span<const AnyView> lets,
                                                kernel::Operands outputs) const;

private:
  void choose_orders(kernel::Operands inputs, Layouts &made) const;
  std::vector<std::int64_t> put_parts(Layouts &layouts, std::vector<kernel::Whole> &wholes,
                                      std::vector<support::Lifetime> &lifetimes) const;
  std::span<const std::size_t> parts_of(std::size_t k) const; // none where it is no join
  struct Let {
    std::vector<std::size_t> reads; // lets before it, or, from the number of lets on, other views
    std::size_t last_read = 0;      // by let .. or, the number of lets, by the kernel
    std::size_t made = 0;           // with let ..
    std::optional<std::size_t> whole = {};      // the join that it is a part of
    std::optional<spec::EarlierRows> rows = {}; // what it is of a loop
    std::int64_t kept_rows = 0;
    std::size_t seen_as = 0;  // of the views, by those that are not in its loop
    bool is_shape = true;     // nothing needs its elements
    bool is_constant = false; // it hangs on parameters alone
  };
  const spec::Recurrence *recurrence(std::size_t k) const {
    return specs_[k]->recurrence ? &*specs_[k]->recurrence : nullptr;
  }
  std::vector<std::size_t> reads_of(const spec::TypedSpec &reader,
                                    const spec::Recurrence *recurrence, std::size_t &more) const;
  void find_needs();
  bool is_constant(std::size_t k) const;
  void find_kept_rows(const spec::TypedSpec &rest, std::size_t next);
  bool is_last_read_by(const spec::TypedSpec &reader, std::size_t k) const;
  void find_rows_of_loops();
  AnyView earlier_rows(const spec::EarlierRows &rows, std::span<const AnyView> lets) const;
  AnyView last_row(std::size_t k, const AnyView &let) const;
  const AnyView &seen(std::span<const AnyView> lets, std::size_t read) const;
  void place(std::size_t k, std::span<const std::int64_t> shape, Layouts &made) const;
  std::vector<std::shared_ptr<const spec::Materialised>> specs_;
  std::vector<std::shared_ptr<const KernelImpl>> kernels_;
  std::vector<Let> lets_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<std::size_t> reads_of_rest_;
  const spec::TypedSpec &rest_;
  std::vector<std::vector<bool>> needs_; // [output][let]
  mutable support::Mutex mutex_;
  mutable std::shared_ptr<const Layouts> latest_; // under the lock
};

} // namespace broadloom::jit
