// Every program of tests/nests: native code against the interpreter, byte for byte, and both
// against the elements that the file says. blocks_test.cpp has what is about their blocks.
#include "tests/places.hpp"
#include "tests/unit/nests.hpp"

#include "jit/engine/engine.hpp"
#include "tests/golden/golden_files.hpp"
#include "tests/unit/native_runs.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <sstream>

namespace broadloom::loop::test {

namespace {

std::string trimmed(const std::string &text) {
  const std::size_t from = text.find_first_not_of(' ');
  if (from == text.npos) return {};
  return text.substr(from, text.find_last_not_of(' ') + 1 - from);
}

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(trimmed(part));
  return parts;
}

// "key=value"
std::pair<std::string, std::string> assignment(const std::string &text) {
  const std::size_t at = text.find('=');
  REQUIRE_MESSAGE(at != text.npos, "not KEY=VALUE: ", text);
  return {trimmed(text.substr(0, at)), trimmed(text.substr(at + 1))};
}

std::string replaced(std::string text, const std::string &choices) {
  for (const std::string &choice : split(choices, ';')) {
    const auto [key, value] = assignment(choice);
    const std::string mark = "{" + key + "}";
    for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + value.size()))
      text.replace(at, mark.size(), value);
  }
  return text;
}

Extents extents(const std::string &text) {
  Extents result;
  const std::vector<std::string> parts = split(text, '/');
  if (parts.size() > 1) result.chunk = std::stoll(parts[1]);
  for (const std::string &part : split(parts[0], ',')) {
    const std::int64_t first = std::stoll(part);
    const std::size_t dots = part.find("..");
    const std::int64_t last = dots == part.npos ? first : std::stoll(part.substr(dots + 2));
    for (std::int64_t n = first; n <= last; ++n) result.values.push_back(n);
  }
  return result;
}

Agreement agreement(const std::string &text) {
  Agreement result;
  for (const std::string &word : split(text, ' ')) {
    if (word.empty()) continue;
    if (word == "all") {
      result.all = true;
      continue;
    }
    const auto [key, value] = assignment(word);
    if (key == "spread")
      result.spread = std::stoi(value);
    else
      result.axes[key] = extents(value);
  }
  return result;
}

Run run_of(const std::string &text) {
  Run result;
  const std::vector<std::string> parts = split(text, ';');
  for (const std::string &word : split(parts.at(0), ' ')) {
    const auto [key, value] = assignment(word);
    result.extents[key] = std::stoll(value);
  }
  for (std::size_t k = 1; k < parts.size(); ++k) {
    const auto [key, value] = assignment(parts[k]);
    std::istringstream words(value);
    std::vector<double> &elements = result.elements[key];
    for (double x; words >> x;) elements.push_back(x);
  }
  return result;
}

// One run for these extents, or one for each combination of what may differ.
void agree(Runs &runs, bool all) {
  const std::int64_t n = std::accumulate(runs.extents.begin(), runs.extents.end(), std::int64_t(0));
  runs.special = n % 3 != 0;
  for (int kind = 0; kind < (all ? 8 : 1); ++kind) {
    runs.parts = all ? bool(kind & 1) : n % 2 == 0;
    runs.at_end = all ? bool(kind & 2) : n % 2 == 0;
    runs.reversed = all ? bool(kind & 4) : n / 2 % 3 == 0;
    runs.agree();
  }
}

} // namespace

void agree(Runs &runs, const Program &program, const Agreement &agreement, bool all) {
  const std::size_t axes = program.axes.size();
  std::vector<const Extents *> tried(axes, nullptr);
  runs.chunks.assign(axes, 0);
  std::size_t combinations = 1;
  for (std::size_t a = 0; a < axes; ++a) {
    if (program.axes[a].chunks_of) continue;
    tried[a] = &agreement.axes.at(program.axes[a].name);
    runs.chunks[a] = tried[a]->chunk;
    combinations *= tried[a]->values.size();
  }
  runs.spread = agreement.spread;
  for (std::size_t k = 0; k < combinations; ++k) {
    runs.extents.assign(axes, 0);
    std::size_t rest = k;
    for (std::size_t a = 0; a < axes; ++a) {
      if (tried[a] == nullptr) continue;
      runs.extents[a] = tried[a]->values[rest % tried[a]->values.size()];
      rest /= tried[a]->values.size();
    }
    for (std::size_t a = 0; a < axes; ++a) {
      if (tried[a] != nullptr) continue;
      const std::uint32_t of = program.axes[a].chunks_of->index;
      if (const std::int64_t chunk = runs.chunks[of]; chunk > 0)
        runs.extents[a] = (runs.extents[of] + chunk - 1) / chunk;
    }
    agree(runs, all);
  }
}

namespace {

// Runs once on the elements that are given, packed in the order of the walks, and gives those of
// each buffer.
std::vector<std::vector<double>> run_once(const Program &p, const jit::Code *code, const Run &run) {
  std::vector<std::int64_t> extents, chunks(p.axes.size(), 0);
  for (const Axis &axis : p.axes) extents.push_back(axis.chunks_of ? 0 : run.extents.at(axis.name));
  std::vector<std::int64_t> strides(p.buffers.size() * p.axes.size(), 0);
  std::vector<std::vector<char>> memory;
  std::vector<char *> bases;
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    const Buffer &buffer = p.buffers[b];
    std::int64_t count = 1;
    for (std::size_t w = buffer.walks.size(); w-- > 0;) {
      strides[b * p.axes.size() + buffer.walks[w].axis.index] = count;
      count *= extents[buffer.walks[w].axis.index];
    }
    const std::size_t size = size_of(buffer.dtype);
    memory.emplace_back(std::size_t(count) * size);
    if (buffer.role == Role::Input) {
      const std::vector<double> &given = run.elements.at(buffer.name);
      REQUIRE(std::int64_t(given.size()) == count);
      for (std::size_t k = 0; k < given.size(); ++k)
        ops::store(memory[b].data() + k * size, buffer.dtype,
                   ops::convert(ops::scalar_from(given[k]), DType::F64, buffer.dtype));
    }
    bases.push_back(memory[b].data());
  }
  const Frame frame{1, extents.data(), chunks.data(), strides.data(), bases.data()};
  for (std::size_t k = 0; k < p.phases.size(); ++k) {
    std::vector<std::int64_t> lo, hi;
    for (const AxisId axis : p.phases[k].parallel)
      lo.push_back(0), hi.push_back(extents[axis.index]);
    if (code != nullptr)
      code->phases()[k](&frame, lo.data(), hi.data());
    else
      interpret(p, k, frame, lo.data(), hi.data());
  }
  std::vector<std::vector<double>> found(p.buffers.size());
  for (std::size_t b = 0; b < p.buffers.size(); ++b)
    for (std::size_t at = 0; at < memory[b].size(); at += size_of(p.buffers[b].dtype))
      found[b].push_back(ops::as_f64(ops::convert(
          ops::load(memory[b].data() + at, p.buffers[b].dtype), p.buffers[b].dtype, DType::F64)));
  return found;
}

constexpr std::string_view blocks_mark = "#@ blocks ";

// "given T=f32; how=", "refused E0802 a rest that is not masked; T=f32"
Listing listing_of(const std::string &text) {
  Listing listing;
  const std::size_t end = text.find(' ');
  const std::string use = text.substr(0, end);
  REQUIRE_MESSAGE((use == "expected" || use == "given" || use == "refused"),
                  "neither expected nor given nor refused: ", text);
  listing.use = use == "expected" ? Listing::Use::Expected
                : use == "given"  ? Listing::Use::Given
                                  : Listing::Use::Refused;
  if (end == text.npos) return listing;
  for (const std::string &part : split(text.substr(end + 1), ';')) {
    if (part.empty()) continue;
    if (part.find('=') != part.npos) {
      listing.choices.push_back(part);
      continue;
    }
    listing.code = part.substr(0, part.find(' '));
    listing.rule = part.substr(part.find(' ') + 1);
  }
  return listing;
}

std::vector<Listing> listings_in(const std::string &text) {
  std::vector<Listing> listings;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    if (line.starts_with(blocks_mark)) {
      listings.push_back(listing_of(line.substr(blocks_mark.size())));
      listings.back().text = std::string(std::size_t(number) + 1, '\n');
      listings.back().first = number + 1;
    } else if (!listings.empty()) {
      listings.back().text += line + "\n";
    }
    if (!listings.empty()) listings.back().end = number + 1;
  }
  return listings;
}

} // namespace

std::string text_of_nests(const std::string &name) {
  return golden::read(std::filesystem::path(BROADLOOM_SOURCE_DIR) / "tests" / "nests" / name);
}

std::vector<std::string> nest_names() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(BROADLOOM_SOURCE_DIR "/tests/nests"))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool Listing::is_of(const Nest &nest) const {
  const std::vector<std::string> chosen = split(nest.choices, ';');
  return std::ranges::all_of(choices, [&](const std::string &choice) {
    return std::ranges::find(chosen, choice) != chosen.end();
  });
}

Program nest(const std::string &name, const std::string &choices) {
  if (choices.empty()) return read_nests(name).nests[0].program;
  const std::string text = text_of_nests(name);
  return parse(replaced(text.substr(0, text.find(blocks_mark)), choices), name);
}

NestFile read_nests(const std::string &name) {
  const std::string whole = text_of_nests(name), text = whole.substr(0, whole.find(blocks_mark));
  NestFile file;
  file.name = name;
  file.listings = listings_in(whole);
  std::vector<std::string> choices{""};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("#@ with ", 0) == 0) {
      std::vector<std::string> more;
      for (const std::string &choice : split(line.substr(8), '|'))
        for (const std::string &before : choices)
          more.push_back(before.empty() ? choice : before + "; " + choice);
      choices = std::move(more);
    } else if (line.rfind("#@ agree ", 0) == 0) {
      file.agreements.push_back(agreement(line.substr(9)));
    } else if (line.rfind("#@ run ", 0) == 0) {
      file.runs.push_back(run_of(line.substr(7)));
    } else {
      REQUIRE_MESSAGE(line.rfind("#@", 0) != 0, "neither with nor agree nor run: ", line);
    }
  }
  for (const std::string &choice : choices)
    file.nests.push_back({choice, parse(replaced(text, choice), name)});
  return file;
}

TEST_CASE("every nest of tests/nests has the same bytes in native code and the interpreter") {
  REQUIRE(nest_names().size() > 10);
  for (const std::string &name : nest_names()) {
    SUBCASE(name.c_str()) {
      const NestFile file = read_nests(name);
      for (const Nest &nest : file.nests) {
        INFO(name, " with ", nest.choices);
        const std::string text = write(nest.program);
        CHECK(write(parse(text)) == text);
        for (const std::string &target : jit::targets_here()) {
          if (!file.agreements.empty()) {
            Runs runs = jit::test::native_runs(nest.program, target);
            for (const Agreement &agreement : file.agreements)
              agree(runs, nest.program, agreement, agreement.all);
          }
          const auto code = jit::compile_native(nest.program, jit::find_target(target));
          for (const Run &run : file.runs) {
            for (const jit::Code *engine : {static_cast<const jit::Code *>(nullptr), code.get()}) {
              const auto found = run_once(nest.program, engine, run);
              for (std::size_t b = 0; b < found.size(); ++b)
                if (nest.program.buffers[b].role == Role::Output)
                  CHECK(found[b] == run.elements.at(nest.program.buffers[b].name));
            }
          }
        }
      }
    }
  }
}

} // namespace broadloom::loop::test
