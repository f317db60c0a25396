#pragma once

#include <cstdint>
#include <string_view>

namespace belljar::jar {

// Every step that puts a jar together, in the order in which they happen. A step that fails ends
// the jar and names itself; there is no step whose failure is only a warning.
enum class Step : std::uint32_t {
    ReadMessage,
    MakeCgroup,
    MakeWorkspace,
    MakeStage,
    Clone,
    ReceiveSpec,
    DieWithWarden,
    NewSession,
    JoinCgroup,
    HideCgroupPath,
    PrivateMounts,
    MakeRoot,
    MountFiles,
    MountSystem,
    MountLogs,
    MountProc,
    MountDev,
    MountTmp,
    MountWorkspace,
    SealRoot,
    PivotRoot,
    ShowPlaces,
    SetHostname,
    RaiseLoopback,
    SetRlimits,
    NewKeyring,
    DropGroups,
    TakeOuterIdentity,
    NewUserNamespace,
    ForbidNamespaces,
    MapIdentity,
    TakeIdentity,
    DropCapabilities,
    NoNewPrivileges,
    CloseDescriptors,
    ForkGuest,
    EnterNamespaces,
    PlaceDescriptors,
    EnterWorkspace,
    DenyWriteExecute,
    EnterLandlock,
    InstallFilter,
    Execute,
    SetUpDeadline,
};

[[nodiscard]] std::string_view name_of(Step step);

}  // namespace belljar::jar
