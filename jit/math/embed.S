// The bitcode of each level, as split.cpp writes it, as read-only data. BITCODE_V3 and BITCODE_V4, or BITCODE_NEON, and BITCODE_ONE are quoted paths.
  .section .rodata.broadloom_math, "a", @progbits
#if defined(BITCODE_NEON)
  .global bl_math_neon_begin
  .balign 16
bl_math_neon_begin:
  .incbin BITCODE_NEON
#else
  .global bl_math_v3_begin, bl_math_v4_begin
  .balign 16
bl_math_v3_begin:
  .incbin BITCODE_V3
  .balign 16
bl_math_v4_begin:
  .incbin BITCODE_V4
#endif
  .global bl_math_one_begin
  .balign 16
bl_math_one_begin:
  .incbin BITCODE_ONE
  .section .note.GNU-stack, "", @progbits
