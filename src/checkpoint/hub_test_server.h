// A model hub on loopback for tests: serves one model, records what it was asked, and misbehaves when told to.
//
// Ownership: owns its socket and threads.  Threading: thread-safe; the switches are set before requests come.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace deepinfer::hub {

// One request as the server saw it.
struct SeenRequest {
  std::string path;
  std::string range;          // "" without one
  std::string authorization;  // "" without one
};

class HubTestServer {
 public:
  HubTestServer();
  ~HubTestServer();

  // "http://127.0.0.1:<port>".
  std::string endpoint() const;

  // Adds a file; `large` ones have a sha256, the others a git blob id.
  void AddFile(const std::string& path, const std::string& content, bool large);

  // Switches, by file path where they name one.
  std::map<std::string, std::vector<size_t>>
      cut_after;  // n-th answer breaks off after so many body bytes
  std::map<std::string, std::string> content_sent;  // other bytes than announced
  std::map<std::string, int32_t> status_sent;       // 401, 404, ...
  std::map<std::string, int32_t> num_503_first;     // that many 503 before the real answer
  std::string redirect_files_to;                    // endpoint of another server; "" = none
  bool ignore_ranges = false;
  int32_t info_status = 200;
  std::string required_token;  // 401 without it

  std::vector<SeenRequest> requests();
  // From now on answers are whole again; the one switch that may change while requests come.
  void StopCutting();
  static constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";

 private:
  struct Entry {
    std::string content;
    std::string sha256;
    std::string blob_id;
  };

  void AcceptLoop();
  void Serve(int32_t socket);
  void Answer(int32_t socket, const SeenRequest& request);
  void AnswerFile(int32_t socket, const SeenRequest& request, const std::string& name);
  std::string InfoBody();

  int32_t listener_ = -1;
  int32_t port_ = 0;
  std::atomic<bool> stop_{false};
  std::thread acceptor_;
  std::mutex mutex_;
  std::vector<std::thread> servers_;  // under mutex_
  std::vector<SeenRequest> seen_;     // under mutex_
  std::map<std::string, Entry> files_;
  std::map<std::string, size_t> num_answers_;  // under mutex_
};

}  // namespace deepinfer::hub
