// S3's errors: clients act on the code, people read the message.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hekla::objects {

struct S3Error {
  int status = 500;
  std::string code;  // NoSuchKey
  std::string message;
};

template <class T>
using Outcome = std::expected<T, S3Error>;

// The error of that code with S3's status and sentence. An unknown code is a programmer's error.
S3Error s3_error(std::string_view code);
// The same with a sentence of its own.
S3Error s3_error(std::string_view code, std::string message);
// An error on its way out of a function, whether that returns an Outcome or a Result around one.
struct Refusal {
  S3Error error;
  template <class T>
  operator std::expected<T, S3Error>() const {
    return std::unexpected(error);
  }
};
inline Refusal refuse(std::string_view code) { return {s3_error(code)}; }
inline Refusal refuse(std::string_view code, std::string message) {
  return {s3_error(code, std::move(message))};
}
// An inner error as a client sees it: no more than whether trying again makes sense.
S3Error from_internal(const Error& error);

}  // namespace hekla::objects
