#include "execution/result.h"

namespace belljar::execution {

std::string_view name_of(Status status) {
    switch (status) {
        case Status::Ok:
            return "ok";
        case Status::Error:
            return "error";
        case Status::Timeout:
            return "timeout";
        case Status::Memory:
            return "memory";
        case Status::Processes:
            return "processes";
        case Status::Disk:
            return "disk";
        case Status::Output:
            return "output";
        case Status::Killed:
            return "killed";
        case Status::Denied:
            return "denied";
        case Status::Cancelled:
            return "cancelled";
    }
    return "error";
}

std::string_view name_of(OutputStream stream) {
    return stream == OutputStream::Stdout ? "stdout" : "stderr";
}

Encoding encoding_of(std::string_view mime) {
    if (mime == "application/json" || mime.ends_with("+json")) {
        return Encoding::Json;
    }
    const bool text = mime.starts_with("text/") || mime.ends_with("+xml") ||
                      mime == "application/javascript" || mime == "application/xml";
    return text ? Encoding::Text : Encoding::Binary;
}

std::string_view name_of(Report report) {
    switch (report) {
        case Report::Whole:
            return "whole";
        case Report::Missing:
            return "missing";
        case Report::Damaged:
            return "damaged";
    }
    return "damaged";
}

std::string_view name_of(DenialSource source) {
    switch (source) {
        case DenialSource::Limit:
            return "limit";
        case DenialSource::Kernel:
            return "kernel";
        case DenialSource::Guest:
            return "guest";
    }
    return "guest";
}

}  // namespace belljar::execution
