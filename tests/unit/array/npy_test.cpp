// .npy files: what NumPy writes is read as it lies, what we write NumPy reads, and a file that lies
// is told from a file that does not.
#include "array/npy.hpp"
#include "tests/places.hpp"
#include "tests/unit/temp_folder.hpp"

#include <broadloom/error.hpp>
#include <broadloom/float16.hpp>

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace broadloom;

namespace {

using Extents = std::vector<std::int64_t>;

Extents list(std::span<const std::int64_t> values) { return {values.begin(), values.end()}; }

// A file with this header, padded as NumPy does, and these data bytes.
std::string file_of(std::string header, const std::string &data, int major = 1) {
  const std::size_t before = major == 1 ? 10 : 12;
  while ((before + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += char(major);
  bytes += '\0';
  for (std::size_t i = 0; i < (major == 1 ? 2 : 4); ++i) bytes += char(header.size() >> 8 * i);
  return bytes + header + data;
}

std::string dict(const std::string &descr, const std::string &shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }";
}

// The error code of loading these bytes; empty where it went well.
std::string code_of(const std::string &bytes) {
  const TempFolder folder;
  try {
    load_npy(folder.write("a.npy", bytes));
  } catch (const Error &error) {
    CHECK_FALSE(error.help().empty());
    CHECK(error.message().find("a.npy") != std::string::npos);
    return error.code();
  }
  return "";
}

// A file that NumPy 2.4 wrote, with ml_dtypes 0.5 for bf16.
std::string data_file(const std::string &name) {
  return std::string(BROADLOOM_SOURCE_DIR) + "/tests/unit/data/" + name;
}

const std::string six_ints("\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0", 24);

} // namespace

TEST_CASE("a file of NumPy 2 is read byte for byte") {
  // numpy.save(path, numpy.arange(6, dtype='i4').reshape(2, 3)), 128 bytes of header
  const std::string header = "\x93NUMPY\x01" + std::string("\0v\0", 3) +
                             "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }" +
                             std::string(58, ' ') + "\n";
  REQUIRE(header.size() == 128);
  const TempFolder folder;
  const Array array = load_npy(folder.write("a.npy", header + six_ints));
  CHECK(array.dtype() == i32);
  CHECK(list(array.shape()) == Extents{2, 3});
  CHECK(list(array.strides()) == Extents{3, 1});
  CHECK(array.data<int>()[5] == 5);
  save_npy(folder / "b.npy", array);
  CHECK(folder.read("b.npy") == header + six_ints);
}

TEST_CASE("a file in F order is read as it lies, and written as it lies") {
  const std::string bytes = file_of(dict("<i4", "(2, 3)", true), six_ints);
  const TempFolder folder;
  const Array array = load_npy(folder.write("a.npy", bytes));
  CHECK(list(array.shape()) == Extents{2, 3});
  CHECK(list(array.strides()) == Extents{1, 2});
  save_npy(folder / "b.npy", array);
  CHECK(list(load_npy(folder / "b.npy").strides()) == Extents{1, 2});
  save_npy(folder / "c.npy", array.transposed());
  CHECK(list(load_npy(folder / "c.npy").strides()) == Extents{2, 1});
}

TEST_CASE("an array that is neither C- nor F-contiguous is written in C order") {
  const TempFolder folder;
  const Array cube(i32, {2, 3, 4});
  for (int i = 0; i < 24; ++i) cube.data<int>()[i] = i;
  const Layout layout = strided_layout(Extents{2, 4}, Extents{12, -1});
  save_npy(folder / "a.npy",
           Array(std::make_shared<Array>(cube), i32, cube.data<int>() + 7, layout));
  const Array back = load_npy(folder / "a.npy");
  const std::vector<int> values(back.data<int>(), back.data<int>() + 8);
  CHECK(values == std::vector<int>{7, 6, 5, 4, 19, 18, 17, 16});
}

TEST_CASE("every dtype comes back from a file as it went in") {
  const TempFolder folder;
  for (int d = 0; d < dtype_count; ++d) {
    const Array array(DType(d), {3, 1});
    save_npy(folder / "a.npy", array);
    CHECK(load_npy(folder / "a.npy").dtype() == DType(d));
  }
  CHECK(load_npy(folder.write("b.npy", file_of(dict("|V2", "(1,)"), "ab"))).dtype() == bf16);
}

TEST_CASE("what NumPy and ml_dtypes write is read, and written back byte for byte") {
  const TempFolder folder;
  for (DType dtype : {f16, bf16, c64, c128}) {
    const std::string file = std::string(name(dtype)) + ".npy";
    const Array array = load_npy(data_file(file));
    CHECK(array.dtype() == dtype);
    save_npy(folder / file, array);
    std::ostringstream original;
    original << std::ifstream(data_file(file), std::ios::binary).rdbuf();
    CHECK(folder.read(file) == original.str());
  }
  // 0, -0, 1, 0.1, -2.5, 65504, 6e-8, inf, nan, 3.14159
  constexpr unsigned halves[] = {0, 32768, 15360, 11878, 49408, 31743, 1, 31744, 32256, 16968};
  constexpr unsigned uppers[] = {0, 32768, 16256, 15821, 49184, 18304, 13185, 32640, 32704, 16457};
  for (int k = 0; k < 10; ++k) {
    CHECK(load_npy(data_file("f16.npy")).data<float16>()[k].bits() == halves[k]);
    CHECK(load_npy(data_file("bf16.npy")).data<bfloat16>()[k].bits() == uppers[k]);
  }
}

TEST_CASE("scalars, empty arrays and versions 2 and 3 are read") {
  CHECK(code_of(file_of(dict("<f8", "()"), std::string(8, 'x'))) == "");
  CHECK(code_of(file_of(dict("<f8", "(0, 3)"), "")) == "");
  CHECK(code_of(file_of(dict("|b1", "(2,)"), "ab", 2)) == "");
  CHECK(code_of(file_of(dict("|u1", "(2,)"), "ab", 3)) == "");
  CHECK(code_of(file_of(dict("|u1", "(2L,)"), "ab")) == "");
  CHECK(code_of(file_of("{\"shape\":(2,),\"descr\":\"|i1\",\"fortran_order\":True}", "ab")) == "");
}

TEST_CASE("a bool in memory is 0 or 1, whatever byte the file holds") {
  const TempFolder folder;
  const Array array =
      load_npy(folder.write("a.npy", file_of(dict("|b1", "(3,)"), std::string("\0\2\xff", 3))));
  const std::uint8_t *bytes = static_cast<const std::uint8_t *>(array.raw());
  CHECK(std::vector<int>(bytes, bytes + 3) == std::vector<int>{0, 1, 1});
}

TEST_CASE("a file cut off at any byte is an error") {
  const std::string bytes = file_of(dict("<i4", "(2, 3)"), six_ints);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK(code_of(bytes.substr(0, size)) == "E0302");
  }
  CHECK(code_of(bytes + "x") == "E0302");
}

TEST_CASE("a file with any one byte of its header changed is read or refused, no more") {
  const std::string bytes = file_of(dict("<i4", "(2, 3)"), six_ints);
  for (std::size_t at = 0; at < bytes.size() - six_ints.size(); ++at) {
    for (char value : {'\0', '\xff', '9', '(', '\''}) {
      std::string changed = bytes;
      changed[at] = value;
      const std::string code = code_of(changed);
      CHECK((code == "" || code == "E0302" || code == "E0211"));
    }
  }
}

TEST_CASE("a header that lies about lengths and shapes is an error") {
  std::string longer = file_of(dict("<i4", "(2, 3)"), six_ints);
  longer[9] = '\x7f';
  CHECK(code_of(longer) == "E0302");
  std::string huge = file_of(dict("<i4", "(2, 3)"), six_ints, 2);
  huge[11] = '\xff';
  CHECK(code_of(huge) == "E0302");
  for (const std::string shape :
       {"(2, 4)", "(-2, 3)", "(9223372036854775807, 9223372036854775807)",
        "(99999999999999999999,)", "(0, 9223372036854775807, 9223372036854775807)", "(6)", "6",
        "(2, 3", "(2,, 3)", "(2.0, 3)", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2,3)",
        "(4611686018427387904, 4)", "(,)", "None"}) {
    CAPTURE(shape);
    CHECK(code_of(file_of(dict("<i4", shape), six_ints)) == "E0302");
  }
}

TEST_CASE("a header that is not the dict it should be is an error") {
  for (const std::string header :
       {"", "{}", "{'descr': '<i4', 'fortran_order': False}", "{'descr': '<i4', 'shape': (2, 3)}",
        "{'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<i4', 'fortran_order': 0, 'shape': (2, 3)}",
        "{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)} x",
        "{'descr': '<\\x69', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr' '<i4', 'fortran_order': False, 'shape': (2, 3)}", "descr"}) {
    CAPTURE(header);
    CHECK(code_of(file_of(header, six_ints)) == "E0302");
  }
  std::string version = file_of(dict("<i4", "(2, 3)"), six_ints);
  version[6] = 4;
  CHECK(code_of(version) == "E0302");
}

TEST_CASE("element types that Broadloom lacks are named in the error") {
  for (const std::string type :
       {">f4", ">i8", "|O", "<U3", "<M8[ns]", "<f16", "<V4", "<i3", "f", ""}) {
    CAPTURE(type);
    CHECK(code_of(file_of(dict(type, "(2, 3)"), six_ints)) == "E0211");
  }
  CHECK(code_of(file_of("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (6,)}",
                        six_ints)) == "E0211");
}

TEST_CASE("a signal is handled while a large file is read, and not only afterwards") {
  const TempFolder folder;
  const std::string path = folder.write("a.npy", file_of(dict("|u1", "(268435456,)"), ""));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + 268'435'456); // of zeros
  static volatile int handled = 0;
  struct sigaction count{}, before{};
  count.sa_handler = [](int) { handled = handled + 1; };
  count.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &count, &before);
  const itimerval often{{0, 1000}, {0, 1000}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  const Array array = load_npy(path);
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  CHECK(array.size() == 268'435'456);
  CHECK(handled >= 5); // a read of all of it comes back once
}

TEST_CASE("what is no regular file cannot be read") {
  const TempFolder folder;
  CHECK_THROWS_AS(load_npy(folder / "none.npy"), DataError);
  CHECK_THROWS_AS(load_npy(folder.path), DataError);
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_AS(load_npy(folder / "pipe"), DataError);
}

TEST_CASE("a file that cannot be written leaves nothing behind, and devices are left alone") {
  const TempFolder folder;
  const Array array(f32, {2});
  CHECK_THROWS_AS(save_npy(folder / "none/a.npy", array), DataError);
  CHECK_THROWS_AS(save_npy(folder.path, array), DataError);
  CHECK_THROWS_AS(save_npy("/dev/null", array), DataError);
  CHECK(std::filesystem::is_character_file("/dev/null"));
  CHECK(folder.count() == 0);
}

TEST_CASE("a pending file shows only once it is committed") {
  const TempFolder folder;
  const Array array(f32, {2});
  folder.write("a.npy", "old");
  {
    const array::PendingFile dropped = npy::pending(folder / "a.npy", array);
  }
  CHECK(folder.read("a.npy") == "old");
  CHECK(folder.count() == 1);
  array::PendingFile kept = npy::pending(folder / "a.npy", array);
  CHECK(folder.read("a.npy") == "old");
  kept.commit();
  CHECK(load_npy(folder / "a.npy").size() == 2);
  CHECK(folder.count() == 1);
}

TEST_CASE("saving keeps the file's mode, and writes through a symbolic link") {
  const TempFolder folder;
  folder.write("a.npy", "old");
  std::filesystem::permissions(folder / "a.npy", std::filesystem::perms(0640));
  std::filesystem::create_symlink(folder / "a.npy", folder / "link.npy");
  save_npy(folder / "link.npy", Array(f32, {2}));
  CHECK(std::filesystem::is_symlink(folder / "link.npy"));
  CHECK(load_npy(folder / "a.npy").size() == 2);
  CHECK(std::filesystem::status(folder / "a.npy").permissions() == std::filesystem::perms(0640));
}
