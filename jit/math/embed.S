// The bitcode of two levels, as split.cpp writes it, as read-only data. BITCODE_V3 and BITCODE_V4 are quoted paths.
  .section .rodata.broadloom_math, "a", @progbits
  .global bl_math_v3_begin, bl_math_v4_begin
  .balign 16
bl_math_v3_begin:
  .incbin BITCODE_V3
  .balign 16
bl_math_v4_begin:
  .incbin BITCODE_V4
  .section .note.GNU-stack, "", @progbits
