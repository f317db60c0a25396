#include "jar/reports.h"

#include <cstring>

namespace belljar::jar {

Result<void> send_report(const Fd& socket, const JarReport& report, std::span<const int> fds) {
    return send_packet(socket, std::as_bytes(std::span(&report, 1)), fds);
}

Result<JarReport> decode_report(std::string_view data) {
    JarReport report{};
    if (data.size() != sizeof(report)) {
        return fail(ErrorCode::InvalidArgument, "a jar's report of the wrong size");
    }
    std::memcpy(&report, data.data(), sizeof(report));
    if (report.event > kLastJarEvent) {
        return fail(ErrorCode::InvalidArgument, "a jar's report of an unknown kind");
    }
    return report;
}

}  // namespace belljar::jar
