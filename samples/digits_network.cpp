// A convolutional network with batch normalisation: trained in one kernel, frozen, and its
// normalisation folded away.
//
//   train    3 by 3 filters over padded images, normalised by the batch, relu, the greatest of each
//            2 by 2 cell; normalised again, filters over that, padded, relu; a dense layer, the
//            loss. bl::training_step adds the gradient and Adam's updates of the states, and
//            running means of what the batches were normalised by
//   answer   the same with these running means as parameters: `set scales = fold` moves both
//            normalisations into filters and biases, the one behind its layer and the one before,
//            and freezing computes those once
//
// Layers are lets: h[n, i, j, c] is an array, read at positions by the next one. The images are
// those of digits_conv.cpp. Usage: digits_network [--epochs N] [FOLDER OF THE DATA]
#include <broadloom/broadloom.hpp>

#include <algorithm>
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
kernel train {
  in x     : f32[:, :, :]              # images of 8 by 8
  in label : i32[n]
  in digit : i32[d]                    # the classes: 0 .. 9
  state w     : f32[c=16, u=3, v=3]
  state gamma : f32[c=16]
  state beta  : f32[c=16]
  state w2    : f32[u=3, v=3, c=16, e=16]
  state gamma2 : f32[c=16]
  state beta2  : f32[c=16]
  state dense : f32[d=10, i=4, j=4, e=16]
  state last  : f32[d=10]
  let h[n, p, q, c] = sum(pad(x, 1: (1, 1), 2: (1, 1))[n, p + u, q + v] * w, u, v)
  let m = mean(h, n, p, q)
  let s = var(h, n, p, q)
  let r[n, p, q, c] = relu((h - m) / sqrt(s + 1e-3) * gamma + beta)
  let top = maximum(r[n, 2*i, 2*j, c], r[n, 2*i, 2*j + 1, c])
  let low = maximum(r[n, 2*i + 1, 2*j, c], r[n, 2*i + 1, 2*j + 1, c])
  let g[n, i, j, c] = maximum(top, low)
  let m2 = mean(g, n, i, j)
  let s2 = var(g, n, i, j)
  let f[n, i, j, c] = (g - m2) / sqrt(s2 + 1e-3) * gamma2 + beta2
  let r2 = relu(sum(pad(f, 1: (1, 1), 2: (1, 1))[n, i + u, j + v, c] * w2, u, v, c))
  let z = sum(r2 * dense, i, j, e) + last
  let z_label = sum(where(digit == label, z, 0), d)
  out loss : f64 = mean(logsumexp(z, d) - z_label)
  out batch_mean = m
  out batch_var = s
  out batch_mean2 = m2
  out batch_var2 = s2
}

kernel answer {
  set scales = fold
  in x     : f32[:, :, :]
  param w     : f32[c=16, u=3, v=3]
  param gamma : f32[c=16]
  param beta  : f32[c=16]
  param m     : f32[c=16]
  param s     : f32[c=16] >= 0
  param w2    : f32[u=3, v=3, c=16, e=16]
  param gamma2 : f32[c=16] != 0
  param beta2  : f32[c=16]
  param m2     : f32[c=16]
  param s2     : f32[c=16] >= 0
  param dense : f32[d=10, i=4, j=4, e=16]
  param last  : f32[d=10]
  let r[n, p, q, c] = relu((sum(pad(x, 1: (1, 1), 2: (1, 1))[n, p + u, q + v] * w, u, v) - m) / sqrt(s + 1e-3) * gamma + beta)
  let top = maximum(r[n, 2*i, 2*j, c], r[n, 2*i, 2*j + 1, c])
  let low = maximum(r[n, 2*i + 1, 2*j, c], r[n, 2*i + 1, 2*j + 1, c])
  let f[n, i, j, c] = (maximum(top, low) - m2) / sqrt(s2 + 1e-3) * gamma2 + beta2
  let r2 = relu(sum(pad(f, 1: (1, 1), 2: (1, 1))[n, i + u, j + v, c] * w2, u, v, c))
  let z = sum(r2 * dense, i, j, e) + last
  out score[n, d] = z
  out digit[n] = argmax(z, d)
}
)";

constexpr std::int64_t side = 8, classes = 10, folds = 5, batches_of_fold = 4;
static const std::int32_t digits[classes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

// Kingma and Ba, 2014, algorithm 1. The running means start at 0, and so are too small by 1 - 0.9^n
// after n steps.
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
  step.update(name, w - 0.004 * move);
}

static bl::Array random_array(std::vector<std::int64_t> shape, double scale, std::mt19937 &bits) {
  bl::Array array(bl::f32, std::move(shape));
  for (std::int64_t k = 0; k < array.size(); ++k) // the same numbers with every standard library
    array.data<float>()[k] = float(scale * (double(bits()) / 4294967296.0 * 2 - 1));
  return array;
}

static double greatest_difference(const bl::Array &a, const bl::Array &b) {
  const bl::Array x = a.copy(), y = b.copy();
  double most = 0;
  for (std::int64_t k = 0; k < x.size(); ++k)
    if (const double apart = std::abs(double(x.data<float>()[k]) - double(y.data<float>()[k]));
        !(apart <= most)) // a NaN, too
      most = apart;
  return most;
}

static double milliseconds(const bl::BoundCall &call) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int k = 0; k < 31; ++k) {
    const auto start = Clock::now();
    call();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + 15, times.end());
  return times[15];
}

static int run(const std::string &folder, int epochs) {
  const bl::Array images = bl::load_npy(folder + "/digits_images.npy"); // f32 [1797, 8, 8]
  const bl::Array labels = bl::load_npy(folder + "/digits_labels.npy"); // i32 [1797]
  if (images.size() != side * side * labels.size()) {
    std::cerr << folder << " does not hold images of 8 by 8 with a label each\n";
    return 1;
  }
  const std::int64_t rounds = images.shape()[0] / folds;
  constexpr std::int64_t image = side * side;
  // Every fifth image from the kth on; of a fold every fourth, from the bth on: views, nothing is
  // copied.
  const auto view_of = [&](std::int64_t first, std::int64_t step, std::int64_t count) {
    return bl::View<const float>(images.data<float>() + first * image, {count, side, side},
                                 {step * image, side, 1});
  };
  const auto labels_of = [&](std::int64_t first, std::int64_t step, std::int64_t count) {
    return bl::View<const std::int32_t>(labels.data<std::int32_t>() + first, {count}, {step});
  };

  bl::StatefulKernel step(bl::training_step(bl::parse(text, "train"), "loss", adam));
  std::mt19937 bits(1);
  step.set("w", random_array({16, 3, 3}, 0.05, bits));
  step.set("w2", random_array({3, 3, 16, 16}, 0.1, bits));
  step.set("dense", random_array({10, 4, 4, 16}, 0.05, bits));
  bl::Array ones(bl::f32, {16});
  std::fill_n(ones.data<float>(), 16, 1.0f);
  step.set("gamma", ones);
  step.set("gamma2", ones);

  double loss = 0, decay = 0;
  struct Running { // mean of what the batches have
    std::string name;
    bl::Array batch = bl::Array(bl::f32, {16}), mean = bl::Array(bl::f32, {16});
  };
  std::vector<Running> running{{"batch_mean"}, {"batch_var"}, {"batch_mean2"}, {"batch_var2"}};
  const bl::View<const std::int32_t> classes_view(digits, {classes});
  const std::int64_t in_batch = rounds / batches_of_fold;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    double total = 0;
    for (std::int64_t k = 0; k + 1 < folds; ++k)
      for (std::int64_t b = 0; b < batches_of_fold; ++b) {
        const std::int64_t first = k + b * folds, apart = folds * batches_of_fold;
        step.run({{"x", view_of(first, apart, in_batch)},
                  {"label", labels_of(first, apart, in_batch)},
                  {"digit", classes_view}},
                 {{"loss", bl::View<double>(&loss, {})},
                  {running[0].name, running[0].batch},
                  {running[1].name, running[1].batch},
                  {running[2].name, running[2].batch},
                  {running[3].name, running[3].batch}});
        total += loss;
        decay = decay * 0.9 + 0.1; // so that the first batches count as much as they should
        for (Running &of : running)
          for (int c = 0; c < 16; ++c)
            of.mean.data<float>()[c] =
                0.9f * of.mean.data<float>()[c] + 0.1f * of.batch.data<float>()[c];
      }
    if (epoch % 5 == 0 || epoch == epochs)
      std::printf("epoch %2d  loss %.4f\n", epoch, total / double((folds - 1) * batches_of_fold));
  }
  for (Running &of : running)
    for (int c = 0; c < 16; ++c) of.mean.data<float>()[c] = float(of.mean.data<float>()[c] / decay);

  const bl::LoopSpec answer = bl::parse(text, "answer");
  std::cout << "\nThe network as it is written\n----------------------------\n"
            << bl::print(answer) << "\nIts normalisations folded away\n"
            << "------------------------------\n"
            << bl::print(bl::fold_scales(answer)) << "\n";

  const bl::Array w = step.get("w"), gamma = step.get("gamma"), beta = step.get("beta"),
                  w2 = step.get("w2"), gamma2 = step.get("gamma2"), beta2 = step.get("beta2"),
                  dense = step.get("dense"), last = step.get("last");
  const std::vector<bl::NamedView> parameters{{"w", w},
                                              {"gamma", gamma},
                                              {"beta", beta},
                                              {"m", running[0].mean},
                                              {"s", running[1].mean},
                                              {"w2", w2},
                                              {"gamma2", gamma2},
                                              {"beta2", beta2},
                                              {"m2", running[2].mean},
                                              {"s2", running[3].mean},
                                              {"dense", dense},
                                              {"last", last}};
  const bl::View<const float> test = view_of(folds - 1, folds, rounds);
  const bl::Kernel unfolded = bl::compile(bl::LoopSpec(answer).scales(bl::Scales::keep));
  const bl::Kernel folded = bl::compile(answer).freeze(parameters);
  std::vector<bl::NamedView> all = parameters;
  all.push_back({"x", test});
  const bl::Results before = unfolded.call(all), after = folded({{"x", test}});
  const double apart = greatest_difference(before["score"], after["score"]);
  const bl::Array found = after["digit"].copy(), wanted = bl::Array(labels);
  std::int64_t right = 0;
  for (std::int64_t k = 0; k < rounds; ++k)
    right += found.data<std::int64_t>()[k] ==
             std::int64_t(wanted.data<std::int32_t>()[k * folds + folds - 1]);
  std::printf("test accuracy: %.2f %% of %d images never trained on\n",
              100.0 * double(right) / double(rounds), int(rounds));
  std::printf("scores before and after folding: at most %.1e apart\n", apart);

  bl::Array score(bl::f32, {rounds, classes}), digit(bl::i64, {rounds});
  const double slow =
      milliseconds(unfolded.bind_named(all, {{{"score", score}, {"digit", digit}}}));
  const double fast =
      milliseconds(folded.bind({{"x", test}}, {{"score", score}, {"digit", digit}}));
  std::printf("%d images: %.3f ms as written, %.3f ms frozen and folded\n", int(rounds), slow,
              fast);
  if (!(apart <= 1e-4)) {
    std::cerr << "WRONG: folding changed the scores\n";
    return 1;
  }
  return 0;
}

int main(int argc, char **argv) try {
  int epochs = 30;
  std::string folder = BROADLOOM_DATA_DIR;
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    if (argument == "--epochs" && k + 1 < argc) {
      const std::string number = argv[++k];
      const char *end = number.data() + number.size();
      const auto read = std::from_chars(number.data(), end, epochs);
      if (read.ec != std::errc() || read.ptr != end || epochs < 1) {
        std::cerr << "--epochs takes a number of 1 or more, not '" << number << "'\n";
        return 2;
      }
    } else {
      folder = argument;
    }
  }
  return run(folder, epochs);
} catch (const bl::Error &error) {
  std::cerr << error.render() << "\n";
  return 1;
}
