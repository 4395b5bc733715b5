// Inside the choice of a call (call_chooser.cpp): what is done for one nest. Its windows get the
// copies that they see, then it runs, whole or in parts.
#pragma once

#include "jit/call/call_steps.hpp"
#include "jit/call/choose_call.hpp"
#include "kernel/overlap.hpp"
#include "support/lifetimes.hpp"

#include <memory>
#include <string>
#include <vector>

namespace broadloom::jit::choice {

// Arrays have no memory while steps are chosen. The number of one stands in the upper bits of its
// address, beyond all addresses that a process has, so views of it are made as of any other.
void *address_of(std::size_t array);
MemRef operand_of(const AnyView &view);
MemRef operand_of(const AnyView &view, bool is_wanted);
// Null for what is not wanted.
std::vector<const AnyView *> pointers_to_wanted(const std::vector<AnyView> &views,
                                                const std::vector<bool> &is_wanted);

// Where steps are added: as they are printed, and as they are run.
struct Steps {
  std::vector<Step> &shown;
  std::vector<Action> &actions;
};

class ReaderChooser : protected StepWriter {
protected:
  // `named`: operands of a call that names so many.
  ReaderChooser(const Nests &nests, std::size_t named, Purpose purpose)
      : plan_(std::make_shared<CallPlan>()), nests_(nests), is_run_(purpose == Purpose::Run),
        is_reference_(nests.rest.setup().engine == Engine::reference) {
    plan_->operands = named;
  }

  // Throws what LentOperands and check_operands do, and choose_windows.
  Reader reader(const Nest &nest, kernel::Operands named, std::vector<Given> given,
                std::vector<Given> outputs) const;
  void choose(Reader &reader, const kernel::Overlaps &overlaps, const kernel::WindowRules &rules);
  void copies_of(Reader &reader, Steps to); // before it is run, once
  void runs(Reader &reader, Steps to);
  void read(Reader &reader, Steps to) {
    copies_of(reader, to);
    runs(reader, to);
  }
  // Who looks at each let, to explain it, is told of it.
  void tell(std::size_t let, const MemRef &row, Steps to) const {
    if (nests_.rest.setup().is_debugged()) to.actions.push_back(Told{let, row});
  }
  // Of lets and copies, once all is chosen.
  void find_places(std::int64_t bytes_of_lets);

  const std::shared_ptr<CallPlan> plan_;
  const Nests &nests_;
  const bool is_run_, is_reference_;
  std::vector<support::Lifetime> copies_;
  std::size_t now_ = 0; // of those lifetimes

  struct PartViews {
    std::vector<AnyView> views;
    std::vector<bool> is_wanted;
    void add(const AnyView &view, bool wanted) {
      views.push_back(view);
      is_wanted.push_back(wanted);
    }
  };
  PartViews part_views(const Reader &reader, const WindowChoice::Part &part);
  void check_apart(const Reader &reader, Steps to) const;
  AnyView new_copy(DType dtype, const Layout &layout, kernel::Reach reach);

private:
  struct Values { // that a sum through a gather adds up
    std::string array;
    AnyView view;
  };
  static void take_views(Reader &reader, kernel::Operands operands);
  void note_paths(const Reader &reader);
  AnyView new_copy(DType dtype, const Layout &layout);
  void copy_own(Reader &reader, std::size_t own, Steps to);
  void pad(Reader &reader, const Padding &padding, Steps to);
  std::vector<Values> values_of_sums(const Reader &reader, Steps to);
  void sum(Reader &reader, std::size_t input, const Values &values, Steps to);
  void gather(Reader &reader, std::size_t window, Steps to);
  AnyView window_view(const Reader &reader, std::size_t i, const Seen *seen = nullptr) const;
  std::vector<MemRef> inputs_of(const Reader &reader) const;
  void add_numbers(const Reader &reader, const WindowChoice::Part &part, PartViews &to);
};

} // namespace broadloom::jit::choice
