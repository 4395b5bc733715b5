// Two bitcode files as read-only data. BITCODE_V3 and BITCODE_V4 are quoted paths.
  .section .rodata.broadloom_math, "a", @progbits
  .global bl_math_v3_begin, bl_math_v3_end, bl_math_v4_begin, bl_math_v4_end
  .balign 16
bl_math_v3_begin:
  .incbin BITCODE_V3
bl_math_v3_end:
  .balign 16
bl_math_v4_begin:
  .incbin BITCODE_V4
bl_math_v4_end:
  .section .note.GNU-stack, "", @progbits
