// The examples of a page of Markdown, checked and run as they stand.
//
//   ```loom          kernels, which must be right; a block that begins with `# NAME.loom` is that
//                    file
//   ```cpp           a whole program if it begins with `// NAME.cpp`: the build makes it
//                    (extract.py)
//   ```console       commands, run with the built `broadloom`; what they print must be what is
//                    shown
//
//   $ broadloom check -e 'kernel k {      a command; lines that begin with > continue it
//   >   out z = 1 }'
//   k: ok                                 all else is what stdout and stderr show
//
// The commands of one page run in one folder, in order, so that later ones find the files and the
// programs (as ./NAME) of the page. With BROADLOOM_BLESS in the environment the page is rewritten
// to show what is printed now.
#pragma once

#include <string>
#include <vector>

namespace pages {

struct Block {
  std::string language, text;
  int line = 0; // of its first line in the page, from 1
};

// The bytes of a file of the project; fails the test where there is none.
std::string text_of(const std::string &path);

std::vector<Block> blocks_of(const std::string &text);

// The name in a first line `# NAME.loom` or `// NAME.cpp`, else nothing.
std::string file_name(const Block &block);

// The text without its blocks.
std::string prose_of(const std::string &text);

// The lines of headings in prose, with their marks: "## The disk cache". Its anchor is
// "the-disk-cache".
std::vector<std::string> headings_of(const std::string &prose);
std::string anchor_of(const std::string &title);

// What a shell prints for a command that may call `broadloom`, stdout and stderr together.
std::string output_of(const std::string &command);

// How many blocks were checked, and how many commands run.
int check_loom_blocks(const std::string &path);
int run_console_blocks(const std::string &path);

} // namespace pages
