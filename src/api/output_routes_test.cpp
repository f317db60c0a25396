#include "api/output_routes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json/object.hpp>
#include <filesystem>

#include "base/id.h"
#include "base/json.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using execution::OutputStream;

class OutputRoutesTest : public testing::Test {
   protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "routes-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        place = name;
        const Fd data(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        store = storage::OutputStore::open(data, {}).value();
        storage::OutputRecording recording = store->record({id}, Bytes{10});
        recording.append(OutputStream::Stdout, "0123456789");
        EXPECT_TRUE(recording.publish().value());
    }
    void TearDown() override { std::filesystem::remove_all(place); }

    // Nothing if the path is none of these, or takes another method.
    std::optional<HttpResponse> ask(std::string path, access::Headers headers = {},
                                    std::string method = "GET") {
        return answer_of(
            store.get(),
            {.method = std::move(method), .path = std::move(path), .headers = std::move(headers)});
    }

    static std::optional<HttpResponse> answer_of(const storage::OutputStore* kept,
                                                 HttpRequest request) {
        OutputRoutes routes(kept);
        OperationTable table;
        routes.add_to(table);
        OperationTable::Finding finding = table.find(request.method, request.path);
        auto* found = std::get_if<OperationTable::Found>(&finding);
        if (found == nullptr) {
            return std::nullopt;
        }
        asio::io_context context;
        std::future<HttpResponse> response = asio::co_spawn(
            context,
            found->operation->handler(
                {.request = std::move(request), .path_values = std::move(found->path_values)}),
            asio::use_future);
        context.run();
        return response.get();
    }

    HttpResponse stream(access::Headers headers = {}) {
        return ask("/v1/runs/" + id + "/output/stdout", std::move(headers)).value();
    }

    static std::string header_of(const HttpResponse& response, std::string_view name) {
        for (const auto& [key, value] : response.headers) {
            if (key == name) {
                return value;
            }
        }
        return "";
    }

    static std::string sent(const HttpResponse& response) {
        std::string content(response.file->length, '?');
        EXPECT_EQ(::pread(response.file->file.get(), content.data(), content.size(),
                          static_cast<off_t>(response.file->offset)),
                  static_cast<ssize_t>(content.size()));
        return content;
    }

    std::filesystem::path place;
    std::string id = make_uuid();
    std::unique_ptr<storage::OutputStore> store;
};

TEST_F(OutputRoutesTest, ListsWhatIsKept) {
    const HttpResponse response = ask("/v1/runs/" + id + "/output").value();
    EXPECT_EQ(response.status, 200U);
    const std::string uri = "/v1/runs/" + id + "/output/stdout";
    EXPECT_EQ(
        parse_json(response.body).value(),
        json::value({{"execution_id", id},
                     {"streams",
                      json::array{json::object{
                          {"name", "stdout"}, {"bytes", 10}, {"complete", true}, {"uri", uri}}}}}));
}

TEST_F(OutputRoutesTest, TellsWhatWasCut) {
    const std::string other = make_uuid();
    storage::OutputRecording recording = store->record({other}, Bytes{4});
    recording.append(OutputStream::Stderr, "too long");
    ASSERT_TRUE(recording.publish().value());
    const HttpResponse response = ask("/v1/runs/" + other + "/output").value();
    const json::value stream = parse_json(response.body).value().at("streams").at(0);
    EXPECT_EQ(stream.at("name").as_string(), "stderr");
    EXPECT_EQ(stream.at("bytes").to_number<int>(), 4);
    EXPECT_FALSE(stream.at("complete").as_bool());
}

TEST_F(OutputRoutesTest, SendsAStreamAsBytesToKeep) {
    const HttpResponse response = stream();
    EXPECT_EQ(response.status, 200U);
    EXPECT_EQ(response.content_type, "application/octet-stream");
    EXPECT_TRUE(header_of(response, "Content-Disposition").starts_with("attachment;"));
    EXPECT_EQ(header_of(response, "Accept-Ranges"), "bytes");
    EXPECT_EQ(sent(response), "0123456789");
}

TEST_F(OutputRoutesTest, SendsARange) {
    const HttpResponse response = stream({{"Range", "bytes=2-4"}});
    EXPECT_EQ(response.status, 206U);
    EXPECT_EQ(header_of(response, "Content-Range"), "bytes 2-4/10");
    EXPECT_EQ(sent(response), "234");
    EXPECT_EQ(sent(stream({{"Range", "bytes=-3"}})), "789");
    EXPECT_EQ(stream({{"Range", "bytes=0-1,3-4"}}).status, 200U);
}

TEST_F(OutputRoutesTest, ARangeBeyondTheEndIsRefused) {
    const HttpResponse response = stream({{"Range", "bytes=10-"}});
    EXPECT_EQ(response.status, 416U);
    EXPECT_EQ(header_of(response, "Content-Range"), "bytes */10");
    EXPECT_FALSE(response.file);
}

TEST_F(OutputRoutesTest, ADownloadGoesOnOnlyIfItIsTheSame) {
    const std::string tag = header_of(stream(), "ETag");
    EXPECT_EQ(stream({{"Range", "bytes=2-4"}, {"If-Range", tag}}).status, 206U);
    EXPECT_EQ(stream({{"Range", "bytes=2-4"}, {"If-Range", "\"other\""}}).status, 200U);
}

TEST_F(OutputRoutesTest, WhatIsNotKeptIsNotFound) {
    for (const std::string& path :
         {"/v1/runs/" + make_uuid() + "/output", "/v1/runs/" + make_uuid() + "/output/stdout",
          "/v1/runs/" + id + "/output/stderr", std::string("/v1/runs/%2e%2e/output/stdout"),
          std::string("/v1/runs/%2e%2e%2f" + id + "/output/stdout"),
          std::string("/v1/runs/%00%ff/output")}) {
        const HttpResponse response = ask(path).value();
        EXPECT_EQ(response.status, 404U) << path;
        EXPECT_TRUE(parse_json(response.body).value().at("error").is_string());
        EXPECT_EQ(response.body.find(place.string()), std::string::npos);
    }
}

TEST_F(OutputRoutesTest, OtherPathsAreNotItsOwn) {
    for (const std::string& path :
         {std::string("/"), std::string(""), std::string("/v1/runs"), std::string("/v1/runs/"),
          "/v1/runs/" + id, "/v1/runs/" + id + "/output/", "/v1/runs/" + id + "/output/stdout/",
          std::string("/v1/runs//output"), std::string("/v1/runs/../../x/output/stdout"),
          "/v1/runs/x/" + id + "/output", "/v1/runs/" + id + "/output/stdin",
          "/v1/runs/" + id + "/outputs", "/V1/runs/" + id + "/output"}) {
        EXPECT_FALSE(ask(path)) << path;
    }
}

TEST_F(OutputRoutesTest, OnlyReadingIsPossible) {
    for (const std::string& method : {"POST", "PUT", "DELETE", "PATCH", ""}) {
        EXPECT_FALSE(ask("/v1/runs/" + id + "/output/stdout", {}, method)) << method;
    }
    EXPECT_EQ(ask("/v1/runs/" + id + "/output", {}, "HEAD")->status, 200U);
}

TEST_F(OutputRoutesTest, WithoutAStoreNothingIsFound) {
    for (const std::string& path :
         {"/v1/runs/" + id + "/output", "/v1/runs/" + id + "/output/stdout"}) {
        EXPECT_EQ(answer_of(nullptr, {.method = "GET", .path = path})->status, 404U);
    }
}

TEST_F(OutputRoutesTest, AFileThatVanishedIsAFaultOfOurOwn) {
    std::filesystem::remove(place / "outputs" / id / "stdout");
    const HttpResponse response = stream();
    EXPECT_EQ(response.status, 500U);
    EXPECT_EQ(response.body.find("outputs/"), std::string::npos);
}

}  // namespace
}  // namespace belljar::api
