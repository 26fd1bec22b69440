// The Kubernetes REST protocol as values: writes to HTTP requests, HTTP answers to objects and
// errors. Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/client.h"
#include "net/client.h"

namespace hekla::kube {

// /api/v1/namespaces/NS/pods/NAME/SUB; empty parts are left out.
std::string resource_path(const Resource& resource, std::string_view ns, std::string_view name = {},
                          std::string_view subresource = {});

// Path, query, method, headers and body; `url` is without the server.
// `no_older_than`: a state that is no older than this revision will do, which spares the server the
// way to its store; 0: the newest.
net::ClientRequest list_request(const Resource& resource, const ListOptions& options, int limit,
                                std::string_view continue_token, std::uint64_t no_older_than = 0);
net::ClientRequest watch_request(const Resource& resource, const WatchOptions& options);
net::ClientRequest write_request(const Write& write, const std::string& field_manager);

// An error status, with the body's Status if it has one.
Error error_from(const std::string& what, const net::Response& response);
// A Status object as it stands in a body or a watch event.
Error error_from_status(const json::Value& status, int http_status);

Result<ObjectPtr> decode_object(const Resource& resource, const net::ClientRequest& request,
                                const Result<net::Response>& response);
// Null for verbs that are answered without an object (bind, evict).
WriteResult decode_write(const Write& write, const net::ClientRequest& request,
                         const Result<net::Response>& response);

struct ListPage {
  std::uint64_t resource_version = 0;
  std::string continue_token;
  std::vector<ObjectPtr> items;
};
Result<ListPage> decode_page(const Resource& resource, const net::ClientRequest& request,
                             const Result<net::Response>& response);

// One line of a watch. An ERROR event is an error; so is a line that is no event.
Result<WatchEvent> decode_event(const Resource& resource, std::string_view line);

}  // namespace hekla::kube
