// The PTX of step_ptx.cpp as read-only data. STEPS is its quoted path.
  .section .rodata.broadloom_steps, "a", @progbits
  .global bl_steps_ptx_begin, bl_steps_ptx_end
bl_steps_ptx_begin:
  .incbin STEPS
bl_steps_ptx_end:
  .section .note.GNU-stack, "", @progbits
