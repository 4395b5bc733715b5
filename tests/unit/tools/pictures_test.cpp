// Data from pictures and from standard input, and pictures that are written.
#include "tests/contains.hpp"
#include "tests/unit/temp_folder.hpp"
#include "tools/broadloom/cli/cli.hpp"
#include "tools/broadloom/data/png_file.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <sstream>

using namespace broadloom;
using broadloom::tests::contains;

namespace {

struct Run {
  int status;
  std::string out, err;
};

Run run(const std::vector<std::string> &args, const std::string &input = "") {
  std::istringstream in(input);
  std::ostringstream out, err;
  const int status = cli::run_cli(args, in, out, err);
  return {status, out.str(), err.str()};
}

Array counted(const std::vector<std::int64_t> &shape) {
  Array array(u8, shape);
  auto *data = array.data<std::uint8_t>();
  std::iota(data, data + array.size(), std::uint8_t(1));
  return array;
}

const std::string twice = "kernel twice { in x : f64[i]; out z = x * 2 }";

} // namespace

TEST_CASE("standard input is data of one input, a .npy or a .csv file") {
  const TempFolder folder;
  Array row(f64, {3});
  row.data<double>()[2] = 4;
  save_npy(folder / "x.npy", row);
  CHECK(run({"run", "-e", twice, "--in", "x=-"}, folder.read("x.npy")).out ==
        "z: f64[3]\n[0.0, 0.0, 8.0]\n");
  CHECK(run({"run", "-e", twice, "--in", "x=-[::-1]"}, "a\n1\n2\n").out ==
        "z: f64[2]\n[4.0, 2.0]\n");
  CHECK(run({"run", "-e", twice, "--in", "x=-5"}).status == cli::WrongData); // a number, no dim
}

TEST_CASE("what is wrong with data on standard input is said of standard input") {
  const Run empty = run({"run", "-e", twice, "--in", "x=-"});
  CHECK(empty.status == cli::WrongUsage);
  contains(empty.err, "there is nothing on standard input");
  const Run broken = run({"run", "-e", twice, "--in", "x=-"}, "1\nb\n");
  CHECK(broken.status == cli::WrongData);
  contains(broken.err, "'b' in line 2, column 1 of standard input is no number");
  const Run npy = run({"run", "-e", twice, "--in", "x=-"}, "\x93NUMPY");
  CHECK(npy.status == cli::WrongData);
  contains(npy.err, "standard input");
  CHECK(npy.err.find("/proc") == npy.err.npos);
  const std::string two = "kernel two { in x : f64[i]; in y : f64[i]; out z = x * y }";
  contains(run({"run", "-e", two, "--in", "x=-", "--in", "y=-"}, "1\n").err,
           "standard input is taken when 'y' is to be read");
  contains(run({"run", "-", "--in", "x=-"}, twice).err,
           "standard input is taken when 'x' is to be read");
  contains(run({"-c", twice + "\n.run x=-"}).err, "from which the REPL reads its lines");
}

#ifdef BROADLOOM_PNG

TEST_CASE("pictures of 1 to 4 channels are written and read as they are") {
  const TempFolder folder;
  for (const std::vector<std::int64_t> &shape :
       {std::vector<std::int64_t>{3, 4}, {3, 4, 2}, {3, 4, 3}, {3, 4, 4}, {1, 1}}) {
    const Array array = counted(shape);
    cli::pending_png(folder / "p.png", array).commit();
    const Array back = cli::read_png(folder / "p.png");
    CHECK(std::vector<std::int64_t>(back.shape().begin(), back.shape().end()) == shape);
    CHECK(back.to_vector<std::uint8_t>() == array.to_vector<std::uint8_t>());
  }
  cli::pending_png(folder / "p.png", counted({3, 4, 1})).commit();
  CHECK(cli::read_png(folder / "p.png").rank() == 2);
  cli::pending_png(folder / "p.png", counted({3, 4}).transposed()).commit();
  CHECK(cli::read_png(folder / "p.png").to_vector<std::uint8_t>()[1] == 5);
  CHECK(folder.count() == 1);
}

TEST_CASE("a picture is an input and an output of a kernel") {
  const TempFolder folder;
  const std::string in = folder / "in.png", out = folder / "out.png";
  cli::pending_png(in, counted({2, 3, 3})).commit();
  const std::string mirror = "kernel mirror { in x : u8[h, w, c]; out z = 255 - x }";
  const Run made = run({"run", "-e", mirror, "--in", "x=" + in + "[:, ::-1]", "--out", "z=" + out});
  CHECK(made.err == "");
  CHECK(cli::read_png(out).to_vector<std::uint8_t>()[0] == 248);
  CHECK(run({"run", "-e", mirror, "--in", "x=-", "--out", "z=" + out}, folder.read("in.png"))
            .status == 0);
  CHECK(cli::read_png(out).to_vector<std::uint8_t>()[0] == 254);
  const std::string before = std::to_string(folder.read("out.png").size());
  CHECK(run({"-c", ".let a = " + in + "\n.save a " + out + "\n.let b = " + out + "[0]"}).out ==
        "a: u8[2, 3, 3]\nreplaced " + out + ", a file of " + before + " bytes\nb: u8[3, 3]\n");
}

TEST_CASE("what is no picture is said, and leaves no file") {
  const TempFolder folder;
  const auto error_of = [](const auto &call) -> std::string {
    try {
      call();
    } catch (const Error &error) {
      return error.code() + ": " + error.message();
    }
    return "";
  };
  const std::string path = folder / "p.png";
  contains(error_of([&] { cli::read_png(path); }), "E0301: ");
  folder.write("p.png", "no picture");
  contains(error_of([&] { cli::read_png(path); }), "E0302: ");
  cli::pending_png(path, counted({30, 40})).commit();
  const std::string whole = folder.read("p.png");
  folder.write("p.png", whole.substr(0, whole.size() - 30));
  contains(error_of([&] { cli::read_png(path); }), "E0302: ");
  folder.write("p.png", whole.substr(0, 50) + "x" + whole.substr(51));
  contains(error_of([&] { cli::read_png(path); }), "E0302: ");
  contains(error_of([&] { cli::pending_png(path, Array(f32, {2, 2})); }),
           "E0203: '" + path + "': a .png file holds u8, and this is f32");
  contains(error_of([&] { cli::pending_png(path, counted({2, 2, 5})); }),
           "E0101: '" + path + "': an array of shape [2, 2, 5] is no picture");
  contains(error_of([&] { cli::pending_png(path, counted({0, 2})); }), "E0101: ");
  contains(error_of([&] { cli::pending_png(folder / "none/p.png", counted({2, 2})); }), "E0303: ");
  {
    const array::PendingFile never_named = cli::pending_png(folder / "q.png", counted({2, 2}));
  }
  CHECK(folder.count() == 1);
}

TEST_CASE("a picture of 16 bits a channel is refused") {
  // 1 x 1, gray, 16 bits.
  const unsigned char bytes[] = {
      0x89, 'P',  'N',  'G',  '\r', '\n', 0x1a, '\n', 0,    0,    0,    13,   'I',  'H',
      'D',  'R',  0,    0,    0,    1,    0,    0,    0,    1,    16,   0,    0,    0,
      0,    0x6a, 0xee, 0x47, 0x16, 0x00, 0x00, 0x00, 0x0b, 0x49, 0x44, 0x41, 0x54, 0x78,
      0x9c, 0x63, 0x10, 0x32, 0x01, 0x00, 0x00, 0x5b, 0x00, 0x47, 0x96, 0xfb, 0x1b, 0x65,
      0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
  const TempFolder folder;
  const std::string path =
      folder.write("deep.png", std::string(reinterpret_cast<const char *>(bytes), sizeof bytes));
  try {
    cli::read_png(path);
    CHECK(false);
  } catch (const DataError &error) {
    CHECK(error.code() == "E0302");
    contains(error.message(), "it has 16 bits a channel");
  }
}

#endif
