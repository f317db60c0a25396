#include "access/event_stream.h"

#include <gtest/gtest.h>

namespace belljar::access {
namespace {

TEST(EventStream, WritesOneFieldPerLine) {
    EXPECT_EQ(format_event({.id = "7", .name = "stdout", .data = "{}"}),
              "id: 7\nevent: stdout\ndata: {}\n\n");
    EXPECT_EQ(format_event({.name = "message", .data = "1"}), "event: message\ndata: 1\n\n");
}

TEST(EventStream, EventsAreWantedByNameOnly) {
    for (const std::string& accept :
         {"text/event-stream", "application/json, text/event-stream", "TEXT/Event-Stream;q=0.5",
          "text/event-stream ; q=1.0", "*/*,text/event-stream"}) {
        EXPECT_TRUE(wants_events({.headers = {{"Accept", accept}}})) << accept;
    }
    for (const std::string& accept :
         {"", "*/*", "text/*", "application/json", "text/event-stream;q=0", "text/event-streams",
          "text/event-stream;q=0.000", ",,", ";", "text/event-stream; q=0 ,*/*"}) {
        EXPECT_FALSE(wants_events({.headers = {{"Accept", accept}}})) << accept;
    }
    EXPECT_FALSE(wants_events({}));
    EXPECT_TRUE(wants_events({.headers = {{"Accept", "*/*"}, {"accept", "text/event-stream"}}}));
}

}  // namespace
}  // namespace belljar::access
