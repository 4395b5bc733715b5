// The words of the text form by what they are: for colours, for completion, and for the grammars
// that editors read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace broadloom::cli {

using LanguageWordList = std::vector<std::string_view>;

struct LanguageWords {
  LanguageWordList reserved; // never a name: `kernel`, `out`, `accumulate`, `true`
  LanguageWordList types;    // nor these
  LanguageWordList
      declaring; // where a statement begins and a name follows, a name elsewhere: `param`
  LanguageWordList clauses;   // of accumulators and functions, where a line begins: `step`
  LanguageWordList schedule;  // of schedules, where a line begins: `vector`
  LanguageWordList functions; // and what is called like one
  LanguageWordList folds;     // `sum`, also behind `reduce(`
  LanguageWordList constants; // `pi`
  LanguageWordList options;   // before a `=`, in brackets: `init`
  LanguageWordList flags;     // behind a comma: `reverse`
  LanguageWordList between;   // behind what they are about: `from`
  LanguageWordList settings;  // of statements, and what they are set to: `accuracy`, `exact`
  LanguageWordList signs;     // longer ones first
};

const LanguageWords &language_words();

// As an object of JSON: for packaging/editors/make.py.
std::string language_words_as_json();

} // namespace broadloom::cli
