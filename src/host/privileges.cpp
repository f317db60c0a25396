#include "host/privileges.h"

#include <charconv>

#include "host/kernel_file.h"

namespace belljar::host {

std::string_view name_of(Capability capability) {
    switch (capability) {
        case Capability::DacOverride:
            return "CAP_DAC_OVERRIDE";
        case Capability::Kill:
            return "CAP_KILL";
        case Capability::SetGid:
            return "CAP_SETGID";
        case Capability::SetUid:
            return "CAP_SETUID";
        case Capability::NetAdmin:
            return "CAP_NET_ADMIN";
        case Capability::SysAdmin:
            return "CAP_SYS_ADMIN";
    }
    return "";
}

bool Privileges::has(Capability capability) const {
    return (effective >> static_cast<unsigned>(capability) & 1U) != 0;
}

Privileges parse_privileges(std::string_view status) {
    Privileges found;
    for (const std::string_view line : lines_of(status)) {
        const std::vector<std::string> words = words_of(line);
        if (words.size() < 2) {
            continue;
        }
        const std::string& value = words[1];
        if (words[0] == "CapEff:") {
            std::from_chars(value.data(), value.data() + value.size(), found.effective, 16);
        } else if (words[0] == "Uid:" && words.size() > 2) {
            found.effective_user = static_cast<uid_t>(number_of(words[2]).value_or(-1));
        } else if (words[0] == "NoNewPrivs:") {
            found.no_new_privs = value == "1";
        } else if (words[0] == "Seccomp:") {
            found.filtered = value != "0";
        }
    }
    return found;
}

Privileges read_privileges() {
    return parse_privileges(read_text("/proc/self/status").value_or(""));
}

}  // namespace belljar::host
