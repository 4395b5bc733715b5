// Random windows of inputs: positions of multiples from -3 to 3, constants, diagonals, reversals,
// axes of their own; of every fourth dim with elements added before and after.
#pragma once

#include "random_expression.hpp"
#include "random_spec.hpp"

#include <optional>
#include <string>
#include <vector>

namespace broadloom::differential {

struct WindowAxis { // a label that inputs give
  int index = 0;    // in Scope::axis_names
  std::int64_t extent = 0;
};

struct LabelledInput {
  RandomInput input;
  std::vector<int> axes; // of each dim, as in Scope::axis_names
};

struct RandomWindows {
  std::string line; // "in v : f32[:, :]", or empty where the windows are of an input that is there
  std::string let;  // "let vs = v[q0 + 1, q1] + v[q0, q1]" where they are of that
  std::optional<RandomInput> input;
  std::vector<Term> terms;
};

struct RandomGather {
  std::vector<std::string> lines;  // of an array and an index
  std::vector<RandomInput> inputs; // the same
  std::vector<Term> terms;         // reads of the array
};

class WindowMaker {
public:
  WindowMaker(Random &random, std::vector<WindowAxis> axes, std::vector<std::string> &axis_names)
      : random_(random), known_(std::move(axes)), axis_names_(axis_names) {}

  RandomWindows of_new(DType dtype, bool large);
  RandomWindows of(const LabelledInput &input);
  // Whatever is in the index is brought inside.
  RandomGather gather(DType dtype, bool large);

private:
  struct Moves {
    std::int64_t constant = 0;
    std::vector<std::pair<int, int>> terms; // an axis, and how often it counts
  };

  struct Border { // of a dim: what is added
    std::int64_t before = 0, after = 0;
    std::string mode; // as in the text; empty: nothing is added
    std::int64_t both() const { return before + after; }
  };

  // Where the moves of an axis of this extent begin and end.
  static std::int64_t last(std::int64_t extent, int times) {
    return std::int64_t(times) * std::max<std::int64_t>(extent - 1, 0);
  }
  std::int64_t extent_of(int axis) const;
  int new_axis();
  Border border(DType dtype);
  Moves roaming(std::int64_t &room, const Border &border);
  Moves within(int label, std::int64_t extent);
  Moves within_border(int label, const Border &border);
  Term window(const RandomInput &input, const std::vector<Moves> &moves,
              const std::vector<Border> &borders) const;
  std::string let_of(RandomInput &input);
  std::string loop_of(const std::vector<std::int64_t> &shape, const std::string &value);
  template <class Positions>
  std::string join_of(RandomInput &input, int dim, const Positions &positions);
  template <class Positions>
  std::string said_of(RandomInput &input, int dim, const Positions &positions);

  Random &random_;
  std::vector<WindowAxis> known_, own_;
  std::vector<std::string> &axis_names_;
};

// Nine neighbours in three rows of an array of its own: rows that several rows of a loop read.
RandomWindows random_stencil(Random &random, DType dtype);

} // namespace broadloom::differential
