// Eigen's own matrices; built where Eigen is.
#include <broadloom/broadloom.hpp>
#include <broadloom/interop/eigen.hpp>

#include <doctest/doctest.h>

namespace bl = broadloom;

TEST_CASE("matrices, vectors, maps and blocks of Eigen are arguments, and results are maps") {
  Eigen::MatrixXd x(2, 3);
  x << 1, 2, 3, 4, 5, 6;
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = x;
  Eigen::VectorXd y(3);
  y << 1, 10, 100;
  const bl::Kernel kernel = bl::compile(bl::parse(
      "kernel k { in x : f64[i, j]; in y : f64[j]; out z = x * y; out s = sum(x * y, j) }"));
  const bl::Results r = kernel({{"x", bl::view_of_eigen(x)}, {"y", bl::view_of_eigen(y)}});
  CHECK(bl::to_eigen<double>(r["s"]) == x * y);
  CHECK(bl::to_eigen<double>(r["z"]) == Eigen::MatrixXd(x * y.asDiagonal()));
  const bl::Results same =
      kernel({{"x", bl::view_of_eigen(rows)}, {"y", bl::view_of_eigen(y)}}, bl::Order::c);
  CHECK(bl::to_eigen<double>(same["z"]) == Eigen::MatrixXd(x * y.asDiagonal()));

  const bl::Results of_block =
      kernel({{"x", bl::view_of_eigen(x.block(0, 1, 2, 2))}, {"y", bl::view_of_eigen(y.head(2))}});
  CHECK(bl::to_eigen<double>(of_block["s"]) == x.block(0, 1, 2, 2) * y.head(2));
  const bl::Results of_row =
      kernel({{"x", bl::view_of_eigen(x)}, {"y", bl::view_of_eigen(x.row(1))}});
  CHECK(bl::to_eigen<double>(of_row["s"]) == x * x.row(1).transpose());

  Eigen::MatrixXd z = Eigen::MatrixXd::Zero(4, 3);
  auto top = z.topRows(2);
  kernel.run({{"x", bl::view_of_eigen(x)}, {"y", bl::view_of_eigen(y)}},
             {{"z", bl::view_of_eigen(top)}});
  CHECK(z.topRows(2) == x * y.asDiagonal());
  CHECK(z.bottomRows(2).isZero());

  CHECK_THROWS_AS(bl::to_eigen<float>(r["z"]), bl::DTypeError);
  CHECK_THROWS_AS(bl::to_eigen<double>(bl::Array(bl::f64, {1, 1, 1})), bl::ShapeError);
}
