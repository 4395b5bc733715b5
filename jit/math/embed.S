// The bitcode of each level, as split.cpp writes it, as read-only data. BITCODE_NEON and so on are quoted paths.
  .section .rodata.broadloom_math, "a", @progbits
  .global bl_math_neon_begin
  .balign 16
bl_math_neon_begin:
  .incbin BITCODE_NEON
#if defined(BITCODE_V3)
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
