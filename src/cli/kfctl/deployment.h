// kfctl's work: the applications of a KfDef brought into being, and what it leaves behind.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/api_session.h"

namespace hekla::cli {

// The names of the applications of a KfDef, which is a file or a URL. One that cannot be fetched
// and bears the name of a release's is that release's.
Result<std::vector<std::string>> applications_of(const std::string& file);

// Writes the KfDef into app.yaml of the working directory, as kfctl does.
Result<void> write_kf_app(const std::vector<std::string>& applications);

// Says of each application whether the platform has it, and makes the namespaces. Fails on a part
// that the platform should have and does not serve.
Result<void> deploy(ApiSession& session, const std::vector<std::string>& applications,
                    bool verbose);
// Takes away what deploy() made.
Result<void> undeploy(ApiSession& session);

}  // namespace hekla::cli
