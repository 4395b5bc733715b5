// The lets of a kernel that are arrays (spec/materialise.hpp): each has a nest of its own, run
// before the one that reads them.
#pragma once

#include "jit/call/revolve.hpp"
#include "jit/nest/nest.hpp"
#include "kernel/join.hpp"
#include "kernel/operands.hpp"
#include "spec/earlier_rows.hpp"
#include "spec/materialise.hpp"
#include "support/lifetimes.hpp"
#include "support/undivided.hpp"

#include <broadloom/kernel.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace broadloom::jit {

class Lets {
public:
  // Those of a kernel, where `kernel` is what its own nest is made of.
  explicit Lets(const Setup &kernel);

  bool empty() const { return lets_.empty(); }
  // [let]: null for one that others make up (spec::Join): these are computed where they lie in it.
  const std::vector<std::shared_ptr<const Nest>> &nests() const { return nests_; }
  const std::vector<std::shared_ptr<const spec::Materialised>> &specs() const { return specs_; }

  // What a nest is given: the inputs of the call, then the lets that it reads, then its outputs.
  struct Layouts {
    std::vector<std::int64_t> key; // of the inputs of the call
    std::vector<Layout> lets;
    std::vector<std::int64_t> bytes; // [let]
    support::Places places;
    // For all of them, also where none has elements: null is what is not there.
    std::int64_t bytes_to_have() const { return std::max<std::int64_t>(places.bytes, 1); }
    // Of a let that reads itself: its first step, in bytes from its place, where the rows of the
    // start may lie before, and the numbers of the steps.
    std::vector<std::int64_t> first, positions; // [let]
    std::vector<std::int64_t> kept_rows;        // [let]; 0: all of them
    // Of a loop that is computed again: where the rows are that it goes on from, in bytes from its
    // place; the row behind these is the last.
    std::vector<std::int64_t> checkpoints; // [let]; 0: it is not
    std::vector<Segments> segments = {};   // [let]
    std::int64_t segment(std::size_t k) const { return segments[k].steps; }
    // `lag` of each place, and the last.
    std::int64_t rows_saved(std::size_t k, std::int64_t lag) const {
      return segments[k].places * lag + 1;
    }
    std::vector<support::Lifetime> lifetimes = {}; // [let]
    std::vector<bool> in_tiles = {};               // [let]; empty: none. They lie elsewhere.
    std::vector<kernel::Whole> wholes = {};        // [let]: of joins, where their parts lie
    // Lets that lie in another order than the one that writes them alone would have, and what that
    // saves (kernel/storage.hpp).
    std::vector<std::size_t> reordered = {};
    double traffic = 0, traffic_before = 0;
  };
  // For inputs that fit (kernel::check_operands). Throws what their shapes are not fit for.
  std::shared_ptr<const Layouts> layouts(kernel::Operands inputs) const;

  // Of the latest call or `prepare`; null before any.
  std::shared_ptr<const Layouts> latest() const;
  // The same where some lets, each with the let that it is computed for or the number of lets, are
  // computed in tiles: what these read lives until then.
  struct InTiles {
    std::size_t let = 0, root = 0;
  };
  std::shared_ptr<const Layouts> in_tiles(const Layouts &layouts,
                                          std::span<const InTiles> lets) const;

  // Views of the arrays in `memory`, of `places.bytes`, and behind them of what lets that read
  // themselves read of each other, with the start, and the numbers of steps; null: views without
  // memory.
  std::vector<AnyView> views(const Layouts &layouts, char *memory) const;
  // Whether only the last position of let k is read; how much is kept of a call of these layouts,
  // they say.
  bool keeps_last_rows(std::size_t k) const { return lets_[k].kept_rows > 0; }
  // Of the nest of let k, a member of a loop, the array that it is given as `input`: a loop
  // before it that is computed again for this one. Position 0 is its row `first`, of those that
  // begin with the start.
  struct LoopRead {
    std::size_t let = 0;
    std::int64_t first = 0;
  };
  std::optional<LoopRead> computed_again(std::size_t k, std::size_t input) const;
  // Of the loop that begins with let k: where step t + so many of it is there, so is all that a
  // step t of the one that follows it reads.
  std::int64_t last_step_read(std::size_t k) const { return lets_[k].last_step_read; }
  // What says of the steps of the loop that begins with let k at which nothing changes
  // (spec/at_rest.hpp): a let all of which is there. None where the loop runs all steps, or goes
  // `until` one.
  struct Rest {
    std::size_t says = 0;
    std::int64_t shift = 0, after = 0;
  };
  std::optional<Rest> rest_of(std::size_t k, const Layouts &layouts) const;
  // The rows that it goes on from; views of Lets::views.
  const AnyView &checkpoints(std::size_t k, std::span<const AnyView> views) const {
    return views[lets_[k].checkpoints_view];
  }
  // Nothing needs the elements of let k.
  bool is_shape(std::size_t k) const { return lets_[k].is_shape; }
  // Let k is rows of a loop that lie in memory already, and so not computed.
  const std::optional<spec::EarlierRows> &rows_of_loop(std::size_t k) const {
    return lets_[k].rows;
  }
  // Which lets are to be computed for these outputs: [let].
  std::vector<bool> needed(kernel::Operands outputs) const;

  // The lets that let k, or with the number of lets the kernel itself, reads; of loops other views,
  // with numbers beyond those of the lets, too.
  std::span<const std::size_t> reads(std::size_t k) const {
    return k < lets_.size() ? lets_[k].reads : reads_of_rest_;
  }
  // Neither made up of others, nor a part of such a let, nor of a loop.
  bool stands_alone(std::size_t k) const {
    return nests_[k] && !lets_[k].whole && !lets_[k].rows && recurrence(k) == nullptr &&
           std::ranges::none_of(specs_, [&](const auto &let) {
             return let->recurrence && let->recurrence->start == k;
           });
  }
  // Of let k, of the kernel that reads them: the operands of a call of it.
  std::vector<const AnyView *> operands(std::size_t k, kernel::Operands inputs,
                                        std::span<const AnyView> lets) const;
  std::vector<const AnyView *> operands_of_rest(kernel::Operands inputs,
                                                std::span<const AnyView> lets,
                                                kernel::Operands outputs) const;

private:
  void choose_orders(kernel::Operands inputs, Layouts &made) const;
  std::vector<std::int64_t> put_parts(Layouts &layouts,
                                      std::vector<support::Lifetime> &lifetimes) const;
  std::span<const std::size_t> parts_of(std::size_t k) const; // none where it is no join
  struct Let {
    std::vector<std::size_t> reads; // lets before it, or, from the number of lets on, other views
    std::size_t last_read = 0;      // by let .. or, the number of lets, by the kernel
    std::size_t made = 0;           // with let ..
    std::optional<std::size_t> whole = {};      // the join that it is a part of
    std::optional<spec::EarlierRows> rows = {}; // what it is of a loop
    std::int64_t kept_rows = 0;
    // The first let of the only loop that reads this one, which is a member of a loop, step by
    // step: it may be computed again for that.
    std::optional<std::size_t> followed_by = {};
    spec::RowsRead steps_read =
        {}; // by that: which steps, from t + low to t + high, step t of it reads
    std::int64_t last_step_read =
        0; // of the first let: of all members, the one that is computed last, t + so many
    std::size_t checkpoints_view = 0;
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
  bool sees_few_rows(std::size_t other, std::size_t k) const;
  // Of lets that read themselves and of which only the last position is read no more rows lie in
  // memory than a step reads: row r at r % kept_rows. `next`: how many views there are.
  void find_kept_rows(std::size_t &next);
  // Those that nothing but one loop the other way reads, step by step, as a gradient does: where
  // they would take more than `most_bytes_`, a row of so many lies in memory, from which the others
  // are computed again (checkpoints).
  void find_followers(std::size_t &next);
  bool take_follower(std::size_t first, const spec::TypedSpec &reader,
                     const spec::Recurrence *loop);
  bool is_followed(std::size_t first);
  std::optional<LoopRead> loop_read(const spec::TypedInput &input) const;
  void choose_segments(std::size_t first, std::span<const std::vector<std::int64_t>> shapes,
                       Layouts &made) const;
  void keep_what_is_read_again(Layouts &made, std::vector<support::Lifetime> &lifetimes) const;
  bool is_last_read_by(const spec::TypedSpec &reader, std::size_t k) const;
  void find_rows_of_loops();
  void add_checkpoints(std::size_t k, const Layouts &layouts, char *memory,
                       std::vector<AnyView> &views) const;
  AnyView earlier_rows(const spec::EarlierRows &rows, std::span<const AnyView> lets) const;
  AnyView last_row(std::size_t k, const AnyView &let, const Layouts &layouts) const;
  const AnyView &seen(std::span<const AnyView> lets, std::size_t read,
                      const spec::Recurrence *by) const;
  void place(std::size_t k, std::span<const std::int64_t> shape, Layouts &made) const;
  std::vector<std::shared_ptr<const spec::Materialised>> specs_;
  std::vector<std::shared_ptr<const Nest>> nests_;
  std::vector<Let> lets_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<std::size_t> reads_of_rest_;
  const spec::TypedSpec &rest_;
  const std::int64_t most_bytes_;
  std::vector<std::vector<bool>> needs_; // [output][let]
  mutable support::Mutex mutex_;
  mutable std::shared_ptr<const Layouts> latest_; // under the lock
};

// The nests that the calls of a kernel run: those of its lets, and of what is left of it, which
// reads them.
struct Nests {
  Nests(const LoopSpec &spec, spec::TypedSpec typed, const MadeFor &made_for, double ms)
      : rest(spec, std::move(typed), made_for, ms), lets(rest.setup()) {}

  const Nest rest;
  const Lets lets;
  // Of let k, which is no join, or with the number of lets the rest.
  const Nest &of(std::size_t k) const { return k < lets.specs().size() ? *lets.nests()[k] : rest; }
};

} // namespace broadloom::jit
