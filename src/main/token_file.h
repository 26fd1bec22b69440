// kube-apiserver's --token-auth-file.
#pragma once

#include <string_view>
#include <vector>

#include "apiserver/api_server.h"
#include "base/result.h"

namespace hekla {

// One token per line: token,user,uid and optionally "group1,group2". Errors name the line.
Result<std::vector<apiserver::StaticToken>> parse_token_file(std::string_view text);

}  // namespace hekla
