// The cases that a switch over the operations need not name: those of other kinds than its own
// (ops.def).
//
//   switch (op) {
//   case Op::Add: ..                  those of integers, by hand: a new one is a compiler warning
//   #define BL_OP BL_NOT_OF_INTEGERS  and all others
//   #include "ops/ops.def"
//     break;
//   }
#pragma once

#define BL_NOT_OF_INTEGERS(enumerator, spelling, arity, rule, form, cost, math, kinds, scaling)    \
  BL_NOT_OF_INTEGERS_##kinds(enumerator)
#define BL_NOT_OF_INTEGERS_All(enumerator)
#define BL_NOT_OF_INTEGERS_Numbers(enumerator)
#define BL_NOT_OF_INTEGERS_Integers(enumerator)
#define BL_NOT_OF_INTEGERS_Floats(enumerator) case Op::enumerator:
#define BL_NOT_OF_INTEGERS_Bits(enumerator)
#define BL_NOT_OF_INTEGERS_Math(enumerator) case Op::enumerator:
#define BL_NOT_OF_INTEGERS_IntegersMath(enumerator)
#define BL_NOT_OF_INTEGERS_None(enumerator) case Op::enumerator:

#define BL_NOT_OF_BOOL(enumerator, spelling, arity, rule, form, cost, math, kinds, scaling)        \
  BL_NOT_OF_BOOL_##kinds(enumerator)
#define BL_NOT_OF_BOOL_All(enumerator)
#define BL_NOT_OF_BOOL_Numbers(enumerator) case Op::enumerator:
#define BL_NOT_OF_BOOL_Integers(enumerator) case Op::enumerator:
#define BL_NOT_OF_BOOL_Floats(enumerator) case Op::enumerator:
#define BL_NOT_OF_BOOL_Bits(enumerator)
#define BL_NOT_OF_BOOL_Math(enumerator) case Op::enumerator:
#define BL_NOT_OF_BOOL_IntegersMath(enumerator) case Op::enumerator:
#define BL_NOT_OF_BOOL_None(enumerator) case Op::enumerator:

#define BL_NOT_OF_FLOATS(enumerator, spelling, arity, rule, form, cost, math, kinds, scaling)      \
  BL_NOT_OF_FLOATS_##kinds(enumerator)
#define BL_NOT_OF_FLOATS_All(enumerator)
#define BL_NOT_OF_FLOATS_Numbers(enumerator)
#define BL_NOT_OF_FLOATS_Integers(enumerator) case Op::enumerator:
#define BL_NOT_OF_FLOATS_Floats(enumerator)
#define BL_NOT_OF_FLOATS_Bits(enumerator) case Op::enumerator:
#define BL_NOT_OF_FLOATS_Math(enumerator) case Op::enumerator:
#define BL_NOT_OF_FLOATS_IntegersMath(enumerator) case Op::enumerator:
#define BL_NOT_OF_FLOATS_None(enumerator) case Op::enumerator:

#define BL_NOT_OF_MATH(enumerator, spelling, arity, rule, form, cost, math, kinds, scaling)        \
  BL_NOT_OF_MATH_##kinds(enumerator)
#define BL_NOT_OF_MATH_All(enumerator) case Op::enumerator:
#define BL_NOT_OF_MATH_Numbers(enumerator) case Op::enumerator:
#define BL_NOT_OF_MATH_Integers(enumerator) case Op::enumerator:
#define BL_NOT_OF_MATH_Floats(enumerator) case Op::enumerator:
#define BL_NOT_OF_MATH_Bits(enumerator) case Op::enumerator:
#define BL_NOT_OF_MATH_Math(enumerator)
#define BL_NOT_OF_MATH_IntegersMath(enumerator)
#define BL_NOT_OF_MATH_None(enumerator) case Op::enumerator:

// Those of the math, for switches that pass them on by name, and those that are neither of floats
// nor math.
#define BL_OF_MATH(enumerator, spelling, arity, rule, form, cost, math, kinds, scaling)            \
  BL_OF_MATH_##kinds(enumerator)
#define BL_OF_MATH_All(enumerator)
#define BL_OF_MATH_Numbers(enumerator)
#define BL_OF_MATH_Integers(enumerator)
#define BL_OF_MATH_Floats(enumerator)
#define BL_OF_MATH_Bits(enumerator)
#define BL_OF_MATH_Math(enumerator) case Op::enumerator:
#define BL_OF_MATH_IntegersMath(enumerator) case Op::enumerator:
#define BL_OF_MATH_None(enumerator)

#define BL_NEITHER_FLOATS_NOR_MATH(enumerator, spelling, arity, rule, form, cost, math, kinds,     \
                                   scaling)                                                        \
  BL_NEITHER_FLOATS_NOR_MATH_##kinds(enumerator)
#define BL_NEITHER_FLOATS_NOR_MATH_All(enumerator)
#define BL_NEITHER_FLOATS_NOR_MATH_Numbers(enumerator)
#define BL_NEITHER_FLOATS_NOR_MATH_Integers(enumerator) case Op::enumerator:
#define BL_NEITHER_FLOATS_NOR_MATH_Floats(enumerator)
#define BL_NEITHER_FLOATS_NOR_MATH_Bits(enumerator) case Op::enumerator:
#define BL_NEITHER_FLOATS_NOR_MATH_Math(enumerator)
#define BL_NEITHER_FLOATS_NOR_MATH_IntegersMath(enumerator)
#define BL_NEITHER_FLOATS_NOR_MATH_None(enumerator) case Op::enumerator:
