// S3 over HTTP on an ObjectStore: path-style and virtual-host addresses, signature version 4 in
// header, query and chunks.
#pragma once

#include "net/http.h"
#include "net/server_options.h"
#include "objects/object_store.h"
#include "objects/wire/s3_options.h"

namespace hekla::objects {

// The store outlives the handler. How bodies are taken: `s3_router`.
net::Handler s3_handler(ObjectStore& store, S3Options options);
net::Router s3_router();

}  // namespace hekla::objects
