#include "jar/command.h"

#include <gtest/gtest.h>

namespace belljar::jar {
namespace {

const Command kCommand{.arguments = {"/usr/bin/python3", "-I", "", "h\xC3\xA9"},
                       .environment = {"HOME=/workspace", "EMPTY="}};

TEST(Command, ComesThroughUnchanged) {
    const Command command = command_of(to_text(kCommand).value()).value();
    EXPECT_EQ(command.arguments, kCommand.arguments);
    EXPECT_EQ(command.environment, kCommand.environment);
}

TEST(Command, RefusesANulByte) {
    const std::string text("a\0b", 3);
    EXPECT_FALSE(to_text({.arguments = {"/bin/true", text}}));
    EXPECT_FALSE(to_text({.arguments = {"/bin/true"}, .environment = {text}}));
}

TEST(Command, TakesExactlyWhatFits) {
    const std::size_t room = CommandText{}.text.size();
    EXPECT_TRUE(to_text({.arguments = {std::string(room - 1, 'a')}}));
    const Result<CommandText> longer = to_text({.arguments = {std::string(room, 'a')}});
    EXPECT_EQ(longer.error().code, ErrorCode::TooLarge);
    EXPECT_FALSE(to_text({.arguments = {std::string(room - 1, 'a'), ""}}));
    EXPECT_FALSE(to_text({.arguments = {"/a"}, .environment = {std::string(room, 'b')}}));
    EXPECT_TRUE(to_text({.arguments = std::vector<std::string>(room)}));
    EXPECT_FALSE(to_text({.arguments = std::vector<std::string>(room + 1)}));
}

// What a server that was taken over might send.
TEST(Command, RefusesMalformedText) {
    const auto refuses = [](auto change) {
        CommandText message = to_text(kCommand).value();
        change(message);
        return !command_of(message);
    };
    EXPECT_FALSE(refuses([](CommandText&) {}));
    EXPECT_TRUE(refuses([](CommandText& message) { message.text_length = 8193; }));
    EXPECT_TRUE(refuses([](CommandText& message) { message.text_length = UINT32_MAX; }));
    EXPECT_TRUE(refuses([](CommandText& message) { message.text_length -= 1; }));
    EXPECT_TRUE(refuses([](CommandText& message) { message.text_length += 1; }));
    EXPECT_TRUE(refuses([](CommandText& message) { message.argument_count = 0; }));
    EXPECT_TRUE(refuses([](CommandText& message) { message.argument_count += 1; }));
    EXPECT_TRUE(refuses([](CommandText& message) { message.variable_count += 1; }));
    EXPECT_TRUE(refuses([](CommandText& message) { message.argument_count = UINT32_MAX; }));
    EXPECT_TRUE(refuses([](CommandText& message) {
        // The sum wraps around to the right number in 32 bits.
        message.variable_count += message.argument_count + 1;
        message.argument_count = UINT32_MAX;
    }));
    EXPECT_TRUE(refuses([](CommandText& message) { message.text.fill('x'); }));
}

TEST(Command, RefusesACommandWithoutArguments) {
    EXPECT_FALSE(command_of(to_text({.environment = {"A=b"}}).value()));
    EXPECT_FALSE(command_of(CommandText{}));
}

}  // namespace
}  // namespace belljar::jar
