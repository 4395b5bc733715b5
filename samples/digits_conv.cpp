// A convolutional network on handwritten digits, trained by a derived gradient.
//
// The whole network is one kernel: 16 filters of 3 by 3, relu, the greatest of each 2 by 2 cell, a
// dense layer and the loss. Filters and cells are positions: x[n, 2*i + a + u, 2*j + b + v] is the
// pixel that filter position (u, v) meets at position (a, b) of cell (i, j). bl::gradient derives
// the kernel that the training runs; Adam moves the weights.
//
// Dropout leaves a tenth of the cells out, others in each step. Which ones say random numbers of
// the step and the place, so they are the same on any number of threads, and the gradient has them
// again.
//
// The 1,797 images (samples/data/README.md) lie in a border of zeros. They are cut into five folds,
// every fifth image from the kth on; four are trained on, in batches, and the fifth never.
// Usage: digits_conv [--epochs N] [--drop SHARE] [--threads N] [FOLDER OF THE DATA]
#include <broadloom/broadloom.hpp>

#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace bl = broadloom;

static const char *const text = R"(
kernel loss {
  in x     : f32[:, :, :]              # images of 10 by 10: 8 by 8 and a border of zeros
  in label : i32[n]
  in digit : i32[d]                    # the classes: 0 .. 9
  in cell  : f32[a=2, b=2]             # a cell that is pooled; only its extents matter
  in w     : f32[c, u=3, v=3]
  in bias  : f32[c]
  in dense : f32[d, i, j, c]
  in last  : f32[d]
  in drop  : f64                       # the share of cells that are left out, 0 in the test
  in step  : i64                       # the number of the training step
  let h = sum(x[n, 2*i + a + u, 2*j + b + v] * w, u, v) + bias
  let p = max(relu(h), a, b)
  let place = ((iota(n) * 4 + iota(i)) * 4 + iota(j)) * 16 + iota(c)
  let kept[n, i, j, c] = random(step, place) < drop ? 0 : p * f32(1 / (1 - drop))
  let z = sum(kept * dense, i, j, c) + last
  let z_label = sum(where(digit == label, z, 0), d)
  out loss : f64 = mean(logsumexp(z, d) - z_label)
  out right = mean(argmax(z, d) == label)
}

kernel adam {                          # Kingma and Ba, 2014, algorithm 1; all in place
  in g : f32[k]
  in m : f32[k]
  in s : f32[k]
  in t : f32                           # steps so far, this one included
  let m_new = 0.9 * m + 0.1 * g
  let s_new = 0.999 * s + 0.001 * g * g
  out m_next = m_new
  out s_next = s_new
  out w += -0.003 * (m_new / (1 - 0.9^t)) / (sqrt(s_new / (1 - 0.999^t)) + 1e-8)
}
)";

constexpr std::int64_t side = 8, bordered = side + 2, filters = 16, cells = side / 2, classes = 10;
constexpr std::int64_t folds = 5, batches_of_fold = 4;
constexpr std::int64_t of_w = filters * 9, of_bias = filters,
                       of_dense = classes * cells * cells * filters;
constexpr std::int64_t parameters = of_w + of_bias + of_dense + classes;

// All weights lie one behind the other, so that one update moves them all; so do their gradients.
struct Parameters {
  std::vector<float> all = std::vector<float>(parameters, 0.0f);

  bl::View<float> flat() { return {all.data(), {parameters}}; }
  bl::View<float> w() { return {all.data(), {filters, 3, 3}}; }
  bl::View<float> bias() { return {all.data() + of_w, {filters}}; }
  bl::View<float> dense() {
    return {all.data() + of_w + of_bias, {classes, cells, cells, filters}};
  }
  bl::View<float> last() { return {all.data() + of_w + of_bias + of_dense, {classes}}; }
};

static const std::int32_t digits[classes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
static const bl::View<const std::int32_t> digit(digits, {classes});
static const float cell_of_zeros[4] = {};
static const bl::View<const float> cell(cell_of_zeros, {2, 2});

static void draw(Parameters &weights) {
  std::mt19937 random(1);
  const auto fill = [&](float *first, std::int64_t count, double inputs) {
    std::normal_distribution<float> normal(0, float(std::sqrt(2 / inputs)));
    for (std::int64_t k = 0; k < count; ++k) first[k] = normal(random);
  };
  fill(weights.all.data(), of_w, 9);
  fill(weights.all.data() + of_w + of_bias, of_dense, double(cells * cells * filters));
}

static int train(const std::string &folder, int epochs, double drop, int threads) {
  const bl::Array images = bl::load_npy(folder + "/digits_images.npy"); // f32 [1797, 8, 8], 0 to 16
  const bl::Array labels = bl::load_npy(folder + "/digits_labels.npy"); // i32 [1797]
  if (images.size() != side * side * labels.size()) {
    std::cerr << folder << " does not hold images of 8 by 8 with a label each\n";
    return 1;
  }
  const std::int64_t count = images.shape()[0], rounds = count / folds;
  std::vector<float> pixels(std::size_t(count * bordered * bordered), 0.0f);
  for (std::int64_t n = 0; n < count; ++n)
    for (std::int64_t i = 0; i < side; ++i)
      for (std::int64_t j = 0; j < side; ++j)
        pixels[std::size_t((n * bordered + i + 1) * bordered + j + 1)] =
            images.data<float>()[(n * side + i) * side + j] / 16;
  // A part of the kth fold: every so manyth image of it.
  struct Batch {
    bl::View<const float> x;
    bl::View<const std::int32_t> label;
  };
  const auto batch = [&](std::int64_t fold, std::int64_t part, std::int64_t parts) -> Batch {
    const std::int64_t first = fold + part * folds, step = folds * parts;
    const std::int64_t images_of_part = rounds / parts;
    return {{pixels.data() + first * bordered * bordered,
             {images_of_part, bordered, bordered},
             {step * bordered * bordered, bordered, 1}},
            {labels.data<std::int32_t>() + first, {images_of_part}, {step}}};
  };

  const bl::LoopSpec network = bl::parse(text, "loss");
  const bl::LoopSpec derived =
      bl::gradient(network, {"w", "bias", "dense", "last"}, {.of = {"loss"}, .value = true});
  std::cout << "The network and its gradient in one kernel, derived from the network\n"
            << "--------------------------------------------------------------------\n"
            << bl::print(derived) << "\n";
  const bl::Kernel gradient = bl::compile(derived, {.threads = threads}),
                   adam = bl::compile(bl::parse(text, "adam"));

  Parameters now, slope, m, s;
  draw(now);
  double loss_now = 0;
  double right_now = 0;
  float steps = 0;
  std::int64_t step = 0;
  const double one = 1; // how much the loss changes with itself
  std::vector<bl::BoundCall> of_batch;
  for (std::int64_t fold = 0; fold + 1 < folds; ++fold)
    for (std::int64_t part = 0; part < batches_of_fold; ++part) {
      const Batch b = batch(fold, part, batches_of_fold);
      of_batch.push_back(
          gradient.bind({b.x, b.label, digit, cell, now.w(), now.bias(), now.dense(), now.last(),
                         bl::View<const double>(&drop, {}), bl::View<const std::int64_t>(&step, {}),
                         bl::View<const double>(&one, {})},
                        {bl::View<double>(&loss_now, {}), bl::View<double>(&right_now, {}),
                         slope.w(), slope.bias(), slope.dense(), slope.last()}));
    }
  const bl::BoundCall move =
      adam.bind({slope.flat(), m.flat(), s.flat(), bl::View<const float>(&steps, {})},
                {m.flat(), s.flat(), now.flat()});

  const auto start = std::chrono::steady_clock::now();
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    double total = 0;
    for (const bl::BoundCall &call : of_batch) {
      call();
      ++steps, ++step;
      move();
      total += loss_now;
    }
    if (epoch % 5 == 0 || epoch == 1)
      std::printf("epoch %2d  loss %.4f\n", epoch, total / double(of_batch.size()));
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;

  const double drop_none = 0;
  const Batch test = batch(folds - 1, 0, 1);
  const bl::Results result =
      bl::compile(network)({{"x", test.x},
                            {"label", test.label},
                            {"digit", digit},
                            {"cell", cell},
                            {"w", now.w()},
                            {"bias", now.bias()},
                            {"dense", now.dense()},
                            {"last", now.last()},
                            {"drop", bl::View<const double>(&drop_none, {})},
                            {"step", bl::View<const std::int64_t>(&step, {})}});
  std::printf("\n%d epochs in %.0f ms, after %.0f ms to compile the gradient\n", epochs,
              took.count(), gradient.counters().compile_ms);
  std::printf("test accuracy: %.2f %% of %d images never trained on\n",
              100 * result["right"].data<double>()[0], int(rounds));
  std::uint32_t bits = 0; // of all weights
  for (const float weight : now.all) bits = bits * 31 + std::bit_cast<std::uint32_t>(weight);
  std::printf("the weights' bits, in one number: %08x\n", bits);
  return 0;
}

// A number that is the whole word and not negative, else -1.
template <class T> static T number_in(const std::string &word) {
  T number = -1;
  const char *end = word.data() + word.size();
  return std::from_chars(word.data(), end, number).ptr == end && number >= 0 ? number : -1;
}

int main(int argc, char **argv) try {
  std::string folder = BROADLOOM_DATA_DIR;
  int epochs = 30, threads = 0;
  double drop = 0.1;
  for (int k = 1; k < argc && epochs >= 0; ++k) {
    const std::string word = argv[k], value = k + 1 < argc ? argv[k + 1] : "";
    if (word == "--epochs")
      epochs = number_in<int>(value), ++k;
    else if (word == "--threads")
      threads = number_in<int>(value), ++k;
    else if (word == "--drop")
      drop = number_in<double>(value), ++k;
    else if (word.rfind("-", 0) == 0)
      epochs = -1;
    else
      folder = word;
  }
  if (epochs < 0 || threads < 0 || !(drop >= 0 && drop < 1)) {
    std::cerr
        << "usage: digits_conv [--epochs N] [--drop SHARE] [--threads N] [FOLDER OF THE DATA]\n";
    return 2;
  }
  return train(folder, epochs, drop, threads);
} catch (const bl::Error &error) {
  std::cerr << error.render();
  return 1;
}
