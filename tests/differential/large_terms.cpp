// See large_terms.hpp.
#include "large_terms.hpp"

namespace broadloom::differential {

using expr::AxisSet;

Term LargeTerms::product() {
  const Term &x = scope_.terms[0], &y = scope_.terms[1];
  Term out = x;
  out.dtype = promote(x.dtype, y.dtype);
  out.axes = x.axes | y.axes;
  out.plain = false;
  out.text = "(" + x.text + " * " + y.text + ")";
  if (out.dtype == DType::Bool) return x;
  if (random_.chance(15)) return out;
  out = Expressions(random_, scope_).folded(out, Fold::Sum);
  out.text = "sum(" + out.text + ", " + scope_.axis_names[2] + ")";
  out.axes = out.axes - AxisSet::of(2);
  return out;
}

Term LargeTerms::pairs(std::size_t output) {
  const Term &x = scope_.terms[0], &y = scope_.terms[1];
  Term both = x;
  both.dtype = promote(x.dtype, y.dtype);
  both.axes = x.axes | y.axes;
  both.plain = false;
  if (both.dtype == DType::Bool || is_complex(both.dtype)) return x;
  both.text = scope_.exact || !is_float(both.dtype) ? "((" + x.text + " + " + y.text + ") // 3)"
                                                    : "exp(-abs(" + x.text + " - " + y.text + "))";
  Term out = Expressions(random_, scope_).folded(both, Fold::Sum);
  const auto over = [&](int axis) {
    return "sum(" + both.text + ", " + scope_.axis_names[std::size_t(axis)] + ")";
  };
  if (random_.chance(50)) {
    out.text = "(" + over(1) + " - " + over(0) + ")";
    return out;
  }
  const int along = output % 2 == 0 ? 1 : 0;
  out.text = over(along);
  out.axes = both.axes - AxisSet::of(along);
  return out;
}

Term LargeTerms::map() {
  const bool first_two = scope_.terms.size() > 1 && random_.chance(60);
  const Term &x = first_two ? scope_.terms[0] : random_.pick(scope_.terms);
  const Term &y = first_two ? scope_.terms[1] : random_.pick(scope_.terms);
  Term out = x;
  out.dtype = promote(x.dtype, y.dtype);
  out.axes = x.axes | y.axes;
  out.product |= y.product;
  out.inexact |= y.inexact;
  out.plain = false;
  if (out.dtype == DType::Bool) return x;
  out.text = "(" + x.text + random_.pick<std::string>({" - ", " + "}) + y.text + ")";
  return out;
}

Term LargeTerms::usual() {
  Expressions expressions(random_, scope_);
  Term x = expressions.term(random_.chance(70) ? 0 : 1);
  if (!scope_.exact && is_float(x.dtype) && random_.chance(20)) {
    x.text = "exp(" + x.text + ")";
    x.plain = false;
  }
  std::vector<int> axes;
  for (std::size_t a = 0; a < scope_.axis_names.size(); ++a)
    if (x.axes.has(int(a))) axes.push_back(int(a));
  if (axes.empty() || x.dtype == DType::Bool || is_complex(x.dtype)) return x;
  const int axis = shape_.across && random_.chance(70)  ? axes.front()
                   : shape_.along || random_.chance(50) ? axes.back()
                                                        : random_.pick(axes);
  const std::string &along = scope_.axis_names[std::size_t(axis)];
  const Fold fold = random_.pick<Fold>({Fold::Sum, Fold::Sum, Fold::Max, Fold::Min, Fold::Mean,
                                        Fold::Var, Fold::ArgMax, Fold::User});
  Term folded = expressions.folded(x, fold);
  const std::string name =
      fold == Fold::User ? expressions.own_accumulator(x, folded) : Expressions::name_of(fold);
  folded.text = name + "(" + x.text + ", " + along + ")";
  folded.axes = x.axes - AxisSet::of(axis);
  const bool one_axis = scope_.axis_names.size() == 1; // scans of which are cut into chunks
  switch (shape_.along && random_.chance(45) ? 5
          : one_axis && random_.chance(40)   ? 1
                                             : random_.below(6)) {
  case 0: return folded;
  case 5: { // softmax
    if (!is_float(x.dtype)) return folded;
    Term out = x;
    const std::string part = "exp(" + x.text + " - max(" + x.text + ", " + along + "))";
    out.text = "(" + part + " / sum(" + part + ", " + along + "))";
    out.inexact = true;
    out.plain = false;
    return out;
  }
  case 1: {
    Term out = folded;
    out.axes = x.axes;
    const auto scanned = [&](const std::string &how) {
      return "scan(" + name + ", " + x.text + ", " + along + how + ")";
    };
    out.text = scanned(random_.chance(30) ? ", reverse" : "");
    if (!random_.chance(30)) return out;
    // One of the two reads the other from a row.
    out.text = "(" + scanned(random_.chance(50) ? ", exclusive" : "") +
               random_.pick<std::string>({" - ", " + "}) + scanned(", reverse") + ")";
    out.plain = false;
    return out;
  }
  case 2: return x;
  default: break;
  }
  Term out = x;
  out.plain = false;
  out.product |= folded.product;
  out.inexact |= folded.inexact;
  out.dtype = promote(x.dtype, folded.dtype);
  if (out.dtype == DType::Bool) return x;
  out.text = "(" + x.text + random_.pick<std::string>({" - ", " + "}) + folded.text + ")";
  return out;
}

} // namespace broadloom::differential
