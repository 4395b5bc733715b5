// See shrink.hpp. Cases are texts, and so are their parts: a candidate that does not parse is none.
#include "shrink.hpp"

#include "spec/spec.hpp"

#include <algorithm>
#include <set>
#include <sstream>

namespace broadloom::differential {
namespace {

std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines) text += line + "\n";
  return text;
}

// Where the parenthesis at `open` is closed.
std::size_t closing(const std::string &line, std::size_t open) {
  int depth = 0;
  for (std::size_t k = open; k < line.size(); ++k) {
    depth += line[k] == '(' || line[k] == '[';
    depth -= line[k] == ')' || line[k] == ']';
    if (depth == 0) return k;
  }
  return std::string::npos;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// "f(a, (b + c))" -> "a" and "(b + c)"; "(b + c)" -> "b" and "c".
std::vector<std::string> parts_of(const std::string &inside) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : inside) {
    depth += c == '(' || c == '[';
    depth -= c == ')' || c == ']';
    if (depth == 0 && (c == ',' || c == ' ')) {
      if (!parts.back().empty()) parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

void drop_calls(const Case &c, std::vector<Case> &found) {
  const std::vector<std::string> lines = lines_of(c.text);
  for (std::size_t l = 0; l < lines.size(); ++l) {
    const std::string &line = lines[l];
    if (line.find(" = ") == std::string::npos && line.find(" += ") == std::string::npos) continue;
    if (line.rfind("  out", 0) != 0 && line.rfind("  let", 0) != 0) continue;
    for (std::size_t open = line.find('('); open != std::string::npos;
         open = line.find('(', open + 1)) {
      const std::size_t close = closing(line, open);
      if (close == std::string::npos) continue;
      std::size_t start = open;
      while (start > 0 && is_word(line[start - 1])) --start;
      for (const std::string &part : parts_of(line.substr(open + 1, close - open - 1))) {
        if (part.empty() || part.size() == 1) {
          if (part.empty() || !is_word(part[0])) continue;
        }
        std::vector<std::string> changed = lines;
        changed[l] = line.substr(0, start) + part + line.substr(close + 1);
        found.push_back(c);
        found.back().text = joined(changed);
      }
    }
  }
}

void drop_lines(const Case &c, std::vector<Case> &found) {
  const std::vector<std::string> lines = lines_of(c.text);
  for (std::size_t l = lines.size(); l-- > 0;) {
    std::istringstream words(lines[l]);
    std::string word, name;
    words >> word >> name;
    name = name.substr(0, name.find_first_of("[:"));
    if (word != "out" && word != "let" && word != "in" && word != "param" && word != "state" &&
        word != "update" && word != "fuse" && word != "separate" && word != "def" &&
        word != "stretch" && word != "order" && word != "accumulator" && word != "combine" &&
        word != "schedule")
      continue;
    std::vector<std::string> changed = lines;
    changed.erase(changed.begin() + std::ptrdiff_t(l));
    if (word == "accumulator" && l + 1 < lines.size() && lines[l + 1].rfind("  combine", 0) == 0)
      changed.erase(changed.begin() + std::ptrdiff_t(l));
    if (word == "combine") continue;
    Case smaller = c;
    smaller.text = joined(changed);
    const auto named = [&](const CaseOperand &operand) { return operand.name == name; };
    if (word == "out" || word == "update") std::erase_if(smaller.outputs, named);
    if (word == "in" || word == "param" || word == "state") std::erase_if(smaller.inputs, named);
    found.push_back(std::move(smaller));
  }
}

// "schedule { vector 0; stream y }" and "schedule h { vector 0; stream h }" without one of their
// clauses.
void drop_clauses(const Case &c, std::vector<Case> &found) {
  for (std::size_t begin = c.text.find("\n  schedule "); begin != std::string::npos;
       begin = c.text.find("\n  schedule ", begin + 1)) {
    const std::size_t open = c.text.find("{ ", begin), close = c.text.find(" }", begin);
    if (open == std::string::npos || close == std::string::npos) return;
    for (std::size_t at = c.text.find("; ", open); at < close; at = c.text.find("; ", at + 1)) {
      const std::size_t next = std::min(c.text.find("; ", at + 1), close);
      const std::size_t first = open + 2;
      found.push_back(c);
      found.back().text.erase(at, next - at); // the clause behind it
      found.push_back(c);
      found.back().text.erase(first, c.text.find("; ", first) + 2 - first); // the first one
    }
  }
}

// The same order and signs of strides without gaps.
void pack(Layout &layout) {
  std::vector<int> order;
  for (int d = 0; d < layout.rank; ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return std::abs(layout.strides[std::size_t(a)]) < std::abs(layout.strides[std::size_t(b)]);
  });
  std::int64_t stride = 1;
  for (const int d : order) {
    std::int64_t &own = layout.strides[std::size_t(d)];
    if (own == 0) continue;
    own = own < 0 ? -stride : stride;
    stride *= std::max<std::int64_t>(layout.extents[std::size_t(d)], 1);
  }
}

void make_plain(const Case &c, std::vector<Case> &found) {
  for (const bool inputs : {true, false}) {
    const std::size_t count = (inputs ? c.inputs : c.outputs).size();
    for (std::size_t k = 0; k < count; ++k) {
      Case plain = c;
      CaseOperand &operand = (inputs ? plain.inputs : plain.outputs)[k];
      if (operand.data == Data::Source && inputs) continue;
      operand.layout = contiguous_layout(operand.layout.shape());
      operand.at_end = true;
      operand.wanted = true;
      if (print(plain) != print(c)) found.push_back(plain);
      plain = c;
      CaseOperand &packed = (inputs ? plain.inputs : plain.outputs)[k];
      pack(packed.layout);
      if (print(plain) != print(c)) found.push_back(plain);
    }
  }
  if (!c.caches.empty()) {
    found.push_back(c);
    found.back().caches.clear();
  }
  if (!c.blocks.empty()) {
    found.push_back(c);
    found.back().blocks.clear();
  }
  for (const int threads : c.threads)
    if (c.threads.size() > 1 || threads > 1) {
      found.push_back(c);
      found.back().threads = {c.threads.size() > 1 ? threads : 1};
    }
}

void make_shorter(const Case &c, std::vector<Case> &found) {
  std::set<std::int64_t, std::greater<>> extents;
  for (const CaseOperand &in : c.inputs)
    for (const std::int64_t n : in.layout.shape()) extents.insert(n);
  for (const std::int64_t n : extents)
    for (const std::int64_t less : {n / 16, n / 4, n / 2, n - n / 4, n - 16, n - 1}) {
      if (less < 1 || less >= n) continue;
      Case shorter = c;
      for (CaseOperand &in : shorter.inputs) {
        if (in.data == Data::Source) continue;
        for (int d = 0; d < in.layout.rank; ++d)
          if (in.layout.extents[std::size_t(d)] == n) in.layout.extents[std::size_t(d)] = less;
        pack(in.layout);
      }
      for (CaseOperand &out : shorter.outputs)
        for (int d = 0; d < out.layout.rank; ++d)
          if (out.layout.extents[std::size_t(d)] == n) out.layout.extents[std::size_t(d)] = less;
      for (CaseOperand &out : shorter.outputs) pack(out.layout);
      std::string &text = shorter.text; // a declared extent
      for (std::size_t at = 0; (at = text.find(std::to_string(n), at)) != std::string::npos; ++at)
        if (at > 0 && (text[at - 1] == '[' || text[at - 1] == ' ' || text[at - 1] == '=') &&
            !is_word(text[at + std::to_string(n).size()]))
          text.replace(at, std::to_string(n).size(), std::to_string(less));
      found.push_back(std::move(shorter));
    }
}

// Whether the case is still one: its text has no mistake, and every output that it speaks of is
// there.
bool is_sound(Case &c, const Case &from) {
  try {
    if (c.text != from.text) {
      c.bound_text.clear();
      for (CaseOperand &out : c.outputs)
        if (out.agreement != Agreement::None) out.agreement = Agreement::Loose;
    }
    complete_outputs(c);
    return !c.outputs.empty();
  } catch (const std::exception &) {
    return false;
  }
}

} // namespace

Case shrink(Case failing, const Verdict &verdict, int most) {
  const std::optional<std::string> why = verdict(failing);
  if (!why) return failing;
  for (bool smaller = true; smaller && most > 0;) {
    smaller = false;
    for (const auto way : {drop_lines, drop_clauses, drop_calls, make_shorter, make_plain}) {
      std::vector<Case> candidates;
      way(failing, candidates);
      for (Case &candidate : candidates) {
        if (most <= 0) break;
        if (!is_sound(candidate, failing)) continue;
        --most;
        if (verdict(candidate) != why) continue;
        failing = std::move(candidate);
        smaller = true;
        break;
      }
    }
  }
  return failing;
}

} // namespace broadloom::differential
