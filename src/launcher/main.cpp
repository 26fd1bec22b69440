// hekla-launch: runs one attempt of one pipeline step. See docs/formats/launch.md.
//
//   hekla-launch               in a pod: HEKLA_LAUNCH_ADDRESS and HEKLA_LAUNCH_TOKEN say where from
//
// Exit code: that of the user's command, or 1 when inputs or outputs could not be moved.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "launcher/files.h"
#include "launcher/http.h"
#include "launcher/json.h"
#include "launcher/preamble.h"
#include "launcher/process.h"

namespace hekla::launcher {
namespace {

constexpr const char* kTerminationLog = "/dev/termination-log";
// Of a parameter's file and of the executor's output: both become rows of a database.
constexpr std::size_t kTextMax = std::size_t{16} << 20;

void say(const std::string& line) {
  const std::string text = line + "\n";
  (void)!::write(1, text.data(), text.size());
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string object_path(const std::string& bucket, const std::string& key) {
  return "/v1/objects/" + path_encoded(bucket) + "/" + path_encoded(key);
}

std::vector<std::string> texts(const Json* list) {
  std::vector<std::string> all;
  for (std::size_t i = 0; list && i < list->items.size(); ++i) all.push_back(list->items[i].text);
  return all;
}

class Launch {
 public:
  explicit Launch(Http& http) : http_(http) {}

  int run() {
    const Answer answer = http_.send("GET", "/v1/task");
    const std::optional<Json> task = parse_json(answer.body);
    if (answer.status != 200 || !task) {
      say("hekla: the task of this pod cannot be had: " + answer.body);
      return 1;
    }
    task_ = &*task;
    int code = 1;
    if (std::string problem = prepare(); !problem.empty()) {
      result("error", quoted(problem));
      say("hekla: " + problem);
    } else {
      code = run_step();
    }
    const bool stored = store_result(code);
    return stored ? code : 1;
  }

 private:
  std::string prepare() {
    for (const std::string& path : texts(task_->find("makeParents")))
      if (std::string problem = make_parents(path); !problem.empty()) return problem;
    const Json* files = task_->find("files");
    for (std::size_t i = 0; files && i < files->items.size(); ++i) {
      const std::string path = files->items[i].string("path");
      if (std::string problem = make_parents(path); !problem.empty()) return problem;
      if (std::string problem = write_file(path, files->items[i].string("text")); !problem.empty())
        return problem;
    }
    const Json* inputs = task_->find("inputs");
    for (std::size_t i = 0; inputs && i < inputs->items.size(); ++i)
      if (std::string problem = bring(inputs->items[i]); !problem.empty()) return problem;
    return {};
  }

  // One object, or all below the key when there is none of that name.
  std::string bring(const Json& input) {
    const std::string bucket = input.string("bucket"), key = input.string("key"),
                      path = input.string("path");
    if (std::string problem = make_parents(path); !problem.empty()) return problem;
    const Answer listed =
        http_.send("GET", "/v1/list/" + path_encoded(bucket) + "/" + path_encoded(key));
    const std::optional<Json> keys = parse_json(listed.body);
    if (listed.status != 200 || !keys) return "input " + input.string("name") + ": " + listed.body;
    for (const std::string& one : texts(&*keys)) {
      const std::string file = path + one.substr(std::min(key.size(), one.size()));
      if (std::string problem = make_parents(file); !problem.empty()) return problem;
      const Answer got = http_.fetch_file(object_path(bucket, one), file);
      if (got.status != 200) return "input " + input.string("name") + ": " + got.body;
    }
    if (keys->items.empty())
      say("hekla: input " + input.string("name") + " has no bytes at " + bucket + "/" + key);
    return {};
  }

  int run_step() {
    std::vector<std::string> argv = texts(task_->find("argv"));
    const std::vector<std::string> needs = preamble_requirements(argv);
    if (!needs.empty() && variable("HEKLA_PIP") != "always" && are_installed(needs)) {
      std::string all;
      for (const std::string& one : needs) all += " " + one;
      say("hekla: pip install skipped, installed already:" + all + " (HEKLA_PIP=always installs)");
      argv = without_preamble(argv);
    }
    const Ended ended = run_command(argv);
    if (!ended.error.empty()) {
      say("hekla: " + ended.error);
      result("error", quoted(ended.error));
    }
    const std::string problem = collect(ended.code == 0);
    if (problem.empty() || ended.code != 0) return ended.code;
    say("hekla: " + problem);
    result("error", quoted(problem));
    return 1;
  }

  // Output files as text, artifacts as objects.
  std::string collect(bool succeeded) {
    std::optional<Json> written;
    if (std::optional<std::string> text = read_file(task_->string("outputFile"), kTextMax)) {
      result("output", quoted(*text));
      written = parse_json(*text);
    }
    std::string parameters;
    const Json* wanted = task_->find("parameters");
    for (std::size_t i = 0; wanted && i < wanted->items.size(); ++i)
      if (std::optional<std::string> text = read_file(wanted->items[i].string("path"), kTextMax))
        parameters += (parameters.empty() ? "" : ",") + quoted(wanted->items[i].string("name")) +
                      ":" + quoted(*text);
    result("parameters", "{" + parameters + "}");
    const Json* artifacts = task_->find("artifacts");
    for (std::size_t i = 0; succeeded && artifacts && i < artifacts->items.size(); ++i)
      if (std::string problem = store(artifacts->items[i], written); !problem.empty())
        return problem;
    return {};
  }

  // The place the program has chosen for an artifact, if it has.
  static std::string chosen_path(const std::optional<Json>& written, const std::string& name) {
    const Json* at = written ? written->find("artifacts") : nullptr;
    at = at ? at->find(name) : nullptr;
    at = at ? at->find("artifacts") : nullptr;
    return at && !at->items.empty() ? at->items.front().string("custom_path") : std::string();
  }

  std::string store(const Json& artifact, const std::optional<Json>& written) {
    const std::string name = artifact.string("name");
    std::string path = chosen_path(written, name);
    if (path.empty()) path = artifact.string("path");
    const std::optional<std::vector<std::string>> files = tree(path);
    if (!files) {
      const Json* required = artifact.find("required");
      const std::string words = "output " + name + " was not written";
      if (required && required->text == "true") return words + ": there is nothing at " + path;
      say("hekla: " + words);
      return {};
    }
    for (const std::string& file : *files) {
      const std::string tail = file.empty() ? "" : "/" + file;
      const Answer done = http_.send_file(
          object_path(artifact.string("bucket"), artifact.string("key") + tail), path + tail);
      if (done.status != 200) return "output " + name + ": " + done.body;
    }
    return {};
  }

  void result(const std::string& name, const std::string& value) {
    result_ += (result_.empty() ? "" : ",") + quoted(name) + ":" + value;
  }

  // Durable before this process ends; its digest tells the platform that it is this one's.
  bool store_result(int code) {
    result("exitCode", std::to_string(code));
    const Answer done = http_.send("PUT", "/v1/result", "{" + result_ + "}");
    const std::optional<Json> reply = parse_json(done.body);
    if (done.status != 200 || !reply) {
      say("hekla: the result cannot be stored: " + done.body);
      return false;
    }
    const std::string digest = reply->string("sha256");
    const int log = ::open(kTerminationLog, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (log < 0) return true;
    (void)!::write(log, digest.data(), digest.size());
    ::close(log);
    return true;
  }

  Http& http_;
  const Json* task_ = nullptr;
  std::string result_;
};

}  // namespace
}  // namespace hekla::launcher

int main() {
  using namespace hekla::launcher;
  const std::string address = variable("HEKLA_LAUNCH_ADDRESS"),
                    token = variable("HEKLA_LAUNCH_TOKEN");
  ::unsetenv("HEKLA_LAUNCH_TOKEN");
  if (address.empty() || token.empty()) {
    say("hekla-launch runs the steps of pipelines in pods; HEKLA_LAUNCH_ADDRESS or "
        "HEKLA_LAUNCH_TOKEN is not set");
    return 2;
  }
  Http http(address, token, say);
  return Launch(http).run();
}
