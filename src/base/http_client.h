// An HTTP client: one GET, its head, its body in pieces.  Over libcurl, which appears in http_client.cc alone; a build without it
// has a client that refuses every request by name.
//
// Redirects are not followed: the caller sees them and decides what to send where (a token must not travel to another origin).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer {

struct HttpRequest {
  std::string url;  // http or https
  std::vector<std::pair<std::string, std::string>> headers;
  std::chrono::milliseconds connect_timeout{20'000};
  // A transfer that moves less than a byte a second for this long is given up.
  std::chrono::seconds stall_timeout{60};
};

// Status line and headers of a response.
struct HttpHead {
  int32_t status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case

  // The value of the last header `name` (lower case), or "".
  std::string_view Find(std::string_view name) const;
};

// The receiver of one response.
struct HttpReceiver {
  // Called once before the body.  A failure ends the transfer and is returned by Get.
  std::function<Status(const HttpHead&)> on_head;
  // Called for each piece of the body; may be empty.  A failure ends the transfer.
  std::function<Status(std::string_view)> on_body;
};

// Threading: thread-safe; each call has its own connection.
class HttpClient {
 public:
  virtual ~HttpClient() = default;

  // Any complete response is ok, whatever its status.  kUnavailable: no connection, or it broke, after any number of pieces;
  // kDeadlineExceeded: nothing moved; kUnimplemented: a build without libcurl.  Messages name the host, never a query or a header.
  virtual Status Get(const HttpRequest& request, const HttpReceiver& receiver) = 0;
};

std::unique_ptr<HttpClient> CreateHttpClient();

// Scheme, host and port of a URL with the port made explicit, "https://example.org:443"; "" when it isn't http or https.
std::string OriginOf(std::string_view url);

// `location` of a redirect from `base_url`: absolute as it is, "//host/p", "/p" or "p" completed.
std::string ResolveUrl(std::string_view base_url, std::string_view location);

}  // namespace deepinfer
