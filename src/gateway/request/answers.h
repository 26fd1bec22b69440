// Answers of the gateway's own: pages for people, JSON for programs.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "gateway/request/visit.h"
#include "json/value.h"
#include "net/http.h"

namespace hekla::gateway {

// The headers of every page and answer of ours: no framing by others, no sniffing, no referrer, no
// script or style but our own. `forms_lead_to` is a further origin where a form's way may end.
void set_page_security(net::Headers& headers, std::string_view forms_lead_to = {});

net::Response redirect(int status, std::string location);
net::Response json_answer(int status, const json::Value& body);
net::Response html_answer(int status, std::string body);
// A page with a title and a sentence; `more` is HTML.
net::Response message_page(int status, std::string_view title, std::string_view text,
                           std::string_view more = {});
// The form of Kubeflow's web applications for programs, a page for people.
net::Response refusal(const Visit& visit, const Error& error, std::string_view user = {});

// The style sheet of these pages, at kStylePath.
inline constexpr std::string_view kStylePath = "/dex/theme/styles.css";
std::string_view style_sheet();

}  // namespace hekla::gateway
