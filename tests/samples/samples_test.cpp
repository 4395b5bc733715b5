// The samples are programs for readers; here they are run as they stand.
#include "tests/places.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

struct Ran {
  int status;
  std::string output;
};

Ran run(const std::string &name) {
  FILE *pipe = popen((std::string(BROADLOOM_SAMPLES_DIR) + "/" + name + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), n);
  return {pclose(pipe), output};
}

bool has(const Ran &ran, const std::string &text) {
  return ran.output.find(text) != std::string::npos;
}

// The numbers that stand behind each occurrence of a text.
std::vector<double> numbers_after(const Ran &ran, const std::string &text) {
  std::vector<double> numbers;
  for (std::size_t at = ran.output.find(text); at != std::string::npos;
       at = ran.output.find(text, at + 1))
    numbers.push_back(std::strtod(ran.output.c_str() + at + text.size(), nullptr));
  return numbers;
}

} // namespace

TEST_CASE("the digits sample standardises, folds by class and agrees with the reference") {
  const Ran ran = run("digits");
  CAPTURE(ran.output);
  CHECK(ran.status == 0);
  CHECK(has(ran, "All outputs agree with the reference."));
  CHECK(has(ran, "parallel for"));
  CHECK(
      has(ran, "energy of all images: 6.90701e+06")); // the sum of all squared pixels, exact in f64
}

TEST_CASE("the softmax sample checks its gradient, its loss falls and it knows most test digits") {
  for (const std::string rule : {"", " --adam"}) {
    const Ran ran = run("digits_softmax --epochs 10" + rule);
    CAPTURE(ran.output);
    CHECK(ran.status == 0);
    CHECK(has(ran, "kernel loss_step {"));
    CHECK(has(ran, rule.empty() ? "update speed_w = " : "update square_w = "));
    const std::vector<double> losses = numbers_after(ran, "  loss ");
    REQUIRE(losses.size() == 10);
    CHECK(losses[0] < 2.4); // ln 10 is that of guessing
    for (std::size_t epoch = 1; epoch < losses.size(); ++epoch)
      CHECK(losses[epoch] < losses[epoch - 1]);
    const std::vector<double> accuracy = numbers_after(ran, "test accuracy: ");
    REQUIRE(accuracy.size() == 1);
    CHECK(accuracy[0] > 93);
  }
}

TEST_CASE(
    "the network sample learns the digits, and its folded normalisation gives the same scores") {
  const Ran ran = run("digits_network --epochs 12");
  CAPTURE(ran.output);
  CHECK(ran.status == 0);
  CHECK(has(ran, "Its normalisations folded away"));
  const std::vector<double> accuracy = numbers_after(ran, "test accuracy: ");
  REQUIRE(accuracy.size() == 1);
  CHECK(accuracy[0] > 98);
  const std::vector<double> apart = numbers_after(ran, "at most ");
  REQUIRE(apart.size() == 1);
  CHECK(apart[0] < 1e-5);
}

TEST_CASE("the device sample learns on the device that is played what this processor learns, to "
          "the bit, and says where it runs") {
  const Ran ran = run("digits_device --epochs 1");
  CAPTURE(ran.output);
  CHECK(ran.status == 0);
  CHECK((has(ran, "NOT ON A GPU: ") == has(ran, "device: played")));
  CHECK((has(ran, "device: played") || has(ran, "device: cuda:")));
  CHECK(has(ran, "numbers that it learned have the bits of this processor's."));
  const std::vector<double> losses = numbers_after(ran, "  loss ");
  REQUIRE(losses.size() == 1);
  CHECK(losses[0] < 2.4);
  const std::vector<double> accuracy = numbers_after(ran, "test accuracy: ");
  REQUIRE(accuracy.size() == 1);
  CHECK(accuracy[0] > 25); // guesses know a tenth

  const Ran unknown = run("digits_device --device tpu");
  CAPTURE(unknown.output);
  CHECK(unknown.status != 0);
  CHECK(has(unknown, "E0505"));
  for (const std::string words : {"--device", "--epochs 0", "--epochs 3x", "--help"}) {
    const Ran wrong = run("digits_device " + words);
    CAPTURE(wrong.output);
    CHECK(wrong.status != 0);
    CHECK(has(wrong, "usage: digits_device"));
  }
}

TEST_CASE("the softmax sample says what is missing or not understood") {
  const Ran without = run("digits_softmax /nowhere");
  CAPTURE(without.output);
  CHECK(without.status != 0);
  CHECK(has(without, "/nowhere/digits_images.npy"));
  for (const std::string words :
       {"--epochs", "--epochs many", "--epochs -1", "--epochs 3x", "--help"}) {
    const Ran wrong = run("digits_softmax " + words);
    CAPTURE(wrong.output);
    CHECK(wrong.status != 0);
    CHECK(has(wrong, "usage: digits_softmax [--epochs N]"));
  }
}

TEST_CASE("the convolutional network learns through its windows: its loss falls and it knows "
          "nearly all test digits") {
  const Ran ran = run("digits_conv --epochs 15");
  CAPTURE(ran.output);
  CHECK(ran.status == 0);
  CHECK(has(ran, "x[n, 2*i + a + u, 2*j + b + v]"));
  const std::vector<double> losses = numbers_after(ran, "  loss ");
  REQUIRE(losses.size() == 4); // epochs 1, 5, 10 and 15
  CHECK(losses[0] < 2.4);      // ln 10 is that of guessing
  for (std::size_t k = 1; k < losses.size(); ++k) CHECK(losses[k] < losses[k - 1]);
  const std::vector<double> accuracy = numbers_after(ran, "test accuracy: ");
  REQUIRE(accuracy.size() == 1);
  CHECK(accuracy[0] > 95);
}

TEST_CASE("dropout leaves the same cells out on any number of threads, and others than none") {
  const std::string words = "the weights' bits, in one number: ";
  const auto bits = [&](const std::string &options) {
    const Ran ran = run("digits_conv --epochs 2" + options);
    CAPTURE(ran.output);
    CHECK(ran.status == 0);
    const std::size_t at = ran.output.find(words);
    REQUIRE(at != std::string::npos);
    return ran.output.substr(at + words.size(), 8);
  };
  const std::string one = bits(" --threads 1");
  CHECK(bits(" --threads 2") == one);
  CHECK(bits(" --threads 1 --drop 0") != one);
  CHECK(run("digits_conv --drop 1").status != 0);
}

TEST_CASE("the heat sample's sine mode decays as the grid's own and, nearly, as the equation's") {
  const Ran ran = run("heat");
  CAPTURE(ran.output);
  CHECK(ran.status == 0);
  CHECK(has(ran, "The mode decays as it should."));
  CHECK(has(ran, "@@")); // the middle of the picture
  CHECK(run("heat 33").status == 0);
  for (const std::string words : {"4", "many", "9 9"}) {
    const Ran wrong = run("heat " + words);
    CAPTURE(wrong.output);
    CHECK(wrong.status != 0);
    CHECK(has(wrong, "usage: heat"));
  }
}

#ifdef BROADLOOM_PNG
TEST_CASE(
    "the sobel sample writes the edges of its picture, of the same size, and of those in turn") {
  const std::string folder =
      std::filesystem::temp_directory_path() / ("broadloom-sobel-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const Ran ran =
      run("sobel " BROADLOOM_SOURCE_DIR "/samples/data/spheres.png " + folder + "/edges.png");
  CAPTURE(ran.output);
  CHECK(ran.status == 0);
  CHECK(has(ran, "240 x 160 pixels"));
  CHECK(has(ran, "All pixels agree with the reference."));
  const std::vector<double> strongest = numbers_after(ran, "the strongest edge is ");
  REQUIRE(strongest.size() == 1);
  CHECK(strongest[0] > 50); // the chequered floor's
  const Ran again = run("sobel " + folder + "/edges.png " + folder + "/again.png");
  CAPTURE(again.output);
  CHECK(again.status == 0);
  CHECK(has(again, "240 x 160 pixels"));
  const Ran without = run("sobel /nowhere.png " + folder + "/again.png");
  CAPTURE(without.output);
  CHECK(without.status != 0);
  CHECK(has(without, "cannot read /nowhere.png"));
  std::filesystem::remove_all(folder);
}
#else
TEST_CASE("the sobel sample is not built here, as libpng was not found (Debian: libpng-dev)") {
  MESSAGE("not tested: samples/sobel.cpp");
}
#endif

TEST_CASE("the README's example prints what its comment says") {
  const Ran ran = run("example");
  CAPTURE(ran.output);
  CHECK(ran.status == 0);
  CHECK(has(ran, "s = [1.5, 3.0], z[1, 2] = 1.5576"));
}
