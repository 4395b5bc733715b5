// See random_windows.hpp.
#include "random_windows.hpp"

#include <algorithm>

namespace broadloom::differential {

using expr::AxisSet;

std::int64_t WindowMaker::extent_of(int axis) const {
  for (const std::vector<WindowAxis> *axes : {&known_, &own_})
    for (const WindowAxis &known : *axes)
      if (known.index == axis) return known.extent;
  return 1;
}

int WindowMaker::new_axis() {
  constexpr std::size_t most = 3;
  if (own_.size() == most || (!own_.empty() && random_.chance(50)))
    return own_[std::size_t(random_.below(int(own_.size())))].index;
  own_.push_back({int(axis_names_.size()), random_.between(1, 4)});
  axis_names_.push_back(std::string(1, "uvq"[own_.size() - 1]));
  return own_.back().index;
}

WindowMaker::Border WindowMaker::border(DType dtype) {
  if (!random_.chance(25)) return {};
  Border border{random_.below(4), random_.below(4), {}};
  std::vector<std::string> modes{"zero", "edge", "edge", "wrap", "wrap", "reflect", "reflect", "1"};
  if (is_float(dtype) || is_complex(dtype))
    for (const char *number : {"-2", "0.5", "inf", "nan", "-0."}) modes.emplace_back(number);
  if (dtype == DType::Bool) modes.emplace_back("true");
  border.mode = random_.pick(modes);
  if (random_.chance(10)) border.before += random_.below(12); // several periods
  return border;
}

// Anything that begins inside; `room` becomes how many elements it needs at least.
WindowMaker::Moves WindowMaker::roaming(std::int64_t &room, const Border &border) {
  const auto need = [&](std::int64_t elements) {
    room = std::max(room, std::max<std::int64_t>(elements - border.both(), 1));
  };
  Moves moves;
  bool has_own = false;
  for (int k = random_.between(1, 2); k > 0; --k) {
    const bool own = known_.empty() || (!has_own && random_.chance(45));
    if (own && has_own) break; // two of unknown extents in one position are an error
    const int axis = own ? new_axis() : random_.pick(known_).index;
    has_own |= own;
    if (std::any_of(moves.terms.begin(), moves.terms.end(),
                    [&](const auto &term) { return term.first == axis; }))
      continue;
    moves.terms.emplace_back(axis, random_.pick<int>({1, 1, 1, 2, 3, -1, -2, -3}));
  }
  if (random_.chance(8))
    for (auto &[axis, times] : moves.terms)
      times = -std::abs(times); // from the end, if the constant is
  std::int64_t least = 0, greatest = 0;
  bool up = false;
  for (const auto &[axis, times] : moves.terms) {
    const std::int64_t move = last(extent_of(axis), times);
    (move < 0 ? least : greatest) += move;
    up |= times > 0;
  }
  if (!up && random_.chance(60)) {
    moves.constant = -random_.below(3);
    need(std::max<std::int64_t>(-moves.constant, 1) - least);
    return moves;
  }
  moves.constant = random_.below(3) - least;
  need(moves.constant + greatest + 1);
  return moves;
}

// What stays inside a dim of this extent, whose label is given.
WindowMaker::Moves WindowMaker::within(int label, std::int64_t extent) {
  const int kind = random_.below(100);
  if (kind < 15) return {0, {{label, -1}}};
  if (kind < 25 && extent > 0)
    return {random_.chance(50) ? random_.below(int(extent)) : -random_.between(1, int(extent)), {}};
  if (kind < 40) {
    const int times = random_.pick<int>({1, 1, 2, 3, -1, -2});
    return {times > 0 && extent > 0 ? random_.below(int(std::min<std::int64_t>(extent, 3))) : 0,
            {{new_axis(), times}}};
  }
  if (kind < 60 && !known_.empty()) {
    const WindowAxis other = random_.pick(known_);
    const int times = random_.pick<int>({1, 1, 2, -1});
    const std::int64_t span = std::abs(last(other.extent, times));
    if (span < extent)
      return {(times < 0 ? span : 0) + random_.below(int(std::min<std::int64_t>(extent - span, 3))),
              {{other.index, times}}};
  }
  return {0, {{label, 1}}};
}

// The same where a border is around it; alone the label would have another extent.
WindowMaker::Moves WindowMaker::within_border(int label, const Border &border) {
  if (border.both() == 0 || random_.chance(15)) return {0, {{label, -1}}};
  return {random_.between(1, int(border.both())), {{label, 1}}};
}

Term WindowMaker::window(const RandomInput &input, const std::vector<Moves> &moves,
                         const std::vector<Border> &borders) const {
  std::string array = input.name;
  for (std::size_t d = 0; d < borders.size(); ++d)
    if (!borders[d].mode.empty())
      array = "pad(" + array + ", " + std::to_string(d) + ": (" +
              std::to_string(borders[d].before) + ", " + std::to_string(borders[d].after) + "), " +
              borders[d].mode + ")";
  Term term{array + "[", input.dtype, {}, true};
  for (std::size_t d = 0; d < moves.size(); ++d) {
    std::string text;
    for (const auto &[axis, times] : moves[d].terms) {
      text += times < 0 ? (text.empty() ? "-" : " - ") : (text.empty() ? "" : " + ");
      if (std::abs(times) > 1) text += std::to_string(std::abs(times)) + "*";
      text += axis_names_[std::size_t(axis)];
      term.axes = term.axes | AxisSet::of(axis);
    }
    std::int64_t constant = moves[d].constant;
    const bool from_end = constant < 0 || (constant == 0 && !text.empty());
    const bool moves_up = std::any_of(moves[d].terms.begin(), moves[d].terms.end(),
                                      [](const auto &move) { return move.second > 0; });
    if ((moves_up || !from_end) && random_.chance(12)) { // the same position, as the call has it
      const std::size_t other = std::size_t(random_.below(int(input.shape.size())));
      text += (text.empty() ? "" : " + ") + ("extent(" + input.name + ", ") +
              std::to_string(other) + ")";
      constant -= input.shape[other];
    }
    if (text.empty())
      text = std::to_string(constant);
    else if (constant != 0)
      text += (constant < 0 ? " - " : " + ") + std::to_string(std::abs(constant));
    term.text += (d == 0 ? "" : ", ") + text;
  }
  term.text += "]";
  return term;
}

// The let as two parts that read the input, which has half as many elements along that dim, or one
// more.
template <class Positions>
std::string WindowMaker::join_of(RandomInput &input, int dim, const Positions &positions) {
  std::int64_t &extent = input.shape[std::size_t(dim)];
  const bool is_odd = extent % 2 != 0;
  extent = (extent + 1) / 2;
  std::string parts[] = {"v" + positions(-1), "v" + positions(is_odd ? dim : -1)};
  if (random_.chance(50)) { // every second position, or one part behind the other
    const bool alternate = random_.chance(50);
    const std::string own = "q" + std::to_string(dim), all = positions(-1);
    const auto at = [&](const std::string &form) {
      return " at " + std::string(all).replace(all.find(own), own.size(), form);
    };
    const std::string first = parts[0] + at(alternate ? "2*" + own : own),
                      second = parts[1] + at(alternate ? "2*" + own + " + 1"
                                             : random_.chance(50)
                                                 ? own + " + extent(v, " + std::to_string(dim) + ")"
                                                 : own + " + " + std::to_string(extent));
    return "let vs" + std::string(all).replace(all.find(own), own.size(), "r") + " = parts(" +
           (random_.chance(50) ? first + ", " + second : second + ", " + first) + ")";
  }
  if (random_.chance(50)) std::swap(parts[0], parts[1]);
  return "let vs" + positions(-1) + " = concat(q" + std::to_string(dim) + ", " + parts[0] + ", " +
         parts[1] + ")";
}

// The first elements along that dim of an input that has some more.
template <class Positions>
std::string WindowMaker::said_of(RandomInput &input, int dim, const Positions &positions) {
  std::int64_t &extent = input.shape[std::size_t(dim)];
  const std::int64_t wanted = extent, more = random_.below(3);
  extent += more;
  const std::string own = "q" + std::to_string(dim), all = positions(-1);
  const std::string said = random_.chance(50) ? std::to_string(wanted)
                                              : "extent(v, " + std::to_string(dim) + ")" +
                                                    (more == 0 ? "" : " - " + std::to_string(more));
  return "let vs" + std::string(all).replace(all.find(own), own.size(), own + " < " + said) +
         " = v" + std::string(all).replace(all.find(own), own.size(), own + " + 0");
}

// A let of the shape of the input, which is made larger where the let needs more; the windows will
// be of the let.
std::string WindowMaker::let_of(RandomInput &input) {
  const std::vector<std::int64_t> shape = input.shape;
  const auto rank = int(input.shape.size()), longer = random_.chance(50) ? random_.below(rank) : -1;
  const auto positions = [&](int moved) {
    std::string text;
    for (int d = 0; d < rank; ++d)
      text += (d == 0 ? "q" : ", q") + std::to_string(d) + (d == moved ? " + 1" : "");
    return "[" + text + "]";
  };
  std::string value = "v" + positions(-1);
  if (random_.chance(30)) return join_of(input, random_.below(rank), positions);
  if (random_.chance(15)) return said_of(input, random_.below(rank), positions);
  if (longer >= 0) {
    ++input.shape[std::size_t(longer)];
    const std::string other = "v" + positions(longer);
    value = random_.chance(50) || is_complex(input.dtype) ? other + " + " + value
                                                          : "maximum(" + value + ", " + other + ")";
  }
  if (const std::string loop = loop_of(shape, value); !loop.empty()) return loop;
  const bool listed = random_.chance(40);
  return "let vs" + (listed ? positions(-1) : "") + " = " + value;
}

// Sometimes it reads itself at earlier or later positions of one dim, and another let of the same
// shape does so together with it. Of some the windows see all positions, of some only the last one,
// beside the input.
std::string WindowMaker::loop_of(const std::vector<std::int64_t> &shape, const std::string &value) {
  if (!random_.chance(50)) return {};
  const auto rank = int(shape.size());
  const int time = random_.below(rank);
  const bool backwards = random_.chance(40), last_only = random_.chance(60);
  const std::string name = last_only ? "vl" : "vs";
  const auto position = [&](const std::string &let, const std::string &step) {
    std::string text;
    for (int d = 0; d < rank; ++d) {
      const std::string axis = "q" + std::to_string(d);
      text += (d == 0 ? "" : ", ") + (d == time ? step : axis);
    }
    return let + "[" + text + "]";
  };
  const auto at = [&](const std::string &let, int lag) {
    const std::string axis = "q" + std::to_string(time);
    return position(let,
                    lag == 0 ? axis : axis + (backwards ? " + " : " - ") + std::to_string(lag));
  };
  const auto joined = [&](const std::string &a, const std::string &b) {
    return random_.chance(50) ? a + " + " + b
                              : "where(" + a + " == " + a + ", " + a + ", " + b + ")";
  };
  // Beside its own position along another dim, or at the number of the step, sometimes.
  const auto beside = [&](int lag) {
    const int d = random_.below(rank);
    std::string text = at(name, lag);
    if (d == time || random_.chance(50)) return text;
    std::string axis = "q" + std::to_string(d);
    const auto place = text.find(axis);
    if (shape[std::size_t(time)] <= shape[std::size_t(d)] && random_.chance(50)) {
      const std::string step = "q" + std::to_string(time);
      text.replace(place, axis.size(), step);
      axis = step;
      if (random_.chance(50)) return text;
    }
    const int moved = random_.below(3);
    if (moved > 0) text.insert(place + axis.size(), " + " + std::to_string(moved));
    const std::string mode = random_.pick<std::string>({"zero", "1", "edge", "wrap", "reflect"});
    return "pad(" + name + ", " + std::to_string(d) + ": (1, 1), " + mode + ")" +
           text.substr(name.size());
  };
  const std::string start = random_.chance(40) ? " from 1" : "";
  std::string own = joined(value, beside(random_.between(1, 3)));
  // A loop of bools beside it, and one that reads steps before those of it, which does not read
  // that one.
  std::string beside_it;
  if (random_.chance(25)) {
    own = "where(" + at("vd", 1) + ", " + own + ", " + value + ")";
    const std::string before = at(name, random_.below(2));
    beside_it += "\nlet " + at("vd", 0) + " = !" + at("vd", 1) + " & (" + before + " == " + before +
                 ")" + random_.pick<std::string>({"", " from true"});
  }
  const std::string step_axis = "q" + std::to_string(time);
  const bool ends = random_.chance(70);
  const std::string end = " until iota(" + step_axis + ") " + (backwards ? "<= " : ">= ") +
                          std::to_string(random_.below(3));
  const std::string head = position(name, step_axis + (ends ? end : ""));
  if (ends && random_.chance(60)) { // alone, so that it does end
    std::string alone = "let " + head + " = " + joined(value, at(name, 1)) + start;
    if (last_only)
      alone += "\nlet " + at("vs", 0) + " = " + at("v", 0) + " + " +
               position(name, backwards ? "0" : "-1");
    return alone;
  }
  const bool is_read_before = last_only && random_.chance(40);
  if (is_read_before)
    beside_it +=
        "\nlet " + at("vp", 0) + " = " + joined(at("vp", 1), beside(random_.between(1, 2)));
  if (random_.chance(30)) own = joined(own, beside(random_.between(1, 3)));
  // A loop the other way that reads it step by step, as a gradient does, and what it was a step
  // before.
  const bool followed = last_only && random_.chance(85);
  const auto later = [&](const std::string &let) {
    return position(let, "q" + std::to_string(time) + (backwards ? " - 1" : " + 1"));
  };
  std::string seen;
  if (followed) {
    const std::string axis = "q" + std::to_string(time);
    const std::string here = at(name, 0), steps = axis + ", of=" + here;
    const std::string padded = "pad(vl, " + std::to_string(time) +
                               (backwards ? ": (0, 1))" : ": (1, 0))") +
                               (backwards ? at("", 1) : at("", 0));
    const bool early = random_.chance(60);
    if (early)
      seen += "\nlet " + at("ve", 0) + " = where(iota(" + steps + ")" +
              (backwards ? " >= extent(" + steps + ") - 1" : " < 1") + ", " +
              (start.empty() ? "0" : "1") + ", " + padded + ")";
    const std::string read = random_.chance(50) ? here : here + " + " + at("v", 0);
    seen += "\nlet " + at("vb", 0) + " = " +
            joined(read + (early ? " + " + at("ve", 0) : ""), later("vb"));
  }
  if (last_only)
    seen += "\nlet " + at("vs", 0) + " = " + at("v", 0) + " + " +
            position(name, backwards ? "0" : "-1") +
            (is_read_before ? " + " + position("vp", backwards ? "0" : "-1") : "") +
            (followed ? " + " + position("vb", backwards ? "-1" : "0") : "");
  seen = beside_it + seen;
  if (random_.chance(70)) return "let " + head + " = " + own + start + seen;
  const std::string other =
      joined(at(name, random_.below(2)), at("vr", 1)); // of this step, or of another
  return "let " + head + " = " + joined(own, at("vr", random_.between(1, 2))) + start + "\nlet " +
         at("vr", 0) + " = " + other + seen;
}

RandomWindows WindowMaker::of_new(DType dtype, bool large) {
  RandomWindows made;
  RandomInput input{"v", dtype, {}};
  std::vector<std::optional<int>> labels; // of dims that are read by one axis mostly
  const int rank = random_.between(1, large ? 2 : 3);
  for (int d = 0; d < rank; ++d) {
    labels.emplace_back();
    std::int64_t extent = 1;
    if (!known_.empty() && random_.chance(30)) {
      labels.back() = random_.pick(known_).index;
      extent = extent_of(*labels.back());
    } else if (random_.chance(20)) {
      labels.back() = new_axis();
      extent = extent_of(*labels.back());
    }
    input.shape.push_back(extent);
  }
  std::vector<std::vector<Moves>> all;
  std::vector<std::vector<Border>> borders;
  for (int k = random_.between(1, 3); k > 0; --k) {
    std::vector<Moves> &moves = all.emplace_back();
    std::vector<Border> &added = borders.emplace_back();
    for (int d = 0; d < rank; ++d) {
      const std::optional<int> &label = labels[std::size_t(d)];
      std::int64_t &extent = input.shape[std::size_t(d)];
      added.push_back(border(dtype));
      moves.push_back(!label                      ? roaming(extent, added.back())
                      : added.back().mode.empty() ? within(*label, extent)
                                                  : within_border(*label, added.back()));
    }
  }
  for (int d = 0; d < rank; ++d) {
    std::int64_t &extent = input.shape[std::size_t(d)];
    if (!labels[std::size_t(d)]) extent += random_.chance(70) ? random_.below(3) : random_.below(9);
    if (random_.chance(2)) extent = std::max<std::int64_t>(0, extent - random_.between(1, 3));
  }
  RandomInput read = input;
  if (random_.chance(50)) {
    made.let = let_of(input);
    read.name = "vs";
  }
  for (std::size_t k = 0; k < all.size(); ++k)
    made.terms.push_back(window(read, all[k], borders[k]));
  made.line = "in v : " + std::string(name(dtype)) + "[";
  for (int d = 0; d < rank; ++d) made.line += d == 0 ? ":" : ", :";
  made.line += "]";
  made.input = std::move(input);
  return made;
}

RandomGather WindowMaker::gather(DType dtype, bool large) {
  RandomGather made;
  RandomInput index{"h", random_.pick<DType>({i8, i16, i32, i32, i64, u8, u32, u64}), {}};
  std::vector<int> axes; // of the index
  for (const WindowAxis &known : known_)
    if (axes.size() < 2 && random_.chance(60)) axes.push_back(known.index);
  if (!large && random_.chance(40)) {
    own_.push_back({int(axis_names_.size()), random_.between(1, 5)});
    axis_names_.push_back("s");
    axes.push_back(own_.back().index);
  }
  random_.shuffle(axes);
  std::string line = "in h : " + std::string(name(index.dtype)), read = "h[";
  AxisSet indexed;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const std::string &label = axis_names_[std::size_t(axes[d])];
    line += (d == 0 ? "[" : ", ") + label;
    read += (d == 0 ? "" : ", ") + label;
    index.shape.push_back(extent_of(axes[d]));
    indexed = indexed | AxisSet::of(axes[d]);
  }
  read += "]";
  made.lines.push_back(line + (axes.empty() ? "" : "]"));
  // Half of the times the kernel computes the positions, in a let or where they stand.
  std::string computed;
  if (random_.chance(35)) {
    const bool lists = axes.size() > 1 || random_.chance(50);
    computed = "let hq" + (axes.empty() || !lists ? "" : read.substr(1)) + " = " +
               random_.pick<std::string>(
                   {"h % 7", "h // 2 - 3", "h * h", "where(h > 2, h, 1)", "i64(floor(0.7 * h))"});
    read = "hq" + read.substr(1);
  } else if (random_.chance(25)) {
    read = random_.pick<std::string>({"((" + read + " + 1) % 5)", "minimum(" + read + ", 3)"});
  }

  RandomInput array{"g", dtype, {}};
  const int rank = random_.between(1, 3), first = random_.below(rank);
  std::vector<std::optional<int>> labels; // of dims that no index is for
  constexpr std::int64_t most = std::int64_t(1) << 20;
  std::int64_t size = 1; // a label may stand twice
  for (int d = 0; d < rank; ++d) {
    labels.emplace_back();
    if (d != first && !known_.empty() && random_.chance(75)) {
      const int label = random_.pick(known_).index;
      if (size * extent_of(label) <= most) labels.back() = label;
    }
    const std::int64_t longest = std::min<std::int64_t>(large ? 300 : 6, most / size);
    array.shape.push_back(labels.back() ? extent_of(*labels.back())
                                        : random_.between(1, int(longest)));
    size *= std::max<std::int64_t>(array.shape.back(), 1);
  }
  for (int k = random_.between(1, 2); k > 0; --k) {
    Term term{"g[", dtype, indexed, true};
    for (int d = 0; d < rank; ++d) {
      std::string text;
      if (labels[std::size_t(d)]) {
        text = axis_names_[std::size_t(*labels[std::size_t(d)])];
        term.axes = term.axes | AxisSet::of(*labels[std::size_t(d)]);
      } else if (d != first && random_.chance(30)) {
        text = std::to_string(random_.below(int(array.shape[std::size_t(d)])));
      } else {
        text = random_.pick<std::string>({"", "", "-", "3*"}) + read;
        if (!known_.empty() && random_.chance(20)) {
          const int other = random_.pick(known_).index;
          text += random_.pick<std::string>({" + ", " - 2*"}) + axis_names_[std::size_t(other)];
          term.axes = term.axes | AxisSet::of(other);
        }
        text += random_.pick<std::string>({"", "", " - 1", " + 2"});
        text = random_.pick<std::string>({"wrap(", "wrap(", "clip("}) + text + ")";
      }
      term.text += (d == 0 ? "" : ", ") + text;
    }
    term.text += "]";
    made.terms.push_back(term);
  }
  line = "in g : " + std::string(name(dtype)) + "[";
  for (int d = 0; d < rank; ++d) line += d == 0 ? ":" : ", :";
  made.lines.push_back(line + "]");
  if (!computed.empty()) made.lines.push_back(computed);
  made.inputs = {index, array};
  return made;
}

RandomWindows WindowMaker::of(const LabelledInput &read) {
  RandomWindows made;
  for (int k = random_.between(1, 2); k > 0; --k) {
    std::vector<Moves> moves;
    std::vector<Border> borders;
    for (std::size_t d = 0; d < read.axes.size(); ++d) {
      borders.push_back(border(read.input.dtype));
      moves.push_back(borders.back().mode.empty() ? within(read.axes[d], read.input.shape[d])
                                                  : within_border(read.axes[d], borders.back()));
    }
    made.terms.push_back(window(read.input, moves, borders));
  }
  return made;
}

RandomWindows random_stencil(Random &random, DType dtype) {
  RandomWindows made;
  made.input = RandomInput{"st", dtype, {random.between(3, 130), random.between(20, 300)}};
  made.line = "in st : " + std::string(name(dtype)) + "[:, :]";
  Term term;
  term.text = "st[si + 1, sj + 1]";
  term.dtype = dtype;
  for (int k = 0; k < 9; ++k)
    if (k != 4)
      term.text += random.pick<std::string>({" + ", " - "}) + "st[si + " + std::to_string(k / 3) +
                   ", sj + " + std::to_string(k % 3) + "]";
  made.terms.push_back(term);
  return made;
}

} // namespace broadloom::differential
