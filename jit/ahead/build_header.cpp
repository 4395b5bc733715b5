// The C header of a kernel that was built: see build.hpp.
#include "jit/ahead/build.hpp"
#include "support/text.hpp"

#include <broadloom.h>
#include <broadloom/version.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace broadloom::jit {
namespace {

// The elements in C; both parts of a complex number one behind the other, and the bits of an f16.
const char *c_type(DType dtype) {
  switch (dtype) {
  case DType::Bool:
  case DType::U8: return "uint8_t";
  case DType::I8: return "int8_t";
  case DType::I16: return "int16_t";
  case DType::I32: return "int32_t";
  case DType::I64: return "int64_t";
  case DType::U16:
  case DType::F16:
  case DType::BF16: return "uint16_t";
  case DType::U32: return "uint32_t";
  case DType::U64: return "uint64_t";
  case DType::F32:
  case DType::C64: return "float";
  case DType::F64:
  case DType::C128: return "double";
  }
  return "void";
}

std::string upper(std::string text) {
  for (char &c : text) c = char(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

struct Operand {
  std::string name, type; // in C: "x", "softmax_x"
  DType dtype;
  std::vector<std::string> axes;
  bool is_output = false;
  std::string about; // "x : f32[i, j]"
  std::size_t rank() const { return axes.size(); }
};

class Writer {
public:
  Writer(const BuiltKernel &built, const Kernel &kernel)
      : built_(built), text_(print(kernel.spec())) {
    for (const char *own :
         {"built", "handle", "kernel", "prepare", "infer", "run", "run_in", "workspace"})
      taken_.insert(own);
    for (const InputInfo &input : kernel.inputs()) add(input.name, input.dtype, input.axes, false);
    for (const OutputInfo &output : kernel.outputs())
      add(output.name, output.dtype, output.axes, true);
  }

  std::string write() {
    const std::string guard = "BROADLOOM_BUILT_" + upper(built_.name) + "_H";
    line("/* {}: a kernel that Broadloom " BROADLOOM_VERSION
         " has built ahead of time. Made by a program.",
         built_.name);
    line(" *");
    std::string_view rest = text_;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      line(" *   {}", comment(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    line(" *");
    line(" * {}.o has code for {}. Link it with -lbroadloom.", built_.name,
         fmt::join(built_.targets, " and "));
    line(" * Each function returns a status, and where that is not BL_OK, bl_latest_error() tells "
         "why. */");
    line("#ifndef {}\n#define {}\n\n#include <broadloom.h>\n", guard, guard);
    line("#if BL_ABI_VERSION != {}", BL_ABI_VERSION);
    line("#error \"{} was built for version {} of broadloom.h: build it again\"\n#endif\n",
         built_.name, BL_ABI_VERSION);
    line("#ifdef __cplusplus\nextern \"C\" {{\n#endif");
    line("extern const unsigned char {}_built[{}];", built_.name, built_.data.size());
    line("extern bl_kernel *{}_handle;", built_.name);
    line("#ifdef __cplusplus\n}}\n#endif\n");
    line("/* The kernel itself, for bl_show, bl_bind, bl_gradient and so on: one for all threads, "
         "made by");
    line(" * the first call. After bl_free_kernel the next call makes it anew. */");
    line("static inline bl_status {}_kernel(bl_kernel **kernel) {{", built_.name);
    line("  return bl_load_once({}_built, sizeof {}_built, &{}_handle, kernel);\n}}", built_.name,
         built_.name, built_.name);
    for (const Operand &operand : operands_) write_operand(operand);
    write_prepare();
    write_infer();
    write_run("run", "Computes the outputs.", "", "");
    write_run("workspace",
              "The bytes that such a call takes for its time, beside its arrays, whose data may be "
              "NULL but\n * for that of outputs that are wanted.",
              "size_t *bytes", "bytes");
    write_run(
        "run_in",
        "Computes the outputs with no other memory than these bytes. BL_DATA_ERROR E0323 where "
        "they are\n * too few, and then nothing is written.",
        "void *arena, size_t arena_bytes", "arena, arena_bytes");
    line("\n#endif");
    return std::move(out_);
  }

private:
  template <class... Args> void line(fmt::format_string<Args...> format, Args &&...args) {
    out_ += fmt::format(format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  static std::string comment(std::string_view text) { // which no text ends
    std::string result;
    for (const char c : text) {
      if (c == '/' && result.ends_with('*')) result += ' ';
      result += c;
      if (result.ends_with("/*")) result.insert(result.size() - 1, " ");
    }
    return result;
  }

  void add(const std::string &name, DType dtype, const std::vector<std::string> &axes,
           bool is_output) {
    static constexpr const char *words[] = {
        "alignas",  "alignof",    "and",       "asm",      "auto",      "bitand",    "bitor",
        "bool",     "break",      "case",      "catch",    "char",      "class",     "compl",
        "concept",  "const",      "constexpr", "continue", "decltype",  "default",   "delete",
        "do",       "double",     "else",      "enum",     "explicit",  "export",    "extern",
        "false",    "float",      "for",       "friend",   "goto",      "if",        "inline",
        "int",      "linux",      "long",      "mutable",  "namespace", "new",       "noexcept",
        "not",      "nullptr",    "operator",  "or",       "private",   "protected", "public",
        "register", "requires",   "restrict",  "return",   "short",     "signed",    "sizeof",
        "static",   "struct",     "switch",    "template", "this",      "throw",     "true",
        "try",      "typedef",    "typeid",    "typename", "typeof",    "union",     "unix",
        "unsigned", "using",      "virtual",   "void",     "volatile",  "while",     "xor",
        "inputs",   "outputs",    "status",    "shapes",   "view",      "I",         "arena",
        "bytes",    "arena_bytes"};
    std::string free = name;
    if (!named_.insert(name).second) free += "_out"; // what a state becomes
    while (taken_.contains(free) || taken_.contains(free + "_of") ||
           std::ranges::find(words, std::string_view(free)) != std::end(words) ||
           free.starts_with("_"))
      free = free.starts_with("_") ? "v" + free : free + "_";
    taken_.insert(free);
    taken_.insert(free + "_of");
    std::string about = fmt::format("{} : {}", name, broadloom::name(dtype));
    if (!axes.empty()) about += fmt::format("[{}]", fmt::join(axes, ", "));
    operands_.push_back({free, built_.name + "_" + free, dtype, axes, is_output, about});
  }

  void write_operand(const Operand &operand) {
    const std::string constant = operand.is_output ? "" : "const ";
    const bool is_complex = operand.dtype == DType::C64 || operand.dtype == DType::C128;
    const bool is_half = operand.dtype == DType::F16 || operand.dtype == DType::BF16;
    line("\n/* {} {}{} */", operand.is_output ? "Output" : "Input", operand.about,
         is_complex ? ", two numbers for each element"
         : is_half  ? ", the bits of each element"
                    : "");
    line("typedef struct {} {{", operand.type);
    line("  {}{} *data;{}", constant, c_type(operand.dtype),
         operand.is_output ? " /* NULL: it is not computed */" : "");
    const std::size_t rank = operand.rank();
    if (rank > 0) {
      line("  int64_t extents[{}]; /* {} */", rank, fmt::join(operand.axes, ", "));
      line("  int64_t strides[{}]; /* in elements, of any sign */", rank);
    }
    line("}} {};", operand.type);
    std::vector<std::string> parameters, extents, strides;
    for (std::size_t d = 0; d < rank; ++d) {
      parameters.push_back(fmt::format(", int64_t n{}", d));
      extents.push_back(fmt::format("n{}", d));
    }
    for (std::size_t d = 0; d < rank; ++d)
      strides.push_back(d + 1 == rank
                            ? "1"
                            : fmt::format("{}", fmt::join(extents.begin() + std::ptrdiff_t(d) + 1,
                                                          extents.end(), " * ")));
    line("static inline {} {}_of({}{} *data{}) {{{}", operand.type, operand.type, constant,
         c_type(operand.dtype), fmt::join(parameters, ""), rank > 0 ? " /* in C order */" : "");
    line("  {} view;", operand.type);
    line("  view.data = data;");
    for (std::size_t d = 0; d < rank; ++d)
      line("  view.extents[{}] = n{}, view.strides[{}] = {};", d, d, d, strides[d]);
    line("  return view;\n}}");
  }

  // "softmax_x x, softmax_y y"
  std::string parameters(bool with_outputs) const {
    std::vector<std::string> list;
    for (const Operand &operand : operands_)
      if (with_outputs || !operand.is_output) list.push_back(operand.type + " " + operand.name);
    return fmt::format("{}", fmt::join(list, ", "));
  }

  std::size_t count(bool of_outputs) const {
    return std::size_t(std::ranges::count(operands_, of_outputs, &Operand::is_output));
  }

  // The beginning of a function: the views of inputs or outputs, by name.
  void write_views(bool of_outputs) {
    if (count(of_outputs) == 0) return;
    line("  bl_view {}[{}];", of_outputs ? "outputs" : "inputs", count(of_outputs));
  }

  void fill_views(bool of_outputs) {
    std::size_t k = 0;
    for (const Operand &operand : operands_) {
      if (operand.is_output != of_outputs) continue;
      const std::string view = fmt::format("{}[{}]", of_outputs ? "outputs" : "inputs", k++);
      line("  {}.dtype = BL_{}, {}.rank = {}, {}.data = {}{}.data;", view,
           upper(std::string(broadloom::name(operand.dtype))), view, operand.rank(), view,
           of_outputs ? "" : "(void *)", operand.name);
      if (operand.rank() > 0)
        line("  {}.extents = {}.extents, {}.strides = {}.strides;", view, operand.name, view,
             operand.name);
      else
        line("  {}.extents = NULL, {}.strides = NULL;", view, view);
    }
  }

  std::string passed(bool of_outputs) const {
    const std::size_t n = count(of_outputs);
    return n == 0 ? "NULL, 0" : fmt::format("{}, {}", of_outputs ? "outputs" : "inputs", n);
  }

  void begin(const std::string &function, const std::string &parameters) {
    line("static inline bl_status {}_{}({}) {{", built_.name, function,
         parameters.empty() ? "void" : parameters);
    line("  bl_kernel *kernel = NULL;");
    line("  const bl_status status = {}_kernel(&kernel);", built_.name);
  }

  void write_prepare() {
    line("\n/* Finds the code for inputs that lie so, and for outputs in the order that a call "
         "would give");
    line(" * them. Their data may be NULL. */");
    begin("prepare", parameters(false));
    write_views(false);
    line("  if (status != BL_OK) return status;");
    fill_views(false);
    line("  return bl_prepare(kernel, {});\n}}", passed(false));
  }

  void write_infer() {
    line("\n/* The extents of the outputs for inputs of these extents. The data of inputs may be "
         "NULL. */");
    std::string list = parameters(false);
    for (const Operand &operand : operands_)
      if (operand.is_output && operand.rank() > 0)
        list +=
            fmt::format("{}int64_t {}[{}]", list.empty() ? "" : ", ", operand.name, operand.rank());
    begin("infer", list);
    write_views(false);
    line("  bl_shape shapes[{}];", count(true));
    line("  bl_status found;");
    line("  if (status != BL_OK) return status;");
    fill_views(false);
    line("  found = bl_infer(kernel, {}, shapes);", passed(false));
    line("  if (found != BL_OK) return found;");
    std::size_t o = 0;
    for (const Operand &operand : operands_) {
      if (!operand.is_output) continue;
      for (std::size_t d = 0; d < operand.rank(); ++d)
        line("  {}[{}] = shapes[{}].extents[{}];", operand.name, d, o, d);
      ++o;
    }
    line("  return BL_OK;\n}}");
  }

  // A function of all operands, and of what else it has and passes on.
  void write_run(const char *function, const char *about, const std::string &more,
                 const std::string &passed_on) {
    const std::string operands = parameters(true), comma = more.empty() ? "" : ", ";
    line("\n/* {} */", about);
    begin(function, operands + comma + more);
    write_views(false);
    write_views(true);
    line("  if (status != BL_OK) return status;");
    fill_views(false);
    fill_views(true);
    line("  return bl_{}(kernel, {}, {}{}{});\n}}", function, passed(false), passed(true), comma,
         passed_on);
  }

  const BuiltKernel &built_;
  const std::string text_;
  std::vector<Operand> operands_;
  std::set<std::string> named_, taken_; // in the text, and in C
  std::string out_;
};

} // namespace

std::string c_header(const BuiltKernel &built, const Kernel &kernel) {
  return Writer(built, kernel).write();
}

} // namespace broadloom::jit
