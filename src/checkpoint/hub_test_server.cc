#include "checkpoint/hub_test_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string_view>

#include "base/check.h"
#include "base/hash.h"
#include "base/json.h"

namespace deepinfer::hub {
namespace {

void SendAll(int32_t socket, std::string_view data) {
  while (!data.empty()) {
    const ssize_t sent = send(socket, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    data.remove_prefix(static_cast<size_t>(sent));
  }
}

void SendResponse(int32_t socket, int32_t status, const std::string& headers,
                  std::string_view body) {
  SendAll(socket, StrCat("HTTP/1.1 ", status, " Status\r\nContent-Length: ", body.size(),
                         "\r\nConnection: close\r\n", headers, "\r\n"));
  SendAll(socket, body);
}

// The value of a header in a raw head, or "".
std::string HeaderOf(const std::string& head, std::string_view name) {
  const size_t at = head.find(StrCat("\r\n", name, ": "));
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

}  // namespace

HubTestServer::HubTestServer() {
  listener_ = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  DI_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  socklen_t size = sizeof(address);
  DI_CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  DI_CHECK(listen(listener_, 16) == 0);
  acceptor_ = std::thread([this] { AcceptLoop(); });
}

HubTestServer::~HubTestServer() {
  stop_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  for (std::thread& server : servers_) server.join();
}

std::string HubTestServer::endpoint() const { return StrCat("http://127.0.0.1:", port_); }

void HubTestServer::AddFile(const std::string& path, const std::string& content, bool large) {
  files_[path] = {content, large ? HexOf(Sha256Of(content)) : "", GitBlobSha1Hex(content)};
}

std::vector<SeenRequest> HubTestServer::requests() {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void HubTestServer::StopCutting() {
  const std::lock_guard lock(mutex_);
  cut_after.clear();
}

void HubTestServer::AcceptLoop() {
  while (!stop_) {
    const int32_t client = accept(listener_, nullptr, nullptr);
    if (client < 0) continue;
    const std::lock_guard lock(mutex_);
    servers_.emplace_back([this, client] { Serve(client); });
  }
}

void HubTestServer::Serve(int32_t socket) {
  std::string head;
  char buffer[4096];
  while (head.find("\r\n\r\n") == std::string::npos) {
    const ssize_t got = recv(socket, buffer, sizeof(buffer), 0);
    if (got <= 0) break;
    head.append(buffer, static_cast<size_t>(got));
  }
  SeenRequest request;
  const size_t begin = head.find(' ') + 1;
  request.path = head.substr(begin, head.find(' ', begin) - begin);
  request.range = HeaderOf(head, "Range");
  request.authorization = HeaderOf(head, "Authorization");
  {
    const std::lock_guard lock(mutex_);
    seen_.push_back(request);
  }
  Answer(socket, request);
  close(socket);
}

void HubTestServer::Answer(int32_t socket, const SeenRequest& request) {
  if (!required_token.empty() && request.authorization != "Bearer " + required_token) {
    return SendResponse(socket, 401, "", "no");
  }
  if (request.path.find("/api/models/") == 0) {
    return SendResponse(socket, info_status, "", info_status == 200 ? InfoBody() : "");
  }
  const std::string name = request.path.substr(request.path.rfind('/') + 1);
  if (!redirect_files_to.empty()) {
    return SendResponse(socket, 302, StrCat("Location: ", redirect_files_to, "/cdn/", name, "\r\n"),
                        "moved");
  }
  AnswerFile(socket, request, name);
}

void HubTestServer::AnswerFile(int32_t socket, const SeenRequest& request,
                               const std::string& name) {
  size_t answer_idx = 0;
  std::optional<size_t> cut;
  {
    const std::lock_guard lock(mutex_);
    answer_idx = num_answers_[name]++;
    const auto cuts = cut_after.find(name);
    if (cuts != cut_after.end() && answer_idx < cuts->second.size()) {
      cut = cuts->second[answer_idx];
    }
  }
  if (status_sent.count(name) > 0) return SendResponse(socket, status_sent[name], "", "");
  if (num_503_first.count(name) > 0 && answer_idx < static_cast<size_t>(num_503_first[name])) {
    return SendResponse(socket, 503, "", "");
  }
  if (files_.count(name) == 0) return SendResponse(socket, 404, "", "");
  std::string body = content_sent.count(name) > 0 ? content_sent[name] : files_[name].content;
  std::string headers;
  int32_t status = 200;
  if (!request.range.empty() && !ignore_ranges) {
    const size_t begin = std::stoul(request.range.substr(6));
    headers =
        StrCat("Content-Range: bytes ", begin, "-", body.size() - 1, "/", body.size(), "\r\n");
    body = body.substr(begin);
    status = 206;
  }
  if (!cut.has_value()) return SendResponse(socket, status, headers, body);
  SendAll(socket, StrCat("HTTP/1.1 ", status, " Status\r\nContent-Length: ", body.size(), "\r\n",
                         headers, "\r\n"));
  SendAll(socket, std::string_view(body).substr(0, *cut));
}

std::string HubTestServer::InfoBody() {
  json::Value siblings = json::Value::Array();
  for (const auto& [path, entry] : files_) {
    json::Value file = json::Value::Object();
    file.Set("rfilename", path);
    file.Set("size", entry.content.size());
    file.Set("blobId", entry.blob_id);
    if (!entry.sha256.empty()) {
      json::Value lfs = json::Value::Object();
      lfs.Set("sha256", entry.sha256);
      lfs.Set("size", entry.content.size());
      file.Set("lfs", std::move(lfs));
    }
    siblings.Append(std::move(file));
  }
  json::Value info = json::Value::Object();
  info.Set("sha", kCommit);
  info.Set("siblings", std::move(siblings));
  return json::Write(info);
}

}  // namespace deepinfer::hub
