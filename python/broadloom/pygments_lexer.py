# Made by packaging/editors/make.py: not to be changed by hand.
"""A lexer of Pygments for the text form of kernels, which Pygments finds as `loom` where Broadloom
is installed."""

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, Whitespace

__all__ = ["LoomLexer"]


class LoomLexer(RegexLexer):
    name = "Broadloom"
    aliases = ["loom"]
    filenames = ["*.loom"]
    tokens = {
        "root": [
            (r"#[^\n]*", Comment.Single),
            (r"[ \t\r\n]+", Whitespace),
            (r"\b(?:accumulator|separate|stretch|kernel|order|fuse|def|let|out|set|in)\b", Keyword),
            (r"\b(?:accumulate|broadcast|reduce)\b", Keyword),
            (r"\b(?:false|true|inf|nan|pi)\b", Keyword.Constant),
            (r"\b(?:bf16|bool|c128|c64|f16|f32|f64|i16|i32|i64|u16|u32|u64|i8|u8)\b", Keyword.Type),
            (r"\b(?:update|param|state|axis|call)(?=[ \t]+[A-Za-z_])(?![ \t]+(?:in|at|from|until)\b)", Keyword),
            (r"\bschedule(?=[ \t]*\{|[ \t]+[A-Za-z_])", Keyword),
            (r"\b(?:derivative|combine|result|init|step)(?=[ \t]+[A-Za-z_])(?![ \t]+(?:in|at|from|until)\b)", Keyword),
            (r"\b(?:recompute|parallel|cached|copies|inline|serial|stream|vector|keep|tile|at)(?=[ \t]+[A-Za-z_0-9])", Keyword),
            (r"\b(?:until|axes|dims|from|at)(?=[ \t]+[A-Za-z_0-9(\[-])", Keyword),
            (r"(?:(?<=kernel )|(?<=def )|(?<=accumulator ))[A-Za-z_][A-Za-z0-9_]*", Name.Function),
            (r"(?:(?<=[,(;])|(?<=[,(;] ))(?:correction|init|like|acc|of)(?=[ \t]*=(?!=))", Name.Attribute),
            (r"(?<=, )(?:exclusive|reflect|reverse|edge|wrap|zero)(?=[ \t]*[,)])", Name.Attribute),
            (r"(?:(?<=set )|(?<=order )|(?<=stretch )|(?<=in )|(?<== )|(?<==))(?:accuracy|relaxed|scales|exact|fast|fold|high|keep|none|off|on)(?=[ \t]*(?:[=;#}\n]|$))", Name.Attribute),
            (r"\b(?:reciprocal|gelu_tanh|logaddexp|logsumexp|polygamma|recompute|copysign|isfinite|softplus|digamma|maximum|minimum|sigmoid|argmax|argmin|concat|extent|lgamma|square|acosh|asinh|atan2|atanh|expm1|floor|hypot|isinf|isnan|log10|log1p|parts|round|rsqrt|stack|trunc|where|acos|asin|atan|cbrt|ceil|clip|conj|cosh|erfc|exp2|fmax|fmin|fmod|gelu|imag|iota|keep|log2|mean|norm|prod|real|relu|scan|sign|silu|sinh|sqrt|tanh|abs|all|any|cos|erf|exp|fma|log|max|min|pad|sin|std|sum|tan|var|xor)(?=[ \t]*\()", Name.Builtin),
            (r"(?:(?<=reduce\()|(?<=accumulate\()|(?<=scan\())(?:logsumexp|argmax|argmin|mean|norm|prod|all|any|max|min|std|sum|var)\b", Name.Builtin),
            (r"(?<![A-Za-z0-9_.])(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?j?(?![A-Za-z0-9_.])", Number),
            (r"\b[A-Za-z_][A-Za-z0-9_]*", Name),
            (r"(?:!=|\&\&|\+=|//|<<|<=|==|>=|>>|\|\||!|%|\&|\*|\+|\-|/|<|=|>|\?|\^|\||\~)", Operator),
            (r"(?:\(|\)|,|:|;|\[|\]|\{|\})", Punctuation),
        ]
    }
