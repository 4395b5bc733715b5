// From the words of the command line to kernels and arrays.
#include "tools/broadloom/cli/workspace.hpp"

#include "array/layout.hpp"
#include "spec/spec.hpp"
#include "support/text.hpp"
#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/data/files.hpp"
#include "tools/broadloom/data/paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

namespace broadloom::cli {

namespace {

struct Assignment {
  std::string name, value;
};

Assignment split(const std::string &option, const std::string &text, const char *form) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) {
    throw UsageError("E0401", fmt::format("{} '{}' lacks a name or a value", option, text),
                     fmt::format("write {} {}", option, form));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// The position of `name` among inputs or outputs; throws where it is none or was taken before.
template <class Entry>
std::size_t find_entry(const std::vector<Entry> &entries, const std::string &name,
                       std::vector<bool> &taken, const char *kind, const char *code) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry &entry) { return entry.name == name; });
  if (found == entries.end()) {
    std::vector<std::string> names;
    for (const Entry &entry : entries) names.push_back(entry.name);
    throw UsageError(code, fmt::format("the kernel has no {} '{}'", kind, name),
                     names.empty()
                         ? fmt::format("it has no {}s", kind)
                         : fmt::format("its {}s are {}", kind, support::quoted_list(names)));
  }
  const std::size_t index = std::size_t(found - entries.begin());
  if (taken[index]) {
    throw UsageError(code, fmt::format("{} '{}' is given twice", kind, name),
                     "leave one of them out");
  }
  taken[index] = true;
  return index;
}

// `z=z.npy,s=s.npy` would be one file of that name.
void refuse_several(const std::string &option, const std::string &text, std::string_view path,
                    const char *code) {
  for (std::size_t comma = path.find(','); comma != path.npos; comma = path.find(',', comma + 1)) {
    const std::string_view rest = path.substr(comma + 1);
    const std::size_t equals = rest.find('=');
    if (equals == rest.npos || !support::is_identifier(rest.substr(0, equals))) continue;
    throw UsageError(code,
                     fmt::format("'{}' names several files, and commas do not part them", text),
                     fmt::format("say each by itself: {0} x=x.npy {0} y=y.npy", option));
  }
}

} // namespace

std::string read_text_file(const std::string &path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw UsageError("E0402", fmt::format("'{}' is a folder", path), "name a .loom file");
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) {
    throw UsageError(
        "E0402", fmt::format("cannot read '{}': {}", path, std::generic_category().message(errno)),
        "check the path, or write the text itself with -e TEXT");
  }
  return text;
}

Text read_text(const TextOptions &options, const Streams &streams) {
  if (options.file.empty()) return {options.text, "<text>"};
  if (options.file == "-")
    return {std::string{std::istreambuf_iterator<char>(streams.in), {}}, "<stdin>"};
  return {read_text_file(options.file), options.file};
}

std::vector<LoopSpec> read_kernels(const TextOptions &options, const Streams &streams) {
  const Text text = read_text(options, streams);
  std::vector<LoopSpec> kernels = parse_all(text.text, text.name);
  if (kernels.empty())
    throw SpecError("E0010", "the text has no kernel", {}, "write kernel NAME { .. }");
  return kernels;
}

const LoopSpec &choose_kernel(const std::vector<LoopSpec> &kernels, const std::string &name) {
  if (name.empty() && kernels.size() == 1) return kernels[0];
  std::vector<std::string> names;
  for (const LoopSpec &kernel : kernels) {
    if (kernel.data().name == name) return kernel;
    names.push_back(kernel.data().name);
  }
  const std::string known = "the kernels are " + support::quoted_list(names);
  if (name.empty()) {
    throw UsageError("E0406", fmt::format("the text has {} kernels", kernels.size()),
                     "choose one with --kernel; " + known);
  }
  throw UsageError("E0406", fmt::format("the text has no kernel '{}'", name), known);
}

LoopSpec read_kernel(const TextOptions &options, const Streams &streams) {
  return choose_kernel(read_kernels(options, streams), options.kernel);
}

std::vector<Source> match_inputs(const std::string &kernel, const std::vector<InputInfo> &infos,
                                 const std::vector<std::string> &given, bool standard_input_taken) {
  std::vector<Source> sources(infos.size());
  std::vector<bool> taken(infos.size());
  for (const std::string &text : given) {
    const Assignment in = split("--in", text, "NAME=SOURCE");
    const std::size_t index = find_entry(infos, in.name, taken, "input", "E0404");
    sources[index] = parse_source(in.value, in.name);
    const auto *file = std::get_if<FileSource>(&sources[index].base);
    if (file != nullptr) refuse_several("--in", text, file->path, "E0404");
    if (file != nullptr && file->path == "-" && std::exchange(standard_input_taken, true))
      throw UsageError("E0404",
                       fmt::format("standard input is taken when '{}' is to be read", in.name),
                       "one thing only can be read from it: the text, or one input");
  }
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (taken[i]) continue;
    const InputInfo &input = infos[i];
    std::string example = "1";
    if (const int rank = input.rank(); rank > 0) {
      example = "'rand(3";
      for (int d = 1; d < rank; ++d) example += fmt::format(", {}", d + 3);
      example += ")'";
    }
    throw UsageError(
        "E0404", fmt::format("input '{}' of kernel '{}' is not given", input.name, kernel),
        fmt::format("add --in {}=SOURCE, for example --in {}={}", input.name, input.name, example));
  }
  return sources;
}

std::vector<Array> read_inputs(const std::vector<InputInfo> &infos,
                               const std::vector<Source> &sources, std::istream *in) {
  std::vector<Array> inputs;
  for (std::size_t i = 0; i < sources.size(); ++i)
    inputs.push_back(
        read_source(sources[i], {infos[i].name, infos[i].dtype, infos[i].where, nullptr, in}));
  return inputs;
}

std::vector<NamedView> named_views(const std::vector<InputInfo> &infos,
                                   const std::vector<Array> &inputs) {
  std::vector<NamedView> views;
  for (std::size_t i = 0; i < inputs.size(); ++i) views.push_back({infos[i].name, inputs[i]});
  return views;
}

std::vector<Destination> match_outputs(const std::vector<OutputInfo> &infos,
                                       const std::vector<std::string> &given) {
  std::vector<std::optional<std::string>> paths(infos.size());
  std::vector<bool> taken(infos.size());
  std::map<std::filesystem::path, std::string> files; // as they were spelt first
  for (const std::string &text : given) {
    const Assignment out = split("--out", text, "NAME=PATH");
    const std::string path = with_home(out.value);
    std::optional<std::string> &taker =
        paths[find_entry(infos, out.name, taken, "output", "E0405")];
    taker = path;
    refuse_several("--out", text, out.value, "E0405");
    if (!is_written(path))
      throw UsageError(
          "E0405", fmt::format("--out {}: '{}' is no {} path", out.name, out.value, written_kinds),
          "the ending says how an output is written; .png takes pictures of u8");
    std::error_code error;
    const std::filesystem::path file =
        std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
    const auto [first, is_new] = files.emplace(file, path);
    if (!is_new && !is_archive(path))
      throw UsageError("E0405", fmt::format("two outputs would be written to '{}'", out.value),
                       "give each output a file of its own, or write them to one .npz file");
    taker = first->second; // an archive is one, however it is spelt
  }
  std::vector<Destination> destinations;
  for (std::size_t i = 0; i < paths.size(); ++i)
    if (given.empty() || paths[i]) destinations.push_back({i, paths[i], true});
  return destinations;
}

Array make_output(const OutputInfo &output, const Destination &destination,
                  const Signature &signature) {
  std::error_code error;
  if (output.add && destination.path && std::filesystem::exists(*destination.path, error)) {
    const Array start = read_written(*destination.path, output.name, signature.dtype);
    if (start.dtype() != signature.dtype) {
      throw DTypeError("E0203",
                       fmt::format("'{}' holds {}, and output '{}' is {}", *destination.path,
                                   name(start.dtype()), output.name, name(signature.dtype)),
                       output.where, "`+=` adds to the file; remove it to start from zeros");
    }
    if (!std::ranges::equal(start.shape(), signature.shape)) {
      throw ShapeError("E0120",
                       fmt::format("'{}' has shape {}, and output '{}' has {}", *destination.path,
                                   array::shape_text(start.shape()), output.name,
                                   array::shape_text(signature.shape)),
                       output.where, "`+=` adds to the file; remove it to start from zeros");
    }
    return start;
  }
  const Array memory(signature.dtype, signature.shape);
  return {std::make_shared<Array>(memory), signature.dtype, memory.raw(),
          strided_layout(signature.shape, signature.strides)};
}

} // namespace broadloom::cli
