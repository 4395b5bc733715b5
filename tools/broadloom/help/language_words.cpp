// See language_words.hpp.
#include "tools/broadloom/help/language_words.hpp"

#include "ops/ops.hpp"
#include "spec/schedule.hpp"
#include "spec/words.hpp"
#include "text/signs.hpp"

#include <broadloom/dtype.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

namespace broadloom::cli {

namespace {

constexpr std::array all_dtypes{DType::Bool, DType::I8,  DType::I16, DType::I32, DType::I64,
                                DType::U8,   DType::U16, DType::U32, DType::U64, DType::F16,
                                DType::BF16, DType::F32, DType::F64, DType::C64, DType::C128};

LanguageWords collected() {
  LanguageWords words;
  for (const std::string_view word : spec::reserved_words()) words.reserved.push_back(word);
  for (const DType dtype : all_dtypes) words.types.push_back(name(dtype));
  words.declaring = {"param", "state", "update", "call", "axis"};
  words.clauses = {"init", "step", "combine", "result", "derivative"};
  for (int k = 0; k <= int(ScheduleClause::Kind::Separate); ++k)
    words.schedule.push_back(spec::word_of(ScheduleClause::Kind(k)));
  words.functions = {"iota", "extent", "scan", "pad", "concat", "stack", "parts"};
  for (int i = 0; i < ops::op_count(); ++i)
    if (const ops::OpInfo &op = ops::info(ops::Op(i)); op.form == ops::Form::Call)
      words.functions.push_back(op.spelling);
  for (int i = 0; i < ops::fold_count(); ++i) words.folds.push_back(ops::info(Fold(i)).name);
  words.constants = {"pi", "e", "inf", "nan"};
  words.options = {"init", "acc", "correction", "like", "of"};
  words.flags = {"exclusive", "reverse", "zero", "edge", "wrap", "reflect"};
  words.between = {"from", "until", "at", "dims", "axes"};
  words.settings = {"c",     "f",       "none",     "on",     "off",  "high", "fast",
                    "exact", "relaxed", "accuracy", "scales", "fold", "keep"};
  words.signs = text::signs();
  return words;
}

} // namespace

const LanguageWords &language_words() {
  static const LanguageWords words = collected();
  return words;
}

std::string language_words_as_json() {
  const LanguageWords &words = language_words();
  std::string text;
  for (const auto &[name, list] : {std::pair("reserved", &words.reserved),
                                   {"types", &words.types},
                                   {"declaring", &words.declaring},
                                   {"clauses", &words.clauses},
                                   {"schedule", &words.schedule},
                                   {"functions", &words.functions},
                                   {"folds", &words.folds},
                                   {"constants", &words.constants},
                                   {"options", &words.options},
                                   {"flags", &words.flags},
                                   {"between", &words.between},
                                   {"settings", &words.settings},
                                   {"signs", &words.signs}})
    text += fmt::format("{}\"{}\": [\"{}\"]", text.empty() ? "{" : ",\n ", name,
                        fmt::join(*list, "\", \""));
  return text + "}\n";
}

} // namespace broadloom::cli
