// `hekla apiserver` and `hekla etcd`: what a test environment starts.
#pragma once

#include <string>

#include "cli/apiserver_options.h"

namespace hekla {

// Both block until a signal; exit code 0, or 1 when they could not start.
int run_apiserver(const cli::ApiServerOptions& options);
int run_etcd_stand_in(const std::string& url);

}  // namespace hekla
