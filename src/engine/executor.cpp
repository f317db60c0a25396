#include "engine/executor.h"

namespace belljar::engine {

std::string_view name_of(SandboxInfo::Kind kind) {
    switch (kind) {
        case SandboxInfo::Kind::Zygote:
            return "zygote";
        case SandboxInfo::Kind::Pool:
            return "pool";
        case SandboxInfo::Kind::Started:
            break;
    }
    return "started";
}

}  // namespace belljar::engine
