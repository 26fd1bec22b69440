// The body of a request: decoded, verified against its signature and checksums.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "objects/keeping/content.h"
#include "objects/serving/call.h"

namespace hekla::objects {

// Takes the body into a spool, computes what its headers ask for, and calls `next` with it on the
// connection's thread when all of it has come and is what the client says it is. A body that is not
// is refused, and nothing stays of it.
void read_object(const CallPtr& call, std::move_only_function<void(std::shared_ptr<Spool>)> next);
// The same for a document of at most 2 MB.
void read_document(const CallPtr& call, std::move_only_function<void(std::string)> next);

// The checksums of the body that the client has sent or asked for, by header name.
std::map<std::string, std::string> body_checksums(const Call& call, const Spool& spool);

}  // namespace hekla::objects
