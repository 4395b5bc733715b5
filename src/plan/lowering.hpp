// Inside the plan stage: the class that lowers arranged nests (see lower.cpp for the method).
#pragma once

#include "plan/schedule.hpp"

#include <map>
#include <optional>
#include <unordered_map>

namespace broadloom::plan {

using expr::NodeId;
using expr::NodeKind;
using loop::AxisId;
using loop::BufferId;
using loop::Role;
using loop::Stmt;
using loop::StmtKind;
using loop::Value;
using loop::ValueId;
using loop::ValueKind;

class Lowering {
public:
  Lowering(const Request &request, const Schedule &schedule)
      : request_(request), schedule_(schedule), nests_(schedule.nests) {}
  Plan run();

private:
  // One open body: the root of a phase or the inside of a loop.
  struct Scope {
    TreeId node;
    AxisId axis; // of the loop; unused at the root
    std::vector<Stmt> *out = nullptr;
    double turns = 1;                                  // how often the body runs
    std::unordered_map<std::uint64_t, ValueId> values; // graph nodes, fold items, casts, extents
  };
  static std::uint64_t node_key(NodeId id) { return id.index; }
  static std::uint64_t item_key(ItemId item, std::size_t state) {
    return std::uint64_t(1) << 63 | std::uint64_t(item.index) << 8 | state;
  }
  static constexpr std::uint64_t value_tag = std::uint64_t(1) << 62;
  static constexpr std::uint64_t extent_tag = std::uint64_t(1) << 61;

  // axes and numbers
  AxisId axis_of(LoopKind kind, const Group &group);
  std::string name_of_axis(const std::string &name) const;
  struct ScratchArray {
    Steps steps;       // by class, outermost first
    Group chunk_group; // one dim, the innermost but for a Partial, counts the chunks of this group;
                       // empty: there is none
    std::int64_t chunk_stride = 1;
  };
  static bool has_positions(LoopKind kind) {
    return kind == LoopKind::Plain || kind == LoopKind::Within;
  }
  // A scratch array is C-contiguous over the loops around the fold, or of the scan, that fills it.
  void lay_out_scratch(const Item &item);
  std::vector<DType>
  scratch_types(const Item &item) const; // of its arrays: the states, or the value held

  // buffers
  BufferId buffer_for(Role role, std::size_t operand, const std::string &name, DType dtype,
                      const Steps &steps, const ScratchArray *scratch = nullptr);
  loop::StrideClass known_step(Role role, std::size_t scope, std::int64_t stride) const;
  void check_merged(const Steps &steps, const Group &group) const;
  BufferId input_buffer(std::uint32_t input);
  bool reads_panel(const Item &panel) const;
  BufferId operand_buffer(std::uint32_t input, const Steps &steps);
  BufferId output_buffer(std::size_t output);
  BufferId scratch_buffer(const Item &item, std::size_t state);
  BufferId row_buffer(std::size_t row);
  const ops::Recipe &recipe_of(const Item &item) const { return nests_.recipes[item.recipe]; }

  // values
  int depth_of_axis(AxisId axis) const;
  struct Placed {
    ValueId id;
    int depth;
  };
  bool find(std::uint64_t key, Placed &placed) const;
  Placed add(const Value &value, int depth, std::uint64_t key);
  // `what` tells apart values of this kind.
  Placed add_once(const Value &value, int depth, std::uint64_t what, std::uint64_t key);
  static constexpr std::uint64_t no_key = ~std::uint64_t(0);
  Placed add_literal(DType dtype, ops::Scalar literal, std::uint64_t key);
  Placed add_load(BufferId buffer, std::uint64_t key);
  Placed add_op(ops::Op op, DType compute, DType dtype, std::span<const Placed> args,
                std::uint64_t key);
  Placed add_cast(Placed arg, DType from, DType to, std::uint64_t key);
  void add_extent(NodeId id);
  AxisId counted_axis(const Group &classes);
  void add_index(NodeId id);
  Placed fold_value(ItemId item, std::size_t state);
  // The results of an accumulator's code, as operations.
  std::vector<Placed> add_code(const ops::Code &code, std::vector<Placed> values);
  void add_single_step(NodeId id);
  std::optional<NodeId> summed_once(NodeId id) const;
  // The value of a graph node in the open bodies; a work list instead of recursion.
  Placed value_of(NodeId root);
  Placed known(NodeId id) const;
  bool is_in_memory(NodeId id) const;
  std::optional<std::size_t> row_of(NodeId id) const; // that the loop around keeps or reads
  bool is_state_of(const Row &kept, NodeId id) const;
  bool is_in_row(NodeId id) const;
  void compute(NodeId id);
  void compute_anew(NodeId id);
  void alias(NodeId id, Placed placed) {
    scopes_[placed.depth].values.emplace(node_key(id), placed.id);
  }

  // bodies
  void lower_phase(const PhaseTree &tree);
  void lower_body(TreeId node);
  Stmt step_of(ItemId id);
  void scan_step(ItemId id);
  // The states of an item's accumulator, after its loop or as they are running, for its users in
  // this body and, through scratch arrays, elsewhere.
  void give_states(ItemId id, ValueKind kind);
  void keep_state(ItemId scan, std::size_t state, Placed running);
  Placed add_state(ItemId id, ValueKind kind, std::size_t state, std::uint64_t key);
  std::vector<ValueId> start_of(const Item &item);
  Stmt set_of(const Item &item);
  void set_row(const Item &item, bool start, std::vector<Stmt> &writes);
  // As the input is to be read at this place.
  void mark_reading(BufferId id, std::uint32_t input);
  std::vector<Cut> cuts_of(const loop::Phase &phase) const;
  void lower_loop(TreeId tree);
  double turns_of(const LoopKey &key, AxisId axis) const;
  // From the root, loops that hold nothing but the next loop, and the first that holds more.
  void mark_parallel(loop::Phase &phase);
  void hand_on_states(loop::Phase &phase);

  // shifts.cpp
  void find_shifts();

  // the rest
  void bind();
  // Where the loops of a phase form a single chain without folds, each element is read, if at all,
  // at the position at which it is overwritten.
  void find_in_place();
  bool is_chain(const PhaseTree &phase) const;
  bool only_repeats(const PhaseTree &phase) const;
  void explain();
  void explain_sweeps();
  bool runs_with(std::size_t phase, std::size_t before) const;
  std::string nest_of_phase(std::size_t phase) const;

  const Request &request_;
  const Schedule &schedule_;
  const Nests &nests_;
  Plan plan_;
  std::vector<Scope> scopes_;
  std::map<std::pair<bool, Group>, AxisId> axis_ids_;
  std::vector<Group> group_of_axis_; // or of its chunks
  std::map<std::string, BufferId> buffer_ids_;
  std::vector<std::vector<std::int64_t>> buffer_strides_;
  std::vector<ScratchArray> scratch_;
  std::vector<std::vector<std::size_t>> sweeps_; // [input]: the phases that read it
  std::map<ItemId, loop::AccId> acc_of_;
  std::vector<bool> row_filled_;                     // [row]: by a loop before
  std::map<std::uint32_t, support::Reason> reading_; // [input]: why it is prefetched, or is nowhere
  double work_ = 0, cost_ = 0;
};

} // namespace broadloom::plan
