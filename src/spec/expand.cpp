// See expand.hpp.
#include "spec/expand.hpp"

#include "expr/function.hpp"
#include "expr/walk.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace broadloom::spec {

namespace {

constexpr std::size_t most = std::size_t(1) << 20;

// What the parameters of a function stand for in one call.
struct Frame {
  const FunctionDecl *function = nullptr;
  std::vector<Expr> args;
};

class Expander {
public:
  explicit Expander(const SpecData &data) : data_(data) {}

  SpecData run() {
    SpecData result = data_;
    std::unordered_set<std::string> listed;
    for (const auto &input : result.inputs) listed.insert(input->name);
    scan_inputs(result, listed);
    if (calls_.empty()) return result;
    for (Expr &let : result.lets) let = expand(let);
    for (OutputDecl &output : result.outputs) {
      output.value = expand(output.value);
      for (Expr &init : output.mode.use.init) init = expand(init);
    }
    return result;
  }

private:
  using Key = std::pair<const ExprNode *, std::size_t>; // a node and the frame that it is read in
  struct KeyHash {
    std::size_t operator()(const Key &key) const {
      return std::hash<const ExprNode *>()(key.first) * 31 + key.second;
    }
  };
  struct Work {
    const Expr *expr;
    std::size_t frame;
  };

  // An argument that a function ignores is an input all the same.
  void scan_inputs(SpecData &result, std::unordered_set<std::string> &listed) {
    auto visit = [&](const ExprNode &node) {
      if (node.kind == ExprKind::Input && listed.insert(node.input->name).second)
        result.inputs.push_back(node.input);
      if (node.kind == ExprKind::Parameter) fail_parameter(node);
      note(node);
    };
    for (const Expr &let : data_.lets) walker_.walk(let.node(), visit);
    for (const OutputDecl &output : data_.outputs) {
      walker_.walk(output.value.node(), visit);
      for (const Expr &init : output.mode.use.init) walker_.walk(init.node(), visit);
    }
    // The functions called, and those that they call.
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      for (std::size_t k = 0; k < functions_[i]->params.size(); ++k)
        params_[functions_[i]->params[k].node()] = k;
      walker_.walk(functions_[i]->body.node(), [&](const ExprNode &node) { note(node); });
    }
  }

  void note(const ExprNode &node) {
    if (node.kind == ExprKind::Call && known_.insert(node.function.get()).second)
      functions_.push_back(node.function.get());
    bool changes = node.kind == ExprKind::Call || node.kind == ExprKind::Parameter;
    for (const Expr &arg : node.args) changes = changes || calls_.count(arg.node()) != 0;
    if (changes) calls_.insert(&node);
  }

  [[noreturn]] void fail_parameter(const ExprNode &node) const {
    support::fail("E0003",
                  "'" + node.name + "' is a name of a definition, and stands outside of it",
                  support::with_text(node.where, data_.source.get()),
                  "use it in the function or the accumulator that it belongs to");
  }

  bool stays(const Expr &expr) const { return calls_.count(expr.node()) == 0; }
  bool ready(const Expr &expr, std::size_t frame) const {
    return stays(expr) || done_.count({expr.node(), frame}) != 0;
  }
  const Expr &value(const Expr &expr, std::size_t frame) const {
    return stays(expr) ? expr : done_.at({expr.node(), frame});
  }

  Expr expand(const Expr &root) {
    std::vector<Work> work{{&root, 0}};
    while (!work.empty()) {
      const auto [expr, frame] = work.back();
      if (ready(*expr, frame)) {
        work.pop_back();
        continue;
      }
      const ExprNode &node = *expr->node();
      const std::size_t before = work.size();
      for (const Expr &arg : node.args)
        if (!ready(arg, frame)) work.push_back({&arg, frame});
      if (work.size() > before) continue;
      if (node.kind == ExprKind::Call) {
        const Expr &body = node.function->body;
        const std::size_t inner = frame_of(*node.function, node.args, frame);
        if (!ready(body, inner)) {
          work.push_back({&body, inner});
          continue;
        }
        keep(node, frame, value(body, inner));
      } else if (node.kind == ExprKind::Parameter) {
        keep(node, frame, frames_[frame].args[params_.at(&node)]);
      } else {
        std::vector<Expr> args;
        for (const Expr &arg : node.args) args.push_back(value(arg, frame));
        keep(node, frame, with_args(node, std::move(args)));
      }
      work.pop_back();
    }
    return value(root, 0);
  }

  void keep(const ExprNode &node, std::size_t frame, Expr value) {
    if (done_.size() >= most)
      support::fail("E0013",
                    "the functions of kernel '" + data_.name + "' write out to more than " +
                        std::to_string(most) + " operations",
                    support::with_text(node.where, data_.source.get()),
                    "a function that uses its argument twice doubles what it is given: call fewer");
    done_.emplace(Key{&node, frame}, std::move(value));
  }

  // The frame for these arguments, the old one where they are the same.
  std::size_t frame_of(const FunctionDecl &function, const std::vector<Expr> &args,
                       std::size_t frame) {
    Frame made{&function, {}};
    std::size_t hash = std::hash<const FunctionDecl *>()(&function);
    for (const Expr &arg : args) {
      made.args.push_back(value(arg, frame));
      hash = hash * 1000003 + std::hash<const ExprNode *>()(made.args.back().node());
    }
    for (auto [it, end] = frame_ids_.equal_range(hash); it != end; ++it) {
      const Frame &old = frames_[it->second];
      if (old.function == &function &&
          std::equal(old.args.begin(), old.args.end(), made.args.begin(), made.args.end(),
                     [](const Expr &a, const Expr &b) { return a.node() == b.node(); }))
        return it->second;
    }
    frame_ids_.emplace(hash, frames_.size());
    frames_.push_back(std::move(made));
    return frames_.size() - 1;
  }

  const SpecData &data_;
  expr::Walker walker_;
  std::unordered_set<const ExprNode *> calls_; // Calls, Parameters and what is made of them
  std::unordered_set<const FunctionDecl *> known_;
  std::vector<const FunctionDecl *> functions_;
  std::unordered_map<const ExprNode *, std::size_t> params_; // their positions
  std::vector<Frame> frames_{{}};                            // the first one is that of the kernel
  std::unordered_multimap<std::size_t, std::size_t> frame_ids_; // by hash
  std::unordered_map<Key, Expr, KeyHash> done_;
};

} // namespace

SpecData expand_calls(const SpecData &data) { return Expander(data).run(); }

} // namespace broadloom::spec
