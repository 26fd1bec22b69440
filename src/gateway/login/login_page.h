// The login form, with the names and ids that users' scripts and browser tests know from dex.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http.h"

namespace hekla::gateway {

struct LoginPage {
  std::string action;  // where the form is sent
  std::string email;   // what was typed last
  std::string error;   // empty: none
  bool chinese = false;
  bool passwords = true;
  std::vector<std::pair<std::string, std::string>> others;  // title and link of other ways
};
net::Response login_page(int status, const LoginPage& page);

}  // namespace hekla::gateway
