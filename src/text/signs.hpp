// The signs of the text form, longer ones first.
#pragma once

#include "text/lexer.hpp"

#include <array>
#include <string_view>

namespace broadloom::text {

struct Spelling {
  std::string_view spelling;
  Tok kind;
};

inline constexpr std::array signs{
    Spelling{"||", Tok::OrOr},       Spelling{"&&", Tok::AndAnd},
    Spelling{"==", Tok::Equal},      Spelling{"!=", Tok::NotEqual},
    Spelling{"<=", Tok::LessEqual},  Spelling{">=", Tok::GreaterEqual},
    Spelling{"<<", Tok::ShiftLeft},  Spelling{">>", Tok::ShiftRight},
    Spelling{"//", Tok::SlashSlash}, Spelling{"+=", Tok::AddAssign},
    Spelling{"(", Tok::LeftParen},   Spelling{")", Tok::RightParen},
    Spelling{"[", Tok::LeftBracket}, Spelling{"]", Tok::RightBracket},
    Spelling{"{", Tok::LeftBrace},   Spelling{"}", Tok::RightBrace},
    Spelling{",", Tok::Comma},       Spelling{":", Tok::Colon},
    Spelling{"?", Tok::Question},    Spelling{"=", Tok::Assign},
    Spelling{"|", Tok::Or},          Spelling{"&", Tok::And},
    Spelling{"<", Tok::Less},        Spelling{">", Tok::Greater},
    Spelling{"+", Tok::Plus},        Spelling{"-", Tok::Minus},
    Spelling{"*", Tok::Star},        Spelling{"/", Tok::Slash},
    Spelling{"%", Tok::Percent},     Spelling{"^", Tok::Caret},
    Spelling{"!", Tok::Bang},        Spelling{"~", Tok::Tilde},
    Spelling{";", Tok::Break},
};

} // namespace broadloom::text
