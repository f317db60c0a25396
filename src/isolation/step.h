#pragma once

#include <cstdint>
#include <string_view>

namespace belljar::isolation {

// Every step that puts a jar together, in the order in which they happen. A step that fails ends
// the jar and names itself; there is no step whose failure is only a warning.
enum class Step : std::uint32_t {
    ReadMessage,
    MakeCgroup,
    Clone,
    DieWithWarden,
    NewSession,
    JoinCgroup,
    HideCgroupPath,
    PrivateMounts,
    MakeRoot,
    MountSystem,
    MountProc,
    MountDev,
    MountTmp,
    MountWorkspace,
    WriteEtc,
    SealRoot,
    PivotRoot,
    SetHostname,
    RaiseLoopback,
    SetRlimits,
    NewKeyring,
    DropGroups,
    NewUserNamespace,
    MapIdentity,
    TakeIdentity,
    DropCapabilities,
    NoNewPrivileges,
    CloseDescriptors,
    ForkGuest,
    PlaceDescriptors,
    EnterWorkspace,
    Execute,
    SetUpDeadline,
};

[[nodiscard]] std::string_view name_of(Step step);

}  // namespace belljar::isolation
