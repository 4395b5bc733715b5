// Training on a GPU: a network with a hidden layer learns handwritten digits, and all that it needs
// lies in the device's memory.
//
// The images go there once; folds are views of them. A step of training is one kernel, whose states
// are arrays of the device: inputs of one call, and as outputs of it those of the next. Nothing
// comes back but the loss of each epoch, and the weights at the end. Then this processor learns the
// same once more: its weights have the same bits.
//
// Without a GPU the same runs, for an epoch, on the device "played", which is this processor doing
// as a GPU would.
// Usage: digits_device [--device NAME] [--epochs N] [FOLDER OF THE DATA]
#include <broadloom/broadloom.hpp>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>
#include <random>
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
  state w  : f32[h=16, p=64]
  state b  : f32[h=16]
  state v  : f32[c=10, h=16]
  let hidden = relu(sum(x * w, p) + b)
  let z = sum(hidden * v, h)           # a score for each image and class
  let z_label = sum(where(digit == label, z, 0), c)
  out loss : f64 = mean(logsumexp(z, c) - z_label)
}

kernel evaluate {
  in x     : f32[n, p]
  in label : i32[n]
  in w     : f32[h, p]
  in b     : f32[h]
  in v     : f32[c, h]
  let hidden = relu(sum(x * w, p) + b)
  out right = mean(argmax(sum(hidden * v, h), c) == label)
}
)";

constexpr std::int64_t pixels = 64, folds = 5, batches = folds - 1;

// Gradient descent with momentum: each state has a speed, which is a state, too.
static void momentum(bl::LoopSpec &step, const bl::Expr &w, const bl::Expr &slope) {
  const std::string name(bl::name(w));
  const bl::Expr speed = bl::state_like("speed_" + name, w);
  const bl::Expr moved = 0.9 * speed - 0.2 * slope;
  step.in(speed).update("speed_" + name, moved).update(name, w + moved);
}

// Where arrays lie and kernels run: on a device, or without one in this process.
class Place {
public:
  Place() = default;
  explicit Place(const bl::Device &device) : device_(device) {}
  bl::Options options() const { return {.device = device_ ? device_->name() : ""}; }
  bl::Array put(const bl::AnyView &array) const {
    return device_ ? device_->to_device(array)
                   : bl::Array({}, array.dtype, array.data, array.layout).copy();
  }
  bl::Array take(const bl::Array &array) const { return device_ ? device_->to_host(array) : array; }

private:
  std::optional<bl::Device> device_;
};

struct Data {
  bl::Array images, labels; // f32 [1797, 8, 8] and i32 [1797]
};

struct Learned {
  std::map<std::string, bl::Array> states; // in this process's memory
  double right = 0;                        // of the images that were never trained on
};

// States as they begin: weights are drawn, always the same ones, and all else is 0.
static std::map<std::string, bl::Array> first_states(const bl::Kernel &step, const Place &place) {
  std::mt19937 bits(1);
  std::map<std::string, bl::Array> states;
  for (const bl::InputInfo &input : step.inputs()) {
    if (input.role != bl::InputRole::state) continue;
    bl::Array state(input.dtype, input.extents);
    for (std::int64_t k = 0; (input.name == "w" || input.name == "v") && k < state.size(); ++k)
      state.data<float>()[k] = 0.2f * (float(double(bits()) * 0x1p-31) - 1);
    states[input.name] = place.put(state);
  }
  return states;
}

static Learned learn(const Data &data, const Place &place, int epochs, bool says) {
  const std::int64_t rounds = data.images.shape()[0] / folds; // 359; two images are left
  const std::int32_t classes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const bl::Array images = place.put(data.images), labels = place.put(data.labels),
                  digit = place.put(bl::View<const std::int32_t>(classes));
  const bl::View<const float> seen(images.data<float>(), {rounds, batches, pixels},
                                   {folds * pixels, pixels, 1});
  const bl::View<const float> all(images.data<float>(), {rounds * folds, pixels});
  const bl::Array z = bl::compile(bl::parse(text, "standardise"),
                                  place.options())({{"seen", seen}, {"x", all}})["z"];
  // Every fifth image from the kth on: nothing is copied.
  const auto inputs_of = [&](std::int64_t k) -> std::vector<bl::NamedView> {
    return {{"x", bl::View<const float>(z.data<float>() + k * pixels, {rounds, pixels},
                                        {folds * pixels, 1})},
            {"label",
             bl::View<const std::int32_t>(labels.data<std::int32_t>() + k, {rounds}, {folds})}};
  };

  const bl::Kernel step =
      bl::compile(bl::training_step(bl::parse(text, "loss"), "loss", momentum), place.options());
  std::map<std::string, bl::Array> states = first_states(step, place);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    std::vector<bl::Array> losses; // there: nobody waits for them yet
    for (std::int64_t k = 0; k < batches; ++k) {
      std::vector<bl::NamedView> inputs = inputs_of(k);
      inputs.push_back({"digit", digit});
      for (const auto &[name, state] : states) inputs.push_back({name, state});
      const bl::Results after = step.call(inputs);
      for (auto &[name, state] : states) state = after[name];
      losses.push_back(after["loss"]);
    }
    double total = 0;
    for (const bl::Array &loss : losses) total += place.take(loss).at();
    if (says) std::printf("epoch %2d  loss %.4f\n", epoch, total / batches);
  }

  std::vector<bl::NamedView> inputs = inputs_of(batches);
  for (const char *name : {"w", "b", "v"}) inputs.push_back({name, states.at(name)});
  Learned learned;
  learned.right =
      place.take(bl::compile(bl::parse(text, "evaluate"), place.options()).call(inputs)["right"])
          .at();
  for (const auto &[name, state] : states) learned.states[name] = place.take(state).copy();
  return learned;
}

// The device of this name; without a name a GPU, or where there is none the one that is played.
static bl::Device open(const std::string &name) {
  if (!name.empty()) return bl::Device(name); // throws where there is none
  try {
    return bl::Device("cuda");
  } catch (const bl::CompileError &error) {
    std::cout << "NOT ON A GPU: " << error.message()
              << "\nThe device \"played\" takes its place, which is slow.\n";
    return bl::Device("played");
  }
}

static int run(const std::string &folder, const std::string &name, int epochs) {
  const Data data{bl::load_npy(folder + "/digits_images.npy"),
                  bl::load_npy(folder + "/digits_labels.npy")};
  if (data.images.size() != pixels * data.labels.size()) {
    std::cerr << folder << " does not hold images of 64 pixels with a label each\n";
    return 1;
  }
  const bl::Device device = open(name);
  if (epochs == 0) epochs = device.name() == "played" ? 1 : 30;
  std::cout << "device: " << device.description() << "\n";
  const auto timed = [&](const Place &place, bool says) {
    const auto start = std::chrono::steady_clock::now();
    Learned learned = learn(data, place, epochs, says);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return std::pair(std::move(learned), took.count());
  };
  const auto [there, there_s] = timed(Place(device), true);
  const auto [here, here_s] = timed(Place(), false);
  std::printf("test accuracy: %.2f %% of the images never trained on\n", 100 * there.right);
  std::printf("with compiling: %.2f s there, %.2f s on this processor\n", there_s, here_s);
  std::int64_t numbers = 0;
  for (const auto &[state, array] : there.states) {
    const bl::Array &own = here.states.at(state);
    numbers += array.size();
    if (std::memcmp(array.raw(), own.raw(), std::size_t(array.size()) * sizeof(float)) == 0)
      continue;
    std::cerr << "WRONG: '" << state << "' has other bits than on this processor\n";
    return 1;
  }
  std::printf("All %d numbers that it learned have the bits of this processor's.\n", int(numbers));
  return 0;
}

int main(int argc, char **argv) try {
  std::string folder = BROADLOOM_DATA_DIR, device;
  int epochs = 0; // as many as fit the device
  bool understood = true;
  for (int k = 1; k < argc && understood; ++k) {
    const std::string word = argv[k];
    if (word.rfind("-", 0) != 0) {
      folder = word;
    } else if (word == "--device" && k + 1 < argc) {
      device = argv[++k];
    } else if (word == "--epochs" && k + 1 < argc) {
      const std::string number = argv[++k];
      const char *end = number.data() + number.size();
      understood = std::from_chars(number.data(), end, epochs).ptr == end && epochs > 0;
    } else {
      understood = false;
    }
  }
  if (!understood) {
    std::cerr << "usage: digits_device [--device NAME] [--epochs N] [FOLDER OF THE DATA]\n";
    return 2;
  }
  return run(folder, device, epochs);
} catch (const bl::Error &error) {
  std::cerr << error.render();
  return 1;
}
