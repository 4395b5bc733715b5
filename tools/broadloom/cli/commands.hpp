// The commands, after the options have been read. Each throws broadloom::Error or Interrupted.
#pragma once

#include "tools/broadloom/cli/text_options.hpp"

#include <broadloom/gradient.hpp>
#include <broadloom/options.hpp>

#include <optional>
#include <string>
#include <vector>

namespace broadloom::cli {

struct RunOptions {
  TextOptions text;
  std::vector<std::string> inputs;    // NAME=SOURCE
  std::vector<std::string> outputs;   // NAME=PATH
  std::string freeze;                 // parameters, with commas between
  std::string load_state, save_state; // .npz files; empty: none
  std::string record;                 // a file of layouts; empty: none
  int threads = 0;                    // 0: as the library decides
  int repeat = 0;                     // 0: not asked for, one call
  bool json = false;
  bool check = false; // against the reference, and the gradient against slopes
  Engine engine = Engine::automatic;
  std::string device; // that the kernel runs on; empty: this process
  Profile profile = Profile::none;
  Debug debug = Debug::none;
};

struct GradOptions {
  TextOptions text;
  std::string wrt, of; // names with commas between
  bool value = false, add = false, carry = false;
  Policy policy = Policy::automatic;
  std::optional<std::int64_t> memory = {}; // bytes that are saved at most
  std::vector<std::string> inputs;         // whose shapes tell how many values have
};

struct JvpWords {
  TextOptions text;
  std::string wrt, of; // names with commas between
  bool value = false;
};

struct JacobianWords {
  TextOptions text;
  std::string of, wrt; // a name each
};

struct BatchWords {
  TextOptions text;
  std::string axis = "b", inputs; // names with commas between
};

struct ShowOptions {
  TextOptions text;
  std::vector<std::string> inputs;
  std::string freeze; // parameters, with commas between
  Stage stage = Stage::spec;
  ShowFormat format;
  std::string target; // whose code is shown; empty: that which runs here
};

struct TuneOptions {
  TextOptions text;
  std::vector<std::string> inputs;
  int threads = 0;
  double seconds = 0.5; // of each trial
};

struct BuildWords {
  TextOptions text;
  std::string layouts, output; // files: the second without its ending
  std::vector<std::string> targets;
};

struct CacheOptions {
  std::string what = "info"; // or list, verify, clear
};

void run(const RunOptions &options, const Streams &streams, Phase &phase);
void show(const ShowOptions &options, const Streams &streams, Phase &phase);
void grad(const GradOptions &options, const Streams &streams, Phase &phase);
void jvp(const JvpWords &options, const Streams &streams);
void jacobian(const JacobianWords &options, const Streams &streams);
void hessian(const JacobianWords &options, const Streams &streams);
void batch(const BatchWords &options, const Streams &streams);
void tune(const TuneOptions &options, const Streams &streams, Phase &phase);
void build(const BuildWords &options, const Streams &streams);
void cache(const CacheOptions &options, const Streams &streams);
void check_text(const TextOptions &options, const Streams &streams);

} // namespace broadloom::cli
