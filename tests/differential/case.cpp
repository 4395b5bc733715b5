// See case.hpp.
#include "case.hpp"

#include "analysis/analyse.hpp"
#include "random_schedule.hpp"
#include "reference/reference.hpp"
#include "spec/spec.hpp"
#include "tools/broadloom/data/source.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace broadloom::differential {
namespace {

constexpr std::array<std::pair<std::string_view, Data>, 3> kinds = {
    {{"exact", Data::Exact}, {"general", Data::General}, {"smooth", Data::Smooth}}};

std::string listed(std::span<const std::int64_t> numbers) {
  std::string text;
  for (const std::int64_t n : numbers) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return text;
}

std::string print_layout(const CaseOperand &operand) {
  return " strides(" + listed(operand.layout.steps()) + ")" + (operand.at_end ? "" : " at start");
}

std::string print_input(const CaseOperand &in) {
  std::string text = "# in " + in.name + " = ";
  for (const auto &[word, data] : kinds)
    if (data == in.data)
      text += std::string(word) + "(" + listed(in.layout.shape()) + "; seed " +
              std::to_string(in.seed) + ")" + print_layout(in);
  return text + in.source + "\n";
}

// Reads the words of one line.
class Line {
public:
  explicit Line(std::string_view text) : text_(text) {}

  bool accept(std::string_view word) {
    skip();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word))
      throw std::runtime_error("expected '" + std::string(word) + "' in: " + std::string(text_));
  }
  std::string name() {
    skip();
    const std::size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    return std::string(text_.substr(start, at_ - start));
  }
  std::int64_t number() {
    skip();
    std::size_t used = 0;
    const std::int64_t value = std::stoll(std::string(text_.substr(at_)), &used);
    at_ += used;
    return value;
  }
  std::uint64_t seed() {
    skip();
    std::size_t used = 0;
    const std::uint64_t value = std::stoull(std::string(text_.substr(at_)), &used);
    at_ += used;
    return value;
  }
  std::vector<std::int64_t> numbers(std::string_view open) {
    std::vector<std::int64_t> values;
    expect(open);
    while (!accept(")") && !accept(";")) {
      values.push_back(number());
      accept(",");
    }
    return values;
  }
  std::string rest() {
    skip();
    return std::string(text_.substr(at_));
  }
  bool at_end() { return rest().empty(); }

private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

Layout layout_of(const std::vector<std::int64_t> &shape, Line &line, bool &at_end) {
  Layout layout = contiguous_layout(shape);
  if (line.accept("strides")) layout = strided_layout(shape, line.numbers("("));
  at_end = !line.accept("at start");
  return layout;
}

CaseOperand read_input(Line &line) {
  CaseOperand in;
  in.name = line.name();
  line.expect("=");
  for (const auto &[word, data] : kinds) {
    if (!line.accept(std::string(word) + "(")) continue;
    in.data = data;
    const std::vector<std::int64_t> shape = line.numbers("");
    line.expect("seed");
    in.seed = line.seed();
    line.expect(")");
    in.layout = layout_of(shape, line, in.at_end);
    return in;
  }
  in.data = Data::Source;
  in.source = line.rest();
  return in;
}

// An output of which only the strides are known: its shape is the kernel's.
CaseOperand read_output(Line &line) {
  CaseOperand out;
  out.name = line.name();
  if (line.accept("strides")) {
    const std::vector<std::int64_t> strides = line.numbers("(");
    out.layout.rank = int(strides.size());
    std::copy(strides.begin(), strides.end(), out.layout.strides.begin());
  } else {
    out.layout.rank = -1;
  }
  out.at_end = !line.accept("at start");
  if (line.accept("seed")) out.seed = line.seed();
  if (line.accept("equal")) out.agreement = Agreement::Equal;
  if (line.accept("none")) out.agreement = Agreement::None;
  return out;
}

CaseOperand &output_named(Case &c, const std::string &name) {
  for (CaseOperand &out : c.outputs)
    if (out.name == name) return out;
  c.outputs.push_back({.name = name});
  c.outputs.back().layout.rank = -1;
  return c.outputs.back();
}

std::vector<std::string> names_in(Line &line) {
  std::vector<std::string> names;
  while (!line.at_end()) {
    names.push_back(line.name());
    if (names.back().empty()) throw std::runtime_error("expected a name: " + line.rest());
    line.accept(",");
  }
  return names;
}

} // namespace

void complete_outputs(Case &c) {
  const spec::TypedSpec typed = analysis::analyse(parse(c.text).data());
  std::vector<Layout> layouts;
  for (const spec::TypedInput &declared : typed.callers())
    for (CaseOperand &in : c.inputs)
      if (in.name == declared.name) {
        in.dtype = declared.dtype;
        if (in.data == Data::Source)
          in.layout =
              cli::read_source(cli::parse_source(in.source, in.name), {in.name, in.dtype, {}})
                  .layout();
        layouts.push_back(in.layout);
      }
  if (layouts.size() != typed.callers_inputs()) throw std::runtime_error("an input has no line");
  const auto shapes = reference::output_shapes(typed, layouts);
  std::vector<CaseOperand> outputs;
  for (std::size_t o = 0; o < typed.outputs.size(); ++o) {
    CaseOperand out{.name = typed.outputs[o].name};
    out.layout.rank = -1;
    for (const CaseOperand &known : c.outputs)
      if (known.name == out.name) out = known;
    out.dtype = typed.outputs[o].dtype;
    out.add = typed.outputs[o].add;
    if (out.layout.rank == int(shapes[o].size()))
      std::copy(shapes[o].begin(), shapes[o].end(), out.layout.extents.begin());
    else
      out.layout = contiguous_layout(shapes[o]);
    outputs.push_back(std::move(out));
  }
  c.outputs = std::move(outputs);
}

std::string with_parameters(const std::string &text, const std::set<std::string> &names) {
  std::string changed = print(parse(text));
  for (const std::string &name : names) {
    const std::string declaration = "\n  in  " + name + " : ";
    const std::size_t at = changed.find(declaration);
    if (at != changed.npos) changed.replace(at, declaration.size(), "\n  param " + name + " : ");
  }
  return changed;
}

Case random_case(std::uint64_t seed, Style style) {
  const RandomSpec made = random_spec(seed, style);
  Random random(~seed);
  Case c;
  c.story = "seed " + std::to_string(seed) + (made.exact ? ", exact" : ", general");
  c.text = made.text;
  // One in eight, of all remainders by 4 and by 16; and a quarter of those that have arrays.
  const bool all = seed / 4 % 8 == 5;
  if (all || seed / 4 % 4 == 2) {
    Random schedule(seed * 0x9e3779b97f4a7c15 + 1);
    c.text = with_schedule(
        c.text, random_schedule(schedule, c.text, all ? Scheduled::All : Scheduled::LetsAlone));
  }
  c.bound_text = made.bound_text;
  const bool plain = style == Style::Large && random.chance(50);
  for (const RandomInput &declared : made.inputs) {
    CaseOperand in{.name = declared.name, .dtype = declared.dtype};
    in.layout = random_layout(random, declared.shape, false, in.at_end);
    if (plain) in.layout = contiguous_layout(declared.shape);
    in.data = made.exact ? Data::Exact : Data::General;
    in.seed = random.bits();
    c.inputs.push_back(std::move(in));
  }
  try {
    complete_outputs(c);
  } catch (const Error &) { // shapes that do not fit, or folds of nothing: all engines must say so
    return c;
  }
  for (std::size_t o = 0; o < c.outputs.size(); ++o) {
    CaseOperand &out = c.outputs[o];
    const Layout shape = out.layout;
    out.layout = random_layout(random, shape.shape(), true, out.at_end);
    if (plain) out.layout = shape;
    out.data = made.exact ? Data::Exact : Data::General;
    out.seed = random.bits();
    out.agreement = made.outputs[o].agreement;
    out.wanted = o == 0 || !random.chance(8);
  }
  if (c.outputs.size() > 1 && random.chance(4)) c.outputs[0].wanted = false;
  c.threads = {random.pick<int>({1, 2, 2, 3, 7})};
  if (style == Style::Large)
    c.caches = random.pick<std::string>({"", "4K,64K", "16K,128K", "64K,256K", "512K,2M"});
  if (style != Style::Large && seed % 5 == 2)
    c.caches = random.pick<std::string>({"1K,16K", "1K,1M"});
  if (seed % 4 == 3) c.blocks = std::to_string(seed);
  return c;
}

std::string print(const Case &c) {
  std::string text;
  std::istringstream story(c.story);
  for (std::string line; std::getline(story, line);) text += "# " + line + "\n";
  for (const CaseOperand &in : c.inputs) text += print_input(in);
  for (const CaseOperand &out : c.outputs) {
    text += "# out " + out.name + print_layout(out);
    if (out.add) text += " seed " + std::to_string(out.seed);
    if (out.agreement == Agreement::Equal) text += " equal";
    if (out.agreement == Agreement::None) text += " none";
    text += "\n";
    if (!out.wanted) text += "# null " + out.name + "\n";
  }
  text += "# threads";
  for (const int threads : c.threads) text += " " + std::to_string(threads);
  text += "\n";
  if (!c.caches.empty()) text += "# caches " + c.caches + "\n";
  if (!c.blocks.empty()) text += "# blocks " + c.blocks + "\n";
  for (std::size_t k = 0; k < c.gradient.size(); ++k)
    text += (k == 0 ? "# gradient " : ", ") + c.gradient[k];
  return text + (c.gradient.empty() ? "" : "\n") + c.text;
}

Case read_case(const std::string &text) {
  Case c;
  std::istringstream lines(text);
  bool head = true;
  for (std::string raw; std::getline(lines, raw);) {
    head = head && raw.rfind("#", 0) == 0;
    if (!head) {
      c.text += raw + "\n";
      continue;
    }
    Line line(std::string_view(raw).substr(1));
    if (line.accept("in ")) {
      c.inputs.push_back(read_input(line));
    } else if (line.accept("out ")) {
      const CaseOperand out = read_output(line);
      CaseOperand &known = output_named(c, out.name);
      const bool wanted = known.wanted;
      known = out;
      known.wanted = wanted;
    } else if (line.accept("null ")) {
      for (const std::string &name : names_in(line)) output_named(c, name).wanted = false;
    } else if (line.accept("threads ")) {
      c.threads.clear();
      while (!line.at_end()) c.threads.push_back(int(line.number()));
    } else if (line.accept("caches ")) {
      c.caches = line.rest();
    } else if (line.accept("blocks ")) {
      c.blocks = line.rest();
    } else if (line.accept("gradient ")) {
      c.gradient = names_in(line);
    } else {
      c.story += (c.story.empty() ? "" : "\n") + line.rest();
    }
  }
  return c;
}

Operand make_input(const CaseOperand &in) {
  Operand operand(in.dtype, in.layout, in.at_end, false);
  Random random(in.seed);
  switch (in.data) {
  case Data::Exact: operand.fill(random, true); break;
  case Data::General: operand.fill(random, false); break;
  case Data::Smooth: operand.fill_smooth(random); break;
  case Data::Source:
    operand.fill_from(
        cli::read_source(cli::parse_source(in.source, in.name), {in.name, in.dtype, {}}));
    break;
  }
  return operand;
}

} // namespace broadloom::differential
