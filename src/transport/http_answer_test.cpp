#include "transport/http_answer.h"

#include <gtest/gtest.h>

#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <sstream>
#include <vector>

namespace belljar::transport {
namespace {

namespace http = boost::beast::http;

std::string sent(const WholeAnswer& answer) {
    std::string all;
    for (const boost::asio::const_buffer& part : answer.buffers()) {
        all.append(static_cast<const char*>(part.data()), part.size());
    }
    return all;
}

// What the library would send.
std::string expected(const access::HttpResponse& answer, Connectivity connectivity) {
    http::response<http::string_body> message(begin_answer(answer, connectivity).base());
    message.body() = answer.body + (answer.rest ? *answer.rest : "");
    message.prepare_payload();
    std::ostringstream text;
    text << message;
    return text.str();
}

std::vector<access::HttpResponse> answers() {
    std::vector<access::HttpResponse> made(8);
    made[1] = {.body = "{}"};
    made[2] = {.body = "begin", .rest = std::make_shared<const std::string>("rest")};
    made[3] = {.status = 204, .content_type = ""};
    made[4] = {.status = 404, .content_type = "text/plain", .body = "no"};
    made[5] = {.status = 499, .body = "{}"};
    made[6] = {.headers = {{"Cache-Control", "max-age=5"}, {"Vary", "Origin"}, {"X-Empty", ""}},
               .body = "x"};
    made[7] = {.headers = {{"Set-Cookie", "a=1"}, {"Vary", "Origin"}, {"Set-Cookie", "b=2"}}};
    return made;
}

TEST(WholeAnswer, IsWhatTheLibraryWouldSend) {
    for (const Connectivity connectivity : {Connectivity::KeepAlive, Connectivity::Close}) {
        for (access::HttpResponse& answer : answers()) {
            const std::string library = expected(answer, connectivity);
            EXPECT_EQ(sent(whole_answer(std::move(answer), connectivity)), library);
        }
    }
}

}  // namespace
}  // namespace belljar::transport
