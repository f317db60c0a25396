#include "isolation/step.h"

namespace belljar::isolation {

std::string_view name_of(Step step) {
    switch (step) {
        case Step::ReadMessage:
            return "read the launch message";
        case Step::MakeCgroup:
            return "make the cgroup";
        case Step::OpenHostFiles:
            return "open the host's files";
        case Step::Clone:
            return "clone into new namespaces";
        case Step::DieWithWarden:
            return "die with the warden";
        case Step::NewSession:
            return "start a new session";
        case Step::JoinCgroup:
            return "join the cgroup";
        case Step::HideCgroupPath:
            return "make the cgroup namespace";
        case Step::PrivateMounts:
            return "make mounts private";
        case Step::MakeRoot:
            return "make the root";
        case Step::MountSystem:
            return "mount the system directories";
        case Step::MountProc:
            return "mount /proc";
        case Step::MountDev:
            return "mount /dev";
        case Step::MountTmp:
            return "mount /tmp";
        case Step::MountWorkspace:
            return "mount /workspace";
        case Step::WriteEtc:
            return "write /etc";
        case Step::SealRoot:
            return "make the root read-only";
        case Step::PivotRoot:
            return "pivot the root";
        case Step::SetHostname:
            return "set the host name";
        case Step::RaiseLoopback:
            return "raise the loopback interface";
        case Step::SetRlimits:
            return "set resource limits";
        case Step::NewKeyring:
            return "make a session keyring";
        case Step::DropGroups:
            return "drop supplementary groups";
        case Step::NewUserNamespace:
            return "make the user namespace";
        case Step::MapIdentity:
            return "map the user id";
        case Step::TakeIdentity:
            return "take the user id";
        case Step::DropCapabilities:
            return "drop capabilities";
        case Step::NoNewPrivileges:
            return "set no_new_privs";
        case Step::CloseDescriptors:
            return "close descriptors";
        case Step::ForkGuest:
            return "fork the guest";
        case Step::PlaceDescriptors:
            return "place the guest's descriptors";
        case Step::EnterWorkspace:
            return "enter /workspace";
        case Step::Execute:
            return "execute the interpreter";
        case Step::SetUpDeadline:
            return "finish the set-up in time";
    }
    return "unknown step";
}

}  // namespace belljar::isolation
