// Kernels, bound calls, results and views that are made without anything, as members of classes
// are.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <vector>

namespace bl = broadloom;

namespace {

struct Model { // what a user's class holds before it is set up
  bl::Kernel kernel;
  bl::BoundCall call;
  bl::Results results;
  bl::View<float> view;
  bl::Array array;
};

template <class Error> std::string code_of(const std::function<void()> &use) {
  try {
    use();
  } catch (const Error &error) {
    return error.code();
  }
  return "nothing was thrown";
}

} // namespace

TEST_CASE("an empty kernel says so whatever it is asked") {
  const bl::Kernel empty;
  CHECK(!empty);
  const std::function<void()> uses[] = {
      [&] { empty({}); },
      [&] { empty.run(std::initializer_list<bl::AnyView>{}, {}); },
      [&] { empty.run_named({}, {}); },
      [&] { empty.bind(std::initializer_list<bl::AnyView>{}, {}); },
      [&] { empty.bind_named({}, {}); },
      [&] { empty.prepare({}); },
      [&] { empty.prepare_named({}); },
      [&] { empty.infer({}); },
      [&] { empty.infer_named({}); },
      [&] { empty.inputs(); },
      [&] { empty.outputs(); },
      [&] { empty.show(bl::Stage::loop); },
      [&] { empty.why(); },
      [&] { empty.predict(); },
      [&] { empty.engine(); },
      [&] { empty.threads(); },
      [&] { empty.counters(); },
      [&] { empty.spec(); },
      [&] { empty.freeze({}); },
      [&] { empty.refreeze({}); },
      [&] { empty.unit("i", {}); },
      [&] { empty.partial("i", 0, {}); },
      [&] { empty.why_no_map("i"); },
  };
  for (const auto &use : uses) CHECK(code_of<bl::DataError>(use) == "E0317");
}

TEST_CASE("an empty bound call, empty results and an empty array say so") {
  const Model empty;
  CHECK(code_of<bl::DataError>([&] { empty.call(); }) == "E0317");
  CHECK(code_of<bl::DataError>([&] { empty.results["z"]; }) == "E0304");
  CHECK(code_of<bl::DataError>([&] { empty.results[0]; }) == "E0304");
  CHECK(code_of<bl::DataError>([&] { empty.array.at(); }) == "E0306");
  CHECK(empty.results.size() == 0);
  CHECK(empty.array.to_vector<float>().empty());
}

TEST_CASE("an empty view is an error of the call that is given it") {
  const bl::Kernel kernel =
      bl::compile(bl::parse("kernel k { in x : f32[i]; in s : f32; out z = x * s }"));
  const std::vector<float> x{1, 2};
  const float s = 3;
  CHECK(code_of<bl::ShapeError>([&] {
          kernel({{"x", bl::View<const float>()}, {"s", bl::View<const float>(&s, {})}});
        }) == "E0101");
  CHECK(code_of<bl::DataError>([&] { kernel({{"x", x}, {"s", bl::View<const float>()}}); }) ==
        "E0306");
}

TEST_CASE("an empty kernel and bound call are as good as any once they are assigned") {
  Model model;
  model.kernel = bl::compile(bl::parse("kernel k { in x : f32[i]; out z = x * 2 }"));
  std::vector<float> x{1, 2}, z(2);
  model.call = model.kernel.bind({bl::View(x)}, {bl::View(z)});
  model.call();
  CHECK(z == std::vector<float>{2, 4});
  model.results = model.kernel({{"x", x}});
  CHECK(model.results["z"].to_vector<float>() == z);
}
