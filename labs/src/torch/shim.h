// How C++ exceptions become codes, for every part of the shim.

#pragma once

#include <c10/util/Exception.h>

#include <exception>
#include <string>

namespace infralab {

constexpr int kOk = 0;
constexpr int kFailed = 1;
constexpr int kOutOfMemory = 2;

// What il_last_error() returns.
extern thread_local std::string last_error;

template <typename Body>
int guarded(Body&& body) noexcept {
  try {
    body();
    return kOk;
  } catch (const c10::OutOfMemoryError& e) {
    last_error = e.what_without_backtrace();
    return kOutOfMemory;
  } catch (const c10::Error& e) {
    last_error = e.what_without_backtrace();
    return kFailed;
  } catch (const std::exception& e) {
    last_error = e.what();
    return kFailed;
  } catch (...) {
    last_error = "an exception that is not a std::exception";
    return kFailed;
  }
}

} // namespace infralab
