// A link into the dashboard that logs in whoever holds the kubeconfig.
#pragma once

#include <string>

#include "cli/api_session.h"

namespace hekla::cli {

struct PageLink {
  std::string as;          // whom to log in as; empty: the owner of the first Profile
  std::string path = "/";  // the page
  bool print = false;      // only print it
};
// Prints the link and, where there is a display, opens it in a browser.
Result<void> open_page(ApiSession& session, const PageLink& link);

// The oldest Profile: whom the platform was made for. Null when there is none.
Result<json::Value> first_profile(ApiSession& session);

}  // namespace hekla::cli
