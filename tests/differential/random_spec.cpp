// See random_spec.hpp.
#include "random_spec.hpp"

#include "analysis/analyse.hpp"
#include "large_terms.hpp"
#include "random_expression.hpp"
#include "random_listed.hpp"
#include "random_transposed.hpp"
#include "random_windows.hpp"
#include "reference/lets.hpp"
#include "reference/reference.hpp"
#include "reference/windows.hpp"
#include "spec/spec.hpp"

#include <algorithm>
#include <optional>

namespace broadloom::differential {
namespace {

using expr::AxisSet;

struct Output {
  std::string head; // "out z[i] : f32"
  bool add = false;
  std::string mode; // "reduce(sum, like=x) "
  std::string bound_mode;
  std::string value;
  Agreement agreement = Agreement::Equal;
};

class Maker {
public:
  // One seed in six has windows, and another one lets that list their dims in any order, drawn from
  // a source of their own: the kernels of all other seeds stay what they are.
  Maker(std::uint64_t seed, Style style)
      : random_(seed), window_random_(seed * 0x2545f4914f6cdd1d + 3),
        axis_random_(seed * 0x2545f4914f6cdd1d + 5), gathers_(seed % 12 == 4),
        windows_(seed % 6 == 4), lists_(seed % 6 == 2 && style != Style::Large) {
    spec_.seed = seed;
    scope_.smooth = style == Style::Smooth;
    scope_.large = style == Style::Large;
    spec_.exact = !scope_.smooth && random_.chance(50);
    scope_.exact = spec_.exact;
    if (random_.chance(30)) scope_.mark = "recompute";
  }

  RandomSpec run() {
    choose_axes();
    declare_inputs();
    if (windows_) add_windows();
    if (gathers_) add_gather();
    if (windows_ && window_random_.chance(60)) add_transposed();
    if (lists_) add_listed();
    for (int k = random_.below(only_maps_ ? 1 : scope_.large ? 2 : 3); k > 0; --k) add_let();
    for (int k = random_.between(1, 3), tries = 0; k > 0 && tries < 60; ++tries) k -= add_output();
    for (int tries = 0; !gathered_.empty() && tries < 20; ++tries)
      if (add_sum_through(gathered_)) break;
    for (int tries = 0; !seen_.empty() && tries < 20; ++tries)
      if (add_sum_through(seen_)) break;
    if (!transposed_.empty()) add_checked(transposed_, false);
    if (windows_ && scope_.large && window_random_.chance(30)) add_stencil();
    for (const std::string &value : listed_.values) add_listed_output(value);
    if (!listed_.sum_like.empty()) add_checked(listed_.sum_like, false);
    if (random_.chance(20)) pairing_ = random_.pick<std::string>({"fuse", "separate"});
    spec_.text = text(false);
    bool bounded = false;
    for (const Output &o : outputs_) bounded |= o.agreement == Agreement::Bound;
    if (bounded) spec_.bound_text = text(true);
    return std::move(spec_);
  }

private:
  // ---- axes and inputs
  // -----------------------------------------------------------------------------

  void choose_large_axes() {
    shape_ = large_shape(random_);
    extents_ = shape_.extents;
    const auto &factors = shape_.factors;
    if ((shape_.maps || !factors.empty()) && random_.chance(70))
      one_dtype_ = random_.pick<DType>({f32, f32, f64, i32, i64});
    only_maps_ = shape_.maps || (factors.empty() && random_.chance(10));
    labelled_ = !factors.empty() || random_.chance(shape_.maps ? 85 : 60) || windows_;
    order_c_ = random_.chance(30);
    for (std::size_t a = 0; a < extents_.size(); ++a)
      scope_.axis_names.push_back(labelled_ ? std::string(1, "ijklmnop"[a]) : std::to_string(a));
  }

  void choose_axes() {
    if (scope_.large) return choose_large_axes();
    // Rows long enough for what the planner does with long rows only: tiles, rows of states.
    const bool wide = !scope_.smooth && random_.chance(10);
    const int rank = wide                                  ? random_.between(2, 3)
                     : random_.chance(5) && !scope_.smooth ? random_.between(5, 8)
                                                           : random_.between(0, 4);
    labelled_ = random_.chance(50) || windows_ || lists_;
    order_c_ = random_.chance(40);
    std::int64_t points = 1;
    for (int a = 0; a < rank; ++a) {
      if (scope_.smooth) {
        extents_.push_back(random_.pick<std::int64_t>({1, 2, 2, 3, 4, 5}));
        scope_.axis_names.push_back(labelled_ ? std::string(1, "ijklmnop"[a]) : std::to_string(a));
        continue;
      }
      std::int64_t n = random_.pick<std::int64_t>({1, 2, 2, 3, 3, 7, 7, 16, 33, 130});
      if (wide) n = random_.pick<std::int64_t>({64, 65, 100, 130, 200, 300});
      if (random_.chance(3)) n = 0;
      if (random_.chance(3)) n = random_.pick<std::int64_t>({1000, 5000, 70000});
      if (points * n > (n >= 5000 ? 100000 : wide ? 40000 : 20000)) n = 2;
      points *= std::max<std::int64_t>(n, 1);
      extents_.push_back(n);
      scope_.axis_names.push_back(labelled_ ? std::string(1, "ijklmnop"[a]) : std::to_string(a));
    }
  }

  // The first input has every axis, so that positions are those of `extents_`.
  void declare_inputs() {
    if (order_c_) lines_.push_back("order c");
    if (random_.chance(5)) lines_.push_back("stretch off");
    if (!scope_.smooth && random_.chance(shape_.factors.empty() ? 5 : 30))
      lines_.push_back("set relaxed = on");
    const int least = only_maps_ ? 2 : shape_.factors.empty() ? 1 : int(shape_.factors.size());
    const int most = scope_.large ? std::max(least, 3) : 4;
    for (int k = 0, count = random_.between(least, most); k < count; ++k) declare_input(k);
  }

  void declare_input(int k) {
    const int all = int(extents_.size());
    RandomInput input;
    input.name = std::string(1, "xyzw"[k]);
    input.dtype = random_dtype();
    std::vector<int> axes; // of each dim
    // Where windows and lets have axes of their own, `order f` would align other dims with those.
    const bool with_labels = labelled_ && (k == 0 || random_.chance(85) || windows_ || lists_);
    std::string placement;
    if (std::size_t(k) < shape_.factors.size()) {
      axes = shape_.factors[std::size_t(k)];
      if (random_.chance(20)) random_.shuffle(axes);
    } else if (k == 0 || with_labels) {
      for (int a = 0; a < all; ++a)
        if (k == 0 || random_.chance(only_maps_ ? (k == 1 ? 95 : 80) : 60)) axes.push_back(a);
      // The order in which labels first appear is the order of the iteration space.
      if (with_labels && k > 0) random_.shuffle(axes);
    }
    if (k > 0 && !with_labels) {
      const int rank = random_.between(0, all);
      axes.clear(); // a factor without labels lies as any other input does
      for (int d = 0; d < rank; ++d) axes.push_back(order_c_ ? d : all - rank + d);
      if (!labelled_ && rank > 0 && random_.chance(25)) {
        std::vector<int> places;
        for (int a = 0; a < all; ++a) places.push_back(a);
        random_.shuffle(places);
        axes.assign(places.begin(), places.begin() + rank);
        const bool sorted = random_.chance(50);
        if (sorted) std::sort(axes.begin(), axes.end());
        placement = sorted ? " dims(" : " axes(";
        for (int d = 0; d < rank; ++d) placement += (d ? ", " : "") + std::to_string(axes[d]);
        placement += ")";
      }
    }
    std::string dims;
    Term term{input.name, input.dtype, {}, true};
    for (int axis : axes) {
      std::int64_t extent = extents_[std::size_t(axis)];
      const bool stretches = random_.chance(scope_.large ? 6 : 12);
      if (stretches) extent = 1;
      std::string dim = with_labels ? scope_.axis_names[std::size_t(axis)] : ":";
      const bool may = with_labels && !scope_.large && random_.chance(stretches ? 50 : 8) &&
                       (stretches || !windows_);
      if (may)
        dim += "?";
      else if (with_labels && stretches)
        dim += "=1";
      else if (!with_labels && random_.chance(8))
        dim = std::to_string(extent);
      dims += (dims.empty() ? "" : ", ") + dim;
      if (!scope_.large && random_.chance(1) && random_.chance(30))
        extent += 1; // an error, and everywhere the same
      input.shape.push_back(extent);
      term.axes = term.axes | AxisSet::of(axis);
      if (with_labels && !stretches && !may) given_ = given_ | AxisSet::of(axis);
    }
    if (windows_) read_at_positions_.push_back({input, axes});
    lines_.push_back("in " + input.name + " : " + std::string(name(input.dtype)) +
                     (dims.empty() ? "" : "[" + dims + "]") + placement);
    scope_.terms.push_back(term);
    scope_.input_names.push_back(input.name);
    spec_.inputs.push_back(std::move(input));
  }

  void add_windows() {
    const std::vector<std::string> names = scope_.axis_names;
    const RandomInput *last = spec_.inputs.empty() ? nullptr : &spec_.inputs.back();
    for (int tries = 0; tries < 8; ++tries) {
      scope_.axis_names = names;
      std::vector<WindowAxis> axes;
      for (std::size_t a = 0; a < extents_.size(); ++a) // `j=1` alone leaves the extent to windows
        if (given_.has(int(a)) || window_random_.chance(25)) axes.push_back({int(a), extents_[a]});
      WindowMaker maker(window_random_, axes, scope_.axis_names);
      RandomWindows made;
      if (last != nullptr && window_random_.chance(30))
        made = maker.of(window_random_.pick(read_at_positions_));
      else
        made = maker.of_new(last != nullptr && window_random_.chance(60) ? last->dtype
                                                                         : random_dtype(),
                            scope_.large);
      if (!is_small_enough(made)) continue;
      // Of a label that only dims of 1 have nothing else says it, but the windows that walk it.
      for (const WindowAxis &axis : axes)
        if (axis_random_.chance(given_.has(axis.index) ? 3 : 50))
          lines_.push_back("axis " + names[std::size_t(axis.index)] + " < " +
                           std::to_string(axis.extent));
      if (made.input) {
        lines_.push_back(made.line);
        if (!made.let.empty()) lines_.push_back(made.let);
        spec_.inputs.push_back(*made.input);
      }
      for (const Term &term : made.terms) // they are to be read often
        scope_.terms.insert(scope_.terms.end(), scope_.large ? 3 : 2, term);
      if (window_random_.chance(60))
        for (const Term &term : made.terms) seen_.push_back(term.text);
      return;
    }
    scope_.axis_names = names;
  }

  // Half of the kernels with windows also read an array by an index.
  void add_gather() {
    std::vector<WindowAxis> axes;
    for (std::size_t a = 0; a < extents_.size(); ++a)
      if (given_.has(int(a))) axes.push_back({int(a), extents_[a]});
    const std::vector<std::string> names = scope_.axis_names;
    RandomGather made =
        WindowMaker(window_random_, axes, scope_.axis_names).gather(random_dtype(), scope_.large);
    const auto lines = lines_;
    lines_.insert(lines_.end(), made.lines.begin(), made.lines.end());
    if (!is_sound({"out probe", false, "", "", "sum(" + made.terms[0].text + ")"})) {
      lines_ = lines;
      scope_.axis_names = names;
      return;
    }
    spec_.inputs.insert(spec_.inputs.end(), made.inputs.begin(), made.inputs.end());
    for (const Term &term : made.terms) {
      scope_.terms.insert(scope_.terms.end(), scope_.large ? 3 : 2, term);
      gathered_.push_back(term.text);
    }
  }

  // out o2 = sum(e, like=g[wrap(h[i]), j]), sum(e, like=v[2*i + u])
  bool add_sum_through(const std::vector<std::string> &reads) {
    Expressions expressions(random_, scope_);
    const Term value =
        expressions.folded(expressions.term(scope_.large ? 1 : random_.below(3)), Fold::Sum);
    Output out;
    out.head = "out o" + std::to_string(outputs_.size());
    out.add = random_.chance(30);
    out.value = "sum(" + value.text + ", like=" + random_.pick(reads) + ")";
    if (random_.chance(20)) out.value = "1 - " + out.value;
    return add_checked(std::move(out), value.inexact);
  }

  bool add_checked(const std::string &value, bool inexact) {
    Output out;
    out.head = "out o" + std::to_string(outputs_.size());
    out.add = random_.chance(15);
    out.value = value;
    return add_checked(std::move(out), inexact || !scope_.exact);
  }

  bool add_checked(Output out, bool inexact) {
    if (inexact) out.agreement = Agreement::None;
    if (!is_sound(out) || points_of(out) > (scope_.large ? 1e7 : 3e5)) return false;
    spec_.outputs.push_back({"o" + std::to_string(outputs_.size()), out.add, out.agreement});
    bound_heads_.push_back(out.head);
    outputs_.push_back(std::move(out));
    return true;
  }

  void add_stencil() { // alone in its loops, with the bits of the reference
    const RandomWindows made =
        random_stencil(window_random_, window_random_.pick<DType>({f32, f32, f64, i32, f16}));
    lines_.push_back(made.line);
    spec_.inputs.push_back(*made.input);
    Output out;
    out.head = "out o" + std::to_string(outputs_.size());
    out.value = made.terms[0].text;
    add_checked(std::move(out), false);
  }

  void add_transposed() {
    const DType dtype = window_random_.pick<DType>({f32, f32, f64, f64, i32});
    const RandomTransposed made = random_transposed(window_random_, dtype, scope_.large);
    lines_.insert(lines_.end(), made.lines.begin(), made.lines.end());
    spec_.inputs.insert(spec_.inputs.end(), made.inputs.begin(), made.inputs.end());
    transposed_ = made.value;
  }

  void add_listed() {
    listed_ = random_listed(window_random_, scope_.exact);
    lines_.insert(lines_.end(), listed_.lines.begin(), listed_.lines.end());
    spec_.inputs.insert(spec_.inputs.end(), listed_.inputs.begin(), listed_.inputs.end());
  }

  void add_listed_output(const std::string &value) {
    Output out;
    out.head = "out o" + std::to_string(outputs_.size());
    out.value = value;
    if (window_random_.chance(50)) {
      std::vector<std::string> axes = listed_.axes;
      window_random_.shuffle(axes);
      for (std::size_t a = 0; a < axes.size(); ++a) out.head += (a == 0 ? "[" : ", ") + axes[a];
      out.head += "]";
    }
    add_checked(std::move(out), !scope_.exact);
  }

  // How many values the greatest fold of an output takes.
  double points_of(const Output &out) const {
    std::string body = functions + std::string(definitions) + "kernel k {\n";
    for (const std::string &l : lines_) body += l + "\n";
    body += line(out.head, out.add, out.mode + out.value) + "\n}\n";
    std::vector<Layout> layouts;
    for (const RandomInput &in : spec_.inputs) layouts.push_back(contiguous_layout(in.shape));
    try {
      const spec::TypedSpec typed = analysis::analyse(parse(body).data());
      std::vector<std::int64_t> extents =
          reference::window_extents(typed, reference::with_lets(typed, layouts));
      for (std::size_t i = 0; i < typed.given_inputs(); ++i)
        for (std::size_t d = 0; d < typed.inputs[i].axis_of_dim.size() && i < layouts.size(); ++d) {
          std::int64_t &extent = extents[std::size_t(typed.inputs[i].axis_of_dim[d])];
          extent = std::max(extent, layouts[i].extents[d]);
        }
      for (std::size_t a = 0; a < extents.size(); ++a) { // `j_2` is an axis like j
        const std::string like = typed.axes[a].name.substr(0, typed.axes[a].name.find('_'));
        for (std::size_t b = 0; b < a && like != typed.axes[a].name; ++b)
          if (typed.axes[b].name == like) extents[a] = std::max(extents[a], extents[b]);
      }
      double most = 0;
      for (std::uint32_t n = 0; n < typed.graph.size(); ++n) {
        double points = 1;
        for (std::size_t a = 0; a < extents.size(); ++a)
          if (typed.graph[{n}].axes.has(int(a)))
            points *= double(std::max<std::int64_t>(extents[a], 1));
        most = std::max(most, points);
      }
      return most;
    } catch (const ShapeError &) {
      return 0; // a mistake
    }
  }

  // Whether what the windows walk are not too many points; a few that are mistakes may stay.
  bool is_small_enough(const RandomWindows &made) {
    std::string body = "kernel k {\n";
    for (const std::string &l : lines_) body += l + "\n";
    body += made.line + "\n" + made.let + "\n";
    for (std::size_t k = 0; k < made.terms.size(); ++k)
      body += "out p" + std::to_string(k) + " = " + made.terms[k].text + "\n";
    std::vector<Layout> layouts;
    for (const RandomInput &in : spec_.inputs) layouts.push_back(contiguous_layout(in.shape));
    if (made.input) layouts.push_back(contiguous_layout(made.input->shape));
    double elements = 1;
    for (const std::int64_t extent : layouts.back().shape()) elements *= double(extent);
    if (elements > (scope_.large ? 4e6 : 3e5)) return false;
    try {
      const spec::TypedSpec typed = analysis::analyse(parse(body + "}\n").data());
      double points = 1;
      for (const std::int64_t extent :
           reference::window_extents(typed, reference::with_lets(typed, layouts)))
        points *= double(std::max<std::int64_t>(extent, 1));
      for (std::size_t a = 0; a < extents_.size(); ++a) // labels that no window walks
        if (!given_.has(int(a))) points *= double(std::max<std::int64_t>(extents_[a], 1));
      return points < (scope_.large ? 4e6 : 2e5);
    } catch (const ShapeError &) {
      return window_random_.chance(15);
    } catch (const SpecError &) {
      return false;
    }
  }

  DType random_dtype() {
    if (one_dtype_) return *one_dtype_;
    if (scope_.smooth)
      return random_.pick<DType>({f64, f64, f64, f64, f64, f32, f32, f16, c128, c64, i32});
    std::vector<DType> types{f32, f32, f32, f32, f64, f64, f64, f64, i32, i32, i64, i64, bool_};
    types.push_back(random_.pick<DType>({i8, i16, u8}));
    types.push_back(random_.pick<DType>({f16, bf16}));
    types.push_back(random_.pick<DType>({c64, c128}));
    if (!spec_.exact) types.push_back(random_.pick<DType>({u16, u32, u64}));
    return random_.pick(types);
  }

  // ---- lets and outputs
  // ----------------------------------------------------------------------------

  void add_let() {
    Term t = Expressions(random_, scope_).term(2);
    const std::string name = "t" + std::to_string(scope_.terms.size());
    const std::string line = "let " + name + " = " + t.text;
    lines_.push_back(line);
    if (!is_sound({"out probe", false, "", "", name})) {
      lines_.pop_back();
      return;
    }
    t.text = name;
    t.plain = false;
    scope_.terms.push_back(t);
  }

  bool add_output() {
    Expressions expressions(random_, scope_);
    Term value = expressions.term(scope_.large ? random_.between(1, 2) : 3);
    LargeTerms large(random_, scope_, shape_);
    if (only_maps_)
      value = large.map();
    else if (shape_.pairs)
      value = large.pairs(outputs_.size());
    else if (!shape_.factors.empty() && random_.chance(80))
      value = large.product();
    else if (scope_.large && random_.chance(60))
      value = large.usual();
    Output out;
    Fold fold = expressions.fold_for(value.dtype);
    int mode = only_maps_ ? random_.below(2) : random_.below(6);
    if (!spec_.exact && !only_maps_ && random_.chance(25)) { // what the bound is for
      mode = 4;
      fold = Fold::Sum;
    }
    const std::string fold_name = Expressions::name_of(fold);
    out.head = "out o" + std::to_string(outputs_.size());
    out.add = random_.chance(12);
    std::string like = random_.chance(15) ? expressions.like() : "";
    const bool brackets = random_.chance(mode >= 2 ? 45 : 10) && like.empty();
    if (brackets) out.head += listed(mode);
    if (mode == 1) {
      out.mode = "broadcast" + (like.empty() ? "" : "(" + like + ")") + " ";
    } else if (mode == 2 || mode == 3) {
      out.mode = "accumulate(" + fold_name + ") ";
      // Inputs are folded before the expression and its own folds.
      const bool sums = value.inexact || value.text.find("sum(") != std::string::npos ||
                        value.text.find("mean(") != std::string::npos ||
                        value.text.find("scan(") != std::string::npos ||
                        value.text.find("share(") != std::string::npos;
      const bool rounds =
          fold == Fold::Var || fold == Fold::Std || fold == Fold::Norm || fold == Fold::LogSumExp;
      const bool of_any_size = fold == Fold::Prod || fold == Fold::Mean || fold == Fold::User;
      bool complex = false;
      for (const RandomInput &in : spec_.inputs) complex |= is_complex(in.dtype);
      const bool is_exact_case =
          spec_.exact && !(sums && of_any_size) && !(complex && fold == Fold::Prod);
      value.inexact |=
          rounds ||
          (!is_exact_case && (fold == Fold::Sum || (of_any_size && (sums || fold != Fold::User))));
    } else if (mode >= 4) {
      const std::string options =
          fold == Fold::Sum ? "" : expressions.options(fold, value.dtype, false);
      out.mode = "reduce(" + fold_name + (like.empty() ? "" : ", " + like) + options + ") ";
      const bool was_exact = !value.inexact;
      value = expressions.folded(value, fold);
      if (was_exact && value.inexact && fold == Fold::Sum && !out.add) {
        out.agreement = Agreement::Bound;
        out.bound_mode = out.mode;
      }
    }
    if (value.inexact && out.agreement == Agreement::Equal) out.agreement = Agreement::None;
    std::string type;
    if (random_.chance(20)) {
      const DType declared =
          is_complex(value.dtype)             ? random_.pick<DType>({c64, c128, bool_})
          : out.agreement == Agreement::Bound ? random_.pick<DType>({f32, f64, f16, bf16})
          : scope_.smooth                     ? random_.pick<DType>({f32, f64, f16, bf16})
                          : random_.pick<DType>({f32, f64, f16, bf16, i32, i64, bool_});
      type = " : " + std::string(name(declared));
    }
    out.value = value.text;
    const std::string head = out.head;
    out.head += type;
    if (!is_sound(out)) return false;
    spec_.outputs.push_back({"o" + std::to_string(outputs_.size()), out.add, out.agreement});
    if (out.agreement == Agreement::Bound)
      bound_heads_.push_back(head + " : f64");
    else
      bound_heads_.push_back(out.head);
    outputs_.push_back(std::move(out));
    return true;
  }

  // Brackets: some of the axes in any order; a plain output lists all that it has, so guess all.
  std::string listed(int mode) {
    std::vector<std::string> names;
    for (const std::string &axis : scope_.axis_names)
      if (mode < 2 || random_.chance(50)) names.push_back(axis);
    random_.shuffle(names);
    std::string text;
    for (const std::string &n : names) text += (text.empty() ? "" : ", ") + n;
    return "[" + text + "]";
  }

  static std::string line(const std::string &head, bool add, const std::string &rest) {
    return head + (add ? " += " : " = ") + rest;
  }

  // Whether the kernel so far, with this output alone, is free of mistakes.
  bool is_sound(const Output &out) const {
    std::string body = functions + std::string(definitions) + "kernel k {\n";
    for (const std::string &l : lines_) body += l + "\n";
    for (const Output &other : outputs_) // which may leave its axes other extents
      if (out.head != "out probe")
        body += line(other.head, other.add, other.mode + other.value) + "\n";
    body += line(out.head, out.add, out.mode + out.value) + "\n}\n";
    try {
      const LoopSpec spec = parse(body);
      analysis::analyse(spec.data());
      if (scope_.smooth && out.head != "out probe") gradient(spec, continuous_inputs());
      return true;
    } catch (const InternalError &) {
      throw;
    } catch (const Error &) {
      return false;
    } catch (const std::exception &error) { // a bug of ours
      throw std::runtime_error(std::string(error.what()) + " of\n" + body);
    }
  }

  std::vector<std::string> continuous_inputs() const {
    std::vector<std::string> names;
    for (const RandomInput &in : spec_.inputs)
      if (is_float(in.dtype) || is_complex(in.dtype)) names.push_back(in.name);
    return names;
  }

  std::string text(bool bound) const {
    std::string body = functions + std::string(definitions) + "kernel k {\n";
    for (const std::string &l : lines_) body += "  " + l + "\n";
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      const Output &o = outputs_[k];
      if (bound && o.agreement == Agreement::Bound)
        body +=
            "  " + line(bound_heads_[k], false, o.bound_mode + "f64(abs(" + o.value + "))") + "\n";
      else
        body += "  " + line(o.head, o.add, o.mode + o.value) + "\n";
    }
    if (outputs_.size() > 1 && !pairing_.empty()) body += "  " + pairing_ + " o0, o1\n";
    return body + "}\n";
  }

  Random random_, window_random_, axis_random_;
  const bool gathers_, windows_, lists_;
  std::vector<std::string> gathered_; // reads by an index
  std::string transposed_;            // a sum back through a window; empty: none
  RandomListed listed_;               // with lets that list their dims
  std::vector<std::string> seen_;     // through windows, for sums that go back through them
  AxisSet given_;                     // labels that some input gives an extent
  std::vector<LabelledInput> read_at_positions_;
  RandomSpec spec_;
  Scope scope_;
  bool labelled_ = false, order_c_ = false, only_maps_ = false;
  std::optional<DType> one_dtype_; // of all inputs
  std::vector<std::int64_t> extents_;
  LargeShape shape_; // of large kernels
  std::vector<std::string> lines_;
  std::vector<Output> outputs_;
  std::string pairing_; // "fuse", "separate" or nothing, of the first two outputs
  std::vector<std::string> bound_heads_;
};

} // namespace

RandomSpec random_spec(std::uint64_t seed, Style style) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    RandomSpec spec = Maker(seed + attempt * 0x1000003, style).run();
    spec.seed = seed;
    if (!spec.outputs.empty()) return spec;
  }
}

} // namespace broadloom::differential
