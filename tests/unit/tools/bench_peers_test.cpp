// The talk between the benchmark and its peers, with shell scripts in the place of Python; and the
// loops that are written by hand, which must compute what they claim to.
#include "bench/hand_written.hpp"
#include "bench/loops.hpp"
#include "bench/peers.hpp"
#include "bench/rounds.hpp"
#include "bench/run_case.hpp"
#include "tests/unit/temp_folder.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

namespace bl = broadloom;
using namespace bench;

namespace {

// A process that answers each line it gets with the next of these.
Peers scripted(const std::vector<std::string> &answers,
               std::chrono::seconds patience = std::chrono::seconds(20)) {
  std::string script;
  for (const std::string &answer : answers) script += "read line; echo '" + answer + "'; ";
  return Peers({"/bin/sh", "-c", script}, patience);
}

std::string contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.is_open(), path);
  return {std::istreambuf_iterator<char>(file), {}};
}

const char *const hello = R"({"peers": ["numpy 2.0"], "missing": ["jax: not here"]})";

} // namespace

TEST_CASE("the benchmark's peers say who is here and who is missing") {
  const Peers peers = scripted({hello});
  CHECK(peers.versions() == std::vector<std::string>{"numpy 2.0"});
  CHECK(peers.missing() == std::vector<std::string>{"jax: not here"});
}

TEST_CASE("a case is handed to the benchmark's peers as files, and rounds give seconds") {
  const TempFolder folder;
  Peers peers = scripted({hello,
                          R"({"peers": [{"name": "numpy", "status": "ok", "error": 1e-7}, )"
                          R"({"name": "drjit", "status": "wrong", "error": 0.5}, )"
                          R"({"name": "jax", "status": "failed", "note": "no"}]})",
                          R"({"seconds": 0.25})", "{}"});
  Case c;
  c.kernel = "triad";
  const bl::Array x(bl::f32, {3});
  const std::vector<PeerRow> rows = peers.prepare(c, {x}, {x, x}, folder.path);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].status == PeerRow::Status::Ok);
  CHECK(rows[0].error == 1e-7);
  CHECK(rows[1].status == PeerRow::Status::Wrong);
  CHECK(rows[2].status == PeerRow::Status::Failed);
  CHECK(rows[2].note == "no");
  CHECK(folder.count() == 3); // one input, two outputs
  CHECK(peers.seconds("numpy", 3) == 0.25);
  CHECK_NOTHROW(peers.drop());
}

TEST_CASE("peers of the benchmark that die, stay silent or talk nonsense are errors") {
  CHECK_THROWS_AS(scripted({}), PeerError);                       // it ends at once
  CHECK_THROWS_AS(scripted({"what?"}), PeerError);                // no JSON
  CHECK_THROWS_AS(Peers({"/nowhere/to/be/found"}), PeerError);    // no such program
  CHECK_THROWS_AS(Peers({"/bin/sh", "-c", "read line; sleep 20"}, // silence
                        std::chrono::seconds(1)),
                  PeerError);
  Peers short_lived = scripted({hello});
  CHECK_THROWS_AS(short_lived.seconds("numpy", 1), PeerError);
  Peers failing = scripted({hello, R"({"error": "out of memory"})"});
  CHECK_THROWS_WITH_AS(failing.seconds("numpy", 1),
                       "numpy said '{\"error\": \"out of memory\"}' instead of its time",
                       PeerError);
}

TEST_CASE("rounds alternate between participants and begin with another one each time") {
  std::string order;
  const auto participant = [&](char name, bool once) {
    return Participant{std::string(1, name),
                       [&order, name](int repeat) {
                         order += name;
                         CHECK(repeat >= 1);
                         return name == 'a' ? 2.0 : 1.0;
                       },
                       once};
  };
  const Rounds rounds = alternate(
      {participant('a', true), participant('b', true), participant('c', true)}, {0, 3, 5});
  CHECK(order == "abcbcacab"); // as there is no time, the least number of rounds
  CHECK(rounds.median(0) == 2);
  CHECK(rounds.ratio(0, 1) == 2);
  CHECK(rounds.quantile(1, 0.25) == 1);
}

TEST_CASE("loops written by hand compute what the kernels of the benchmark do") {
  struct Small {
    const char *kernel;
    std::vector<std::vector<std::int64_t>> inputs;
  };
  if (loops_here() == nullptr) {
    MESSAGE("SKIPPED: this machine has no AVX2");
    return;
  }
  const std::string folder = BROADLOOM_CASES_DIR;
  for (const Small &small : std::vector<Small>{
           {"triad", {{1001}, {1001}, {1001}}},
           {"map", {{1001}, {1001}, {1001}}},
           {"gelu", {{1001}}},
           {"black_scholes", {{1001}, {1001}, {1001}}},
           {"affine", {{65, 97}, {65}, {97}}},
           {"add_transposed", {{128, 128}, {128, 128}}},
           {"softmax", {{5, 100}}},
           {"layernorm", {{5, 100}, {100}, {100}}},
           {"sum", {{100001}}},
           {"distance", {{100001}, {100001}}},
           {"sum_rows", {{77, 8}}},
           {"sum_rows", {{7, 99}}},
           {"mean_rows", {{7, 99}}},
           {"sum_columns", {{1027, 8}}},
           {"sum_columns", {{1027, 33}}},
           {"sum_columns", {{8, 1000}}},
           {"weighted_columns", {{1027, 33}, {1027}}},
           {"cumsum", {{200001}}},
           {"image_scale", {{33, 7, 3}, {3}, {3}}},
           {"image_mean", {{333, 7, 3}}},
       }) {
    CAPTURE(small.kernel);
    const bl::Kernel kernel =
        bl::compile(bl::parse(contents(folder + "/" + small.kernel + ".loom")));
    std::vector<bl::Array> inputs, outputs;
    for (const auto &shape : small.inputs) {
      bl::Array x(bl::f32, shape);
      for (std::int64_t k = 0; k < x.size(); ++k)
        x.data<float>()[k] = float(std::uint32_t(k + 3) * 2654435761u >> 8) * 0x1p-24f;
      inputs.push_back(x);
    }
    const std::vector<bl::AnyView> views(inputs.begin(), inputs.end());
    for (const bl::Signature &output : kernel.infer(views))
      outputs.emplace_back(output.dtype, output.shape);
    kernel.run(views, std::vector<bl::AnyView>(outputs.begin(), outputs.end()));
    const std::vector<HandWritten> ways = find_hand_written(small.kernel, inputs, outputs);
    CHECK(!ways.empty());
    for (const HandWritten &way : ways) {
      way.call();
      CHECK(difference(way.outputs[0], outputs[0]) < 1e-5);
    }
  }
}
