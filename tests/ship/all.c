/* Eight kernels and a gradient, built ahead of time, in one program, which prints the bits of
 * results: see ship.sh and aarch64.sh. */
#include "cumulated.h"
#include "functions.h"
#include "histogram.h"
#include "matmul.h"
#include "memory.h"
#include "picks.h"
#include "scale.h"
#include "softmax_gradient.h"
#include "times.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "%s: %s\n", what, bl_latest_error()->text);
  exit(1);
}

/* Nothing was compiled, and what was built ran, but for so many calls. */
static void check_counts(bl_status (*find)(bl_kernel **), int64_t interpreted, const char *what) {
  bl_kernel *kernel = NULL;
  bl_counters counters;
  counters.size = sizeof counters;
  check(find(&kernel) == BL_OK && bl_count(kernel, &counters) == BL_OK, what);
  check(counters.compiles == 0, what);
  check(counters.interpreted == interpreted, what);
  check(interpreted > 0 || counters.loaded > 0, what);
}

enum { COUNT = 1000 };
static float numbers[COUNT];

static void *run_scale(void *argument) {
  float result[COUNT];
  const float factor = *(const float *)argument;
  for (int k = 0; k < 50; ++k) {
    check(scale_run(scale_x_of(numbers, COUNT), scale_a_of(&factor), scale_y_of(result, COUNT)) == BL_OK,
          "scale");
    for (int i = 0; i < COUNT; ++i) check(result[i] == factor * numbers[i] + 1, "a result of scale");
  }
  return NULL;
}

static void test_threads(void) {
  pthread_t threads[8];
  float factors[8];
  for (int i = 0; i < COUNT; ++i) numbers[i] = (float)(i % 8);
  for (int t = 0; t < 8; ++t) {
    factors[t] = (float)t;
    check(pthread_create(&threads[t], NULL, run_scale, &factors[t]) == 0, "a thread");
  }
  for (int t = 0; t < 8; ++t) pthread_join(threads[t], NULL);
  bl_kernel *kernel = NULL, *again = NULL;
  check_counts(scale_kernel, 0, "scale");
  check(scale_kernel(&kernel) == BL_OK && scale_kernel(&again) == BL_OK && again == kernel, "one handle for all threads");

  /* A freed handle is none, and the next call makes another. */
  check(bl_free_kernel(kernel) == BL_OK, "a handle is freed");
  check(scale_handle == NULL, "it is forgotten");
  check(bl_free_kernel(kernel) == BL_BAD_ARGUMENT, "it is freed once");
  float factor = 3;
  run_scale(&factor);

  /* Every second element: no such code was built, but the generic program fits. */
  float result[COUNT / 2];
  scale_x every_second = scale_x_of(numbers, COUNT / 2);
  every_second.strides[0] = 2;
  check(scale_run(every_second, scale_a_of(&factor), scale_y_of(result, COUNT / 2)) == BL_OK, "steps of 2");
  for (int i = 0; i < COUNT / 2; ++i) check(result[i] == 3 * numbers[2 * i] + 1, "a result in steps of 2");
  check_counts(scale_kernel, 0, "steps of 2");
  char *why = NULL;
  check(scale_kernel(&kernel) == BL_OK && bl_show(kernel, "why", &why) == BL_OK, "why");
  check(strstr(why, "built without code for this pattern") != NULL, why);
  bl_free_text(why);

  /* Mistakes are those of every kernel. */
  check(scale_run(scale_x_of(numbers, 3), scale_a_of(&factor), scale_y_of(result, 4)) == BL_SHAPE_ERROR,
        "a wrong extent");
  check(scale_run(scale_x_of(NULL, 3), scale_a_of(&factor), scale_y_of(result, 3)) == BL_DATA_ERROR,
        "no data");
}

static void test_state(void) {
  double m[2][3] = {{8, 4, 2}, {0, 0, 0}}, norm[2] = {0, 0};
  const double x[3] = {1, 2, 3};
  for (int step = 0; step < 2; ++step)
    check(memory_run(memory_m_of(m[step % 2], 3), memory_x_of(x, 3),
                     memory_m_out_of(m[(step + 1) % 2], 3), memory_norm_of(&norm[step])) == BL_OK,
          "memory");
  check(m[1][0] == 5 && m[1][1] == 4 && m[1][2] == 4, "the state after a step");
  check(m[0][0] == 3.5 && m[0][1] == 4 && m[0][2] == 5, "the state after two");
  check(norm[0] == 84 && norm[1] == 57, "norms of the states before");
  check_counts(memory_kernel, 0, "memory");

  /* Without one of the outputs. */
  memory_norm unwanted;
  unwanted.data = NULL;
  check(memory_run(memory_m_of(m[0], 3), memory_x_of(x, 3), memory_m_out_of(m[1], 3), unwanted) == BL_OK,
        "memory without a norm");
  check(m[1][0] == 2.75, "the state after three");
}

static void test_times(void) {
  double u0[40] = {0}, y[40];
  u0[3] = 32;
  check(times_run(times_u0_of(u0, 40), times_y_of(y, 40)) == BL_OK, "times");
  check(y[3] == 1 && y[4] == 5 && y[5] == 10 && y[8] == 1, "five steps of time");
  check_counts(times_kernel, 0, "times");
}

static void test_positions(void) {
  const double x[4] = {0, 0, 0, 0}, w[5] = {1, 2, 4, 8, 16};
  const int64_t k[5] = {0, 3, 3, 1, 0};
  double h[4];
  check(histogram_run(histogram_x_of(x, 4), histogram_k_of(k, 5), histogram_w_of(w, 5),
                      histogram_h_of(h, 4)) == BL_OK, "histogram");
  check(h[0] == 17 && h[1] == 8 && h[2] == 0 && h[3] == 6, "what was scattered");
  check_counts(histogram_kernel, 0, "histogram");

  const float table[6] = {1, 2, 3, 4, 5, 6};
  float y[10];
  picks_int_ rows = picks_int__of(table, 3, 2); /* an input that is called as a word of C */
  const int64_t twice[5] = {0, 2, 2, 1, 0}, outside[5] = {0, 2, 3, 1, 0};
  check(picks_run(rows, picks_k_of(twice, 5), picks_y_of(y, 5, 2)) == BL_OK, "picks");
  check(y[0] == 2 && y[2] == 10 && y[7] == 8, "what was gathered");
  check_counts(picks_kernel, 0, "picks");
  check(picks_run(rows, picks_k_of(outside, 5), picks_y_of(y, 5, 2)) == BL_DATA_ERROR, "a position outside");
}

static void test_scan_and_product(void) {
  double x[2][3] = {{1, 2, 3}, {4, 5, 6}}, y[2][3], across[3][2];
  check(cumulated_run(cumulated_x_of(&x[0][0], 2, 3), cumulated_y_of(&y[0][0], 2, 3)) == BL_OK, "cumulated");
  check(y[0][2] == 6 && y[1][2] == 15, "what was cumulated");
  check_counts(cumulated_kernel, 0, "cumulated");
  /* A scan has no generic program: other layouts are interpreted. */
  cumulated_x turned = cumulated_x_of(&x[0][0], 3, 2);
  turned.strides[0] = 1, turned.strides[1] = 3;
  check(cumulated_run(turned, cumulated_y_of(&across[0][0], 3, 2)) == BL_OK, "cumulated of columns");
  check(across[0][1] == 5 && across[2][1] == 9, "what was cumulated of columns");
  check_counts(cumulated_kernel, 1, "cumulated of columns");

  double a[40][50], b[50][60], c[40][60];
  int64_t extents[2] = {0, 0};
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 50; ++j) a[i][j] = i - j;
  for (int i = 0; i < 50; ++i)
    for (int j = 0; j < 60; ++j) b[i][j] = i * j;
  check(matmul_infer(matmul_a_of(NULL, 40, 50), matmul_b_of(NULL, 50, 60), extents) == BL_OK, "infer");
  check(extents[0] == 40 && extents[1] == 60, "the extents of a product");
  check(matmul_prepare(matmul_a_of(NULL, 40, 50), matmul_b_of(NULL, 50, 60)) == BL_OK, "prepare");
  check(matmul_run(matmul_a_of(&a[0][0], 40, 50), matmul_b_of(&b[0][0], 50, 60),
                   matmul_c_of(&c[0][0], 40, 60)) == BL_OK, "matmul");
  double wanted = 0;
  for (int k = 0; k < 50; ++k) wanted += a[7][k] * b[k][11];
  check(c[7][11] == wanted, "an element of a product");
  check_counts(matmul_kernel, 0, "matmul");
}

static void test_gradient(void) {
  const float x[3] = {1, 1, 1}, d_y[3] = {3, 0, 0};
  float d_x[3];
  check(softmax_gradient_run(softmax_gradient_x_of(x, 1, 3), softmax_gradient_d_y_of(d_y, 1, 3),
                             softmax_gradient_d_x_of(d_x, 1, 3)) == BL_OK, "the gradient");
  check(d_x[0] > 0.66f && d_x[0] < 0.67f && d_x[1] < -0.33f, "its values");
}

/* FNV-1a. */
static uint64_t bits = 14695981039346656037u;
static void add_bits(const void *data, size_t bytes) {
  const unsigned char *byte = data;
  for (size_t k = 0; k < bytes; ++k) bits = (bits ^ byte[k]) * 1099511628211u;
}

static void test_functions(void) {
  static float x[50][70], y[50][70], m[50];
  static double w[70], s[50], a[40][50], b[50][60], c[40][60];
  uint32_t random = 1;
  for (int i = 0; i < 50; ++i)
    for (int j = 0; j < 70; ++j) x[i][j] = (float)((random = random * 1664525u + 1013904223u) >> 8) / 1e6f - 8;
  for (int j = 0; j < 70; ++j) w[j] = x[3][j] / 3.0;
  check(functions_run(functions_x_of(&x[0][0], 50, 70), functions_w_of(w, 70), functions_y_of(&y[0][0], 50, 70),
                      functions_s_of(s, 50), functions_m_of(m, 50)) == BL_OK, "functions");
  check_counts(functions_kernel, 0, "functions");
  add_bits(y, sizeof y), add_bits(s, sizeof s), add_bits(m, sizeof m);
  for (int k = 0; k < 50; ++k) {
    for (int i = 0; i < 40; ++i) a[i][k] = x[i][k] / 7.0;
    for (int j = 0; j < 60; ++j) b[k][j] = y[k][j] / 3.0;
  }
  check(matmul_run(matmul_a_of(&a[0][0], 40, 50), matmul_b_of(&b[0][0], 50, 60), matmul_c_of(&c[0][0], 40, 60)) == BL_OK,
        "a product of fractions");
  add_bits(c, sizeof c);
}

int main(void) {
  test_threads();
  test_state();
  test_times();
  test_positions();
  test_scan_and_product();
  test_gradient();
  test_functions();
  printf("bits %016llx\n", (unsigned long long)bits);
  return 0;
}
