// Users' programs answer on an origin of their own, where no cookie of the page is sent and no
// script can speak for the page: content.localhost beside localhost, on the same port.
#pragma once

#include <string>
#include <string_view>

namespace hekla::gateway {

// Where a visitor of the page proves to the content's origin who they are, on both.
inline constexpr std::string_view kContentPath = "/hekla/content";

bool is_content_origin(std::string_view origin);
// Whether only a program of this machine can have named it: no name that somebody's DNS may point
// here.
bool is_loopback_origin(std::string_view origin);
// Of a page's origin; empty where none is known: the page was opened by an address or a name that
// has no second one.
std::string content_origin_of(std::string_view page);
// The page's, of an origin that is_content_origin().
std::string page_origin_of(std::string_view content);

}  // namespace hekla::gateway
