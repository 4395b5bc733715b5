// OpenCV's own images; built where OpenCV is.
#include <broadloom/broadloom.hpp>
#include <broadloom/interop/opencv.hpp>

#include <doctest/doctest.h>

#include <opencv2/core.hpp>

namespace bl = broadloom;

TEST_CASE("images of OpenCV, and parts of them, are arguments, and results are images") {
  cv::Mat image(3, 4, CV_8UC3);
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 4; ++c)
      image.at<cv::Vec3b>(r, c) = {std::uint8_t(r), std::uint8_t(c), std::uint8_t(10 * r + c)};
  const cv::Mat part = image(cv::Rect(1, 1, 2, 2)); // its rows lie apart
  const bl::Kernel kernel = bl::compile(
      bl::parse("kernel k { in x : u8[r, c, k]; out z = x + u8(1); out g : f32 = mean(x, k) }"));
  const bl::Results r = kernel({{"x", bl::view_of_opencv(part)}}, bl::Order::c);
  const cv::Mat z = bl::to_opencv<cv::Mat>(r["z"], true), g = bl::to_opencv<cv::Mat>(r["g"]);
  CHECK(z.type() == CV_8UC3);
  CHECK(z.at<cv::Vec3b>(1, 0) == cv::Vec3b(3, 2, 22));
  CHECK(g.type() == CV_32FC1);
  CHECK(g.at<float>(0, 1) == doctest::Approx((1 + 2 + 12) / 3.0));
  CHECK(bl::view_of_opencv(cv::Mat(2, 2, CV_64F)).dtype == bl::f64);
}
