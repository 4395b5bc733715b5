// Training with Broadloom: logistic regression on handwritten digits, 64 pixels to ten classes.
//
// All of it is done by kernels: one standardises the pixels; one is a step of training, which
// bl::training_step makes of the loss, its gradient and a rule: the weights are states that it
// updates, by momentum or by Adam; one counts right answers. The C++ around them only says which
// memory each call reads and writes.
//
// The 1,797 images (samples/data/README.md) are cut into five folds: fold k is every fifth image
// from the kth on. A fold is a strided view, so nothing is copied. Four folds are the batches of an
// epoch, the fifth is never trained on. Usage: digits_softmax [--epochs N] [--adam] [FOLDER OF THE
// DATA]
#include <broadloom/broadloom.hpp>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

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
  state w  : f32[c=10, p=64]           # for each class the weights of the pixels
  state b  : f32[c=10]
  let z = sum(x * w, p) + b            # a score for each image and class
  let z_label = sum(where(digit == label, z, 0), c)
  out loss : f64 = mean(logsumexp(z, c) - z_label)
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

// Gradient descent with momentum: each state has a speed, which is a state, too.
static void momentum(bl::LoopSpec &step, const bl::Expr &w, const bl::Expr &slope) {
  const std::string name(bl::name(w));
  const bl::Expr speed = bl::state_like("speed_" + name, w);
  const bl::Expr moved = 0.9 * speed - 0.2 * slope;
  step.in(speed).update("speed_" + name, moved).update(name, w + moved);
}

// Adam: running means of the gradient and of its square, which start at 0 and so are too small by 1
// - 0.9^n after n steps.
static void adam(bl::LoopSpec &step, const bl::Expr &w, const bl::Expr &slope) {
  const std::string name(bl::name(w));
  const bl::Expr mean = bl::state_like("mean_" + name, w);
  const bl::Expr square = bl::state_like("square_" + name, w);
  const bl::Expr steps = bl::state("steps_" + name, bl::f32);
  const bl::Expr n = steps + 1, m = 0.9 * mean + 0.1 * slope;
  const bl::Expr v = 0.999 * square + 0.001 * slope * slope;
  const bl::Expr move = (m / (1 - pow(0.9, n))) / (sqrt(v / (1 - pow(0.999, n))) + 1e-8);
  step.in(mean).in(square).in(steps);
  step.update("steps_" + name, n).update("mean_" + name, m).update("square_" + name, v);
  step.update(name, w - 0.02 * move);
}

static const std::int32_t digits[classes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
static const bl::View<const std::int32_t> digit(digits, {classes});

struct Fold {
  bl::View<const float> x;
  bl::View<const std::int32_t> label;
};

static int train(const std::string &folder, int epochs, bool by_adam) {
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
  const bl::LoopSpec derived = bl::training_step(loss, "loss", by_adam ? adam : momentum);
  std::cout << "The loss, its gradient and the updates of the states in one kernel\n"
            << "------------------------------------------------------------------\n"
            << bl::print(derived) << "\n";
  bl::StatefulKernel step(derived); // all states begin as zeros

  const Fold first = fold(0);
  const bl::Array w = step.get("w"), b = step.get("b");
  const bl::GradientCheck check = bl::check_gradient(
      loss, {{"x", first.x}, {"label", first.label}, {"digit", digit}, {"w", w}, {"b", b}},
      {.wrt = {"w", "b"}});
  std::cout << bl::describe(check.worst()) << "\n\n";
  if (!check.passed()) {
    std::cerr << "WRONG: this is not the gradient of the loss\n";
    return 1;
  }

  double loss_now = 0;
  const bl::View<double> loss_out(&loss_now, {});
  const auto start = std::chrono::steady_clock::now();
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    double total = 0;
    for (std::int64_t k = 0; k < batches; ++k) {
      const Fold batch = fold(k);
      step.run({{"x", batch.x}, {"label", batch.label}, {"digit", digit}}, {{"loss", loss_out}});
      total += loss_now;
    }
    std::printf("epoch %2d  loss %.4f\n", epoch, total / batches);
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;

  const bl::Kernel evaluate = bl::compile(bl::parse(text, "evaluate"));
  const Fold test = fold(batches);
  const bl::Results result =
      evaluate({{"x", test.x}, {"label", test.label}, {"w", step.get("w")}, {"b", step.get("b")}});
  std::printf("\n%d epochs in %.1f ms, of these %.1f ms to compile the step\n", epochs,
              took.count(), step.kernel().counters().compile_ms);
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
  bool by_adam = false;
  for (int k = 1; k < argc && epochs >= 0; ++k) {
    const std::string word = argv[k];
    if (word == "--epochs")
      epochs = ++k < argc ? count_in(argv[k]) : -1;
    else if (word == "--adam")
      by_adam = true;
    else if (word.rfind("-", 0) == 0)
      epochs = -1;
    else
      folder = word;
  }
  if (epochs < 0) {
    std::cerr << "usage: digits_softmax [--epochs N] [--adam] [FOLDER OF THE DATA]\n";
    return 2;
  }
  return train(folder, epochs, by_adam);
} catch (const bl::Error &error) {
  std::cerr << error.render();
  return 1;
}
