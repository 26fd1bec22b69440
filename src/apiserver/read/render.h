// Objects and lists as HTTP answers, in the shape the client negotiated.
#pragma once

#include "apiserver/object/registry.h"
#include "apiserver/read/negotiate.h"
#include "apiserver/read/reads.h"
#include "apiserver/read/table.h"
#include "base/clock.h"
#include "net/http.h"

namespace hekla::apiserver {

net::Response render_object(const ServedKind& served, const store::Item& item, const Answer& answer,
                            IncludeObject include, int status, WallTime now);
// A large list is put together while it is sent.
net::Response render_list(const ServedPtr& served, ListPage page, const Answer& answer,
                          IncludeObject include, WallTime now);
// An object that is not in the store, in the columns of `shown_as`.
net::Response render_view(const ServedKind& shown_as, const json::Value& object,
                          const Answer& answer, IncludeObject include, int status, WallTime now);
// A value that is not an object of the store (reviews).
net::Response render_value(const json::Value& value, const Answer& answer, int status);

}  // namespace hekla::apiserver
