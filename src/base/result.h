// Errors as values. Codes are the reasons of a Kubernetes Status, so that an error travels to HTTP
// and back from a remote cluster without translation. Retry policy looks at the code, never at the
// text.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hekla {

enum class Code : std::uint8_t {
  bad_request,             // 400 BadRequest
  unauthorized,            // 401 Unauthorized
  forbidden,               // 403 Forbidden
  not_found,               // 404 NotFound
  method_not_allowed,      // 405 MethodNotAllowed
  not_acceptable,          // 406 NotAcceptable
  already_exists,          // 409 AlreadyExists
  conflict,                // 409 Conflict
  expired,                 // 410 Expired
  too_large,               // 413 RequestEntityTooLarge
  unsupported_media_type,  // 415 UnsupportedMediaType
  invalid,                 // 422 Invalid
  too_many_requests,       // 429 TooManyRequests
  internal,                // 500 InternalError
  unavailable,             // 503 ServiceUnavailable
  timeout,                 // 504 Timeout
};

// Kubernetes' spelling of the reason ("NotFound") and its HTTP status.
std::string_view reason_of(Code code);
int http_status_of(Code code);
// The code for a Status.reason; falls back on the HTTP status when the reason is unknown or empty.
Code code_from(std::string_view reason, int http_status);

// One entry of Status.details.causes.
struct Cause {
  std::string reason;  // FieldValueRequired, FieldValueInvalid, ...
  std::string message;
  std::string field;
};

struct ErrorDetails {
  std::string name, group, kind, uid;
  std::vector<Cause> causes;
  int retry_after_seconds = 0;
};

struct Error {
  Code code = Code::internal;
  std::string message;  // what was attempted, on what, and why it failed; lower case, no period
  ErrorDetails details{};
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Code code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}

}  // namespace hekla

// Unwraps a Result or returns its error from the enclosing function. Not inside coroutines.
#define TRY(expr)                                                             \
  __extension__({                                                             \
    auto try_result_ = (expr);                                                \
    if (!try_result_) return std::unexpected(std::move(try_result_).error()); \
    std::move(try_result_).value();                                           \
  })
