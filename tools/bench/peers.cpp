// See peers.hpp. The process talks through a socket on its standard input and output: writing to
// one that has died is then an error instead of a signal.
#include "bench/peers.hpp"

#include <fmt/format.h>
#include <llvm/Support/JSON.h>

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace bl = broadloom;
namespace json = llvm::json;

namespace bench {
namespace {

json::Object parse_answer(const std::string &line) {
  llvm::Expected<json::Value> value = json::parse(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    throw PeerError(fmt::format("the peers said '{}', which is no JSON", line.substr(0, 200)));
  }
  json::Object *object = value->getAsObject();
  if (object == nullptr)
    throw PeerError(fmt::format("the peers said '{}', which is no object", line.substr(0, 200)));
  return std::move(*object);
}

std::string line_of(json::Object object) {
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(object));
  return text + '\n';
}

std::vector<std::string> strings(const json::Object &object, llvm::StringRef key) {
  std::vector<std::string> result;
  if (const json::Array *array = object.getArray(key))
    for (const json::Value &value : *array)
      if (const auto text = value.getAsString()) result.push_back(text->str());
  return result;
}

PeerRow::Status status_of(llvm::StringRef word) {
  if (word == "ok") return PeerRow::Status::Ok;
  if (word == "wrong") return PeerRow::Status::Wrong;
  return PeerRow::Status::Failed;
}

} // namespace

Peers::Peers(const std::vector<std::string> &command, std::chrono::seconds patience)
    : patience_(patience) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw PeerError(fmt::format("no socket for the peers: {}", std::strerror(errno)));
  std::vector<char *> words;
  for (const std::string &word : command) words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  process_ = fork();
  if (process_ == 0) { // only calls that are safe after a fork of a process with threads
    prctl(PR_SET_PDEATHSIG, SIGKILL); // or it would stand still for ever
    dup2(ends[1], 0);
    dup2(ends[1], 1);
    execvp(words[0], words.data());
    _exit(127);
  }
  close(ends[1]);
  socket_ = ends[0];
  if (process_ < 0) {
    close(socket_);
    throw PeerError(fmt::format("no process for the peers: {}", std::strerror(errno)));
  }
  try {
    const json::Object hello = parse_answer(ask(line_of(json::Object{{"hello", 1}})));
    versions_ = strings(hello, "peers");
    missing_ = strings(hello, "missing");
  } catch (const PeerError &) {
    close(socket_);
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    throw;
  }
}

Peers::~Peers() {
  close(socket_); // its input ends, and so does it; a process that hangs does not
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

std::string Peers::ask(const std::string &line) {
  kill(process_, SIGCONT);
  std::string answer = answer_to(line);
  kill(process_, SIGSTOP);
  return answer;
}

std::string Peers::answer_to(const std::string &line) {
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t n = send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) throw PeerError("the process of the peers has ended; what it said is above");
    sent += std::size_t(n);
  }
  for (;;) {
    if (const std::size_t end = unread_.find('\n'); end != unread_.npos) {
      std::string answer = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return answer;
    }
    pollfd wait{socket_, POLLIN, 0};
    if (poll(&wait, 1, int(std::chrono::milliseconds(patience_).count())) == 0)
      throw PeerError(fmt::format("the peers did not answer within {} s to {}", patience_.count(),
                                  line.substr(0, 100)));
    char buffer[4096];
    const ssize_t n = recv(socket_, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw PeerError("the process of the peers has ended; what it said is above");
    unread_.append(buffer, std::size_t(n));
  }
}

std::vector<PeerRow> Peers::prepare(const Case &c, const std::vector<bl::Array> &inputs,
                                    const std::vector<bl::Array> &outputs,
                                    const std::string &folder) {
  json::Array in, out;
  for (const bl::Array &input : inputs) {
    const std::string file = fmt::format("{}/in{}.npy", folder, in.size());
    bl::save_npy(file, input);
    json::Array strides;
    for (const std::int64_t stride : input.strides()) strides.push_back(stride);
    in.push_back(json::Object{{"file", file}, {"strides", std::move(strides)}});
  }
  for (const bl::Array &output : outputs) {
    const std::string file = fmt::format("{}/out{}.npy", folder, out.size());
    bl::save_npy(file, output);
    out.push_back(file);
  }
  const json::Object answer = parse_answer(ask(line_of(json::Object{{"case", c.peer_key()},
                                                                    {"tolerance", c.tolerance},
                                                                    {"first", c.first},
                                                                    {"overhead", c.overhead},
                                                                    {"inputs", std::move(in)},
                                                                    {"outputs", std::move(out)}})));
  std::vector<PeerRow> result;
  if (const json::Array *peers = answer.getArray("peers"))
    for (const json::Value &value : *peers) {
      const json::Object *peer = value.getAsObject();
      if (peer == nullptr) continue;
      PeerRow row;
      row.name = peer->getString("name").value_or("?").str();
      row.status = status_of(peer->getString("status").value_or(""));
      row.error = peer->getNumber("error").value_or(0);
      row.note = peer->getString("note").value_or("").str();
      result.push_back(std::move(row));
    }
  return result;
}

double Peers::seconds(const std::string &peer, int repeat) {
  const std::string line = ask(line_of(json::Object{{"round", peer}, {"repeat", repeat}}));
  const std::optional<double> seconds = parse_answer(line).getNumber("seconds");
  if (!seconds || *seconds <= 0)
    throw PeerError(fmt::format("{} said '{}' instead of its time", peer, line.substr(0, 200)));
  return *seconds;
}

void Peers::drop() { ask(line_of(json::Object{{"drop", 1}})); }

} // namespace bench
