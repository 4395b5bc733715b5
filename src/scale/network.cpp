// See network.hpp.
#include "scale/network.hpp"

#include "expr/exchange.hpp"
#include "scale/build.hpp"
#include "scale/carry.hpp"
#include "support/reasons.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace broadloom::scale {

using support::Reason;

namespace {

// A kernel as the search sees it.
struct Seen {
  Seen(const SpecData &data, const KnownParameters &parameters, const std::string &open = {})
      : facts(data, {}), values(data, facts, parameters, open) {}
  facts::Facts facts;
  const Values values;

  // Of all axes that some value has.
  std::set<std::string> labels() const {
    AxisSet axes;
    for (Id id = 0; id < values.size(); ++id) axes = axes | values[id].axes;
    return labels_of(axes);
  }
  // An axis without a label: "".
  std::set<std::string> labels_of(AxisSet axes) const {
    std::set<std::string> made;
    for (const int axis : axes) {
      const spec::Axis &known = facts.spec().axes[std::size_t(axis)];
      made.insert(known.labelled ? known.name : "");
    }
    return made;
  }
};

// Products and quotients of data and constants, in what the outputs need.
std::size_t count_products(const SpecData &data) {
  static const KnownParameters nothing;
  const Seen seen(data, nothing);
  const Values &values = seen.values;
  std::vector<bool> met(values.size());
  std::size_t count = 0;
  for (Id id = values.size(); id-- > 0;) {
    met[id] = met[id] || values[id].output;
    if (!met[id]) continue;
    for (const Id arg : values[id].args) met[arg] = true;
    if (values.constant_side(id) >= 0) ++count;
  }
  return count;
}

template <class Visit>
void for_each_read(const SpecData &data, const std::string &let, Visit visit) {
  spec::for_each_node(data, [&](const ExprNode &node) {
    if (node.kind == ExprKind::Input && is_read_of(*node.input, let)) visit(*node.input);
  });
}

// The same kernel over other values: `made(node)` of what is read, empty for what stays.
template <class Made> SpecData with_values(SpecData data, Made made) {
  expr::Exchange exchange;
  spec::change_values(data, [&](const Expr &expr) { return exchange.run(expr, made); });
  return data;
}

// These are read now, where they had stood by (InputDecl::is_idle).
void wake(SpecData &data, const std::set<std::string> &parameters) {
  for (auto &input : data.inputs)
    if (input->is_idle && parameters.contains(input->name)) {
      auto made = std::make_shared<InputDecl>(*input);
      made->is_idle = false;
      input = std::move(made);
    }
}

class Network {
public:
  Network(spec::Split &split, std::vector<Decision> &notes, const KnownParameters &parameters)
      : split_(split), notes_(notes), parameters_(parameters) {
    for (const auto &let : split.lets)
      parts_.push_back({let->data.outputs[0].name, let->data, let->recurrence || let->join});
    parts_.push_back({"", split.rest, false});
    for (const auto &let : split.lets) // what a loop begins with is written at the loop
      if (let->recurrence && let->recurrence->start) parts_[*let->recurrence->start].stays = true;
  }

  void run() {
    for (Part &part : parts_) {
      if (part.stays) continue;
      const std::size_t before = notes_.size();
      part.data = folded(part.data, notes_);
      part.moved = notes_.size() > before;
      part.stays = in_the_way(part.data) != nullptr;
    }
    for (bool any = true; any;) {
      any = false;
      for (std::size_t k = 0; k + 1 < parts_.size(); ++k)
        while (forward(k) || backward(k)) any = true;
    }
    name_once();
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const bool is_let = k < split_.lets.size();
      if (is_let && (split_.lets[k]->recurrence || split_.lets[k]->join)) continue;
      std::vector<Decision> left;
      fold_scales(parts_[k].data, left, parameters_);
      for (Decision &decision : left) notes_.push_back(explained(k, std::move(decision)));
      if (!is_let) {
        split_.rest = parts_[k].data;
        continue;
      }
      spec::Materialised made = *split_.lets[k];
      made.data = parts_[k].data;
      split_.lets[k] = std::make_shared<const spec::Materialised>(std::move(made));
    }
  }

private:
  struct Part {
    std::string let; // that it computes; empty: none
    SpecData data;
    bool stays = false, moved = false;
  };
  // Parts as they would be, by their numbers.
  struct Trial {
    std::map<std::size_t, SpecData> now;
    std::vector<Decision> moves;
    std::string name; // of the factor
  };

  // A let that is no array is written in each part that reads it. Where one of these has changed
  // it, it is another value there, and has no name.
  void name_once() {
    std::map<std::string, std::vector<std::size_t>> having;
    for (std::size_t k = 0; k < parts_.size(); ++k)
      for (const auto &[name, let] : spec::lets_by_name(parts_[k].data)) having[name].push_back(k);
    for (const auto &[name, parts] : having) {
      const auto has_moved = [&](std::size_t k) { return parts_[k].moved; };
      const bool all = std::ranges::all_of(parts, has_moved);
      for (const std::size_t k : parts)
        if (has_moved(k) && !(all && k == parts.back())) unname(parts_[k].data, name);
    }
  }
  static void unname(SpecData &data, const std::string &name) {
    std::erase_if(data.lets, [&](const Expr &let) { return let.node()->name == name; });
    data = with_values(std::move(data), [&](const ExprNode &node) {
      return node.kind == ExprKind::Let && node.name == name ? node.args[0] : Expr();
    });
  }

  // Folds, and notes what moved: what stays is said at the end.
  SpecData folded(const SpecData &data, std::vector<Decision> &moves) const {
    std::vector<Decision> all;
    SpecData made = fold_scales(data, all, parameters_);
    for (Decision &decision : all)
      if (decision.choice != "stays" && decision.choice != "kept")
        moves.push_back(std::move(decision));
    return made;
  }

  // A product or quotient with a constant that keeps the type of its data.
  static bool is_scale(const Values &values, Id id) {
    return values.constant_side(id) >= 0 && values[id].is_real() &&
           values[values.data_of(id)].dtype == values[id].dtype;
  }

  bool refuse(std::size_t k, std::string why) {
    obstacles_[parts_[k].let] = std::move(why);
    return false;
  }

  // The parts that read the let; none, and why, where one of them stays as it is.
  std::optional<std::vector<std::size_t>> readers(std::size_t k) {
    std::vector<std::size_t> found;
    const std::string &let = parts_[k].let;
    for (std::size_t r = k + 1; r < parts_.size(); ++r) {
      const auto *join =
          r < split_.lets.size() && split_.lets[r]->join ? &split_.lets[r]->join->parts : nullptr;
      if (join && std::ranges::find(*join, let) != join->end())
        return refuse(k, "'" + parts_[r].let + "' joins it with other arrays"), std::nullopt;
      bool reads = false;
      for_each_read(parts_[r].data, let, [&](const InputDecl &) { reads = true; });
      if (!reads) continue;
      if (parts_[r].stays)
        return refuse(k, r < split_.lets.size() && split_.lets[r]->recurrence
                             ? "the loop '" + parts_[r].let + "' reads it"
                             : "what reads it stays as it is"),
               std::nullopt;
      found.push_back(r);
    }
    return found;
  }

  // Takes the trial where fewer products are left.
  bool take(std::size_t k, Trial trial, Reason reason) {
    std::size_t before = 0, after = 0;
    for (auto &[part, data] : trial.now) {
      before += count_products(parts_[part].data);
      data = folded(data, trial.moves);
      after += count_products(data);
    }
    if (after >= before)
      return refuse(k, "what is behind it would have one more product for it, or as many");
    notes_.push_back(support::decide(
        reason, trial.name, parts_[k].let,
        trial.name +
            (reason == Reason::ScaleBackward ? ": back through let '" : ": on through let '") +
            parts_[k].let + "', an array"));
    notes_.insert(notes_.end(), trial.moves.begin(), trial.moves.end());
    for (auto &[part, data] : trial.now) {
      parts_[part].data = std::move(data);
      parts_[part].moved = true;
    }
    return true;
  }

  // From the let to its readers.
  bool forward(std::size_t k) {
    if (parts_[k].stays) return false;
    const Seen seen(parts_[k].data, parameters_);
    const Values &values = seen.values;
    for (Id id = 0; id < values.size(); ++id) {
      if (!is_scale(values, id)) continue;
      Moves moves(values);
      Mover mover(values, moves, true);
      std::vector<Id> into;
      if (mover.forward(id, into) || mover.left().is_one()) continue;
      const auto reading = readers(k);
      if (!reading) return false;
      Trial trial;
      trial.name = mover.left().name(values);
      Build build(parts_[k].data, values, moves);
      trial.now[k] = build.run();
      const Expr factor = build.written(mover.left());
      const bool fits = std::ranges::all_of(*reading, [&](std::size_t r) {
        return multiply_reads(k, r, factor, seen.labels_of(mover.left().axes(values)),
                              labels_of_output(split_.lets[k]->typed),
                              mover.left().is_positive(values), trial);
      });
      if (fits && !reading->empty() && take(k, std::move(trial), Reason::ScaleForward)) return true;
    }
    return false;
  }

  bool multiply_reads(std::size_t k, std::size_t reader, const Expr &factor,
                      const std::set<std::string> &axes, const Labels &own, bool positive,
                      Trial &trial) {
    const std::set<std::string> taken = Seen(parts_[reader].data, parameters_).labels();
    std::map<std::string, Carried> there; // by read
    bool fits = true;
    for_each_read(parts_[reader].data, parts_[k].let, [&](const InputDecl &read) {
      if (const std::string border = border_in_the_way(read, positive); !border.empty())
        fits = refuse(k, border);
      std::optional<Carried> carried =
          fits ? carry(factor, axes, own, labels_of_read(read), taken) : std::nullopt;
      if (fits && !carried) fits = refuse(k, not_there(read));
      if (carried) there.emplace(read.name, std::move(*carried));
    });
    if (!fits) return false;
    trial.now[reader] = with_values(parts_[reader].data, [&](const ExprNode &node) {
      const bool reads = node.kind == ExprKind::Input && is_read_of(*node.input, parts_[k].let);
      return reads ? make_op(ops::Op::Mul,
                             {make_input(node.input, node.where, node.args),
                              there.at(node.input->name).factor},
                             node.where)
                   : Expr();
    });
    for (const auto &[name, carried] : there) wake(trial.now[reader], carried.parameters);
    return true;
  }

  static std::string not_there(const InputDecl &read) {
    return "it varies along an axis that '" + read.name +
           "' moves along, or pads, or has no label for";
  }

  // From the readers to the let.
  bool backward(std::size_t k) {
    if (parts_[k].stays) return false;
    const auto reading = readers(k);
    if (!reading || reading->empty()) return false;
    const Seen own(parts_[k].data, parameters_);
    std::optional<Carried> factor;
    Trial trial;
    for (const std::size_t r : *reading)
      if (!divide_reads(k, r, false, own, factor, trial) &&
          !divide_reads(k, r, true, own, factor, trial))
        return false;
    SpecData &let = trial.now[k] = parts_[k].data;
    Expr &value = let.outputs[0].value;
    value = make_op(ops::Op::Mul, {value, factor->factor}, value.node()->where);
    wake(let, factor->parameters);
    return take(k, std::move(trial), Reason::ScaleBackward);
  }

  // Takes out of a reader what all its reads of the let are to be multiplied by. `hand_on`:
  // products of a read and a constant take nothing of it, as in (h * w + h) * s, where h alone is
  // to become more.
  bool divide_reads(std::size_t k, std::size_t reader, bool hand_on, const Seen &own,
                    std::optional<Carried> &factor, Trial &trial) {
    const Seen seen(parts_[reader].data, parameters_, parts_[k].let);
    const Values &values = seen.values;
    Moves moves(values);
    Mover mover(values, moves);
    std::optional<std::set<std::string>>
        common; // the labels that all reads have alone at a position
    for (Id id = 0; id < values.size(); ++id) {
      if (hand_on && values.constant_side(id) >= 0 && values[values.data_of(id)].is_open)
        mover.let_hand_on(id);
      if (!values[id].is_open) continue;
      const Labels labels = labels_of_read(*values[id].node().input);
      std::set<std::string> these(labels.begin(), labels.end());
      these.erase("");
      if (common)
        std::erase_if(*common, [&](const std::string &label) { return !these.contains(label); });
      else
        common = std::move(these);
    }
    if (!common) return false;
    std::vector<Id> into;
    for (Id id = values.size(); id-- > 0;) {
      if (!is_scale(values, id)) continue;
      const std::set<std::string> axes =
          seen.labels_of(moves.scale_of(values, id).axes(values)); // those of a weight are others
      if (std::ranges::includes(*common, axes)) mover.backward(id, into);
    }
    Build build(parts_[reader].data, values, moves);
    SpecData made = build.run();
    std::optional<Carried> found = factor;
    for (Id id = 0; id < values.size(); ++id) {
      if (!values[id].is_open) continue;
      const Factor &times = moves.times[id];
      if (times.is_one()) return refuse(k, "it is read elsewhere without the factor");
      trial.name = times.name(values);
      const InputDecl &read = *values[id].node().input;
      if (const std::string border = border_in_the_way(read, times.is_positive(values));
          !border.empty())
        return refuse(k, border);
      std::optional<Carried> carried =
          carry(build.written(times), seen.labels_of(times.axes(values)), labels_of_read(read),
                labels_of_output(split_.lets[k]->typed), own.labels());
      if (!carried) return refuse(k, not_there(read));
      if (found && found->key != carried->key)
        return refuse(k, "its readers multiply it by different factors");
      found = std::move(carried);
    }
    trial.now[reader] = std::move(made);
    factor = std::move(found);
    return true;
  }

  // What stays because it meets an array: why the array did not take it.
  Decision explained(std::size_t k, Decision decision) const {
    std::string name = parts_[k].let;
    if (decision.code == "scale-data")
      for (const auto &[let, why] : obstacles_)
        if (decision.text.find("let '" + let + "', an array,") != std::string::npos) name = let;
    const auto found = obstacles_.find(name);
    if (found != obstacles_.end() &&
        (decision.code == "scale-data" || decision.code == "scale-output"))
      decision.text += "; let '" + name + "' does not pass it: " + found->second;
    return decision;
  }

  spec::Split &split_;
  std::vector<Decision> &notes_;
  const KnownParameters &parameters_;
  std::vector<Part> parts_;                      // the lets, then the rest
  std::map<std::string, std::string> obstacles_; // by let: why the last factor did not pass
};

} // namespace

void fold_parts(spec::Split &split, std::vector<Decision> &notes,
                const KnownParameters &parameters) {
  Network(split, notes, parameters).run();
}

SpecData fold_scales(const SpecData &data, std::optional<spec::Split> split,
                     std::vector<Decision> &notes, const KnownParameters &parameters) {
  if (!split) return fold_scales(data, notes, parameters);
  fold_parts(*split, notes, parameters);
  return spec::joined(data, *split);
}

} // namespace broadloom::scale
