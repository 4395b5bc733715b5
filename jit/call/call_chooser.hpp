// Inside the choice of a call: what is chosen for the kernel and its lets (call_chooser.cpp), and
// for loops over time (choose_loops.cpp).
#pragma once

#include "jit/call/choose_tiles.hpp"
#include "spec/early_end.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace broadloom::jit::choice {

class CallChooser : TileChooser {
public:
  CallChooser(const Nests &nests, kernel::Operands call, const kernel::Overlaps &overlaps,
              Purpose purpose, bool may_tile)
      : TileChooser(nests, call.size(), purpose), lets_(nests.lets), overlaps_(overlaps),
        may_tile_(may_tile) {
    for (std::size_t k = 0; k < call.size(); ++k) {
      named_.push_back(call[k] != nullptr ? *call[k] : AnyView());
      if (call[k] != nullptr) named_.back().data = address_of(k);
      is_named_.push_back(call[k] != nullptr);
    }
  }

  std::shared_ptr<const CallPlan> run();

private:
  std::vector<const AnyView *> all_named() const;
  void by_reference(const std::vector<std::string> &outputs);
  void check_outputs(const Reader &rest) const;

  // Lets.
  const std::string &name_of(std::size_t k) const {
    return lets_.specs()[k]->typed.outputs[0].name;
  }
  const spec::Recurrence *recurrence(std::size_t k) const {
    const auto &loop = lets_.specs()[k]->recurrence;
    return loop ? &*loop : nullptr;
  }
  std::optional<std::size_t> let_called(const std::string &name) const;
  void find_tiles();
  void lay(TileMember &member);
  kernel::WindowRules rules_of(std::size_t let) const;
  void read_in_tiles(std::size_t let, Reader &last, Steps to);
  Reader reader_of(std::size_t k);
  void lets(Steps to);
  bool is_made(std::size_t k) const;
  void declare(std::size_t k);
  void join(std::size_t k, Steps to);
  std::vector<Range> ranges_of(const std::string &array) const;
  void rows_of_loop(std::size_t k);
  std::vector<Given> given(const TypedSpec &typed, const std::size_t *member);
  // choose_loops.cpp
  void loop(std::size_t first, Steps all);
  void end_at(const spec::EarlyEnd &end, TimeLoop &made, Step &turns);
  void rest_at(const Lets::Rest &rest, TimeLoop &made, Step &turns);
  Reader member(std::size_t k, const std::string &time);
  std::optional<Lets::LoopRead> read_again(std::size_t k, std::size_t input) const;
  std::set<std::size_t> followed(std::size_t first, std::size_t end) const;
  AnyView with_start(std::size_t k) const;
  TimeLoop::Member rows_of_member(std::size_t k) const;
  void declare_numbers(std::size_t k, std::int64_t steps, Steps to);
  void start(std::size_t k, Steps to);
  AnyView started_from(const spec::Recurrence &loop, const AnyView &row) const;
  void save(std::size_t first, std::size_t end, std::size_t index, Steps to);
  void again(std::size_t other, std::vector<Reader> &members, Steps to);
  void pad_rows(std::vector<Reader> &members, std::size_t k, const Affine &shown, Pad::Row row,
                Steps to);

  const Lets &lets_;
  const kernel::Overlaps &overlaps_;
  std::vector<AnyView> named_; // by the caller
  std::vector<bool> is_named_;
  std::vector<const AnyView *> inputs_, outputs_;
  std::vector<AnyView> views_; // of lets
  std::shared_ptr<const Lets::Layouts> layouts_;
  std::vector<bool> needed_;
  std::vector<TileGroup> groups_;
  const bool may_tile_;
  bool fits_ = true;
  std::map<std::size_t, std::size_t> loops_, made_at_; // [first let]: its number; when
  std::size_t first_member_ = 0;                       // of the loop that is chosen
  std::map<std::size_t, std::string> saved_; // [let]: the rows that it is computed again from
  std::string numbers_;
};

} // namespace broadloom::jit::choice
