#include "jar/reports.h"

#include <cstring>

namespace belljar::jar {

Result<void> send_report(const Fd& socket, const JarReport& report, std::span<const int> fds) {
    return send_packet(socket, std::as_bytes(std::span(&report, 1)), fds);
}

Result<void> send_order(const Fd& socket, InitOrder order) {
    Result<void> sent = send_packet(socket, std::as_bytes(std::span(&order, 1)), {});
    return !sent && sent.error().sys_errno == EPIPE ? Result<void>{} : sent;
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
