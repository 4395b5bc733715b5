// Handwritten digits in one kernel with mixed modes: what Broadloom is for, on real data.
//
// 1,797 images of 8x8 pixels (samples/data/README.md). One kernel standardises the 64 pixel columns
// (a full map), averages the standardised images of each class (a fold over the images) and sums
// the squares of all pixels (a fold over everything). The program shows the loop nests that were
// built, checks every output against the slow reference evaluator, prints the ten mean images, and
// times repeated calls. Usage: digits [FOLDER OF THE DATA]
#include <broadloom/broadloom.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <vector>

namespace bl = broadloom;

static const char *const text = R"(
kernel digits {
  in x     : f32[n, p]                 # images by pixels
  in label : i32[n]
  in digit : i32[d]                    # 0 .. 9
  in count : f64                       # number of images
  let mean = sum(x, n) / count
  let variance = sum((x - mean) ^ 2, n) / count
  let z = (x - mean) / sqrt(variance + 1e-3)
  let mine = label == digit            # which images belong to which class: axes n, d
  out standard : f32 = broadcast z
  out class_mean[d, p] : f32 = sum(where(mine, z, 0.0), n) / sum(mine, n)
  out image_energy[n] = reduce(sum) x * x
  out energy[] = reduce(sum) x * x
}
)";

// The largest difference relative to the largest reference value.
static double difference(const bl::Array &got, const bl::Array &want) {
  double worst = 0, scale = 1e-300;
  for (std::int64_t k = 0; k < got.size(); ++k) {
    const bool wide = got.dtype() == bl::f64;
    const double a = wide ? got.data<double>()[k] : got.data<float>()[k];
    const double b = wide ? want.data<double>()[k] : want.data<float>()[k];
    worst = std::max(worst, std::abs(a - b));
    scale = std::max(scale, std::abs(b));
    if (std::isnan(a) != std::isnan(b)) return HUGE_VAL;
  }
  return worst / scale;
}

static void print_image(const float *pixels) {
  for (int row = 0; row < 8; ++row) {
    std::cout << "    ";
    for (int column = 0; column < 8; ++column) {
      const float v = pixels[8 * row + column];
      std::cout << (v > 0.6f ? "##" : v > 0.2f ? "++" : v > -0.2f ? ".." : "  ");
    }
    std::cout << "\n";
  }
}

int main(int argc, char **argv) try {
  const std::string folder = argc > 1 ? argv[1] : BROADLOOM_DATA_DIR;
  const bl::Array images = bl::load_npy(folder + "/digits_images.npy"); // f32 [1797, 8, 8]
  const bl::Array labels = bl::load_npy(folder + "/digits_labels.npy"); // i32 [1797]
  const std::int64_t n = images.shape()[0];
  const bl::View<const float> x(images.data<float>(), {n, 64});
  const bl::View<const std::int32_t> label(labels.data<std::int32_t>(), {n});
  std::int32_t digits[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const bl::View<const std::int32_t> digit(digits, {10});
  const double images_in_all = double(n);
  const bl::View<const double> count(&images_in_all, {});

  std::cout << "The spec\n--------\n" << text << "\n";
  const bl::Kernel kernel = bl::compile(bl::parse(text, "digits", "digits.loom"));
  const bl::Results got = kernel({{"x", x}, {"label", label}, {"digit", digit}, {"count", count}});

  std::cout << "The loops that were built\n-------------------------\n"
            << kernel.show(bl::Stage::loop) << "\n";
  std::cout << "Why\n---\n" << kernel.show(bl::Stage::why) << "\n";

  std::cout << "The mean image of each class, standardised (## well above the average pixel)\n";
  for (int d : {0, 3, 7}) {
    std::cout << "  digit " << d << "\n";
    print_image(got["class_mean"].data<float>() + 64 * d);
  }
  std::cout << "  energy of all images: " << got["energy"].data<float>()[0] << "\n\n";

  const bl::Kernel slow = bl::compile(kernel.spec(), {.engine = bl::Engine::reference});
  const bl::Results want = slow({{"x", x}, {"label", label}, {"digit", digit}, {"count", count}});
  bool right = true;
  std::cout << "Against the reference evaluator (largest relative difference)\n";
  for (const auto &[name, array] : got) {
    const double d = difference(array, want[name]);
    right = right && d <= 1e-6;
    std::printf("  %-13s %.2g\n", name.c_str(), d);
  }
  std::fflush(stdout);

  std::vector<double> times;
  const auto call = kernel.bind({x, label, digit, count}, {got["standard"], got["class_mean"],
                                                           got["image_energy"], got["energy"]});
  for (int k = 0; k < 101; ++k) {
    const auto start = std::chrono::steady_clock::now();
    call();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::sort(times.begin(), times.end());
  std::printf("\nTimes: %.2f ms to compile (once), %.0f us per call (median of %zu; fastest %.0f), "
              "%d threads\n",
              kernel.counters().compile_ms, times[times.size() / 2], times.size(), times[0],
              kernel.threads());
  std::printf("%s\n", right ? "All outputs agree with the reference."
                            : "WRONG: outputs differ from the reference.");
  return right ? 0 : 1;
} catch (const bl::Error &error) {
  std::cerr << error.render();
  return 1;
}
