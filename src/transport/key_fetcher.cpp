#include "transport/key_fetcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "access/gate.h"

namespace belljar::transport {
namespace {

bool is_name_of_this_machine(const std::string& host) {
    return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

}  // namespace

Result<KeyAddress> KeyAddress::parse(const std::string& url) {
    const auto refuse = [](const char* reason) {
        return fail(ErrorCode::InvalidArgument, std::string("auth.jwks_url: ") + reason);
    };
    const bool secure = url.starts_with("https://");
    if (!secure && !url.starts_with("http://")) {
        return refuse("must start with https://");
    }
    const std::string rest = url.substr(url.find("://") + 3);
    const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    const std::string authority = rest.substr(0, end);
    const std::optional<std::string> host = access::host_name(authority);
    if (!host || host->empty() || rest.find('#') != std::string::npos) {
        return refuse("is no address such as https://login.example/keys");
    }
    if (!secure && !is_name_of_this_machine(*host)) {
        return refuse("http is for this machine only; use https");
    }
    const std::size_t bracket = authority.find(']');
    const std::size_t colon = authority.find(':', bracket == std::string::npos ? 0 : bracket);
    const std::string path = rest.substr(end);
    return KeyAddress{
        .scheme = secure ? Scheme::Https : Scheme::Http,
        .host = *host,
        .port = colon != std::string::npos ? authority.substr(colon + 1) : (secure ? "443" : "80"),
        .target = path.starts_with('/') ? path : "/" + path};
}

ServerAddress KeyAddress::server() const {
    return {
        .kind = scheme == Scheme::Https ? ServerAddress::Kind::Https : ServerAddress::Kind::Http,
        .host = host,
        .port = port};
}

KeyFetcher::KeyFetcher(asio::any_io_executor executor, KeyAddress address, Times times,
                       const Log& log)
    : address_(std::move(address)),
      times_(times),
      log_(log),
      timer_(executor),
      stopped_(executor, TimePoint::max()) {}

const access::KeySet& KeyFetcher::keys() {
    if (keys_.size() > 0 && Clock::now() - fetched_ > times_.lifetime) {
        log_.error("the keys of the authorization server are too old; no access token is taken");
        keys_ = access::KeySet();
    }
    return keys_;
}

bool KeyFetcher::ask_for_newer() {
    if (fetching_ || wanted_) {
        return true;
    }
    if (stopping_ || (tried_ != TimePoint{} && Clock::now() - tried_ < times_.pause)) {
        return false;
    }
    wanted_ = true;
    timer_.cancel();
    return true;
}

Task<void> KeyFetcher::fetch() {
    fetching_ = true;
    wanted_ = false;
    tried_ = Clock::now();
    const Result<std::string> text = co_await download(tried_ + times_.trial);
    fetching_ = false;
    Result<access::KeySet> set =
        text ? access::KeySet::parse(*text) : Result<access::KeySet>(fail(text.error()));
    if (!set) {
        log_.warning("the keys of the authorization server could not be fetched",
                     {{"host", address_.host}, {"reason", set.error().describe()}});
        co_return;
    }
    keys_ = std::move(*set);
    fetched_ = Clock::now();
    log_.info("keys of the authorization server fetched",
              {{"host", address_.host}, {"keys", static_cast<std::int64_t>(keys_.size())}});
}

Task<Result<std::string>> KeyFetcher::download(TimePoint deadline) {
    ClientRequest request{.target = address_.target,
                          .headers = {{"Accept", "application/json"}},
                          .largest_answer = access::KeySet::kTextLimit,
                          .clear_only_here = true};
    BJ_CO_TRY(ClientAnswer answer, co_await ask_server_unless(stopped_, address_.server(),
                                                              std::move(request), deadline));
    if (answer.status != 200) {
        co_return fail(ErrorCode::Unavailable, fmt::format("the answer is HTTP {}", answer.status));
    }
    co_return std::move(answer.body);
}

Task<void> KeyFetcher::run() {
    while (!stopping_) {
        if (!wanted_) {
            // Soon again as long as there are no keys at all.
            timer_.expires_after(keys_.size() > 0 ? times_.refresh : times_.pause);
            boost::system::error_code ignored;
            co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        }
        if (!stopping_) {
            co_await fetch();
        }
    }
}

void KeyFetcher::stop() {
    stopping_ = true;
    timer_.cancel();
    stopped_.cancel();
}

}  // namespace belljar::transport
