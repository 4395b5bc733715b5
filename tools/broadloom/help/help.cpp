// See help.hpp.
#include "tools/broadloom/help/help.hpp"

#include "jit/nest/about.hpp"
#include "tools/broadloom/help/describe_app.hpp"
#include "tools/broadloom/help/language_words.hpp"

#include <broadloom/version.hpp>

#include <fmt/format.h>

#include <filesystem>

namespace broadloom::cli {
namespace {

// A table of two columns, the second after the longest name of the first.
std::string table(const std::vector<Entry> &entries) {
  std::size_t width = 0;
  for (const Entry &entry : entries) width = std::max(width, std::string_view(entry.name).size());
  std::string text;
  for (const Entry &entry : entries)
    text += fmt::format("  {:{}}  {}\n", entry.name, width, entry.text);
  return text;
}

// Of an installation, or of the sources around a build folder: what is not there is not named.
std::string where_documents_are() {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const fs::path folder = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  std::string text;
  if (fs::exists(folder / "../share/man/man1/broadloom.1", unknown))
    text += "\nThe manual is broadloom(1).";
  for (const char *docs : {"../share/doc/broadloom/docs", "../../docs"})
    if (const fs::path page = folder / docs / "language.md"; fs::exists(page, unknown))
      return text + "\nThe language is in " + page.lexically_normal().string() +
             "; the other pages lie beside it.";
  return text;
}

} // namespace

std::string version_text() {
  const jit::About about = jit::about();
  std::string text = fmt::format("broadloom {}\nLLVM {}, oneTBB {}, built by {}\n",
                                 BROADLOOM_VERSION, about.llvm, about.onetbb, about.compiler);
  if (about.level.empty())
    text += fmt::format("CPU {}; no native code: {}\n", about.cpu, about.no_native);
  else
    text += fmt::format("CPU {}; code for {}, {}-bit vectors, with {}\n", about.cpu, about.level,
                        about.vector_bits, about.features);
  return text + fmt::format("{} thread{}", about.threads, about.threads == 1 ? "" : "s");
}

std::string help_footer() {
  return "Exit status:\n" + table(exit_statuses()) + "\nEnvironment:\n" + table(environment()) +
         where_documents_are();
}

std::string generated(const CLI::App &app, std::string_view word) {
  if (word == "man") return man_page(app);
  if (word == "bash") return bash_completion(app);
  if (word == "zsh") return zsh_completion(app);
  if (word == "words") return language_words_as_json();
  return fish_completion(app);
}

} // namespace broadloom::cli
