// An object on its way out, as the answer to a request: pieces follow when the client has taken
// what was sent.
#pragma once

#include <memory>

#include "net/http.h"
#include "pipelines/object_bytes.h"

namespace hekla::pipelines {

// Takes the object over. Blocks for the first pieces; later ones are read on a net thread.
void send_object(OpenObject object, net::Headers headers,
                 std::shared_ptr<net::ResponseWriter> writer);

}  // namespace hekla::pipelines
