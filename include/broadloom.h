/* The C interface of Broadloom: loops over n-d arrays, stated as text and compiled to native code
 * at run time.
 *
 *   bl_kernel *k = NULL;
 *   if (bl_compile("kernel k { in x : f32[i]; out y = exp(x); out s = sum(x) }", NULL, &k)) {
 *     fputs(bl_latest_error()->text, stderr);                  // what, where, and what to do
 *     exit(1);
 *   }
 *   float x[1000] = {1}, y[1000], s[1];
 *   const int64_t n[] = {1000};
 *   const bl_view in[] = {{BL_F32, 1, x, n, NULL}};
 *   const bl_view out[] = {{BL_F32, 1, y, n, NULL}, {BL_F32, 0, s, NULL, NULL}};
 *   bl_run(k, in, 1, out, 2);
 *   bl_free_kernel(k);
 *
 * Programs in C, and in all languages that call C, are linked with -lbroadloom. Every function may
 * be called by any threads at once, also with the same kernel. A function that can fail returns a
 * status. Its outputs are then left as they were. A null handle is BL_BAD_ARGUMENT. No C++
 * exception leaves the library.
 *
 * The interface grows only by functions, by numbers at the end of enums, and by members at the
 * end of bl_options and bl_counters.
 */
#ifndef BROADLOOM_H
#define BROADLOOM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A program that was built with this header fits a library whose bl_abi_version() is the same. */
#define BL_ABI_VERSION 1
uint32_t bl_abi_version(void);
const char *bl_version(void); /* "0.1.0" */

typedef enum bl_status {
  BL_OK = 0,
  BL_SPEC_ERROR = 1,    /* the text is wrong */
  BL_SHAPE_ERROR = 2,   /* ranks, extents, strides, overlap */
  BL_DTYPE_ERROR = 3,   /* element types */
  BL_DATA_ERROR = 4,    /* pointers, values, names */
  BL_COMPILE_ERROR = 5, /* a limit was reached, or code could not be made */
  BL_BAD_ARGUMENT = 6,  /* a null pointer, or a handle that is none */
  BL_NO_MEMORY = 7,
  BL_INTERNAL_ERROR = 8 /* a bug in Broadloom */
} bl_status;

/* The error of the latest failed call in this thread, until the next. Never null; no text is.
 * */
typedef struct bl_error {
  bl_status status;
  const char *code;     /* "E0102", as docs/errors.md has it; "" for BL_BAD_ARGUMENT */
  const char *message;  /* one line: what, where, how large */
  const char *help;     /* what to do */
  const char *text;     /* all of it, with the line of the text and a caret */
  int32_t line, column; /* in the text of the kernel, from 1; 0: unknown */
} bl_error;
const bl_error *bl_latest_error(void);

typedef enum bl_dtype {
  BL_BOOL = 0,
  BL_I8 = 1,
  BL_I16 = 2,
  BL_I32 = 3,
  BL_I64 = 4,
  BL_U8 = 5,
  BL_U16 = 6,
  BL_U32 = 7,
  BL_U64 = 8,
  BL_F16 = 9,
  BL_BF16 = 10,
  BL_F32 = 11,
  BL_F64 = 12,
  BL_C64 = 13,
  BL_C128 = 14
} bl_dtype;
const char *bl_dtype_name(bl_dtype dtype); /* "f32"; NULL for another number */

enum { BL_MAX_RANK = 16 };

/* An array of the caller. Its memory is read and written during calls alone. An output whose `data`
 * is null is not computed, and its other members are not looked at. */
typedef struct bl_view {
  int32_t dtype; /* bl_dtype */
  int32_t rank;
  void *data;
  const int64_t *extents; /* [rank] */
  const int64_t *strides; /* [rank], in elements, of any sign; NULL: C order */
} bl_view;

struct DLTensor; /* of DLPack, dmlc/dlpack */
/* The view of a tensor in the memory of the host, which must outlive it. BL_DTYPE_ERROR E0211 for
 * an element type that Broadloom has not, BL_DATA_ERROR for another device. `strides` of the view
 * are those of the tensor. */
bl_status bl_view_of_dltensor(const struct DLTensor *tensor, bl_view *view);

typedef enum bl_engine {
  BL_AUTOMATIC = 0, /* native code; without LLVM the interpreter, with the same bits */
  BL_JIT = 1,       /* native code or BL_COMPILE_ERROR */
  BL_INTERPRETER = 2,
  BL_REFERENCE = 3, /* from the definition, slow */
  BL_TIERED = 4     /* as BL_AUTOMATIC, but short calls are interpreted until code is made */
} bl_engine;

typedef struct bl_options {
  size_t size;        /* sizeof(bl_options) */
  int32_t threads;    /* of a call at most; 0: as the environment or the machine says */
  int32_t engine;     /* bl_engine */
  const char *target; /* "x86-64-v3", "x86-64-v4", "aarch64"; NULL: this machine */
  const char
      *cache_dir;     /* of native code, from process to process; NULL: as the environment says */
  const char *kernel; /* which kernel of a text of several; NULL: there is one */
  const char *file;   /* the name of the text in errors; NULL: "<text>" */
} bl_options;
#define BL_DEFAULT_OPTIONS {sizeof(bl_options), 0, BL_AUTOMATIC, NULL, NULL, NULL, NULL}

typedef struct bl_kernel bl_kernel;

/* Reads the text of a kernel. `options` may be null. Native code is made at the first call for a
 * pattern of layouts, in a few milliseconds. */
bl_status bl_compile(const char *text, const bl_options *options, bl_kernel **kernel);
/* The kernel of the gradient with respect to these inputs. The new kernel reads the inputs of the
 * kernel and `d_OUTPUT`, and its outputs are `d_INPUT`. BL_SPEC_ERROR E06xx where there is none. */
bl_status bl_gradient(const bl_kernel *kernel, const char *const *wrt, size_t count,
                      bl_kernel **gradient);
/* A kernel with the values of these parameters inside, which are copied. */
bl_status bl_freeze(const bl_kernel *kernel, const char *const *names, const bl_view *values,
                    size_t count, bl_kernel **frozen);
/* Null is left alone. BL_BAD_ARGUMENT for a handle that is none, or was freed. Calls that run go
 * on. */
bl_status bl_free_kernel(bl_kernel *kernel);

/* The kernel of an object file that `broadloom build` has written, whose header calls these
 * (docs/ship.md). `built` must stay. Nothing is compiled for it. BL_COMPILE_ERROR E0504 for what is
 * none, and for one of another version of Broadloom. */
bl_status bl_load(const void *built, size_t size, const bl_options *options, bl_kernel **kernel);
/* The same, made by the first call and kept in `*handle`, which is null before it: one for all
 * threads. bl_free_kernel makes it null again. */
bl_status bl_load_once(const void *built, size_t size, bl_kernel **handle, bl_kernel **kernel);

/* Counts of what became of the calls of a kernel. */
typedef struct bl_counters {
  size_t size;         /* sizeof(bl_counters) */
  int64_t compiles;    /* programs that code was made for */
  int64_t loaded;      /* whose code was there: on disk, or in what was built */
  int64_t patterns;    /* of layouts */
  int64_t interpreted; /* calls without native code */
} bl_counters;
/* `counters` says its size. */
bl_status bl_count(const bl_kernel *kernel, bl_counters *counters);

typedef struct bl_operand {
  const char *name;        /* it and the next two live as long as the kernel */
  const char *const *axes; /* [rank]: labels, or positions of the iteration space as "0" */
  const int64_t *extents;  /* inputs: [rank], as declared, -1 where a call says; outputs: NULL */
  int32_t dtype;           /* bl_dtype */
  int32_t rank;
  int32_t is_param; /* inputs: `param` */
  int32_t adds;     /* outputs: `+=`, a call adds to what it finds */
} bl_operand;
/* 0 for a null kernel. */
size_t bl_input_count(const bl_kernel *kernel);
size_t bl_output_count(const bl_kernel *kernel);
/* In the order of the text, which is that of calls. BL_DATA_ERROR for an index beyond the last. */
bl_status bl_input(const bl_kernel *kernel, size_t index, bl_operand *operand);
bl_status bl_output(const bl_kernel *kernel, size_t index, bl_operand *operand);

typedef struct bl_shape {
  int32_t dtype;
  int32_t rank;
  int64_t extents[BL_MAX_RANK];
} bl_shape;
/* The outputs for inputs of these shapes, whose data may be null. `shapes` has bl_output_count
 * elements. */
bl_status bl_infer(const bl_kernel *kernel, const bl_view *inputs, size_t input_count,
                   bl_shape *shapes);
/* Makes the native code for these layouts, whose data may be null. */
bl_status bl_prepare(const bl_kernel *kernel, const bl_view *inputs, size_t input_count);
/* Computes the outputs. If that fails, none of them is written, but for BL_NO_MEMORY. */
bl_status bl_run(const bl_kernel *kernel, const bl_view *inputs, size_t input_count,
                 const bl_view *outputs, size_t output_count);

/* The bytes that such a call takes for its time, beside its arrays: those of lets, partial results,
 * copies with borders. Nothing is computed. Data may be null; outputs whose `data` is null are not
 * computed, so they count only where it is not. */
bl_status bl_workspace(const bl_kernel *kernel, const bl_view *inputs, size_t input_count,
                       const bl_view *outputs, size_t output_count, size_t *bytes);
/* As bl_run, and takes these bytes from `arena`, which has any alignment and any content.
 * BL_DATA_ERROR E0323 where it has too few, and then nothing is written. broadloom/arena.hpp says
 * which calls have memory of their own yet. */
bl_status bl_run_in(const bl_kernel *kernel, const bl_view *inputs, size_t input_count,
                    const bl_view *outputs, size_t output_count, void *arena, size_t arena_bytes);

/* A call whose arrays were looked at once, for small ones that are computed often. Their memory
 * must stay. */
typedef struct bl_bound bl_bound;
bl_status bl_bind(const bl_kernel *kernel, const bl_view *inputs, size_t input_count,
                  const bl_view *outputs, size_t output_count, bl_bound **bound);
bl_status bl_run_bound(const bl_bound *bound);
bl_status bl_free_bound(bl_bound *bound);

/* The text of the kernel (stage "spec"), and what became of it: "axes", "graph", "call", "plan",
 * "loop", "block", "llvm", "asm" and "why". "why-json" has each decision as JSON. Freed by
 * bl_free_text. */
bl_status bl_show(const bl_kernel *kernel, const char *stage, char **text);
void bl_free_text(char *text);

#ifdef __cplusplus
}
#endif

#endif
