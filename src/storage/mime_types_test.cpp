#include "storage/mime_types.h"

#include <gtest/gtest.h>

namespace belljar::storage {
namespace {

TEST(MimeTypes, GoByTheEndOfTheName) {
    EXPECT_EQ(mime_of("a/plot.PNG"), "image/png");
    EXPECT_EQ(mime_of("table.csv"), "text/csv");
    EXPECT_EQ(mime_of("a.tar.gz"), "application/gzip");
}

TEST(MimeTypes, AreBytesIfNothingIsKnown) {
    for (const char* path : {"", "png", ".png", "a.png/b", "a.", "x.unknown"}) {
        EXPECT_EQ(mime_of(path), "application/octet-stream") << path;
    }
}

}  // namespace
}  // namespace belljar::storage
