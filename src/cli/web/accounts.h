// The accounts of the web login, as `hekla user` and `hekla doctor` see them: the ConfigMap
// auth/dex.
#pragma once

#include <string>
#include <vector>

#include "cli/api_session.h"
#include "gateway/dex_config.h"

namespace hekla::cli {

Result<gateway::DexConfig> read_accounts(ApiSession& session);
// A new password for an account that is there (`exists`), or a new account.
Result<void> set_account(ApiSession& session, gateway::DexUser user, bool exists);
Result<void> remove_account(ApiSession& session, const std::string& email);

// Typed twice without being shown, or the first line of standard input where that is no terminal.
Result<std::string> ask_new_password(const std::string& email);

}  // namespace hekla::cli
