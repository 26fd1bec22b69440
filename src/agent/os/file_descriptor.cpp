#include "agent/os/file_descriptor.h"

#include <cerrno>
#include <system_error>

namespace hekla::agent {

std::unexpected<Error> errno_error(const std::string& what) { return errno_error(what, errno); }

std::unexpected<Error> errno_error(const std::string& what, int number) {
  Code code = number == ENOENT                        ? Code::not_found
              : number == EEXIST                      ? Code::already_exists
              : (number == EPERM || number == EACCES) ? Code::forbidden
                                                      : Code::internal;
  return fail(code, what + ": " + std::generic_category().message(number));
}

}  // namespace hekla::agent
