// The page of a graph, laid out by Graphviz where there is one, and by ourselves where not; and
// other programs that do not do as they should.
#include "tests/unit/temp_folder.hpp"
#include "text/graph_boxes.hpp"
#include "tools/broadloom/cli/cli.hpp"
#include "tools/broadloom/cli/programs.hpp"

#include <broadloom/kernel.hpp>
#include <broadloom/spec.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>

using namespace broadloom;

namespace {

const std::string layers = "kernel net { in x : f32[n, p]; in w : f32[p, h]; in v : f32[h, q]\n"
                           "let a[n, h] = sum(x * w, p)\nlet r = maximum(a[n, h], 0)\n"
                           "out y = sum(r * r * v, h) }";

// PATH for as long as it lives.
class Path {
public:
  explicit Path(const std::string &path) : before_(std::getenv("PATH")) {
    setenv("PATH", path.c_str(), 1);
  }
  ~Path() { setenv("PATH", before_.c_str(), 1); }
  Path(const Path &) = delete;
  Path &operator=(const Path &) = delete;

private:
  const std::string before_;
};

std::string page() {
  std::istringstream in;
  std::ostringstream out, err;
  CHECK(cli::run_cli({"show", "-e", layers, "--stage", "graph", "--format", "html"}, in, out,
                     err) == 0);
  return out.str();
}

// A program `dot` in this folder, of one line of a shell.
void write_dot(const TempFolder &folder, const std::string &line) {
  folder.write("dot", "#!/bin/sh\n" + line + "\n");
  std::filesystem::permissions(folder.path + "/dot", std::filesystem::perms::owner_all);
}

int count(const std::string &text, const std::string &part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

struct Rect {
  double x, y, width, height;
  bool meets(const Rect &o) const {
    return x < o.x + o.width && o.x < x + width && y < o.y + o.height && o.y < y + height;
  }
  bool holds(const Rect &o) const {
    return x <= o.x && y <= o.y && o.x + o.width <= x + width && o.y + o.height <= y + height;
  }
};

std::vector<Rect> rects(const std::string &page, int corner) { // of boxes 4, of frames 8
  const std::regex pattern("<rect x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" width=\"([-0-9.]+)\" "
                           "height=\"([-0-9.]+)\" rx=\"" +
                           std::to_string(corner) + "\"");
  std::vector<Rect> all;
  for (std::sregex_iterator at(page.begin(), page.end(), pattern), end; at != end; ++at)
    all.push_back(
        {std::stod((*at)[1]), std::stod((*at)[2]), std::stod((*at)[3]), std::stod((*at)[4])});
  return all;
}

// Two boxes, the second of which reads the first twice, in one frame.
text::GraphDrawing two_boxes() {
  text::GraphDrawing drawing;
  drawing.boxes.resize(2);
  for (text::GraphBox &box : drawing.boxes) box.width = 72;
  drawing.boxes[1].reads = {0, 0};
  drawing.edges = {{0, 1, {}}, {0, 1, {}}};
  drawing.frames.push_back({{"kernel k"}, {0, 1}});
  return drawing;
}

const std::string answer = "graph 1 2 3\n"
                           "node b0 1 2.5 1 0.58333 \"\" solid box black lightgrey\n"
                           "node b1 1 0.5 1 0.58333 \"\" solid box black lightgrey\n"
                           "edge b0 b1 4 1 2 1 1.5 1 1.2 1 1 solid black\n"
                           "edge b0 b1 4 1.1 2 1.1 1.5 1.1 1.2 1.1 1 solid black\n"
                           "stop\n"
                           "digraph {\n\tsubgraph cluster0 {\n\t\tgraph [bb=\"0,0,144,216\",\n";

} // namespace

TEST_CASE("Graphviz's middles in inches, upwards, are corners in pixels, downwards") {
  text::GraphDrawing drawing = two_boxes();
  REQUIRE(text::take_layout(drawing, answer));
  const double margin = text::graph_margin;
  CHECK(drawing.width == 144 + 2 * margin);
  CHECK(drawing.height == 216 + 2 * margin);
  CHECK(drawing.boxes[0].x == margin + 72 - 36);
  CHECK(drawing.boxes[0].y == margin + 36 - text::graph_box_height / 2);
  CHECK(drawing.boxes[1].y == margin + 180 - text::graph_box_height / 2);
  CHECK(drawing.frames[0].x == margin);
  CHECK(drawing.frames[0].height == 216);
  for (const text::GraphEdge &edge : drawing.edges) {
    REQUIRE(edge.points.size() == 4);
    CHECK(edge.points[0].y == margin + 72);
    CHECK(edge.points[3].y == margin + 144);
  }
  CHECK(drawing.edges[0].points[0].x != drawing.edges[1].points[0].x);
}

TEST_CASE("An answer of Graphviz that is cut, or is none, leaves the drawing as it was") {
  const auto refused = [](const std::string &text) {
    text::GraphDrawing drawing = two_boxes();
    const bool taken = text::take_layout(drawing, text);
    CHECK(drawing.edges[0].points.empty());
    CHECK(drawing.width == 0);
    return !taken;
  };
  for (std::size_t length = 0; length + 5 < answer.size(); ++length) {
    CAPTURE(length);
    CHECK(refused(answer.substr(0, length)));
  }
  const auto with = [&](const std::string &old, const std::string &now) {
    std::string text = answer;
    return text.replace(text.find(old), old.size(), now);
  };
  CHECK(refused(with("b1 1 0.5", "b2 1 0.5")));
  CHECK(refused(with("b1 1 0.5", "b1 nan 0.5")));
  CHECK(refused(with("b1 1 0.5", "b1 1e300 0.5")));
  CHECK(refused(with("b0 b1 4", "b1 b0 4")));
  CHECK(refused(with("b0 b1 4", "b0 b1 1e9")));
  CHECK(refused(with("cluster0", "cluster1")));
  CHECK(refused("Error: no such layout\n"));
}

TEST_CASE("What Graphviz is given has sizes, and nothing that a user wrote") {
  text::GraphDrawing drawing = two_boxes();
  drawing.frames[0].lines = {"kernel k\"]; system"};
  drawing.boxes[0].title = "let secret";
  const std::string request = text::graphviz_request(drawing);
  CHECK(count(request, "system") == 0);
  CHECK(count(request, "secret") == 0);
  CHECK(count(request, "b0 [width=1.0000, height=0.5833]") == 1);
  CHECK(count(request, "b0 -> b1") == 2);
}

TEST_CASE("Edges that go around boxes stay inside of the drawing") {
  const auto spec =
      parse("kernel k { in x : f32[i, j]; in w : f32[j]; in b : f32[j]; let d = x - mean(x, j)\n"
            "out y = d / sqrt(mean(d * d, j) + 1e-5) * w + b }");
  for (const char *text : {"", layers.c_str()}) {
    const Kernel kernel = compile(*text ? parse(text) : spec);
    const Path none("/nowhere");
    const std::string page = kernel.show(Stage::graph, {.graph = ShowFormat::Graph::html});
    std::smatch size;
    const std::regex view("viewBox=\"0 0 ([0-9.]+) ([0-9.]+)\"");
    REQUIRE(std::regex_search(page, size, view));
    const std::regex path(
        " d=\"M([0-9.]+) ([0-9.]+) C([0-9.]+) ([0-9.]+) ([0-9.]+) ([0-9.]+) ([0-9.]+) ([0-9.]+)\"");
    int edges = 0;
    for (std::sregex_iterator at(page.begin(), page.end(), path), end; at != end; ++at, ++edges)
      for (double t = 0; t <= 1; t += 0.1) {
        const auto point = [&](int d) {
          const auto p = [&](int k) { return std::stod((*at)[std::size_t(2 * k + d + 1)]); };
          const double s = 1 - t;
          return s * s * s * p(0) + 3 * s * s * t * p(1) + 3 * s * t * t * p(2) + t * t * t * p(3);
        };
        CHECK(point(0) < std::stod(size[1]));
        CHECK(point(1) < std::stod(size[2]));
      }
    CHECK(edges > 4);
  }
}

TEST_CASE("Without Graphviz, or with one that fails, boxes of a page stand in layers") {
  const std::string ours =
      compile(parse(layers)).show(Stage::graph, {.graph = ShowFormat::Graph::html});
  const TempFolder folder;
  {
    const Path path("");
    CHECK(page() == ours);
  }
  const Path path(folder.path); // without the shell's programs
  CHECK(page() == ours);
  for (const char *line : {"echo graph 1 1 1", "exit 1", "kill -9 $$", "exec 0<&-; echo stop"}) {
    CAPTURE(line);
    write_dot(folder, line);
    CHECK(page() == ours);
  }
}

TEST_CASE("With Graphviz no boxes of a page meet, and frames hold theirs") {
  if (!cli::find_program("dot")) {
    MESSAGE("not run: there is no program 'dot'");
    return;
  }
  const std::string ours =
      compile(parse(layers)).show(Stage::graph, {.graph = ShowFormat::Graph::html});
  const std::string drawn = page();
  CHECK(drawn != ours);
  for (const char *part : {"<g class=", "<path class=", "<title>", "let a, an array", "kernel net",
                           "marker-end", "addEventListener"}) {
    CAPTURE(part);
    CHECK(count(drawn, part) == count(ours, part));
  }
  const std::vector<Rect> boxes = rects(drawn, 4), frames = rects(drawn, 8);
  CHECK(boxes.size() == rects(ours, 4).size());
  REQUIRE(frames.size() == 2);
  CHECK_FALSE(frames[0].meets(frames[1]));
  for (std::size_t a = 0; a < boxes.size(); ++a) {
    CHECK((frames[0].holds(boxes[a]) || frames[1].holds(boxes[a])));
    for (std::size_t b = 0; b < a; ++b) CHECK_FALSE(boxes[a].meets(boxes[b]));
  }
}

TEST_CASE("A program that hangs is ended, one that reads nothing does no harm") {
  using std::chrono::milliseconds;
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(cli::answer_of({"/bin/sh", "-c", "exec sleep 600"}, "text", milliseconds(100)));
  CHECK_FALSE(cli::answer_of({"/bin/sh", "-c", "exec sleep 600 >&-"}, "text", milliseconds(100)));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
  const std::string large(1 << 20, 'x');
  CHECK(cli::answer_of({"/bin/cat"}, large, milliseconds(60000)) == large);
  CHECK(cli::answer_of({"/bin/sh", "-c", "echo y"}, large, milliseconds(60000)) == "y\n");
  CHECK_FALSE(cli::answer_of({"/bin/sh", "-c", "echo y; exit 3"}, "", milliseconds(60000)));
  CHECK_FALSE(cli::answer_of({"/no/such/program"}, "", milliseconds(60000)));
}

TEST_CASE("Programs are looked for by PATH, in none of its folders that is relative") {
  const TempFolder folder;
  write_dot(folder, "exit 0");
  {
    const Path path(":bin::" + folder.path);
    CHECK(cli::find_program("dot") == folder.path + "/dot");
  }
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path);
  {
    const Path path(".:");
    CHECK_FALSE(cli::find_program("dot"));
  }
  std::filesystem::current_path(before);
}
