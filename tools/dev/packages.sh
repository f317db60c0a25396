# Installs what is missing on Debian 12 and Ubuntu 24.04; sourced by ./dev.

# packages_of GROUP: the names on this system, one per word.
packages_of() {
    local boost
    case $(system_name) in
        "debian 12") boost="libboost1.81-dev libboost-json1.81-dev" ;;
        "ubuntu 24.04") boost="libboost1.83-dev libboost-json1.83-dev" ;;
        *) boost="libboost-dev and libboost-json-dev (1.81 or later)" ;;
    esac
    case $1 in
        build)
            echo "clang-19 lld-19 cmake ninja-build ccache $boost libfmt-dev libcli11-dev" \
                "libtomlplusplus-dev libgtest-dev libssl-dev libcjose-dev python3" \
                "libpython3-dev libsqlite3-dev zlib1g-dev curl $(node_packages)"
            ;;
        test)
            echo "libclang-rt-19-dev llvm-19 python3-pytest python3-venv procps iproute2 runc" \
                "uidmap golang-github-containers-common erofs-utils e2fsprogs" \
                "$(packages_of science) gcc g++ perl ruby lua5.4 php-cli mawk" \
                "python3-jwt python3-cryptography python3-jsonschema python3-prometheus-client" \
                "$(browser_packages)" \
                "$(node_packages)"
            ;;
        # What guests find for work with data, and fonts for what they draw. On Debian 12 scipy's
        # package wants a compiler whose Boost conflicts with that of the build: see install_scipy.
        science)
            echo "python3-numpy python3-pandas python3-matplotlib python3-pil" \
                "python3-decorator liblbfgsb0 fonts-wqy-microhei fonts-symbola"
            [[ $(system_name) == "debian 12" ]] || echo python3-scipy
            ;;
        check) echo "clang-format-19 clang-tidy-19 libclang-rt-19-dev" ;;
        bench) echo "bubblewrap runc crun golang-github-containers-common nginx" ;;
        # An engine that is already there is not replaced.
        bench-full) command -v dockerd >/dev/null || echo "docker.io" ;;
    esac
}

# Only commands that do not exist: a nodejs package from its vendor brings its own npm, which
# conflicts with the distribution's.
node_packages() {
    command -v node >/dev/null || echo nodejs
    command -v npm >/dev/null || echo npm
}

# Ubuntu's is a snap, which cannot be had everywhere.
browser_packages() {
    [[ $(system_name) != "debian 12" ]] || echo chromium
}

system_name() {
    (
        . /etc/os-release 2>/dev/null || true
        echo "${ID:-unknown} ${VERSION_ID:-}"
    )
}

# install_packages GROUP ...: returns at once, without network, when nothing is missing.
install_packages() {
    local group wanted="" missing
    for group in "$@"; do
        wanted+=" $(packages_of "$group")"
    done
    case $(system_name) in
        "debian 12" | "ubuntu 24.04") ;;
        *)
            if [[ ! -f build/packages.accepted ]]; then
                explain_other_system "$wanted"
            fi
            return 0
            ;;
    esac
    missing=$(missing_packages $wanted)
    if [[ -z $missing ]]; then
        return 0
    fi
    say "Installing with apt-get, with what they need:"
    say "  $missing"
    apt_install $missing
}

# The modules of Debian's package without what it depends on only for building others, beside other
# software of this machine's own. All libraries that they need are in the group `science`.
install_scipy() {
    local place=/usr/local/lib/python3.11/dist-packages temporary
    if [[ $(system_name) != "debian 12" ]] || /usr/bin/python3 -c "import scipy" 2>/dev/null; then
        return 0
    fi
    local -a as_root=()
    ((EUID == 0)) || as_root=(sudo)
    say "Installing scipy from Debian's package"
    temporary=$(mktemp -d) || return 1
    (cd "$temporary" && apt-get -qq download python3-scipy 2>/dev/null &&
        dpkg-deb -x python3-scipy_*.deb . &&
        "${as_root[@]}" mkdir -p "$place" &&
        "${as_root[@]}" cp -r usr/lib/python3/dist-packages/scipy* "$place")
    local ended=$?
    rm -rf "$temporary"
    ((ended == 0)) || say "scipy could not be installed; programs have to do without it"
}

missing_packages() {
    local installed package missing=""
    installed=" $(dpkg-query -W -f='${db:Status-Abbrev}${Package} ' "$@" 2>/dev/null || true)"
    for package in "$@"; do
        if [[ $installed != *"ii $package "* ]]; then
            missing+="${missing:+ }$package"
        fi
    done
    echo "$missing"
}

explain_other_system() {
    cat >&2 <<TEXT
dev: this is $(system_name); ./dev installs packages only on Debian 12 and Ubuntu 24.04.
Needed, in the names of Debian: $(tr '\n' ' ' <<<"$1")
Install them (clang 19 or later must be there as clang++-19), then tell ./dev so:
  mkdir -p build && touch build/packages.accepted
TEXT
    exit 1
}

apt_install() {
    local -a as_root=()
    if ((EUID != 0)); then
        if ! command -v sudo >/dev/null; then
            fail "packages must be installed as root, and there is no sudo: run as root" \
                "\"apt-get install --no-install-recommends $*\", then ./dev again"
        fi
        as_root=(sudo)
    fi
    mkdir -p build
    run_apt update
    run_apt install --yes --no-install-recommends "$@"
}

# run_apt ARGUMENTS: apt's words go to a log, its progress to the terminal. Uses as_root.
run_apt() {
    local log=build/apt.log
    # Descriptor 3 is opened on the other side of sudo, which closes all but the first three; the
    # first cannot carry the progress, because apt takes that descriptor away from what it starts.
    local -a apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive bash -c 'exec "$@" 3>&1' bash
        apt-get -q -o APT::Status-Fd=3 -o Dpkg::Use-Pty=0)
    if ! "${apt[@]}" "$@" 2>&1 </dev/null | show_progress "$log"; then
        tail -n 15 "$log" >&2
        fail "apt-get failed; the end of its output is above, all of it in $log"
    fi
}

# Reads "dlstatus:1:42.0:Retrieving file ..." and "pmstatus:name:42.0:Unpacking ..." from between
# the other lines.
show_progress() {
    local log=$1 line kind percent text last=""
    : >"$log"
    while IFS= read -r line; do
        IFS=: read -r kind _ percent text <<<"$line"
        percent=${percent%%.*}
        if [[ ! $kind =~ ^(dl|pm)status$ || ! $percent =~ ^[0-9]+$ ]]; then
            printf '%s\n' "$line" >>"$log"
        elif [[ -t 1 ]]; then
            printf '\r\033[K  %3d%% %.70s' "$percent" "$text"
        elif [[ $kind$((percent / 20)) != "$last" ]]; then
            last=$kind$((percent / 20))
            printf '  %3d%% %.70s\n' "$percent" "$text"
        fi
    done
    if [[ -t 1 ]]; then
        printf '\r\033[K'
    fi
}
