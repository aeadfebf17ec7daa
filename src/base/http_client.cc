#include "base/http_client.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"

#if DI_HAVE_CURL
#include <curl/curl.h>
#endif

namespace deepinfer {

std::string_view HttpHead::Find(std::string_view name) const {
  std::string_view found;
  for (const auto& [key, value] : headers) {
    if (key == name) found = value;
  }
  return found;
}

namespace {

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

std::string OriginOf(std::string_view url) {
  const size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) return "";
  const std::string scheme = Lower(url.substr(0, scheme_end));
  if (scheme != "http" && scheme != "https") return "";
  std::string_view authority = url.substr(scheme_end + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    authority.remove_prefix(at + 1);
  }
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) return StrCat(scheme, "://", Lower(authority));
  return StrCat(scheme, "://", Lower(authority), scheme == "http" ? ":80" : ":443");
}

std::string ResolveUrl(std::string_view base_url, std::string_view location) {
  if (location.find("://") != std::string_view::npos) return std::string(location);
  const size_t scheme_end = base_url.find("://");
  if (scheme_end == std::string_view::npos) return std::string(location);
  if (location.substr(0, 2) == "//") {
    return StrCat(base_url.substr(0, scheme_end), ":", location);
  }
  const size_t path = base_url.find_first_of("/?#", scheme_end + 3);
  const std::string_view root = base_url.substr(0, path);
  if (location.substr(0, 1) == "/") return StrCat(root, location);
  std::string_view folder = path == std::string_view::npos ? "" : base_url.substr(path);
  folder = folder.substr(0, folder.find_first_of("?#"));
  folder = folder.substr(0, folder.rfind('/') + 1);
  return StrCat(root, folder.empty() ? "/" : folder, location);
}

#if DI_HAVE_CURL

namespace {

// What the callbacks of one transfer share.
struct Transfer {
  const HttpReceiver* receiver = nullptr;
  HttpHead head;
  bool head_done = false;
  Status status;
};

size_t OnHeader(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line = StrTrim(std::string_view(data, size * count));
  if (line.substr(0, 5) == "HTTP/") {
    transfer.head = HttpHead();  // after a 1xx the real head follows
  } else if (const size_t colon = line.find(':'); colon != std::string_view::npos) {
    transfer.head.headers.emplace_back(Lower(StrTrim(line.substr(0, colon))),
                                       std::string(StrTrim(line.substr(colon + 1))));
  }
  return size * count;
}

// Hands the head on, once.
bool FinishHead(Transfer& transfer, CURL* curl) {
  if (transfer.head_done) return true;
  transfer.head_done = true;
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  transfer.head.status = static_cast<int32_t>(status);
  if (transfer.receiver->on_head) transfer.status = transfer.receiver->on_head(transfer.head);
  return transfer.status.ok();
}

struct BodyUser {
  Transfer* transfer;
  CURL* curl;
};

size_t OnBody(char* data, size_t size, size_t count, void* user) {
  const auto& [transfer, curl] = *static_cast<BodyUser*>(user);
  if (!FinishHead(*transfer, curl)) return 0;
  if (transfer->receiver->on_body) {
    transfer->status = transfer->receiver->on_body(std::string_view(data, size * count));
    if (!transfer->status.ok()) return 0;
  }
  return size * count;
}

class CurlClient : public HttpClient {
 public:
  CurlClient() { curl_global_init(CURL_GLOBAL_DEFAULT); }

  Status Get(const HttpRequest& request, const HttpReceiver& receiver) override {
    CURL* curl = curl_easy_init();
    if (curl == nullptr) return ResourceExhausted("http: cannot make a transfer handle");
    curl_slist* headers = nullptr;
    for (const auto& [name, value] : request.headers) {
      headers = curl_slist_append(headers, StrCat(name, ": ", value).c_str());
    }
    Transfer transfer{.receiver = &receiver};
    BodyUser body{&transfer, curl};
    Configure(curl, request, headers, transfer, body);
    const CURLcode code = curl_easy_perform(curl);
    if (code == CURLE_OK) FinishHead(transfer, curl);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (!transfer.status.ok()) return transfer.status;
    if (code == CURLE_OK) return OkStatus();
    const std::string message = StrCat(OriginOf(request.url), ": ", curl_easy_strerror(code));
    return code == CURLE_OPERATION_TIMEDOUT ? DeadlineExceeded(message) : Unavailable(message);
  }

 private:
  static void Configure(CURL* curl, const HttpRequest& request, curl_slist* headers,
                        Transfer& transfer, BodyUser& body) {
    curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "deepinfer");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                     static_cast<long>(request.connect_timeout.count()));
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                     static_cast<long>(request.stall_timeout.count()));
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, OnHeader);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, OnBody);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
  }
};

}  // namespace

std::unique_ptr<HttpClient> CreateHttpClient() { return std::make_unique<CurlClient>(); }

#else

namespace {

class NoClient : public HttpClient {
 public:
  Status Get(const HttpRequest& request, const HttpReceiver&) override {
    return Unimplemented(
        StrCat(OriginOf(request.url), ": this build has no HTTP client; it needs libcurl"));
  }
};

}  // namespace

std::unique_ptr<HttpClient> CreateHttpClient() { return std::make_unique<NoClient>(); }

#endif

}  // namespace deepinfer
