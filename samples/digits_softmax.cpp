// Training with Broadloom: logistic regression on handwritten digits, 64 pixels to ten classes.
//
// All of it is done by kernels: one standardises the pixels, one is the loss, from which
// bl::gradient derives the kernel of its gradient, one moves the weights, one counts right answers. The
// C++ around them only says which memory each call reads and writes.
//
// The 1,797 images (samples/data/README.md) are cut into five folds: fold k is every fifth image from
// the kth on. A fold is a strided view, so nothing is copied. Four folds are the batches of an epoch,
// the fifth is never trained on. Usage: digits_softmax [--epochs N] [FOLDER OF THE DATA]
#include <broadloom/broadloom.hpp>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

namespace bl = broadloom;

static const char *const text = R"(
kernel standardise {                   # each pixel: what is usual for it, over the images seen
  in seen : f32[r, k, p]               # the training images: rounds of five, folds, pixels
  in x    : f32[n, p]                  # all images
  out z = (x - mean(seen, r, k)) / (std(seen, r, k) + 1)
}

kernel loss {
  in x     : f32[n, p]                 # images by pixels
  in label : i32[n]
  in digit : i32[c]                    # the classes: 0 .. 9
  in w     : f32[c, p]                 # for each class the weights of the pixels
  in b     : f32[c]
  let z = sum(x * w, p) + b            # a score for each image and class
  let z_label = sum(where(digit == label, z, 0), c)
  out loss : f64 = mean(logsumexp(z, c) - z_label)
}

kernel update {                        # gradient descent with momentum, in place
  in d : f32[i]                        # the gradient
  in v : f32[i]
  let moved = 0.9 * v - 0.2 * d
  out v_new = moved
  out w += moved
}

kernel evaluate {
  in x     : f32[n, p]
  in label : i32[n]
  in w     : f32[c, p]
  in b     : f32[c]
  let answer = argmax(sum(x * w, p) + b, c)
  out right = mean(answer == label)    # the share of right answers
}
)";

constexpr std::int64_t pixels = 64, classes = 10, folds = 5, batches = folds - 1;
constexpr std::int64_t parameters = classes * pixels + classes;

// Weights and biases lie one behind the other, so that one update moves both; so does their gradient.
struct Parameters {
  std::vector<float> all = std::vector<float>(parameters, 0.0f);

  bl::View<float> flat() { return {all.data(), {parameters}}; }
  bl::View<float> w() { return {all.data(), {classes, pixels}}; }
  bl::View<float> b() { return {all.data() + classes * pixels, {classes}}; }
};

static const std::int32_t digits[classes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
static const bl::View<const std::int32_t> digit(digits, {classes});

struct Fold {
  bl::View<const float> x;
  bl::View<const std::int32_t> label;
};

// Is d the gradient at these parameters? Along d the loss must rise by |d|^2 for each unit of the way:
// the difference between half a small step forth and half a step back tells.
static bool is_gradient(const bl::Kernel &loss, const Fold &batch, const Parameters &at,
                        const Parameters &d) {
  double square = 0, change = 0;
  for (const float slope : d.all) square += double(slope) * slope;
  const double h = 0.01;
  for (const double side : {0.5, -0.5}) {
    Parameters moved = at;
    for (std::int64_t i = 0; i < parameters; ++i) moved.all[i] += float(side * h * d.all[i]);
    const bl::Results r = loss({{"x", batch.x},
                                {"label", batch.label},
                                {"digit", digit},
                                {"w", moved.w()},
                                {"b", moved.b()}});
    change += r["loss"].data<double>()[0] * (side > 0 ? 1 : -1);
  }
  std::printf("Along its gradient the loss rises by %.6f: %.6f by differences\n\n", square,
              change / h);
  return std::abs(change / h - square) <= 1e-3 * square;
}

static int train(const std::string &folder, int epochs) {
  const bl::Array images = bl::load_npy(folder + "/digits_images.npy"); // f32 [1797, 8, 8]
  const bl::Array labels = bl::load_npy(folder + "/digits_labels.npy"); // i32 [1797]
  if (images.size() != pixels * labels.size()) {
    std::cerr << folder << " does not hold images of 64 pixels with a label each\n";
    return 1;
  }
  const std::int64_t rounds = images.shape()[0] / folds; // 359; two images are left
  const std::int64_t used = rounds * folds;

  const bl::Kernel standardise = bl::compile(bl::parse(text, "standardise"));
  const bl::View<const float> all(images.data<float>(), {used, pixels});
  const bl::View<const float> seen(images.data<float>(), {rounds, batches, pixels},
                                   {folds * pixels, pixels, 1});
  const bl::Results standard = standardise({{"seen", seen}, {"x", all}});
  const auto fold = [&](std::int64_t k) -> Fold {
    return {{standard["z"].data<float>() + k * pixels, {rounds, pixels}, {folds * pixels, 1}},
            {labels.data<std::int32_t>() + k, {rounds}, {folds}}};
  };

  const bl::LoopSpec loss = bl::parse(text, "loss");
  const bl::LoopSpec derived = bl::gradient(loss, {"w", "b"}, {.of = {"loss"}, .value = true});
  std::cout << "The loss and its gradient in one kernel, derived from the loss\n"
            << "--------------------------------------------------------------\n"
            << bl::print(derived) << "\n";
  const bl::Kernel gradient = bl::compile(derived), update = bl::compile(bl::parse(text, "update"));

  Parameters now, slope, speed;
  double loss_now = 0;
  const double one = 1; // how much the loss changes with itself
  const bl::View<double> loss_out(&loss_now, {});
  std::vector<bl::BoundCall> of_batch;
  for (std::int64_t k = 0; k < batches; ++k) {
    const Fold batch = fold(k);
    of_batch.push_back(gradient.bind(
        {batch.x, batch.label, digit, now.w(), now.b(), bl::View<const double>(&one, {})},
        {loss_out, slope.w(), slope.b()}));
  }
  const bl::BoundCall move = update.bind({slope.flat(), speed.flat()}, {speed.flat(), now.flat()});

  of_batch[0]();
  if (!is_gradient(bl::compile(loss), fold(0), now, slope)) {
    std::cerr << "WRONG: this is not the gradient of the loss\n";
    return 1;
  }

  const auto start = std::chrono::steady_clock::now();
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    double total = 0;
    for (const bl::BoundCall &batch : of_batch) {
      batch();
      move();
      total += loss_now;
    }
    std::printf("epoch %2d  loss %.4f\n", epoch, total / batches);
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;

  const bl::Kernel evaluate = bl::compile(bl::parse(text, "evaluate"));
  const Fold test = fold(batches);
  const bl::Results result =
      evaluate({{"x", test.x}, {"label", test.label}, {"w", now.w()}, {"b", now.b()}});
  std::printf("\n%d epochs in %.1f ms, after %.1f ms to compile the gradient\n", epochs,
              took.count(), gradient.counters().compile_ms);
  std::printf("test accuracy: %.2f %% of %d images never trained on\n",
              100 * result["right"].data<double>()[0], int(rounds));
  return 0;
}

// A number that is the whole word and not negative, else -1.
static int count_in(const std::string &word) {
  int count = -1;
  const char *end = word.data() + word.size();
  return std::from_chars(word.data(), end, count).ptr == end && count >= 0 ? count : -1;
}

int main(int argc, char **argv) try {
  std::string folder = BROADLOOM_DATA_DIR;
  int epochs = 30;
  for (int k = 1; k < argc && epochs >= 0; ++k) {
    const std::string word = argv[k];
    if (word == "--epochs")
      epochs = ++k < argc ? count_in(argv[k]) : -1;
    else if (word.rfind("-", 0) == 0)
      epochs = -1;
    else
      folder = word;
  }
  if (epochs < 0) {
    std::cerr << "usage: digits_softmax [--epochs N] [FOLDER OF THE DATA]\n";
    return 2;
  }
  return train(folder, epochs);
} catch (const bl::Error &error) {
  std::cerr << error.render();
  return 1;
}
