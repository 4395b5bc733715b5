// Broadloom: loops over n-d arrays, stated as expressions, compiled at run time.
// Include this one header; README.md has an example that runs.
#pragma once

#if __cplusplus < 202002L
#error "Broadloom needs C++20: compile with -std=c++20"
#else
#include <broadloom/accumulator.hpp>
#include <broadloom/array.hpp>
#include <broadloom/check_gradient.hpp>
#include <broadloom/decision.hpp>
#include <broadloom/device.hpp>
#include <broadloom/dtype.hpp>
#include <broadloom/error.hpp>
#include <broadloom/expr.hpp>
#include <broadloom/float16.hpp>
#include <broadloom/function.hpp>
#include <broadloom/gradient.hpp>
#include <broadloom/jacobian.hpp>
#include <broadloom/kernel.hpp>
#include <broadloom/log.hpp>
#include <broadloom/options.hpp>
#include <broadloom/partial.hpp>
#include <broadloom/scales.hpp>
#include <broadloom/schedule.hpp>
#include <broadloom/spec.hpp>
#include <broadloom/stateful.hpp>
#include <broadloom/until.hpp>
#include <broadloom/version.hpp>
#endif
